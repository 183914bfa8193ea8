//! Records that a pruning has in memory, whatever the number of snapshots.

use siteconf::base::actor::Actor;
use siteconf::object::key;
use siteconf::object::record::{Retention, SnapshotRecord};
use siteconf::repo::Execution;
use siteconf::store::{Batch, Expect, Scan, Store};

use crate::common::{Bench, Layout, body};

/// Snapshots that stay: some pages of them.
const KEPT: u64 = 2_500;
const RECORDS_AT_ONCE_MAX: u64 = 1_000;

#[test]
fn a_pruning_reads_what_stays_in_pages() {
    let bench = Bench::new();
    let main = bench.fill("main", 1, Layout::Flat);
    for turn in 1..=3 {
        bench.save(&main, &Layout::Flat.path(0), body(turn, 10));
    }
    // It is the first branch of the store.
    let snapshots = key::snapshots(1);
    let found = bench.counts.scan(Scan::prefix(&snapshots)).unwrap();
    let newest = found.last().unwrap();
    let snapshot = newest.decode::<SnapshotRecord>().unwrap().value;
    let mut batch = Batch::default();
    for number in newest.number() + 1..newest.number() + KEPT {
        batch.write(key::snapshot(1, number), Expect::Absent, &*snapshot);
    }
    bench.counts.commit(batch).unwrap();
    bench.counts.inner().take();

    let retention = Retention {
        snapshots: 1,
        days: 0,
    };
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
    assert_eq!(pruned.branches.len(), 1);
    let passed = bench.counts.inner().take();
    assert!(passed.records >= KEPT, "{passed:?}");
    assert!(passed.records_at_most <= RECORDS_AT_ONCE_MAX, "{passed:?}");
}
