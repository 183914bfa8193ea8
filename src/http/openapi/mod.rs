//! The OpenAPI 3.1 document of both APIs, served to everybody. Its parts lie beside this file, each
//! a document by itself that says something of its own; they are put together once.
//!
//! No route may be missing in it, and it names none that is not there: the tests hold it against the
//! route tables (contract section 8).

use std::sync::LazyLock;

use hyper::header::{CACHE_CONTROL, HeaderValue, VARY};
use serde_json::Value;

use super::blocking;
use super::error::Error;
use super::reply::json::JsonBody;
use super::reply::{Freshness, Reply, gzip};
use super::request::body::RequestBody;
use super::request::context::RequestContext;

/// General things, the schemas, and the paths of each API.
const PARTS: [&str; 5] = [
    include_str!("document.json"),
    include_str!("schemas.json"),
    include_str!("read.json"),
    include_str!("admin.json"),
    include_str!("login.json"),
];

/// The document as it is sent: plain, and compressed.
static DOCUMENT: LazyLock<[JsonBody; 2]> =
    LazyLock::new(|| [false, true].map(|gzip| JsonBody::of(&document(), &[], gzip)));

/// Answers with the document, or 304 to a client that has it. It says the same to everybody.
pub(in crate::http) async fn respond(
    context: RequestContext,
    body: &RequestBody,
) -> Result<Reply, Error> {
    body.refuse()?;
    blocking::run(move || {
        let body = &DOCUMENT[usize::from(gzip::is_accepted(context.headers()))];
        let reply = body.reply(context.headers(), Freshness::Moving);
        Ok(reply
            .with(CACHE_CONTROL, HeaderValue::from_static("no-cache"))
            .with(VARY, HeaderValue::from_static("Accept-Encoding")))
    })
    .await
}

/// Puts the parts together.
fn document() -> Value {
    let mut whole = Value::Null;
    for part in PARTS {
        let part = serde_json::from_str(part).expect("the tests read every part");
        merge(&mut whole, part);
    }
    whole
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

/// Names every route of a table as the document does, `METHOD /path/below/the/mount`. The compiler
/// sees to it that no variant is forgotten.
#[cfg(test)]
macro_rules! templates {
    ($($route:pat => [$($template:literal),+ $(,)?],)+) => {
        impl Route {
            /// The names of all routes.
            pub(in crate::http) const TEMPLATES: &[&str] = &[$($($template),+),+];

            /// The names that lead to this route.
            pub(in crate::http) fn templates(&self) -> &'static [&'static str] {
                match self {
                    $($route => &[$($template),+],)+
                }
            }
        }
    };
}
#[cfg(test)]
pub(super) use templates;

#[cfg(test)]
mod tests;
