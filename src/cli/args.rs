//! The command line's grammar. The doc comments are the texts that `--help` shows.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, value_parser};

use super::example::Example;
use super::settings::{EVERYWHERE, Flags, IMPORT, LIST, PRUNE, SERVE};
use crate::access::Role;

/// Keeps configuration files for ERP clients: branches, snapshots, rollback.
#[derive(Debug, Parser)]
#[command(name = "siteconf", version, max_term_width = 100)]
pub(super) struct Cli {
    #[command(flatten)]
    pub(super) settings: Flags<EVERYWHERE>,
    #[command(subcommand)]
    pub(super) command: Command,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Starts the service; makes the store on its first start
    Serve(Box<ServeFlags>),
    /// Accounts: add, list, passwd, disable, enable, role
    #[command(subcommand)]
    User(UserCommand),
    /// Read tokens: create, list, revoke
    #[command(subcommand)]
    Token(TokenCommand),
    /// Projects: list, delete, restore
    #[command(subcommand)]
    Project(ProjectCommand),
    /// Branches: delete, restore
    #[command(subcommand)]
    Branch(BranchCommand),
    /// Lays a folder over a branch, as one save; makes the branch when absent
    Import(Import),
    /// Writes a revision into a new or empty folder
    Export(Export),
    /// Removes old snapshots by the rules of the settings and of the projects
    Prune(Prune),
    /// Removes what no branch and no snapshot needs, and gives its room back
    Gc(Collect),
    /// Backs the store up while the service runs, or looks whether a backup is sound
    Backup(Backup),
    /// Makes a store of a backup, in the folder that --data names: absent or empty
    Restore(Restore),
    /// Who did what, and who was refused, oldest first
    Audit(Audit),
    /// Looks into a store, read-only; also into a damaged one
    #[command(subcommand)]
    Debug(DebugCommand),
    /// Prints a file for what runs beside the service, ready to be adapted
    Example {
        /// What it is for
        #[arg(value_name = "NAME")]
        name: Example,
    },
}

#[derive(Clone, Debug, Default, Args)]
pub(super) struct ServeFlags {
    #[command(flatten)]
    pub(super) settings: Flags<SERVE>,
    /// Go on with another server key where the store's is lost for good; tokens that are bound to
    /// an instance are refused until they are reset
    #[arg(long)]
    pub(super) new_server_key: bool,
}

