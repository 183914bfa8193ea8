//! The grammar of `debug`.

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum DebugCommand {
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
        /// Also read every file's bytes back and hold them against their ids and digests, and examine
        /// the database itself
        #[arg(long)]
        deep: bool,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
}
