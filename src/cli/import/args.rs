//! The grammar of `import`.

use std::path::PathBuf;

use clap::Args;

use crate::cli::settings::{Flags, IMPORT};

/// What `help import` says of what is left out.
const LONG: &str = "\
All of the folder is taken as one save, or nothing. What cannot be read, or is larger than \
file_bytes_max or, without blobs, than a database takes, ends the import with exit code 1 before anything is \
written, unless --skip-unreadable leaves it out. A file that is written again and again while it is read \
counts as one that cannot be read. Symbolic links, pipes, sockets, devices and what has a name that no branch \
takes are left out and counted; a mirror keeps what the branch has at their place. A folder that changes \
nothing takes no snapshot. Ctrl-C saves nothing, and ends with exit code 130.";

#[derive(Debug, Args)]
#[command(after_long_help = LONG)]
#[expect(clippy::struct_excessive_bools, reason = "one each flag")]
pub(in crate::cli) struct Import {
    /// The project, as in acme/shop.erp
    pub(in crate::cli) repo_id: String,
    /// The branch
    pub(in crate::cli) branch: String,
    /// The folder
    pub(in crate::cli) dir: PathBuf,
    /// Only say what would change
    #[arg(long)]
    pub(in crate::cli) dry_run: bool,
    /// Also remove from the branch what the folder lacks; what is left out of the folder stays
    #[arg(long)]
    pub(in crate::cli) mirror: bool,
    /// Let a mirror leave the branch empty
    #[arg(long, requires = "mirror")]
    pub(in crate::cli) allow_empty: bool,
    /// Leave out what has this name, as in *.bak, or this path in the folder, as in conf/*.xml; may be
    /// repeated. A mirror keeps what the branch has there. With --follow-links a path names it also where
    /// a link leads to it
    #[arg(long, value_name = "GLOB")]
    pub(in crate::cli) exclude: Vec<String>,
    /// Take what symbolic links lead to, where that lies in the folder
    #[arg(long)]
    pub(in crate::cli) follow_links: bool,
    /// Leave out what cannot be read or is too large, and take the rest
    #[arg(long)]
    pub(in crate::cli) skip_unreadable: bool,
    /// Save also what breaks a rule of the project for its contents; the audit log says so
    #[arg(long)]
    pub(in crate::cli) no_validate: bool,
    /// Make the project when absent, owned by this account
    #[arg(long, value_name = "NAME")]
    pub(in crate::cli) owner: Option<String>,
    /// What the history says of it
    #[arg(long, value_name = "TEXT")]
    pub(in crate::cli) message: Option<String>,
    /// The account that the history names, instead of the command line
    #[arg(long = "as", value_name = "USER")]
    pub(in crate::cli) author: Option<String>,
    /// When the history says that it was, as in 2026-11-21T14:30:00Z: not before the last change of the
    /// branch, and not in the future
    #[arg(long, value_name = "TIME")]
    pub(in crate::cli) date: Option<String>,
    /// As JSON
    #[arg(long)]
    pub(in crate::cli) json: bool,
    /// Name all that is left out, not only the first 20
    #[arg(long)]
    pub(in crate::cli) verbose: bool,
    #[command(flatten)]
    pub(in crate::cli) settings: Flags<IMPORT>,
}
