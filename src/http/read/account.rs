//! `GET /user`, `/personal_access_tokens/self`, `/version` and `/metadata`: what clients of GitLab ask
//! before they begin.

use serde::Serialize;

use crate::access::{TokenHolder, TokenState};
use crate::http::error::Error;
use crate::http::reply::json;
use crate::http::reply::{Freshness, Reply};
use crate::http::request::context::RequestContext;

/// The version of GitLab whose answers these are. Clients compare it.
const GITLAB_VERSION: &str = "17.11.0-siteconf";

#[derive(Debug, Serialize)]
struct UserJson<'a> {
    id: u64,
    username: &'a str,
    name: &'a str,
    state: &'static str,
    locked: bool,
    avatar_url: Option<&'static str>,
    web_url: String,
    created_at: String,
    bio: &'static str,
    public_email: &'static str,
    email: &'static str,
    bot: bool,
    external: bool,
}

/// The owner of the token.
pub(super) fn user(context: &RequestContext, holder: &TokenHolder) -> Result<Reply, Error> {
    let owner = holder.owner();
    let user = UserJson {
        id: owner.number(),
        username: owner.name(),
        name: owner.name(),
        state: "active",
        locked: false,
        avatar_url: None,
        web_url: format!("{}/user", context.mount_url()),
        created_at: owner.created_at().to_string(),
        bio: "",
        public_email: "",
        email: "",
        bot: false,
        external: false,
    };
    json::respond(context, &user, Freshness::Moving, &[])
}

#[derive(Debug, Serialize)]
struct TokenJson<'a> {
    id: u64,
    name: &'a str,
    revoked: bool,
    created_at: String,
    description: Option<&'static str>,
    scopes: [&'static str; 2],
    user_id: u64,
    last_used_at: Option<String>,
    active: bool,
    /// A day: clients read no more.
    expires_at: Option<String>,
}

/// The token itself.
pub(super) fn token(context: &RequestContext, holder: &TokenHolder) -> Result<Reply, Error> {
    let token = holder.token();
    let day = |at: crate::base::clock::Timestamp| at.to_string()[..10].to_owned();
    let shown = TokenJson {
        id: token.id.parse().unwrap_or_default(),
        name: &token.name,
        revoked: false,
        created_at: token.created_at.to_string(),
        description: None,
        scopes: ["read_api", "read_repository"],
        user_id: holder.owner().number(),
        last_used_at: token.last_used_at.map(|at| at.to_string()),
        active: token.state == TokenState::Active,
        expires_at: token.expires_at.map(day),
    };
    json::respond(context, &shown, Freshness::Moving, &[])
}

#[derive(Debug, Serialize)]
struct VersionJson {
    version: &'static str,
    revision: &'static str,
    kas: KasJson,
    enterprise: bool,
}

/// An agent that this service does not have.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct KasJson {
    enabled: bool,
    external_url: Option<&'static str>,
    version: Option<&'static str>,
}

/// The version of GitLab that this service speaks like, and its own as the revision.
pub(super) fn version(context: &RequestContext) -> Result<Reply, Error> {
    let version = VersionJson {
        version: GITLAB_VERSION,
        revision: env!("CARGO_PKG_VERSION"),
        kas: KasJson {
            enabled: false,
            external_url: None,
            version: None,
        },
        enterprise: false,
    };
    json::respond(context, &version, Freshness::Moving, &[])
}
