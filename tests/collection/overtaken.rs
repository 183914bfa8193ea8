//! Branches and projects that somebody changes while their snapshots are removed.

use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex};

use siteconf::base::actor::Actor;
use siteconf::base::clock::SystemClock;
use siteconf::base::repo_id::RepoId;
use siteconf::repo::audit::Action;
use siteconf::repo::{Condition, Execution, ProjectWriter, Projects};
use siteconf::store::sqlite::SqliteStore;
use siteconf::store::{Batch, Expect, Result, Staging, Store, Version};

use crate::forwarded::forward_reads;
use crate::prunes::{rule, versions};
use crate::scene::{Process, branch};

type Act = Box<dyn FnOnce() + Send>;

/// A store that lets something else happen just before the first commit that removes snapshots.
struct Overtaken {
    store: SqliteStore,
    first: Mutex<Option<Act>>,
}

impl fmt::Debug for Overtaken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Overtaken")
    }
}

impl Store for Overtaken {
    forward_reads!();

    fn commit(&self, batch: Batch) -> Result<Version> {
        let mut writes = batch.writes.iter();
        if writes.any(|write| write.key.starts_with("snapshot/")) {
            let first = self.first.lock().unwrap().take();
            if let Some(first) = first {
                first();
            }
        }
        self.store.commit(batch)
    }

    fn stage(&self) -> Result<Box<dyn Staging>> {
        self.store.stage()
    }
}

/// A daemon, and a project with a branch `main` of four snapshots.
fn four_snapshots(root: &Path) -> (Process, ProjectWriter) {
    let daemon = Process::daemon(root);
    let project = daemon.create();
    for text in ["one", "two", "three", "four"] {
        let saved = daemon.save(&project, "main", "a.xml", text.as_bytes());
        saved.unwrap();
    }
    (daemon, project)
}

/// Leaves one snapshot of each branch, while this happens just before the first of them are removed. How many went.
fn prune_while(root: &Path, first: impl FnOnce() + Send + 'static) -> u64 {
    let first: Act = Box::new(first);
    let store = Arc::new(Overtaken {
        store: SqliteStore::open_beside(root).unwrap(),
        first: Mutex::new(Some(first)),
    });
    let projects = Projects::new(Arc::clone(&store) as Arc<_>, Arc::new(SystemClock));
    let actor = Actor::from("alice");
    let pruning = projects.prune(&store.store, rule(1, 0), Execution::Apply, &actor, |_| {});
    let pruning = pruning.unwrap();
    assert!(pruning.failed.is_none(), "{pruning:?}");
    assert!(store.first.lock().unwrap().is_none(), "nothing was removed");
    pruning.branches.iter().map(|pruned| pruned.snapshots).sum()
}

/// What the log calls the project, and the branch, to which this was done.
fn told(root: &Path, action: Action) -> Vec<String> {
    let log = Process::beside(root).projects.audit_after(None, None);
    let mut told = Vec::new();
    for entry in log.unwrap().entries {
        let record = &entry.record;
        if record.action == action {
            let names = record.project.iter().chain(&record.branch);
            let names: Vec<_> = names.map(|(_, name)| name.as_str()).collect();
            told.push(names.join(":"));
        }
    }
    told
}

#[test]
fn a_branch_that_is_deleted_meanwhile_keeps_its_snapshots() {
    let root = tempfile::tempdir().unwrap();
    let (daemon, project) = four_snapshots(root.path());
    let deleting = project.clone();
    let pruned = prune_while(root.path(), move || {
        let deleted = deleting.delete_branch(&branch("main"), &Condition::None);
        deleted.unwrap();
    });
    assert_eq!(pruned, 0);
    let actor = Actor::from("alice");
    daemon.projects.restore_branch(1, 1, None, &actor).unwrap();
    assert_eq!(versions(&project), [4, 3, 2, 1]);
    assert!(told(root.path(), Action::Prune).is_empty());
}

#[test]
fn what_is_pruned_is_told_of_the_branch_and_the_project_as_they_are_called_then() {
    let root = tempfile::tempdir().unwrap();
    let (_daemon, project) = four_snapshots(root.path());
    let renaming = project.clone();
    let pruned = prune_while(root.path(), move || {
        let (main, old) = (branch("main"), branch("old"));
        let renamed = renaming.rename_branch(&main, &old, &Condition::None);
        renamed.unwrap();
    });
    assert_eq!(pruned, 3);
    assert_eq!(told(root.path(), Action::Prune), ["acme/shop.erp:old"]);
    let store = RepoId::parse("acme/store.erp").unwrap();
    project.clone().rename_project(&store).unwrap();
    let keep = Some(rule(1, 0));
    project.set_retention(keep, &Actor::from("alice")).unwrap();
    let retention = told(root.path(), Action::ProjectRetention);
    assert_eq!(retention, ["acme/store.erp"]);
}

#[test]
fn a_branch_that_is_saved_to_meanwhile_is_pruned_whatever_became_of_the_index_of_names() {
    for is_named in [true, false] {
        let root = tempfile::tempdir().unwrap();
        let (daemon, project) = four_snapshots(root.path());
        let daemon = Arc::new(daemon);
        let saving = Arc::clone(&daemon);
        let pruned = prune_while(root.path(), move || {
            let saved = saving.save(&project, "main", "a.xml", b"five");
            saved.unwrap();
            if !is_named {
                let mut batch = Batch::default();
                let key = "branch-name/00000001/main".to_owned();
                batch.delete(key, Expect::Anything);
                saving.projects.store().commit(batch).unwrap();
            }
        });
        assert_eq!(pruned, 3, "{is_named}");
        drop(daemon);
    }
}
