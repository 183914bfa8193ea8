//! What is deleted is kept for its time, by a clock that cannot be hurried, and then forgotten to the
//! last record, however often that is interrupted.

use std::cell::Cell;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rusqlite::Connection;

use siteconf::base::clock::Clock;
use siteconf::base::limits::{DELETED_READ_AT_ONCE, FORGOTTEN_RECORDS_PER_COMMIT};
use siteconf::base::repo_id::RepoId;
use siteconf::object::key;
use siteconf::repo::{Condition, DeletedId, Error, Forgotten, Missing, ProjectWriter};
use siteconf::store::memory::MemoryStore;
use siteconf::store::sqlite::SqliteStore;
use siteconf::store::{Batch, Expect, Result, Scan, Staging, Store, Values, Version};

use crate::fixture::{Scene, branch};
use crate::forwarded::forward_reads;
use crate::on_every_engine;

on_every_engine!(
    what_is_deleted_is_kept_for_its_time,
    a_clock_that_jumps_ahead_ends_nothing,
    forgetting_that_is_cut_off_goes_on_later,
    nothing_is_kept_where_nothing_is_to_be,
    what_is_not_kept_is_forgotten_by_no_clock,
    what_a_clock_skipped_that_was_believed_ends_nothing,
    more_than_is_read_at_once_is_listed_and_forgotten,
);

const DAY_S: u64 = 24 * 3600;

/// The keys below these, which are all that projects have.
fn keys(scene: &Scene) -> Vec<String> {
    let kinds = [
        "project",
        "project-id",
        "deleted-project",
        "branch",
        "branch-name",
        "deleted-branch",
        "snapshot",
        "commit",
    ];
    let mut keys = Vec::new();
    for kind in kinds {
        let records = scene
            .projects
            .store()
            .scan(Scan::prefix(&format!("{kind}/")));
        keys.extend(records.unwrap().iter().map(|record| record.key.clone()));
    }
    keys
}

fn pass_days(scene: &Scene, days: u64) {
    scene.clock.advance_s(days * DAY_S);
}

fn forget(scene: &Scene, days: u64) -> Forgotten {
    scene
        .projects
        .forget_deleted(days * DAY_S, &|| true)
        .unwrap()
}

fn counts(projects: u64, branches: u64) -> Forgotten {
    Forgotten { projects, branches }
}

fn what_is_deleted_is_kept_for_its_time(scene: &Scene) {
    scene.save("a", "1");
    let id = scene.head().digest().unwrap();
    scene.project.resolve(Some(id.commit_id())).unwrap();
    let other = scene
        .project
        .create_branch(&branch("other"), Some("main"))
        .unwrap();
    scene
        .project
        .resolve(Some(other.head().digest().unwrap().commit_id()))
        .unwrap();
    flushed(scene);
    let before = keys(scene);
    scene
        .project
        .create_branch(&branch("next"), Some("main"))
        .unwrap();
    scene.try_save("next", "a", "2").unwrap();
    let next = scene.project.branch(&branch("next")).unwrap().head();
    scene
        .project
        .resolve(Some(next.digest().unwrap().commit_id()))
        .unwrap();
    scene.delete_branch("next").unwrap();
    pass_days(scene, 29);
    assert_eq!(forget(scene, 30), counts(0, 0));
    assert_eq!(scene.projects.deleted(|_| true).unwrap().len(), 1);
    pass_days(scene, 2);
    assert_eq!(forget(scene, 30), counts(0, 1));
    assert_eq!(keys(scene), before, "all of it is gone, and nothing else");
    scene.project.resolve(Some(id.commit_id())).unwrap();
    assert!(scene.projects.deleted(|_| true).unwrap().is_empty());

    scene.delete_branch("other").unwrap();
    scene.project.clone().delete_project().unwrap();
    pass_days(scene, 29);
    assert_eq!(forget(scene, 30), counts(0, 0));
    pass_days(scene, 2);
    assert_eq!(forget(scene, 30), counts(1, 0));
    assert_eq!(keys(scene), [""; 0]);
    assert_eq!(forget(scene, 30), counts(0, 0));
}

