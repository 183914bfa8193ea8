//! Logging in and out (contract section 7).
//!
//! | route | what it does |
//! |---|---|
//! | `POST /user/login` | checks a name and a password and sets the session cookie |
//! | `POST /user/logout` | ends the session |
//! | `GET /user/session` | says who is logged in, and what that account may |
//! | `PUT /user/password` | changes one's own password |
//! | `GET /user/sessions`, `DELETE /user/sessions/<id>` | lists and ends one's own sessions |

pub(in crate::http) mod first_looks;
mod password;
mod session;

use hyper::StatusCode;
use hyper::header::SET_COOKIE;
use serde::Deserialize;

use crate::access;
use crate::access::{Refusal, Refused, Visit};
use crate::base::name_error::shortened;
use crate::http::admission::logins::LoginPermit;
use crate::http::admission::network::ClientNetwork;
use crate::http::admission::quota::Full;
use crate::http::blocking::{self, Kind};
use crate::http::error::Error;
use crate::http::reply::Reply;
use crate::http::request::body::{RequestBody, check_json, has_type};
use crate::http::request::context::RequestContext;
use crate::http::request::query::Query;
use crate::http::request::{cross_site, json_body};
use crate::http::route::user::Route;

/// Why a login waits that is not wrong yet.
const BUSY: &str = "too many logins at once";
/// The type of a form's body.
const FORM: &str = "application/x-www-form-urlencoded";

/// What a login sends.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Credentials {
    username: String,
    password: String,
}

/// Answers a request below `/user`.
pub(in crate::http) async fn respond(
    context: &RequestContext,
    route: Route,
    body: &mut RequestBody,
) -> Result<Reply, Error> {
    cross_site::check(context.headers(), context.peer, context.settings())?;
    // A login takes one away, and makes another.
    if !matches!(route, Route::Login) {
        look_first(context).await?;
    }
    let threads = &context.service.threads;
    match route {
        Route::Login => {
            let credentials = credentials(context, body).await?;
            check_failures(context, &credentials.username)?;
            let place = enter(context, &credentials.username).await?;
            // Those who waited beside this one may have failed meanwhile.
            check_failures(context, &credentials.username)?;
            // It goes on where its client leaves.
            let context = context.clone();
            blocking::run(move || {
                let _place = place;
                login(&context, &credentials)
            })
            .await
        }
        Route::Logout => {
            let logout = || logout(context);
            match context.found_asker(true).await {
                Ok(asker) => threads.run(Kind::Admin, asker, logout).await,
                // It has ended already, which takes no thread to find.
                Err(error) if error.status() == StatusCode::UNAUTHORIZED => {
                    threads.look(logout).await
                }
                Err(error) => Err(error),
            }
        }
        Route::Session => {
            body.refuse()?;
            let asker = context.found_asker(true).await?;
            threads
                .run(Kind::Admin, asker, || session::show(context))
                .await
        }
        Route::ChangePassword => password::change(context, body).await,
        Route::Sessions => {
            body.refuse()?;
            let asker = context.found_asker(true).await?;
            threads
                .run(Kind::Admin, asker, || session::list(context))
                .await
        }
        Route::EndSession { id } => {
            body.refuse()?;
            let asker = context.found_asker(true).await?;
            threads
                .run(Kind::Admin, asker, || session::end(context, &id))
                .await
        }
    }
}

/// Looks up the session of a request where nobody has shown it before: few at once, so that a crowd that makes
/// cookies up takes few threads.
///
/// # Errors
/// [`Error::Overloaded`] when it was not its turn in time; those of the store.
pub(in crate::http) async fn look_first(context: &RequestContext) -> Result<(), Error> {
    let Some(secret) = context.cookie().read(context.headers()) else {
        return Ok(());
    };
    let (service, session) = (&context.service, secret.digest());
    let gate = context.gate().clone();
    let look = move || Ok(gate.session_unused(&secret)?);
    let look = service.threads.look_first(context.asker(), look);
    service.seen_sessions.look_first(session, look).await
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
    let bytes = body.collect_soon(most).await?;
    if !is_form {
        return json_body::read(&bytes);
    }
    let text =
        std::str::from_utf8(&bytes).map_err(|_| Error::malformed("the form is not UTF-8"))?;
    let form = Query::parse(text)?;
    if let Some(key) = form.unknown(&["username", "password"]) {
        return Err(Error::Malformed(format!(
            "the form has an unknown field \"{}\"",
            shortened(key)
        )));
    }
    let field = |key: &str| -> Result<String, Error> {
        let missing = || Error::Malformed(format!("field \"{key}\" of the form is missing"));
        Ok(form.text(key)?.ok_or_else(missing)?.to_owned())
    };
    Ok(Credentials {
        username: field("username")?,
        password: field("password")?,
    })
}

