//! The audit log's records of accounts, sessions, tokens and names: what each route of theirs leaves.

use serde_json::{Value, json};

use crate::harness::ADMIN;
use crate::scene::ROLE;

/// Each route with its record, as the log tells it without what is another every time.
pub(crate) fn expected() -> Vec<Value> {
    let entry = |name: &str, action: &str, by: &str, more: Value| {
        let mut entry = json!({ "by": by, "from": "127.0.0.1", "action": action });
        let more = more.as_object().unwrap().clone();
        entry.as_object_mut().unwrap().extend(more);
        let name = match name.split_once(' ').unwrap() {
            (_, path) if path.starts_with("/user") => name.to_owned(),
            (method, path) => format!("{method} {ADMIN}{path}"),
        };
        json!([name, entry])
    };
    let by_admin = |name: &str, action: &str, more: Value| entry(name, action, "admin", more);
    let vera = |detail: Option<&str>, sessions: Option<u64>| {
        let mut vera = json!({ "account": "vera" });
        if let Some(detail) = detail {
            vera["detail"] = json!(detail);
        }
        if let Some(sessions) = sessions {
            vera["sessions"] = json!(sessions);
        }
        vera
    };
    let project = json!({ "project": "*", "project_id": "*", "detail": "*" });
    let branch = json!({
        "project": "*",
        "project_id": "*",
        "branch": "next",
        "detail": "was main",
    });
    vec![
        by_admin(
            "POST /accounts",
            "account-created",
            json!({ "account": "new", "detail": ROLE }),
        ),
        by_admin(
            "PATCH /accounts/{name}",
            "account-disabled",
            vera(None, Some(1)),
        ),
        by_admin(
            "DELETE /accounts/{name}",
            "account-removed",
            vera(Some("0 tokens revoked"), Some(1)),
        ),
        by_admin(
            "PUT /accounts/{name}/password",
            "password-set",
            vera(None, Some(1)),
        ),
        by_admin(
            "PUT /accounts/{name}/roles/{role}",
            "role-added",
            vera(Some("ROLE_SITEBUILDER_EDITOR__PUBLIC"), None),
        ),
        by_admin(
            "DELETE /accounts/{name}/roles/{role}",
            "role-removed",
            vera(Some(ROLE), None),
        ),
        by_admin(
            "POST /tokens/{token_id}/rotate",
            "token-rotated",
            json!({ "account": "admin", "tokenId": "*", "detail": "*" }),
        ),
        by_admin("PATCH /projects/{repo_id}", "project-renamed", project),
        by_admin(
            "PUT /projects/{repo_id}/validation",
            "project-rules",
            json!({ "project": "*", "project_id": "*", "detail": "1 rule" }),
        ),
        by_admin(
            "PATCH /projects/{repo_id}/branches/{ref}",
            "branch-renamed",
            branch,
        ),
        entry("POST /user/login", "login", "vera", json!({})),
        entry(
            "PUT /user/password",
            "password-set",
            "vera",
            vera(None, Some(1)),
        ),
        entry(
            "DELETE /user/sessions/{session_id}",
            "session-ended",
            "admin",
            json!({ "detail": "*" }),
        ),
    ]
}

/// An entry with `*` for what is another every time: numbers in names, and secrets' ends.
pub(crate) fn masked(mut entry: Value) -> Value {
    for field in ["by", "account"] {
        let name = entry[field].as_str().unwrap_or_default();
        if let Some((name @ ("vera" | "new"), _)) = name.split_once('-') {
            entry[field] = json!(name);
        }
    }
    // Which login is the one too many is another every time.
    if entry["action"] == "login" {
        entry.as_object_mut().unwrap().remove("sessions");
    }
    let action = entry["action"].as_str().unwrap_or_default();
    if matches!(
        action,
        "project-renamed" | "token-rotated" | "session-ended"
    ) {
        entry["detail"] = json!("*");
    }
    entry
}
