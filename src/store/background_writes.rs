//! Writes that nobody waits for, such as when a token was last used: bundled, off the way of answers.

use std::collections::BTreeMap;
use std::mem;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use super::{Batch, Expect, RecordWrite, Store, StoreError};
use crate::base::limits::BACKGROUND_WRITES_MAX;
use crate::base::may_block;
use crate::base::threads::joined::Joined;

/// How long changes are gathered before they share a commit, and the sync of the disk that it costs.
const GATHER: Duration = Duration::from_millis(200);
/// How long those are gathered of which many come, and that nobody misses for so long.
const GATHER_LATE: Duration = Duration::from_secs(5);
/// How long somebody waits for what is committed.
const FLUSH_MAX: Duration = Duration::from_secs(1);

/// Commits small batches in the background, those of a fifth of a second together, or of some seconds where nobody
/// misses them. Dropped, it commits what waits.
///
/// # Durability
/// A crash loses what waits, and so does a store that refuses it: put here only what a later request
/// would write again.
#[derive(Debug)]
pub struct BackgroundWrites {
    /// Before what it works on.
    thread: Option<Joined>,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    store: Arc<dyn Store>,
    state: Mutex<State>,
    /// There is something to do, or something was done.
    changed: Condvar,
    /// Records for logs that were not written.
    lost: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    waiting: BTreeMap<String, Batch>,
    /// The bundle that is being committed.
    under_way: Arc<BTreeMap<String, Batch>>,
    /// When what waits is committed; `None` while nothing does.
    due: Option<Instant>,
    /// How many bundles were taken, and how many of them are done.
    taken: u64,
    done: u64,
    /// True when what waits is wanted now.
    hurry: bool,
    stopping: bool,
}

impl BackgroundWrites {
    /// Starts the thread that writes to this store.
    pub fn start(store: Arc<dyn Store>) -> Self {
        let shared = Arc::new(Shared {
            store,
            state: Mutex::default(),
            changed: Condvar::new(),
            lost: AtomicU64::new(0),
        });
        let works = Arc::clone(&shared);
        let thread = Joined::spawn("background-writes", move || works.run());
        let thread = thread
            .inspect_err(|error| tracing::warn!(%error, "last uses are not recorded"))
            .ok();
        Self { thread, shared }
    }

    /// Has a batch committed soon. `name` says what it is about: a batch of the same name that still
    /// waits is given up for it.
    ///
    /// # Limits
    /// At most [`BACKGROUND_WRITES_MAX`] wait; more are not written.
    pub fn put(&self, name: String, batch: Batch) {
        self.put_within(GATHER, BACKGROUND_WRITES_MAX, name, batch);
    }

    /// The same, some seconds later: at once with what else is committed, or wanted, before.
    ///
    /// # Limits
    /// Not written where half of [`BACKGROUND_WRITES_MAX`] wait: the other half is for what has less time.
    pub fn put_late(&self, name: String, batch: Batch) {
        self.put_within(GATHER_LATE, BACKGROUND_WRITES_MAX / 2, name, batch);
    }

    /// Has it committed within this time if fewer than so many wait, or one of its name.
    fn put_within(&self, gathered: Duration, most: usize, name: String, mut batch: Batch) {
        batch.is_upkeep = true;
        let mut state = self.shared.state();
        let has_room = state.waiting.len() < most || state.waiting.contains_key(&name);
        if self.thread.is_some() && has_room {
            state.waiting.insert(name, batch);
            let is_much = state.waiting.len() >= BACKGROUND_WRITES_MAX / 2;
            let gathered = if is_much { Duration::ZERO } else { gathered };
            let due = Instant::now() + gathered;
            if state.due.is_none_or(|earlier| due < earlier) {
                state.due = Some(due);
                self.shared.changed.notify_all();
            }
        } else {
            self.shared.lose(&batch);
        }
    }

    /// How many records for logs were given up since this was last asked, because too much waited or the
    /// store refused them.
    pub fn take_lost(&self) -> u64 {
        self.shared.lost.swap(0, Ordering::Relaxed)
    }

    /// What batches that were put under names with this prefix write under keys with it, as long as they are neither
    /// committed nor refused; of two of one name the last that was put comes first. It waits for nothing. Who reads the
    /// store after this misses nothing: what was committed and is no longer told here is there.
    pub fn on_their_way(&self, prefix: &str) -> Vec<RecordWrite> {
        let state = self.shared.state();
        let batches = named(&state.waiting, prefix).chain(named(&state.under_way, prefix));
        let writes = batches.flat_map(|batch| &batch.writes);
        let meant = writes.filter(|write| write.key.starts_with(prefix));
        meant.cloned().collect()
    }

    /// As [`BackgroundWrites::flush_within`], a second at most: a store that hangs holds up nobody for what is of
    /// little interest.
    pub fn flush(&self, prefix: &str) {
        self.flush_within(prefix, FLUSH_MAX);
    }

    /// Waits until what was put before under names with this prefix is committed or refused, so long at most. Costs
    /// nothing when nothing of the kind waits or is being committed.
    pub fn flush_within(&self, prefix: &str, at_most: Duration) {
        let mut state = self.shared.state();
        let waits = named(&state.waiting, prefix).next().is_some();
        let is_under_way = named(&state.under_way, prefix).next().is_some();
        if self.thread.is_none() || !(waits || is_under_way) {
            return;
        }
        let wanted = state.taken + u64::from(waits);
        state.hurry |= waits;
        self.shared.changed.notify_all();
        let until = |state: &mut State| state.done < wanted;
        let changed = &self.shared.changed;
        may_block(|| drop(changed.wait_timeout_while(state, at_most, until)));
    }
}

