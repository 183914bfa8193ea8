//! The grammar of `token`.

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum TokenCommand {
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
pub(in crate::cli) struct TokenCreate {
    /// The account it reads for
    #[arg(long, value_name = "NAME")]
    pub(in crate::cli) user: String,
    /// A name to know it by
    #[arg(long, value_name = "TEXT")]
    pub(in crate::cli) name: String,
    /// A project it covers; may be repeated
    #[arg(
        long = "repo",
        value_name = "ID",
        required_unless_present = "all",
        conflicts_with = "all"
    )]
    pub(in crate::cli) repos: Vec<String>,
    /// Covers every project of the account, also later ones
    #[arg(long)]
    pub(in crate::cli) all: bool,
    /// When it ends: RFC 3339, or YYYY-MM-DD, midnight UTC [default: never]
    #[arg(long, value_name = "WHEN")]
    pub(in crate::cli) expires: Option<String>,
    /// Bind it to the first instance that uses it
    #[arg(long)]
    pub(in crate::cli) fingerprint: bool,
}
