//! The grammar of `backup` and `restore`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::cli::running::turn::Wait;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(in crate::cli) struct Backup {
    /// Where it goes: a folder, to which a later backup adds what is new; a file, there or with a
    /// name that ends in .tar; or - for a tar stream to standard output
    #[arg(required = true, value_name = "FILE|DIR|-")]
    pub(in crate::cli) target: Option<PathBuf>,
    #[command(flatten)]
    pub(in crate::cli) wait: Wait,
    #[command(subcommand)]
    pub(in crate::cli) command: Option<BackupCommand>,
}

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum BackupCommand {
    /// Reads a backup and holds every file against its sum; exit code 1 if something is wrong
    Verify {
        /// The backup: a file, a folder, or - for standard input
        #[arg(value_name = "FILE|DIR|-")]
        source: PathBuf,
    },
}

#[derive(Debug, Args)]
pub(in crate::cli) struct Restore {
    /// The backup: a file, a folder, or - for standard input
    #[arg(value_name = "FILE|DIR|-")]
    pub(in crate::cli) source: PathBuf,
    /// Of a backup that was damaged, leave out files of contents that were changed or cannot be read, tell them, and
    /// end with exit code 1; without this, or where records are damaged, nothing is restored of such a one
    #[arg(long)]
    pub(in crate::cli) what_is_sound: bool,
}
