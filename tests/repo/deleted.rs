//! What is deleted comes back as it was, beside what was made meanwhile; of several who restore it or
//! change it at once, none is told what does not hold.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use siteconf::base::actor::Actor;
use siteconf::base::clock::Clock;
use siteconf::base::repo_id::RepoId;
use siteconf::repo::{
    Branch, Condition, DeletedId, Error, Missing, Project, ProjectWriter, Result, Saved, Snapshot,
};

use crate::fixture::{Scene, branch, files_of, version};
use crate::on_every_engine;

on_every_engine!(
    a_deleted_branch_comes_back_as_it_was,
    a_deleted_project_comes_back_as_it_was,
    a_taken_name_refuses_a_restore_and_another_does_not,
    what_is_deleted_is_listed_newest_first_with_who_deleted_it,
    branches_come_back_with_their_project_and_not_before,
    a_deletion_writes_as_little_for_many_branches_as_for_one,
    of_two_restores_at_once_one_wins,
    a_save_beside_a_deletion_is_kept_or_refused,
    rendered_states_are_told_apart_after_a_restore,
);

/// What a client can learn of a branch.
fn seen(of: &Branch) -> (u64, String, Vec<String>, Vec<String>) {
    let snapshot = |snapshot: Snapshot| {
        let state = files_of(&snapshot.revision);
        let (version, at, operation) = (snapshot.version, snapshot.created_at, snapshot.operation);
        format!("{version} {at} {operation} {:?} {state:?}", snapshot.path)
    };
    let history = of.history(None, None).unwrap();
    let digest = of.head().digest().unwrap().to_string();
    let history = history.into_iter().map(snapshot).collect();
    (of.snapshot_count(), digest, files_of(&of.head()), history)
}

fn is_missing<T>(result: &Result<T>, missing: Missing) -> bool {
    matches!(result, Err(Error::NotFound { what }) if *what == missing)
}

fn deleted_ids(scene: &Scene) -> Vec<DeletedId> {
    let all = scene.projects.deleted(|_| true).unwrap();
    all.iter().map(siteconf::repo::Deleted::id).collect()
}

/// Who restores.
fn root() -> Actor {
    Actor::from("root")
}

fn restore_project(scene: &Scene, number: u64) -> Project {
    scene
        .projects
        .restore_project(number, None, &root())
        .unwrap()
}

fn main_of(project: &Project) -> Branch {
    project.branch(&branch("main")).unwrap()
}

fn a_deleted_branch_comes_back_as_it_was(scene: &Scene) {
    for text in ["1", "2", "3"] {
        scene.save("a", text);
        scene.clock.advance_s(60);
    }
    scene.delete("a").unwrap();
    scene.save("b", "4");
    let before = main_of(&scene.project);
    let (told, ids) = (
        seen(&before),
        [before.head(), before.snapshot(version(2)).unwrap()],
    );
    let ids = ids.map(|state| state.digest().unwrap());
    for id in ids {
        scene.project.resolve(Some(id.commit_id())).unwrap();
    }
    scene.delete_branch("main").unwrap();
    // Another of the name has a history and commit ids of its own.
    scene.project.create_branch(&branch("main"), None).unwrap();
    scene.save("a", "other");
    assert!(is_missing(
        &scene.project.resolve(Some(ids[1].commit_id())),
        Missing::Revision
    ));
    scene.delete_branch("main").unwrap();

    let project = scene.project.number();
    let restored = scene
        .projects
        .restore_branch(project, 1, None, &root())
        .unwrap();
    assert_eq!(seen(&restored), told);
    assert_eq!(seen(&main_of(&scene.project)), told);
    for id in ids {
        let found = scene.project.resolve(Some(id.commit_id())).unwrap();
        assert_eq!(found.digest().unwrap(), id);
    }
    // It goes on where it was.
    assert_eq!(scene.save("a", "5").snapshot, version(6));
    assert_eq!(deleted_ids(scene), [DeletedId::Branch(1, 2)]);
    let other = scene
        .projects
        .restore_branch(project, 2, Some(&branch("other")), &root())
        .unwrap();
    assert_eq!(files_of(&other.head()), ["a=other"]);
    assert_eq!(deleted_ids(scene), []);
}

