//! Reads while nobody can write, as beside a long transaction of another process: they wait for none of those who do.

use std::thread;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::harness::{Daemon, Project, User};

/// Shorter than the service waits for who holds the store, and than the crowd takes if each of it waits a second where
/// 32 have room.
const HELD_FOR: Duration = Duration::from_secs(6);
/// Four times as many as may look something up at once.
const CROWD: usize = 128;
/// More than may look something up at once.
const FIRST_USES: usize = 48;
/// So often at least somebody asks meanwhile.
const POLLS: usize = 200;

/// Keeps everybody from writing to the store of a daemon until it is dropped.
struct Held {
    _transaction: Connection,
}

impl Held {
    fn of(daemon: &Daemon) -> Self {
        let db = Connection::open(daemon.data().join("store.db")).unwrap();
        db.execute_batch("BEGIN IMMEDIATE").unwrap();
        Self { _transaction: db }
    }
}

/// Somebody of another account, who asks again and again whether a branch has changed.
struct Poll {
    user: User,
    target: String,
    tag: String,
}

impl Poll {
    fn of(daemon: &Daemon) -> Self {
        let project = Project::with_main(&daemon.user("bob", &[]), "other");
        project.save("main", "a.xml", "one");
        let (user, target) = (daemon.reader(&project), project.read("/branches/main"));
        let first = user.get(&target).expect_status(200);
        let tag = first.header("ETag").expect("a tag").to_owned();
        Self { user, target, tag }
    }

    #[track_caller]
    fn again(&self) {
        let request = self.user.request("GET", &self.target);
        let answer = request.header("If-None-Match", &self.tag).send();
        answer.assert_empty(304);
    }
}

#[test]
fn who_reads_by_a_commit_id_waits_for_no_commit_and_keeps_nobody_waiting() {
    let daemon = Daemon::start();
    let poll = Poll::of(&daemon);
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    let create = |number: usize| {
        let (path, content) = (format!("{number}.xml"), number.to_string());
        json!({ "action": "create", "file_path": path, "content": content })
    };
    let actions: Vec<Value> = (0..CROWD).map(create).collect();
    let batch = json!({ "actions": actions });
    let made = project.user.post(&project.on("main", "/batch"), &batch);
    let made = made.expect_status(200).json();
    let old = made["commit_id"].as_str().unwrap();
    let reader = daemon.reader(&project);
    let raw = |path: &str, id: &str| format!("{}?ref={id}", project.raw(path));

    let saved = project.save("main", "0.xml", "new").json();
    // Before the id that was told is in the index.
    let held = Held::of(&daemon);
    let began = Instant::now();
    thread::scope(|scope| {
        let read = |number: usize| {
            let (reader, target) = (&reader, raw(&format!("{number}.xml"), old));
            scope.spawn(move || {
                let answer = reader.get(&target);
                answer.assert_bytes(200, number.to_string().as_bytes());
            })
        };
        let reads: Vec<_> = (0..CROWD).map(read).collect();
        let mut polls = 0;
        while polls < POLLS || !reads.iter().all(thread::ScopedJoinHandle::is_finished) {
            poll.again();
            polls += 1;
        }
    });
    let new = raw("0.xml", saved["commit_id"].as_str().unwrap());
    reader.get(&new).assert_bytes(200, b"new");
    let took = began.elapsed();
    drop(held);
    assert!(took < HELD_FOR, "{took:?}");
}

#[test]
fn a_first_use_of_a_token_waits_for_its_commit_and_keeps_nobody_waiting() {
    let daemon = Daemon::start();
    let poll = Poll::of(&daemon);
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    let issue = |number: usize| {
        let name = format!("erp-{number}");
        let body = json!({ "name": name, "repos": ["*"], "fingerprint_required": true });
        let token = project.user.issue(&body);
        let holder = daemon.token(token["tokenString"].as_str().unwrap());
        holder.with("X-Instance-Id", "erp")
    };
    let holders: Vec<User> = (0..FIRST_USES).map(issue).collect();
    let tree = project.read("/tree");

    let held = Held::of(&daemon);
    thread::scope(|scope| {
        let began = Instant::now();
        let first_use = |holder| {
            let tree = &tree;
            scope.spawn(move || User::get(holder, tree))
        };
        let uses: Vec<_> = holders.iter().map(first_use).collect();
        for _ in 0..POLLS {
            poll.again();
        }
        let took = began.elapsed();
        assert!(took < HELD_FOR, "{took:?}");
        assert!(!uses.iter().any(thread::ScopedJoinHandle::is_finished));
        drop(held);
        for one in uses {
            one.join().unwrap().assert_json(200, &json!([]));
        }
    });
    // Each is bound now.
    for holder in &holders {
        let other = holder.credential();
        let other = daemon.token(other).with("X-Instance-Id", "other");
        other.get(&tree).assert_error(401, "FINGERPRINT_MISMATCH");
    }
}
