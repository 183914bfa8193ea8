//! Room that comes back: a store of many saves, pruned and collected, beside a fresh one of the same.

use std::io::Write;
use std::path::Path;

use siteconf::base::actor::Actor;
use siteconf::repo::{Execution, Retention};

use crate::rounds::Rounds;
use crate::scene::{Process, assert_nothing_left, number};

const FILES: u64 = 1000;
const KEPT: u64 = 100;

/// A file of some 8 KiB that nothing else has.
fn content(number: u64) -> Vec<u8> {
    let line = blake3::hash(&number.to_le_bytes()).to_hex();
    let mut content = Vec::new();
    for part in 0..16_u64 {
        let own = blake3::hash(&[line.as_bytes(), &part.to_le_bytes()].concat());
        content.extend_from_slice(own.to_hex().repeat(8).as_bytes());
    }
    content
}

fn bytes_on_disk(root: &Path) -> u64 {
    let files = walkdir::WalkDir::new(root).into_iter().map(Result::unwrap);
    let own = files.filter(|file| file.file_type().is_file() && file.file_name() != "reserve");
    own.map(|file| file.metadata().unwrap().len()).sum()
}

#[test]
fn a_pruned_store_takes_little_more_than_a_fresh_one_of_the_same() {
    let saves = Rounds::or(3000).count.max(KEPT + 1);
    let (old, fresh) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = |number: u64| format!("{}/{}.xml", number % 40, number % FILES);
    let daemon = Process::daemon(old.path());
    let project = daemon.create();
    for number in 0..saves {
        daemon
            .save(&project, "main", &path(number), &content(number))
            .unwrap();
    }
    let before = bytes_on_disk(old.path());
    let keep = Retention {
        snapshots: KEPT,
        days: 0,
    };
    let actor = Actor::from("alice");
    let pruned = daemon
        .projects
        .prune(daemon.store(), keep, Execution::Apply, &actor, |_| {});
    assert_eq!(pruned.unwrap().branches[0].snapshots, saves - KEPT);
    assert_nothing_left(&daemon, old.path());
    drop((project, daemon));
    let after = bytes_on_disk(old.path());
    let loose = number(
        old.path(),
        "SELECT count(*) FROM record WHERE key LIKE 'audit/%'",
    );
    assert!(
        loose < 2000,
        "{loose} records of the audit log are not packed"
    );

    let daemon = Process::daemon(fresh.path());
    let project = daemon.create();
    for number in saves.saturating_sub(FILES + KEPT)..saves {
        daemon
            .save(&project, "main", &path(number), &content(number))
            .unwrap();
    }
    let pruned = daemon
        .projects
        .prune(daemon.store(), keep, Execution::Apply, &actor, |_| {});
    assert!(pruned.unwrap().branches.len() <= 1);
    daemon.collect();
    drop((project, daemon));
    let same = bytes_on_disk(fresh.path());
    let told =
        format!("{saves} saves: {before} bytes, {after} after the collection, {same} made anew");
    writeln!(std::io::stdout(), "{told}").unwrap();
    assert!(after * 2 <= same * 3, "{after} bytes, {same} made anew");
}
