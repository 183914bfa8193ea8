//! Which state last changed a file, against a walk through all of the history.

use proptest::prelude::*;
use siteconf::base::id::BlobId;
use siteconf::repo::{Revision, Snapshot};
use siteconf::store::memory::MemoryStore;

use crate::changing::{apply, branch_name, change};
use crate::fixture::{Scene, branch, path};
use crate::on_every_engine;

on_every_engine!(
    a_file_that_returns_has_changed_again,
    a_bounded_search_ends_at_the_same_snapshot_for_a_thousand_states,
);

fn entry(state: &Revision, at: &str) -> Option<(BlobId, bool)> {
    let file = state.file(&path(at)).ok()?;
    Some((file.blob(), file.is_executable()))
}

/// The states of a branch, newest first.
fn states(scene: &Scene, name: &str) -> Vec<Revision> {
    let branch = scene.project.branch(&branch(name)).unwrap();
    let history = branch.history(None, None).unwrap();
    let older = history
        .into_iter()
        .map(|Snapshot { revision, .. }| revision);
    [branch.head()].into_iter().chain(older).collect()
}

/// Holds the last change of every file of these states, the newest first, against the ones below.
fn assert_last_changes(states: &[Revision]) {
    for (at, state) in states.iter().enumerate() {
        for name in ["a", "b", "run"] {
            let now = entry(state, name);
            if now.is_none() {
                continue;
            }
            let below = states[at..].iter();
            let same = below.take_while(|state| entry(state, name) == now);
            let expected = same.last().unwrap().digest().unwrap();
            let found = state.last_change(&path(name)).unwrap();
            assert_eq!(found, expected, "{name}, {at} states back");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 48,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_last_change_is_that_of_the_history(
        history in prop::collection::vec((change(), any::<bool>()), 1..30),
    ) {
        let scene = Scene::on(MemoryStore::default());
        let mut branches = 1;
        for ((on, change), asked) in &history {
            branches = apply(&scene, branches, *on, change);
            if *asked {
                // Heads alone, as readers ask: what is known goes on with the branch.
                for number in 0..branches {
                    let states = states(&scene, &branch_name(number));
                    let head = states[0].clone();
                    for name in ["a", "b"] {
                        let now = entry(&head, name);
                        if now.is_some() {
                            let same = states.iter().take_while(|s| entry(s, name) == now);
                            let expected = same.last().unwrap().digest().unwrap();
                            prop_assert_eq!(head.last_change(&path(name)).unwrap(), expected);
                        }
                    }
                }
            }
        }
        for number in 0..branches {
            assert_last_changes(&states(&scene, &branch_name(number)));
        }
    }
}

fn a_file_that_returns_has_changed_again(scene: &Scene) {
    let changed = |at: &str| scene.head().last_change(&path(at)).unwrap();
    let now = || scene.head().digest().unwrap();
    scene.save("a", "A");
    let first = now();
    assert_eq!(changed("a"), first);
    scene.save("other", "1");
    assert_eq!(changed("a"), first);
    let fixed = scene.project.resolve(Some(now().commit_id())).unwrap();
    assert_eq!(fixed.last_change(&path("a")).unwrap(), first);
    scene.save("a", "B");
    assert_eq!(changed("a"), now());
    scene.save("a", "A");
    let returned = now();
    assert_eq!(changed("a"), returned, "the newest change counts");
    assert_eq!(returned, fixed.digest().unwrap(), "the state is an old one");
    assert_eq!(fixed.last_change(&path("a")).unwrap(), returned);
    scene.save("other", "2");
    assert_eq!(changed("a"), returned);
    assert_eq!(changed("other"), now());
}

fn a_bounded_search_ends_at_the_same_snapshot_for_a_thousand_states(scene: &Scene) {
    let changed = |state: &Revision, at: &str| state.last_change(&path(at)).unwrap();
    scene.save("a", "1");
    let first = scene.head().digest().unwrap();
    scene.save("b", "1");
    let second = scene.head().digest().unwrap();
    // The last state from which all is searched.
    for number in 0..2020 {
        scene.save("other", &number.to_string());
    }
    assert_eq!(scene.head().place(), Some(2023));
    assert_eq!(changed(&scene.head(), "b"), second);
    for number in 0..2 {
        scene.save("other", &format!("more {number}"));
        let states = states(scene, "main");
        let oldest = &states[1000 + number];
        assert_eq!(oldest.place(), Some(1024));
        // Whether it was asked for before or not.
        for at in ["a", "b"] {
            assert_eq!(changed(&states[0], at), oldest.digest().unwrap(), "{at}");
        }
        let old = &states[1 + number];
        assert_eq!((changed(old, "a"), changed(old, "b")), (first, second));
    }
}
