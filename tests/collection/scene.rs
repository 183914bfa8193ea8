//! A store in a folder, opened as often as there are processes in a test, and what must hold of it.

use std::ops::ControlFlow;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use rusqlite::Connection;
use siteconf::base::branch_name::BranchName;
use siteconf::base::clock::{Clock, SystemClock};
use siteconf::base::file_path::FilePath;
use siteconf::base::repo_id::RepoId;
use siteconf::repo::{
    Collected, CollectionStep, Condition, Patience, ProjectWriter, Projects, Result, Saved,
};
use siteconf::store::record_cache::RecordCache;
use siteconf::store::sqlite::SqliteStore;
use siteconf::store::{Batch, Expect, Scan};

/// What one process has: its store, and its caches.
pub(crate) struct Process {
    cached: Arc<RecordCache<SqliteStore>>,
    pub(crate) projects: Projects,
}

pub(crate) fn branch(name: &str) -> BranchName {
    BranchName::parse(name).unwrap()
}

pub(crate) fn path(text: &str) -> FilePath {
    FilePath::parse(text).unwrap()
}

impl Process {
    /// A daemon's.
    pub(crate) fn daemon(root: &Path) -> Self {
        Self::daemon_at(root, Arc::new(SystemClock))
    }

    /// A daemon's, by this clock.
    pub(crate) fn daemon_at(root: &Path, clock: Arc<dyn Clock>) -> Self {
        Self::of(SqliteStore::open_locked(root).unwrap(), clock)
    }

    /// A command's, beside a daemon.
    pub(crate) fn beside(root: &Path) -> Self {
        Self::of(
            SqliteStore::open_beside(root).unwrap(),
            Arc::new(SystemClock),
        )
    }

    fn of(store: SqliteStore, clock: Arc<dyn Clock>) -> Self {
        let cached = Arc::new(RecordCache::new(store));
        let projects = Projects::new(Arc::clone(&cached) as Arc<_>, clock);
        Self { cached, projects }
    }

    /// The store below the caches.
    pub(crate) fn store(&self) -> &SqliteStore {
        self.cached.inner()
    }

    /// Makes the project and its branch `main`.
    pub(crate) fn create(&self) -> ProjectWriter {
        let repo_id = RepoId::parse("acme/shop.erp").unwrap();
        let project = self.projects.create_project(&repo_id, 1, "alice").unwrap();
        let project = ProjectWriter::new(project, "alice");
        project.create_branch(&branch("main"), None).unwrap();
        project
    }

    /// The project that another has made.
    pub(crate) fn project(&self) -> ProjectWriter {
        let repo_id = RepoId::parse("acme/shop.erp").unwrap();
        ProjectWriter::new(self.projects.project(&repo_id).unwrap(), "alice")
    }

    pub(crate) fn save(
        &self,
        to: &ProjectWriter,
        name: &str,
        at: &str,
        content: &[u8],
    ) -> Result<Saved> {
        let file = self.projects.new_file(content.to_vec().into())?;
        to.save(&branch(name), &path(at), file, Condition::None)
    }

    /// Waits until the commit ids of what was saved are in the index, for as long as a busy machine needs.
    pub(crate) fn flush_commit_ids(&self) {
        let background = self.projects.background();
        background.flush_within("commit/", Duration::from_secs(30));
    }

    /// Collects in a hurry.
    pub(crate) fn try_collect(&self) -> siteconf::store::Result<Collected> {
        self.collect_by(|_| ControlFlow::Continue(()))
    }

    /// The same, and calls `step` as it goes, which may end it.
    pub(crate) fn collect_by(
        &self,
        step: impl FnMut(CollectionStep) -> ControlFlow<()>,
    ) -> siteconf::store::Result<Collected> {
        let patience = Patience {
            readers_wait: Duration::ZERO,
            pause_times: 1,
        };
        self.projects.collect(self.store(), patience, step)
    }

    pub(crate) fn collect(&self) -> Collected {
        self.try_collect().unwrap()
    }
}

/// Removes the records of deleted branches, as when their time is over.
pub(crate) fn forget_deleted(process: &Process) {
    let mut batch = Batch::default();
    for prefix in ["deleted-branch/", "snapshot/00000002/"] {
        for record in process.projects.store().scan(Scan::prefix(prefix)).unwrap() {
            batch.delete(record.key.clone(), Expect::Anything);
        }
    }
    process.projects.store().commit(batch).unwrap();
}

/// Reads one number from the database.
pub(crate) fn number(root: &Path, sql: &str) -> u64 {
    let db = Connection::open(root.join("store.db")).unwrap();
    db.query_one(sql, [], |row| row.get(0)).unwrap()
}

/// Files in `blobs/`.
pub(crate) fn files(root: &Path) -> usize {
    let folders = std::fs::read_dir(root.join("blobs")).unwrap();
    folders
        .map(|folder| std::fs::read_dir(folder.unwrap().path()).unwrap().count())
        .sum()
}

/// Nothing is missing or damaged, down to the last byte.
pub(crate) fn assert_sound(root: &Path) {
    let check = Command::new(env!("CARGO_BIN_EXE_siteconf"))
        .args(["debug", "check", "--deep", "--data"])
        .arg(root)
        .output()
        .unwrap();
    assert!(check.status.success(), "{check:?}");
}

/// After a last collection only what is reachable is stored: a second one finds nothing.
pub(crate) fn assert_nothing_left(process: &Process, root: &Path) {
    process.collect();
    assert_sound(root);
    let weights = process.projects.weigh(process.store(), |_| {}).unwrap();
    assert_eq!(weights.unreachable.objects, 0, "{weights:?}");
    let objects = weights.live.objects + weights.old.objects;
    assert_eq!(number(root, "SELECT count(*) FROM object"), objects);
    assert_eq!(number(root, "SELECT count(*) FROM object_index"), objects);
    let large = number(root, "SELECT count(*) FROM object WHERE bytes IS NULL");
    assert_eq!(files(root) as u64, large);
    let outboards = "SELECT count(*) FROM outboard WHERE seq NOT IN (SELECT seq FROM object)";
    assert_eq!(number(root, outboards), 0);
}