#[derive(Debug, Subcommand)]
pub(super) enum UserCommand {
    /// Makes an account
    Add {
        /// The name to log in with
        name: String,
        /// A role, as in `ROLE_SITEBUILDER_USER__acme`; may be repeated
        #[arg(long = "role", value_name = "ROLE")]
        roles: Vec<Role>,
        /// Read the password from standard input, one line; without this it is asked for on a
        /// terminal, else made up and printed
        #[arg(long)]
        password_stdin: bool,
    },
    /// Lists the accounts
    List {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Sets a new password and ends the account's sessions
    Passwd {
        /// The account
        name: String,
        /// As for `user add`
        #[arg(long)]
        password_stdin: bool,
    },
    /// Shuts an account: no login, no session, no token of it works
    Disable {
        /// The account
        name: String,
        /// Also the last one with the role for everything
        #[arg(long)]
        force: bool,
    },
    /// Opens a disabled account again
    Enable {
        /// The account
        name: String,
    },
    /// Roles of an account: add, remove
    #[command(subcommand)]
    Role(RoleCommand),
}

#[derive(Debug, Subcommand)]
pub(super) enum RoleCommand {
    /// Gives an account a role
    Add {
        /// The account
        name: String,
        /// The role
        role: Role,
    },
    /// Takes a role from an account
    Remove {
        /// The account
        name: String,
        /// The role
        role: Role,
        /// Also the role for everything from the last account with it
        #[arg(long)]
        force: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(super) enum TokenCommand {
    /// Makes a token and prints it, once
    Create(TokenCreate),
    /// Lists tokens
    List {
        /// Only of this account
        #[arg(long, value_name = "NAME")]
        user: Option<String>,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Revokes a token, by its id
    Revoke {
        /// The token's id, as `token list` shows it
        id: String,
    },
}

#[derive(Debug, Args)]
pub(super) struct TokenCreate {
    /// The account it reads for
    #[arg(long, value_name = "NAME")]
    pub(super) user: String,
    /// A name to know it by
    #[arg(long, value_name = "TEXT")]
    pub(super) name: String,
    /// A project it covers; may be repeated
    #[arg(
        long = "repo",
        value_name = "ID",
        required_unless_present = "all",
        conflicts_with = "all"
    )]
    pub(super) repos: Vec<String>,
    /// Covers every project of the account, also later ones
    #[arg(long)]
    pub(super) all: bool,
    /// When it ends: RFC 3339, or YYYY-MM-DD, midnight UTC [default: never]
    #[arg(long, value_name = "WHEN")]
    pub(super) expires: Option<String>,
    /// Bind it to the first instance that uses it
    #[arg(long)]
    pub(super) fingerprint: bool,
}

#[derive(Debug, Subcommand)]
pub(super) enum ProjectCommand {
    /// Lists all projects
    List(ProjectList),
    /// Deletes a project with its branches; for a time it can be restored
    Delete {
        /// The project, as in acme/shop.erp
        repo_id: String,
    },
    /// Restores a deleted project with its history
    Restore(RestoreWish),
    /// Says which snapshots of a project stay when it is pruned
    Keep(ProjectKeep),
}

#[derive(Debug, Args)]
pub(super) struct ProjectList {
    /// Instead those projects and branches that are deleted and can be restored
    #[arg(long)]
    pub(super) deleted: bool,
    /// As JSON
    #[arg(long)]
    pub(super) json: bool,
    #[command(flatten)]
    pub(super) settings: Flags<LIST>,
}

#[derive(Debug, Subcommand)]
pub(super) enum BranchCommand {
    /// Deletes a branch with its snapshots; for a time it can be restored
    Delete {
        /// The project, as in acme/shop.erp
        repo_id: String,
        /// The branch
        branch: String,
    },
    /// Restores a deleted branch with its history
    Restore {
        /// The project, as in acme/shop.erp
        repo_id: String,
        #[command(flatten)]
        wish: RestoreWish,
    },
}

#[derive(Debug, Args)]
pub(super) struct RestoreWish {
    /// Its name, or its id, as `project list --deleted` shows it
    #[arg(value_name = "NAME|ID")]
    pub(super) what: String,
    /// Restore it under this name
    #[arg(long = "as", value_name = "NAME")]
    pub(super) name: Option<String>,
}

#[derive(Debug, Args)]
pub(super) struct ProjectKeep {
    /// The project, as in acme/shop.erp
    pub(super) repo_id: String,
    /// Of each branch, the newest so many
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..))]
    pub(super) snapshots: Option<u64>,
    /// Those that are younger
    #[arg(long, value_name = "DAYS", value_parser = value_parser!(u64).range(1..))]
    pub(super) days: Option<u64>,
    /// All
    #[arg(long, conflicts_with_all = ["snapshots", "days"])]
    pub(super) all: bool,
    /// Those that the settings say
    #[arg(long, conflicts_with_all = ["snapshots", "days", "all"],
        required_unless_present_any = ["snapshots", "days", "all"])]
    pub(super) as_service: bool,
}

#[derive(Debug, Args)]
pub(super) struct Import {
    /// The project, as in acme/shop.erp
    pub(super) repo_id: String,
    /// The branch
    pub(super) branch: String,
    /// The folder
    pub(super) dir: PathBuf,
    /// Also remove from the branch what the folder lacks; what is skipped stays
    #[arg(long)]
    pub(super) mirror: bool,
    /// Let a mirror leave the branch empty
    #[arg(long, requires = "mirror")]
    pub(super) allow_empty: bool,
    /// Make the project when absent, owned by this account
    #[arg(long, value_name = "NAME")]
    pub(super) owner: Option<String>,
    #[command(flatten)]
    pub(super) settings: Flags<IMPORT>,
}

