//! The role of PostgreSQL that daemons have, as commands take it that give it its rights.

use clap::Args;

/// For stores in PostgreSQL.
#[derive(Clone, Debug, Args)]
pub(in crate::cli) struct DaemonRole {
    /// Lets this role of PostgreSQL serve the store; it can read, and change nothing but by siteconf's functions
    #[arg(long, value_name = "NAME")]
    pub(in crate::cli) daemon_role: Option<String>,
}
