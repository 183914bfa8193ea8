//! The audit log's records of accounts, sessions, tokens and names: what each route of theirs leaves.

use serde_json::{Value, json};

use crate::harness::{ADMIN, Answer, Daemon, Project, User, password_of, segment};

/// The role that is given and taken.
const ROLE: &str = "ROLE_SITEBUILDER_USER__acme";

/// Makes a route's change and answers the status that it must have, or `None` for another route.
pub(crate) struct People<'a> {
    pub(crate) admin: &'a User,
    pub(crate) project: &'a Project,
    /// The address of a token of the administrator.
    pub(crate) token: &'a str,
    /// An account that is nobody else's, and its session.
    vera: (String, User),
}

impl<'a> People<'a> {
    pub(crate) fn new(
        daemon: &Daemon,
        admin: &'a User,
        project: &'a Project,
        token: &'a str,
    ) -> Self {
        let name = format!("vera-{}", project.number);
        let session = daemon.user(&name, &[ROLE]);
        Self {
            admin,
            project,
            token,
            vera: (name, session),
        }
    }

    pub(crate) fn change(&self, route: &str) -> Option<(u16, Answer)> {
        let (name, vera) = &self.vera;
        let (method, path) = route.split_once(' ').unwrap();
        let path = path.strip_prefix(ADMIN).unwrap_or(path);
        let accounts = format!("{ADMIN}/accounts");
        let account = format!("{accounts}/{name}");
        let (admin, project) = (self.admin, self.project);
        let new = json!({ "name": "new", "password": "correct horse", "roles": [ROLE] });
        Some(match (method, path) {
            ("POST", "/accounts") => (201, admin.post(&accounts, &new)),
            ("PATCH", "/accounts/{name}") => {
                (200, admin.patch(&account, &json!({ "enabled": false })))
            }
            ("DELETE", "/accounts/{name}") => (204, admin.delete(&account)),
            ("PUT", "/accounts/{name}/password") => {
                let password = format!("{account}/password");
                (200, admin.request("PUT", &password).send())
            }
            ("PUT", "/accounts/{name}/roles/{role}") => {
                let role = format!("{account}/roles/ROLE_SITEBUILDER_EDITOR__PUBLIC");
                (200, admin.request("PUT", &role).send())
            }
            ("DELETE", "/accounts/{name}/roles/{role}") => {
                (200, admin.delete(&format!("{account}/roles/{ROLE}")))
            }
            ("POST", "/tokens/{token_id}/rotate") => {
                let rotate = format!("{}/rotate", self.token);
                (200, admin.request("POST", &rotate).send())
            }
            ("PATCH", "/projects/{repo_id}") => {
                let body = json!({ "name": format!("named/{}", project.number) });
                (200, admin.patch(&project.admin(""), &body))
            }
            ("PUT", "/projects/{repo_id}/validation") => {
                let rules = json!({ "rules": [{ "patterns": ["*.json"], "check": "json" }] });
                let target = project.admin("/validation");
                (200, admin.request("PUT", &target).json(&rules).send())
            }
            ("PATCH", "/projects/{repo_id}/branches/{ref}") => {
                let body = json!({ "name": "next" });
                (200, admin.patch(&project.on("main", ""), &body))
            }
            ("PUT", "/user/password") => {
                let body = json!({
                    "old_password": password_of(name),
                    "new_password": "battery staple",
                });
                (
                    204,
                    vera.request("PUT", "/user/password").json(&body).send(),
                )
            }
            ("DELETE", "/user/sessions/{session_id}") => {
                let id = vera.get("/user/sessions").json()[0]["id"].clone();
                let id = segment(id.as_str().unwrap());
                (204, vera.delete(&format!("/user/sessions/{id}")))
            }
            _ => return None,
        })
    }
}

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
        entry(
            "PUT /user/password",
            "password-set",
            "vera",
            vera(None, Some(1)),
        ),
        entry(
            "DELETE /user/sessions/{session_id}",
            "session-ended",
            "vera",
            json!({ "detail": "*" }),
        ),
    ]
}

/// An entry with `*` for what is another every time: numbers in names, and secrets' ends.
pub(crate) fn masked(mut entry: Value) -> Value {
    for field in ["by", "account"] {
        if entry[field]
            .as_str()
            .is_some_and(|name| name.starts_with("vera-"))
        {
            entry[field] = json!("vera");
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