fn a_deleted_project_comes_back_as_it_was(scene: &Scene) {
    scene.save("a", "1");
    scene.save("a", "2");
    scene
        .project
        .create_branch(&branch("next"), Some("main@v0002"))
        .unwrap();
    let told = seen(&main_of(&scene.project));
    let (id, number) = (scene.project.repo_id().clone(), scene.project.number());
    let made_at = scene.project.created_at();
    scene.clock.advance_s(60);
    scene.project.clone().delete_project().unwrap();
    assert!(is_missing(&scene.projects.project(&id), Missing::Project));
    assert!(is_missing(
        &scene.projects.project_by_number(number),
        Missing::Project
    ));
    assert!(scene.projects.all().unwrap().is_empty());
    // A new one of the name starts empty, beside it.
    let other = scene.projects.create_project(&id, 2, "bob").unwrap();
    assert!(other.number() > number && other.branches().unwrap().is_empty());
    ProjectWriter::new(other, "bob").delete_project().unwrap();

    let restored = restore_project(scene, number);
    assert_eq!((restored.number(), restored.owner()), (number, 1));
    assert_eq!(restored.created_at(), made_at);
    assert_eq!(scene.projects.project(&id).unwrap().number(), number);
    assert_eq!(seen(&main_of(&restored)), told);
    let names = restored.branch_names().unwrap();
    assert_eq!(names.iter().collect::<Vec<_>>(), ["main", "next"]);
    assert_eq!(scene.save("a", "3").snapshot, version(3));
    assert_eq!(deleted_ids(scene), [DeletedId::Project(number + 1)]);
}

fn a_taken_name_refuses_a_restore_and_another_does_not(scene: &Scene) {
    scene.save("a", "1");
    let (id, number) = (scene.project.repo_id().clone(), scene.project.number());
    scene.delete_branch("main").unwrap();
    scene.project.create_branch(&branch("main"), None).unwrap();
    let refused = scene
        .projects
        .restore_branch(number, 1, None, &root())
        .unwrap_err();
    assert!(matches!(refused, Error::Exists { what: "branch" }));
    let taken = scene
        .projects
        .restore_branch(number, 1, Some(&branch("main")), &root());
    assert!(matches!(
        taken.unwrap_err(),
        Error::Exists { what: "branch" }
    ));
    let back = scene
        .projects
        .restore_branch(number, 1, Some(&branch("back")), &root())
        .unwrap();
    assert_eq!(back.name(), &branch("back"));
    assert_eq!(
        seen(&scene.project.branch(&branch("back")).unwrap()),
        seen(&back)
    );
    assert!(
        main_of(&scene.project)
            .history(None, None)
            .unwrap()
            .is_empty()
    );

    scene.project.clone().delete_project().unwrap();
    scene.projects.create_project(&id, 1, "alice").unwrap();
    let refused = scene
        .projects
        .restore_project(number, None, &root())
        .unwrap_err();
    assert!(matches!(refused, Error::Exists { what: "project" }));
    let other = RepoId::parse("acme/shop2.erp").unwrap();
    let back = scene
        .projects
        .restore_project(number, Some(&other), &root())
        .unwrap();
    assert_eq!((back.repo_id(), back.number()), (&other, number));
    assert_eq!(
        scene
            .projects
            .project(&other)
            .unwrap()
            .branches()
            .unwrap()
            .len(),
        2
    );
    assert!(
        scene
            .projects
            .project(&id)
            .unwrap()
            .branches()
            .unwrap()
            .is_empty()
    );
    // Who opened it before goes on with it.
    scene.try_save("back", "a", "2").unwrap();
    let back = scene.projects.project(&other).unwrap();
    assert_eq!(
        files_of(&back.branch(&branch("back")).unwrap().head()),
        ["a=2"]
    );
}

