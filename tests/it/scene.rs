//! One valid request for each route that the document tells of: where it is refused, it is refused for who
//! sends it.

use std::cell::OnceCell;

use serde_json::{Value, json};

use crate::harness::{ADMIN, Daemon, Project, Request, User, git_blob_id, password_of, segment};

/// The role of the person that nobody else is.
pub(crate) const ROLE: &str = "ROLE_SITEBUILDER_USER__acme";
/// What the project's file holds.
const CONTENT: &str = "two";

/// What requests name: a project with two saves, and one of everything else. It is good for one change.
pub(crate) struct Scene {
    /// As its owner sees it.
    pub(crate) project: Project,
    owner: Caller,
    commit: String,
    token: String,
    deleted: String,
    /// An account that has one session and no projects.
    pub(crate) person: String,
    /// A name that nothing has.
    new: String,
    /// Another session of the owner, once it is asked for.
    session: OnceCell<String>,
}

/// Whose session it is, and what that account can prove.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    pub(crate) user: User,
    pub(crate) name: String,
    pub(crate) password: String,
    pub(crate) next_password: String,
}

impl Caller {
    /// Logs an account in.
    pub(crate) fn log_in(daemon: &Daemon, name: &str, password: &str) -> Self {
        let answer = daemon.login(name, password).expect_status(200);
        let cookie = crate::harness::cookie_of(&answer);
        Self {
            user: daemon.anonymous().with("Cookie", &cookie),
            name: name.to_owned(),
            password: password.to_owned(),
            next_password: format!("{password}, and another"),
        }
    }
}

/// A request without its sender, and the status that it has by whoever may.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) method: String,
    pub(crate) target: String,
    pub(crate) status: u16,
    body: Option<Body>,
}

#[derive(Clone, Debug)]
enum Body {
    Json(Value),
    File(&'static [u8]),
}

impl Asked {
    /// A request for a page of this address.
    pub(crate) fn get(target: &str, status: u16) -> Self {
        Self {
            method: "GET".to_owned(),
            target: target.to_owned(),
            status,
            body: None,
        }
    }

    /// The same by another method, without a body, with the status that it then has.
    pub(crate) fn by_method(&self, method: &str, status: u16) -> Self {
        Self {
            method: method.to_owned(),
            status,
            body: None,
            ..self.clone()
        }
    }

    /// The request as this user sends it.
    pub(crate) fn by(&self, user: &User) -> Request {
        let request = user.request(&self.method, &self.target);
        match &self.body {
            None => request,
            Some(Body::Json(json)) => request.json(json),
            Some(Body::File(bytes)) => request
                .header("Content-Type", "application/octet-stream")
                .body(bytes),
        }
    }
}

impl Scene {
    /// A scene of this owner; `root` makes the person.
    #[track_caller]
    pub(crate) fn new(root: &User, owner: &Caller, project: &str, new: &str) -> Self {
        let user = &owner.user;
        let project = Project::with_main(user, project);
        project.save("main", "a.xml", "one");
        project.save("main", "a.xml", CONTENT);
        project.add_branch("gone");
        user.delete(&project.on("gone", "")).expect_status(204);
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let token = user.issue(&json!({ "name": "t", "repos": ["*"] }));
        let deleted = user.get(&format!("{ADMIN}/deleted")).json();
        let branch = user.get(&project.on("main", ""));
        let person = format!("vera-{}", project.number);
        let account = json!({
            "name": person,
            "password": password_of(&person),
            "roles": [ROLE],
        });
        root.post(&format!("{ADMIN}/accounts"), &account)
            .expect_status(201);
        Self {
            owner: owner.clone(),
            commit: branch.header("ETag").unwrap().trim_matches('"').to_owned(),
            token: text(&token["tokenId"]),
            deleted: text(&deleted[0]["id"]),
            person,
            new: new.to_owned(),
            session: OnceCell::new(),
            project,
        }
    }

    /// The request of a route, `METHOD /path` as the document has it, as this caller would send it.
    pub(crate) fn request(&self, daemon: &Daemon, route: &str, caller: &Caller) -> Asked {
        let (method, template) = route.split_once(' ').unwrap();
        let path = self.filled(daemon, method, template);
        let (query, status, body) = if method == "GET" {
            // Nothing has tags.
            let is_absent = template.ends_with("/tags/{tag}");
            (
                self.query(template),
                if is_absent { 404 } else { 200 },
                None,
            )
        } else {
            let change = self.change(method, template, caller);
            change.unwrap_or_else(|| {
                panic!("{route} is a further route: say here what a valid request is")
            })
        };
        Asked {
            method: method.to_owned(),
            target: format!("{path}{query}"),
            status,
            body,
        }
    }

