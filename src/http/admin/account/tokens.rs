//! Tokens: the caller's, and those of others for whom they concern.

use hyper::StatusCode;
use serde::{Deserialize, Serialize};

use crate::access::{Caller, Expiry, ListedToken, NewToken, ShownToken, TokenChange, TokensOfAll};
use crate::base::clock::{Timestamp, parse_span_s};
use crate::http::admission::fair_semaphore::FairPermit;
use crate::http::error::Error;
use crate::http::list::pagination;
use crate::http::list::pagination::Paging;
use crate::http::reply::{Reply, json};
use crate::http::request::context::RequestContext;
use crate::http::request::json_body::ExpiresAt;
use crate::http::request::{conditions, json_body, params};

/// About so many bytes are told of a token, and of each project that it names.
const TOKEN_BYTES: usize = 512;
const PROJECT_BYTES: usize = 150;

/// A new token with the one sight of its secret.
#[derive(Serialize)]
struct CreatedJson<'a> {
    #[serde(flatten)]
    token: ShownToken,
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

/// What a rotation may send.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rotation {
    /// How long the present value counts on, as `7d` or `12h`.
    #[serde(default, deserialize_with = "json_body::given")]
    grace: Option<String>,
}

/// `GET /tokens`, whole or in GitLab's pages: the caller's, another's, or all.
pub(super) fn list(context: &RequestContext, caller: &Caller) -> Result<Reply, Error> {
    let (query, gate) = (&context.query, context.gate());
    let paging = Paging::of(query)?;
    let mut room = None;
    let (name, tokens) = match (query.text("owner")?, query.flag("all")?) {
        (None, false) => ("own", gate.tokens(caller)?),
        (None, true) => {
            let tokens = gate.all_tokens(caller)?;
            room = room_to_read(context, &tokens)?;
            ("all", tokens.list()?)
        }
        (Some(owner), false) => (owner, gate.tokens_of(caller, owner)?),
        (Some(_), true) => {
            return Err(Error::malformed("owner and all exclude each other"));
        }
    };
    let list = format!("tokens/{name}");
    let place = ListedToken::number;
    let (part, headers) = pagination::cut(context, &paging, &list, tokens, place)?;
    listed(context, room, &part, headers.lines())
}

/// `GET /projects/<project>/tokens`
pub(in crate::http::admin) fn list_of_project(
    context: &RequestContext,
    caller: &Caller,
    project: &str,
) -> Result<Reply, Error> {
    let id = params::repo_id(project)?;
    let tokens = context.gate().tokens_for(caller, &id)?;
    let room = room_to_read(context, &tokens)?;
    listed(context, room, &tokens.list()?, &[])
}

/// Room for all tokens that are read for a list, of which it may show few.
fn room_to_read<'a>(
    context: &'a RequestContext,
    tokens: &TokensOfAll,
) -> Result<Option<FairPermit<'a>>, Error> {
    let most = usize::try_from(tokens.read_at_most()?).unwrap_or(usize::MAX);
    context.room_to_list(most.saturating_mul(TOKEN_BYTES))
}

/// Answers with a list of tokens, for which there may be room already.
fn listed<'a>(
    context: &'a RequestContext,
    room: Option<FairPermit<'a>>,
    tokens: &[ListedToken],
    lines: &json::HeaderLines,
) -> Result<Reply, Error> {
    let bytes = |token: &ListedToken| TOKEN_BYTES + token.projects() * PROJECT_BYTES;
    let _room = match room {
        None => context.room_to_list(tokens.iter().map(bytes).sum())?,
        room => room,
    };
    let gate = context.gate();
    let shown = tokens
        .iter()
        .map(|token| Ok(ShownToken::from(gate.shown_token(token))));
    json::list_of(context, shown, lines)
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
    Ok(Reply::json(StatusCode::OK, &ShownToken::from(token)))
}

/// `POST /tokens/<id>/rotate`
pub(super) fn rotate(
    context: &RequestContext,
    caller: &Caller,
    id: &str,
    body: Option<&[u8]>,
) -> Result<Reply, Error> {
    conditions::check_untagged(context.headers())?;
    let wanted: Rotation = body.map(json_body::read).transpose()?.unwrap_or_default();
    let now = context.service.clock.now();
    let grace_s = wanted.grace.map_or(Some(0), |text| {
        // One that ends at a time which can be told.
        Timestamp::parse_until(&text, now)?;
        parse_span_s(&text)
    });
    let grace_s = grace_s.ok_or_else(|| {
        Error::malformed("grace is invalid: it must be a length of time, as 7d or 12h")
    })?;
    let (secret, token) = context.gate().rotate_token(caller, id, grace_s)?;
    Ok(Reply::json(
        StatusCode::OK,
        &CreatedJson {
            token: token.into(),
            token_string: secret.reveal(),
        },
    ))
}

/// `DELETE /tokens/<id>`
pub(super) fn revoke(context: &RequestContext, caller: &Caller, id: &str) -> Result<Reply, Error> {
    conditions::check_untagged(context.headers())?;
    context.gate().revoke_token(caller, id)?;
    Ok(Reply::empty(StatusCode::NO_CONTENT))
}