fn what_is_deleted_is_listed_newest_first_with_who_deleted_it(scene: &Scene) {
    let bob = ProjectWriter::new(Project::clone(&scene.project), "bob");
    bob.create_branch(&branch("next"), None).unwrap();
    let other = RepoId::parse("other.erp").unwrap();
    let other = scene.projects.create_project(&other, 2, "bob").unwrap();
    let began = scene.clock.now();
    scene.delete_branch("main").unwrap();
    scene.clock.advance_s(60);
    ProjectWriter::new(other, "root").delete_project().unwrap();
    scene.clock.advance_s(60);
    bob.delete_branch(&branch("next"), &Condition::None)
        .unwrap();
    let listed = scene.projects.deleted(|_| true).unwrap();
    let told = listed.iter().map(|deleted| {
        let name = deleted.branch_name().map_or("", |name| name.as_str());
        let (id, repo_id) = (deleted.id(), deleted.repo_id());
        let after_s = (deleted.deleted_at().ms() - began.ms()) / 1000;
        let (owner, by) = (deleted.owner(), deleted.deleted_by());
        format!("{id} {repo_id} {name} {owner} {by} {after_s}")
    });
    assert_eq!(
        told.collect::<Vec<_>>(),
        [
            "branch-1-2 acme/shop.erp next 1 bob 120",
            "project-2 other.erp  2 root 60",
            "branch-1-1 acme/shop.erp main 1 alice 0",
        ]
    );
}

fn branches_come_back_with_their_project_and_not_before(scene: &Scene) {
    let number = scene.project.number();
    scene.save("a", "1");
    scene.project.create_branch(&branch("next"), None).unwrap();
    scene.delete_branch("main").unwrap();
    scene.project.clone().delete_project().unwrap();
    assert_eq!(deleted_ids(scene), [DeletedId::Project(number)]);
    let id = DeletedId::Branch(number, 1);
    assert!(is_missing(
        &scene.projects.deleted_by_id(id),
        Missing::Deleted
    ));
    let early = scene.projects.restore_branch(number, 1, None, &root());
    assert!(is_missing(&early, Missing::Deleted));
    // Whoever opened the project before can do nothing more with it.
    let gone = |result: Result<()>| is_missing(&result, Missing::Project);
    assert!(gone(scene.try_save("next", "a", "2").map(drop)));
    assert!(gone(
        scene.project.create_branch(&branch("x"), None).map(drop)
    ));
    assert!(gone(scene.delete_branch("next")));
    assert!(gone(scene.project.clone().delete_project()));

    restore_project(scene, number);
    assert_eq!(deleted_ids(scene), [id]);
    scene
        .projects
        .restore_branch(number, 1, None, &root())
        .unwrap();
    assert_eq!(scene.files(), ["a=1"]);
    for again in [DeletedId::Project(number), id, DeletedId::Project(99)] {
        let found = scene.projects.deleted_by_id(again);
        assert!(is_missing(&found, Missing::Deleted), "{again}");
    }
}

fn a_deletion_writes_as_little_for_many_branches_as_for_one(scene: &Scene) {
    for number in 0..200 {
        let name = branch(&format!("b{number}"));
        scene.project.create_branch(&name, None).unwrap();
    }
    let store = scene.projects.store();
    let number = scene.project.number();
    let writes = |act: &dyn Fn()| {
        let before = store.last_version().unwrap();
        act();
        store.last_version().unwrap() - before
    };
    let deletion = writes(&|| scene.project.clone().delete_project().unwrap());
    let restore = writes(&|| drop(restore_project(scene, number)));
    // With the record of the audit log; what comes to an owner writes the counter of projects, too.
    assert_eq!((deletion, restore), (4, 5));
    assert_eq!(scene.project.branches().unwrap().len(), 201);
}