#[derive(Debug, Args)]
pub(super) struct Export {
    /// The project, as in acme/shop.erp
    pub(super) repo_id: String,
    /// A branch, `<branch>@v0007`, or a commit id
    pub(super) revision: String,
    /// The folder to write: absent or empty
    pub(super) dir: PathBuf,
}

#[derive(Debug, Args)]
pub(super) struct Prune {
    /// Only say what would be removed, and how much room the next `gc` could give back for it
    #[arg(long)]
    pub(super) dry_run: bool,
    /// As JSON
    #[arg(long)]
    pub(super) json: bool,
    #[command(flatten)]
    pub(super) settings: Flags<PRUNE>,
}

#[derive(Debug, Args)]
pub(super) struct Collect {
    /// Only say what would be removed
    #[arg(long, conflicts_with = "compact")]
    pub(super) dry_run: bool,
    /// Then write the database anew, as small as it can be; the service must be stopped, and there
    /// must be room for twice what is left
    #[arg(long)]
    pub(super) compact: bool,
    /// As JSON
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(super) struct Backup {
    /// Where it goes: a folder, to which a later backup adds what is new; a file, there or with a
    /// name that ends in .tar; or - for a tar stream to standard output
    #[arg(required = true, value_name = "FILE|DIR|-")]
    pub(super) target: Option<PathBuf>,
    #[command(subcommand)]
    pub(super) command: Option<BackupCommand>,
}

#[derive(Debug, Subcommand)]
pub(super) enum BackupCommand {
    /// Reads a backup and holds every file against its sum; exit code 1 if something is wrong
    Verify {
        /// The backup: a file, a folder, or - for standard input
        #[arg(value_name = "FILE|DIR|-")]
        source: PathBuf,
    },
}

#[derive(Debug, Args)]
pub(super) struct Restore {
    /// The backup: a file, a folder, or - for standard input
    #[arg(value_name = "FILE|DIR|-")]
    pub(super) source: PathBuf,
}

#[derive(Debug, Args)]
pub(super) struct Audit {
    /// Only since then: RFC 3339, YYYY-MM-DD, midnight UTC, or how long ago, as 30d or 12h
    #[arg(long, value_name = "WHEN")]
    pub(super) since: Option<String>,
    /// Only what this account did, or what was done to it
    #[arg(long, value_name = "NAME")]
    pub(super) user: Option<String>,
    /// Only what was done to this project
    #[arg(long, value_name = "ID")]
    pub(super) project: Option<String>,
    /// As JSON, a line each
    #[arg(long)]
    pub(super) json: bool,
    /// Go on with what comes, until Ctrl-C
    #[arg(long)]
    pub(super) follow: bool,
}

#[derive(Debug, Subcommand)]
pub(super) enum DebugCommand {
    /// Every project, branch and its head
    Refs {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// The snapshots of a branch, newest first
    History {
        /// The branch
        #[arg(value_name = "REPO_ID:BRANCH")]
        target: String,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// The nodes of a revision's tree, with their sizes and how many items each holds
    Manifest {
        /// The revision
        #[arg(value_name = "REPO_ID:REVISION")]
        target: String,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// One object: kind, size, and what it says
    Object {
        /// Its id, or the first four digits or more
        id: String,
        /// Write its bytes instead
        #[arg(long, conflicts_with = "json")]
        raw: bool,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// The lines under a branch digest, and the digest
    Digest {
        /// The revision
        #[arg(value_name = "REPO_ID:REVISION")]
        target: String,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// The files that differ between two revisions, of one project or two
    Diff {
        /// The one revision
        #[arg(value_name = "REPO_ID:REVISION")]
        old: String,
        /// The other
        #[arg(value_name = "REPO_ID:REVISION")]
        new: String,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// What the store holds, counted
    Stats {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Looks for what is missing, left over or not as it must be; exit code 1 if something is
    Check {
        /// Also read every file's bytes back and hold them against their ids and digests, and have
        /// SQLite examine the database
        #[arg(long)]
        deep: bool,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_grammar_is_consistent() {
        Cli::command().debug_assert();
    }
}
