//! Records that a pruning reads, and has in memory, whatever the number of snapshots.

use siteconf::base::actor::Actor;
use siteconf::object::key;
use siteconf::object::record::{Retention, SnapshotRecord};
use siteconf::repo::Execution;
use siteconf::store::{Batch, Expect, Scan, Store};

use crate::common::counting::Passed;
use crate::common::{Bench, Layout, body};

/// Snapshots of the branch: some pages of them.
const SNAPSHOTS: u64 = 2_500;
const RECORDS_AT_ONCE_MAX: u64 = 1_000;
/// Records of a branch of which nothing is outdated: a few snapshots, and what leads to it.
const RECORDS_OF_YOUNG_MAX: u64 = 50;

/// Prunes a branch with many snapshots by a rule. How many branches it pruned, and what passed.
fn pruned(snapshots: u64) -> (usize, Passed) {
    let bench = Bench::new();
    let main = bench.fill("main", 1, Layout::Flat);
    for turn in 1..=3 {
        bench.save(&main, &Layout::Flat.path(0), body(turn, 10));
    }
    // It is the first branch of the store.
    let prefix = key::snapshots(1);
    let found = bench.counts.scan(Scan::prefix(&prefix)).unwrap();
    let newest = found.last().unwrap();
    let snapshot = newest.decode::<SnapshotRecord>().unwrap().value;
    let mut batch = Batch::default();
    for number in newest.number() + 1..newest.number() + SNAPSHOTS {
        batch.write(key::snapshot(1, number), Expect::Absent, &*snapshot);
    }
    bench.counts.commit(batch).unwrap();
    bench.counts.inner().take();

    let retention = Retention { snapshots, days: 0 };
    let store = bench.counts.inner().store();
    let pruned = bench
        .repository
        .prune(
            store,
            retention,
            Execution::Apply,
            &Actor::from("alice"),
            |_| {},
        )
        .unwrap();
    (pruned.branches.len(), bench.counts.inner().take())
}

#[test]
fn a_pruning_reads_what_stays_in_pages() {
    let (branches, passed) = pruned(1);
    assert_eq!(branches, 1);
    assert!(passed.records >= SNAPSHOTS, "{passed:?}");
    assert!(passed.records_at_most <= RECORDS_AT_ONCE_MAX, "{passed:?}");
}

#[test]
fn a_pruning_reads_little_where_nothing_is_outdated() {
    let (branches, passed) = pruned(2 * SNAPSHOTS);
    assert_eq!(branches, 0);
    assert!(passed.records <= RECORDS_OF_YOUNG_MAX, "{passed:?}");
}