/// Waits until entries on their way are written, for as long as a busy machine needs.
fn flushed(scene: &Scene) {
    let background = scene.projects.background();
    background.flush_within("commit/", Duration::from_secs(30));
}

fn a_clock_that_jumps_ahead_ends_nothing(scene: &Scene) {
    scene.save("a", "1");
    scene.project.clone().delete_project().unwrap();
    scene.clock.set(scene.clock.now().plus_s(400 * DAY_S));
    scene.projects.steady_clock().tick();
    assert_eq!(forget(scene, 30), counts(0, 0));
    let number = scene.project.number();
    scene
        .projects
        .restore_project(number, None, &"root".into())
        .unwrap();
    assert_eq!(scene.files(), ["a=1"]);
}

/// Nor does it where the clock is wrong for so long that it is believed: only what the service has seen pass counts.
fn what_a_clock_skipped_that_was_believed_ends_nothing(scene: &Scene) {
    let tick = || {
        scene.projects.steady_clock().tick();
        let background = scene.projects.background();
        background.flush_within("clock", Duration::from_secs(30));
    };
    scene.save("a", "1");
    scene.project.clone().delete_project().unwrap();
    pass_days(scene, 10);
    tick();
    scene.clock.set(scene.clock.now().plus_s(400 * DAY_S));
    tick();
    pass_days(scene, 1);
    tick();
    assert_eq!(scene.projects.steady_clock().believed(), scene.clock.now());
    pass_days(scene, 18);
    tick();
    assert_eq!(forget(scene, 30), counts(0, 0));
    pass_days(scene, 2);
    assert_eq!(forget(scene, 30), counts(1, 0));
}

/// As after a service that stood still for days: the mark is as far behind.
fn what_is_not_kept_is_forgotten_by_no_clock(scene: &Scene) {
    scene.projects.steady_clock().tick();
    scene.clock.set(scene.clock.now().plus_s(3 * DAY_S));
    scene.project.clone().delete_project().unwrap();
    assert_eq!(forget(scene, 1), counts(0, 0));
    assert_eq!(forget(scene, 0), counts(1, 0));
}

/// Adds snapshots of these numbers to a branch, as a long history would have left them.
fn add_snapshots(scene: &Scene, of: u64, numbers: RangeInclusive<u64>) {
    let store = scene.projects.store();
    let snapshot = store
        .scan(Scan::prefix("snapshot/"))
        .unwrap()
        .pop()
        .unwrap();
    let snapshot: serde_json::Value = serde_json::from_slice(&snapshot.value).unwrap();
    let mut batch = Batch::default();
    for number in numbers {
        batch.write(key::snapshot(of, number), Expect::Absent, &snapshot);
    }
    store.commit(batch).unwrap();
}

/// A store that counts the records which the largest commit has written.
#[derive(Debug, Default)]
struct Counting {
    store: MemoryStore,
    most: AtomicUsize,
}

impl Store for Counting {
    forward_reads!();

    fn commit(&self, batch: Batch) -> Result<Version> {
        self.most.fetch_max(batch.writes.len(), Ordering::Relaxed);
        self.store.commit(batch)
    }

    fn stage(&self) -> Result<Box<dyn Staging>> {
        self.store.stage()
    }
}

/// Others that save wait for each commit.
#[test]
fn much_is_forgotten_with_many_small_commits() {
    let store = Arc::new(Counting::default());
    let scene = Scene::over(Arc::clone(&store) as Arc<_>);
    scene.save("a", "1");
    add_snapshots(&scene, 1, 2..=1500);
    scene.project.clone().delete_project().unwrap();
    pass_days(&scene, 2);
    store.most.store(0, Ordering::Relaxed);
    assert_eq!(forget(&scene, 1), counts(1, 0));
    assert_eq!(keys(&scene), [""; 0]);
    let most = store.most.load(Ordering::Relaxed);
    assert!(most <= 100, "{most} records with one commit");
}

