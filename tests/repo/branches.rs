use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use siteconf::base::repo_id::RepoId;
use siteconf::manifest::lookup::Found;
use siteconf::manifest::{Draft, Editor, lookup};
use siteconf::object::key;
use siteconf::object::record::BranchRecord;
use siteconf::repo::{Changed, Condition, DeletedId, Error, Missing, ProjectWriter};
use siteconf::store::{Batch, Expect};

use crate::fixture::{Scene, branch, path};
use crate::imports::{laid, opened};
use crate::on_every_engine;

on_every_engine!(
    names_are_taken_once,
    a_branch_from_a_state_shares_it_and_goes_its_own_way,
    branches_change_nothing_of_what_is_said_of_the_project_itself,
    the_default_branch_follows_its_rule,
    a_deleted_branch_is_gone_and_its_name_free,
    a_deleted_project_is_gone_and_its_number_never_used_again,
    a_name_leads_only_to_the_branch_that_has_it,
    who_watches_a_branch_is_told_of_its_changes_alone,
    names_from_before_with_what_is_not_seen_stay_in_use,
);

fn names_are_taken_once(scene: &Scene) {
    let again = scene
        .project
        .create_branch(&branch("main"), None)
        .unwrap_err();
    assert!(matches!(again, Error::Exists { what: "branch" }));
    let again = scene
        .projects
        .create_project(scene.project.repo_id(), 2, "alice")
        .unwrap_err();
    assert!(matches!(again, Error::Exists { what: "project" }));
}

fn a_branch_from_a_state_shares_it_and_goes_its_own_way(scene: &Scene) {
    scene.save("a", "1");
    scene.save("a", "2");
    let copy = scene
        .project
        .create_branch(&branch("copy"), Some("main"))
        .unwrap();
    assert_eq!(copy.head().id(), scene.head().id());
    let old = scene
        .project
        .create_branch(&branch("old"), Some("main@v0002"))
        .unwrap();
    assert_ne!(old.head().id(), copy.head().id());
    scene.try_save("copy", "b", "3").unwrap();
    assert_eq!(scene.files(), ["a=2"]);
    let absent = scene
        .project
        .create_branch(&branch("x"), Some("main@v0009"))
        .unwrap_err();
    assert!(matches!(
        absent,
        Error::NotFound {
            what: Missing::Revision
        }
    ));
}

fn branches_change_nothing_of_what_is_said_of_the_project_itself(scene: &Scene) {
    let state = || {
        let project = scene.projects.project(scene.project.repo_id());
        project.unwrap().state()
    };
    let before = state();
    let made = scene.project.create_branch(&branch("next"), Some("main"));
    made.unwrap();
    scene.delete_branch("next").unwrap();
    let all = scene.projects.deleted(|_| true).unwrap();
    let DeletedId::Branch(project, number) = all[0].id() else {
        panic!("{all:?}");
    };
    let back = scene
        .projects
        .restore_branch(project, number, None, &"alice".into());
    back.unwrap();
    assert_eq!(state(), before);
}

fn the_default_branch_follows_its_rule(scene: &Scene) {
    let default = || {
        scene
            .project
            .default_branch()
            .unwrap()
            .map(|b| b.name().to_string())
    };
    let make = |name| drop(scene.project.create_branch(&branch(name), None).unwrap());
    make("alpha");
    assert_eq!(default().as_deref(), Some("main"));
    make("master");
    assert_eq!(default().as_deref(), Some("master"));
    for name in ["master", "main"] {
        scene.delete_branch(name).unwrap();
    }
    make("Zeta");
    assert_eq!(default().as_deref(), Some("Zeta"), "the first by bytes");
    for name in ["Zeta", "alpha"] {
        scene.delete_branch(name).unwrap();
    }
    assert_eq!(default(), None);
    assert!(matches!(
        scene.project.resolve(None).unwrap_err(),
        Error::NotFound {
            what: Missing::Branch
        }
    ));
}

fn a_deleted_branch_is_gone_and_its_name_free(scene: &Scene) {
    scene.save("a", "1");
    let id = scene.head().digest().unwrap();
    scene.project.resolve(Some(id.commit_id())).unwrap();
    scene.delete_branch("main").unwrap();
    let gone = |result: Result<_, Error>| matches!(result, Err(Error::NotFound { .. }));
    assert!(gone(scene.project.branch(&branch("main")).map(drop)));
    assert!(gone(scene.project.resolve(Some(id.commit_id())).map(drop)));
    assert!(gone(scene.try_save("main", "a", "2").map(drop)));
    assert!(gone(scene.delete_branch("main")));
    let again = scene.project.create_branch(&branch("main"), None).unwrap();
    assert_eq!((again.snapshot_count(), again.totals().files), (0, 0));
    assert!(again.history(None, None).unwrap().is_empty());
}

