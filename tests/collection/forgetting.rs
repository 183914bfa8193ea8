//! What `gc` forgets before it collects.

use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use siteconf::base::repo_id::RepoId;
use siteconf::object::key;
use siteconf::repo::ProjectWriter;
use siteconf::store::{Batch, Expect, Scan, Store, Values};

use crate::commands::{command, text};
use crate::scene::{Process, branch};

#[test]
fn a_signal_ends_the_forgetting_of_a_large_project_between_two_commits() {
    const SNAPSHOTS: u64 = 20_000;
    const FORGETTING: [&str; 3] = ["gc", "--keep-deleted-days", "0"];
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let daemon = Process::daemon(root);
    let project = daemon.create();
    daemon.save(&project, "main", "a.xml", b"a").unwrap();
    let first = key::snapshot(1, 1);
    let snapshot = daemon.store().record(&first).unwrap().unwrap();
    let snapshot: Value = serde_json::from_slice(&snapshot.value).unwrap();
    let mut batch = Batch::default();
    for number in 2..=SNAPSHOTS {
        batch.write(key::snapshot(1, number), Expect::Absent, &snapshot);
    }
    daemon.projects.store().commit(batch).unwrap();
    project.delete_project().unwrap();
    let other = RepoId::parse("acme/other.erp").unwrap();
    let other = daemon.projects.create_project(&other, 1, "alice").unwrap();
    let other = ProjectWriter::new(other, "alice");
    other.create_branch(&branch("main"), None).unwrap();

    let mut gc = command(root, &FORGETTING);
    let gc = gc.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut gc = gc.unwrap();
    // To those who save it gives way, behind each commit.
    let mut saves = 0_u32;
    while daemon.store().record(&first).unwrap().is_some() {
        assert!(gc.try_wait().unwrap().is_none(), "it has forgotten nothing");
        let content = saves.to_string();
        let saved = daemon.save(&other, "main", "b.xml", content.as_bytes());
        saved.unwrap();
        saves += 1;
    }
    kill_process(Pid::from_child(&gc), Signal::INT).unwrap();
    let ended = gc.wait_with_output().unwrap();
    let said = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(
        (ended.status.code(), said.as_str()),
        (
            Some(130),
            "siteconf: interrupted; the same command goes on where it stopped\n"
        )
    );
    let prefix = key::snapshots(1);
    let left = || {
        let keys = Scan {
            values: Values::Unread,
            ..Scan::prefix(&prefix)
        };
        daemon.store().scan(keys).unwrap().len()
    };
    assert!(left() > 0, "nothing has ended it");

    let told = text(root, &FORGETTING);
    assert!(
        told.starts_with("1 deleted projects and 0 deleted branches forgotten\n"),
        "{told}"
    );
    assert_eq!(left(), 0);
}