fn of_two_restores_at_once_one_wins(scene: &Scene) {
    let number = scene.project.number();
    for round in 0..20 {
        let both = |restore: &(dyn Fn(usize) -> bool + Sync)| {
            let start = Barrier::new(2);
            thread::scope(|scope| {
                let run = |who| {
                    start.wait();
                    restore(who)
                };
                let first = scope.spawn(move || run(0));
                let second = scope.spawn(move || run(1));
                [first, second].map(|one| one.join().unwrap())
            })
        };
        scene.delete_branch("main").unwrap();
        let won = both(&|who| {
            let name = branch(["main", "other"][who]);
            let back = scene
                .projects
                .restore_branch(number, 1, Some(&name), &root());
            back.is_ok() || !is_missing(&back, Missing::Deleted)
        });
        assert!(won[0] != won[1], "{round}: {won:?}");
        assert_eq!(scene.project.branches().unwrap().len(), 1);
        if won[1] {
            scene.delete_branch("other").unwrap();
            scene
                .projects
                .restore_branch(number, 1, Some(&branch("main")), &root())
                .unwrap();
        }
        scene.project.clone().delete_project().unwrap();
        let won = both(&|_| {
            let back = scene.projects.restore_project(number, None, &root());
            back.is_ok() || !is_missing(&back, Missing::Deleted)
        });
        assert!(won[0] != won[1], "{round}: {won:?}");
        assert_eq!(scene.projects.all().unwrap().len(), 1);
    }
}

fn a_save_beside_a_deletion_is_kept_or_refused(scene: &Scene) {
    let number = scene.project.number();
    let mut told: Vec<String> = Vec::new();
    for round in 0..30 {
        let start = Barrier::new(3);
        let start = &start;
        let (saved, is_deleted) = (&AtomicUsize::new(0), &AtomicBool::new(false));
        let saves = |writer: u64| {
            start.wait();
            let patience = Instant::now() + Duration::from_mins(1);
            let mut acknowledged = Vec::new();
            for number in 0..1000 {
                // A deletion that is held up may come after any number of saves.
                let waits = || !is_deleted.load(Ordering::SeqCst) && Instant::now() < patience;
                while number == 500 && waits() {
                    thread::yield_now();
                }
                let text = format!("{round}/{writer}/{number}");
                match scene.try_save("main", &text, &text) {
                    Ok(Saved { .. }) => {
                        acknowledged.push(format!("{text}={text}"));
                        saved.fetch_add(1, Ordering::SeqCst);
                    }
                    Err(Error::NotFound { .. }) => return acknowledged,
                    Err(other) => panic!("{other:?}"),
                }
            }
            panic!("{round}: what is deleted goes on taking saves");
        };
        let done = thread::scope(|scope| {
            let writers = [0, 1].map(|writer| scope.spawn(move || saves(writer)));
            start.wait();
            // Now before the first save, now after some.
            while saved.load(Ordering::SeqCst) < round % 5 {
                thread::yield_now();
            }
            if round % 2 == 0 {
                scene.delete_branch("main").unwrap();
            } else {
                scene.project.clone().delete_project().unwrap();
            }
            is_deleted.store(true, Ordering::SeqCst);
            writers.map(|writer| writer.join().unwrap())
        });
        told.extend(done.into_iter().flatten());
        if round % 2 == 0 {
            scene
                .projects
                .restore_branch(number, 1, None, &root())
                .unwrap();
        } else {
            restore_project(scene, number);
        }
        let (files, head) = (scene.files(), main_of(&scene.project));
        for saved in &told {
            assert!(files.contains(saved), "{round}: {saved} is lost");
        }
        assert_eq!(
            head.snapshot_count(),
            head.history(None, None).unwrap().len() as u64
        );
    }
    assert!(told.len() >= 30 / 5 * (1 + 2 + 3 + 4), "{}", told.len());
}

fn rendered_states_are_told_apart_after_a_restore(scene: &Scene) {
    let number = scene.project.number();
    let state = || {
        let project = scene.projects.project_by_number(number).unwrap();
        (project.state(), project.branches_state().unwrap())
    };
    let mut states = vec![state()];
    scene.delete_branch("main").unwrap();
    states.push(state());
    scene
        .projects
        .restore_branch(number, 1, None, &root())
        .unwrap();
    states.push(state());
    scene.project.clone().delete_project().unwrap();
    let other = RepoId::parse("acme/shop2.erp").unwrap();
    scene
        .projects
        .restore_project(number, Some(&other), &root())
        .unwrap();
    states.push(state());
    let count = states.len();
    states.sort_unstable();
    states.dedup();
    assert_eq!(states.len(), count, "{states:?}");
}
