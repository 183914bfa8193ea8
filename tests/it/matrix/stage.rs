//! A daemon with all accounts, tokens and sessions of the matrix, and what must not be seen.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::credentials::{
    ACCOUNTS, ADMINISTRATOR, AUDITOR, Account, Credential, FORMER, Hidden, OWNER, PARTNER, PREFIX,
    STRANGER, Session,
};
use crate::harness::{ADMIN, Daemon, Project, User, password_of, soon};
use crate::scene::{Caller, Scene};

/// What the names and contents of the hidden projects hold.
pub(super) const MARKS: [(Hidden, &str); 2] = [
    (Hidden::Owners, "canary-1d0c7ab3"),
    (Hidden::Strangers, "canary-9b2e44f6"),
];

/// The header of a token.
const TOKEN: &str = "PRIVATE-TOKEN";

pub(super) struct Stage {
    pub(super) daemon: Daemon,
    /// Who looks on, whose session is no credential of the matrix.
    pub(super) root: User,
    callers: BTreeMap<&'static str, Caller>,
    /// Headers of credentials that never change.
    headers: BTreeMap<&'static str, Vec<(&'static str, String)>>,
    scenes: usize,
    /// The project that only reads name.
    pub(super) still: Scene,
}

impl Stage {
    pub(super) fn new() -> Self {
        let daemon = Daemon::start_with(&["--wrong-tokens-minute-address-max", "0"]);
        let root = daemon.session("admin");
        let callers: BTreeMap<_, _> = ACCOUNTS
            .map(|account| {
                (
                    account.name,
                    new_account(&daemon, &root, account.name, account.roles),
                )
            })
            .into();
        let owner = &callers[OWNER.name];
        let still = Scene::new(&root, owner, "acme/still", "still");
        // The name of a session, while the owner's password is the first.
        still.request(&daemon, "DELETE /user/sessions/{session_id}", owner);
        for (hidden, mark) in MARKS {
            let of = if hidden == Hidden::Owners {
                OWNER
            } else {
                STRANGER
            };
            hide(&callers[of.name].user, mark);
        }
        let mut stage = Self {
            headers: BTreeMap::new(),
            scenes: 0,
            still,
            callers,
            root,
            daemon,
        };
        stage.issue_dead_tokens();
        stage.issue_tokens();
        stage.open_sessions();
        stage
    }

    /// A scene that nothing has been done to.
    pub(super) fn scene(&mut self) -> Scene {
        self.scenes += 1;
        let number = self.scenes;
        let owner = &self.callers[OWNER.name];
        Scene::new(
            &self.root,
            owner,
            &format!("acme/p{number}"),
            &format!("new{number}"),
        )
    }

    /// Who has this session, with what the account can prove.
    pub(super) fn caller(&self, account: &Account) -> &Caller {
        &self.callers[account.name]
    }

    /// Who shows a credential.
    pub(super) fn user(&self, credential: &Credential) -> User {
        let mut user = self.daemon.anonymous();
        if let Session::Of(account) = credential.session {
            user = user.with("Cookie", self.caller(account).user.credential());
        }
        // Those of now: some routes end sessions.
        match credential.name {
            "two sessions that count" => {
                let both =
                    [ADMINISTRATOR, AUDITOR].map(|account| self.caller(account).user.credential());
                user = user.with("Cookie", &both.join("; "));
            }
            "a session as a token" => {
                user = user.with("PRIVATE-TOKEN", self.secret_of(OWNER));
            }
            _ => {}
        }
        for (name, value) in self.headers.get(credential.name).into_iter().flatten() {
            user = user.with(name, value);
        }
        user
    }

    /// Opens the session of an account again, which may have another password by now.
    pub(super) fn log_in(&mut self, account: &Account, has_new_password: bool) {
        let caller = self.callers.get_mut(account.name).unwrap();
        let password = if has_new_password {
            &caller.next_password
        } else {
            &caller.password
        };
        *caller = Caller::log_in(&self.daemon, account.name, &password.clone());
    }

    /// All that a change could leave, but for when things were last used.
    pub(super) fn state(&self, scene: &Scene) -> Vec<Value> {
        let shown = |target: &str| {
            let mut shown = self.root.get(target).expect_status(200).json();
            forget_uses(&mut shown);
            shown
        };
        let below = |rest: &str| shown(&scene.project.admin(rest));
        vec![
            self.last_change(),
            shown(&format!("{ADMIN}/projects?scope=accessible")),
            shown(&format!("{ADMIN}/deleted?scope=accessible")),
            shown(&format!("{ADMIN}/tokens?all=1")),
            shown(&format!("{ADMIN}/accounts")),
            shown(&format!("{ADMIN}/accounts/{}", scene.person)),
            below("/branches"),
            below("/validation"),
            // The whole of it would tell commit ids once they are kept.
            below("/branches/main/history?limit=100"),
            below("/branches/main/tree?recursive=1"),
        ]
    }

