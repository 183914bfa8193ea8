//! `PUT /user/password`

use hyper::StatusCode;
use hyper::header::SET_COOKIE;
use serde::Deserialize;

use super::{check_failures, enter};
use crate::access;
use crate::access::Refused;
use crate::http::admission::network::ClientNetwork;
use crate::http::blocking;
use crate::http::error::Error;
use crate::http::reply::Reply;
use crate::http::request::body::{RequestBody, check_encoding, check_json};
use crate::http::request::context::RequestContext;
use crate::http::request::{conditions, json_body};

/// What is sent.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Passwords {
    old_password: String,
    new_password: String,
}

/// Gives whoever is logged in another password and another cookie. All sessions end. The old password is
/// guessed no faster here than at a login.
pub(super) async fn change(
    context: &RequestContext,
    body: &mut RequestBody,
) -> Result<Reply, Error> {
    let threads = &context.service.threads;
    let caller = threads.look(|| context.caller()).await?;
    let account = caller.account().name().to_owned();
    conditions::check_untagged(context.headers())?;
    check_json(&context.head)?;
    check_encoding(&context.head)?;
    let most = context.service.settings.limits.login_bytes_max;
    let bytes = body.collect_soon(most).await?;
    let passwords: Passwords = json_body::read(&bytes)?;
    check_failures(context, &account)?;
    let place = enter(context, &account).await?;
    // Those who waited beside this one may have failed meanwhile.
    check_failures(context, &account)?;
    // It goes on where its client leaves.
    let context = context.clone();
    blocking::run(move || {
        let _place = place;
        set(&context, &passwords)
    })
    .await
}

fn set(context: &RequestContext, passwords: &Passwords) -> Result<Reply, Error> {
    let caller = context.caller()?;
    let name = caller.account().name();
    let (logins, client) = (&context.service.logins, ClientNetwork::of(context.client));
    let (old, new) = (&passwords.old_password, &passwords.new_password);
    let changed = context.gate().change_own_password(&caller, old, new);
    let now_ms = context.service.clock.uptime_ms();
    if let Err(access::Error::WrongPassword(refusal)) = &changed {
        logins.failed(name, client, now_ms);
        context.note_refusal(Refused::Login, refusal);
        context.service.tallies.logins_wrong.up();
    } else {
        // The old password was right, if the new one will not do.
        logins.succeeded(name, client, now_ms);
    }
    let secret = changed?;
    context.service.seen_sessions.note(secret.digest());
    let reply = Reply::empty(StatusCode::NO_CONTENT);
    Ok(reply.with(SET_COOKIE, context.cookie().set(&secret)))
}
