//! Branches that are moved in, through the library: how many snapshots go in a commit is the test's.

use std::cell::Cell;
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use siteconf::base::clock::Timestamp;
use siteconf::base::limits::FORGOTTEN_RECORDS_PER_COMMIT;
use siteconf::object::key;
use siteconf::repo::{
    Author, BranchMove, Condition, Error, FileLimit, ImportFolder, Missing, OldSnapshot, Operation,
    Result, Snapshot, Standing,
};
use siteconf::store::memory::MemoryStore;
use siteconf::store::{Batch, Expect, Scan, Store};

use crate::fixture::{Scene, branch, files_of, version};
use crate::meddling::{Meddled, Meddler};

fn author(number: u64) -> Author {
    Author {
        at: Timestamp::from_number(1_700_000_000 + i64::try_from(number).unwrap()).unwrap(),
        by: "ann".to_owned(),
    }
}

/// Folders of an older system: a state holds the file `a` with its number.
struct Old(tempfile::TempDir);

impl Old {
    fn folder(&self, number: u64) -> ImportFolder {
        let folder = self.0.path().join(number.to_string());
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("a"), number.to_string()).unwrap();
        ImportFolder::open(Path::new(&folder), None).unwrap()
    }

    fn add(&self, moving: &mut BranchMove<'_>, number: u64, state: u64) {
        let (state, _) = moving
            .read(&self.folder(state), FileLimit::NONE, None, |_| {
                ControlFlow::Continue(())
            })
            .unwrap()
            .unwrap();
        moving
            .add(OldSnapshot {
                version: version(number),
                state,
                replaced: author(number),
                operation: None,
                path: None,
                message: None,
            })
            .unwrap();
    }

    fn finish(&self, mut moving: BranchMove<'_>, state: u64) -> Result<u64> {
        let (state, _) = moving
            .read(&self.folder(state), FileLimit::NONE, None, |_| {
                ControlFlow::Continue(())
            })
            .unwrap()
            .unwrap();
        Ok(moving.finish(&state, &author(0))?.snapshots)
    }
}

/// Begins to move the branch `old` in as it stands now, with so many old snapshots in a commit.
fn begin(scene: &Scene, per_commit: usize) -> BranchMove<'_> {
    let (project, name) = (&scene.project, branch("old"));
    let standing = project.standing(&name).unwrap();
    project
        .move_branch_by(&name, &standing, per_commit)
        .unwrap()
}

/// The snapshots by their numbers, then the head under 0, each with its files.
fn numbers(scene: &Scene) -> Vec<(u64, Vec<String>)> {
    let branch = scene.project.branch(&branch("old")).unwrap();
    let history = branch.history(None, None).unwrap();
    let told = |snapshot: &Snapshot| (snapshot.version.number(), files_of(&snapshot.revision));
    let mut all: Vec<_> = history.iter().map(told).collect();
    all.reverse();
    all.push((0, files_of(&branch.head())));
    all
}

fn expected(numbers: &[u64], head: u64) -> Vec<(u64, Vec<String>)> {
    let told = |(number, state): (u64, u64)| (number, vec![format!("a={state}")]);
    let all = numbers.iter().map(|number| told((*number, *number)));
    all.chain([told((0, head))]).collect()
}

#[test]
fn numbers_may_lack_where_a_commit_ends() {
    let old = Old(tempfile::tempdir().unwrap());
    for lacking in [3, 4, 5] {
        let scene = Scene::on(MemoryStore::default());
        let there: Vec<_> = (1..=10).filter(|number| *number != lacking).collect();
        let mut moving = begin(&scene, 3);
        for number in &there {
            old.add(&mut moving, *number, *number);
        }
        assert_eq!(old.finish(moving, 11).unwrap(), 9);
        assert_eq!(numbers(&scene), expected(&there, 11), "{lacking}");
    }
}