fn a_deleted_project_is_gone_and_its_number_never_used_again(scene: &Scene) {
    scene.save("a", "1");
    let (id, number) = (scene.project.repo_id().clone(), scene.project.number());
    scene.project.clone().delete_project().unwrap();
    let gone = scene.projects.project(&id).unwrap_err();
    assert!(matches!(
        gone,
        Error::NotFound {
            what: Missing::Project
        }
    ));
    assert!(scene.projects.project_by_number(number).is_err());
    assert!(scene.try_save("main", "a", "2").is_err());
    let again = scene.projects.create_project(&id, 1, "alice").unwrap();
    assert!(again.number() > number);
    assert!(again.branches().unwrap().is_empty());
    let ids = |scene: &Scene| -> Vec<RepoId> {
        scene
            .projects
            .all()
            .unwrap()
            .iter()
            .map(|p| p.repo_id().clone())
            .collect()
    };
    assert_eq!(ids(scene), [id]);
}

/// As another reads it who has read the name before a branch was renamed.
fn a_name_leads_only_to_the_branch_that_has_it(scene: &Scene) {
    let store = scene.projects.store();
    let name_key = |name| key::branch_name(scene.project.number(), name);
    let number = store.value::<u64>(&name_key("main")).unwrap().unwrap();
    let mut batch = Batch::default();
    batch.write(name_key("before"), Expect::Absent, &*number.value);
    store.commit(batch).unwrap();
    assert!(matches!(
        scene.project.branch(&branch("before")),
        Err(Error::NotFound {
            what: Missing::Branch
        })
    ));
}

fn who_watches_a_branch_is_told_of_its_changes_alone(scene: &Scene) {
    scene.project.create_branch(&branch("test"), None).unwrap();
    let other = RepoId::parse("acme/other.erp").unwrap();
    let other = scene.projects.create_project(&other, 1, "alice").unwrap();
    let other = ProjectWriter::new(other, "alice");
    other.create_branch(&branch("main"), None).unwrap();
    let calls = Arc::new(AtomicUsize::new(0));
    let changed: Changed = {
        let calls = Arc::clone(&calls);
        Arc::new(move || {
            calls.fetch_add(1, Ordering::Relaxed);
        })
    };
    let _watches = scene.project.watch_branch(&branch("main"), &changed);
    scene.try_save("test", "a", "1").unwrap();
    other
        .save(
            &branch("main"),
            &path("a"),
            scene.file("1"),
            Condition::None,
        )
        .unwrap();
    assert_eq!(calls.load(Ordering::Relaxed), 0);
    scene.save("a", "1");
    assert!(calls.load(Ordering::Relaxed) > 0);
}

fn names_from_before_with_what_is_not_seen_stay_in_use(scene: &Scene) {
    let (store, nodes) = (scene.projects.store(), scene.projects.nodes());
    let (project, hidden) = (scene.project.number(), branch("ma\u{ad}in"));
    scene.save("a", "1");
    // As an earlier version has taken them.
    let number = *store
        .value::<u64>(&key::branch_name(project, "main"))
        .unwrap()
        .unwrap()
        .value;
    let head = key::branch(project, number);
    let record = store.value::<BranchRecord>(&head).unwrap().unwrap();
    let manifest = nodes.manifest(record.value.manifest).unwrap();
    let found = lookup::path(nodes.as_ref(), manifest.root, &path("a")).unwrap();
    let Some(Found::File(file)) = found else {
        panic!("it was saved");
    };
    let (mut draft, mut editor) = (Draft::new(nodes), Editor::new(&manifest));
    for name in ["b\u{ad}", "c\u{ad}"] {
        editor.put_file(&draft, &path(name), file).unwrap();
    }
    let (id, manifest) = editor.finish(&mut draft).unwrap();
    let mut batch = Batch {
        objects: draft.take_objects(),
        ..Batch::default()
    };
    let renamed = BranchRecord {
        name: hidden.clone(),
        manifest: id,
        totals: manifest.totals.into(),
        ..BranchRecord::clone(&record.value)
    };
    batch.delete(key::branch_name(project, "main"), Expect::Anything);
    let name = key::branch_name(project, hidden.as_str());
    batch.write(name, Expect::Absent, &number);
    batch.write(head, record.expect(), &renamed);
    store.commit(batch).unwrap();

    scene.try_save("ma\u{ad}in", "b\u{ad}", "2").unwrap();
    scene
        .project
        .delete(&hidden, &path("c\u{ad}"), Condition::None)
        .unwrap();
    let refused = scene.try_save("ma\u{ad}in", "d\u{ad}", "3").unwrap_err();
    assert!(matches!(refused, Error::Invalid { .. }), "{refused}");
    scene
        .project
        .rename_branch(&hidden, &hidden, &Condition::None)
        .unwrap();
    scene
        .project
        .rename_branch(&hidden, &branch("main"), &Condition::None)
        .unwrap();
    assert_eq!(scene.files(), ["a=1", "b\u{ad}=2"]);
    // A mirror takes none from a folder, and removes none that the folder has.
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("b\u{ad}"), "3").unwrap();
    scene
        .project
        .import(&branch("main"), &opened(&folder), &laid(true), |_| {})
        .unwrap();
    assert_eq!(scene.files(), ["b\u{ad}=2"]);
    let refused = scene
        .project
        .rename_branch(&branch("main"), &hidden, &Condition::None);
    let refused = refused.unwrap_err();
    assert!(matches!(refused, Error::Invalid { .. }), "{refused}");
}
