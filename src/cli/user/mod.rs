//! Accounts from the command line.

pub(super) mod args;
mod show;

use serde::Serialize;

use crate::access;
use crate::access::{Account, Accounts, Role, ShownAccount};
use crate::cli::first_start::FirstPassword;
use crate::cli::open_store::{OpenStore, some_of};
use crate::cli::output;
use crate::cli::output::Listed;
use crate::cli::password::NewPassword;
use crate::cli::{Error, Result, Streams, names};
use args::{RoleCommand, UserCommand};

impl Listed for ShownAccount {
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
pub(super) fn run(
    command: UserCommand,
    opened: &OpenStore,
    streams: &mut Streams<'_>,
) -> Result<()> {
    let accounts = &opened.accounts;
    match command {
        UserCommand::Add {
            name,
            roles,
            password_stdin,
        } => {
            let name = names::account(&name)?;
            // A name that is taken is refused before anybody is asked for a password.
            if accounts.by_name(name.as_str()).is_ok() {
                return Err(Error::Failed(format!("the user name \"{name}\" is taken")));
            }
            let password = NewPassword::obtain(name.as_str(), password_stdin, streams)?;
            accounts.create(name.as_str(), &password.text, &roles)?;
            show_password(name.as_str(), &password, streams)
        }
        UserCommand::List { json } => {
            let rows: Vec<_> = accounts
                .list()?
                .iter()
                .map(|account| ShownAccount::from(account.as_ref()))
                .collect();
            output::list(streams.out, json, &rows)
        }
        UserCommand::Show { name, json } => show::show(&name, json, opened, streams),
        UserCommand::Rename { name, new_name } => {
            accounts.rename(&name, names::account(&new_name)?.as_str())?;
            streams.tell_change(format_args!("\"{name}\" is \"{new_name}\" now"))
        }
        UserCommand::Remove { name, force } => remove(&name, force, opened, streams),
        UserCommand::Passwd {
            name,
            password_stdin,
        } => {
            // An unknown name is refused before anybody is asked for a password.
            let account = accounts.by_name(&name)?;
            let password = NewPassword::obtain(&name, password_stdin, streams)?;
            let first = FirstPassword::of(&name, opened)?;
            accounts.set_password(&name, &password.text)?;
            // First: one that was made up is known to nobody else.
            let shown = show_password(&name, &password, streams);
            let removed = first.remove(streams);
            shown.and(removed)?;
            note_disabled(&account, "no login of it works", streams)
        }
        UserCommand::Disable { name, force } => {
            let accounts = forced(accounts, force);
            accounts.set_enabled(&name, false).map_err(advised)?;
            streams.tell_change(format_args!(
                "\"{name}\" is disabled: no login, session or token of it works"
            ))
        }
        UserCommand::Enable { name } => {
            accounts.set_enabled(&name, true)?;
            streams.tell_change(format_args!("\"{name}\" is enabled"))
        }
        UserCommand::Role(RoleCommand::List { name, json }) => {
            let listed = match name {
                Some(name) => vec![accounts.by_name(&name)?],
                None => accounts.list()?,
            };
            let rows: Vec<_> = listed.iter().flat_map(|account| held(account)).collect();
            output::list(streams.out, json, &rows)
        }
        UserCommand::Role(RoleCommand::Add { name, role }) => {
            if accounts.add_role(&name, &role)? {
                streams.tell_change(format_args!("\"{name}\" has the role {role}"))
            } else {
                streams.tell(format_args!("\"{name}\" had the role already: {role}"))
            }
        }
        UserCommand::Role(RoleCommand::Remove { name, role, force }) => {
            let accounts = forced(accounts, force);
            if accounts.remove_role(&name, &role).map_err(advised)? {
                streams.tell_change(format_args!("\"{name}\" no longer has the role {role}"))
            } else {
                streams.tell(format_args!("\"{name}\" did not have the role {role}"))
            }
        }
    }
}

/// Says on standard error of a disabled account what does not work while it is, and what to do; of an enabled one it
/// says nothing.
pub(super) fn note_disabled(
    account: &Account,
    failing: &str,
    streams: &mut Streams<'_>,
) -> Result<()> {
    if account.is_enabled() {
        return Ok(());
    }
    let name = account.name();
    streams.note(format_args!(
        "siteconf: \"{name}\" is disabled, and {failing}; \"siteconf user enable {name}\" lets it in"
    ))
}

/// Removes an account, unless it owns something: that would have no owner.
fn remove(name: &str, force: bool, opened: &OpenStore, streams: &mut Streams<'_>) -> Result<()> {
    let password = FirstPassword::of(name, opened)?;
    let accounts = forced(&opened.accounts, force);
    let tokens = accounts.remove(name).map_err(advised)?;
    let told = streams.tell_change(format_args!(
        "\"{name}\" is removed; tokens revoked: {tokens}"
    ));
    told.and(password.remove(streams))
}

/// A role that an account has, as it is listed.
#[derive(Serialize)]
struct Held {
    name: String,
    role: Role,
}

impl Listed for Held {
    const HEADINGS: &'static [&'static str] = &["NAME", "ROLE"];

    fn cells(&self) -> Vec<String> {
        vec![self.name.clone(), self.role.to_string()]
    }
}

fn held(account: &Account) -> impl Iterator<Item = Held> + '_ {
    account.roles().iter().map(|role| Held {
        name: account.name().to_owned(),
        role: role.clone(),
    })
}

/// The accounts, with changes that may leave nobody who may do everything if that is forced.
fn forced(accounts: &Accounts, force: bool) -> Accounts {
    let accounts = accounts.clone();
    if force {
        accounts.leaving_no_root()
    } else {
        accounts
    }
}

/// Says what to do on the command line about a change that is refused.
fn advised(error: access::Error) -> Error {
    match error {
        access::Error::LastRoot { .. } => Error::Failed(format!("{error}, or say --force")),
        access::Error::OwnsProjects {
            name,
            projects,
            deleted: false,
        } => Error::Failed(format!(
            "\"{name}\" owns {}; give each to another account first, as with \"siteconf project transfer \
             {} NAME\", or delete it",
            some_of(projects.iter().map(String::as_str)),
            projects[0]
        )),
        access::Error::OwnsProjects { name, projects, .. } => Error::Failed(format!(
            "\"{name}\" owns what is deleted and can be restored: {}; wait until its time is over, or give \
             it to another account: \"siteconf project restore {one}\", then \"siteconf project transfer \
             {one} NAME\"",
            some_of(projects.iter().map(String::as_str)),
            one = projects[0]
        )),
        other => other.into(),
    }
}

/// Shows a password that nobody knows yet.
fn show_password(name: &str, password: &NewPassword, streams: &mut Streams<'_>) -> Result<()> {
    if !password.made_up {
        return streams.tell_change(format_args!("the password of \"{name}\" is set"));
    }
    let shown = writeln!(streams.out, "{}", password.text).and_then(|()| streams.out.flush());
    shown.map_err(|e| {
        Error::Failed(format!(
            "writing the password: {e}; it is set, and nobody has seen it: set another with \"siteconf \
             user passwd {name}\""
        ))
    })
}
