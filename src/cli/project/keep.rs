//! Which snapshots of a project stay.

use super::args::ProjectKeep;
use crate::cli::open_store::OpenStore;
use crate::cli::output;
use crate::cli::{Result, Streams, names};
use crate::repo::Retention;

/// `project keep`.
pub(in crate::cli) fn set_rule(
    args: &ProjectKeep,
    opened: &OpenStore,
    streams: &mut Streams<'_>,
) -> Result<()> {
    let repo_id = names::repo_id(&args.repo_id)?;
    let keep = (!args.as_service).then_some(Retention {
        snapshots: args.snapshots.unwrap_or(0),
        days: args.days.unwrap_or(0),
    });
    opened
        .project(&repo_id)?
        .set_retention(keep, &opened.actor)?;
    let told = match keep {
        Some(keep) => writeln!(streams.out, "{repo_id} keeps {keep}"),
        None => writeln!(streams.out, "{repo_id} keeps what the settings say"),
    };
    output::of_change(told, streams.out, None)
}
