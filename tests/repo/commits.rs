use serde_json::Value;

use siteconf::base::clock::Timestamp;
use siteconf::base::limits::COMMIT_SEARCH_S_MAX;
use siteconf::object::key;
use siteconf::repo::{BatchAction, Commit, Condition, Error, Message, ProjectWriter};
use siteconf::store::{Batch, Expect};

use crate::fixture::{Scene, branch, path, version};
use crate::on_every_engine;

on_every_engine!(
    a_walk_through_commits_ends_with_its_time,
    the_last_commit_is_the_first_of_all,
    the_last_commit_is_known_without_snapshots,
    a_record_without_its_last_change_is_completed_by_the_next,
);

/// What a commit says, with the state itself and the one before.
fn said(commit: &Commit) -> String {
    let parent = commit.before.as_ref();
    format!(
        "{} {} at {} by {}: {} of {:?} ({:?})",
        commit.revision.id(),
        commit.title(),
        commit.at,
        commit.by,
        commit.message(),
        parent.map(siteconf::repo::Revision::id),
        parent.map(siteconf::repo::Revision::totals),
    )
}

fn last(scene: &Scene) -> Commit {
    let main = scene.project.branch(&branch("main")).unwrap();
    main.last_commit().unwrap()
}

fn first_of_all(scene: &Scene) -> Commit {
    let main = scene.project.branch(&branch("main")).unwrap();
    main.commits().next().unwrap().unwrap()
}

fn assert_last(scene: &Scene, title: &str, by: &str) {
    let found = last(scene);
    assert_eq!((found.title().as_str(), found.by.as_str()), (title, by));
    assert_eq!(said(&found), said(&first_of_all(scene)));
}

fn a_walk_through_commits_ends_with_its_time(scene: &Scene) {
    for text in ["1", "2", "3"] {
        scene.save("a", text);
    }
    let main = scene.project.branch(&branch("main")).unwrap();
    let mut commits = main.commits();
    assert!(commits.next().unwrap().is_ok());
    scene.clock.advance_s(COMMIT_SEARCH_S_MAX.unsigned_abs());
    assert!(matches!(commits.next(), Some(Err(Error::Unfinished))));
    assert_eq!(main.commits().map(Result::unwrap).count(), 4);
}

fn the_last_commit_is_the_first_of_all(scene: &Scene) {
    let main = branch("main");
    let project = scene.projects.project(scene.project.repo_id()).unwrap();
    let bob = ProjectWriter::new(project, "bob");
    assert_last(scene, "create branch", "alice");
    bob.rollback(&main, version(1), &[], &Condition::None)
        .unwrap_err();

    // An empty batch changes nothing: the branch is still as it was made.
    scene.clock.advance_s(60);
    bob.batch(&main, Vec::new(), &Condition::None).unwrap();
    assert_last(scene, "create branch", "alice");

    scene.clock.advance_s(60);
    scene.save("a", "1");
    assert_last(scene, "save a", "alice");

    // Bob saves what is there already.
    scene.clock.advance_s(60);
    bob.save(&main, &path("a"), scene.file("1"), Condition::None)
        .unwrap();
    assert_last(scene, "save a", "alice");
    let head = scene.project.branch(&main).unwrap();
    assert_eq!((head.updated_by(), head.snapshot_count()), ("bob", 3));
    assert!(head.updated_at() > last(scene).at);

    scene.clock.set(Timestamp::parse("2020-01-01").unwrap());
    let put = BatchAction::Put(path("b"), scene.file("2"), None);
    let message = Message::parse("two\nlines").ok();
    bob.clone()
        .saying(message)
        .batch(&main, vec![put], &Condition::None)
        .unwrap();
    assert_last(scene, "two", "bob");

    // Back to the head's own state, then to an older one.
    scene.save("b", "2");
    scene
        .project
        .rollback(&main, version(5), &[], &Condition::None)
        .unwrap();
    assert_last(scene, "two", "bob");
    scene
        .project
        .rollback(&main, version(3), &[], &Condition::None)
        .unwrap();
    assert_last(scene, "rollback", "alice");
    scene.delete("a").unwrap();
    assert_last(scene, "delete a", "alice");
}

fn the_last_commit_is_known_without_snapshots(scene: &Scene) {
    scene.save("a", "1");
    scene.save("a", "2");
    scene.save("a", "2");
    let expected = said(&first_of_all(scene));
    let store = scene.projects.store();
    let mut batch = Batch::default();
    let number = scene.head().branch_number();
    for snapshot in 1..=3 {
        batch.delete(key::snapshot(number, snapshot), Expect::Anything);
    }
    store.commit(batch).unwrap();
    assert_eq!(said(&last(scene)), expected);
}

/// Takes its last change out of the branch's record, as in a folder of an earlier release.
fn forget_last(scene: &Scene) {
    let store = scene.projects.store();
    let key = key::branch(scene.project.number(), scene.head().branch_number());
    let record = store.record(&key).unwrap().unwrap();
    let mut value: Value = serde_json::from_slice(&record.value).unwrap();
    value.as_object_mut().unwrap().remove("last").unwrap();
    let mut batch = Batch::default();
    batch.write(key, Expect::Version(record.version), &value);
    store.commit(batch).unwrap();
}

fn a_record_without_its_last_change_is_completed_by_the_next(scene: &Scene) {
    forget_last(scene);
    assert_last(scene, "create branch", "alice");
    scene.save("a", "1");
    scene.save("a", "1");
    forget_last(scene);
    assert_last(scene, "save a", "alice");
    // No change, so there is nothing to keep yet.
    scene.save("a", "1");
    assert_last(scene, "save a", "alice");
    scene.save("b", "2");
    assert_last(scene, "save b", "alice");
    forget_last(scene);
}
