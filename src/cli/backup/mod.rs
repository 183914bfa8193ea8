//! `backup`, `backup verify` and `restore`.

pub(super) mod args;

use std::io::{BufRead, Read};
use std::ops::ControlFlow;
use std::path::Path;

use super::first_start::known_key;
use super::open_store::OpenStore;
use super::output;
use super::output::visible;
use super::running::progress::Progress;
use super::running::stop::Stop;
use super::running::turn::Wait;
use super::settings::Settings;
use super::{Error, Outcome, Result, Streams, engine};
use crate::base::clock::SystemClock;
use crate::store::sqlite::Folder;
use crate::store::sqlite::backup;
use crate::store::sqlite::backup::{Extent, Made, Source, Step, Target, Verified};
use args::{Backup, BackupCommand, Restore};

/// What backs a store in a database up.
const INSTEAD: &str =
    "take a base backup of its server, or pg_dump, and keep the file of server_key_file with it";
/// Bytes of a MiB.
const MIB: u64 = 1 << 20;

/// `backup`.
pub(super) fn run(
    args: &Backup,
    settings: &Settings,
    streams: &mut Streams<'_>,
) -> Result<Outcome> {
    match (&args.command, &args.target) {
        (Some(BackupCommand::Verify { source }), _) => verify(source, streams),
        (None, Some(target)) => create(target, args.wait, settings, streams),
        (None, None) => Err(Error::Usage("name where the backup goes".to_owned())),
    }
}

fn create(
    target: &Path,
    wait: Wait,
    settings: &Settings,
    streams: &mut Streams<'_>,
) -> Result<Outcome> {
    let is_stream = is_dash(target);
    if is_stream && streams.out_is_terminal {
        return Err(Error::Usage(
            "a backup is not written to a terminal; lead it into a file or another program, as in \
             \"siteconf backup - | zstd > FILE\""
                .to_owned(),
        ));
    }
    let data = settings.folder("\"siteconf backup\"", INSTEAD)?;
    let stop = Stop::watch(is_stream)?;
    let folder = Folder::open(data)?;
    folder.require_owner()?;
    if !is_stream {
        require_above(target)?;
    }
    // No collection, and no upgrade.
    let _lock = wait
        .begin_in_turn(&stop, &mut Progress::new(streams), |_| {
            folder.lock_for_backup()
        })
        .map_err(|e| stop.name(e))?;
    // Now: an upgrade may have ended meanwhile.
    let opened = OpenStore::for_reading(settings)?;
    let store = opened.embedded("\"siteconf backup\"", INSTEAD)?;
    let folder = store.data_folder();
    let key = known_key(&opened, engine::key_file_in(folder));
    let target_name = target;
    let mut target = if is_stream {
        Target::stream(streams.out, "standard output", &std::env::temp_dir())
    } else if is_file(target) {
        Target::file(target, folder)?
    } else {
        Target::folder(target, folder)?
    };
    let made = {
        let mut progress = Progress::on(streams.err, streams.err_is_terminal);
        backup::create(store, &mut target, &key, &SystemClock, &mut |step| {
            told(step, "written", &mut progress, &stop)
        })
    };
    drop(target);
    let made = made.map_err(|e| stop.name(e))?;
    let said = summary(&made, target_name);
    // What a stream carries is the backup alone.
    if is_stream {
        writeln!(streams.err, "siteconf: {said}")?;
    } else {
        writeln!(streams.out, "{said}")?;
    }
    if made.damaged > 0 {
        streams.note(format_args!(
            "siteconf: the store is damaged: {} things are not in the backup as they should be; see \
             \"siteconf debug check --deep\"",
            made.damaged
        ))?;
        return Ok(Outcome::Findings);
    }
    if let Err(error) = folder.note_backup(made.at) {
        tracing::warn!(%error, "the data folder does not note this backup");
    }
    Ok(Outcome::Fine)
}

/// Refuses a place of which also what it lies in is not there: it is mistyped, or its disk is not mounted,
/// and who looks for the last backup would be told of one on the disk of the store.
fn require_above(target: &Path) -> Result<()> {
    let above = target.parent().unwrap_or(target);
    if above.as_os_str().is_empty() || above.is_dir() {
        return Ok(());
    }
    Err(Error::Failed(format!(
        "there is no folder {}: a backup makes only the last one of its path; is the disk mounted?",
        above.display()
    )))
}

