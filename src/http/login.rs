//! Logging in and out (contract section 7).
//!
//! | route | what it does |
//! |---|---|
//! | `POST /user/login` | checks a name and a password and sets the session cookie |
//! | `POST /user/logout` | ends the session |
//! | `GET /user/session` | says who is logged in |

use hyper::header::SET_COOKIE;
use hyper::{Method, StatusCode};
use serde::{Deserialize, Serialize};

use super::body::{RequestBody, check_json, has_type};
use super::call::Call;
use super::error::Error;
use super::query::Query;
use super::reply::Reply;
use super::{blocking, cross_site, json};
use crate::access::Account;
use crate::base::limits::JSON_BYTES_MAX;

/// The type of a form's body.
const FORM: &str = "application/x-www-form-urlencoded";

/// A route of this module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Route {
    Login,
    Logout,
    Session,
}

impl Route {
    /// The route with this method and path below `/user`.
    pub(super) fn find(method: &Method, segments: &[&str]) -> Option<Self> {
        match (method.as_str(), segments) {
            ("POST", ["login"]) => Some(Self::Login),
            ("POST", ["logout"]) => Some(Self::Logout),
            ("GET", ["session"]) => Some(Self::Session),
            _ => None,
        }
    }
}

#[cfg(test)]
super::openapi::templates! {
    Self::Login => ["POST /login"],
    Self::Logout => ["POST /logout"],
    Self::Session => ["GET /session"],
}

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
pub(super) async fn answer(
    call: Call,
    route: Route,
    body: &mut RequestBody,
) -> Result<Reply, Error> {
    cross_site::check(call.headers(), call.settings().external_url.as_deref())?;
    match route {
        Route::Login => {
            let credentials = credentials(&call, body).await?;
            blocking::run(move || login(&call, &credentials)).await
        }
        Route::Logout => blocking::run(move || logout(&call)).await,
        Route::Session => {
            body.refuse()?;
            blocking::run(move || session(&call)).await
        }
    }
}

/// Reads the credentials: JSON, or a form.
async fn credentials(call: &Call, body: &mut RequestBody) -> Result<Credentials, Error> {
    let is_form = has_type(&call.head, FORM);
    if !is_form {
        check_json(&call.head)?;
    }
    let bytes = body.collect(JSON_BYTES_MAX).await?;
    if !is_form {
        return json::read(&bytes);
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

fn login(call: &Call, credentials: &Credentials) -> Result<Reply, Error> {
    let gate = call.gate();
    let (secret, account) = gate.login(&credentials.username, &credentials.password)?;
    // The session that the browser had before is of no more use to anybody honest.
    if let Some(old) = call.service.cookie.read(call.headers()) {
        gate.logout(&old)?;
    }
    Ok(shown(&account).with(SET_COOKIE, call.service.cookie.set(&secret)))
}

fn logout(call: &Call) -> Result<Reply, Error> {
    if let Some(secret) = call.service.cookie.read(call.headers()) {
        call.gate().logout(&secret)?;
    }
    let removed = call.service.cookie.remove();
    Ok(Reply::empty(StatusCode::NO_CONTENT).with(SET_COOKIE, removed))
}

fn session(call: &Call) -> Result<Reply, Error> {
    let cookie = call.service.cookie.read(call.headers());
    let cookie = cookie.ok_or_else(Error::no_credential)?;
    let caller = call.gate().session(&cookie)?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_routes_are_those_of_the_contract() {
        for (method, segments, expected) in [
            (Method::POST, &["login"][..], Some(Route::Login)),
            (Method::POST, &["logout"], Some(Route::Logout)),
            (Method::GET, &["session"], Some(Route::Session)),
            (Method::GET, &["login"], None),
            (Method::POST, &["login", "x"], None),
            (Method::GET, &[], None),
        ] {
            assert_eq!(
                Route::find(&method, segments),
                expected,
                "{method} {segments:?}"
            );
        }
    }
}
