//! The grammar of `user`.

use clap::Subcommand;

use crate::access::Role;

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum UserCommand {
    /// Makes an account
    Add {
        /// The name to log in with
        name: String,
        /// A role, as in `ROLE_SITEBUILDER_USER__acme`; may be repeated
        #[arg(long = "role", value_name = "ROLE")]
        roles: Vec<Role>,
        /// Read the password from standard input, one line. On a terminal it is asked for in any
        /// case; elsewhere, without this, it is made up and printed
        #[arg(long)]
        password_stdin: bool,
    },
    /// Lists the accounts
    List {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Shows an account: its roles, tokens, projects and its last login
    Show {
        /// The account
        name: String,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Gives an account another name to log in with; all else stays
    Rename {
        /// The account
        name: String,
        /// The name to log in with from now on
        new_name: String,
    },
    /// Removes an account that owns no project, with its tokens and sessions
    Remove {
        /// The account
        name: String,
        /// Also the last one with the role for everything
        #[arg(long)]
        force: bool,
    },
    /// Sets a new password and ends the account's sessions
    Passwd {
        /// The account
        name: String,
        /// As for `user add`
        #[arg(long)]
        password_stdin: bool,
    },
    /// Shuts an account: no login, no session, no token of it works
    Disable {
        /// The account
        name: String,
        /// Also the last one with the role for everything
        #[arg(long)]
        force: bool,
    },
    /// Opens a disabled account again
    Enable {
        /// The account
        name: String,
    },
    /// Roles of accounts: list, add, remove
    #[command(subcommand)]
    Role(RoleCommand),
}

impl UserCommand {
    /// False for what only reads.
    pub(in crate::cli) fn changes(&self) -> bool {
        !matches!(
            self,
            Self::List { .. } | Self::Show { .. } | Self::Role(RoleCommand::List { .. })
        )
    }
}

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum RoleCommand {
    /// Lists who has which role
    List {
        /// Only of this account
        name: Option<String>,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Gives an account a role
    Add {
        /// The account
        name: String,
        /// The role
        role: Role,
    },
    /// Takes a role from an account
    Remove {
        /// The account
        name: String,
        /// The role
        role: Role,
        /// Also the role for everything from the last account with it
        #[arg(long)]
        force: bool,
    },
}
