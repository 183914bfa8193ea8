//! Saves that come between the overlay of an import and its commit.

use std::sync::Arc;

use siteconf::base::limits::REBASED_FILES_MAX;
use siteconf::base::repo_id::RepoId;
use siteconf::repo::{BatchAction, Condition, Error, ProjectWriter, Projects};
use siteconf::store::Store;
use siteconf::store::memory::MemoryStore;
use siteconf::store::record_cache::RecordCache;
use siteconf::store::sqlite::SqliteStore;

use crate::fixture::{Scene, branch, path, version};
use crate::imports::{folder, laid, opened, snapshots, try_import};
use crate::meddling::{Meddled, Meddler};

/// What somebody else does to `main`.
#[derive(Clone)]
struct Other {
    projects: Projects,
    project: ProjectWriter,
}

impl Other {
    fn save(&self, at: &str, text: &str) {
        let file = self.projects.new_file(text.to_owned().into()).unwrap();
        let main = branch("main");
        self.project
            .save(&main, &path(at), file, Condition::None)
            .unwrap();
    }

    fn delete(&self, at: &str) {
        let main = branch("main");
        self.project
            .delete(&main, &path(at), Condition::None)
            .unwrap();
    }
}

/// Calls on each engine with an empty project, in which somebody acts while an import is under way.
fn on_every_engine(check: impl Fn(&Scene, &Meddler, &Other)) {
    let run = |store: Arc<dyn Store>, meddler: &Meddler| {
        let scene = Scene::over(store);
        let other = Other {
            projects: scene.projects.clone(),
            project: scene.project.clone(),
        };
        check(&scene, meddler, &other);
        assert!(meddler.is_done(), "it was never the moment");
    };
    let meddler = Meddler::default();
    let store = MemoryStore::default();
    run(
        Arc::new(Meddled {
            store,
            meddler: meddler.clone(),
        }),
        &meddler,
    );
    let root = tempfile::tempdir().unwrap();
    let store = RecordCache::new(SqliteStore::open_locked(root.path()).unwrap());
    run(
        Arc::new(Meddled {
            store,
            meddler: meddler.clone(),
        }),
        &meddler,
    );
}

#[test]
fn what_others_save_meanwhile_stays_where_the_folder_holds_nothing() {
    on_every_engine(|scene, meddler, other| {
        for at in ["a/old", "a/both", "room/x", "folder", "z"] {
            scene.save(at, "before");
        }
        let acting = other.clone();
        meddler.act(move || {
            acting.save("a/both", "theirs");
            acting.save("a/theirs", "theirs");
            acting.save("new/theirs", "theirs");
            acting.delete("z");
            acting.delete("room/x");
            acting.save("room", "a file");
            acting.delete("folder");
            acting.save("folder/in", "a folder");
        });
        let folder = folder(&[("a/both", "ours"), ("a/ours", "ours"), ("new/ours", "ours")]);
        let report = try_import(scene, folder.path(), false).unwrap();
        assert_eq!(report.snapshot, Some(version(5 + 8 + 1)));
        assert_eq!(
            scene.files(),
            [
                "a/both=ours",
                "a/old=before",
                "a/ours=ours",
                "a/theirs=theirs",
                "folder/in=a folder",
                "new/ours=ours",
                "new/theirs=theirs",
                "room=a file",
            ]
        );
        assert_eq!(report.revision.id(), scene.head().id());
        let before = scene.project.branch(&branch("main")).unwrap();
        let before = before.snapshot(report.snapshot.unwrap()).unwrap();
        assert!(
            before.file(&path("room")).is_ok(),
            "the snapshot has what they saved"
        );
    });
}

#[test]
fn a_file_that_the_folder_holds_comes_back_when_others_delete_it_meanwhile() {
    on_every_engine(|scene, meddler, other| {
        scene.save("a/b", "same");
        let acting = other.clone();
        meddler.act(move || acting.delete("a/b"));
        try_import(scene, folder(&[("a/b", "same")]).path(), false).unwrap();
        assert_eq!(scene.files(), ["a/b=same"]);
    });
}

