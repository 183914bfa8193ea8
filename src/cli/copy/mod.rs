//! `copy`: a store into another engine, with all versions, beside the service until the records come.

mod key;
mod sides;

use std::ffi::{OsStr, OsString};
use std::ops::ControlFlow;

use clap::Args;

use super::open_store::OpenStore;
use super::output;
use super::running::progress::Progress;
use super::running::stop::Stop;
use super::settings::Settings;
use super::{Error, Result, Streams, bucket, engine};
use crate::store::StoreError;
use crate::store::database_url::DatabaseUrl;
use crate::store::engine::{Engine, Purpose, StoreAddress};
use crate::store::objects::Objects;
use crate::store::transfer::{Copied, Loader, Step, TransferError, copy_objects, copy_rest};
use key::KeyFile;
use sides::Sides;

/// Damaged objects of which each is told.
const DAMAGED_TOLD: u64 = 100;

#[derive(Debug, Args)]
pub(super) struct CopyArgs {
    /// What is copied: a data folder, or the URL of a PostgreSQL database
    #[arg(long, value_name = "ADDRESS")]
    from: OsString,
    /// Where it is copied: a folder or a database that holds nothing, or what an earlier run left there
    #[arg(long, value_name = "ADDRESS")]
    to: OsString,
}

impl CopyArgs {
    /// The first of the two that is a database.
    pub(super) fn database(&self) -> Option<&OsStr> {
        let mut both = [&self.from, &self.to].into_iter();
        let is_url = |text: &&OsString| {
            text.to_str()
                .is_some_and(|it| DatabaseUrl::parse(it).is_ok())
        };
        both.find(is_url).map(OsString::as_os_str)
    }
}

/// `copy`.
pub(super) fn run(args: &CopyArgs, settings: &Settings, streams: &mut Streams<'_>) -> Result<()> {
    let sides = Sides::of(&args.from, &args.to, settings)?;
    let (from, to) = (&sides.from, &sides.to);
    let source = engine::open(from, Purpose::Read)?;
    // From the bucket of another store each large file would be told as a damaged one.
    let looked = source.inspectable().require_files();
    looked.map_err(|error| engine::of_store(error, from))?;
    let key = KeyFile::of(&OpenStore::of(source.clone()), from, to);
    let key = key.map_err(|error| engine::located(error, from))?;
    let source = Objects::new(source.store());
    let stop = Stop::watch(false)?;
    let mut loader = begin(to, &key)?;
    let mut progress = Progress::new(streams);
    let mut damaged = 0;
    let mut tell = |step: Step<'_>| {
        match step {
            Step::Objects(copied) => progress
                .say(|| format!("{} objects copied, {} bytes", copied.objects, copied.bytes)),
            Step::Records(count) => progress.say(|| format!("{count} records copied")),
            Step::Compared(count) => progress.say(|| format!("{count} compared")),
            Step::Damaged(sentence) => {
                damaged += 1;
                if damaged <= DAMAGED_TOLD {
                    progress.tell(sentence);
                }
            }
        }
        stop.flow()
    };
    let failed = |error| failure(error, &sides, &stop);
    copy_objects(&source, loader.as_ref(), &mut tell).map_err(failed)?;
    let hold = Engine::hold(&engine::address(from)?).map_err(|error| in_use(error, from))?;
    let copied = copy_rest(&source, hold.as_ref(), loader.as_mut(), &mut tell).map_err(failed)?;
    if stop.flow() == ControlFlow::Break(()) {
        return Err(failed(TransferError::Interrupted));
    }
    key.keep()?;
    let finished = loader.finish();
    finished.map_err(|error| failed(TransferError::Target(error)))?;
    drop(progress);
    let told = report(&copied, &sides, &key, streams);
    output::of_change(told, streams.out, None)
}

fn begin(to: &Settings, key: &KeyFile) -> Result<Box<dyn Loader>> {
    let (address, bucket) = (engine::address(to)?, bucket::access(to)?);
    let begun = Engine::begin_copy(&address, bucket.as_ref(), key.proof());
    begun.map_err(|error| engine::of_store(error, to))
}

/// What is said of a source that is served.
fn in_use(error: StoreError, from: &Settings) -> Error {
    let is_in_use = matches!(error, StoreError::Locked { .. } | StoreError::Unfit { .. });
    let said = engine::of_store(error, from);
    if is_in_use {
        Error::Failed(format!(
            "{said}: all objects are copied; stop it, and run the same again for the records"
        ))
    } else {
        said
    }
}

/// What is said of a copy that has not come to its end.
fn failure(error: TransferError, sides: &Sides, stop: &Stop) -> Error {
    let again = "what was copied is kept; run the same again";
    match error {
        TransferError::Interrupted => stop.paused(),
        TransferError::Target(StoreError::TooLarge { bytes_max }) => Error::Failed(format!(
            "{}: there is no place for files of more than {bytes_max} bytes: give blobs, a bucket for them; \
             {again}",
            sides.to.store
        )),
        TransferError::Source(error) => {
            let said = engine::of_store(error, &sides.from);
            Error::Failed(format!("{said}; {again}"))
        }
        TransferError::Target(error) => {
            let said = engine::of_store(error, &sides.to);
            Error::Failed(format!("{said}; {again}"))
        }
        TransferError::Damaged { .. } => Error::Failed(format!(
            "{}: {error}, and the copy is no store without them; mend them there, and run the same again",
            sides.from.store
        )),
        TransferError::Changed => Error::Failed(format!("{}: {error}; {again}", sides.from.store)),
        TransferError::Differs(_) => Error::Failed(format!(
            "{}: {error}; remove what is there, and copy again",
            sides.to.store
        )),
    }
}

fn report(copied: &Copied, sides: &Sides, key: &KeyFile, streams: &mut Streams<'_>) -> Result<()> {
    let Copied {
        objects,
        more_objects,
        records,
    } = copied;
    let out = &mut *streams.out;
    writeln!(out, "{:16} {objects}", "objects")?;
    if *more_objects > 0 {
        writeln!(
            out,
            "{:16} {more_objects}, which were removed there while they were copied",
            "more objects"
        )?;
    }
    writeln!(out, "{:16} {}", "records", records.count)?;
    writeln!(out, "{:16} {}", "last version", records.last)?;
    writeln!(out, "{:16} {}", "digest", records.blake3)?;
    writeln!(out, "{:16} {}", "server key", key.shown())?;
    let serve = match &*sides.to.store {
        StoreAddress::Folder(_) => "--data",
        StoreAddress::Postgres(_) => "--store",
    };
    let to = &sides.to.store;
    writeln!(
        out,
        "{to} holds the store now; \"siteconf serve {serve} {to}\" serves it"
    )?;
    Ok(())
}
