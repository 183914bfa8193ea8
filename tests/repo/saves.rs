use siteconf::repo::{BatchAction, Condition, Error, Message, Missing};
use siteconf::store::StoreError;
use siteconf::store::memory::MemoryStore;

use crate::fixture::{Scene, branch, path, version};
use crate::meddling::{Meddled, Meddler};
use crate::on_every_engine;

on_every_engine!(
    a_save_is_refused_before_its_body_as_after_it,
    a_save_takes_a_snapshot_first_and_counts_what_is_there,
    a_file_and_a_folder_cannot_share_a_path,
    conditions_hold_or_nothing_changes,
    a_batch_is_all_or_nothing_and_names_the_first_action_that_fails,
    deleting_the_last_file_of_a_folder_removes_the_folder,
    files_saved_and_deleted_in_the_order_of_their_names_are_all_there,
);

mod with_large_blobs {
    use super::*;

    crate::on_engines_with_large_blobs!(a_large_body_is_read_back_whole);
}

#[test]
fn a_change_that_always_conflicts_is_answered_as_busy() {
    let meddler = Meddler::default();
    let scene = Scene::on(Meddled {
        store: MemoryStore::default(),
        meddler: meddler.clone(),
    });
    meddler.conflict_for_ever();
    let is_busy = |error: Error| match error {
        Error::Store(error) => matches!(*error, StoreError::Busy),
        _ => false,
    };
    assert!(is_busy(scene.try_save("main", "a", "1").unwrap_err()));
    let made = scene.project.create_branch(&branch("next"), None);
    assert!(is_busy(made.unwrap_err()));
}

/// What is refused before the body is what would be refused after it, in the same words.
fn a_save_is_refused_before_its_body_as_after_it(scene: &Scene) {
    scene.save("a/b", "one");
    let main = branch("main");
    let tag = |file: &str| Condition::IfMatch(vec![file.to_owned()]);
    let own = scene.head().file(&path("a/b")).unwrap().blob().to_string();
    for condition in [Condition::None, Condition::IfAbsent, tag("*"), tag(&own)] {
        for at in ["a", "a/b", "a/b/c", "a/b/c/d", "a/new", "new/file"] {
            let checked = scene.project.check_save(&main, &path(at), &condition);
            let file = scene.file("two");
            let saved = scene
                .project
                .save(&main, &path(at), file, condition.clone());
            let said = |outcome: Result<(), Error>| outcome.map_err(|error| error.to_string());
            let context = format!("{at} {condition:?}");
            assert_eq!(said(checked), said(saved.map(drop)), "{context}");
            scene
                .project
                .rollback(&main, version(1), &[], &Condition::None)
                .unwrap();
            scene.save("a/b", "one");
        }
    }
}

fn a_save_takes_a_snapshot_first_and_counts_what_is_there(scene: &Scene) {
    let saved = scene.save("config/a.xml", "one");
    assert_eq!(
        (saved.snapshot.number(), saved.created, saved.size),
        (1, true, 3)
    );
    let saved = scene.save("config/a.xml", "more");
    assert_eq!(
        (saved.snapshot.number(), saved.created, saved.size),
        (2, false, 4)
    );
    let totals = scene.head().totals();
    assert_eq!((totals.files, totals.directories, totals.bytes), (1, 1, 4));
    assert_eq!(scene.files(), ["config/a.xml=more"]);
}

fn a_file_and_a_folder_cannot_share_a_path(scene: &Scene) {
    scene.save("a/b", "file");
    let before = scene.head().id();
    for (at, text) in [
        ("a", "\"a\" is a folder, not a file"),
        ("a/b/c", "\"a/b\" is a file, not a folder"),
    ] {
        let refused = scene.try_save("main", at, "x").unwrap_err();
        assert!(
            matches!(&refused, Error::Invalid { reason } if reason == text),
            "{refused}"
        );
    }
    assert_eq!(scene.head().id(), before);
    assert_eq!(
        scene
            .project
            .branch(&branch("main"))
            .unwrap()
            .snapshot_count(),
        1
    );
}

