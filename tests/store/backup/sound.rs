//! Restores of a backup that was damaged itself: what is sound of it is there, and the rest is told.

use std::collections::BTreeSet;

use siteconf::store::{Body, Scan, StoredObject};

use super::*;

/// A way to damage a file, with what is told of it then.
type Damage = (fn(&Path), &'static str);

const DAMAGES: [Damage; 3] = [
    (
        |path| flip(path, fs::read(path).unwrap().len() / 2),
        "was changed since it was written",
    ),
    (
        |path| {
            let bytes = fs::read(path).unwrap();
            fs::write(path, &bytes[..bytes.len() - 1]).unwrap();
        },
        "was changed since it was written",
    ),
    (|path| fs::remove_file(path).unwrap(), "is missing"),
];

fn flip(path: &Path, place: usize) {
    let mut bytes = fs::read(path).unwrap();
    bytes[place] ^= 1;
    fs::write(path, bytes).unwrap();
}

/// A line for each record and each object in the database, and the ids of the others.
fn lines(store: &dyn Store) -> (BTreeSet<String>, Vec<ObjectId>) {
    let records = store.scan(Scan::prefix("")).unwrap();
    let mut lines: BTreeSet<_> = records.iter().map(|it| format!("{it:?}")).collect();
    let mut large = Vec::new();
    for id in store.ids_with_prefix(&[], usize::MAX).unwrap() {
        // The file of one may be missing.
        match store.object(id).map(Option::unwrap) {
            Ok(StoredObject {
                kind,
                body: Body::Inline(bytes),
                ..
            }) => drop(lines.insert(format!("{kind} {bytes:?}"))),
            _ => large.push(id),
        }
    }
    (lines, large)
}

/// Restores what is sound, and asserts that one file was left out, or some of it; what was told, too.
fn restored(source: Source<'_>) -> (TempDir, SqliteStore, String) {
    let room = tempfile::tempdir().unwrap();
    let root = room.path().join("new");
    let mut told = Vec::new();
    let restored = restore(source, &root, Extent::WhatIsSound, &mut |step| {
        collect(step, &mut told)
    });
    assert_eq!(restored.unwrap().left_out, 1);
    assert_eq!(told.len(), 1, "{told:?}");
    let store = SqliteStore::open_locked(&root).unwrap();
    (room, store, told.remove(0))
}

/// Asserts that nothing is made of a backup of which these records are wrong.
fn assert_refused(source: Source<'_>, fault: &str) {
    let room = tempfile::tempdir().unwrap();
    let root = room.path().join("new");
    let refused = restore(source, &root, Extent::WhatIsSound, &mut |_| {
        ControlFlow::Continue(())
    });
    let reason = format!(
        "the backup is not what was written: {fault}; without all of its records nothing is restored of it"
    );
    assert_eq!(refused.unwrap_err().to_string(), reason);
    assert!(!root.exists());
}

#[test]
fn what_is_sound_of_a_damaged_backup_is_restored_and_the_rest_is_told() {
    let scene = Scene::new();
    scene.back_up(scene.folder());
    let (whole, large) = lines(&scene.store);
    let (backup, damaged) = (scene.path("backup"), scene.path("damaged"));
    let parts = files(&backup);
    let is_part = |name: &&String| !matches!(name.as_str(), "MANIFEST" | "FORMAT");
    for name in parts.iter().filter(is_part) {
        for (number, (damage, what)) in DAMAGES.into_iter().enumerate() {
            copy(&backup, &damaged);
            damage(&damaged.join(name));
            restore_from(&damaged, &scene.path("new")).unwrap_err();
            let (source, fault) = (Source::open(&damaged).unwrap(), format!("{name} {what}"));
            if name.starts_with("records") {
                assert_refused(source, &fault);
                fs::remove_dir_all(&damaged).unwrap();
                continue;
            }
            let (room, store, told) = restored(source);
            let (there, large_there) = lines(&store);
            let lost: Vec<_> = whole.difference(&there).collect();
            assert!(there.is_subset(&whole), "{there:?}");
            let is_lost = number == 2;
            let new = room.path().join("new");
            let has_key = new.join("secrets/server-key").exists();
            let text = large[0].to_string();
            let has_file = new.join("blobs").join(&text[..2]).join(&text[2..]).exists();
            if name.starts_with("objects") {
                let kept = 5 - lost.len() - usize::from(large_there.is_empty());
                assert_eq!(told, format!("{fault}; {kept} objects of it are restored"));
            } else {
                assert_eq!(told, fault);
            }
            match name.split('/').next().unwrap() {
                "blobs" => assert!(lost.is_empty() && has_key && !has_file && large_there == large),
                "secrets" => assert!(lost.is_empty() && !has_key && has_file),
                _ if is_lost => assert!(lost.len() == 4 && large_there.is_empty()),
                _ => assert!(lost.len() < 2 && has_key && has_file, "{lost:?}"),
            }
            drop(store);
            fs::remove_dir_all(&damaged).unwrap();
        }
    }
}

#[test]
fn of_objects_of_which_a_bit_was_flipped_all_others_are_restored() {
    let scene = Scene::new();
    scene.back_up(scene.file());
    scene.back_up(scene.folder());
    let (whole, _) = lines(&scene.store);
    let stream = fs::read(scene.path("backup.tar")).unwrap();
    let name = files(&scene.path("backup"));
    let name = name.iter().find(|name| name.starts_with("objects"));
    let name = name.unwrap();
    let bytes = fs::read(scene.path("backup").join(name)).unwrap();
    let begin = stream.windows(bytes.len()).position(|part| part == bytes);
    let mut lost = Vec::new();
    for place in (0..bytes.len()).step_by(7) {
        let mut changed = stream.clone();
        changed[begin.unwrap() + place] ^= 1 << (place % 8);
        let (_room, store, told) = restored(Source::stream(Box::new(&changed[..]), "it"));
        let fault = format!("{name} was changed since it was written; ");
        assert!(told.starts_with(&fault), "{told}");
        let (there, _) = lines(&store);
        assert!(there.is_subset(&whole), "{place}: {there:?}");
        lost.push(whole.len() - there.len());
    }
    // What says how long a row is takes those behind it along.
    let few = lost.iter().filter(|lost| **lost < 2).count();
    assert!(few * 2 > lost.len(), "{lost:?}");
    assert!(lost.contains(&1), "{lost:?}");
}

/// As after a copy of the backup that removes nothing: the one that belongs there stays.
#[test]
fn a_file_beside_those_of_a_backup_takes_none_of_them_along() {
    let scene = Scene::new();
    scene.back_up(scene.folder());
    let surplus = format!("secrets/server-key.{}", "0".repeat(16));
    fs::write(scene.path("backup").join(&surplus), "0".repeat(64)).unwrap();
    let mut told = Vec::new();
    let source = Source::open(&scene.path("backup")).unwrap();
    let new = scene.path("new");
    let made = restore(source, &new, Extent::WhatIsSound, &mut |step| {
        collect(step, &mut told)
    });
    assert_eq!(made.unwrap().left_out, 0);
    let fault = format!("{surplus} is there, and the manifest does not name it");
    assert_eq!(told, [fault]);
    assert!(new.join("secrets/server-key").exists());
}