#[test]
fn a_mirror_keeps_of_what_others_save_meanwhile_only_what_was_skipped() {
    on_every_engine(|scene, meddler, other| {
        scene.save("linked/a", "before");
        scene.save("linked/b", "before");
        let acting = other.clone();
        meddler.act(move || {
            acting.save("linked/a", "theirs");
            acting.delete("linked/b");
            acting.save("linked/c/d", "theirs");
            acting.save("gone", "theirs");
            acting.save("ours/gone", "theirs");
        });
        let folder = folder(&[("ours/x", "ours"), ("linked@", "nowhere")]);
        try_import(scene, folder.path(), true).unwrap();
        assert_eq!(
            scene.files(),
            ["linked/a=theirs", "linked/c/d=theirs", "ours/x=ours"]
        );
    });
}

#[test]
fn a_mirror_is_not_disturbed_by_files_that_others_save_in_a_folders_place() {
    on_every_engine(|scene, meddler, other| {
        let acting = other.clone();
        meddler.act(move || {
            acting.save("a", "theirs");
            acting.save("b/c", "theirs");
        });
        try_import(
            scene,
            folder(&[("a/x", "ours"), ("b", "ours")]).path(),
            true,
        )
        .unwrap();
        assert_eq!(scene.files(), ["a/x=ours", "b=ours"]);
    });
}

#[test]
fn a_file_saved_meanwhile_in_a_folders_place_refuses_the_import() {
    for (theirs, reason) in [
        ("a/b", "\"a/b\" is a file, not a folder"),
        ("a", "\"a\" is a file, not a folder"),
        ("a/b/c/d", "\"a/b/c\" is a folder, not a file"),
        ("a/b/c/d/e", "\"a/b/c\" is a folder, not a file"),
    ] {
        on_every_engine(|scene, meddler, other| {
            scene.save("z", "x");
            let acting = other.clone();
            meddler.act(move || acting.save(theirs, "theirs"));
            let refused = try_import(scene, folder(&[("a/b/c", "ours")]).path(), false);
            let refused = refused.unwrap_err();
            assert!(
                matches!(&refused, Error::Invalid { reason: told } if told == reason),
                "{theirs}: {refused}"
            );
            assert_eq!(scene.files(), [&format!("{theirs}=theirs"), "z=x"]);
            assert_eq!(snapshots(scene), 2);
        });
    }
}

#[test]
fn a_project_that_is_renamed_meanwhile_is_not_imported_into_where_its_name_is_meant() {
    for is_meant in [false, true] {
        on_every_engine(|scene, meddler, other| {
            let renaming = other.project.clone();
            let new_id = RepoId::parse("acme/old.erp").unwrap();
            meddler.act(move || drop(renaming.rename_project(&new_id).unwrap()));
            let mut writer = scene.project.clone();
            if is_meant {
                writer = writer.while_as_opened();
            }
            let folder = folder(&[("a", "ours")]);
            let done = writer.import(&branch("main"), &opened(&folder), &laid(false), |_| {});
            if is_meant {
                assert_eq!(
                    done.unwrap_err().to_string(),
                    "project acme/shop.erp was renamed or given to another owner meanwhile"
                );
            } else {
                done.unwrap();
            }
            assert_eq!(snapshots(scene), u64::from(!is_meant));
        });
    }
}

#[test]
fn an_import_is_laid_over_again_when_the_branch_has_changed_by_much() {
    on_every_engine(|scene, meddler, other| {
        scene.save("old", "x");
        let acting = other.clone();
        let file = scene.file("theirs");
        meddler.act(move || {
            let put = |number| {
                let at = format!("many/{}/{number}", number % 100);
                BatchAction::Put(path(&at), file.clone(), None)
            };
            let actions = (0..=REBASED_FILES_MAX).map(put).collect();
            acting
                .project
                .batch(&branch("main"), actions, &Condition::None)
                .unwrap();
        });
        // The second overlay is followed by a save that the commit can bring over.
        let acting = other.clone();
        meddler.act(move || acting.save("many/more", "theirs"));
        let folder = folder(&[("many/7/7", "ours"), ("new", "ours")]);
        try_import(scene, folder.path(), false).unwrap();
        let head = scene.head();
        assert_eq!(head.totals().files, REBASED_FILES_MAX as u64 + 1 + 3);
        for (at, size) in [
            ("many/7/7", 4),
            ("many/8/8", 6),
            ("many/more", 6),
            ("new", 4),
        ] {
            assert_eq!(head.file(&path(at)).unwrap().size(), size, "{at}");
        }
        assert_eq!(snapshots(scene), 4);
    });
}
