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
    no_more_than_a_thousand_snapshots_are_searched,
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

fn no_more_than_a_thousand_snapshots_are_searched(scene: &Scene) {
    scene.save("a", "1");
    let first = scene.head().digest().unwrap();
    scene.save("b", "1");
    let second = scene.head().digest().unwrap();
    // As many as are searched: the oldest of them holds the state that both were saved in.
    for number in 0..1000 {
        scene.save("other", &number.to_string());
    }
    assert_eq!(scene.head().last_change(&path("b")).unwrap(), second);
    scene.save("other", "more");
    let third = states(scene, "main")[1000].digest().unwrap();
    let head = scene.head();
    assert_eq!(
        head.last_change(&path("b")).unwrap(),
        second,
        "it was known"
    );
    assert_eq!(
        head.last_change(&path("a")).unwrap(),
        third,
        "the oldest seen"
    );
    let old = states(scene, "main")[1001].clone();
    assert_eq!(old.digest().unwrap(), second);
    assert_eq!(
        old.last_change(&path("a")).unwrap(),
        first,
        "an older state is searched from itself on"
    );
}