fn forgetting_that_is_cut_off_goes_on_later(scene: &Scene) {
    const SNAPSHOTS: u64 = 1500;
    scene.save("a", "1");
    let rest = keys(scene);
    for name in ["x", "y"] {
        scene
            .project
            .create_branch(&branch(name), Some("main"))
            .unwrap();
    }
    scene.delete_branch("x").unwrap();
    let project = RepoId::parse("other.erp").unwrap();
    let project = scene.projects.create_project(&project, 1, "bob").unwrap();
    let other = ProjectWriter::new(project, "bob");
    other.create_branch(&branch("main"), None).unwrap();
    for of in [2, 4] {
        add_snapshots(scene, of, 1..=SNAPSHOTS);
    }
    other.delete_project().unwrap();
    scene.delete_branch("y").unwrap();
    pass_days(scene, 2);

    // By the first word it is marked.
    let mut cut_off = 1_u32;
    loop {
        let left = Cell::new(cut_off);
        let go_on = || left.replace(left.get().saturating_sub(1)) > 0;
        scene.projects.forget_deleted(DAY_S, &go_on).unwrap();
        // What was marked is not seen and does not come back.
        for deleted in scene.projects.deleted(|_| true).unwrap() {
            assert!(scene.projects.deleted_by_id(deleted.id()).is_ok());
        }
        let back = scene
            .projects
            .restore_project(2, None, &"root".into())
            .unwrap_err();
        assert!(matches!(
            back,
            Error::NotFound {
                what: Missing::Deleted
            }
        ));
        if keys(scene) == rest {
            break;
        }
        cut_off += 1;
        assert!(cut_off < 20, "{:?}", keys(scene));
    }
    assert!(cut_off >= 4, "it was cut off only {cut_off} times");
    assert_eq!(scene.files(), ["a=1"]);
}

#[test]
fn a_damaged_record_is_left_out_and_keeps_no_others() {
    for change in [
        // Another value than the checksum's, and a sound one that makes no sense.
        None,
        Some("{}"),
    ] {
        let root = tempfile::tempdir().unwrap();
        let scene = Scene::on(SqliteStore::open_locked(root.path()).unwrap());
        scene.save("a", "1");
        for name in ["x", "y", "z"] {
            let made = scene.project.create_branch(&branch(name), Some("main"));
            made.unwrap();
            scene.try_save(name, "a", "2").unwrap();
            scene.delete_branch(name).unwrap();
        }
        for name in ["p.erp", "q.erp", "r.erp"] {
            let id = RepoId::parse(name).unwrap();
            let made = scene.projects.create_project(&id, 1, "bob").unwrap();
            let made = ProjectWriter::new(made, "bob");
            made.create_branch(&branch("main"), None).unwrap();
            made.delete_project().unwrap();
        }
        // The branch x, the project p, and a snapshot of z.
        let damaged = [
            key::deleted_branch(1, 2),
            key::deleted_project(2),
            key::snapshot(4, 1),
        ];
        if let Some(value) = change {
            let value: serde_json::Value = serde_json::from_str(value).unwrap();
            let mut batch = Batch::default();
            for key in &damaged[..2] {
                batch.write(key.clone(), Expect::Anything, &value);
            }
            scene.projects.store().commit(batch).unwrap();
        } else {
            let db = Connection::open(root.path().join("store.db")).unwrap();
            let flipped = "UPDATE record SET checksum = x'00' WHERE key = ?1";
            for key in &damaged {
                assert_eq!(db.execute(flipped, [key]).unwrap(), 1, "{key}");
            }
        }
        let listed = scene.projects.deleted(|_| true).unwrap();
        let mut listed: Vec<_> = listed.iter().map(|one| one.id().to_string()).collect();
        listed.sort();
        assert_eq!(
            listed,
            ["branch-1-3", "branch-1-4", "project-3", "project-4"]
        );
        pass_days(&scene, 2);
        assert_eq!(forget(&scene, 1), counts(2, 2));
        assert_eq!(forget(&scene, 1), counts(0, 0));
        assert!(scene.projects.deleted(|_| true).unwrap().is_empty());
        assert_eq!(scene.files(), ["a=1"]);
        // Of what was forgotten nothing is left, damaged or not: a collection would meet it.
        let keys = Scan {
            values: Values::Unread,
            ..Scan::prefix("snapshot/")
        };
        let left = scene.projects.store().scan(keys).unwrap();
        let left: Vec<_> = left.iter().map(|record| record.key.as_str()).collect();
        assert_eq!(left, [key::snapshot(1, 1), key::snapshot(2, 1)]);
    }
}

