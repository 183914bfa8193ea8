//! States as commits, over histories that come back to what they were.

use std::collections::HashSet;

use proptest::prelude::*;
use siteconf::repo::{Commit, Revision, merge_base};
use siteconf::store::memory::MemoryStore;

use crate::changing::{apply, branch_name, change};
use crate::fixture::Scene;

fn id(state: &Revision) -> String {
    state.digest().unwrap().commit_id().to_owned()
}

/// The commits of a branch: each id once, each with the next one as its parent.
fn list(scene: &Scene, name: &str) -> Vec<String> {
    let commits = scene.project.commits(Some(name)).unwrap();
    let commits: Vec<Commit> = commits.collect::<Result<_, _>>().unwrap();
    let ids: Vec<_> = commits.iter().map(|commit| id(&commit.revision)).collect();
    let parents = commits.iter().map(|commit| commit.parent.as_ref().map(id));
    let next = ids.iter().skip(1).cloned().map(Some).chain([None]);
    assert_eq!(parents.collect::<Vec<_>>(), next.collect::<Vec<_>>());
    assert_eq!(ids.iter().collect::<HashSet<_>>().len(), ids.len());
    ids
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 64,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn who_follows_the_parents_comes_to_an_end(
        history in prop::collection::vec(change(), 1..30),
        told_between in any::<bool>(),
    ) {
        let scene = Scene::on(MemoryStore::default());
        let mut branches = 1;
        for (on, change) in &history {
            branches = apply(&scene, branches, *on, change);
            if told_between {
                list(&scene, &branch_name(on % branches));
            }
        }
        let mut all = HashSet::new();
        for number in 0..branches {
            all.extend(list(&scene, &branch_name(number)));
        }
        for start in &all {
            let mut next = Some(start.clone());
            let mut steps = 0;
            while let Some(at) = next {
                let commit = scene.project.commit(Some(&at)).unwrap();
                prop_assert_eq!(id(&commit.revision), at);
                next = commit.parent.as_ref().map(id);
                steps += 1;
                // A walk may go on in another branch that has the id, but never back.
                prop_assert!(steps <= all.len() * branches, "no end from {}", start);
            }
        }
        for (one, other) in all.iter().zip(all.iter().skip(1)) {
            let [one, other] = [one, other].map(|id| scene.project.resolve(Some(id)).unwrap());
            if let Some(base) = merge_base(&one, &other).unwrap() {
                prop_assert!(all.contains(&id(&base)));
            }
            prop_assert_eq!(merge_base(&one, &one).unwrap().map(|it| it.id()), Some(one.id()));
        }
    }
}
