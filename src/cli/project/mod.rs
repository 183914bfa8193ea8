//! Projects from the command line.

pub(super) mod args;
mod create;
mod keep;
mod list;
pub(super) mod owner;
mod rename;
mod restore;
mod rules;
mod show;
mod validate;

use args::ProjectCommand;

use crate::cli::deleted;
use crate::cli::open_store::OpenStore;
use crate::cli::settings::Settings;
use crate::cli::{Outcome, Result, Streams};

/// Runs one of the commands of `project`.
pub(super) fn run(
    command: &ProjectCommand,
    settings: &Settings,
    opened: &OpenStore,
    streams: &mut Streams<'_>,
) -> Result<Outcome> {
    let done = match command {
        ProjectCommand::Validate(args) => return validate::list(args, opened, streams),
        ProjectCommand::Create { repo_id, owner } => {
            create::create(repo_id, owner, opened, streams)
        }
        ProjectCommand::Show { repo_id, json } => show::show(repo_id, *json, opened, streams),
        ProjectCommand::List(args) if args.deleted => {
            deleted::list(opened, settings.keep_deleted_days, args.json, streams)
        }
        ProjectCommand::List(args) => list::list(opened, args.json, streams),
        ProjectCommand::Rename { repo_id, new_id } => {
            rename::rename(repo_id, new_id, opened, streams)
        }
        ProjectCommand::Transfer { repo_id, owner } => {
            rename::transfer(repo_id, owner, opened, streams)
        }
        ProjectCommand::Delete { repo_id } => restore::delete(repo_id, opened, streams),
        ProjectCommand::Restore(args) => restore::restore(args, opened, streams),
        ProjectCommand::Keep(args) => keep::set_rule(args, opened, streams),
        ProjectCommand::Rules(args) => rules::run(args, opened, streams),
    };
    done.map(|()| Outcome::Fine)
}
