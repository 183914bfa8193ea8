//! Logging in and out (contract section 7).
//!
//! | route | what it does |
//! |---|---|
//! | `POST /user/login` | checks a name and a password and sets the session cookie |
//! | `POST /user/logout` | ends the session |
//! | `GET /user/session` | says who is logged in |

use hyper::StatusCode;
use hyper::header::SET_COOKIE;
use serde::{Deserialize, Serialize};

use super::admission::network::ClientNetwork;
use super::blocking;
use super::error::Error;
use super::reply::Reply;
use super::request::body::{RequestBody, check_json, has_type};
use super::request::context::{RequestContext, Who};
use super::request::query::Query;
use super::request::{cross_site, json_body};
use super::route::user::Route;
use crate::access;
use crate::access::{Account, Refusal, Refused, Visit};
use crate::base::may_block;

/// Why a login waits that is not wrong yet.
const BUSY: &str = "too many logins at once";
/// Why a login waits that may be one guess of many.
const GUESSING: &str = "too many wrong logins";
/// The type of a form's body.
const FORM: &str = "application/x-www-form-urlencoded";

/// What a login sends.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Credentials {
    username: String,
    password: String,
}

/// Who is logged in.
#[derive(Debug, Serialize)]
struct SessionJson<'a> {
    username: &'a str,
    roles: Vec<String>,
}

/// Answers a request below `/user`.
pub(in crate::http) async fn respond(
    context: RequestContext,
    route: Route,
    body: &mut RequestBody,
) -> Result<Reply, Error> {
    cross_site::check(context.headers(), context.peer, context.settings())?;
    match route {
        Route::Login => {
            let credentials = credentials(&context, body).await?;
            check_failures(&context, &credentials)?;
            let client = ClientNetwork::of(context.client);
            let place = context.service.logins.enter(client).await;
            let place = place.ok_or_else(|| too_many(&context, &credentials, BUSY, 1))?;
            // Those who waited beside this one may have failed meanwhile.
            check_failures(&context, &credentials)?;
            blocking::run(move || {
                let _place = place;
                login(&context, &credentials, client)
            })
            .await
        }
        Route::Logout => blocking::run(move || logout(&context)).await,
        Route::Session => {
            body.refuse()?;
            blocking::run(move || session(&context)).await
        }
    }
}

/// Reads the credentials: JSON, or a form.
async fn credentials(
    context: &RequestContext,
    body: &mut RequestBody,
) -> Result<Credentials, Error> {
    let is_form = has_type(&context.head, FORM);
    if !is_form {
        check_json(&context.head)?;
    }
    let most = context.service.settings.limits.login_bytes_max;
    let bytes = body
        .collect_soon(usize::try_from(most).unwrap_or(usize::MAX))
        .await?;
    if !is_form {
        return json_body::read(&bytes);
    }
    let text =
        std::str::from_utf8(&bytes).map_err(|_| Error::malformed("the form is not UTF-8"))?;
    let form = Query::parse(text)?;
    form.only(&["username", "password"])?;
    Ok(Credentials {
        username: form.required("username")?.to_owned(),
        password: form.required("password")?.to_owned(),
    })
}

/// Refuses who failed too often lately, before a password is looked at.
fn check_failures(context: &RequestContext, credentials: &Credentials) -> Result<(), Error> {
    let client = ClientNetwork::of(context.client);
    let logins = &context.service.logins;
    let now = context.service.clock.now();
    match logins.wait_s(&credentials.username, client, now) {
        Some(wait_s) => Err(too_many(context, credentials, GUESSING, wait_s)),
        None => Ok(()),
    }
}

/// A refusal that the log can tell of. Only the name of an account that exists is told there: what a
/// person typed for a name may be a password.
fn too_many(
    context: &RequestContext,
    credentials: &Credentials,
    reason: &'static str,
    retry_after_s: u64,
) -> Error {
    context.service.tallies.logins_throttled.up();
    let account = may_block(|| context.gate().known_account(&credentials.username));
    let account = account.ok().flatten();
    let refusal = Refusal {
        account: account.map(|account| account.name().to_owned()),
        ..Refusal::new(reason)
    };
    context.note_refusal(Refused::ManyLogins, &refusal);
    Error::TooMany {
        refusal,
        retry_after_s,
    }
}

fn login(
    context: &RequestContext,
    credentials: &Credentials,
    client: ClientNetwork,
) -> Result<Reply, Error> {
    let (gate, logins) = (context.gate(), &context.service.logins);
    let Credentials { username, password } = credentials;
    let old_session = context.cookie().read(context.headers());
    let visit = Visit {
        from: Some(context.client),
        old_session: old_session.as_ref(),
    };
    let (secret, account) = gate
        .login(username, password, &visit)
        .inspect_err(|refused| {
            if let access::Error::WrongLogin(refusal) = refused {
                logins.failed(username, client, context.service.clock.now());
                context.note_refusal(Refused::Login, refusal);
                context.service.tallies.logins_wrong.up();
            }
        })?;
    logins.succeeded(username, client);
    context.service.tallies.logins.up();
    Ok(shown(&account).with(SET_COOKIE, context.cookie().set(&secret)))
}

fn logout(context: &RequestContext) -> Result<Reply, Error> {
    if let Some(secret) = context.cookie().read(context.headers()) {
        context.gate().logout(&secret, Some(context.client))?;
    }
    let removed = context.cookie().remove();
    Ok(Reply::empty(StatusCode::NO_CONTENT).with(SET_COOKIE, removed))
}

fn session(context: &RequestContext) -> Result<Reply, Error> {
    let cookie = context.cookie().read(context.headers());
    let cookie = cookie.ok_or_else(Error::no_credential)?;
    let caller = context.gate().session(&cookie)?;
    let reply = shown(caller.account());
    context.note(Who::Caller(caller));
    Ok(reply)
}

fn shown(account: &Account) -> Reply {
    let roles = account.roles().iter().map(ToString::to_string).collect();
    Reply::json(
        StatusCode::OK,
        &SessionJson {
            username: account.name(),
            roles,
        },
    )
}
