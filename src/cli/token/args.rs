//! The grammar of `token`.

use clap::{ArgGroup, Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum TokenCommand {
    /// Makes a token and prints it, once
    Create(TokenCreate),
    /// Lists tokens
    List(TokenList),
    /// Shows a token, but for its value
    Show {
        /// The token's id, as `token list` shows it
        id: String,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Changes what is said; the value stays
    Update(TokenUpdate),
    /// Gives a token another value and prints that, once; id, rights and instance stay
    Rotate {
        /// The token's id, as `token list` shows it
        id: String,
        /// How long the value before counts, too, as 7d or 12h [default: no longer]
        #[arg(long, value_name = "TIME")]
        grace: Option<String>,
        /// As JSON, with its id and when it ends
        #[arg(long)]
        json: bool,
    },
    /// Revokes a token, by its id
    Revoke {
        /// The token's id, as `token list` shows it
        id: String,
    },
}

impl TokenCommand {
    /// False for what only reads.
    pub(in crate::cli) fn changes(&self) -> bool {
        !matches!(self, Self::List(_) | Self::Show { .. })
    }
}

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("covers").required(true).args(["repos", "all"]))]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(in crate::cli) struct TokenCreate {
    /// The account it reads for
    #[arg(long, value_name = "NAME")]
    pub(in crate::cli) user: String,
    /// A name to know it by
    #[arg(long, value_name = "TEXT")]
    pub(in crate::cli) name: String,
    /// A project it covers; may be repeated
    #[arg(long = "repo", value_name = "ID")]
    pub(in crate::cli) repos: Vec<String>,
    /// Covers every project of the account, also later ones
    #[arg(long)]
    pub(in crate::cli) all: bool,
    /// When it ends: how long from now, as 30d, or RFC 3339, or YYYY-MM-DD, midnight UTC, or never
    /// [default: never]
    #[arg(long, value_name = "WHEN")]
    pub(in crate::cli) expires: Option<String>,
    /// Bind it to the first instance that uses it
    #[arg(long)]
    pub(in crate::cli) fingerprint: bool,
    /// Take its value from standard input, 64 hexadecimal digits in lower case, and print nothing
    #[arg(long)]
    pub(in crate::cli) value_stdin: bool,
    /// As JSON, with its id and when it ends
    #[arg(long)]
    pub(in crate::cli) json: bool,
}

/// Tokens that are wanted: those for which all that is said holds.
#[derive(Debug, Args)]
pub(in crate::cli) struct TokenList {
    /// Only of this account
    #[arg(long, value_name = "NAME")]
    pub(in crate::cli) user: Option<String>,
    /// Only those that cover this project
    #[arg(long, value_name = "ID")]
    pub(in crate::cli) repo: Option<String>,
    /// Only those that count now and end within this time, as 30d, or before this date
    #[arg(long, value_name = "TIME")]
    pub(in crate::cli) expiring: Option<String>,
    /// Only those that nobody has used for this time, as 90d, or since this date
    #[arg(long, value_name = "TIME")]
    pub(in crate::cli) unused: Option<String>,
    /// As JSON
    #[arg(long)]
    pub(in crate::cli) json: bool,
}

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("change").required(true).multiple(true)
    .args(["name", "expires", "repos", "added", "all", "reset_fingerprint"]))]
pub(in crate::cli) struct TokenUpdate {
    /// The token's id, as `token list` shows it
    pub(in crate::cli) id: String,
    /// Another name
    #[arg(long, value_name = "TEXT")]
    pub(in crate::cli) name: Option<String>,
    /// Another end: how long from now, as 30d, or RFC 3339, or YYYY-MM-DD, midnight UTC, or never
    #[arg(long, value_name = "WHEN")]
    pub(in crate::cli) expires: Option<String>,
    /// The projects it covers instead; may be repeated
    #[arg(long = "repo", value_name = "ID", conflicts_with_all = ["added", "all"])]
    pub(in crate::cli) repos: Vec<String>,
    /// A project it covers beside those it does; may be repeated
    #[arg(long = "add-repo", value_name = "ID", conflicts_with = "all")]
    pub(in crate::cli) added: Vec<String>,
    /// Covers every project of the account, also later ones
    #[arg(long)]
    pub(in crate::cli) all: bool,
    /// Forget the instance it is bound to: the next one to use it is bound
    #[arg(long)]
    pub(in crate::cli) reset_fingerprint: bool,
}
