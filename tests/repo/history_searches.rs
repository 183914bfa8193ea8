//! Searches through the history of a branch: what they come to, against a walk through all of it, how long they take,
//! and what they look at.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;

use proptest::prelude::*;
use siteconf::base::clock::{ManualClock, Timestamp};
use siteconf::base::repo_id::RepoId;
use siteconf::object::key;
use siteconf::repo::{Commit, Condition, Error, ProjectWriter, Projects, Revision};
use siteconf::store::memory::MemoryStore;
use siteconf::store::{self, Batch, Record, Scan, Staging, Store, Version};

use crate::changing::{apply, branch_name, change};
use crate::fixture::{Scene, branch, path, version};
use crate::forwarded::forward_all_but_records;

/// Of a commit its id, its parent's, and what else it says.
type Told = (String, Option<String>, String);

fn id(state: &Revision) -> String {
    state.digest().unwrap().commit_id().to_owned()
}

fn said(commit: &Commit) -> String {
    format!("{} at {} by {}", commit.message(), commit.at, commit.by)
}

/// The commits of a path from the state on that a reference names, as the service lists them.
fn listed(scene: &Scene, reference: &str, at: &str) -> Vec<Told> {
    let commits = scene.project.commits(Some(reference)).unwrap();
    let commits = commits.of_path(path(at)).unwrap();
    let told = |commit: Commit| {
        let parent = commit.parent.as_ref().map(id);
        (id(&commit.revision), parent, said(&commit))
    };
    commits.map(|commit| told(commit.unwrap())).collect()
}

/// Every state of a branch with its id, newest first.
fn states(scene: &Scene, name: &str) -> Vec<(String, Commit)> {
    let branch = scene.project.branch(&branch(name)).unwrap();
    let states = branch.every_state(None).unwrap();
    let with_id = |state: Commit| (id(&state.revision), state);
    states.map(|state| with_id(state.unwrap())).collect()
}

/// The commits of a path from the newest state with this id on, by a look at every state.
fn looked_for(states: &[(String, Commit)], first: &str, at: &str) -> Vec<Told> {
    let begin = states.iter().position(|(id, _)| id == first).unwrap();
    let (mut found, mut found_ids) = (Vec::new(), HashSet::new());
    for (number, (id, state)) in states.iter().enumerate().skip(begin) {
        let before = state.before.as_ref().map(Revision::manifest);
        let is_change = before != Some(state.revision.manifest());
        if is_change && state.touches(&path(at)).unwrap() && found_ids.insert(id) {
            let newer: HashSet<_> = states[..=number].iter().map(|(id, _)| id).collect();
            let mut older = states[number + 1..].iter().map(|(id, _)| id);
            let parent = older.find(|id| !newer.contains(id));
            found.push((id.clone(), parent.cloned(), said(state)));
        }
    }
    found
}

/// Holds the commits of these paths against a look at every state: from the head, and of the first of them from each
/// snapshot, too.
fn assert_listed(scene: &Scene, name: &str, paths: &[&str]) {
    let states = states(scene, name);
    for at in paths {
        let expected = looked_for(&states, &states[0].0, at);
        assert_eq!(listed(scene, name, at), expected, "{name} {at}");
    }
    for (first, state) in &states[1..] {
        let snapshot = version(state.revision.place().unwrap());
        let reference = format!("{name}@{snapshot}");
        let expected = looked_for(&states, first, paths[0]);
        let listed = listed(scene, &reference, paths[0]);
        assert_eq!(listed, expected, "{reference} {}", paths[0]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 48,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn the_commits_of_a_path_are_those_of_the_history(
        history in prop::collection::vec((change(), 0..4_usize), 1..25),
    ) {
        let scene = Scene::on(MemoryStore::default());
        let mut branches = 1;
        for ((on, change), asked) in &history {
            branches = apply(&scene, branches, *on, change);
            // Some are asked for in between, and not to the end: what is known goes on with the branch.
            for at in ["a", "run"] {
                let commits = scene.project.commits(Some("main")).unwrap();
                let begun = commits.of_path(path(at)).unwrap().take(*asked);
                prop_assert!(begun.count() <= *asked);
            }
        }
        for number in 0..branches {
            assert_listed(&scene, &branch_name(number), &["a", "b", "run", "none"]);
        }
    }
}

#[test]
fn a_folder_has_the_commits_of_what_is_below_it() {
    let scene = Scene::on(MemoryStore::default());
    let paths = ["d", "d/e", "d/e/x", "d/y", "z"];
    for (at, text) in [
        ("d/e/x", "1"),
        ("z", "1"),
        ("d/y", "1"),
        ("d/e/x", "2"),
        ("z", "2"),
        // What lay there before, and as many bytes of something else.
        ("d/e/x", "1"),
        ("d/y", "3"),
        ("d/y", "4"),
        ("z", "2"),
    ] {
        scene.save(at, text);
        listed(&scene, "main", "d");
    }
    assert_listed(&scene, "main", &paths);
    scene.delete("d/e/x").unwrap();
    scene.delete("d/y").unwrap();
    scene.save("d/y", "4");
    assert_listed(&scene, "main", &paths);
}

/// A store in which it takes as long as a test says to scan snapshots.
#[derive(Debug)]
struct Slow {
    store: MemoryStore,
    clock: Arc<ManualClock>,
    scan_s: AtomicU64,
    scans: AtomicU64,
}

impl Slow {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            store: MemoryStore::default(),
            clock: Arc::new(ManualClock::new(Timestamp::parse("2026-11-21").unwrap())),
            scan_s: AtomicU64::new(0),
            scans: AtomicU64::new(0),
        })
    }

    /// The project of a scene in this store, opened by somebody who has nothing in memory.
    fn open(self: &Arc<Self>) -> (Projects, ProjectWriter) {
        let store = Arc::clone(self) as Arc<dyn Store>;
        let projects = Projects::new(store, Arc::clone(&self.clock) as Arc<_>);
        let id = RepoId::parse("acme/shop.erp").unwrap();
        let project = ProjectWriter::new(projects.project(&id).unwrap(), "alice");
        (projects, project)
    }
}

