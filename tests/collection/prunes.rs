//! Which snapshots stay, and what is told of those that went.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use rusqlite::Connection;
use serde_json::Value;
use siteconf::base::actor::Actor;
use siteconf::base::clock::{ManualClock, SystemClock, Timestamp};
use siteconf::base::repo_id::RepoId;
use siteconf::base::snapshot_version::SnapshotVersion;
use siteconf::repo::{Body, Condition, Error, Execution, ProjectWriter, Projects, Retention};
use siteconf::store::sqlite::SqliteStore;
use siteconf::store::{Batch, Expect, Result, Scan, Staging, Store, Version};

use crate::forwarded::forward_reads;
use crate::scene::{Process, assert_nothing_left, assert_sound, branch, path};

/// What a rule says.
pub(crate) fn rule(snapshots: u64, days: u64) -> Retention {
    Retention { snapshots, days }
}

/// Prunes by a rule; how many snapshots of `main` went.
pub(crate) fn prune(process: &Process, retention: Retention) -> u64 {
    let pruned = process
        .projects
        .prune(
            process.store(),
            retention,
            Execution::Apply,
            &Actor::from("alice"),
            |_| {},
        )
        .unwrap();
    assert!(pruned.failed.is_none(), "{pruned:?}");
    pruned.branches.iter().map(|pruned| pruned.snapshots).sum()
}

/// The versions of the snapshots of `main`, newest first.
pub(crate) fn versions(project: &ProjectWriter) -> Vec<u64> {
    let history = project.branch(&branch("main")).unwrap().history(None, None);
    history
        .unwrap()
        .iter()
        .map(|it| it.version.number())
        .collect()
}

/// A branch with twelve snapshots, one of each of the last twelve days.
fn twelve_days(root: &Path) -> (Process, ProjectWriter) {
    let clock = Arc::new(ManualClock::new(Timestamp::parse("2026-11-01").unwrap()));
    let daemon = Process::daemon_at(root, Arc::clone(&clock) as Arc<_>);
    let project = daemon.create();
    for day in 0..12 {
        let text = format!("day {day}");
        daemon
            .save(&project, "main", "a.xml", text.as_bytes())
            .unwrap();
        pass_days(&daemon, &clock, 1);
    }
    (daemon, project)
}

/// Lets days pass, by steps that no clock is doubted for.
pub(crate) fn pass_days(daemon: &Process, clock: &ManualClock, days: u64) {
    for _ in 0..4 * days {
        clock.advance_s(6 * 3600);
        daemon.projects.steady_clock().now();
    }
}

#[test]
fn a_snapshot_stays_when_one_rule_keeps_it() {
    for (retention, oldest) in [
        (rule(0, 0), 1),
        (rule(100, 0), 1),
        (rule(5, 0), 8),
        (rule(1, 0), 12),
        // A snapshot is as old as the state that replaced it.
        (rule(0, 3), 10),
        (rule(5, 3), 8),
        (rule(2, 3), 10),
        (rule(0, 400), 1),
    ] {
        let root = tempfile::tempdir().unwrap();
        let (daemon, project) = twelve_days(root.path());
        let kept: Vec<u64> = (oldest..=12).rev().collect();
        assert_eq!(prune(&daemon, retention), oldest - 1, "{retention}");
        assert_eq!(versions(&project), kept, "{retention}");
        assert_eq!(prune(&daemon, retention), 0, "{retention}");
    }
}

#[test]
fn the_rule_of_a_project_goes_before_the_services() {
    let root = tempfile::tempdir().unwrap();
    let (daemon, project) = twelve_days(root.path());
    let actor = Actor::from("alice");
    project.set_retention(Some(rule(0, 0)), &actor).unwrap();
    assert_eq!(prune(&daemon, rule(1, 0)), 0);
    project.set_retention(Some(rule(6, 0)), &actor).unwrap();
    assert_eq!(prune(&daemon, rule(1, 0)), 6);
    assert_eq!(daemon.project().retention(), Some(rule(6, 0)));
    project.set_retention(None, &actor).unwrap();
    assert_eq!(prune(&daemon, rule(0, 0)), 0);
    assert_eq!(prune(&daemon, rule(1, 0)), 5);
    let told = daemon
        .projects
        .store()
        .scan(Scan::prefix("audit/"))
        .unwrap();
    let told: Vec<_> = told
        .iter()
        .map(|record| String::from_utf8(record.value.to_vec()).unwrap())
        .collect();
    let count = |what: &str| told.iter().filter(|text| text.contains(what)).count();
    assert_eq!(
        (count("\"project-retention\""), count("\"prune\"")),
        (3, 2),
        "{told:?}"
    );
}

