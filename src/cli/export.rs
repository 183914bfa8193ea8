//! A revision, written into a folder.

use std::path::PathBuf;

use clap::Args;

use super::open_store::OpenStore;
use super::output::visible_path;
use super::running::progress::Progress;
use super::running::stop::Stop;
use super::{Error, Result, Streams, names};
use crate::repo;
use crate::repo::ExportError;

#[derive(Debug, Args)]
pub(super) struct Export {
    /// The project, as in acme/shop.erp
    pub(super) repo_id: String,
    /// A branch, `<branch>@v0007`, or a commit id
    pub(super) revision: String,
    /// The folder to write: absent or empty; Ctrl-C leaves it so, a failure leaves what was written
    pub(super) dir: PathBuf,
}

/// `export`.
pub(super) fn export(args: &Export, opened: &OpenStore, streams: &mut Streams<'_>) -> Result<()> {
    let repo_id = names::repo_id(&args.repo_id)?;
    let revision = opened.revision(&repo_id, &args.revision)?;
    let stop = Stop::watch(false)?;
    let total = revision.totals().files;
    let mut progress = Progress::new(streams);
    let mut written: u64 = 0;
    let files = repo::export(&revision, &args.dir, |_| {
        written += 1;
        progress.say(|| format!("{written} of {total} files written"));
        stop.flow()
    });
    drop(progress);
    let Some(files) = files.map_err(|error| failed(&error, written, total))? else {
        return Err(stop.name(Error::Failed("interrupted".to_owned())));
    };
    writeln!(
        streams.out,
        "{files} files exported to {}",
        visible_path(&args.dir)
    )?;
    Ok(())
}

/// The failure, with what is left of the export. Nothing is made of one that is refused.
fn failed(error: &ExportError, written: u64, total: u64) -> Error {
    Error::Failed(match error {
        ExportError::Refused(_) => error.to_string(),
        _ if written == 0 => format!("{error}; no file was written"),
        _ => format!("{error}; {written} of {total} files were written, and stay"),
    })
}
