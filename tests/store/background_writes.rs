//! Writes that nobody waits for: how many commits they take.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

use siteconf::base::limits::BACKGROUND_WRITES_MAX;
use siteconf::store::background_writes::BackgroundWrites;
use siteconf::store::memory::MemoryStore;
use siteconf::store::{Batch, Expect, RecordWrite, Result, Staging, Store, Version};

use crate::fixture::{of_write, push, value};
use crate::forwarded::forward_reads;

/// Counts commits, those that are refused, too, and begins none while a test holds it.
#[derive(Debug, Default)]
struct Counting {
    store: MemoryStore,
    commits: AtomicU64,
    held: Mutex<()>,
}

impl Counting {
    /// Has a bundle begun that ends only when what is given is dropped: what is put meanwhile is in the next.
    fn hold(&self, writes: &BackgroundWrites) -> MutexGuard<'_, ()> {
        let held = self.held.lock().unwrap();
        let first = of_write("first", Expect::Absent, Some("1"));
        writes.put("first".to_owned(), first);
        while self.commits.load(Ordering::Relaxed) == 0 {
            thread::yield_now();
        }
        held
    }
}

impl Store for Counting {
    forward_reads!();

    fn commit(&self, batch: Batch) -> Result<Version> {
        self.commits.fetch_add(1, Ordering::Relaxed);
        let _held = self.held.lock().unwrap();
        self.store.commit(batch)
    }

    fn stage(&self) -> Result<Box<dyn Staging>> {
        self.store.stage()
    }
}

#[test]
fn those_that_others_have_forestalled_cost_one_more_commit_together() {
    const SOUND: u64 = 40;
    const FORESTALLED: u64 = 7;
    let store = Arc::new(Counting::default());
    let writes = BackgroundWrites::start(Arc::clone(&store) as Arc<dyn Store>);
    let held = store.hold(&writes);
    for number in 0..SOUND {
        let key = format!("sound/{number}");
        writes.put(key.clone(), of_write(&key, Expect::Absent, Some("1")));
    }
    for number in 0..FORESTALLED {
        let key = format!("forestalled/{number}");
        writes.put(key.clone(), of_write(&key, Expect::Version(77), Some("1")));
    }
    drop(held);
    drop(writes);
    for number in 0..SOUND {
        let found = value(&*store, &format!("sound/{number}"));
        assert_eq!(found.as_deref(), Some("1"), "{number}");
    }
    assert_eq!(value(&*store, "forestalled/0"), None);
    // With the one that was held.
    let commits = store.commits.load(Ordering::Relaxed);
    assert_eq!(commits, 1 + 2);
}

#[test]
fn what_is_on_its_way_is_told_until_it_is_committed() {
    let store = Arc::new(Counting::default());
    let writes = BackgroundWrites::start(Arc::clone(&store) as Arc<dyn Store>);
    let told = |prefix: &str| -> Vec<String> {
        let writes = writes.on_their_way(prefix).into_iter();
        let text = |write: RecordWrite| {
            let value = write.value.expect("it deletes nothing");
            format!("{}={}", write.key, String::from_utf8_lossy(&value))
        };
        writes.map(text).collect()
    };
    let held = store.hold(&writes);
    assert_eq!(told("fir"), ["first=1"]);
    for (key, value) in [("ids/ab", "1"), ("ids/ac", "2"), ("ids/b", "3")] {
        let mut batch = of_write(key, Expect::Anything, Some(value));
        push(&mut batch, "beside", Expect::Anything, Some(value));
        writes.put(key.to_owned(), batch);
    }
    assert_eq!(told("ids/a"), ["ids/ab=1", "ids/ac=2"]);
    let newer = of_write("first", Expect::Anything, Some("2"));
    writes.put("first".to_owned(), newer);
    assert_eq!(told("first"), ["first=2", "first=1"]);
    assert_eq!([told("beside"), told("ids/c")], [[""; 0]; 2]);
    drop(held);
    writes.flush_within("", Duration::from_secs(30));
    assert_eq!(told(""), [""; 0]);
    let found = ["first", "ids/ab", "ids/b"].map(|key| value(&*store, key));
    assert_eq!(found.map(Option::unwrap), ["2", "1", "3"]);
}

#[test]
fn those_that_have_time_leave_room_for_those_that_have_none() {
    let store = Arc::new(Counting::default());
    let writes = BackgroundWrites::start(Arc::clone(&store) as Arc<dyn Store>);
    let put = |key: String| writes.put(key.clone(), of_write(&key, Expect::Anything, Some("1")));
    let late =
        |key: String| writes.put_late(key.clone(), of_write(&key, Expect::Anything, Some("1")));
    let held = store.hold(&writes);
    for number in 0..=BACKGROUND_WRITES_MAX / 2 {
        late(format!("late/{number}"));
    }
    put("soon".to_owned());
    drop(held);
    drop(writes);
    let is_there = |key: &str| value(&*store, key).is_some();
    assert!(is_there("soon"));
    let written =
        (0..=BACKGROUND_WRITES_MAX / 2).filter(|number| is_there(&format!("late/{number}")));
    assert_eq!(written.count(), BACKGROUND_WRITES_MAX / 2);
}
