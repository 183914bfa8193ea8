//! An account, with what is its own.

use serde::Serialize;

use crate::access::{Account, Role, ShownAccount, Tokens};
use crate::base::limits::AUDIT_SEARCHED_MAX;
use crate::cli::open_store::OpenStore;
use crate::cli::output;
use crate::cli::output::visible;
use crate::cli::{Result, Streams};
use crate::repo::audit::{Action, Filter};

/// Searches of the audit log for a login, of [`AUDIT_SEARCHED_MAX`] records each.
const SEARCHES_MAX: usize = 10;

#[derive(Serialize)]
struct Shown {
    #[serde(flatten)]
    account: ShownAccount,
    last_login_at: Option<String>,
    projects: Vec<String>,
    tokens: usize,
}

/// `user show`.
pub(super) fn show(
    name: &str,
    json: bool,
    opened: &OpenStore,
    streams: &mut Streams<'_>,
) -> Result<()> {
    let account = opened.accounts.by_name(name)?;
    let shown = Shown {
        account: ShownAccount::from(&*account),
        last_login_at: last_login(&account, opened)?,
        projects: opened.accounts.owned_by(&account)?,
        tokens: Tokens::new(&opened.projects).list(&account)?.len(),
    };
    if json {
        return output::write_json(streams.out, &shown);
    }
    let roles: Vec<_> = shown.account.roles.iter().map(Role::to_string).collect();
    let state = if shown.account.enabled {
        "enabled"
    } else {
        "disabled"
    };
    let login = shown
        .last_login_at
        .as_deref()
        .unwrap_or("not in the audit log");
    for (label, value) in [
        ("name", shown.account.name.as_str()),
        ("state", state),
        ("created", &shown.account.created_at),
        ("last login", login),
        ("roles", &roles.join(" ")),
        ("projects", &shown.projects.join(" ")),
        ("tokens", &shown.tokens.to_string()),
    ] {
        writeln!(streams.out, "{label:10}  {}", visible(value))?;
    }
    Ok(())
}

/// When it logged in, as far as the audit log is searched.
fn last_login(account: &Account, opened: &OpenStore) -> Result<Option<String>> {
    let filter = Filter {
        user: Some(account.name().to_owned()),
        ..Filter::default()
    };
    let mut before = None;
    for _ in 0..SEARCHES_MAX {
        let page = opened
            .projects
            .audit_page(&filter, before, AUDIT_SEARCHED_MAX)?;
        let login = page.entries.iter().find(|entry| {
            entry.record.action == Action::Login && entry.record.by == account.name()
        });
        if let Some(login) = login {
            return Ok(Some(login.record.at.to_string()));
        }
        match page.next {
            Some(next) => before = Some(next),
            None => break,
        }
    }
    Ok(None)
}
