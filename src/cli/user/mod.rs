//! Accounts from the command line.

pub(super) mod args;

use serde::Serialize;

use crate::access::{Account, Accounts, Role};
use crate::base::account_name::AccountName;
use crate::cli::opened::Opened;
use crate::cli::output;
use crate::cli::output::Listed;
use crate::cli::password::NewPassword;
use crate::cli::{Error, Result, Streams};
use args::{RoleCommand, UserCommand};

/// An account as it is listed.
#[derive(Serialize)]
struct Row {
    name: String,
    enabled: bool,
    created_at: String,
    roles: Vec<Role>,
}

impl From<&Account> for Row {
    fn from(account: &Account) -> Self {
        Self {
            name: account.name().to_owned(),
            enabled: account.is_enabled(),
            created_at: account.created_at().to_string(),
            roles: account.roles().to_vec(),
        }
    }
}

impl Listed for Row {
    const HEADINGS: &'static [&'static str] = &["NAME", "STATE", "CREATED", "ROLES"];

    fn cells(&self) -> Vec<String> {
        let roles: Vec<_> = self.roles.iter().map(Role::to_string).collect();
        let state = if self.enabled { "enabled" } else { "disabled" };
        vec![
            self.name.clone(),
            state.to_owned(),
            self.created_at.clone(),
            roles.join(" "),
        ]
    }
}

/// Runs one of the commands of `user`.
pub(super) fn run(command: UserCommand, opened: &Opened, streams: &mut Streams<'_>) -> Result<()> {
    let accounts = &opened.accounts;
    match command {
        UserCommand::Add {
            name,
            roles,
            password_stdin,
        } => {
            let name = AccountName::parse(&name)?;
            // A name that is taken is refused before anybody is asked for a password.
            if accounts.by_name(name.as_str()).is_ok() {
                return Err(Error::Failed(format!("the user name \"{name}\" is taken")));
            }
            let password = NewPassword::obtain(password_stdin, streams)?;
            accounts.create(name.as_str(), &password.text, &roles)?;
            show(name.as_str(), &password, streams)
        }
        UserCommand::List { json } => {
            let rows: Vec<_> = accounts
                .list()?
                .iter()
                .map(|account| Row::from(account.as_ref()))
                .collect();
            output::list(streams.out, json, &rows)
        }
        UserCommand::Passwd {
            name,
            password_stdin,
        } => {
            // An unknown name is refused before anybody is asked for a password.
            accounts.by_name(&name)?;
            let password = NewPassword::obtain(password_stdin, streams)?;
            accounts.set_password(&name, &password.text)?;
            show(&name, &password, streams)
        }
        UserCommand::Disable { name, force } => {
            if !force {
                keep_a_root(accounts, &name)?;
            }
            Ok(accounts.set_enabled(&name, false)?)
        }
        UserCommand::Enable { name } => Ok(accounts.set_enabled(&name, true)?),
        UserCommand::Role(RoleCommand::Add { name, role }) => Ok(accounts.add_role(&name, &role)?),
        UserCommand::Role(RoleCommand::Remove { name, role, force }) => {
            if role == Role::Root && !force {
                keep_a_root(accounts, &name)?;
            }
            Ok(accounts.remove_role(&name, &role)?)
        }
    }
}

/// Refuses what would leave nobody who may do everything.
fn keep_a_root(accounts: &Accounts, name: &str) -> Result<()> {
    if !accounts.is_last_root(name)? {
        return Ok(());
    }
    Err(Error::Failed(format!(
        "\"{name}\" is the last account with the role {}; give it to another first, or say --force",
        Role::Root
    )))
}

/// Shows a password that nobody knows yet.
fn show(name: &str, password: &NewPassword, streams: &mut Streams<'_>) -> Result<()> {
    if !password.made_up {
        return Ok(());
    }
    let shown = writeln!(streams.out, "{}", password.text).and_then(|()| streams.out.flush());
    shown.map_err(|e| {
        Error::Failed(format!(
            "writing the password: {e}; it is set, and nobody has seen it: set another with \"siteconf \
             user passwd {name}\""
        ))
    })
}
