//! Collections of damaged stores: what could still be mended is not made worse, and one fault stops nothing
//! that it has nothing to do with.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;

use rusqlite::Connection;
use siteconf::base::actor::Actor;
use siteconf::repo::{Collected, Condition, Damage, Execution, ProjectWriter, Retention};
use siteconf::store::StoreError;

use crate::scene::{
    Process, assert_nothing_left, assert_sound, branch, files, forget_deleted, number,
};

/// A store with two large files on `main`, one of them in a folder, and six objects that nothing leads to,
/// one of them large. All are in the index.
fn scene(root: &Path) -> (Process, ProjectWriter) {
    let daemon = Process::daemon(root);
    let project = daemon.create();
    let large = |letter: &str| letter.repeat(300_000).into_bytes();
    daemon.save(&project, "main", "a/b", &large("b")).unwrap();
    daemon.save(&project, "main", "c", &large("c")).unwrap();
    project
        .create_branch(&branch("other"), Some("main"))
        .unwrap();
    daemon.save(&project, "other", "c", &large("d")).unwrap();
    daemon
        .save(&project, "other", "e", &b"e".repeat(60_000))
        .unwrap();
    daemon.collect();
    project
        .delete_branch(&branch("other"), &Condition::None)
        .unwrap();
    forget_deleted(&daemon);
    (daemon, project)
}

fn sql(root: &Path, change: &str) {
    let db = Connection::open(root.join("store.db")).unwrap();
    assert_eq!(db.execute(change, []).unwrap(), 1, "{change}");
}

/// The row of the blob `c` of `main`.
const C: &str = "(SELECT seq FROM outboard ORDER BY seq LIMIT 1 OFFSET 1)";

#[test]
fn what_the_index_does_not_lead_to_is_left_with_every_file() {
    let faults = [
        format!("DELETE FROM object_index WHERE seq = {C}"),
        // The row of another that stays, and of one that goes.
        format!("UPDATE object_index SET seq = (SELECT min(seq) FROM outboard) WHERE seq = {C}"),
        format!("UPDATE object_index SET seq = (SELECT max(seq) FROM outboard) WHERE seq = {C}"),
        format!("UPDATE object_index SET seq = 1 << 40 WHERE seq = {C}"),
        format!("UPDATE object_index SET seq = -5 WHERE seq = {C}"),
    ];
    for fault in faults {
        let root = tempfile::tempdir().unwrap();
        let (daemon, project) = scene(root.path());
        let objects = number(root.path(), "SELECT count(*) FROM object");
        sql(root.path(), &fault);
        let done = daemon.collect();
        let damage = Damage {
            lost: 1,
            unindexed: 1,
        };
        assert_eq!((done.damage, done.files), (damage, 0), "{fault}");
        assert_eq!(done.removed.objects, 6, "{fault}");
        assert_eq!(
            number(root.path(), "SELECT count(*) FROM object"),
            objects - 6
        );
        assert_eq!(files(root.path()), 3, "{fault}");

        // As a restored backup does.
        let db = Connection::open(root.path().join("store.db")).unwrap();
        let mend = "INSERT OR REPLACE INTO object_index (id, seq) SELECT id, seq FROM object";
        db.execute_batch(mend).unwrap();
        drop(db);
        assert_sound(root.path());
        daemon.save(&project, "main", "d", b"d").unwrap();
        assert_nothing_left(&daemon, root.path());
    }
}

#[test]
fn what_was_put_again_because_the_index_had_lost_it_is_stored_once_in_the_end() {
    let root = tempfile::tempdir().unwrap();
    let (daemon, project) = scene(root.path());
    sql(
        root.path(),
        &format!("DELETE FROM object_index WHERE seq = {C}"),
    );
    let again = "c".repeat(300_000);
    daemon
        .save(&project, "main", "again", again.as_bytes())
        .unwrap();
    assert_nothing_left(&daemon, root.path());
}

/// What a tree leads to is not passed because the mark of another row stands for the tree.
#[test]
fn a_folder_that_the_index_does_not_lead_to_ends_a_collection_before_it_removes_anything() {
    let root = tempfile::tempdir().unwrap();
    let (daemon, _project) = scene(root.path());
    let objects = number(root.path(), "SELECT count(*) FROM object");
    sql(
        root.path(),
        "UPDATE object_index SET seq = (SELECT min(seq) FROM object WHERE kind = 3)
         WHERE seq = (SELECT min(seq) FROM object WHERE kind = 2
            AND seq > (SELECT min(seq) FROM outboard))",
    );
    let refused = daemon.try_collect().unwrap_err();
    assert!(matches!(refused, StoreError::Missing { .. }), "{refused}");
    assert_eq!(number(root.path(), "SELECT count(*) FROM object"), objects);
    assert_eq!(files(root.path()), 3);
}