fn summary(made: &Made, target: &Path) -> String {
    let to = if is_dash(target) {
        "standard output".to_owned()
    } else {
        visible(&target.to_string_lossy())
    };
    format!(
        "backed up to {to}: the state of {}, write {}; {} new files of {} bytes, {} bytes in all",
        made.at, made.version, made.new_files, made.new_bytes, made.bytes
    )
}

fn verify(source: &Path, streams: &mut Streams<'_>) -> Result<Outcome> {
    let stop = Stop::watch(true)?;
    let Streams {
        input,
        out,
        err,
        input_is_terminal,
        err_is_terminal,
        ..
    } = streams;
    let source = open(source, *input, *input_is_terminal, &stop)?;
    let mut progress = Progress::on(*err, *err_is_terminal);
    let verified = backup::verify(source, &mut |step| told(step, "read", &mut progress, &stop));
    drop(progress);
    let Verified {
        at,
        version,
        files,
        bytes,
        faults,
    } = verified.map_err(|e| stop.name(e))?;
    writeln!(
        out,
        "the state of {at}, write {version}: {files} files of {bytes} bytes read; {faults} faults"
    )?;
    Ok(if faults == 0 {
        Outcome::Fine
    } else {
        Outcome::Findings
    })
}

/// `restore`.
pub(super) fn restore(
    args: &Restore,
    settings: &Settings,
    streams: &mut Streams<'_>,
) -> Result<Outcome> {
    let Streams {
        input,
        out,
        err,
        input_is_terminal,
        err_is_terminal,
        ..
    } = streams;
    let data = settings.folder(
        "\"siteconf restore\"",
        "bring back a base backup, or what pg_dump has written, and the file of server_key_file",
    )?;
    let stop = Stop::watch(false)?;
    let source = open(&args.source, *input, *input_is_terminal, &stop)?;
    let mut progress = Progress::on(*err, *err_is_terminal);
    let extent = if args.what_is_sound {
        Extent::WhatIsSound
    } else {
        Extent::Whole
    };
    let restored = backup::restore(source, data, extent, &mut |step| {
        told(step, "read", &mut progress, &stop)
    });
    drop(progress);
    let restored = restored.map_err(|e| stop.name(e))?;
    let told = writeln!(
        out,
        "restored to {}: the state of {}, write {}; {} bytes read",
        visible(&data.to_string_lossy()),
        restored.at,
        restored.version,
        restored.bytes
    );
    output::of_change(told, *out, None)?;
    if restored.format.is_older() {
        writeln!(err, "siteconf: {}", visible(&restored.format.advice(data)))?;
    }
    if restored.left_out > 0 {
        streams.note(format_args!(
            "siteconf: the backup was damaged: {} of its files are not restored, or not whole; \"siteconf debug check \
             --deep\" names the files and states that the store lacks. Keep that backup, and name another place for \
             the next one",
            restored.left_out
        ))?;
        return Ok(Outcome::Findings);
    }
    Ok(Outcome::Fine)
}

/// Opens a backup to read it.
fn open<'a>(
    source: &Path,
    input: &'a mut dyn BufRead,
    input_is_terminal: bool,
    stop: &'a Stop,
) -> Result<Source<'a>> {
    if !is_dash(source) {
        return Ok(Source::open(source)?);
    }
    if input_is_terminal {
        return Err(Error::Usage(
            "a backup is not read from a terminal; lead a file or another program into it, as in \
             \"zstd -dc FILE | siteconf restore -\""
                .to_owned(),
        ));
    }
    let input: Box<dyn Read> = Box::new(stop.reading(input));
    Ok(Source::stream(input, "standard input"))
}

/// Shows a step, and says whether to go on.
fn told(step: Step<'_>, done: &str, progress: &mut Progress<'_>, stop: &Stop) -> ControlFlow<()> {
    match step {
        Step::At { files, bytes } => {
            progress.say(|| format!("{files} files, {} MiB {done}", bytes / MIB));
        }
        Step::Damage(fault) => progress.tell(&format!("siteconf: {}", visible(fault))),
        Step::Remark(remark) => progress.tell(&format!("siteconf: remark: {}", visible(remark))),
    }
    stop.flow()
}

fn is_dash(path: &Path) -> bool {
    path == Path::new("-")
}

/// True for a backup that is a file: by its name, or because something is there that is no folder.
fn is_file(target: &Path) -> bool {
    !target.is_dir() && (target.exists() || target.extension().is_some_and(|end| end == "tar"))
}
