//! Pages of a listing by the path that was seen last, and what is found in one, against the whole.

use siteconf::repo::{BatchAction, Condition, LastEntry, Listing, TreeEntry};

use crate::fixture::{Scene, branch, path};
use crate::on_every_engine;

on_every_engine!(
    every_place_is_found_by_its_path,
    a_search_finds_what_matches,
    a_search_looks_at_so_many_entries,
);

/// Folders of many nodes, names that sort otherwise as texts than as paths.
fn fill(scene: &Scene) {
    let mut paths: Vec<String> = (0..1500).map(|n| format!("flat/f{n:04}")).collect();
    paths.extend((0..300).map(|n| format!("deep/d{n:03}/x")));
    for odd in [
        "a",
        "a.b/c",
        "a-b",
        "ab/x",
        "deep.x",
        "deep/d00",
        "deep/d001.x",
        "deep/d001-x",
    ] {
        paths.push(odd.to_owned());
    }
    let put = |at: &String| BatchAction::Put(path(at), scene.file("x"), None);
    let actions = paths.iter().map(put).collect();
    scene
        .project
        .batch(&branch("main"), actions, &Condition::None)
        .unwrap();
}

fn last(text: &str) -> LastEntry {
    LastEntry::parse(text).unwrap()
}

/// Each listing with its whole.
fn listings(scene: &Scene) -> Vec<(Listing, Vec<TreeEntry>)> {
    let folders = [None, Some("flat"), Some("deep"), Some("deep/d001")];
    let both = folders.into_iter().flat_map(|at| [(at, false), (at, true)]);
    both.map(|(at, recursive)| {
        let at = at.map(path);
        let listing = scene.head().listing(at.as_ref(), recursive).unwrap();
        let whole = listing.part(0, u64::MAX).unwrap();
        (listing, whole)
    })
    .collect()
}

fn every_place_is_found_by_its_path(scene: &Scene) {
    fill(scene);
    for (listing, whole) in listings(scene) {
        for (at, entry) in whole.iter().enumerate() {
            for last in [LastEntry::of(entry), last(&entry.path)] {
                let place = listing.place_after(&last).unwrap();
                assert_eq!(place, Some(at as u64 + 1), "{last:?}");
            }
        }
        assert_eq!(
            listing.place_after(&last("elsewhere/x")).unwrap().is_some(),
            {
                // Only the root lists what is not below a folder, and only recursively.
                listing.content().ends_with("true\n")
            }
        );
    }
    let head = scene.head();
    let flat = head.listing(Some(&path("flat")), false).unwrap();
    for (gone, place) in [
        ("flat/e", 0),
        ("flat/f0003x", 4),
        ("flat/f1499", 1500),
        ("flat/g", 1500),
        // A folder, which comes before the files.
        ("flat/g/", 0),
    ] {
        assert_eq!(
            flat.place_after(&last(gone)).unwrap(),
            Some(place),
            "{gone}"
        );
    }
}

fn a_search_finds_what_matches(scene: &Scene) {
    fill(scene);
    for (listing, whole) in listings(scene) {
        let prefix = listing.content();
        let prefix = prefix.rsplit('\n').next().unwrap().len();
        for text in ["1", "x", "d00", "none", "f149", "a"] {
            let matches = |name: &str| name.contains(text);
            let expected: Vec<_> = whole
                .iter()
                .filter(|entry| matches(&entry.path[prefix..]))
                .collect();
            for limit in [3, 10_000] {
                let (mut found, mut after) = (Vec::new(), None);
                loop {
                    let page = listing
                        .search(&matches, after.as_ref(), limit, usize::MAX)
                        .unwrap()
                        .unwrap();
                    assert!(page.entries.len() <= limit);
                    found.extend(page.entries);
                    match page.next {
                        None => break,
                        Some(next) => after = Some(next),
                    }
                }
                assert_eq!(
                    found.iter().collect::<Vec<_>>(),
                    expected,
                    "{text} by {limit}"
                );
            }
        }
    }
}

fn a_search_looks_at_so_many_entries(scene: &Scene) {
    fill(scene);
    for (listing, whole) in listings(scene) {
        let (mut looked, mut after) = (0, None);
        loop {
            let page = listing
                .search(&|_| false, after.as_ref(), 10, 100)
                .unwrap()
                .unwrap();
            assert!(page.entries.is_empty());
            let Some(next) = page.next else {
                break;
            };
            looked += 100;
            assert_eq!(next, LastEntry::of(&whole[looked - 1]));
            after = Some(next);
        }
        assert!(
            (looked..=looked + 100).contains(&whole.len()),
            "{looked} of {}",
            whole.len()
        );
    }
}
