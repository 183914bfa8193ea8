//! Files that were moved, beside a plain model of the rule.

use std::collections::{BTreeMap, HashMap};

use proptest::prelude::*;
use siteconf::repo::{BatchAction, Comparison, Condition, FileDifference, Renames, Revision};
use siteconf::store::memory::MemoryStore;

use crate::fixture::{Scene, branch, path};

/// What lies in few places, of few contents. The first is of no bytes.
fn tree() -> impl Strategy<Value = BTreeMap<String, usize>> {
    let place = (0..4_u8, 0..4_u8).prop_map(|(folder, name)| format!("{folder}/{name}"));
    prop::collection::btree_map(place, 0..4_usize, 0..16)
}

fn lay(
    scene: &Scene,
    before: &BTreeMap<String, usize>,
    tree: &BTreeMap<String, usize>,
) -> Revision {
    let gone = before.keys().filter(|at| !tree.contains_key(*at));
    let gone = gone.map(|at| BatchAction::Delete(path(at), Condition::None));
    let put = tree.iter().map(|(at, content)| {
        BatchAction::Put(path(at), scene.file(["", "a", "b", "c"][*content]), None)
    });
    let actions = gone.chain(put).collect();
    scene
        .project
        .batch(&branch("main"), actions, &Condition::None)
        .unwrap();
    scene.head()
}

/// For each added file the first deleted one of its bytes and name that no other has taken, then of its bytes.
fn moved(differences: &[FileDifference]) -> HashMap<usize, usize> {
    let name = |at: usize| differences[at].path.rsplit('/').next();
    let mut moved = HashMap::new();
    for keeps_name in [true, false] {
        for (at, added) in differences.iter().enumerate() {
            let (None, Some(new), false) = (&added.old, &added.new, moved.contains_key(&at)) else {
                continue;
            };
            let source = differences.iter().enumerate().position(|(from, deleted)| {
                matches!((&deleted.old, &deleted.new), (Some(old), None)
                    if old.size() > 0 && old.blob() == new.blob())
                    && (!keeps_name || name(from) == name(at))
                    && !moved.values().any(|taken| *taken == from)
            });
            moved.extend(source.map(|source| (at, source)));
        }
    }
    moved
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 256,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn what_was_moved_is_told_once_and_by_its_name_first(one in tree(), other in tree()) {
        let scene = Scene::on(MemoryStore::default());
        let old = lay(&scene, &BTreeMap::new(), &one);
        let new = lay(&scene, &one, &other);
        let comparison = Comparison::of(&old, &new).unwrap();
        let differences = comparison.part(None, usize::MAX).unwrap();
        let expected = moved(&differences);
        let renames = Renames::of(&differences);
        for at in 0..differences.len() {
            prop_assert_eq!(renames.source(at), expected.get(&at).copied());
        }
        let all = 0..differences.len();
        let sources = comparison.sources(&comparison.survey().unwrap(), all).unwrap();
        let path = |from: &usize| differences[*from].path.clone();
        let expected: HashMap<_, _> = expected.iter().map(|(at, from)| (*at, path(from))).collect();
        prop_assert_eq!(sources, expected);
    }
}
