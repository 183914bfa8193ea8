//! The grammar of `import`.

use std::path::PathBuf;

use clap::Args;

use crate::cli::settings::{Flags, IMPORT};

#[derive(Debug, Args)]
pub(in crate::cli) struct Import {
    /// The project, as in acme/shop.erp
    pub(in crate::cli) repo_id: String,
    /// The branch
    pub(in crate::cli) branch: String,
    /// The folder
    pub(in crate::cli) dir: PathBuf,
    /// Also remove from the branch what the folder lacks; what is skipped stays
    #[arg(long)]
    pub(in crate::cli) mirror: bool,
    /// Let a mirror leave the branch empty
    #[arg(long, requires = "mirror")]
    pub(in crate::cli) allow_empty: bool,
    /// Make the project when absent, owned by this account
    #[arg(long, value_name = "NAME")]
    pub(in crate::cli) owner: Option<String>,
    #[command(flatten)]
    pub(in crate::cli) settings: Flags<IMPORT>,
}
