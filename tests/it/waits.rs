//! Clients that wait for a change instead of asking again and again: contract section 5, "Waiting".

use std::time::{Duration, Instant};

use serde_json::json;

use crate::harness::{ADMIN, Answer, Connection, Daemon, Project, Request, User, soon};

/// Shorter than any wait that is not meant to end by itself, and longer than what is done at once takes on the busiest
/// machine.
pub(crate) const AT_ONCE: Duration = Duration::from_secs(30);

/// A daemon that shows how many wait.
pub(crate) struct Stage {
    pub(crate) daemon: Daemon,
    pub(crate) project: Project,
    pub(crate) reader: User,
}

impl Stage {
    /// A project with `a.xml` in `main`, its owner, and a reader of it.
    pub(crate) fn set() -> Self {
        Self::set_with(&[])
    }

    pub(crate) fn set_with(flags: &[&str]) -> Self {
        let metrics = ["--metrics-listen", "127.0.0.1:0"];
        let daemon = Daemon::start_with(&[&metrics, flags].concat());
        let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
        project.save("main", "a.xml", "<a/>");
        let reader = daemon.reader(&project);
        Self {
            daemon,
            project,
            reader,
        }
    }

    /// Where a branch can be waited for, and who does.
    pub(crate) fn places(&self) -> [(&User, String); 3] {
        let Self {
            project, reader, ..
        } = self;
        [
            (reader, project.read("/branches/main")),
            (reader, project.read("/branches?per_page=5")),
            (&project.user, project.on("main", "")),
        ]
    }

    /// How many wait.
    pub(crate) fn waiting(&self) -> usize {
        let text = self.daemon.watcher().get("/metrics").expect_status(200);
        let text = text.text().to_owned();
        let mut lines = text.lines();
        let value = lines.find_map(|line| line.strip_prefix("siteconf_http_requests_waiting "));
        value.unwrap().strip_suffix(".0").unwrap().parse().unwrap()
    }

    #[track_caller]
    pub(crate) fn wait_until(&self, count: usize) {
        soon(|| self.waiting() == count);
    }

    /// Begins to wait for another state than the present one.
    #[track_caller]
    pub(crate) fn begin(&self, user: &User, target: &str, wait: u32) -> Connection {
        let mut connection = self.daemon.connect();
        connection.send(&waiting(user, target, wait).to_bytes());
        connection
    }

    /// One who waits for `main` on the Read API.
    #[track_caller]
    pub(crate) fn waits_for_main(&self) -> Connection {
        let connection = self.begin(&self.reader, &self.project.read("/branches/main"), 60);
        self.wait_until(1);
        connection
    }
}

#[track_caller]
fn tag_of(user: &User, target: &str) -> String {
    let answer = user.get(target).expect_status(200);
    answer.header("ETag").unwrap().to_owned()
}

pub(crate) fn with_wait(target: &str, wait: impl std::fmt::Display) -> String {
    let mark = if target.contains('?') { '&' } else { '?' };
    format!("{target}{mark}wait={wait}")
}

/// The request that waits for another state than the present one.
#[track_caller]
pub(crate) fn waiting(user: &User, target: &str, wait: u32) -> Request {
    let tag = tag_of(user, target);
    let request = user.request("GET", &with_wait(target, wait));
    request.header("If-None-Match", &tag)
}

#[track_caller]
pub(crate) fn lawful(mut connection: Connection) -> Answer {
    let answer = connection.answer();
    answer.assert_lawful();
    answer
}

