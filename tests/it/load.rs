//! Many writers on one branch at once: nothing is lost, and no version is skipped or given twice.

use std::collections::BTreeMap;
use std::sync::Barrier;
use std::thread;

use serde_json::Value;

use crate::harness::{Daemon, Project, branch_digest};

const WRITERS: usize = 64;
const SAVES_EACH: usize = 8;

/// Has every writer save its files, and answers which snapshot each save was told.
fn save_all(
    project: &Project,
    path_of: impl Fn(usize, usize) -> String + Sync,
) -> BTreeMap<String, String> {
    let start = Barrier::new(WRITERS);
    thread::scope(|scope| {
        let write = |writer: usize| {
            let (start, path_of) = (&start, &path_of);
            scope.spawn(move || {
                start.wait();
                let save = |number: usize| {
                    let path = path_of(writer, number);
                    let saved = project.save("main", &path, &path).json();
                    (saved["snapshot"].as_str().unwrap().to_owned(), path)
                };
                (0..SAVES_EACH).map(save).collect::<Vec<_>>()
            })
        };
        let threads: Vec<_> = (0..WRITERS).map(write).collect();
        let saved: Vec<_> = threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap())
            .collect();
        let count = saved.len();
        let by_version: BTreeMap<_, _> = saved.into_iter().collect();
        assert_eq!(by_version.len(), count, "a version was given twice");
        by_version
    })
}

/// Asserts that the history has exactly these saves, version by version.
#[track_caller]
fn assert_history(project: &Project, saved: &BTreeMap<String, String>) {
    let history = project.user.get(&project.on("main", "/history")).json();
    let pair = |entry: &Value| {
        let text = |field: &str| entry[field].as_str().unwrap().to_owned();
        (text("version"), text("path"))
    };
    let listed: BTreeMap<_, _> = history.as_array().unwrap().iter().map(pair).collect();
    assert_eq!(&listed, saved);
    let expected = (1..=WRITERS * SAVES_EACH).map(|number| format!("v{number:04}"));
    assert!(listed.keys().cloned().eq(expected), "a version is missing");
}

#[test]
fn writers_of_different_files_lose_nothing() {
    let daemon = Daemon::start();
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    let saved = save_all(&project, |writer, number| format!("{writer}/{number}.xml"));
    assert_history(&project, &saved);
    let files: Vec<_> = saved
        .values()
        .map(|path| (path.as_str(), path.as_bytes()))
        .collect();
    assert_eq!(project.short_id("main"), branch_digest(&files)[..8]);
}

#[test]
fn writers_of_one_file_each_leave_their_state_in_the_history() {
    let daemon = Daemon::start();
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    let saved = save_all(&project, |_, _| "one.xml".to_owned());
    assert_history(&project, &saved);
    assert_eq!(project.branch_item("main")["files"], 1);
}
