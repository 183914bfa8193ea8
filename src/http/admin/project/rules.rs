//! `…/validation`: the rules that a project has for its contents.

use hyper::StatusCode;
use hyper::header::ETAG;
use serde::{Deserialize, Serialize};

use crate::access::Caller;
use crate::http::admin::open::open;
use crate::http::error::Error;
use crate::http::reply::json_text::to_json;
use crate::http::reply::{Freshness, Reply};
use crate::http::request::conditions::ETag;
use crate::http::request::context::RequestContext;
use crate::http::request::json_body::Object;
use crate::http::request::{conditions, json_body, params};
use crate::repo::Rule;

/// Rules as they are sent.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NewRules {
    rules: Vec<Object<Rule>>,
}

/// Rules as they are shown.
#[derive(Debug, Serialize)]
struct RulesJson<'a> {
    rules: &'a [Rule],
}

/// `GET /projects/<project>/validation`
pub(super) fn show(
    context: &RequestContext,
    caller: &Caller,
    project: &str,
) -> Result<Reply, Error> {
    let rules = open(context, caller, project)?.rules();
    let tag = tag_of(&rules);
    let reply = if tag.is_known_to(context.headers()) {
        Reply::empty(StatusCode::NOT_MODIFIED)
    } else {
        let shown = to_json(&RulesJson { rules: &rules });
        // Never compressed: one strong tag cannot be of two codings, and a change is judged by this one.
        let shown = context.count(shown.into())?;
        Reply::bytes(StatusCode::OK, "application/json", shown)
    };
    Ok(reply.validated(&tag, Freshness::Moving))
}

/// `PUT /projects/<project>/validation`
pub(super) fn set(
    context: &RequestContext,
    caller: &Caller,
    project: &str,
    body: &[u8],
) -> Result<Reply, Error> {
    let condition = conditions::condition(context.headers())?;
    let id = params::repo_id(project)?;
    let NewRules { rules } = json_body::read(body)?;
    let rules: Vec<_> = rules.into_iter().map(|Object(rule)| rule).collect();
    // Before the change: who is refused after it would make it again.
    let room = context.room_to_answer(body.len())?;
    context.gate().set_rules(caller, &id, &rules, &condition)?;
    let reply = Reply::json(StatusCode::OK, &RulesJson { rules: &rules }).in_room(room);
    Ok(reply.with(ETAG, tag_of(&rules).header()))
}

/// The tag of rules, which like that of a branch names what they say and not how they are sent.
fn tag_of(rules: &[Rule]) -> ETag {
    ETag::of_commit(&Rule::tag_of(rules))
}