#[test]
fn a_move_that_ended_where_a_number_lacks_is_gone_on_with() {
    let old = Old(tempfile::tempdir().unwrap());
    let scene = Scene::on(MemoryStore::default());
    let mut moving = begin(&scene, 3);
    for number in [1, 2, 3, 5] {
        old.add(&mut moving, number, number);
    }
    // Killed: three are laid, and the state of the next is the head.
    drop(moving);
    assert_eq!(numbers(&scene), expected(&[1, 2, 3], 5));
    let mut moving = begin(&scene, 3);
    for number in [5, 6] {
        old.add(&mut moving, number, number);
    }
    assert_eq!(old.finish(moving, 7).unwrap(), 2);
    assert_eq!(numbers(&scene), expected(&[1, 2, 3, 5, 6], 7));
    // What holds another state than that which came last does not follow, whatever its number.
    for number in [7, 8] {
        let mut moving = begin(&scene, 3);
        old.add(&mut moving, number, 9);
        let refused = old.finish(moving, 10).unwrap_err().to_string();
        let expected = format!(
            "its old snapshot v000{number} does not follow: the first that is new must hold the state \
             which was moved in last"
        );
        assert_eq!(refused, expected);
    }
}

/// What is said of a branch that is not where it was when the move began.
const MEANWHILE: &str =
    "the branch was made, renamed or deleted here meanwhile: run the same again";

#[test]
fn a_branch_that_is_deleted_or_renamed_while_it_is_moved_in_is_not_made_anew() {
    for (is_renamed, is_here) in [(false, false), (false, true), (true, false), (true, true)] {
        let old = Old(tempfile::tempdir().unwrap());
        let scene = Scene::on(MemoryStore::default());
        let name = branch("old");
        if is_here {
            old.finish(begin(&scene, 1), 1).unwrap();
        }
        let mut moving = begin(&scene, 1);
        old.add(&mut moving, 1, 1);
        if is_here {
            // Nothing is laid yet of what is new.
            assert_eq!(numbers(&scene), expected(&[], 1));
        } else {
            old.add(&mut moving, 2, 2);
            assert_eq!(numbers(&scene), expected(&[1], 2));
        }
        if is_renamed {
            let (new, any) = (branch("new"), Condition::None);
            scene.project.rename_branch(&name, &new, &any).unwrap();
        } else {
            scene.delete_branch("old").unwrap();
        }
        let refused = old.finish(moving, 3).unwrap_err().to_string();
        assert_eq!(refused, MEANWHILE, "renamed: {is_renamed}, here: {is_here}");
        assert!(scene.project.branch(&name).is_err());
    }
}

#[test]
fn a_branch_that_comes_or_comes_and_goes_here_meanwhile_is_no_new_one() {
    let old = Old(tempfile::tempdir().unwrap());
    let scene = Scene::on(MemoryStore::default());
    let name = branch("old");
    let moving = begin(&scene, 3);
    // Somebody else moves it in, and it gets another name: it is found by that which it has there.
    old.finish(begin(&scene, 3), 1).unwrap();
    let (new, any) = (branch("new"), Condition::None);
    scene.project.rename_branch(&name, &new, &any).unwrap();
    assert_eq!(
        old.finish(moving, 1).unwrap_err().to_string(),
        MEANWHILE,
        "renamed"
    );
    assert!(scene.project.branch(&name).is_err());

    scene.delete_branch("new").unwrap();
    let standing = scene.project.standing(&name).unwrap();
    assert!(matches!(standing, Standing::Deleted), "{standing:?}");
    let moving = scene.project.move_branch(&name, &Standing::Absent).unwrap();
    assert_eq!(
        old.finish(moving, 1).unwrap_err().to_string(),
        MEANWHILE,
        "deleted"
    );
    // Who knows that it was deleted may make it anew.
    old.finish(begin(&scene, 3), 1).unwrap();
    assert_eq!(numbers(&scene), expected(&[], 1));
}

