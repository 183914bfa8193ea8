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

use super::blocking;
use super::error::Error;
use super::reply::Reply;
use super::request::body::{RequestBody, check_json, has_type};
use super::request::context::RequestContext;
use super::request::query::Query;
use super::request::{cross_site, json_body};
use super::route::user::Route;
use crate::access::Account;
use crate::base::limits::JSON_BYTES_MAX;

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
    cross_site::check(
        context.headers(),
        context.settings().external_url.as_deref(),
    )?;
    match route {
        Route::Login => {
            let credentials = credentials(&context, body).await?;
            let place = context.service.logins.enter().await;
            let place = place.ok_or(Error::TooManyLogins)?;
            blocking::run(move || {
                let _place = place;
                login(&context, &credentials)
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
    let bytes = body.collect(JSON_BYTES_MAX).await?;
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

fn login(context: &RequestContext, credentials: &Credentials) -> Result<Reply, Error> {
    let gate = context.gate();
    let (secret, account) = gate.login(&credentials.username, &credentials.password)?;
    // The session that the browser had before is of no more use to anybody honest.
    if let Some(old) = context.service.cookie.read(context.headers()) {
        gate.logout(&old)?;
    }
    Ok(shown(&account).with(SET_COOKIE, context.service.cookie.set(&secret)))
}

fn logout(context: &RequestContext) -> Result<Reply, Error> {
    if let Some(secret) = context.service.cookie.read(context.headers()) {
        context.gate().logout(&secret)?;
    }
    let removed = context.service.cookie.remove();
    Ok(Reply::empty(StatusCode::NO_CONTENT).with(SET_COOKIE, removed))
}

fn session(context: &RequestContext) -> Result<Reply, Error> {
    let cookie = context.service.cookie.read(context.headers());
    let cookie = cookie.ok_or_else(Error::no_credential)?;
    let caller = context.gate().session(&cookie)?;
    Ok(shown(caller.account()))
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
