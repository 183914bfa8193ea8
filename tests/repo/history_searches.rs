//! Searches through the history of a branch: what they come to, against a walk through all of it, how long they take,
//! and what they look at.

use std::collections::HashSet;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::thread;

use proptest::prelude::*;
use siteconf::base::clock::{ManualClock, Timestamp};
use siteconf::base::limits::COMMIT_SEARCH_S_MAX;
use siteconf::base::repo_id::RepoId;
use siteconf::object::key;
use siteconf::repo::{
    Commit, Condition, Error, Execution, ProjectWriter, Projects, Retention, Revision,
};
use siteconf::store::memory::MemoryStore;
use siteconf::store::sqlite::SqliteStore;
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
            // Some are asked for in between, and not to the end: what is known goes on with the branch, and may have
            // gaps where it was asked for from an older state.
            let older = format!("main@{}", version(2 * *asked as u64 + 1));
            for (reference, at) in [("main", "a"), ("main", "run"), (older.as_str(), "a")] {
                let Ok(commits) = scene.project.commits(Some(reference)) else {
                    continue;
                };
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

/// Saves so many files that nobody asks for.
fn save_aside(scene: &Scene, count: u64) {
    for number in 0..count {
        scene.save("other", &number.to_string());
    }
}

/// How many commits of a path there are from a state on, of so many at most, and how many runs of steps were looked at
/// for them.
fn looked_at(scene: &Scene, reference: &str, most: usize) -> (usize, u64) {
    let before = looks_at_runs(&scene.projects);
    let commits = scene.project.commits(Some(reference)).unwrap();
    let commits = commits.of_path(path("a")).unwrap().take(most);
    let found = commits.map(Result::unwrap).count();
    (found, looks_at_runs(&scene.projects) - before)
}

#[test]
fn a_search_that_ends_early_goes_on_with_what_an_earlier_one_found() {
    let scene = Scene::on(MemoryStore::default());
    scene.save("a", "1");
    // With the one before the first 1,301 snapshots in six runs.
    save_aside(&scene, 1300);
    assert_eq!(looked_at(&scene, "main", 10), (1, 6));
    scene.save("a", "2");
    scene.save("a", "3");
    assert_eq!(looked_at(&scene, "main", 1), (1, 1));
    // The last step that nobody has looked at.
    assert_eq!(looked_at(&scene, "main", 10), (3, 1));
    assert_eq!(looked_at(&scene, "main", 10), (3, 0));
}

#[test]
fn what_is_found_from_an_older_state_displaces_nothing_that_is_known_of_newer_ones() {
    let scene = Scene::on(MemoryStore::default());
    scene.save("a", "1");
    save_aside(&scene, 600);
    scene.save("a", "2");
    save_aside(&scene, 600);
    let older = format!("main@{}", version(100));
    assert_eq!(looked_at(&scene, "main", 1), (1, 3));
    assert_eq!(looked_at(&scene, &older, 10), (1, 1));
    assert_eq!(looked_at(&scene, "main", 1), (1, 0));
    assert_eq!(looked_at(&scene, &older, 10), (1, 0));
    // The gap, which lies in three runs.
    assert_eq!(looked_at(&scene, "main", 10), (2, 3));
    assert_eq!(looked_at(&scene, "main", 10), (2, 0));
    assert_eq!(looked_at(&scene, &older, 10), (1, 0));
}

#[test]
fn two_who_search_from_different_states_in_turn_come_to_an_end() {
    let scene = Scene::on(MemoryStore::default());
    scene.save("a", "1");
    save_aside(&scene, 1300);
    let older = format!("main@{}", version(500));
    let is_found = |reference: &str| {
        let commits = scene.project.commits(Some(reference)).unwrap();
        let mut commits = commits.of_path(path("a")).unwrap();
        // Time for one run.
        scene.clock.advance_s(COMMIT_SEARCH_S_MAX.unsigned_abs());
        let first = commits.next().unwrap();
        assert!(matches!(first, Ok(_) | Err(Error::Unfinished)), "{first:?}");
        first.is_ok()
    };
    let mut turns = (1..20).map(|_| ["main", older.as_str()].map(is_found));
    // Of the six runs the newer one looks at five.
    assert_eq!(turns.position(|found| found == [true, true]), Some(5));
}

#[test]
fn a_search_for_the_commits_of_a_path_has_its_own_time() {
    let scene = Scene::on(MemoryStore::default());
    scene.save("a", "1");
    save_aside(&scene, 600);
    let commits = scene.project.commits(None).unwrap();
    // So long it may take to come to the state where they begin.
    scene.clock.advance_s(COMMIT_SEARCH_S_MAX.unsigned_abs());
    let mut commits = commits.of_path(path("a")).unwrap();
    assert_eq!(commits.next().unwrap().unwrap().title(), "save a");
}

#[test]
fn the_first_commit_of_a_path_is_of_the_oldest_state_that_is_left() {
    let root = tempfile::tempdir().unwrap();
    let store = Arc::new(SqliteStore::open_locked(root.path()).unwrap());
    let scene = Scene::over(Arc::clone(&store) as Arc<_>);
    scene.save("a", "1");
    save_aside(&scene, 10);
    let commits = scene.project.commits(None).unwrap();
    let mut commits = commits.of_path(path("a")).unwrap();
    let keep = Retention {
        snapshots: 3,
        days: 0,
    };
    let (apply, actor) = (Execution::Apply, "alice".into());
    let pruned = scene
        .projects
        .prune(store.as_ref(), keep, apply, &actor, |_| {});
    pruned.unwrap();
    let first = commits.next().unwrap().unwrap();
    assert_eq!(first.title(), "earlier history was removed");
    assert_eq!(first.revision.place(), Some(9));
    assert!(commits.next().is_none());
}

/// What is done while snapshots are scanned.
struct Meanwhile(Box<dyn FnOnce() + Send>);

impl fmt::Debug for Meanwhile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Meanwhile")
    }
}

