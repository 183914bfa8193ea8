//! Reads while nobody can write, as beside a long transaction of another process: they wait for none of those who do.

use std::ops::Range;
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::harness::{Answer, Daemon, Project, User};

/// Shorter than the service waits for who holds the store, and than the crowd takes if each of it waits a second where
/// 32 have room.
const HELD_FOR: Duration = Duration::from_secs(6);
/// So often it is tried, where the machine is too busy to be through within that time.
const ATTEMPTS: usize = 5;
/// Four times as many as may look something up at once.
const CROWD: usize = 128;
/// More than may look something up at once.
const FIRST_USES: usize = 48;
/// So often at least somebody asks meanwhile.
const POLLS: usize = 200;

/// Keeps everybody from writing to the store of a daemon until it is dropped.
struct Held {
    transaction: Connection,
}

impl Held {
    fn of(daemon: &Daemon) -> Self {
        let db = Connection::open(daemon.data().join("store.db")).unwrap();
        // The service may be about to write.
        db.busy_timeout(Duration::from_secs(30)).unwrap();
        db.execute_batch("BEGIN IMMEDIATE").unwrap();
        Self { transaction: db }
    }

    /// The same just after two saves of `0.xml`, before the ids that were told of them are in the index, into which
    /// they come a fifth of a second later. Gives both ids, each with what the file holds.
    fn before_ids(
        daemon: &Daemon,
        project: &Project,
        numbers: &mut Range<u32>,
    ) -> (Self, [(String, String); 2]) {
        for number in numbers {
            let states = ["old", "new"].map(|state| {
                let body = format!("{state} {number}");
                let saved = project.save("main", "0.xml", &body).json();
                (saved["commit_id"].as_str().unwrap().to_owned(), body)
            });
            let held = Self::of(daemon);
            if !states.iter().any(|(id, _)| held.has_indexed(id)) {
                return (held, states);
            }
        }
        panic!("each id is in the index at once");
    }

    /// True if this commit id is in the index.
    fn has_indexed(&self, id: &str) -> bool {
        let sql =
            "SELECT EXISTS (SELECT 1 FROM record WHERE key LIKE 'commit/%' AND instr(key, ?1) > 0)";
        let found = self.transaction.query_one(sql, [id], |row| row.get(0));
        found.unwrap()
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
    made.expect_status(200);
    let reader = daemon.reader(&project);
    let raw = |path: &str, id: &str| format!("{}?ref={id}", project.raw(path));

    let mut numbers = 0..100;
    let mut took = Duration::ZERO;
    for _ in 0..ATTEMPTS {
        let (held, [(old, old_body), (new, new_body)]) =
            Held::before_ids(&daemon, &project, &mut numbers);
        let began = Instant::now();
        let answers: Vec<Answer> = thread::scope(|scope| {
            let read = |number: usize| {
                let (reader, target) = (&reader, raw(&format!("{number}.xml"), &old));
                scope.spawn(move || reader.get(&target))
            };
            let reads: Vec<_> = (0..CROWD).map(read).collect();
            let mut polls = 0;
            while polls < POLLS || !reads.iter().all(thread::ScopedJoinHandle::is_finished) {
                poll.again();
                polls += 1;
            }
            let ended = reads.into_iter().map(|read| read.join().unwrap());
            ended.collect()
        });
        let last = reader.get(&raw("0.xml", &new));
        drop(held);
        took = began.elapsed();
        if took < HELD_FOR {
            answers[0].assert_bytes(200, old_body.as_bytes());
            for (number, answer) in answers.iter().enumerate().skip(1) {
                answer.assert_bytes(200, number.to_string().as_bytes());
            }
            last.assert_bytes(200, new_body.as_bytes());
            return;
        }
    }
    panic!("{took:?}");
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
    let tree = project.read("/tree");

    let mut took = Duration::ZERO;
    for _ in 0..ATTEMPTS {
        let holders: Vec<User> = (0..FIRST_USES).map(issue).collect();
        let held = Held::of(&daemon);
        let began = Instant::now();
        let (all_waited, answers) = thread::scope(|scope| {
            let first_use = |holder| {
                let tree = &tree;
                scope.spawn(move || User::get(holder, tree))
            };
            let uses: Vec<_> = holders.iter().map(first_use).collect();
            for _ in 0..POLLS {
                poll.again();
            }
            let all_waited = !uses.iter().any(thread::ScopedJoinHandle::is_finished);
            drop(held);
            took = began.elapsed();
            let ended = uses.into_iter().map(|one| one.join().unwrap());
            (all_waited, ended.collect::<Vec<Answer>>())
        });
        // Later those may have been refused that waited.
        if took < HELD_FOR {
            assert!(all_waited);
            for answer in answers {
                answer.assert_json(200, &json!([]));
            }
            // Each is bound now.
            for holder in &holders {
                let other = holder.credential();
                let other = daemon.token(other).with("X-Instance-Id", "other");
                other.get(&tree).assert_error(401, "FINGERPRINT_MISMATCH");
            }
            return;
        }
    }
    panic!("{took:?}");
}
