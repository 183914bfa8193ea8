//! What the audit log tells of changes of projects: one record each, in their order.

use std::net::IpAddr;

use rusqlite::Connection;

use siteconf::base::actor::Actor;
use siteconf::base::clock::Timestamp;
use siteconf::base::limits::AUDIT_CHUNK;
use siteconf::base::repo_id::RepoId;
use siteconf::repo::audit::{Entry, Filter};
use siteconf::repo::{BatchAction, Condition, ImportFolder, ImportOptions, Message, ProjectWriter};
use siteconf::store::Batch;
use siteconf::store::memory::MemoryStore;
use siteconf::store::sqlite::SqliteStore;

use crate::fixture::{Scene, branch, path, version};
use crate::on_every_engine;

on_every_engine!(
    each_change_leaves_one_record_and_a_refusal_none,
    the_log_is_read_from_both_ends,
    old_records_are_removed_from_the_beginning,
);

/// The record as it lies there, without its time.
fn told(entry: &Entry) -> String {
    let text = serde_json::to_string(&*entry.record).unwrap();
    let at = format!("\"at\":{},", entry.record.at.ms());
    assert!(text.contains(&at), "{text}");
    text.replace(&at, "")
}

fn log(scene: &Scene) -> Vec<String> {
    to_the_end(scene).iter().map(told).collect()
}

