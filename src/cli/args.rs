//! The command line's grammar: what all commands have in common, and which there are. The doc comments,
//! here and where a command's own flags are, are the texts that `--help` shows.

use std::ffi::OsString;

use clap::builder::Resettable;
use clap::{CommandFactory, Parser, Subcommand};

use super::audit::Audit;
use super::backup::args::{Backup, Restore};
use super::branch::args::{BranchCommand, Diff, History, Rollback};
use super::config::ConfigCommand;
use super::copy::CopyArgs;
use super::debug::args::DebugCommand;
use super::example::Example;
use super::export::Export;
use super::file::args::{Cat, Ls, Put, Rm};
use super::import::args::Import;
use super::init::InitArgs;
use super::init::daemon_role::DaemonRole;
use super::manual::args::{Completions, ManPages};
use super::migrate_tree::args::MigrateTree;
use super::project::args::ProjectCommand;
use super::pull::args::Pull;
use super::serve::ServeFlags;
use super::settings::{EVERYWHERE, Flags};
use super::status::StatusArgs;
use super::token::args::TokenCommand;
use super::upkeep::collect::Collect;
use super::upkeep::prune::Prune;
use super::upkeep::upgrade::Upgrade;
use super::user::args::UserCommand;
use crate::base::build::COMMIT;
use crate::store::sqlite::Format;

/// Keeps configuration files for ERP clients: branches, snapshots, rollback.
#[derive(Debug, Parser)]
#[command(name = "siteconf", version, long_version = long_version(), max_term_width = 100)]
pub(super) struct Cli {
    #[command(flatten)]
    pub(super) settings: Flags<EVERYWHERE>,
    #[command(subcommand)]
    pub(super) command: Command,
}

/// The same refusal of a command line, as it is where no variable of a setting is set: clap shows each that
/// is as a flag of the line that it proposes.
pub(super) fn by_the_line_alone(refusal: clap::Error, args: &[OsString]) -> clap::Error {
    fn without_variables(command: clap::Command) -> clap::Command {
        command
            .mut_args(|arg| arg.env(Resettable::Reset))
            .mut_subcommands(without_variables)
    }
    let alone = without_variables(Cli::command()).try_get_matches_from(args);
    let same = alone.err().filter(|alone| alone.kind() == refusal.kind());
    same.unwrap_or(refusal)
}

/// What `--version` tells: the version, the commit where it is known, the format of folders.
fn long_version() -> String {
    let commit = COMMIT.map(|commit| format!("commit {commit}\n"));
    format!(
        "{}\n{}format {}",
        env!("CARGO_PKG_VERSION"),
        commit.unwrap_or_default(),
        Format::CURRENT
    )
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Starts the service; makes the store on its first start
    Serve(Box<ServeFlags>),
    /// Makes the store without serving it, as a first start of the service does
    Init(InitArgs),
    /// The state of a store at a glance; exit code 1 where something must be done
    Status(StatusArgs),
    /// Accounts: add, list, show, rename, remove, passwd, disable, enable, role
    #[command(subcommand)]
    User(UserCommand),
    /// Read tokens: create, list, show, update, rotate, revoke
    #[command(subcommand)]
    Token(TokenCommand),
    /// Projects: create, show, list, rename, transfer, delete, restore, keep, rules, validate
    #[command(subcommand)]
    Project(ProjectCommand),
    /// Branches: list, create, delete, restore
    #[command(subcommand)]
    Branch(BranchCommand),
    /// Lists the files and folders of a revision
    Ls(Ls),
    /// Writes the bytes of a file
    Cat(Cat),
    /// Saves a file; a snapshot is taken first
    Put(Put),
    /// Deletes a file, or with -r a folder; a snapshot is taken first
    Rm(Rm),
    /// The states of a branch, newest first, and what brought each about
    History(History),
    /// The files that differ between two revisions
    Diff(Diff),
    /// Brings a branch, or a path of it, back to a snapshot; a snapshot is taken first
    Rollback(Rollback),
    /// Lays a folder over a branch, as one save; makes the branch when absent
    Import(Import),
    /// Moves in from an old tree: projects, branches, old snapshots, accounts and tokens
    MigrateTree(Box<MigrateTree>),
    /// Writes a revision into a new or empty folder
    Export(Export),
    /// Keeps a folder equal to a branch of a service, from another machine, through the Read API
    Pull(Box<Pull>),
    /// Removes old snapshots by the rules of the settings and of the projects
    Prune(Prune),
    /// Removes what no branch and no snapshot needs, and gives its room back
    Gc(Collect),
    /// Backs the store up while the service runs, or looks whether a backup is sound
    Backup(Backup),
    /// Makes a store of a backup, in the folder that --data names: absent or empty
    Restore(Restore),
    /// Gives a folder of an earlier version today's format; says first what it will do
    Upgrade(Upgrade),
    /// Copies a store between a folder and a database, with all versions; goes on where it stopped
    Copy(CopyArgs),
    /// Brings the tables of a store in PostgreSQL on to this version, and says what it did
    Migrate(DaemonRole),
    /// Who did what, and who was refused, oldest first
    Audit(Audit),
    /// Looks into a store, read-only; also into a damaged one
    #[command(subcommand)]
    Debug(DebugCommand),
    /// The settings: check, print
    #[command(subcommand)]
    Config(Box<ConfigCommand>),
    /// Prints what a shell needs to complete the commands
    Completions(Completions),
    /// Writes the manual, a page for each command
    Man(ManPages),
    /// Prints a file for what runs beside the service, ready to be adapted
    Example {
        /// What it is for
        #[arg(value_name = "NAME")]
        name: Example,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grammar_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn the_texts_that_list_commands_list_all() {
        let cli = Cli::command();
        let mut lists = 0;
        for command in cli.get_subcommands() {
            let about = command.get_about().unwrap().to_string();
            let names: Vec<_> = command
                .get_subcommands()
                .map(clap::Command::get_name)
                .collect();
            let listed = about.split_once(": ").filter(|_| !names.is_empty());
            if let Some((_, listed)) = listed {
                assert_eq!(listed, names.join(", "), "{}", command.get_name());
                lists += 1;
            }
        }
        assert_eq!(lists, 5);
    }
}