#[test]
fn nothing_is_laid_into_a_project_that_is_deleted_meanwhile() {
    let old = Old(tempfile::tempdir().unwrap());
    let (store, meddler) = (MemoryStore::default(), Meddler::default());
    let scene = Scene::on(Meddled {
        store,
        meddler: meddler.clone(),
    });
    old.finish(begin(&scene, 3), 1).unwrap();
    let mut moving = begin(&scene, 3);
    old.add(&mut moving, 1, 1);
    let project = scene.project.clone();
    meddler.act_before_branch(move || project.delete_project().unwrap());
    let refused = old.finish(moving, 2).unwrap_err();
    let is_gone = matches!(
        refused,
        Error::NotFound {
            what: Missing::Project
        }
    );
    assert!(is_gone, "{refused}");
    assert!(meddler.is_done(), "it was never the moment");
    let restored = (scene.projects).restore_project(scene.project.number(), None, &"root".into());
    restored.unwrap();
    assert_eq!(numbers(&scene), expected(&[], 1));
}

#[test]
fn what_is_passed_over_is_kept_until_it_is_laid_or_the_move_is_refused() {
    for pruned in [false, true] {
        let old = Old(tempfile::tempdir().unwrap());
        let store = Arc::new(MemoryStore::default());
        let scene = Scene::over(Arc::clone(&store) as Arc<dyn Store>);
        let mut moving = begin(&scene, 1);
        old.add(&mut moving, 1, 1);
        old.finish(moving, 2).unwrap();
        let head = scene.project.branch(&branch("old")).unwrap().head();
        let mut moving = begin(&scene, 1);
        old.add(&mut moving, 2, 2);
        old.add(&mut moving, 3, 3);
        // With what the head had when the move began: a snapshot by now.
        let folder = old.folder(4);
        let read = moving.read(&folder, FileLimit::NONE, Some(&head), |_| {
            ControlFlow::Continue(())
        });
        let (state, _) = read.unwrap().unwrap();
        if pruned {
            let mut batch = Batch::default();
            batch.delete(key::snapshot(head.branch_number(), 2), Expect::Anything);
            store.commit(batch).unwrap();
        }
        let outcome = moving.finish(&state, &author(0)).map(|laid| laid.snapshots);
        let refused = outcome.map_err(|error| error.to_string());
        if pruned {
            let told = "what was passed over was pruned or deleted in the branch meanwhile: run the same again";
            assert_eq!(refused, Err(told.to_owned()));
        } else {
            assert_eq!(refused, Ok(2));
        }
    }
}

#[test]
fn a_save_that_was_brought_is_counted_by_what_differs() {
    let old = tempfile::tempdir().unwrap();
    let scene = Scene::on(MemoryStore::default());
    let mut moving = begin(&scene, 3);
    let state = |moving: &mut BranchMove<'_>, text: &str| {
        let folder = old.path().join(text);
        fs::create_dir(&folder).unwrap();
        for name in ["a", "b", "c"] {
            // It says "save", and two files differ.
            let text = if name == "c" { "same" } else { text };
            fs::write(folder.join(name), text).unwrap();
        }
        let folder = ImportFolder::open(&folder, None).unwrap();
        let read = moving.read(
            &folder,
            FileLimit::NONE,
            None,
            |_| ControlFlow::Continue(()),
        );
        read.unwrap().unwrap().0
    };
    let first = state(&mut moving, "1");
    moving
        .add(OldSnapshot {
            version: version(1),
            state: first,
            replaced: author(1),
            operation: Some(Operation::Save),
            path: None,
            message: None,
        })
        .unwrap();
    let head = state(&mut moving, "2");
    moving.finish(&head, &author(2)).unwrap();
    let branch = scene.project.branch(&branch("old")).unwrap();
    let changes = branch.changes(None, None).unwrap();
    let counts = changes[0].counts().unwrap().unwrap();
    assert_eq!((counts.added, counts.modified, counts.deleted), (0, 2, 0));
}

