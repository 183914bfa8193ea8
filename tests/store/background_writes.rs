//! Writes that nobody waits for: how many commits they take.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use siteconf::store::background_writes::BackgroundWrites;
use siteconf::store::memory::MemoryStore;
use siteconf::store::{Batch, Expect, Result, Staging, Store, Version};

use crate::fixture::{of_write, value};
use crate::forwarded::forward_reads;

/// Counts commits, those that are refused, too.
#[derive(Debug, Default)]
struct Counting {
    store: MemoryStore,
    commits: AtomicU64,
}

impl Store for Counting {
    forward_reads!();

    fn commit(&self, batch: Batch) -> Result<Version> {
        self.commits.fetch_add(1, Ordering::Relaxed);
        self.store.commit(batch)
    }

    fn stage(&self) -> Result<Box<dyn Staging>> {
        self.store.stage()
    }
}

#[test]
fn those_that_others_have_forestalled_cost_one_more_commit_each_and_not_one_for_each_of_the_rest() {
    const SOUND: u64 = 40;
    const FORESTALLED: u64 = 2;
    let store = Arc::new(Counting::default());
    let writes = BackgroundWrites::start(Arc::clone(&store) as Arc<dyn Store>);
    // Within the time in which they are gathered, and before the first bundle is begun.
    for number in 0..SOUND {
        let key = format!("sound/{number}");
        writes.put(key.clone(), of_write(&key, Expect::Absent, Some("1")));
    }
    for number in 0..FORESTALLED {
        let key = format!("forestalled/{number}");
        writes.put(key.clone(), of_write(&key, Expect::Version(77), Some("1")));
    }
    drop(writes);
    for number in 0..SOUND {
        let found = value(&*store, &format!("sound/{number}"));
        assert_eq!(found.as_deref(), Some("1"), "{number}");
    }
    assert_eq!(value(&*store, "forestalled/0"), None);
    let commits = store.commits.load(Ordering::Relaxed);
    assert_eq!(commits, FORESTALLED + 1);
}
