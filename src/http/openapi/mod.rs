//! The OpenAPI 3.1 document of both APIs, served to everybody. Its parts lie beside this file, each
//! a document by itself that says something of its own; they are put together once.
//!
//! No route may be missing in it, and it names none that is not there: the tests hold it against the
//! route tables (contract section 8).

use std::sync::OnceLock;

use hyper::header::{CACHE_CONTROL, HeaderValue, VARY};
use serde_json::{Value, json};

use super::error::Error;
use super::reply::coding::Coding;
use super::reply::rendered::Rendered;
use super::reply::{Freshness, Reply, json as json_reply};
use super::request::body::RequestBody;
use super::request::context::RequestContext;
use super::route::policy::Policy;
use super::route::template::Template;
use crate::base::may_block;

/// General things, the schemas, and the paths of each API.
const PARTS: [&str; 13] = [
    include_str!("document.json"),
    include_str!("schemas.json"),
    include_str!("read.json"),
    include_str!("projects.json"),
    include_str!("branch.json"),
    include_str!("events.json"),
    include_str!("archives.json"),
    include_str!("accounts.json"),
    include_str!("deleted.json"),
    include_str!("login.json"),
    include_str!("people.json"),
    include_str!("probe.json"),
    include_str!("validation.json"),
];

/// The document as it is sent: plain, and compressed.
static DOCUMENT: OnceLock<[Rendered; 2]> = OnceLock::new();

/// Answers with the document, or 304 to a client that has it. It says the same to everybody.
pub(in crate::http) fn respond(
    context: &RequestContext,
    body: &RequestBody,
) -> Result<Reply, Error> {
    body.refuse()?;
    // It is made once; who finds it takes no other thread's time for it.
    let [plain, compressed] = DOCUMENT
        .get()
        .unwrap_or_else(|| may_block(|| DOCUMENT.get_or_init(made)));
    let document = match Coding::accepted(context.headers()) {
        Coding::Identity => plain,
        Coding::Gzip => compressed,
    };
    Ok(document
        .reply(context.headers())
        .with(CACHE_CONTROL, HeaderValue::from_static("no-cache"))
        .with(VARY, HeaderValue::from_static("Accept-Encoding")))
}

fn made() -> [Rendered; 2] {
    [Coding::Identity, Coding::Gzip]
        .map(|coding| json_reply::rendered(&document(), &[], Freshness::Moving, coding))
}

/// Where the Read API is mounted, and where it is once more.
const READ_MOUNTS: [&str; 2] = [
    "/site-builder/api/erp-config/",
    "/site-builder/api/erp-config/api/v4/",
];

/// Paths of the Read API that answer as another, with their own operation ids.
const ALIASES: [(&str, &str, &str); 2] = [
    ("metadata", "version", "readMetadata"),
    (
        "projects/{repo_id}/repository/archive.tar.gz",
        "projects/{repo_id}/repository/archive",
        "readTarGz",
    ),
];

/// Puts the parts together, and writes out in full what the Read API has more than once: generators of
/// clients pass over paths that only refer to others.
fn document() -> Value {
    let mut whole = Value::Null;
    for part in PARTS {
        let part = serde_json::from_str(part).expect("the tests read every part");
        merge(&mut whole, part);
    }
    let paths = whole["paths"].as_object_mut();
    let paths = paths.expect("the paths are an object");
    let [mount, second] = READ_MOUNTS;
    for (alias, path, id) in ALIASES {
        let mut item = paths[&format!("{mount}{path}")].clone();
        item["get"]["operationId"] = id.into();
        paths.insert(format!("{mount}{alias}"), item);
    }
    for route in Template::all() {
        let method = route.method().to_lowercase();
        let item = paths.get_mut(route.path());
        let operation = item.and_then(|item| item.get_mut(method.as_str()));
        if let (Some(operation), Some(policy)) = (operation, route.policy()) {
            operation["security"] = security(policy);
        }
    }
    let once_more: Vec<_> = paths
        .iter()
        .filter_map(|(path, item)| {
            let path = format!("{second}{}", path.strip_prefix(mount)?);
            let mut item = item.clone();
            let id = item["get"]["operationId"].as_str().unwrap_or_default();
            item["get"]["operationId"] = format!("{id}V4").into();
            Some((path, item))
        })
        .collect();
    paths.extend(once_more);
    whole
}

/// What a route asks of who sends a request: any one of these. What there must be beside the credential
/// stands where OpenAPI has scopes.
fn security(policy: Policy) -> Value {
    let credentials = |needs: &[&str]| -> Vec<Value> {
        let credentials = policy.credentials().iter();
        credentials
            .map(|credential| json!({ *credential: needs }))
            .collect()
    };
    match policy.needs() {
        [] => credentials(&[]).into(),
        any => any.iter().flat_map(|need| credentials(&[need])).collect(),
    }
}

/// Adds what a part says. Where both have an object, theirs are merged; no part repeats another.
fn merge(whole: &mut Value, part: Value) {
    match (whole, part) {
        (Value::Object(whole), Value::Object(part)) => {
            for (key, value) in part {
                merge(whole.entry(key).or_insert(Value::Null), value);
            }
        }
        (whole, part) => *whole = part,
    }
}

#[cfg(test)]
mod tests;