fn conditions_hold_or_nothing_changes(scene: &Scene) {
    let save = |condition| {
        scene
            .project
            .save(&branch("main"), &path("a"), scene.file("x"), condition)
    };
    let tag = |text: &str| Condition::IfMatch(vec![text.to_owned()]);
    assert!(matches!(save(tag("*")), Err(Error::Precondition { .. })));
    save(Condition::IfAbsent).unwrap();
    assert!(matches!(
        save(Condition::IfAbsent),
        Err(Error::Precondition { .. })
    ));
    assert!(matches!(save(tag("0000")), Err(Error::Precondition { .. })));
    let own = scene.head().file(&path("a")).unwrap().blob().to_string();
    save(tag(&own)).unwrap();
    save(tag("*")).unwrap();
    assert_eq!(
        scene
            .project
            .branch(&branch("main"))
            .unwrap()
            .snapshot_count(),
        3
    );
}

fn a_batch_is_all_or_nothing_and_names_the_first_action_that_fails(scene: &Scene) {
    scene.save("keep", "kept");
    scene.save("old", "moved");
    let actions = || {
        vec![
            BatchAction::Create(path("new/a"), scene.file("a")),
            BatchAction::Update(path("keep"), scene.file("updated"), Condition::None),
            BatchAction::Move {
                from: path("old"),
                to: path("new/b"),
                file: None,
                condition: Condition::None,
            },
        ]
    };
    let mut failing = actions();
    failing.push(BatchAction::Delete(path("old"), Condition::None));
    let refused = scene
        .project
        .batch(&branch("main"), failing, &Condition::None)
        .unwrap_err();
    let text = "action 4 (delete \"old\"): the file does not exist";
    assert!(
        matches!(&refused, Error::Invalid { reason } if reason == text),
        "{refused}"
    );
    assert_eq!(scene.files(), ["keep=kept", "old=moved"]);
    let made = scene
        .project
        .clone()
        .saying(Message::parse("why").ok())
        .batch(&branch("main"), actions(), &Condition::None)
        .unwrap();
    assert_eq!(made.snapshot.number(), 3);
    assert_eq!(scene.files(), ["keep=updated", "new/a=a", "new/b=moved"]);
}

fn a_large_body_is_read_back_whole(scene: &Scene) {
    let bytes: Vec<u8> = (0..300_000_u32).flat_map(u32::to_le_bytes).collect();
    for announced in [Some(bytes.len() as u64), None] {
        let mut upload = scene.projects.upload(announced);
        bytes
            .chunks(100_000)
            .for_each(|piece| upload.write(piece).unwrap());
        let file = upload.finish().unwrap();
        let saved = scene
            .project
            .save(&branch("main"), &path("large"), file, Condition::None)
            .unwrap();
        let found = scene.head().file(&path("large")).unwrap();
        assert_eq!(
            found.blob().to_string(),
            blake3::hash(&bytes).to_hex().to_string()
        );
        assert_eq!((saved.size, found.size()), (1_200_000, 1_200_000));
        found.content().unwrap();
    }
    let mut short = scene.projects.upload(Some(10));
    short.write(b"123").unwrap();
    assert!(matches!(short.finish(), Err(Error::Invalid { .. })));
}

fn deleting_the_last_file_of_a_folder_removes_the_folder(scene: &Scene) {
    scene.save("a/b/c", "x");
    scene.save("d", "y");
    assert_eq!(scene.delete("a/b/c").unwrap().snapshot.number(), 3);
    assert_eq!(scene.files(), ["d=y"]);
    assert_eq!(scene.head().totals().directories, 0);
    let absent = scene.delete("a/b/c").unwrap_err();
    assert!(matches!(
        absent,
        Error::NotFound {
            what: Missing::File
        }
    ));
    scene.delete("d").unwrap();
    assert_eq!(scene.head().digest().unwrap().short_id(), "e3b0c442");
}

/// The last entry of a folder ends a node now and then; then the next one begins a node of its own.
fn files_saved_and_deleted_in_the_order_of_their_names_are_all_there(scene: &Scene) {
    const FILES: u64 = 400;
    let name = |number: u64| format!("folder/file-{number:05}");
    for number in 0..FILES {
        let saved = scene.save(&name(number), "x");
        assert_eq!(saved.revision.totals().files, number + 1);
    }
    let files = scene.files();
    assert_eq!(
        files,
        (0..FILES)
            .map(|n| format!("{}=x", name(n)))
            .collect::<Vec<_>>()
    );
    for number in (0..FILES).rev() {
        let deleted = scene.delete(&name(number)).unwrap();
        assert_eq!(deleted.revision.totals().files, number);
    }
}