#[test]
fn of_what_came_and_is_forgotten_the_name_there_is_kept_until_it_is_made_anew() {
    let old = Old(tempfile::tempdir().unwrap());
    let scene = Scene::on(MemoryStore::default());
    let (projects, project) = (&scene.projects, &scene.project);
    let id = project.repo_id().clone();
    project.keep_identifier(&id).unwrap();
    let move_in = || old.finish(begin(&scene, 3), 1).unwrap();
    let forget = |name: &str| {
        scene.delete_branch(name).unwrap();
        projects.forget_deleted(0, &|| true).unwrap();
    };
    let was_deleted = |name: &str| project.was_deleted(&branch(name)).unwrap();
    move_in();
    project.create_branch(&branch("own"), Some("old")).unwrap();
    forget("own");
    assert!(!was_deleted("own"));
    forget("old");
    assert!(was_deleted("old"));
    move_in();
    assert!(!was_deleted("old"));

    forget("old");
    project.clone().delete_project().unwrap();
    projects.forget_deleted(0, &|| true).unwrap();
    assert!(projects.was_deleted(&id).unwrap());
    let branches = projects.store().scan(Scan::prefix(key::FORGOTTEN_BRANCHES));
    assert!(branches.unwrap().is_empty());
    let made =
        projects.create_project_from(&id, 1, Timestamp::from_number(1).unwrap(), &"root".into());
    made.unwrap();
    assert!(!projects.was_deleted(&id).unwrap());
}

/// Moves a branch `old` into the project, and deletes it.
fn moved_and_deleted(scene: &Scene) {
    let old = Old(tempfile::tempdir().unwrap());
    let project = &scene.project;
    project.keep_identifier(project.repo_id()).unwrap();
    old.finish(begin(scene, 3), 1).unwrap();
    scene.delete_branch("old").unwrap();
}

#[test]
fn the_name_there_is_kept_also_of_what_was_marked_without_it() {
    let scene = Scene::on(MemoryStore::default());
    let (projects, project) = (&scene.projects, &scene.project);
    let store = projects.store();
    moved_and_deleted(&scene);
    // A program that keeps no names marks it, and gets no further.
    let mark = |names: &str, was_deleted: &dyn Fn() -> Result<bool>| {
        assert!(was_deleted().unwrap());
        let marked = || store.scan(Scan::prefix(names)).unwrap();
        projects.forget_deleted(0, &|| marked().is_empty()).unwrap();
        let mut batch = Batch::default();
        for record in &marked() {
            batch.delete(record.key.clone(), Expect::Anything);
        }
        store.commit(batch).unwrap();
        assert!(!was_deleted().unwrap());
        projects.forget_deleted(0, &|| true).unwrap();
        assert!(was_deleted().unwrap());
    };
    mark(key::FORGOTTEN_BRANCHES, &|| {
        project.was_deleted(&branch("old"))
    });
    project.clone().delete_project().unwrap();
    mark(key::FORGOTTEN_PROJECTS, &|| {
        projects.was_deleted(project.repo_id())
    });
}

#[test]
fn a_name_that_is_kept_while_its_project_is_removed_goes_too() {
    let scene = Scene::on(MemoryStore::default());
    let (store, number) = (scene.projects.store(), scene.project.number());
    moved_and_deleted(&scene);
    // Removing these takes more than one commit.
    for save in 0..FORGOTTEN_RECORDS_PER_COMMIT {
        scene.save("a", &save.to_string());
    }
    scene.project.clone().delete_project().unwrap();
    let asked = Cell::new(0);
    // What a second process writes that begins to forget the branch.
    let mark = || {
        let deleted = store.scan(Scan::prefix(key::DELETED_BRANCHES)).unwrap();
        let record = deleted.first().unwrap();
        let kept = store.value::<serde_json::Value>(&record.key).unwrap();
        let kept = kept.unwrap();
        let mut batch = Batch::default();
        batch.write(record.key.clone(), kept.expect(), &*kept.value);
        let name = key::forgotten_branch(number, "old");
        batch.write(name, Expect::Anything, &record.number());
        store.commit(batch).unwrap();
    };
    let forgotten = scene.projects.forget_deleted(0, &|| {
        asked.set(asked.get() + 1);
        if asked.get() == 2 {
            mark();
        }
        true
    });
    assert_eq!(forgotten.unwrap().projects, 1);
    assert!(asked.get() > 2, "removed with several commits");
    let names = store.scan(Scan::prefix(key::FORGOTTEN_BRANCHES)).unwrap();
    assert!(names.is_empty());
}