impl Store for Slow {
    forward_all_but_records!();

    fn record(&self, key: &str) -> store::Result<Option<Arc<Record>>> {
        self.store.record(key)
    }
    fn scan(&self, scan: Scan<'_>) -> store::Result<Vec<Arc<Record>>> {
        if scan.prefix.starts_with(key::SNAPSHOTS) {
            self.scans.fetch_add(1, Ordering::Relaxed);
            self.clock.advance_s(self.scan_s.load(Ordering::Relaxed));
        }
        self.store.scan(scan)
    }
    fn external_writes(&self) -> store::Result<u64> {
        self.store.external_writes()
    }
    fn commit(&self, batch: Batch) -> store::Result<Version> {
        self.store.commit(batch)
    }
    fn stage(&self) -> store::Result<Box<dyn Staging>> {
        self.store.stage()
    }
}

#[test]
fn a_search_for_the_commits_of_a_path_ends_with_its_time_and_the_next_goes_on() {
    let store = Slow::new();
    let scene = Scene::over(Arc::clone(&store) as Arc<_>);
    scene.save("a", "1");
    // With the one before the first 1,301 snapshots, which are read 256 at a time.
    for number in 0..1300 {
        scene.save("other", &number.to_string());
    }
    drop(scene);
    store.scan_s.store(4, Ordering::Relaxed);
    let (projects, project) = store.open();
    let ask = || -> siteconf::repo::Result<Commit> {
        let mut commits = project.commits(None)?.of_path(path("a"))?;
        commits.next().unwrap()
    };
    let [first, second, third] = [(); 3].map(|()| ask());
    for ended in [first, second] {
        assert!(matches!(ended, Err(Error::Unfinished)), "{ended:?}");
    }
    assert_eq!(third.unwrap().title(), "save a");
    // Then it is known, and after a save only that is looked at.
    let asked_again = || {
        store.scans.store(0, Ordering::Relaxed);
        assert_eq!(ask().unwrap().title(), "save a");
        store.scans.load(Ordering::Relaxed)
    };
    assert_eq!(asked_again(), 1);
    let file = projects.new_file("last".into()).unwrap();
    let saved = project.save(&branch("main"), &path("other"), file, Condition::None);
    saved.unwrap();
    assert_eq!(asked_again(), 2);
}

/// How often a run of steps of a history was looked for in memory.
fn looks_at_runs(projects: &Projects) -> u64 {
    let uses = projects.cache_uses();
    let steps = uses.iter().find(|it| it.name == "history_steps").unwrap();
    steps.hits + steps.misses
}

#[test]
fn the_last_change_that_many_ask_for_at_once_is_searched_for_once() {
    let scene = Scene::on(MemoryStore::default());
    scene.save("a", "1");
    let changed = scene.head().digest().unwrap();
    // 1,001 snapshots in four runs.
    for number in 0..1000 {
        scene.save("other", &number.to_string());
    }
    let (head, before) = (scene.head(), looks_at_runs(&scene.projects));
    let start = Barrier::new(100);
    thread::scope(|scope| {
        for _ in 0..100 {
            scope.spawn(|| {
                start.wait();
                assert_eq!(head.last_change(&path("a")).unwrap(), changed);
            });
        }
    });
    assert_eq!(looks_at_runs(&scene.projects) - before, 4);
}

#[test]
fn the_last_change_of_a_file_stays_known_where_a_search_ends_at_a_newer_snapshot() {
    let store = Slow::new();
    let scene = Scene::over(Arc::clone(&store) as Arc<_>);
    let save_others = |up_to: u64| {
        while scene.head().place().unwrap() < up_to {
            let text = scene.head().place().unwrap().to_string();
            scene.save("other", &text);
        }
    };
    scene.save("a", "1");
    save_others(1100);
    scene.save("b", "1");
    let changed = scene.head().digest().unwrap();
    // The last state from which all is searched.
    save_others(2023);
    assert_eq!(scene.head().last_change(&path("b")).unwrap(), changed);
    save_others(2024);
    let before = looks_at_runs(&scene.projects);
    assert_eq!(scene.head().last_change(&path("b")).unwrap(), changed);
    // That of the new step.
    assert_eq!(looks_at_runs(&scene.projects) - before, 1);
    // One whose change is beyond its end is searched for, whether it was asked for before or not.
    let (_, project) = store.open();
    let other = project.branch(&branch("main")).unwrap().head();
    for at in ["a", "b"] {
        let expected = other.last_change(&path(at)).unwrap();
        assert_eq!(
            scene.head().last_change(&path(at)).unwrap(),
            expected,
            "{at}"
        );
    }
}
