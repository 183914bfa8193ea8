//! What the daemon holds: a branch that is waited for, and one that others read.

use std::time::Instant;

use serde_json::json;

use crate::client::Client;
use crate::process::changed;

const BYTES: &str = "application/octet-stream";

/// A project with a branch that is waited for, and one that others read.
pub(crate) fn make_project(admin: &mut Client) {
    let made = admin.post(
        "/site-builder/api/projects",
        &json!({ "name": "bench/shop", "type": "erp" }),
    );
    assert_eq!(made.status, 201);
    for name in ["main", "other"] {
        let made = admin.post(&changed("/branches"), &json!({ "name": name }));
        assert_eq!(made.status, 201);
    }
    put(admin, "other", "other.xml", b"<other/>");
    put(admin, "main", "a.xml", b"<a/>");
}

/// Saves another content at each time.
pub(crate) fn save(admin: &mut Client, at: Instant) {
    put(
        admin,
        "main",
        "a.xml",
        format!("<a at=\"{at:?}\"/>").as_bytes(),
    );
}

fn put(admin: &mut Client, branch: &str, path: &str, body: &[u8]) {
    let target = changed(&format!("/branches/{branch}/files/{path}"));
    let saved = admin.attempt("PUT", &target, BYTES, body).unwrap();
    assert!(matches!(saved.status, 200 | 201), "{saved:?}");
}

/// The target of a stream of events.
pub(crate) fn events() -> String {
    changed("/branches/main/events")
}
