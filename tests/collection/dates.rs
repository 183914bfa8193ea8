//! How old a snapshot is, whatever date a change brought along, and whatever the machine's clock said.

use std::sync::Arc;

use siteconf::base::clock::{Clock, ManualClock, Timestamp};
use siteconf::repo::{ImportFolder, ImportOptions};
use tempfile::TempDir;

use crate::prunes::{pass_days, prune, rule, versions};
use crate::scene::{Process, branch};

/// A daemon of a new folder, and its clock.
fn daemon() -> (TempDir, Arc<ManualClock>, Process) {
    let root = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::new(Timestamp::parse("2026-11-01").unwrap()));
    let daemon = Process::daemon_at(root.path(), Arc::clone(&clock) as Arc<_>);
    (root, clock, daemon)
}

/// What an import replaced today is kept as long as anything, whatever date was given for it.
#[test]
fn an_import_of_an_earlier_date_can_be_undone_as_long_as_others() {
    let (_root, _, daemon) = daemon();
    let project = daemon.create();
    let at = |text: &str| Timestamp::parse(text).unwrap();
    let old = branch("old");
    project
        .create_branch_at(&old, None, at("2020-01-01"))
        .unwrap();
    let folder = tempfile::tempdir().unwrap();
    for (text, date) in [("1", "2020-02-01"), ("2", "2020-03-01")] {
        std::fs::write(folder.path().join("a"), text).unwrap();
        let options = ImportOptions {
            date: Some(at(date)),
            ..ImportOptions::default()
        };
        let source = ImportFolder::open(folder.path(), None).unwrap();
        project.import(&old, &source, &options, |_| {}).unwrap();
    }
    daemon.save(&project, "old", "a", b"3").unwrap();
    assert_eq!(prune(&daemon, rule(0, 3)), 0);
    let history = project.branch(&old).unwrap().history(None, None).unwrap();
    assert_eq!(history.len(), 3);
}

/// As of a machine that began before its clock was set: the mark knew better.
#[test]
fn what_was_replaced_by_a_clock_far_behind_is_no_older_than_it_is() {
    let (_root, clock, daemon) = daemon();
    let project = daemon.create();
    let save = |text: &str| daemon.save(&project, "main", "a", text.as_bytes()).unwrap();
    save("1");
    pass_days(&daemon, &clock, 10);
    let now = clock.now();
    clock.set(Timestamp::parse("1970-01-01").unwrap());
    save("2");
    clock.set(now);
    save("3");
    assert_eq!(prune(&daemon, rule(0, 3)), 1);
    assert_eq!(versions(&project), [3, 2]);
    // Where it was wrong for long, too.
    pass_days(&daemon, &clock, 4);
    save("4");
    assert_eq!(prune(&daemon, rule(0, 3)), 2);
    assert_eq!(versions(&project), [4]);
}

/// A snapshot of a time to come is as old as the next one, or older.
#[test]
fn a_clock_that_was_far_ahead_once_keeps_no_later_snapshot() {
    let (_root, clock, daemon) = daemon();
    let project = daemon.create();
    let save = |text: &str| daemon.save(&project, "main", "a", text.as_bytes()).unwrap();
    save("1");
    let now = clock.now();
    clock.set(Timestamp::parse("2036-11-01").unwrap());
    save("2");
    clock.set(now);
    pass_days(&daemon, &clock, 5);
    save("3");
    pass_days(&daemon, &clock, 5);
    save("4");
    for (days, left) in [(8, &[4, 3, 2][..]), (3, &[4])] {
        prune(&daemon, rule(0, days));
        assert_eq!(versions(&project), left, "{days} days");
    }
}
