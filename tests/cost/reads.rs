//! What reading looks at: nodes and never a blob where only names are asked for, and nothing at all
//! where nothing has changed.

use std::collections::BTreeSet;
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

use siteconf::base::clock::SystemClock;
use siteconf::base::id::Kind;
use siteconf::base::repo_id::RepoId;
use siteconf::base::snapshot_version::SnapshotVersion;
use siteconf::repo::{Branch, Project, Projects, Revision, diff};
use siteconf::store::Store;
use siteconf::store::record_cache::RecordCache;
use siteconf::store::sqlite::SqliteStore;

use crate::common::counting::Passed;
use crate::common::{Bench, Counting, Layout, body, branch};

const FILES: u64 = 5000;
const READERS: usize = 100;

type Counts = Arc<RecordCache<Counting<SqliteStore>>>;

/// A branch of some thousand files that was saved to, as one finds it after a restart: nothing is in
/// memory and no digest was told.
struct Found {
    counts: Counts,
    project: Project,
    _root: tempfile::TempDir,
}

impl Found {
    fn new() -> Self {
        let bench = Bench::new();
        let main = bench.fill("main", FILES, Layout::Spread);
        bench.save(&main, &Layout::Spread.path(77), body(1, 500));
        let Bench {
            counts,
            repository,
            project,
            root,
        } = bench;
        // With the last handle ends the thread that computes digests ahead: it counts no longer.
        drop((repository, project));
        counts.inner().take();
        Self {
            project: open(&counts),
            counts,
            _root: root,
        }
    }

    fn rows(&self, kind: Kind) -> u64 {
        let ids = self.counts.ids_with_prefix(&[], usize::MAX).unwrap();
        let kinds = ids
            .iter()
            .map(|id| self.counts.object(*id).unwrap().unwrap().kind);
        let rows = size(kinds.filter(|found| *found == kind).count());
        // Looking is not what is counted.
        self.counts.inner().take();
        rows
    }
}

fn open(counts: &Counts) -> Project {
    let store = Arc::clone(counts) as Arc<dyn Store>;
    let id = RepoId::parse("bench/shop.erp").unwrap();
    let repository = Projects::new(store, Arc::new(SystemClock));
    repository.project(&id).unwrap()
}

#[test]
fn what_needs_only_names_reads_no_blob() {
    let found = Found::new();
    let counts = found.counts.inner();
    // Each on handles of its own, with nothing in memory.
    let without_blobs = |what: &str, read: &dyn Fn(&Branch)| {
        let main = open(&found.counts).branch(&branch("main")).unwrap();
        counts.take();
        read(&main);
        let passed = counts.take();
        assert_eq!((passed.blob_reads, passed.objects), (0, 0), "{what}");
        assert!(passed.node_reads > 0, "{what} was in memory");
    };
    without_blobs("a folder", &|main| {
        assert_eq!(main.head().list(None, false).unwrap().len(), 1);
    });
    without_blobs("everything below", &|main| {
        let listed = main.head().list(None, true).unwrap().len();
        assert_eq!(size(listed), FILES + FILES / 100 + 1);
    });
    without_blobs("a diff", &|main| {
        let before = main.snapshot(SnapshotVersion::new(2)).unwrap();
        let changed = diff(&before, &main.head()).unwrap();
        let paths: Vec<_> = changed.iter().map(|change| change.path.as_str()).collect();
        assert_eq!(paths, [Layout::Spread.path(77).as_str()]);
    });
    without_blobs("a digest", &|main| {
        assert_eq!(main.head().digest().unwrap().as_str().len(), 64);
    });
}

fn size(count: usize) -> u64 {
    u64::try_from(count).unwrap()
}

