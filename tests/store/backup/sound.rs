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

/// Restores what is sound; what was told, too.
fn restored(source: Source<'_>) -> (TempDir, SqliteStore, usize, Vec<String>) {
    let room = tempfile::tempdir().unwrap();
    let root = room.path().join("new");
    let mut told = Vec::new();
    let restored = restore(source, &root, Extent::WhatIsSound, &mut |step| {
        collect(step, &mut told)
    });
    let store = SqliteStore::open_locked(&root).unwrap();
    (room, store, restored.unwrap().left_out, told)
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
            let (room, store, left_out, told) = restored(Source::open(&damaged).unwrap());
            assert_eq!(told, [format!("{name} {what}")]);
            assert_eq!(left_out, 1);
            let (there, large_there) = lines(&store);
            let lost: Vec<_> = whole.difference(&there).collect();
            assert!(there.is_subset(&whole), "{there:?}");
            let is_lost = number == 2;
            let new = room.path().join("new");
            let has_key = new.join("secrets/server-key").exists();
            let text = large[0].to_string();
            let has_file = new.join("blobs").join(&text[..2]).join(&text[2..]).exists();
            match name.split('/').next().unwrap() {
                "blobs" => assert!(lost.is_empty() && has_key && !has_file && large_there == large),
                "secrets" => assert!(lost.is_empty() && !has_key && has_file),
                "objects" if is_lost => assert!(lost.len() == 4 && large_there.is_empty()),
                "records" if is_lost => assert!(lost.len() == 2 && large_there == large),
                _ => assert!(lost.len() < 2 && has_key && has_file, "{lost:?}"),
            }
            drop(store);
            fs::remove_dir_all(&damaged).unwrap();
        }
    }
}

#[test]
fn of_rows_in_which_a_bit_was_flipped_all_others_are_restored() {
    let scene = Scene::new();
    scene.back_up(scene.folder());
    scene.back_up(scene.file());
    let (whole, _) = lines(&scene.store);
    let backup = scene.path("backup");
    let stream = fs::read(scene.path("backup.tar")).unwrap();
    for folder in ["objects", "records"] {
        let name = files(&backup);
        let name = name.iter().find(|name| name.starts_with(folder)).unwrap();
        let bytes = fs::read(backup.join(name)).unwrap();
        let begin = stream.windows(bytes.len()).position(|part| part == bytes);
        let mut lost = Vec::new();
        for place in (0..bytes.len()).step_by(5) {
            let mut changed = stream.clone();
            changed[begin.unwrap() + place] ^= 1;
            let source = Source::stream(Box::new(&changed[..]), "it");
            let (_room, store, left_out, told) = restored(source);
            assert_eq!(told, [format!("{name} was changed since it was written")]);
            assert_eq!(left_out, 1);
            let (there, _) = lines(&store);
            assert!(there.is_subset(&whole), "{place}: {there:?}");
            lost.push(whole.len() - there.len());
        }
        // What says how long a row is takes those behind it along.
        let few = lost.iter().filter(|lost| **lost < 2).count();
        assert!(few * 2 > lost.len(), "{lost:?}");
        assert!(lost.contains(&1), "{lost:?}");
    }
}
