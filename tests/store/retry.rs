//! Changes that lose races against other daemons, whose writes are seen a moment after they are in the way.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use siteconf::store::memory::MemoryStore;
use siteconf::store::retry::Attempts;
use siteconf::store::{Batch, Expect, Record, Result, Scan, Staging, Store, Version};

use crate::forwarded::forward_all_but_records;

/// How much later than it is in the way a write may be seen.
const SEEN_AFTER: Duration = Duration::from_millis(20);

/// A store over which somebody else writes a record as soon as nobody has looked at it for a moment.
#[derive(Debug, Default)]
struct Late {
    store: MemoryStore,
    looked: Mutex<Option<Instant>>,
    written: AtomicU32,
}

impl Late {
    fn write(&self, key: &str) {
        let mut batch = Batch::default();
        batch.write(key.to_owned(), Expect::Anything, &1);
        self.store.commit(batch).unwrap();
    }
}

impl Store for Late {
    forward_all_but_records!();

    fn record(&self, key: &str) -> Result<Option<Arc<Record>>> {
        let before = self.looked.lock().unwrap().replace(Instant::now());
        if before.is_some_and(|before| before.elapsed() >= SEEN_AFTER) {
            self.write(key);
            self.written.fetch_add(1, Ordering::Relaxed);
        }
        self.store.record(key)
    }
    fn scan(&self, scan: Scan<'_>) -> Result<Vec<Arc<Record>>> {
        self.store.scan(scan)
    }
    fn external_writes(&self) -> Result<Version> {
        self.store.external_writes()
    }
    fn commit(&self, batch: Batch) -> Result<Version> {
        self.store.commit(batch)
    }
    fn stage(&self) -> Result<Box<dyn Staging>> {
        self.store.stage()
    }
}

#[test]
fn an_attempt_that_only_took_long_is_a_race_and_no_damage() {
    let store = MemoryStore::default();
    let mut batch = Batch::default();
    batch.write("a".to_owned(), Expect::Anything, &1);
    store.commit(batch).unwrap();
    let mut attempts = Attempts::default();
    attempts.lost(&store, "a").unwrap();
    // The next one waits for its turn, longer than a record may be in the way.
    thread::sleep(Duration::from_millis(300));
    attempts.lost(&store, "a").unwrap();
}

#[test]
fn a_write_that_is_not_seen_yet_is_a_race_and_no_damage() {
    let store = Late::default();
    store.write("a");
    let mut attempts = Attempts::default();
    while store.written.load(Ordering::Relaxed) == 0 {
        attempts.lost(&store, "a").unwrap();
    }
}