#[test]
fn a_digest_that_a_hundred_ask_for_at_once_is_computed_once() {
    let found = Found::new();
    let head = found.project.branch(&branch("main")).unwrap().head();
    let counts = found.counts.inner();
    counts.take();
    let start = Barrier::new(READERS);
    let digests: BTreeSet<String> = thread::scope(|scope| {
        let ask = || {
            scope.spawn(|| {
                start.wait();
                head.digest().unwrap().to_string()
            })
        };
        let asking: Vec<_> = (0..READERS).map(|_| ask()).collect();
        asking.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert_eq!(digests.len(), 1);
    let passed = counts.take();
    // A computation begins at the manifest, which is not kept in memory.
    assert_eq!((passed.manifest_reads, passed.blob_reads), (1, 0));
    // The empty branch's node and those that the save replaced are not of this state.
    assert!(passed.node_reads > 0 && passed.node_reads < found.rows(Kind::Node));
}

/// Waits until the store keeps a digest, as it does a moment after it was told.
fn wait_until_kept(project: &Project, digest: &str) {
    let patience = Instant::now() + Duration::from_secs(30);
    let kept = || {
        let found = project.resolve(Some(&digest[..40])).unwrap();
        found.kept_digest().unwrap()
    };
    while kept().is_none() {
        assert!(Instant::now() < patience);
        thread::yield_now();
    }
}

#[test]
fn asking_again_for_a_branch_that_did_not_change_does_no_work() {
    let found = Found::new();
    let poll = |project: &Project| {
        let main = project.branch(&branch("main")).unwrap();
        main.head().digest().unwrap().to_string()
    };
    let digest = poll(&found.project);
    wait_until_kept(&found.project, &digest);
    found.counts.inner().take();
    for _ in 0..1000 {
        assert_eq!(poll(&found.project), digest);
    }
    assert_eq!(found.counts.inner().take(), Passed::default());

    // After a restart it is a record: with the last handle what waits to be written is.
    let counts = Arc::clone(&found.counts);
    drop(found.project);
    let again = open(&counts);
    counts.inner().take();
    assert_eq!(poll(&again), digest);
    let passed = counts.inner().take();
    let objects = passed.blob_reads + passed.node_reads + passed.manifest_reads;
    assert_eq!((objects, passed.commits), (0, 0));
}

#[test]
fn commits_that_memory_has_are_told_at_once_and_no_others() {
    let found = Found::new();
    let main = found.project.branch(&branch("main")).unwrap();
    let file = Layout::Spread.path(78);
    let counts = found.counts.inner();
    let known = |state: &Revision| {
        counts.take();
        let known = (
            state.known_digest().unwrap(),
            state.known_last_change(&file).unwrap(),
        );
        let passed = counts.take();
        assert_eq!((passed.node_reads, passed.manifest_reads), (0, 0));
        known
    };
    let head = main.head();
    assert_eq!(known(&head), (None, None));
    let (now, last) = (head.digest().unwrap(), head.last_change(&file).unwrap());
    assert_ne!(now, last);
    assert_eq!(known(&head), (Some(now), Some(last)));
    // The state that the save replaced is the one that brought the file.
    let before = main.snapshot(SnapshotVersion::new(2)).unwrap();
    assert_eq!(known(&before), (Some(last), Some(last)));
    for (id, last) in [(now, Some(last)), (last, None)] {
        let by_id = found.project.resolve(Some(id.commit_id())).unwrap();
        assert_eq!(known(&by_id), (Some(id), last));
    }
}

#[test]
fn the_digest_of_a_state_that_comes_back_is_not_computed_again() {
    // The thread that computes digests ahead may come to a state only when another counts: then once more.
    let mut counted = Vec::new();
    while counted.len() < 5 && counted.last() != Some(&(0, 0, 0)) {
        counted.push(reads_of_a_state_that_comes_back());
    }
    assert_eq!(counted.last(), Some(&(0, 0, 0)), "{counted:?}");
}

/// What its digest reads and writes: nodes, manifests and commits.
fn reads_of_a_state_that_comes_back() -> (u64, u64, u64) {
    let bench = Bench::new();
    let main = bench.fill("main", FILES, Layout::Spread);
    let digest = || {
        let head = bench.project.branch(&main).unwrap().head();
        head.digest().unwrap().to_string()
    };
    let path = Layout::Spread.path(7);
    bench.save(&main, &path, body(1, 100));
    let one = digest();
    bench.save(&main, &path, body(2, 100));
    let other = digest();
    assert_ne!(other, one);
    for told in [&one, &other] {
        wait_until_kept(&bench.project, told);
    }
    bench.save(&main, &path, body(1, 100));
    let counts = bench.counts.inner();
    counts.take();
    assert_eq!(digest(), one);
    let passed = counts.take();
    (passed.node_reads, passed.manifest_reads, passed.commits)
}

#[test]
fn branches_cost_what_is_asked_for_however_many_there_are() {
    let bench = Bench::new();
    let make = |name: String| {
        let made = bench.project.create_branch(&branch(&name), None).unwrap();
        made.last_commit().unwrap();
    };
    let counts = bench.counts.inner();
    let measured = |with: usize| {
        // The index of names is read once, and renewed by each new branch.
        bench.project.branch_names().unwrap();
        counts.take();
        make(format!("new-{with}"));
        let created = counts.take().records;
        bench.project.default_branch().unwrap().unwrap();
        let default = counts.take().records;
        let names = bench.project.branch_names().unwrap();
        assert_eq!(names.len(), with + 1);
        counts.take();
        let page = bench.project.open_branches(&names, 6..16).unwrap();
        let shown: Vec<_> = page.iter().map(|b| b.name().to_string()).collect();
        let expected: Vec<_> = (6..16).map(|number| format!("b-{number:04}")).collect();
        assert_eq!(shown, expected);
        (created, default, counts.take().records)
    };
    (0..20).for_each(|number| make(format!("b-{number:04}")));
    let few = measured(20);
    (20..500).for_each(|number| make(format!("b-{number:04}")));
    let many = measured(501);
    assert_eq!(few, many);
    assert!(many.0 + many.1 <= 8 && many.2 <= 10, "{many:?}");
}

#[test]
fn an_id_that_nothing_has_is_searched_for_once_until_a_branch_changes() {
    let bench = Bench::new();
    for number in 0..4 {
        let name = branch(&format!("b-{number}"));
        bench.project.create_branch(&name, None).unwrap();
        for seed in 0..50 {
            bench.save(&name, &Layout::Flat.path(0), body(seed, 100));
        }
    }
    let counts = bench.counts.inner();
    let miss = |text: &str| {
        counts.take();
        let missed = bench.project.resolve(Some(text)).unwrap_err();
        assert_eq!(missed.to_string(), "Revision not found");
        counts.take().records
    };
    let unknown = "0123456789abcdef0123456789abcdef01234567";
    // What one search has entered in the index the next ones pass over.
    for (text, costs) in [
        (unknown, 200..1000),
        (&unknown[..8], 0..40),
        ("20261128", 0..40),
    ] {
        let cost = miss(text);
        assert!(costs.contains(&cost), "{text}: {cost}");
        for text in [text, &text.to_uppercase()] {
            assert_eq!(miss(text), 0, "{text}");
            assert!(bench.project.resolve_known(Some(text)).is_err());
        }
    }
    bench.save(&branch("b-0"), &Layout::Flat.path(1), body(1, 100));
    assert_eq!(
        bench
            .project
            .resolve_known(Some(unknown))
            .unwrap()
            .map(|_| ()),
        None
    );
    let cost = miss(unknown);
    assert!(cost < 40, "{cost}");
    assert_eq!(miss(unknown), 0);
}

#[test]
fn an_abbreviation_that_is_known_costs_no_look_at_other_branches() {
    let bench = Bench::new();
    for number in 0..20 {
        let made = bench
            .project
            .create_branch(&branch(&format!("b-{number}")), None);
        bench.save(
            made.unwrap().name(),
            &Layout::Flat.path(number),
            body(1, 100),
        );
    }
    let head = bench.project.branch(&branch("b-7")).unwrap().head();
    let id = head.digest().unwrap();
    wait_until_kept(&bench.project, id.as_str());
    let counts = bench.counts.inner();
    for text in [id.short_id(), id.commit_id()] {
        bench.project.resolve(Some(text)).unwrap();
        counts.take();
        let found = bench.project.resolve(Some(text)).unwrap();
        assert_eq!(found.id(), head.id());
        let passed = counts.take();
        assert_eq!((passed.records, passed.commits), (1, 0), "{text}");
    }
}