    /// The path with the names of the scene.
    fn filled(&self, daemon: &Daemon, method: &str, template: &str) -> String {
        let mut path = String::new();
        for (place, part) in template.split(['{', '}']).enumerate() {
            if place % 2 == 0 {
                path += part;
                continue;
            }
            path += &segment(match part {
                "repo_id" => &self.project.id,
                "ref" | "branch" => "main",
                "path" => "a.xml",
                "version" => "v0002",
                "tag" => "v1.0",
                "sha" if template.contains("/blobs/") => {
                    path += &git_blob_id(CONTENT.as_bytes());
                    continue;
                }
                "sha" => &self.commit,
                "name" => &self.person,
                "role" if method == "PUT" => "ROLE_SITEBUILDER_EDITOR__PUBLIC",
                "role" => ROLE,
                "token_id" => &self.token,
                "deleted_id" => &self.deleted,
                "session_id" => self.session.get_or_init(|| self.other_session(daemon)),
                other => panic!("say here what {{{other}}} is"),
            });
        }
        path
    }

    /// The id of another session of the owner.
    fn other_session(&self, daemon: &Daemon) -> String {
        let Caller { name, password, .. } = &self.owner;
        let other = Caller::log_in(daemon, name, password).user;
        let sessions = other.get("/user/sessions").json();
        let mut sessions = sessions.as_array().unwrap().iter();
        let current = sessions.find(|session| session["current"] == true);
        current.unwrap()["id"].as_str().unwrap().to_owned()
    }

    /// What a read must say.
    fn query(&self, template: &str) -> String {
        if template.ends_with("/repository/compare") {
            format!("?from={0}&to={0}", self.commit)
        } else if template.ends_with("/branches/{ref}/diff") {
            "?from=v0001&to=v0002".to_owned()
        } else {
            String::new()
        }
    }

    /// The query, the status and the body of a change; `None` for a route that is none.
    fn change(
        &self,
        method: &str,
        template: &str,
        caller: &Caller,
    ) -> Option<(String, u16, Option<Body>)> {
        let new = &self.new;
        let json = |status: u16, json: Value| (String::new(), status, Some(Body::Json(json)));
        let bare = |status: u16| (String::new(), status, None);
        let path = template.strip_prefix(ADMIN).unwrap_or(template);
        let path = path
            .replace("/projects/{repo_id}", "")
            .replace("/branches/{ref}", "…");
        Some(match (method, path.as_str()) {
            ("POST", "/projects") => json(201, json!({ "name": new, "type": "erp" })),
            ("PATCH", "") => json(200, json!({ "name": new })),
            ("PUT", "/validation") => {
                let rule = json!({ "patterns": ["*.json"], "check": "json" });
                json(200, json!({ "rules": [rule] }))
            }
            ("POST", "/branches") => json(201, json!({ "name": "next", "from": "main" })),
            ("PATCH", "…") => json(200, json!({ "name": "next" })),
            ("PUT", "…/files/{path}") => (String::new(), 200, Some(Body::File(b"three"))),
            ("POST", "…/batch") => {
                let create = json!({ "action": "create", "file_path": "b.xml", "content": "1" });
                let delete = json!({ "action": "delete", "file_path": "a.xml" });
                json(200, json!({ "actions": [create, delete] }))
            }
            ("POST", "…/rollback") => ("?to=v0001".to_owned(), 200, None),
            ("POST", "/tokens") => json(201, json!({ "name": "n", "repos": ["*"] })),
            ("PATCH", "/tokens/{token_id}") => json(200, json!({ "name": "u" })),
            ("POST", "/accounts") => {
                let password = password_of(new);
                json(
                    201,
                    json!({ "name": new, "password": password, "roles": [ROLE] }),
                )
            }
            ("PATCH", "/accounts/{name}") => json(200, json!({ "enabled": false })),
            ("POST", "/user/login") => {
                let password = password_of(&self.person);
                json(
                    200,
                    json!({ "username": self.person, "password": password }),
                )
            }
            ("PUT", "/user/password") => json(
                204,
                json!({ "old_password": caller.password, "new_password": caller.next_password }),
            ),
            ("DELETE", "…/files/{path}" | "/accounts/{name}/roles/{role}")
            | ("PUT", "/accounts/{name}/password" | "/accounts/{name}/roles/{role}")
            | ("POST", "/tokens/{token_id}/rotate" | "/deleted/{deleted_id}/restore") => bare(200),
            (
                "DELETE",
                ""
                | "…"
                | "/tokens/{token_id}"
                | "/accounts/{name}"
                | "/user/sessions/{session_id}",
            )
            | ("POST", "/user/logout") => bare(204),
            _ => return None,
        })
    }
}