#[test]
fn what_is_pruned_is_not_found_and_its_number_is_not_given_again() {
    let root = tempfile::tempdir().unwrap();
    let daemon = Process::daemon(root.path());
    let project = daemon.create();
    let mut ids = Vec::new();
    for text in ["one", "two", "three", "four"] {
        let saved = daemon
            .save(&project, "main", "a.xml", text.as_bytes())
            .unwrap();
        let other = format!("of {text}");
        daemon
            .save(&project, "main", "b.xml", other.as_bytes())
            .unwrap();
        ids.push(saved.revision.digest().unwrap().commit_id().to_owned());
        project.resolve(Some(ids.last().unwrap())).unwrap();
    }
    daemon.flush_commit_ids();
    let before = project.branch(&branch("main")).unwrap().head();
    // Memory has what last changed the files.
    before.last_change(&path("a.xml")).unwrap();
    let weighed = daemon
        .projects
        .prune(
            daemon.store(),
            rule(1, 0),
            Execution::Preview,
            &Actor::from("alice"),
            |_| {},
        )
        .unwrap();
    assert_eq!(versions(&project).len(), 8, "it was only weighed");
    assert_eq!(prune(&daemon, rule(1, 0)), 7);
    assert_eq!(versions(&project), [8]);

    let not_found = |reference: &str| {
        let refused = project.resolve(Some(reference)).unwrap_err();
        assert!(
            matches!(refused, Error::NotFound { .. }),
            "{reference}: {refused}"
        );
    };
    for collected in [false, true] {
        for reference in [&ids[0], &ids[1], &ids[2], "main@v0001", "main@v0007"] {
            not_found(reference);
        }
        project.resolve(Some("main@v0008")).unwrap();
        let refused = project.rollback(
            &branch("main"),
            SnapshotVersion::new(3),
            &[],
            &Condition::None,
        );
        assert!(matches!(refused.unwrap_err(), Error::NotFound { .. }));
        let commits: Vec<_> = project.branch(&branch("main")).unwrap().commits().collect();
        let titles: Vec<_> = commits
            .iter()
            .map(|it| it.as_ref().unwrap().title())
            .collect();
        assert_eq!(titles, ["save b.xml", "earlier history was removed"]);
        let head = project.branch(&branch("main")).unwrap().head();
        let oldest = project
            .resolve(Some("main@v0008"))
            .unwrap()
            .digest()
            .unwrap();
        assert_eq!(head.last_change(&path("a.xml")).unwrap(), oldest);
        if !collected {
            let removed = daemon.collect().removed;
            // The nodes and the manifest of a state that has no files are in no state that is left.
            assert_eq!(removed, weighed.branches[0].frees);
            assert_sound(root.path());
        }
    }

    // The content of a pruned state comes again, and its id with it.
    daemon.save(&project, "main", "b.xml", b"of two").unwrap();
    let again = daemon.save(&project, "main", "a.xml", b"two").unwrap();
    assert_eq!(again.snapshot, SnapshotVersion::new(10));
    let head = project.branch(&branch("main")).unwrap().head();
    let id = head.digest().unwrap();
    daemon.flush_commit_ids();
    assert_eq!(
        project.resolve(Some(id.commit_id())).unwrap().manifest(),
        head.manifest()
    );
    assert_nothing_left(&daemon, root.path());
}

/// Projects `acme/a.erp` and `acme/b.erp` with two branches of four snapshots each, all commit ids known.
fn four_branches(root: &Path) {
    let daemon = Process::daemon(root);
    for name in ["acme/a.erp", "acme/b.erp"] {
        let repo_id = RepoId::parse(name).unwrap();
        let project = daemon
            .projects
            .create_project(&repo_id, 1, "alice")
            .unwrap();
        let project = ProjectWriter::new(project, "alice");
        for name in ["main", "other"] {
            project.create_branch(&branch(name), None).unwrap();
            for text in ["one", "two", "three", "four"] {
                let content = format!("{text} of {name}");
                let saved = daemon.save(&project, name, "a.xml", content.as_bytes());
                saved.unwrap().revision.digest().unwrap();
            }
        }
    }
}