#[test]
fn who_waits_is_answered_when_there_is_a_change_as_who_asks_then() {
    let stage = Stage::set();
    for (turn, (user, target)) in stage.places().iter().enumerate() {
        let connection = stage.begin(user, target, 60);
        stage.wait_until(1);
        let since = Instant::now();
        stage.project.save("main", "a.xml", format!("<{turn}/>"));
        let answer = lawful(connection).expect_status(200);
        assert!(since.elapsed() < AT_ONCE);
        stage.wait_until(0);
        let asked = user.get(target);
        assert_eq!(answer.lasting_headers(), asked.lasting_headers());
        assert!(answer.body == asked.body, "{}", answer.text());
        // So does a second one on a connection that stays, and a `HEAD`.
        let mut connection = stage.begin(user, target, 60);
        stage.wait_until(1);
        stage.project.save("main", "b.xml", format!("<{turn}/>"));
        connection.answer().expect_status(200);
        let tag = tag_of(user, target);
        let head = user.request("HEAD", &with_wait(target, 60));
        connection.send(&head.header("If-None-Match", &tag).to_bytes());
        stage.wait_until(1);
        stage.project.save("main", "c.xml", format!("<{turn}/>"));
        let answer = connection.answer_to_head();
        assert_eq!(answer.lasting_headers(), user.get(target).lasting_headers());
    }
}

#[test]
fn without_a_change_the_wait_ends_with_304() {
    let stage = Stage::set();
    for (user, target) in stage.places() {
        let asked = waiting(user, &target, 0).send();
        asked.assert_empty(304);
        let since = Instant::now();
        let held = waiting(user, &target, 1).send();
        let took = since.elapsed();
        // Waits end together, each up to a quarter of a second before its time is over.
        assert!(took >= Duration::from_millis(750));
        held.assert_empty(304);
        assert_eq!(held.lasting_headers(), asked.lasting_headers());
        let id = held.header("X-Request-Id").unwrap();
        let logged = stage.daemon.logged(id);
        let micros = |name: &str| logged[name].as_u64().unwrap();
        assert!(micros("held_micros") >= 749_000, "{logged}");
        // The one does not count in the other, however busy the machine is.
        let told = Duration::from_micros(micros("micros") + micros("held_micros"));
        assert!(told < took + Duration::from_millis(500), "{logged}");
    }
    let asked = stage.reader.get(&stage.project.read("/branches"));
    let logged = stage.daemon.logged(asked.header("X-Request-Id").unwrap());
    assert!(logged.get("held_micros").is_none(), "{logged}");
}

#[test]
fn who_has_another_state_or_none_is_answered_at_once() {
    let stage = Stage::set();
    let since = Instant::now();
    for (user, target) in stage.places() {
        let asked = user.get(&target);
        for known in [None, Some("\"0123\""), Some("x"), Some("")] {
            let target = with_wait(&target, 60);
            let answer = match known {
                Some(known) => user.with("If-None-Match", known).get(&target),
                None => user.get(&target),
            };
            assert_eq!(answer.lasting_headers(), asked.lasting_headers());
            assert!(answer.body == asked.body);
        }
    }
    // Where no header can be sent, a parameter says it.
    let (user, target) = (&stage.project.user, stage.project.on("main", ""));
    let tag = tag_of(user, &target);
    let ask = |etag: &str, wait: u32| user.get(&format!("{target}?etag={etag}&wait={wait}"));
    for other in ["", "x", "%22%22", "e3b0c442"] {
        ask(other, 60).expect_status(200);
    }
    assert!(since.elapsed() < AT_ONCE);
    let compressed = tag.replace('"', "%22").replacen("%22", "W/%22", 1);
    let compressed = format!("{}-gzip%22", compressed.trim_end_matches("%22"));
    for known in [tag.trim_matches('"'), &tag.replace('"', "%22"), &compressed] {
        ask(known, 1).assert_empty(304);
        ask(known, 0).assert_empty(304);
        user.get(&format!("{target}?etag={known}"))
            .assert_empty(304);
    }
}

