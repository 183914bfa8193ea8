//! Who is logged in, and the sessions of that account.

use hyper::StatusCode;
use hyper::header::SET_COOKIE;
use serde::Serialize;

use crate::access::{Caller, ServiceRights, SessionView};
use crate::base::limits::{
    HISTORY_PAGE_MAX, MESSAGE_BYTES_MAX, PAGE_ENTRIES_MAX, PASSWORD_BYTES_MAX, PASSWORD_BYTES_MIN,
    PATH_BYTES_MAX,
};
use crate::http::error::Error;
use crate::http::reply::Reply;
use crate::http::request::conditions;
use crate::http::request::context::RequestContext;

/// Who is logged in, and what a client of that account needs to know of the service.
#[derive(Debug, Serialize)]
struct SessionJson<'a> {
    username: &'a str,
    roles: Vec<String>,
    may: ServiceRights,
    /// When the session ends, however much it is used.
    expires_at: String,
    /// It ends earlier when it is not used for so many seconds.
    idle_s: u64,
    limits: LimitsJson,
    server: ServerJson,
}

/// What requests of the Admin API must keep to.
#[derive(Debug, Serialize)]
struct LimitsJson {
    file_bytes_max: u64,
    archive_bytes_max: u64,
    batch_bytes_max: u64,
    batch_actions_max: u64,
    path_bytes_max: usize,
    message_bytes_max: usize,
    per_page_max: u64,
    history_page_max: usize,
    tokens_max: u64,
    token_repos_max: u64,
    password_bytes_min: usize,
    password_bytes_max: usize,
    keep_deleted_days: u64,
}

#[derive(Debug, Serialize)]
struct ServerJson {
    version: &'static str,
}

/// A session as it is listed.
#[derive(Debug, Serialize)]
struct ListedJson {
    id: String,
    created_at: String,
    last_used_at: String,
    expires_at: String,
    from: Option<String>,
    current: bool,
}

impl From<SessionView> for ListedJson {
    fn from(session: SessionView) -> Self {
        Self {
            id: session.id,
            created_at: session.created_at.to_string(),
            last_used_at: session.last_used_at.to_string(),
            expires_at: session.expires_at.to_string(),
            from: session.from.map(|from| from.to_string()),
            current: session.is_present,
        }
    }
}

/// `GET /user/session`
pub(super) fn show(context: &RequestContext) -> Result<Reply, Error> {
    Ok(shown(context, &context.caller()?))
}

/// An answer that tells somebody who it is.
pub(super) fn shown(context: &RequestContext, caller: &Caller) -> Reply {
    let (account, settings) = (caller.account(), context.settings());
    let shown = SessionJson {
        username: account.name(),
        roles: account.roles().iter().map(ToString::to_string).collect(),
        may: account.service_rights(),
        expires_at: caller.session_ends_at().to_string(),
        idle_s: context.gate().session_idle_s(),
        limits: LimitsJson {
            file_bytes_max: settings.file_bytes_max,
            archive_bytes_max: settings.archive_bytes_max,
            batch_bytes_max: settings.limits.batch_bytes_max,
            batch_actions_max: settings.limits.batch_actions_max,
            path_bytes_max: PATH_BYTES_MAX,
            message_bytes_max: MESSAGE_BYTES_MAX,
            per_page_max: PAGE_ENTRIES_MAX,
            history_page_max: HISTORY_PAGE_MAX,
            tokens_max: settings.limits.accounts.tokens_max,
            token_repos_max: settings.limits.accounts.token_repos_max,
            password_bytes_min: PASSWORD_BYTES_MIN,
            password_bytes_max: PASSWORD_BYTES_MAX,
            keep_deleted_days: settings.keep_deleted_days,
        },
        server: ServerJson {
            version: env!("CARGO_PKG_VERSION"),
        },
    };
    Reply::json(StatusCode::OK, &shown)
}

/// `GET /user/sessions`
pub(super) fn list(context: &RequestContext) -> Result<Reply, Error> {
    let sessions = context.gate().own_sessions(&context.caller()?)?;
    let shown: Vec<_> = sessions.into_iter().map(ListedJson::from).collect();
    Ok(Reply::json(StatusCode::OK, &shown))
}

/// `DELETE /user/sessions/<id>`
pub(super) fn end(context: &RequestContext, id: &str) -> Result<Reply, Error> {
    let caller = context.caller()?;
    conditions::check_untagged(context.headers())?;
    let ended_own = context.gate().end_own_session(&caller, id)?;
    let reply = Reply::empty(StatusCode::NO_CONTENT);
    Ok(if ended_own {
        reply.with(SET_COOKIE, context.cookie().remove())
    } else {
        reply
    })
}
