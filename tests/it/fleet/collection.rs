//! `prune` and `gc` beside daemons that share a database.

use serde_json::Value;

use super::Fleet;
use crate::harness::bucket::Fault;
use crate::harness::{Daemon, Project, soon};

/// The lock of collections, if anybody has it.
const LOCKED: &str = "SELECT 1 FROM pg_locks
    WHERE locktype = 'advisory' AND classid = 1936290915 AND objid = 2
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";

fn json_of(daemon: &Daemon, command: &[&str]) -> Value {
    serde_json::from_str(&said_by(daemon, command)).unwrap()
}

#[test]
fn what_nothing_needs_goes_beside_daemons_and_what_they_serve_stays() {
    let fleet = Fleet::with_bucket();
    let (one, other) = (fleet.daemon(&[]), fleet.daemon(&[]));
    let project = Project::with_main(&one.user("alice", &[]), "acme/shop");
    let large = |letter: &str| letter.repeat(100_000);
    for (path, text) in [
        ("a.xml", "<old/>".to_owned()),
        ("large", large("o")),
        ("a.xml", "<new/>".to_owned()),
        ("large", large("n")),
    ] {
        project.save("main", path, &text);
    }
    assert_eq!(json_of(&one, &["gc", "--json"])["removed_objects"], 0);
    let pruned = json_of(
        &one,
        &["prune", "--keep-snapshots", "1", "--dry-run", "--json"],
    );
    let rows = json_of(&one, &["prune", "--keep-snapshots", "1", "--json"]);
    assert_eq!(rows[0]["snapshots"], 3, "{rows}");
    // The bucket is not needed: what goes from it goes later.
    fleet.bucket().fault(Fault::Away, None);
    let preview = json_of(&one, &["gc", "--dry-run", "--json"]);
    assert_eq!(
        preview["unreachable"]["bytes"],
        pruned[0]["frees_bytes_max"]
    );
    let done = json_of(&one, &["gc", "--json"]);
    assert_eq!(done["removed_objects"], preview["unreachable"]["objects"]);
    assert_eq!(done["removed_bytes"], preview["unreachable"]["bytes"]);
    // Both old blobs, and the nodes and manifests of the states that are gone; one of the blobs was large.
    assert_eq!(
        done["removed_files"], 0,
        "the newest snapshot has the old one"
    );
    fleet.bucket().fault(Fault::Nothing, None);
    let again = json_of(&one, &["gc", "--json"]);
    assert_eq!(again["removed_objects"], 0, "{again}");
    let told = said_by(&one, &["gc"]);
    assert_eq!(told, "0 objects of 0 bytes removed\n");
    let audit = said_by(&one, &["audit", "--json"]);
    assert_eq!(audit.matches("\"action\":\"gc\"").count(), 4, "{audit}");

    // What was removed comes again through the other daemon.
    let there = project.seen_by(&project.user.at(other.address()));
    there.save("main", "b.xml", "<old/>");
    let reader = other.reader(&project);
    soon(|| reader.get(&there.raw("b.xml")).status == 200);
    reader.get(&there.raw("b.xml")).assert_bytes(200, b"<old/>");
    reader.get(&there.raw("a.xml")).assert_bytes(200, b"<new/>");
    reader
        .get(&there.raw("large"))
        .assert_bytes(200, large("n").as_bytes());
}

fn said_by(daemon: &Daemon, command: &[&str]) -> String {
    // Of a collection that has ended it may last as long as its connection.
    soon(|| daemon.database().unwrap().ask(LOCKED).is_empty());
    let output = daemon.command(command, "");
    assert!(output.status.success(), "{command:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}
