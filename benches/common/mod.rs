//! What the benchmarks share: stores in temporary folders, trees from a fixed seed, counts.
#![allow(
    dead_code,
    unreachable_pub,
    missing_docs,
    reason = "each benchmark uses its part"
)]
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a benchmark that fails shall fail, and it prints"
)]

pub mod asked;
pub mod counting;
pub mod writers;

/// As in the binary.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use siteconf::base::branch_name::BranchName;
use siteconf::base::clock::SystemClock;
use siteconf::base::file_path::FilePath;
use siteconf::base::repo_id::RepoId;
use siteconf::repo::{BatchAction, Condition, NewFile, Project, ProjectWriter, Projects, Saved};
use siteconf::store::Store;
use siteconf::store::record_cache::RecordCache;
use siteconf::store::sqlite::SqliteStore;

pub use counting::Counting;

/// Files of one folder in a spread tree.
const FILES_A_FOLDER: u64 = 100;
/// Files that one batch of a fill makes.
const FILES_A_BATCH: u64 = 100_000;

/// How files lie in a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// In folders of a hundred.
    Spread,
    /// All in one folder.
    Flat,
}

impl Layout {
    pub fn path(self, number: u64) -> FilePath {
        let text = match self {
            Self::Spread => {
                let folder = number / FILES_A_FOLDER;
                format!(
                    "region-{:03}/shop-{folder:06}/file-{number:07}.xml",
                    folder / FILES_A_FOLDER
                )
            }
            Self::Flat => format!("file-{number:07}.xml"),
        };
        FilePath::parse(&text).unwrap()
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Spread => "spread",
            Self::Flat => "flat",
        }
    }
}

/// Bytes that depend on a seed alone and do not repeat.
pub fn body(seed: u64, length: usize) -> Bytes {
    let mut bytes = vec![0; length];
    let mut hasher = blake3::Hasher::new();
    hasher.update(&seed.to_le_bytes());
    hasher.finalize_xof().fill(&mut bytes);
    bytes.into()
}

/// The median of the times that some runs take.
pub fn median(runs: usize, mut run: impl FnMut()) -> Duration {
    let mut times: Vec<_> = (0..runs)
        .map(|_| {
            let start = Instant::now();
            run();
            start.elapsed()
        })
        .collect();
    times.sort();
    times[runs / 2]
}

/// One over the other.
pub fn ratio(one: Duration, other: Duration) -> f64 {
    one.as_secs_f64() / other.as_secs_f64()
}

/// Says whether something stayed at or below its bar.
pub fn at_most(what: &str, most: f64, reached: f64) {
    let said = if reached <= most { "held" } else { "MISSED" };
    println!("bar: {what} <= {most}, reached {reached:.2}: {said}");
}

/// Says whether something came up to its bar.
pub fn at_least(what: &str, least: f64, reached: f64) {
    let said = if reached >= least { "held" } else { "MISSED" };
    println!("bar: {what} >= {least}, reached {reached:.2}: {said}");
}

/// A project in a store of its own.
pub struct Bench {
    pub counts: Arc<RecordCache<Counting<SqliteStore>>>,
    pub repository: Projects,
    pub project: ProjectWriter,
    pub root: tempfile::TempDir,
}

pub fn branch(name: &str) -> BranchName {
    BranchName::parse(name).unwrap()
}

impl Bench {
    pub fn new() -> Self {
        // Beside the build: /tmp may be in memory, where a sync costs nothing.
        let root = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let id = RepoId::parse("bench/shop.erp").unwrap();
        Self::on(root, |repository| {
            repository.create_project(&id, 1, "bench").unwrap()
        })
    }

    fn on(root: tempfile::TempDir, project: impl FnOnce(&Projects) -> Project) -> Self {
        let store = SqliteStore::open_locked(root.path()).unwrap();
        let counts = Arc::new(RecordCache::new(Counting::new(store)));
        let repository =
            Projects::new(Arc::clone(&counts) as Arc<dyn Store>, Arc::new(SystemClock));
        let project = ProjectWriter::new(project(&repository), "bench");
        Self {
            counts,
            repository,
            project,
            root,
        }
    }

    /// The same store, with nothing of it in memory. This one must not be used any more.
    pub fn reopened(self) -> Self {
        let Self {
            counts,
            repository,
            project,
            root,
        } = self;
        let id = project.repo_id().clone();
        drop((counts, repository, project));
        Self::on(root, |repository| repository.project(&id).unwrap())
    }

    /// Makes a branch of so many files that all have the same few bytes.
    pub fn fill(&self, name: &str, files: u64, layout: Layout) -> BranchName {
        let name = branch(name);
        self.project.create_branch(&name, None).unwrap();
        let file = self.file(b"<config/>");
        for start in (0..files).step_by(usize::try_from(FILES_A_BATCH).unwrap()) {
            let end = files.min(start + FILES_A_BATCH);
            let put = |number| BatchAction::Put(layout.path(number), file.clone(), None);
            self.project
                .batch(&name, (start..end).map(put).collect(), &Condition::None)
                .unwrap();
        }
        assert_eq!(self.project.branch(&name).unwrap().totals().files, files);
        name
    }

    pub fn file(&self, bytes: &[u8]) -> NewFile {
        self.repository
            .new_file(Bytes::copy_from_slice(bytes))
            .unwrap()
    }

    pub fn save(&self, branch: &BranchName, path: &FilePath, bytes: Bytes) -> Saved {
        let file = self.repository.new_file(bytes).unwrap();
        self.project
            .save(branch, path, file, Condition::None)
            .unwrap()
    }
}