/// Damages the first record of these keys.
fn damage(root: &Path, keys: &str) {
    let db = Connection::open(root.join("store.db")).unwrap();
    let first = "SELECT min(version) FROM record WHERE key LIKE ?1";
    let change = format!("UPDATE record SET checksum = x'00' WHERE version = ({first})");
    assert_eq!(db.execute(&change, [keys]).unwrap(), 1, "{keys}");
}

#[test]
fn what_is_damaged_keeps_its_snapshots_and_the_others_are_pruned() {
    let all = ["a.erp main", "a.erp other", "b.erp main", "b.erp other"];
    for (keys, pruned) in [
        ("digest/%", &all[..]),
        ("commit/%", &all),
        ("snapshot/00000001/00000002", &all[1..]),
        ("branch/00000001/00000001", &all[1..]),
        ("project/00000001", &all[2..]),
    ] {
        let root = tempfile::tempdir().unwrap();
        four_branches(root.path());
        damage(root.path(), keys);
        let output = Command::new(env!("CARGO_BIN_EXE_siteconf"))
            .args(["prune", "--keep-snapshots", "1", "--json", "--data"])
            .arg(root.path())
            .output()
            .unwrap();
        let rows: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
        let told: Vec<_> = rows
            .iter()
            .map(|row| {
                assert_eq!(row["snapshots"], 3, "{row}");
                let repo_id = row["repo_id"].as_str().unwrap();
                let branch = row["branch"].as_str().unwrap();
                format!("{} {branch}", repo_id.strip_prefix("acme/").unwrap())
            })
            .collect();
        assert_eq!(told, pruned, "{keys}");
        let is_whole = pruned.len() == all.len();
        assert_eq!(output.status.success(), is_whole, "{keys}: {output:?}");
        let said = String::from_utf8(output.stderr).unwrap();
        let says = said.contains(&format!(
            "siteconf: {}: record \"{keys}\" is damaged: ",
            root.path().display()
        ));
        assert_eq!(says, !is_whole, "{said}");
    }
}

#[test]
fn what_another_has_pruned_meanwhile_is_not_told_as_done() {
    let root = tempfile::tempdir().unwrap();
    let (daemon, project) = twelve_days(root.path());
    let beside = Process::beside(root.path());
    let actor = Actor::from("alice");
    let mut others = 0;
    let meanwhile = |_| others += prune(&beside, rule(5, 0));
    let pruning = daemon.projects.prune(
        daemon.store(),
        rule(1, 0),
        Execution::Apply,
        &actor,
        meanwhile,
    );
    assert!(pruning.unwrap().branches.is_empty());
    assert_eq!(others, 7);
    assert_eq!(versions(&project), [12, 11, 10, 9, 8]);
    assert_eq!(prune(&daemon, rule(1, 0)), 4);
}

#[test]
fn what_a_rule_keeps_that_was_given_meanwhile_stays() {
    let root = tempfile::tempdir().unwrap();
    let (daemon, project) = twelve_days(root.path());
    let actor = Actor::from("alice");
    let pruning =
        daemon
            .projects
            .prune(daemon.store(), rule(1, 0), Execution::Apply, &actor, |_| {
                project.set_retention(Some(rule(8, 0)), &actor).unwrap();
            });
    assert!(pruning.unwrap().branches.is_empty());
    assert_eq!(versions(&project).len(), 12);
    assert_eq!(prune(&daemon, rule(1, 0)), 4);
}

#[test]
fn a_commit_id_that_comes_again_is_known_again() {
    let root = tempfile::tempdir().unwrap();
    let daemon = Process::daemon(root.path());
    let project = daemon.create();
    let saved = |text: &str| {
        let saved = daemon.save(&project, "main", "a.xml", text.as_bytes());
        let digest = saved.unwrap().revision.digest().unwrap();
        daemon.flush_commit_ids();
        digest
    };
    let first = saved("one");
    let prefix = format!("commit/00000001/{}", first.commit_id());
    let store = daemon.projects.store();
    let is_known = || !store.is_empty_under(&prefix).unwrap();
    assert!(is_known());
    saved("two");
    saved("three");
    // By a process that the memory of this one knows nothing of.
    assert_eq!(prune(&Process::beside(root.path()), rule(1, 0)), 2);
    assert!(!is_known());
    assert_eq!(saved("one"), first);
    assert!(is_known());
}

