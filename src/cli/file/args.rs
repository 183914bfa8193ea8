//! The grammar of `ls`, `cat`, `put` and `rm`.

use std::path::PathBuf;

use clap::Args;

use crate::cli::settings::{Flags, IMPORT};

#[derive(Debug, Args)]
pub(in crate::cli) struct Ls {
    /// The project, as in acme/shop.erp
    pub(in crate::cli) repo_id: String,
    /// A branch, `<branch>@v0007`, or a commit id; without one the default branch
    pub(in crate::cli) revision: Option<String>,
    /// A folder, or a file
    pub(in crate::cli) path: Option<String>,
    /// Also mode, size, and when it was last changed; "-" where that is more than 1,000 changes ago
    #[arg(short, long)]
    pub(in crate::cli) long: bool,
    /// All files below it, without the folders
    #[arg(short, long)]
    pub(in crate::cli) recursive: bool,
    /// As JSON
    #[arg(long)]
    pub(in crate::cli) json: bool,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct Cat {
    /// The project, as in acme/shop.erp
    pub(in crate::cli) repo_id: String,
    /// A branch, `<branch>@v0007`, or a commit id
    pub(in crate::cli) revision: String,
    /// The file
    pub(in crate::cli) path: String,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct Put {
    /// The project, as in acme/shop.erp
    pub(in crate::cli) repo_id: String,
    /// The branch
    pub(in crate::cli) branch: String,
    /// Where it is saved, as in config/prices.xml
    pub(in crate::cli) path: String,
    /// The file whose bytes are saved; without it, or with -, standard input
    pub(in crate::cli) file: Option<PathBuf>,
    /// Save only over the file as it is in this snapshot (v0007), with this blob id (`ls --json`), or
    /// where there is none (absent)
    #[arg(long, value_name = "BLOB|VERSION|absent")]
    pub(in crate::cli) expect: Option<String>,
    /// Why, for the history, which then shows a batch
    #[arg(long, value_name = "TEXT")]
    pub(in crate::cli) message: Option<String>,
    /// Save also what breaks a rule of the project for its contents; the audit log says so
    #[arg(long)]
    pub(in crate::cli) no_validate: bool,
    /// What was saved, as JSON
    #[arg(long)]
    pub(in crate::cli) json: bool,
    #[command(flatten)]
    pub(in crate::cli) settings: Flags<IMPORT>,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct Rm {
    /// The project, as in acme/shop.erp
    pub(in crate::cli) repo_id: String,
    /// The branch
    pub(in crate::cli) branch: String,
    /// The file; with -r the folder
    pub(in crate::cli) path: String,
    /// A folder with all that is below it
    #[arg(short, long, conflicts_with = "expect")]
    pub(in crate::cli) recursive: bool,
    /// Delete only the file as it is in this snapshot (v0007), or with this blob id (`ls --json`)
    #[arg(long, value_name = "BLOB|VERSION")]
    pub(in crate::cli) expect: Option<String>,
    /// Delete also the schema of a rule; the audit log says so
    #[arg(long)]
    pub(in crate::cli) no_validate: bool,
    /// Why, for the history, which then shows a batch
    #[arg(long, value_name = "TEXT")]
    pub(in crate::cli) message: Option<String>,
}
