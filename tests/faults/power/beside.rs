//! A process that opens the store beside a daemon, after that daemon was killed in a sync: what it reads of the log
//! is on no disk yet, and it must not say otherwise.

use std::cell::Cell;
use std::fs::File;

use super::journal::Journal;
use super::recording::{SYNCS_OF_FIRST_START, is_killed_at};
use super::trace::Recorder;
use super::tree::Tree;
use super::{cut_often, finding};
use crate::daemon::siteconf;
use crate::folders::scratch;
use crate::rounds::Rounds;
use crate::tracer;

/// Power cuts behind each start that was killed.
const CUTS: u64 = 30;

#[test]
fn what_a_killed_daemon_had_not_synced_is_durable_before_a_process_beside_marks_it() {
    if !tracer::is_there() {
        return;
    }
    let rounds = Rounds::or(1);
    let mut random = rounds.random(0);
    let marked = Cell::new(0);
    for sync in 1..=SYNCS_OF_FIRST_START {
        let (folder, mut recorder) = (scratch(), Recorder::new());
        let data = folder.path().join("data");
        if !is_killed_at(sync, &data, &recorder) {
            break;
        }
        if !data.join("store.db").exists() {
            continue;
        }
        // As if the daemon had ended just after the process asked who has the folder.
        let lock = File::open(data.join("LOCK")).unwrap();
        lock.try_lock().unwrap();
        let mut command = siteconf(&data);
        command.args(["project", "create", "acme/shop.erp", "--owner", "nobody"]);
        let refused = recorder.trace(&command).output().unwrap();
        assert!(!refused.status.success(), "{refused:?}");
        let mut journal = Journal::new(Tree::new());
        journal.take(&mut recorder, folder.path());
        cut_often(&journal, CUTS, &mut random, |_, left, _| {
            let folder = scratch();
            left.tree.write_to(folder.path());
            let data = folder.path().join("data");
            if data.join("high-water").exists() {
                marked.set(marked.get() + 1);
                assert_eq!(finding(&data), None, "killed at sync {sync}");
            }
        });
    }
    assert!(marked.get() > 0, "no command has marked anything");
}
