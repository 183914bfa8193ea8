//! Rounds of saves that need what is just being removed.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex};
use std::thread;
use std::time::Duration;

use rand::RngExt;
use rand::rngs::StdRng;
use siteconf::base::snapshot_version::SnapshotVersion;
use siteconf::repo::{Condition, Error, ImportFolder, ImportOptions, ProjectWriter};
use siteconf::store::{Batch, Expect, Scan};

use crate::rounds::Rounds;
use crate::scene::{Process, assert_nothing_left, assert_sound, branch};

/// Changes between two collections, so that each has something to remove however slow the machine is.
const CHANGES_A_ROUND: u64 = 100;
/// So many objects are removed at least, beside those who put them again.
const REMOVED_MIN: u64 = 100;

/// Counts the changes that the writers made.
#[derive(Default)]
struct Changes {
    made: Mutex<u64>,
    more: Condvar,
}

impl Changes {
    fn one_more(&self) {
        *self.made.lock().unwrap() += 1;
        self.more.notify_all();
    }

    /// Waits until so many more were made. A writer that failed makes none: then this panics.
    fn wait_for(&self, count: u64) {
        let made = self.made.lock().unwrap();
        let enough = *made + count;
        let (_made, waited) = self
            .more
            .wait_timeout_while(made, Duration::from_mins(2), |made| *made < enough)
            .unwrap();
        assert!(!waited.timed_out(), "the writers no longer write");
    }
}

/// Ends the writers, also when a round fails.
struct EndAtDrop<'a>(&'a AtomicBool);

impl Drop for EndAtDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Few contents, so that most saves bring back one that was removed; one of seven is large.
fn content(number: u64) -> Vec<u8> {
    let text = format!("content {number}\n");
    text.repeat(if number.is_multiple_of(7) { 6_000 } else { 1 })
        .into_bytes()
}

/// Removes all snapshots but the newest, record by record, as pruning does.
fn prune(process: &Process, project: &ProjectWriter) {
    for branch in project.branches().unwrap() {
        let mut snapshots = branch.history(None, None).unwrap();
        snapshots.retain(|it| it.version.number() + 1 < branch.snapshot_count());
        let number = branch.head().branch_number();
        let mut batch = Batch::default();
        for snapshot in snapshots {
            let version = snapshot.version.number();
            batch.delete(
                format!("snapshot/{number:08x}/{version:08x}"),
                Expect::Anything,
            );
        }
        process.projects.store().commit(batch).unwrap();
    }
    let mut batch = Batch::default();
    for record in process
        .projects
        .store()
        .scan(Scan::prefix("deleted-branch/"))
        .unwrap()
    {
        batch.delete(record.key.clone(), Expect::Anything);
    }
    process.projects.store().commit(batch).unwrap();
}

fn save_at_random(process: &Process, project: &ProjectWriter, numbers: &mut StdRng) {
    let at = format!(
        "{}/{}.xml",
        numbers.random_range(0..4),
        numbers.random_range(0..4)
    );
    let name = ["main", "next"][usize::try_from(numbers.random_range(0..2)).unwrap()];
    let saved = match numbers.random_range(0..12) {
        0 => {
            let to = project.branch(&branch(name)).unwrap().snapshot_count();
            let back = numbers.random_range(0..3);
            let to = SnapshotVersion::new(to.saturating_sub(back).max(1));
            let part = (numbers.random_range(0..2) == 0).then(|| crate::scene::path(&at));
            project
                .rollback(&branch(name), to, part.as_slice(), &Condition::None)
                .map(drop)
        }
        1 => {
            let name = format!("short-{}", numbers.random_range(0..1000));
            let from = ["main", "next", "main@v0002"]
                [usize::try_from(numbers.random_range(0..3)).unwrap()];
            match project.create_branch(&branch(&name), Some(from)) {
                Ok(_) => project.delete_branch(&branch(&name), &Condition::None),
                Err(Error::Exists { .. }) => Ok(()),
                Err(error) => Err(error),
            }
        }
        2 => project
            .delete(&branch(name), &crate::scene::path(&at), Condition::None)
            .map(drop),
        _ => process
            .save(project, name, &at, &content(numbers.random_range(0..20)))
            .map(drop),
    };
    match saved {
        // A snapshot that was pruned, or a file that is not there: never anything of the store.
        Ok(()) | Err(Error::NotFound { .. }) => {}
        Err(error) => panic!("a change failed: {error}"),
    }
}

#[test]
fn saves_of_what_is_being_removed_lose_nothing() {
    let root = tempfile::tempdir().unwrap();
    let daemon = Process::daemon(root.path());
    let project = daemon.create();
    project.create_branch(&branch("next"), None).unwrap();
    let beside = Process::beside(root.path());
    let collecting = Process::beside(root.path());
    let (ended, changes) = (AtomicBool::new(false), Changes::default());
    let mut removed = 0;
    let rounds = Rounds::or(4);
    thread::scope(|scope| {
        for writer in 0..4_u64 {
            let process = if writer < 3 { &daemon } else { &beside };
            let (ended, changes) = (&ended, &changes);
            scope.spawn(move || {
                let (project, mut numbers) = (process.project(), rounds.random(writer));
                while !ended.load(Ordering::Relaxed) {
                    save_at_random(process, &project, &mut numbers);
                    changes.one_more();
                }
            });
        }
        scope.spawn(|| import_all_the_time(&beside, rounds.random(99), &ended));
        let _end = EndAtDrop(&ended);
        let theirs = collecting.project();
        let mut collections = 0;
        // While an import holds its pin there is little to remove: then it is tried on.
        while collections < rounds.count || removed < REMOVED_MIN {
            assert!(collections < rounds.count + 60, "{removed} removed");
            changes.wait_for(CHANGES_A_ROUND);
            prune(&collecting, &theirs);
            removed += collecting.collect().removed.objects;
            assert_heads_are_whole(root.path());
            collections += 1;
        }
    });
    assert_sound(root.path());
    prune(&collecting, &collecting.project());
    assert_nothing_left(&collecting, root.path());
}

/// Reads every file of every state with the caches of a new process.
fn assert_heads_are_whole(root: &std::path::Path) {
    let fresh = Process::beside(root);
    let project = fresh.project();
    for branch in project.branches().unwrap() {
        let head = branch.head();
        let entries = head.list(None, true).unwrap();
        let mut blobs = BTreeSet::new();
        for entry in entries {
            if let Ok(file) = head.file(&crate::scene::path(&entry.path))
                && blobs.insert(file.blob())
            {
                file.content().unwrap();
            }
        }
    }
}

/// Imports folders of the same contents, with a pause before each is laid over the branch.
fn import_all_the_time(process: &Process, mut numbers: StdRng, ended: &AtomicBool) {
    let project = process.project();
    while !ended.load(Ordering::Relaxed) {
        let folder = tempfile::tempdir().unwrap();
        for file in 0..20 {
            let name = format!("{file}.xml");
            std::fs::write(
                folder.path().join(name),
                content(numbers.random_range(0..20)),
            )
            .unwrap();
        }
        let folder = ImportFolder::open(folder.path(), None).unwrap();
        let read = process
            .projects
            .read_folder(&folder, &ImportOptions::default(), |_| {
                ControlFlow::Continue(())
            });
        let read = read.unwrap().unwrap();
        // So that a collection begins, and ends, in between: nothing waits for this.
        thread::sleep(Duration::from_millis(numbers.random_range(0..3000)));
        project.lay(&branch("main"), &read).unwrap();
    }
}
