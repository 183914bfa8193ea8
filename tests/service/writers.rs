//! Many writers on one branch at once.

use std::collections::BTreeMap;
use std::sync::Barrier;
use std::thread;

use serde_json::{Value, json};

use crate::client::{Answer, Client, segment};
use crate::daemon::{Daemon, file, on_branch};

pub(crate) const WRITERS: usize = 64;
const OCTETS: &str = "application/octet-stream";

/// A change that was acknowledged: what its file was right after it.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub(crate) operation: &'static str,
    pub(crate) path: String,
    /// `None` after a deletion.
    pub(crate) content: Option<Vec<u8>>,
}

/// Saves a file; the version of the snapshot taken before, if an answer came.
pub(crate) fn save(client: &mut Client, path: &str, content: &[u8]) -> Option<u64> {
    let answer = client.attempt("PUT", &file(path), OCTETS, content).ok()?;
    assert!(matches!(answer.status, 200 | 201), "{path}: {answer:?}");
    Some(snapshot(&answer))
}

/// The number of the snapshot that an answer names.
#[track_caller]
pub(crate) fn snapshot(answer: &Answer) -> u64 {
    number(&answer.json()["snapshot"])
}

#[track_caller]
fn number(version: &Value) -> u64 {
    let text = version.as_str().unwrap();
    let number = text.strip_prefix('v').unwrap().parse().unwrap();
    assert_eq!(text, format!("v{number:04}"));
    number
}

/// What one writer does, one change after the other, on one connection: files of its own, one file
/// that all write, large and small bodies, deletions, batches.
fn write(client: &mut Client, writer: usize) -> BTreeMap<u64, Change> {
    let mut done = BTreeMap::new();
    let own = format!("own/{writer}.xml");
    let large = vec![u8::try_from(writer).unwrap(); 70_000];
    for (path, content) in [
        (own.as_str(), own.as_bytes()),
        ("everybody's.xml", own.as_bytes()),
        (&own, &large),
    ] {
        let version = save(client, path, content).unwrap();
        let change = Change {
            operation: "save",
            path: path.to_owned(),
            content: Some(content.to_vec()),
        };
        assert!(done.insert(version, change).is_none());
    }
    let answer = client.attempt("DELETE", &file(&own), "", b"").unwrap();
    assert_eq!(answer.status, 200, "{answer:?}");
    let change = Change {
        operation: "delete",
        path: own.clone(),
        content: None,
    };
    assert!(done.insert(snapshot(&answer), change).is_none());

    let (new, moved) = (format!("batch/{writer}"), format!("batch/{writer}/moved"));
    let batch = json!({ "actions": [
        { "action": "create", "file_path": new, "content": "text" },
        { "action": "move", "previous_path": new, "file_path": moved },
    ]});
    let answer = client.post(&on_branch("/batch"), &batch);
    assert!(matches!(answer.status, 200 | 201), "{answer:?}");
    let change = Change {
        operation: "batch",
        path: moved,
        content: Some(b"text".to_vec()),
    };
    assert!(done.insert(snapshot(&answer), change).is_none());
    assert_eq!(client.opened, 1, "the connection stays open");
    done
}

#[test]
fn every_change_of_sixty_four_writers_is_a_state_of_the_history() {
    let daemon = Daemon::start();
    let mut admin = daemon.admin();
    Daemon::make_project(&mut admin);
    let start = Barrier::new(WRITERS);
    let done: BTreeMap<u64, Change> = thread::scope(|scope| {
        let (start, admin) = (&start, &admin);
        let threads: Vec<_> = (0..WRITERS)
            .map(|writer| {
                scope.spawn(move || {
                    let mut client = admin.another();
                    start.wait();
                    write(&mut client, writer)
                })
            })
            .collect();
        let all = threads.into_iter().map(|thread| thread.join().unwrap());
        all.flatten().collect()
    });
    let count = u64::try_from(5 * WRITERS).unwrap();
    assert!(
        done.keys().copied().eq(1..=count),
        "a version is missing or came twice"
    );
    assert_history(&mut admin, &done, count);
    assert_states(&mut admin, &done, count);
}

/// Asserts that the history has exactly so many entries, without gap or double, and that each change
/// known is at its place.
pub(crate) fn assert_history(admin: &mut Client, done: &BTreeMap<u64, Change>, count: u64) {
    let history = admin.get(&on_branch("/history")).json();
    let history = history.as_array().unwrap();
    let versions = history.iter().map(|entry| number(&entry["version"]));
    assert!(
        versions.eq((1..=count).rev()),
        "a version is missing or came twice"
    );
    for (version, change) in done {
        let entry = &history[usize::try_from(count - version).unwrap()];
        assert_eq!(entry["operation"], change.operation, "v{version:04}");
        if change.operation != "batch" {
            assert_eq!(entry["path"], change.path, "v{version:04}");
        }
    }
}

/// Asserts that the state right after each change, which the next change took a snapshot of, has the
/// change's file as it was saved.
pub(crate) fn assert_states(admin: &mut Client, done: &BTreeMap<u64, Change>, count: u64) {
    for (version, change) in done {
        let path = segment(&change.path);
        let target = if *version == count {
            file(&change.path)
        } else {
            let after = version + 1;
            format!("{}/snapshots/v{after:04}/files/{path}", on_branch(""))
        };
        let answer = admin.get(&target);
        match &change.content {
            Some(content) => {
                assert_eq!(answer.status, 200, "{target}: {answer:?}");
                assert!(answer.body == *content, "{target}: other bytes");
            }
            None => assert_eq!(answer.status, 404, "{target}: {answer:?}"),
        }
    }
}