#[test]
fn a_wait_is_a_number_of_seconds_up_to_60() {
    let stage = Stage::set();
    let reason = "wait is invalid: it must be a number of seconds, 0 to 60";
    for (user, target) in stage.places() {
        for wrong in ["61", "-1", "x", "", "1.5", "1s", "99999999999999999999"] {
            let target = with_wait(&target, wrong);
            user.get(&target).assert_error(400, reason);
            let stranger = stage.daemon.anonymous();
            stranger.get(&target).assert_refused(401);
        }
        user.get(&with_wait(&target, 60)).expect_status(200);
    }
    let Stage {
        project, reader, ..
    } = &stage;
    // Elsewhere it is one of the keys that the APIs do not know.
    reader.get(&project.read("/tree?wait=x")).expect_status(200);
    let unknown = project.user.get(&project.on("main", "/tree?wait=1"));
    unknown.assert_error(400, "unknown query parameter \"wait\"");
    let twice = project.user.get(&project.on("main", "?wait=1&wait=1"));
    twice.assert_refused(400);
    reader
        .get(&project.read("/branches/none?wait=60"))
        .assert_error(404, "404 Branch Not Found");
    reader
        .get(&project.read("/branches/a..b?wait=60"))
        .assert_refused(400);
}

#[test]
fn a_branch_that_is_deleted_ends_the_wait() {
    let stage = Stage::set();
    let Stage {
        project, reader, ..
    } = &stage;
    let read = stage.begin(reader, &project.read("/branches/main"), 60);
    let admin = stage.begin(&project.user, &project.on("main", ""), 60);
    stage.wait_until(2);
    project
        .user
        .delete(&project.on("main", ""))
        .assert_empty(204);
    lawful(read).assert_error(404, "404 Branch Not Found");
    lawful(admin).assert_refused(404);

    // One that is made anew has the name, and is another.
    project.add_branch("main");
    for _ in 0..5 {
        project.save("main", "a.xml", "<a/>");
        let connection = stage.waits_for_main();
        project
            .user
            .delete(&project.on("main", ""))
            .assert_empty(204);
        project.add_branch("main");
        let answer = lawful(connection);
        if answer.status == 200 {
            assert_eq!(answer.json()["commit"]["short_id"], "e3b0c442");
        } else {
            answer.assert_error(404, "404 Branch Not Found");
        }
        // And is waited for as the old one was.
        let connection = stage.waits_for_main();
        project.save("main", "a.xml", "<b/>");
        lawful(connection).expect_status(200);
    }
    let connection = stage.waits_for_main();
    project.user.delete(&project.admin("")).assert_empty(204);
    let answer = lawful(connection);
    assert!(matches!(answer.status, 403 | 404), "{answer:?}");
}

#[test]
fn whatever_changes_a_branch_is_told_also_by_another_process() {
    let stage = Stage::set();
    let Stage {
        daemon,
        project,
        reader,
    } = &stage;
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("c.xml"), "<c/>").unwrap();
    let folder = folder.path().to_str().unwrap();
    let batch = json!({ "actions": [
        { "action": "create", "file_path": "d.xml", "content": "<d/>" },
    ] });
    let changes: [(&str, &dyn Fn()); 6] = [
        ("batch", &|| {
            let batch = project.user.post(&project.on("main", "/batch"), &batch);
            batch.expect_status(200);
        }),
        ("rollback", &|| {
            let to = project.on("main", "/rollback?to=v0002");
            let rollback = project.user.request("POST", &to).send();
            rollback.expect_status(200);
        }),
        ("another becomes the default", &|| {
            project.add_branch("master");
        }),
        ("put beside", &|| {
            daemon.run(&["put", &project.id, "main", "e.xml"], "<e/>");
        }),
        ("import beside", &|| {
            daemon.run(&["import", &project.id, "main", folder], "");
        }),
        ("rename beside", &|| {
            daemon.run(&["project", "rename", &project.id, "acme/new.erp"], "");
        }),
    ];
    let target = project.read("/branches/main");
    for (what, change) in changes {
        let connection = stage.waits_for_main();
        let since = Instant::now();
        change();
        let answer = lawful(connection);
        assert!(since.elapsed() < AT_ONCE, "{what}");
        let asked = reader.get(&target);
        assert_eq!(answer.status, asked.status, "{what}");
        assert!(answer.body == asked.body, "{what}");
        assert_ne!(answer.status, 304, "{what}");
    }
}

