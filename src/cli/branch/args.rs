//! The grammar of `branch`.

use clap::Subcommand;

use crate::cli::deleted::RestoreWish;

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum BranchCommand {
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