/// A store in which it takes as long as a test says to scan snapshots.
#[derive(Debug)]
struct Slow {
    store: MemoryStore,
    clock: Arc<ManualClock>,
    scan_s: AtomicU64,
    scans: AtomicU64,
    meanwhile: Mutex<Option<Meanwhile>>,
}

impl Slow {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            store: MemoryStore::default(),
            clock: Arc::new(ManualClock::new(Timestamp::parse("2026-11-21").unwrap())),
            scan_s: AtomicU64::new(0),
            scans: AtomicU64::new(0),
            meanwhile: Mutex::default(),
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
            let meanwhile = self.meanwhile.lock().unwrap().take();
            if let Some(Meanwhile(act)) = meanwhile {
                act();
            }
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
    save_aside(&scene, 1300);
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

#[test]
fn commits_of_a_path_that_follow_each_other_are_read_together() {
    let store = Slow::new();
    let scene = Scene::over(Arc::clone(&store) as Arc<_>);
    for number in 1..=300 {
        scene.save("a", &"x".repeat(number));
    }
    let scans_of_all = || {
        store.scans.store(0, Ordering::Relaxed);
        let commits = scene.project.commits(None).unwrap();
        let commits = commits.of_path(path("a")).unwrap();
        assert_eq!(commits.map(Result::unwrap).count(), 300);
        store.scans.load(Ordering::Relaxed)
    };
    // Of 1, 2, 4 and so on, nine times, and twice for the first state of the branch; once of the steps, in two runs.
    assert_eq!([scans_of_all(), scans_of_all()], [13, 11]);
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
    save_aside(&scene, 1000);
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
fn the_last_change_that_is_known_is_told_while_it_is_searched_for_from_an_older_state() {
    let store = Slow::new();
    let scene = Scene::over(Arc::clone(&store) as Arc<_>);
    scene.save("a", "1");
    save_aside(&scene, 600);
    scene.save("a", "2");
    drop(scene);
    let (_, project) = store.open();
    let head = project.branch(&branch("main")).unwrap().head();
    let changed = head.last_change(&path("a")).unwrap();
    let older = format!("main@{}", version(300));
    let older = project.resolve(Some(&older)).unwrap();
    let (tell, told) = mpsc::channel();
    let ask = move || {
        let known = head.known_last_change(&path("a")).unwrap();
        tell.send(known).unwrap();
    };
    *store.meanwhile.lock().unwrap() = Some(Meanwhile(Box::new(ask)));
    let before = older.last_change(&path("a")).unwrap();
    assert_eq!(told.try_recv().unwrap(), Some(changed));
    assert_ne!(before, changed);
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