/// The batches that were put under names with this prefix.
fn named<'a>(
    batches: &'a BTreeMap<String, Batch>,
    prefix: &'a str,
) -> impl Iterator<Item = &'a Batch> {
    let from = batches.range(prefix.to_owned()..);
    from.take_while(move |(name, _)| name.starts_with(prefix))
        .map(|(_, batch)| batch)
}

impl Drop for BackgroundWrites {
    fn drop(&mut self) {
        self.shared.state().stopping = true;
        self.shared.changed.notify_all();
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no panic while held")
    }

    fn run(&self) {
        loop {
            let mut state = self.gathered();
            if state.waiting.is_empty() {
                // Only a stop ends the wait without a batch.
                return;
            }
            let bundle = Arc::new(mem::take(&mut state.waiting));
            state.under_way = Arc::clone(&bundle);
            state.due = None;
            state.taken += 1;
            state.hurry = false;
            drop(state);
            self.commit(bundle.values().collect());
            let mut state = self.state();
            state.done += 1;
            // Only now: what was committed is in the store before it is no longer told.
            state.under_way = Arc::default();
            drop(state);
            self.changed.notify_all();
        }
    }

    /// Waits until what waits is to be committed, or nothing more will come.
    fn gathered(&self) -> MutexGuard<'_, State> {
        let mut state = self.state();
        loop {
            let now = Instant::now();
            if state.hurry || state.stopping || state.due.is_some_and(|due| due <= now) {
                return state;
            }
            let changed = &self.changed;
            state = match state.due {
                None => changed.wait(state).expect("no panic while held"),
                Some(due) => {
                    let waited = changed.wait_timeout(state, due - now);
                    waited.expect("no panic while held").0
                }
            };
        }
    }

    /// Commits all together, without those that others have forestalled.
    fn commit(&self, mut batches: Vec<&Batch>) {
        while !batches.is_empty() {
            let mut bundle = Batch {
                is_upkeep: true,
                ..Batch::with_reserve()
            };
            for batch in &batches {
                bundle.append((*batch).clone());
            }
            let Err(error) = self.store.commit(bundle) else {
                return;
            };
            tracing::debug!(%error, "background writes were refused");
            // Each time at least one goes. One conflict is told: many may have been forestalled, as by another daemon
            // that the same clients ask.
            let goes = |batch: &mut &Batch| match &error {
                StoreError::Conflict { key } => batch
                    .expectations()
                    .any(|(of, expect)| of == key || !self.is_as(of, expect)),
                // What may take the reserve of a full disk is tried once more without the others.
                _ => !batch.uses_reserve,
            };
            let lost: Vec<_> = batches.extract_if(.., goes).collect();
            let lost = if lost.is_empty() {
                mem::take(&mut batches)
            } else {
                lost
            };
            for batch in &lost {
                self.lose(batch);
            }
        }
    }

    /// False if another record is under this key than is expected.
    fn is_as(&self, key: &str, expect: Expect) -> bool {
        let found = self.store.record(key);
        found.map_or(true, |found| {
            expect.holds(found.map(|record| record.version))
        })
    }

    fn lose(&self, batch: &Batch) {
        let lost = u64::try_from(batch.appends.len()).unwrap_or(u64::MAX);
        self.lost.fetch_add(lost, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::memory::MemoryStore;

    fn batch(key: &str, expect: Expect, value: u64) -> Batch {
        let mut batch = Batch::default();
        batch.write(key.to_owned(), expect, &value);
        batch
    }

    fn value(store: &Arc<dyn Store>, key: &str) -> Option<u64> {
        store.value::<u64>(key).unwrap().map(|found| *found.value)
    }

    /// Waits for as long as a busy machine needs.
    fn flushed(writes: &BackgroundWrites, prefix: &str) {
        writes.flush_within(prefix, Duration::from_secs(30));
    }

    #[test]
    fn what_has_time_is_committed_with_what_has_none() {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
        let background = BackgroundWrites::start(Arc::clone(&store));
        background.put_late("late".to_owned(), batch("late", Expect::Anything, 1));
        background.put("soon".to_owned(), batch("soon", Expect::Anything, 2));
        flushed(&background, "soon");
        assert_eq!(
            ["late", "soon"].map(|key| value(&store, key)),
            [Some(1), Some(2)]
        );
        background.put_late("late".to_owned(), batch("late", Expect::Anything, 3));
        flushed(&background, "late");
        assert_eq!(value(&store, "late"), Some(3));
        background.put_late("late".to_owned(), batch("late", Expect::Anything, 4));
        drop(background);
        assert_eq!(value(&store, "late"), Some(4));
    }

    #[test]
    fn what_was_put_is_there_after_a_flush_and_a_refused_batch_harms_no_other() {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
        let writes = BackgroundWrites::start(Arc::clone(&store));
        writes.flush("");
        writes.put("a".to_owned(), batch("a", Expect::Absent, 1));
        writes.put("b".to_owned(), batch("b", Expect::Version(77), 2));
        writes.put("c".to_owned(), batch("c", Expect::Anything, 3));
        flushed(&writes, "");
        let found = ["a", "b", "c"].map(|key| value(&store, key));
        assert_eq!(found, [Some(1), None, Some(3)]);
    }

    #[test]
    fn the_end_writes_what_waits() {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
        let writes = BackgroundWrites::start(Arc::clone(&store));
        writes.put("a".to_owned(), batch("a", Expect::Anything, 1));
        drop(writes);
        assert_eq!(value(&store, "a"), Some(1));
    }
}