#[test]
fn what_is_deleted_keeps_its_snapshots_until_it_is_forgotten() {
    let root = tempfile::tempdir().unwrap();
    let daemon = Process::daemon(root.path());
    let project = daemon.create();
    let actor = Actor::from("alice");
    for name in ["main", "other"] {
        if name == "other" {
            project.create_branch(&branch(name), None).unwrap();
        }
        for text in ["one", "two", "three", "four"] {
            let content = format!("{text} of {name}");
            let saved = daemon.save(&project, name, "a.xml", content.as_bytes());
            saved.unwrap();
        }
    }
    project
        .delete_branch(&branch("other"), &Condition::None)
        .unwrap();
    assert_eq!(prune(&daemon, rule(1, 0)), 3);
    daemon.collect();
    let restored = daemon.projects.restore_branch(1, 2, None, &actor).unwrap();
    assert_eq!(restored.history(None, None).unwrap().len(), 4);
    let text = |reference: &str| {
        let state = project.resolve(Some(reference)).unwrap();
        let content = state.file(&path("a.xml")).unwrap().content().unwrap();
        let Body::Inline(bytes) = content.body else {
            panic!("it is small");
        };
        String::from_utf8(bytes.to_vec()).unwrap()
    };
    assert_eq!(text("other@v0002"), "one of other");
    assert_eq!(text("other"), "four of other");
    assert_sound(root.path());

    project
        .delete_branch(&branch("other"), &Condition::None)
        .unwrap();
    daemon.projects.forget_deleted(0, &|| true).unwrap();
    assert_eq!(prune(&daemon, rule(1, 0)), 0);
    assert_nothing_left(&daemon, root.path());
    assert!(daemon.projects.restore_branch(1, 2, None, &actor).is_err());
}

/// A store beside which somebody enters commit ids anew right before they are removed, so often.
#[derive(Debug)]
struct Reentered {
    store: SqliteStore,
    times: AtomicU32,
}

impl Store for Reentered {
    forward_reads!();

    fn commit(&self, batch: Batch) -> Result<Version> {
        let ids = batch.writes.iter().filter(|write| write.value.is_none());
        let ids: Vec<_> = ids.filter(|it| it.key.starts_with("commit/")).collect();
        let left = |times: u32| times.checked_sub(1);
        let times = (Ordering::Relaxed, Ordering::Relaxed);
        if !ids.is_empty() && self.times.fetch_update(times.0, times.1, left).is_ok() {
            let mut entered = Batch::upkeep();
            for id in ids {
                let record = self.store.record(&id.key)?.unwrap();
                let value: Value = serde_json::from_slice(&record.value).unwrap();
                entered.write(id.key.clone(), Expect::Anything, &value);
            }
            self.store.commit(entered)?;
        }
        self.store.commit(batch)
    }

    fn stage(&self) -> Result<Box<dyn Staging>> {
        self.store.stage()
    }
}

#[test]
fn a_branch_that_is_read_meanwhile_is_pruned_all_the_same() {
    let root = tempfile::tempdir().unwrap();
    let daemon = Process::daemon(root.path());
    let project = daemon.create();
    for text in ["one", "two", "three", "four"] {
        let saved = daemon.save(&project, "main", "a.xml", text.as_bytes());
        saved.unwrap().revision.digest().unwrap();
    }
    daemon.flush_commit_ids();
    let store = Arc::new(Reentered {
        store: SqliteStore::open_beside(root.path()).unwrap(),
        times: AtomicU32::new(3),
    });
    let beside = Projects::new(Arc::clone(&store) as Arc<_>, Arc::new(SystemClock));
    let actor = Actor::from("alice");
    let pruned = beside.prune(&store.store, rule(1, 0), Execution::Apply, &actor, |_| {});
    let pruned = pruned.unwrap().branches;
    assert_eq!(store.times.load(Ordering::Relaxed), 0);
    let told: Vec<_> = pruned.iter().map(|pruned| pruned.snapshots).collect();
    assert_eq!(told, [3]);
    assert_eq!(versions(&project), [4]);
    // Of the states that went the empty one had its id never told.
    let ids = Scan::prefix("commit/");
    assert_eq!(store.scan(ids).unwrap().len(), 2);
}