#[test]
fn a_damaged_project_keeps_no_other_from_being_forgotten() {
    let root = tempfile::tempdir().unwrap();
    let scene = Scene::on(SqliteStore::open_locked(root.path()).unwrap());
    scene
        .project
        .create_branch(&branch("x"), Some("main"))
        .unwrap();
    scene.delete_branch("x").unwrap();
    let id = RepoId::parse("p.erp").unwrap();
    let made = scene.projects.create_project(&id, 1, "bob").unwrap();
    let made = ProjectWriter::new(made, "bob");
    made.create_branch(&branch("main"), None).unwrap();
    made.delete_branch(&branch("main"), &Condition::None)
        .unwrap();
    let db = Connection::open(root.path().join("store.db")).unwrap();
    let flipped = "UPDATE record SET checksum = x'00' WHERE key = ?1";
    assert_eq!(db.execute(flipped, [key::project(1)]).unwrap(), 1);
    let listed = scene.projects.deleted(|_| true).unwrap();
    let listed: Vec<_> = listed.iter().map(|one| one.id().to_string()).collect();
    assert_eq!(listed, ["branch-2-3"]);
    scene.clock.advance_s(1);
    assert_eq!(forget(&scene, 0), counts(0, 2));
}

fn more_than_is_read_at_once_is_listed_and_forgotten(scene: &Scene) {
    scene.save("a", "1");
    let rest = keys(scene);
    let made = scene.project.create_branch(&branch("x"), Some("main"));
    made.unwrap();
    let first = 2;
    scene.delete_branch("x").unwrap();
    // As many deletions would have left them.
    let store = scene.projects.store();
    let kept = store.record(&key::deleted_branch(1, first)).unwrap();
    let kept: serde_json::Value = serde_json::from_slice(&kept.unwrap().value).unwrap();
    let more = u64::try_from(DELETED_READ_AT_ONCE).unwrap() + 100;
    let mut batch = Batch::default();
    for number in first + 1..=first + more {
        batch.write(key::deleted_branch(1, number), Expect::Absent, &kept);
    }
    store.commit(batch).unwrap();

    assert_eq!(
        scene.projects.deleted(|_| true).unwrap().len() as u64,
        more + 1
    );
    let last = DeletedId::Branch(1, first + more);
    let wanted = scene.projects.deleted(|deleted| deleted.id() == last);
    assert_eq!(wanted.unwrap().len(), 1);
    pass_days(scene, 2);
    // Told to end behind the first commit, it marks no more: what is marked cannot be restored.
    let asked = Cell::new(0);
    let go_on = || asked.replace(asked.get() + 1) < 2;
    let forgotten = scene.projects.forget_deleted(DAY_S, &go_on).unwrap();
    assert_eq!(forgotten, counts(0, 0));
    let deleted = store.scan(Scan::prefix("deleted-branch/")).unwrap();
    let is_marked = |value: &[u8]| {
        let value: serde_json::Value = serde_json::from_slice(value).unwrap();
        value["forgetting"] == true
    };
    let marked = deleted.iter().filter(|record| is_marked(&record.value));
    assert_eq!(marked.count(), FORGOTTEN_RECORDS_PER_COMMIT);
    assert_eq!(forget(scene, 1), counts(0, more + 1));
    assert_eq!(keys(scene), rest);
}

fn nothing_is_kept_where_nothing_is_to_be(scene: &Scene) {
    scene.project.clone().delete_project().unwrap();
    scene.clock.advance_s(1);
    assert_eq!(forget(scene, 0), counts(1, 0));
    assert_eq!(keys(scene), [""; 0]);
}