/// Refuses who failed too often lately, or logged in too often, before a password is looked at.
fn check_failures(context: &RequestContext, username: &str) -> Result<(), Error> {
    let client = ClientNetwork::of(context.client);
    let logins = &context.service.logins;
    let now_ms = context.service.clock.uptime_ms();
    let is_there = |from| ClientNetwork::of(from) == client;
    // What is not in memory is read by who frees the other clients of this thread first.
    let has_session = || {
        let session = context.gate().has_session_from(username, is_there);
        session.unwrap_or(false)
    };
    match logins.wait_s(username, client, now_ms, has_session) {
        Some((reason, retry_after_s)) => Err(Error::TooMany {
            refusal: throttled(context, username, reason),
            retry_after_s,
        }),
        None => Ok(()),
    }
}

/// Waits for a place in which a password of this account may be hashed.
///
/// # Errors
/// [`Error::TooMany`] for a client that has its part of the places, [`Error::Overloaded`] where others have them.
pub(in crate::http) async fn enter(
    context: &RequestContext,
    username: &str,
) -> Result<LoginPermit, Error> {
    let client = ClientNetwork::of(context.client);
    let place = context.service.logins.enter(username, client).await;
    place.map_err(|full| {
        let refusal = throttled(context, username, BUSY);
        match full {
            Full::Holder | Full::Group => Error::TooMany {
                refusal,
                retry_after_s: 1,
            },
            Full::All => Error::Overloaded(BUSY),
        }
    })
}

/// The refusal of a login that was not looked at, counted and told in the audit log. Only the name of an account that
/// exists is told: what a person typed for a name may be a password.
fn throttled(context: &RequestContext, username: &str, reason: &'static str) -> Refusal {
    context.service.tallies.logins_throttled.up();
    let account = context.gate().known_account(username).ok().flatten();
    let refusal = Refusal {
        account: account.map(|account| account.name().to_owned()),
        ..Refusal::new(reason)
    };
    context.note_refusal(Refused::ManyLogins, &refusal);
    refusal
}

fn login(context: &RequestContext, credentials: &Credentials) -> Result<Reply, Error> {
    let (gate, logins) = (context.gate(), &context.service.logins);
    let client = ClientNetwork::of(context.client);
    let Credentials { username, password } = credentials;
    let old_session = context.cookie().read(context.headers());
    let visit = Visit {
        from: Some(context.client),
        old_session: old_session.as_ref(),
    };
    let outcome = gate.login(username, password, &visit);
    let now_ms = context.service.clock.uptime_ms();
    if let Err(access::Error::WrongLogin(refusal)) = &outcome {
        logins.failed(username, client, now_ms);
        context.note_refusal(Refused::Login, refusal);
        context.service.tallies.logins_wrong.up();
    } else if outcome.is_ok() {
        logins.succeeded(username, client, now_ms);
    }
    let (secret, caller) = outcome?;
    context.service.tallies.logins.up();
    context.service.seen_sessions.note(secret.digest());
    let reply = session::shown(context, &caller);
    Ok(reply.with(SET_COOKIE, context.cookie().set(&secret)))
}

fn logout(context: &RequestContext) -> Result<Reply, Error> {
    if let Some(secret) = context.cookie().read(context.headers()) {
        context.gate().logout(&secret, Some(context.client))?;
    }
    let removed = context.cookie().remove();
    Ok(Reply::empty(StatusCode::NO_CONTENT).with(SET_COOKIE, removed))
}
