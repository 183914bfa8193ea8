//! `…/validation`: the rules that a project has for its contents.

use hyper::StatusCode;
use serde::{Deserialize, Serialize};

use crate::access::Caller;
use crate::http::admin::open::open;
use crate::http::error::Error;
use crate::http::reply::{Freshness, Reply, json};
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
    let shown = RulesJson { rules: &rules };
    json::respond(context, &shown, Freshness::Moving, &[])
}

/// `PUT /projects/<project>/validation`
pub(super) fn set(
    context: &RequestContext,
    caller: &Caller,
    project: &str,
    body: &[u8],
) -> Result<Reply, Error> {
    conditions::check_untagged(context.headers())?;
    let id = params::repo_id(project)?;
    let NewRules { rules } = json_body::read(body)?;
    let rules: Vec<_> = rules.into_iter().map(|Object(rule)| rule).collect();
    context.gate().set_rules(caller, &id, &rules)?;
    Ok(Reply::json(StatusCode::OK, &RulesJson { rules: &rules }))
}