fn each_change_leaves_one_record_and_a_refusal_none(scene: &Scene) {
    let main = branch("main");
    let made = log(scene);
    assert_eq!(
        made,
        [
            r#"{"by":"alice","action":"project-created","project":[1,"acme/shop.erp"]}"#,
            r#"{"by":"alice","action":"branch-created","project":[1,"acme/shop.erp"],"branch":[1,"main"]}"#,
        ]
    );
    let from: IpAddr = "203.0.113.7".parse().unwrap();
    let project = ProjectWriter::new((*scene.project).clone(), Actor::account("bob", Some(from)));
    let put = |at: &str| BatchAction::Put(path(at), scene.file("1"), None);
    let none = Condition::None;
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("new"), "1").unwrap();
    let folder = ImportFolder::open(folder.path(), None).unwrap();

    project
        .save(&main, &path("a"), scene.file("1"), none.clone())
        .unwrap();
    // The same bytes are a save, too: it takes a snapshot.
    project
        .save(&main, &path("a"), scene.file("1"), none.clone())
        .unwrap();
    let saying = project.clone().saying(Message::parse("why").ok());
    saying
        .batch(&main, vec![put("b"), put("c")], &Condition::None)
        .unwrap();
    project.delete(&main, &path("b"), none.clone()).unwrap();
    project
        .rollback(&main, version(2), &[], &Condition::None)
        .unwrap();
    project
        .rollback(&main, version(4), &[path("c")], &Condition::None)
        .unwrap();
    project
        .rollback(&main, version(4), &[path("b"), path("c")], &Condition::None)
        .unwrap();
    project
        .import(&main, &folder, &ImportOptions::default(), |_| {})
        .unwrap();
    project
        .create_branch(&branch("next"), Some("main@v0003"))
        .unwrap();
    project
        .delete_branch(&branch("next"), &Condition::None)
        .unwrap();

    // Refused: nothing is told.
    project.delete(&main, &path("absent"), none).unwrap_err();
    let absent = Condition::IfAbsent;
    project
        .save(&main, &path("a"), scene.file("2"), absent)
        .unwrap_err();
    project
        .rollback(&main, version(99), &[], &Condition::None)
        .unwrap_err();
    project
        .batch(&main, vec![put("a/b")], &Condition::None)
        .unwrap_err();
    project.create_branch(&main, None).unwrap_err();
    project
        .delete_branch(&branch("absent"), &Condition::None)
        .unwrap_err();
    let taken = RepoId::parse("acme/shop.erp").unwrap();
    scene.projects.create_project(&taken, 1, "bob").unwrap_err();

    project.clone().delete_project().unwrap();
    project.delete_project().unwrap_err();

    let head = r#"{"by":"bob","from":"203.0.113.7","action":"#;
    let at = r#","project":[1,"acme/shop.erp"],"branch":[1,"main"]"#;
    let next = r#","project":[1,"acme/shop.erp"],"branch":[2,"next"]"#;
    assert_eq!(
        log(scene)[made.len()..],
        [
            format!(r#"{head}"save"{at},"path":"a","snapshot":1}}"#),
            format!(r#"{head}"save"{at},"path":"a","snapshot":2}}"#),
            format!(r#"{head}"batch"{at},"snapshot":3,"count":2}}"#),
            format!(r#"{head}"delete"{at},"path":"b","snapshot":4}}"#),
            format!(r#"{head}"rollback"{at},"snapshot":5,"restored":2}}"#),
            format!(r#"{head}"rollback"{at},"path":"c","snapshot":6,"restored":4}}"#),
            format!(r#"{head}"rollback"{at},"snapshot":7,"restored":4,"count":2}}"#),
            format!(r#"{head}"import"{at},"snapshot":8}}"#),
            format!(r#"{head}"branch-created"{next},"detail":"from main@v0003"}}"#),
            format!(r#"{head}"branch-deleted"{next}}}"#),
            format!(r#"{head}"project-deleted","project":[1,"acme/shop.erp"]}}"#),
        ]
    );
}

#[test]
fn changes_that_share_a_commit_leave_a_record_each() {
    let scene = Scene::on(MemoryStore::default());
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let scene = &scene;
            scope.spawn(move || {
                for turn in 0..10 {
                    scene.save(&format!("{writer}/{turn}"), "1");
                }
            });
        }
    });
    let log = to_the_end(&scene);
    let saves: Vec<_> = log
        .iter()
        .filter_map(|entry| entry.record.snapshot)
        .collect();
    assert_eq!(saves, (1..=80).collect::<Vec<_>>());
}

fn the_log_is_read_from_both_ends(scene: &Scene) {
    let start = scene.projects.clock().now();
    for turn in 0..2500 {
        scene.clock.advance_s(1);
        scene.save(&format!("{}", turn % 7), "1");
    }
    let read = |filter: &Filter| {
        let (mut before, mut paths) = (None, Vec::new());
        loop {
            let page = scene.projects.audit_page(filter, before, 100).unwrap();
            paths.extend(page.entries.iter().map(|entry| entry.record.snapshot));
            before = page.next;
            if before.is_none() {
                return paths;
            }
        }
    };
    let snapshots = |from: u64| (from..=2500).rev().map(Some).collect::<Vec<_>>();
    let all = Filter::default();
    assert_eq!(read(&all), [snapshots(1), vec![None, None]].concat());
    let late = Filter {
        since: Some(start.plus_s(2000)),
        ..Filter::default()
    };
    assert_eq!(read(&late), snapshots(2000));
    let of = |user: &str, project: &str| Filter {
        user: Some(user.to_owned()),
        project: Some(project.to_owned()),
        ..Filter::default()
    };
    assert_eq!(read(&of("alice", "acme/shop.erp")).len(), 2502);
    assert!(read(&of("ali", "acme/shop.erp")).is_empty());
    assert!(read(&of("alice", "acme/shop")).is_empty());
}

/// Forgets to the log's end; how many, chunk by chunk.
fn forget(scene: &Scene, before: Timestamp) -> Vec<usize> {
    let (mut removed, mut place) = (Vec::new(), None);
    loop {
        let (some, next) = scene.projects.forget_audit(before, place).unwrap();
        removed.push(some);
        place = next;
        if place.is_none() {
            return removed;
        }
    }
}

fn to_the_end(scene: &Scene) -> Vec<Entry> {
    let (mut all, mut place) = (Vec::new(), None);
    loop {
        let chunk = scene.projects.audit_after(place, None).unwrap();
        all.extend(chunk.entries);
        place = chunk.place;
        if chunk.is_last {
            return all;
        }
    }
}

#[test]
fn damaged_records_are_left_out_and_keep_no_others() {
    let root = tempfile::tempdir().unwrap();
    let scene = Scene::on(SqliteStore::open_locked(root.path()).unwrap());
    let saves = u64::try_from(AUDIT_CHUNK).unwrap() + 200;
    let start = scene.projects.clock().now();
    for turn in 0..saves {
        scene.clock.advance_s(1);
        scene.save(&format!("{}", turn % 7), "1");
    }
    let written = to_the_end(&scene);
    // The third, and a whole chunk that is sound and not to be understood.
    let db = Connection::open(root.path().join("store.db")).unwrap();
    let flipped = "UPDATE record SET value = CAST('{}' AS BLOB) WHERE version = ?1";
    assert_eq!(db.execute(flipped, [written[2].id]).unwrap(), 1);
    let mut batch = Batch::default();
    for _ in 0..=AUDIT_CHUNK {
        batch.append_to("audit/", &"of another version");
    }
    scene.projects.store().commit(batch).unwrap();
    scene.save("last", "1");

    let wanted: Vec<_> = (1..=saves + 1).collect();
    let snapshots = |entries: &[Entry]| -> Vec<_> {
        let snapshots = entries.iter().map(|entry| entry.record.snapshot);
        snapshots.flatten().collect()
    };
    let up = snapshots(&to_the_end(&scene));
    assert_eq!(up, wanted[1..], "the third record is of the first save");
    let (mut down, mut before) = (Vec::new(), None);
    loop {
        let page = scene.projects.audit_page(&Filter::default(), before, 100);
        let page = page.unwrap();
        down.extend(snapshots(&page.entries));
        before = page.next;
        if before.is_none() {
            break;
        }
    }
    down.reverse();
    assert_eq!(down, up);

    forget(&scene, start.plus_s(saves));
    assert_eq!(snapshots(&to_the_end(&scene)), [saves, saves + 1]);
}

fn old_records_are_removed_from_the_beginning(scene: &Scene) {
    let start = scene.projects.clock().now();
    // More than are looked at in one go, of a clock that was wrong.
    let wrong = u64::try_from(AUDIT_CHUNK).unwrap() + 1;
    scene.clock.advance_s(9_000_000);
    for _ in 0..wrong {
        scene.save("wrong clock", "1");
    }
    scene.clock.set(start);
    for turn in 0..1200 {
        scene.clock.advance_s(1);
        scene.save(&format!("{}", turn % 7), "1");
    }
    let old = start.plus_s(1100);
    // The two that made the project and the branch, then 997 after the last wrong ones, then the rest.
    assert_eq!(forget(scene, old), [2, 997, 102]);
    assert_eq!(forget(scene, old), [0, 0]);
    let rest = to_the_end(scene);
    let rest: Vec<_> = rest
        .iter()
        .filter_map(|entry| entry.record.snapshot)
        .collect();
    let expected: Vec<_> = (1..=wrong).chain(wrong + 1100..=wrong + 1200).collect();
    assert_eq!(rest, expected);
}