#[test]
fn who_may_read_no_more_gets_no_new_state() {
    let stage = Stage::set();
    let Stage {
        daemon,
        project,
        reader,
    } = &stage;
    let target = project.read("/branches/main");
    let issue = |user: &User| {
        let token = user.issue(&json!({ "name": "t", "repos": [project.id] }));
        let id = token["tokenId"].as_str().unwrap().to_owned();
        (daemon.token(token["tokenString"].as_str().unwrap()), id)
    };
    let role = "ROLE_SITEBUILDER_USER__acme";
    let bob = daemon.user("bob", &[role]);
    let ((revoked, id), (of_bob, _)) = (issue(&project.user), issue(&bob));
    let by_token = [&revoked, &of_bob].map(|user| stage.begin(user, &target, 60));
    let by_session = stage.begin(&bob, &project.on("main", ""), 60);
    let carol = daemon.user("carol", &[role]);
    let logged_out = stage.begin(&carol, &project.on("main", ""), 60);
    let good = stage.begin(reader, &target, 60);
    stage.wait_until(5);
    let revoke = project.user.delete(&format!("{ADMIN}/tokens/{id}"));
    revoke.assert_empty(204);
    daemon.run(&["user", "role", "remove", "bob", role], "");
    carol
        .request("POST", "/user/logout")
        .send()
        .assert_empty(204);
    soon(|| of_bob.get(&target).status == 403);
    // Nothing of it ends a wait.
    stage.wait_until(5);
    project.save("main", "a.xml", "<secret/>");
    let [revoked, of_bob] = by_token;
    lawful(revoked).assert_error(401, "401 Unauthorized");
    lawful(of_bob).assert_error(403, "403 Forbidden");
    lawful(by_session).assert_refused(403);
    lawful(logged_out).assert_refused(401);
    lawful(good).expect_status(200);
    // At the end of a wait it is the same.
    let (expired, id) = issue(&project.user);
    let connection = stage.begin(&expired, &target, 10);
    let patch = json!({ "expires_at": "2001-02-03" });
    let patched = project.user.patch(&format!("{ADMIN}/tokens/{id}"), &patch);
    patched.expect_status(200);
    lawful(connection).assert_error(401, "401 Unauthorized");
}

#[test]
fn to_wait_is_no_use_of_a_session() {
    let mut stage = Stage::set();
    let project = Project::with_main(&stage.project.user, "acme/own");
    let target = project.on(
        "main",
        "?etag=e3b0c44298fc1c149afbf4c8996fb92427ae41e4&wait=1",
    );
    // Between two uses of a session more than these 3 s may pass on a busy machine: only one that nobody uses has them.
    assert!(stage.daemon.stop().success());
    stage.daemon.restart_with(&["--session-idle-s", "3"]);
    let user = stage.daemon.session("admin");
    let end = Instant::now() + AT_ONCE;
    while user.get(&target).status == 304 {
        assert!(Instant::now() < end, "the session goes on and on");
    }
    user.get(&target).assert_refused(401);
}

#[test]
fn changes_elsewhere_wake_nobody() {
    let stage = Stage::set();
    let Stage {
        project, reader, ..
    } = &stage;
    let other = Project::with_main(&project.user, "acme/other");
    project.add_branch("test");
    let single = stage.begin(reader, &project.read("/branches/main"), 60);
    let listed = stage.begin(reader, &project.read("/branches?search=main"), 60);
    stage.wait_until(2);
    for turn in 0..20 {
        other.save("main", "a.xml", format!("{turn}"));
        project.save("test", "a.xml", format!("{turn}"));
    }
    // The list has another branch in it, and is asked for again: it is the same.
    assert_eq!(stage.waiting(), 2);
    project.save("main", "a.xml", "<b/>");
    for connection in [single, listed] {
        let answer = lawful(connection).expect_status(200);
        assert!(answer.text().contains("main"));
    }
}