    /// The last change that the audit log tells of. Refusals are told there, too, a little later and the more the
    /// longer the matrix takes: on a busy machine there are pages of nothing else.
    fn last_change(&self) -> Value {
        let is_change = |entry: &&Value| {
            let action = entry["action"].as_str().unwrap();
            !action.ends_with("-refused") && action != "forbidden"
        };
        let mut before = String::new();
        loop {
            let target = format!("{ADMIN}/audit?limit=100{before}");
            let page = self.root.get(&target).expect_status(200).json();
            let mut entries = page["entries"].as_array().unwrap().iter();
            if let Some(change) = entries.find(is_change) {
                return change.clone();
            }
            let next = page["next"].as_u64().expect("there was a change");
            before = format!("&before={next}");
        }
    }

    fn keep(&mut self, credential: &'static str, headers: &[(&'static str, &str)]) {
        let owned = headers
            .iter()
            .map(|(name, value)| (*name, (*value).to_owned()));
        self.headers.insert(credential, owned.collect());
    }

    /// A further token of an account for the project, but for what is said otherwise: its value and its id.
    fn issue(&self, account: &Account, more: &Value) -> (String, String) {
        let mut body = json!({ "name": "of the matrix", "repos": [self.still.project.id] });
        let fields = body.as_object_mut().unwrap();
        fields.extend(more.as_object().unwrap().clone());
        let issued = self.caller(account).user.issue(&body);
        let text = |field: &str| issued[field].as_str().unwrap().to_owned();
        (text("tokenString"), text("tokenId"))
    }

    /// A token of the owner that was rotated: its former value.
    fn rotated(&self, how: &Value) -> String {
        let (former, id) = self.issue(OWNER, &json!({}));
        let rotate = format!("{ADMIN}/tokens/{id}/rotate");
        let owner = &self.caller(OWNER).user;
        owner.post(&rotate, how).expect_status(200);
        former
    }

    /// Tokens that do not count.
    fn issue_dead_tokens(&mut self) {
        let other = Daemon::start();
        let foreign = other
            .session("admin")
            .issue(&json!({ "name": "t", "repos": ["*"] }));
        let (expired, _) = self.issue(OWNER, &json!({ "expires_at": "2020-01-01" }));
        let (revoked, id) = self.issue(OWNER, &json!({}));
        let owner = &self.caller(OWNER).user;
        owner
            .delete(&format!("{ADMIN}/tokens/{id}"))
            .expect_status(204);
        let rotated = self.rotated(&json!({}));
        let gone = new_account(&self.daemon, &self.root, "gone", &[PREFIX]);
        let of_gone = json!({ "name": "t", "repos": [self.still.project.id] });
        let of_gone = gone.user.issue(&of_gone);
        self.keep(
            "a session of a disabled account",
            &[("Cookie", gone.user.credential())],
        );
        self.root
            .patch(
                &format!("{ADMIN}/accounts/gone"),
                &json!({ "enabled": false }),
            )
            .expect_status(200);
        let unknown = "0123456789abcdef".repeat(4);
        for (credential, token) in [
            ("a token that is none", "not-a-token"),
            ("a token that nobody was given", &unknown),
            (
                "a token of another service",
                foreign["tokenString"].as_str().unwrap(),
            ),
            ("an expired token", &expired),
            ("a revoked token", &revoked),
            ("the former value of a rotated token", &rotated),
            (
                "a token of a disabled account",
                of_gone["tokenString"].as_str().unwrap(),
            ),
            ("the owner and an expired token", &expired),
        ] {
            self.keep(credential, &[(TOKEN, token)]);
        }
    }

    /// Tokens that count, alone and beside others.
    fn issue_tokens(&mut self) {
        let token = |account: &Account, more: Value| self.issue(account, &more).0;
        let covers = token(OWNER, json!({}));
        let all = token(OWNER, json!({ "repos": ["*"] }));
        let bound = token(OWNER, json!({ "fingerprint_required": true }));
        let here = self
            .daemon
            .token(&bound)
            .with("X-Instance-Id", "erp-berlin");
        here.get(&self.still.project.read("/tree"))
            .expect_status(200);
        let former = token(FORMER, json!({}));
        self.lose_role(FORMER);
        for (credential, token) in [
            ("a token in capitals", covers.to_uppercase()),
            ("a token without its instance", bound.clone()),
            ("a token for nothing", token(OWNER, json!({ "repos": [] }))),
            (
                "a token for another project of the owner",
                token(OWNER, json!({ "repos": [hidden_id(MARKS[0].1)] })),
            ),
            (
                "a stranger's token for all its projects",
                token(STRANGER, json!({ "repos": ["*"] })),
            ),
            ("a token of who lost the role", former),
            ("a token for the project", covers.clone()),
            ("a token for all projects", all.clone()),
            (
                "the former value in its grace",
                self.rotated(&json!({ "grace": "1d" })),
            ),
            ("a token of a partner", token(PARTNER, json!({}))),
            ("a token of an auditor", token(AUDITOR, json!({}))),
            ("the owner and a token", covers.clone()),
            ("a stranger and a token for the project", covers.clone()),
            ("a session that was left and a token", covers.clone()),
        ] {
            self.keep(credential, &[(TOKEN, &token)]);
        }
        let site = ("Sec-Fetch-Site", "cross-site");
        let bearer = |token: &str| format!("Bearer {token}");
        for (credential, headers) in [
            (
                "a token bound to another instance",
                &[(TOKEN, bound.as_str()), ("X-Instance-Id", "erp-paris")][..],
            ),
            (
                "a token bound to this instance",
                &[(TOKEN, &bound), ("X-Instance-Id", "erp-berlin")],
            ),
            (
                "a token as a bearer",
                &[("Authorization", &bearer(&covers))],
            ),
            (
                "two tokens that count",
                &[(TOKEN, &covers), ("Authorization", &bearer(&all))],
            ),
            ("two lines of tokens", &[(TOKEN, &covers), (TOKEN, &all)]),
            (
                "a token as a cookie",
                &[("Cookie", &format!("PRIVATE-TOKEN={covers}"))],
            ),
            (
                "the owner's browser on another site",
                &[(TOKEN, &covers), site],
            ),
            ("another site without a credential", &[site]),
        ] {
            self.keep(credential, headers);
        }
    }

    fn open_sessions(&mut self) {
        const COOKIE: &str = "Cookie";
        let other = Daemon::start();
        let foreign = other.session("admin").credential().to_owned();
        let left = self.daemon.session(OWNER.name);
        left.request("POST", "/user/logout")
            .send()
            .expect_status(204);
        let left = left.credential();

        let old = new_account(&self.daemon, &self.root, "nora", &[]);
        let body = json!({ "old_password": old.password, "new_password": old.next_password });
        let changed = old.user.request("PUT", "/user/password").json(&body).send();
        changed.expect_status(204);
        let removed = new_account(&self.daemon, &self.root, "rudi", &[]);
        self.root
            .delete(&format!("{ADMIN}/accounts/rudi"))
            .expect_status(204);
        let unknown = format!("siteconf_session={}", "0123456789abcdef".repeat(4));

        for (credential, cookie) in [
            ("a cookie that is none", "siteconf_session=not-a-session"),
            ("a cookie that nobody was given", &unknown),
            ("a cookie of another service", &foreign),
            ("a session that was left", left),
            (
                "a session from before a new password",
                old.user.credential(),
            ),
            ("a session of a removed account", removed.user.credential()),
        ] {
            let cookie = cookie.to_owned();
            self.keep(credential, &[(COOKIE, &cookie)]);
        }
        let headers = self
            .headers
            .get_mut("a session that was left and a token")
            .unwrap();
        headers.push((COOKIE, left.to_owned()));
    }

    /// The value of an account's session.
    fn secret_of(&self, account: &Account) -> &str {
        let cookie = self.caller(account).user.credential();
        cookie.split_once('=').unwrap().1
    }

    /// Takes from an account what opened the project.
    fn lose_role(&self, account: &Account) {
        let role = format!("{ADMIN}/accounts/{}/roles/{PREFIX}", account.name);
        self.root.delete(&role).expect_status(200);
        let user = &self.caller(account).user;
        soon(|| user.get(&self.still.project.admin("")).status == 403);
    }
}

