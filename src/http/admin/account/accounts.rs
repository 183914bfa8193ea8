//! Accounts and their roles, for the role for everything.

use hyper::StatusCode;
use serde::{Deserialize, Serialize};

use crate::access;
use crate::access::{Accounts, Caller, Role, ShownAccount};
use crate::http::error::Error;
use crate::http::reply::{Freshness, Reply, json};
use crate::http::request::context::RequestContext;
use crate::http::request::{conditions, json_body};

/// An account with what is its own.
#[derive(Debug, Serialize)]
struct WholeJson {
    #[serde(flatten)]
    account: ShownAccount,
    projects: Vec<String>,
    tokens: usize,
    sessions: usize,
}

/// An account with the one sight of a password that was made up.
#[derive(Serialize)]
struct WithPasswordJson<'a> {
    #[serde(flatten)]
    account: ShownAccount,
    password: Option<&'a str>,
}

/// What a creation sends.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewAccount {
    name: String,
    #[serde(default)]
    roles: Vec<Role>,
    #[serde(default, deserialize_with = "json_body::given")]
    password: Option<String>,
}

/// What a change sends: one of these.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Changes {
    #[serde(default, deserialize_with = "json_body::given")]
    name: Option<String>,
    #[serde(default, deserialize_with = "json_body::given")]
    enabled: Option<bool>,
}

/// What a new password may send.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct NewPassword {
    #[serde(default, deserialize_with = "json_body::given")]
    password: Option<String>,
}

/// Refuses who may not administer accounts.
pub(super) fn admit(context: &RequestContext, caller: &Caller) -> Result<(), Error> {
    context.gate().accounts(caller)?;
    Ok(())
}

/// `GET /accounts`
pub(super) fn list(context: &RequestContext, caller: &Caller) -> Result<Reply, Error> {
    let accounts = context.gate().accounts(caller)?.list()?;
    let shown = accounts
        .iter()
        .map(|account| ShownAccount::from(&**account));
    let shown: Vec<_> = shown.collect();
    json::respond(context, &shown, Freshness::Moving, &[])
}

/// `POST /accounts`
pub(super) fn create(
    context: &RequestContext,
    caller: &Caller,
    body: &[u8],
) -> Result<Reply, Error> {
    conditions::check_new(context.headers())?;
    let accounts = context.gate().accounts(caller)?;
    let wanted: NewAccount = json_body::read(body)?;
    let (password, made_up) = given_or_made_up(wanted.password);
    let account = accounts.create(&wanted.name, &password, &wanted.roles)?;
    let shown = WithPasswordJson {
        account: ShownAccount::from(&account),
        password: made_up.then_some(&password),
    };
    Ok(Reply::json(StatusCode::CREATED, &shown))
}

/// `GET /accounts/<name>`
pub(super) fn show(context: &RequestContext, caller: &Caller, name: &str) -> Result<Reply, Error> {
    let gate = context.gate();
    let accounts = gate.accounts(caller)?;
    let account = accounts.by_name(name)?;
    let shown = WholeJson {
        account: ShownAccount::from(&*account),
        projects: accounts.owned_by(&account)?,
        tokens: gate.tokens_of(caller, name)?.len(),
        sessions: gate.count_sessions_of(caller, &account)?,
    };
    Ok(Reply::json(StatusCode::OK, &shown))
}

/// `PATCH /accounts/<name>`
pub(super) fn change(
    context: &RequestContext,
    caller: &Caller,
    name: &str,
    body: &[u8],
) -> Result<Reply, Error> {
    conditions::check_untagged(context.headers())?;
    let accounts = context.gate().accounts(caller)?;
    let changes = json_body::read(body)?;
    let number = accounts.by_name(name)?.number();
    match changes {
        Changes {
            name: Some(new),
            enabled: None,
        } => accounts.rename(name, &new)?,
        Changes {
            name: None,
            enabled: Some(enabled),
        } => context.gate().set_account_enabled(caller, name, enabled)?,
        _ => return Err(Error::malformed("one of name and enabled must be given")),
    }
    changed(&accounts, number, name)
}

/// `PUT /accounts/<name>/password`
pub(super) fn set_password(
    context: &RequestContext,
    caller: &Caller,
    name: &str,
    body: Option<&[u8]>,
) -> Result<Reply, Error> {
    conditions::check_untagged(context.headers())?;
    let accounts = context.gate().accounts(caller)?;
    let wanted: NewPassword = body.map(json_body::read).transpose()?.unwrap_or_default();
    let (password, made_up) = given_or_made_up(wanted.password);
    // Before: nobody could tell a password that was made up once it is not known who has it.
    let account = accounts.by_name(name)?;
    context.gate().set_password_of(caller, name, &password)?;
    let shown = WithPasswordJson {
        account: ShownAccount::from(&*account),
        password: made_up.then_some(&password),
    };
    Ok(Reply::json(StatusCode::OK, &shown))
}

/// `DELETE /accounts/<name>`
pub(super) fn remove(
    context: &RequestContext,
    caller: &Caller,
    name: &str,
) -> Result<Reply, Error> {
    conditions::check_untagged(context.headers())?;
    context.gate().remove_account(caller, name)?;
    Ok(Reply::empty(StatusCode::NO_CONTENT))
}

/// `PUT /accounts/<name>/roles/<role>`
pub(super) fn add_role(
    context: &RequestContext,
    caller: &Caller,
    name: &str,
    role: &str,
) -> Result<Reply, Error> {
    conditions::check_untagged(context.headers())?;
    let accounts = context.gate().accounts(caller)?;
    let role = read(role)?;
    let number = accounts.by_name(name)?.number();
    accounts.add_role(name, &role)?;
    changed(&accounts, number, name)
}

/// `DELETE /accounts/<name>/roles/<role>`
pub(super) fn remove_role(
    context: &RequestContext,
    caller: &Caller,
    name: &str,
    role: &str,
) -> Result<Reply, Error> {
    conditions::check_untagged(context.headers())?;
    let accounts = context.gate().accounts(caller)?;
    let role = read(role)?;
    let number = accounts.by_name(name)?.number();
    if !accounts.remove_role(name, &role)? {
        return Err(Error::NotThere("the account does not have this role"));
    }
    changed(&accounts, number, name)
}

/// An account after a change to it. Another may have renamed it since, so it is found by its number.
fn changed(accounts: &Accounts, number: u64, name: &str) -> Result<Reply, Error> {
    let gone = || access::Error::NoSuchAccount {
        name: name.to_owned(),
    };
    let account = accounts
        .by_number(number)
        .and_then(|account| account.ok_or_else(gone))
        .map_err(access::Error::after_change)?;
    let account = ShownAccount::from(&*account);
    Ok(Reply::json(StatusCode::OK, &account))
}

fn read(role: &str) -> Result<Role, Error> {
    role.parse()
        .map_err(|refused: access::RoleError| Error::Malformed(refused.to_string()))
}

/// The password, and whether nobody knows it yet.
fn given_or_made_up(given: Option<String>) -> (String, bool) {
    match given {
        Some(password) => (password, false),
        None => (access::random_password(), true),
    }
}
