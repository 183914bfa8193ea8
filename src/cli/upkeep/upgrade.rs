//! `upgrade`: a folder of an earlier format gets today's, on request.

use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::Path;

use clap::Args;
use serde::Serialize;

use crate::cli::open_store::OpenStore;
use crate::cli::output;
use crate::cli::output::visible_path;
use crate::cli::running::progress::Progress;
use crate::cli::running::stop::Stop;
use crate::cli::settings::Settings;
use crate::cli::{Error, Result, Streams};
use crate::repo::audit;
use crate::repo::audit::{Action, AuditRecord};
use crate::store::StoreError;
use crate::store::sqlite::Format;
use crate::store::sqlite::upgrade::{Outlook, Upgraded, upgrade};

#[derive(Debug, Args)]
pub(in crate::cli) struct Upgrade {
    /// Only say what would be done
    #[arg(long)]
    dry_run: bool,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// What an upgrade found and did, as JSON.
#[derive(Debug, Serialize)]
struct Report {
    data: String,
    /// What it found.
    format: String,
    /// What this version writes.
    current_format: String,
    steps: Vec<String>,
    /// The most that it takes on the disk.
    room_bytes: u64,
    free_bytes: u64,
    /// True if a service runs on the folder, which must be stopped first.
    running: bool,
    upgraded: bool,
}

/// `upgrade`.
pub(in crate::cli) fn run(
    args: &Upgrade,
    settings: &Settings,
    streams: &mut Streams<'_>,
) -> Result<()> {
    let data = settings.folder(
        "\"siteconf upgrade\"",
        "\"siteconf migrate\" brings its tables on",
    )?;
    let outlook = Outlook::of(data)?;
    let mut report = Report::of(data, &outlook);
    if !args.json {
        let shown = report.show(streams.out);
        // Who cannot be told keeps nothing from being done; what is only shown is not.
        if args.dry_run {
            shown?;
        }
    }
    if !args.dry_run && outlook.format.is_older() {
        convert(data, &outlook, streams)?;
        let detail = format!("from format {} to {}", report.format, report.current_format);
        note(settings, detail)?;
        report.upgraded = true;
    }
    let written = if args.json {
        output::write_json(streams.out, &report)
    } else if report.upgraded {
        let (data, current) = (&report.data, &report.current_format);
        let written = writeln!(
            streams.out,
            "the folder has format {current} now; \"siteconf serve --data {data}\" serves it"
        );
        written.map_err(Error::from)
    } else {
        Ok(())
    };
    if !report.upgraded {
        return written;
    }
    output::of_change(written, streams.out, None)
}

fn convert(data: &Path, outlook: &Outlook, streams: &mut Streams<'_>) -> Result<()> {
    if outlook.room_bytes > outlook.free_bytes && !outlook.is_served {
        return Err(Error::Failed(format!(
            "the upgrade takes up to {} bytes on the disk, and {} are free; nothing was changed",
            outlook.room_bytes, outlook.free_bytes
        )));
    }
    let stop = Stop::watch(false)?;
    let mut progress = Progress::new(streams);
    let upgraded = upgrade(data, &mut |given| {
        progress.say(|| format!("{given} of {} records have a checksum", outlook.records));
        if stop.is_asked() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    drop(progress);
    match upgraded {
        Ok(Upgraded::Whole) => Ok(()),
        Ok(Upgraded::Interrupted) => Err(stop.name(Error::Failed("interrupted".to_owned()))),
        Err(StoreError::Locked { path, holder }) => Err(Error::Failed(format!(
            "{} is in use by {holder}; stop the service, then run the upgrade again",
            path.display()
        ))),
        Err(error) => Err(error.into()),
    }
}

/// Leaves word of it in the audit log: from what to what.
pub(in crate::cli) fn note(settings: &Settings, detail: String) -> Result<()> {
    let opened = OpenStore::beside(settings)?;
    let told = AuditRecord {
        detail: audit::detail(detail),
        ..AuditRecord::new(
            opened.projects.clock().now(),
            &opened.actor,
            Action::Upgrade,
        )
    };
    Ok(opened.projects.tell(&told)?)
}

impl Report {
    fn of(data: &Path, outlook: &Outlook) -> Self {
        Self {
            data: visible_path(data),
            format: outlook.format.to_string(),
            current_format: Format::CURRENT.to_string(),
            steps: outlook.steps(),
            room_bytes: outlook.room_bytes,
            free_bytes: outlook.free_bytes,
            running: outlook.is_served,
            upgraded: false,
        }
    }

    /// Writes it for a person.
    fn show(&self, out: &mut dyn Write) -> io::Result<()> {
        for (name, text) in self.lines() {
            writeln!(out, "{name:16} {text}")?;
        }
        out.flush()
    }

    /// The lines for a person: what, and how it is.
    fn lines(&self) -> Vec<(String, String)> {
        let mut lines = vec![("data".to_owned(), self.data.clone())];
        let mut line = |name: &str, text: String| lines.push((name.to_owned(), text));
        if self.steps.is_empty() {
            let format = format!("{}, which this version writes: nothing to do", self.format);
            line("format", format);
            return lines;
        }
        let format = format!(
            "{}; this version writes {}",
            self.format, self.current_format
        );
        line("format", format);
        for (step, number) in self.steps.iter().zip(1..) {
            line(&format!("step {number}"), step.clone());
        }
        let room = format!(
            "at most {} bytes, {} are free",
            self.room_bytes, self.free_bytes
        );
        line("room", room);
        let backup = format!(
            "the upgrade makes none; \"siteconf backup TARGET --data {}\" makes one, also while the earlier \
             version serves",
            self.data
        );
        line("backup", backup);
        if self.running {
            line("to do first", "stop the service that runs on it".to_owned());
        }
        lines
    }
}