#[test]
fn a_damaged_page_that_only_a_collection_needs_stops_no_save() {
    let root = tempfile::tempdir().unwrap();
    drop(scene(root.path()));
    let page = number(
        root.path(),
        "SELECT rootpage FROM sqlite_schema WHERE name = 'outboard'",
    );
    let database = File::options()
        .write(true)
        .open(root.path().join("store.db"));
    database
        .unwrap()
        .write_all_at(&[0xff; 4096], (page - 1) * 4096)
        .unwrap();
    let daemon = Process::daemon(root.path());
    let beside = Process::beside(root.path());
    for process in [&daemon, &beside] {
        let done = process.collect();
        let failed = done.failed.unwrap();
        assert!(
            matches!(failed, StoreError::DamagedEngine { .. }),
            "{failed}"
        );
        assert!(
            failed.to_string().contains("siteconf debug check"),
            "{failed}"
        );
        assert_eq!(done.files, 0);
        // It has ended: saves write no more than before.
        assert_eq!(number(root.path(), "SELECT scope FROM collection"), 0);
        assert_eq!(number(root.path(), "SELECT count(*) FROM touched"), 0);
        for (process, at) in [(&daemon, "e"), (&beside, "f")] {
            process.save(&process.project(), "main", at, b"e").unwrap();
        }
    }
    assert!(!root.path().join("STOPPED").exists());
}

/// What must be true of a collection at its end, whatever it met behind the removal.
fn assert_ended(process: &Process, root: &Path, done: &Collected) {
    assert_eq!(done.removed.objects, 6);
    assert!(done.space.unwrap().given_back > 0, "{done:?}");
    assert_eq!(number(root, "SELECT scope FROM collection"), 0);
    assert_eq!(number(root, "SELECT count(*) FROM touched"), 0);
    let noted = process.store().data_folder().last_collection().unwrap();
    assert!(noted.is_some());
}

#[test]
fn a_damaged_digest_keeps_no_other_record_and_no_room() {
    let root = tempfile::tempdir().unwrap();
    let (daemon, project) = scene(root.path());
    let known = |text: &str| {
        daemon.save(&project, "main", "f", text.as_bytes()).unwrap();
        let digest = project.branch(&branch("main")).unwrap().head().digest();
        // Until it is in the index.
        daemon.flush_commit_ids();
        project.resolve(Some(digest.unwrap().commit_id())).unwrap();
    };
    known("gone");
    daemon.save(&project, "main", "f", b"between").unwrap();
    known("kept");
    let digests = "SELECT count(*) FROM record WHERE key LIKE 'digest/%'";
    assert_eq!(number(root.path(), digests), 2);
    sql(
        root.path(),
        "UPDATE record SET checksum = x'00' WHERE version IN
            (SELECT min(version) FROM record WHERE key LIKE 'digest/%')",
    );
    // Without what memory had of it.
    drop((project, daemon));
    let daemon = Process::daemon(root.path());
    let actor = Actor::from("alice");
    let one = Retention {
        snapshots: 1,
        days: 0,
    };
    let pruned = daemon
        .projects
        .prune(daemon.store(), one, Execution::Apply, &actor, |_| {});
    pruned.unwrap();
    let done = daemon.collect();
    assert!(done.failed.is_none(), "{done:?}");
    // The commit id, which pruning left because it could not read which it is.
    assert_eq!(done.records, 1);
    assert_eq!(number(root.path(), digests), 2);
    assert_eq!(number(root.path(), "SELECT scope FROM collection"), 0);
}

#[test]
fn what_fails_behind_the_removal_is_told_and_stops_nothing_else() {
    let root = tempfile::tempdir().unwrap();
    let (daemon, _project) = scene(root.path());
    // A folder under a blob's name cannot be removed as a file.
    let folder = root.path().join("blobs/ab").join("c".repeat(62));
    std::fs::create_dir(folder).unwrap();
    let done = daemon.collect();
    assert!(
        matches!(done.failed, Some(StoreError::Io { .. })),
        "{done:?}"
    );
    assert_ended(&daemon, root.path(), &done);
}

#[test]
fn the_command_says_what_is_damaged_after_what_it_did() {
    let gc = |root: &Path| {
        let output = Command::new(env!("CARGO_BIN_EXE_siteconf"))
            .arg("--data")
            .arg(root)
            .arg("gc")
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let [told, said] = [output.stdout, output.stderr].map(|it| String::from_utf8(it).unwrap());
        assert!(told.starts_with("6 objects of "), "{told}");
        assert!(told.contains(" bytes removed, 0 of them files; "), "{told}");
        said
    };
    let root = tempfile::tempdir().unwrap();
    drop(scene(root.path()));
    sql(
        root.path(),
        &format!("DELETE FROM object_index WHERE seq = {C}"),
    );
    assert_eq!(
        gc(root.path()),
        "siteconf: the store is damaged: files that states need were not found 1 times, and 1 objects are \
         not where the index says. They stay, and so does every file in blobs/. \"siteconf debug check\" \
         names them; \"siteconf backup\" and \"siteconf restore\" make the index anew\n"
    );
}