/// Makes an account and logs it in.
fn new_account(daemon: &Daemon, root: &User, name: &str, roles: &[&str]) -> Caller {
    let password = password_of(name);
    let body = json!({ "name": name, "password": password, "roles": roles });
    root.post(&format!("{ADMIN}/accounts"), &body)
        .expect_status(201);
    Caller::log_in(daemon, name, &password)
}

/// The identifier of a hidden project.
fn hidden_id(mark: &str) -> String {
    format!("hidden/{mark}.erp")
}

/// Makes a project with the mark in everything that it has.
fn hide(owner: &User, mark: &str) {
    let project = Project::create(owner, hidden_id(mark).trim_end_matches(".erp"));
    project.add_branch(mark);
    let file = format!(
        "{}?message={mark}",
        project.file(mark, &format!("{mark}.xml"))
    );
    owner.put(&file, mark.as_bytes()).expect_status(201);
    owner.put(&file, mark.as_bytes()).expect_status(200);
    let rule = json!({ "patterns": [format!("{mark}.json")], "check": "json" });
    let rules = owner.request("PUT", &project.admin("/validation"));
    rules
        .json(&json!({ "rules": [rule] }))
        .send()
        .expect_status(200);
    let gone = format!("gone-{mark}");
    project.add_branch(&gone);
    owner.delete(&project.on(&gone, "")).expect_status(204);
    owner.issue(&json!({ "name": mark, "repos": [project.id] }));
}

/// Takes out when things were last used, and how many sessions there are, which logins change.
fn forget_uses(value: &mut Value) {
    match value {
        Value::Array(elements) => elements.iter_mut().for_each(forget_uses),
        Value::Object(fields) => {
            fields.remove("last_used_at");
            fields.values_mut().for_each(forget_uses);
        }
        _ => {}
    }
}
