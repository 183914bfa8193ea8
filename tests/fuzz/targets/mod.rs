//! What is fuzzed: each target takes any bytes, and panics where a promise does not hold.

mod answer;
mod branch;
mod dates;
mod headers;
mod json;
mod manifest;
mod node;
mod path;
mod query;
mod record;
mod request;
mod scene;

/// A target by its name, which is that of its corpus, too.
pub(crate) type Target = (&'static str, fn(&[u8]));

/// All of them.
pub(crate) const TARGETS: [Target; 10] = [
    ("branch", branch::hold),
    ("dates", dates::hold),
    ("headers", headers::hold),
    ("json", json::hold),
    ("manifest", manifest::hold),
    ("node", node::hold),
    ("path", path::hold),
    ("query", query::hold),
    ("record", record::hold),
    ("request", request::hold),
];
