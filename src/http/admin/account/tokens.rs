//! The caller's tokens.

use hyper::StatusCode;
use serde::{Deserialize, Serialize};

use crate::access::{Caller, Expiry, NewToken, TokenChange, TokenView};
use crate::http::error::Error;
use crate::http::reply::{Reply, json};
use crate::http::request::context::RequestContext;
use crate::http::request::json_body::ExpiresAt;
use crate::http::request::{conditions, json_body};

/// A token as its owner sees it.
#[derive(Debug, Serialize)]
struct TokenJson {
    #[serde(rename = "tokenId")]
    token_id: String,
    name: String,
    owner: String,
    repos: Vec<String>,
    expires_at: Option<String>,
    fingerprint_required: bool,
    fingerprint_bound: bool,
    suffix: String,
    created_at: String,
    last_used_at: Option<String>,
    state: String,
}

impl From<TokenView> for TokenJson {
    fn from(token: TokenView) -> Self {
        Self {
            token_id: token.id,
            name: token.name,
            owner: token.owner,
            repos: token.repos,
            expires_at: token.expires_at.map(|at| at.to_string()),
            fingerprint_required: token.fingerprint_required,
            fingerprint_bound: token.fingerprint_bound,
            suffix: token.suffix,
            created_at: token.created_at.to_string(),
            last_used_at: token.last_used_at.map(|at| at.to_string()),
            state: token.state.to_string(),
        }
    }
}

/// A new token with the one sight of its secret.
#[derive(Serialize)]
struct CreatedJson<'a> {
    #[serde(flatten)]
    token: TokenJson,
    #[serde(rename = "tokenString")]
    token_string: &'a str,
}

/// What a creation sends.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    name: String,
    repos: Vec<String>,
    #[serde(default, deserialize_with = "json_body::given")]
    expires_at: Option<ExpiresAt>,
    #[serde(default)]
    fingerprint_required: bool,
}

/// What a change sends.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Changes {
    #[serde(default, deserialize_with = "json_body::given")]
    name: Option<String>,
    #[serde(default, deserialize_with = "json_body::given")]
    repos: Option<Vec<String>>,
    #[serde(default, deserialize_with = "json_body::given")]
    expires_at: Option<ExpiresAt>,
    #[serde(default, deserialize_with = "json_body::given")]
    fingerprint_required: Option<bool>,
    #[serde(default)]
    reset_fingerprint: bool,
}

/// `GET /tokens`
pub(super) fn list(context: &RequestContext, caller: &Caller) -> Result<Reply, Error> {
    let tokens = context.gate().tokens(caller)?;
    let shown: Vec<_> = tokens.into_iter().map(TokenJson::from).collect();
    Ok(json::list(context, &shown, &[]))
}

/// `POST /tokens`
pub(super) fn create(
    context: &RequestContext,
    caller: &Caller,
    body: &[u8],
) -> Result<Reply, Error> {
    conditions::check_new(context.headers())?;
    let wanted: Wanted = json_body::read(body)?;
    let new = NewToken {
        name: wanted.name,
        repos: wanted.repos,
        expires_at: match wanted.expires_at {
            Some(ExpiresAt(Expiry::At(at))) => Some(at),
            Some(ExpiresAt(Expiry::Never)) | None => None,
        },
        fingerprint_required: wanted.fingerprint_required,
    };
    let (secret, token) = context.gate().create_token(caller, new)?;
    Ok(Reply::json(
        StatusCode::CREATED,
        &CreatedJson {
            token: token.into(),
            token_string: secret.reveal(),
        },
    ))
}

/// `PATCH /tokens/<id>`
pub(super) fn change(
    context: &RequestContext,
    caller: &Caller,
    id: &str,
    body: &[u8],
) -> Result<Reply, Error> {
    conditions::check_untagged(context.headers())?;
    let changes: Changes = json_body::read(body)?;
    let change = TokenChange {
        name: changes.name,
        repos: changes.repos,
        added_repos: Vec::new(),
        expires_at: changes.expires_at.map(|ExpiresAt(at)| at),
        fingerprint_required: changes.fingerprint_required,
        reset_fingerprint: changes.reset_fingerprint,
    };
    let token = context.gate().change_token(caller, id, &change)?;
    Ok(Reply::json(StatusCode::OK, &TokenJson::from(token)))
}

/// `DELETE /tokens/<id>`
pub(super) fn revoke(context: &RequestContext, caller: &Caller, id: &str) -> Result<Reply, Error> {
    conditions::check_untagged(context.headers())?;
    context.gate().revoke_token(caller, id)?;
    Ok(Reply::empty(StatusCode::NO_CONTENT))
}
