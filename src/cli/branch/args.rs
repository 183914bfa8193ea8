//! The grammar of `branch`.

use clap::{Args, Subcommand};

use crate::cli::deleted::RestoreArgs;

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum BranchCommand {
    /// Lists the branches of a project
    List {
        /// The project, as in acme/shop.erp
        repo_id: String,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Makes a branch: empty, or in the state of a revision, whose files it shares
    Create {
        /// The project, as in acme/shop.erp
        repo_id: String,
        /// The branch
        branch: String,
        /// A branch, `<branch>@v0007`, or a commit id
        #[arg(long, value_name = "REVISION")]
        from: Option<String>,
    },
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
        args: RestoreArgs,
    },
}

impl BranchCommand {
    /// False for what only reads.
    pub(in crate::cli) fn changes(&self) -> bool {
        !matches!(self, Self::List { .. })
    }
}

#[derive(Debug, Args)]
pub(in crate::cli) struct History {
    /// The project, as in acme/shop.erp
    pub(in crate::cli) repo_id: String,
    /// The branch
    pub(in crate::cli) branch: String,
    /// Only states in which this file, or something below this folder, was changed
    #[arg(long)]
    pub(in crate::cli) path: Option<String>,
    /// Only those before this snapshot, as in v0007
    #[arg(long, value_name = "VERSION")]
    pub(in crate::cli) before: Option<String>,
    /// At most so many; 0 is all, as without it where nobody looks; on a terminal 50
    #[arg(long, value_name = "N")]
    pub(in crate::cli) limit: Option<usize>,
    /// As JSON
    #[arg(long)]
    pub(in crate::cli) json: bool,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct Diff {
    /// The project, as in acme/shop.erp
    pub(in crate::cli) repo_id: String,
    /// The one revision: a branch, `<branch>@v0007`, or a commit id
    pub(in crate::cli) old: String,
    /// The other; without it the head of the first one's branch
    pub(in crate::cli) new: Option<String>,
    /// Only this file, or what is below this folder
    #[arg(long)]
    pub(in crate::cli) path: Option<String>,
    /// The lines that differ, as a unified diff; of files up to 1 MiB, and up to 16 MiB of it
    #[arg(short = 'p', long, conflicts_with = "json")]
    pub(in crate::cli) text: bool,
    /// As JSON
    #[arg(long)]
    pub(in crate::cli) json: bool,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct Rollback {
    /// The project, as in acme/shop.erp
    pub(in crate::cli) repo_id: String,
    /// The branch
    pub(in crate::cli) branch: String,
    /// The snapshot, as in v0007
    #[arg(value_name = "VERSION")]
    pub(in crate::cli) to: String,
    /// Only this file or folder
    #[arg(long)]
    pub(in crate::cli) path: Option<String>,
    /// Restore also what breaks a rule of the project for its contents; the audit log says so
    #[arg(long)]
    pub(in crate::cli) no_validate: bool,
    /// Only say which files would change, and how
    #[arg(long)]
    pub(in crate::cli) dry_run: bool,
    /// As JSON
    #[arg(long)]
    pub(in crate::cli) json: bool,
}
