//! A store in which somebody else acts at a chosen moment.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use siteconf::base::id::Kind;
use siteconf::object::key;
use siteconf::store::{Batch, Expect, RecordWrite, Result, Staging, Store, StoreError, Version};

use crate::forwarded::forward_reads;

type Act = Box<dyn FnOnce() + Send>;

/// What is to be done.
#[derive(Clone, Default)]
pub(crate) struct Meddler {
    acts: Arc<Mutex<Vec<Act>>>,
    before_branch: Arc<Mutex<Option<Act>>>,
    conflicts: Arc<AtomicBool>,
}

impl Meddler {
    /// Acts once, right after an import was laid over the branch and before it is brought there: its
    /// manifest is committed ahead of any record. Later acts wait for later such moments.
    pub(crate) fn act(&self, act: impl FnOnce() + Send + 'static) {
        self.acts.lock().unwrap().insert(0, Box::new(act));
    }

    /// Acts once, right before the next commit that writes a branch.
    pub(crate) fn act_before_branch(&self, act: impl FnOnce() + Send + 'static) {
        *self.before_branch.lock().unwrap() = Some(Box::new(act));
    }

    /// From now on changes a record of every commit right before it.
    pub(crate) fn conflict_for_ever(&self) {
        self.conflicts.store(true, Ordering::Relaxed);
    }

    /// True if nothing is left to be done.
    pub(crate) fn is_done(&self) -> bool {
        self.acts.lock().unwrap().is_empty() && self.before_branch.lock().unwrap().is_none()
    }
}

impl fmt::Debug for Meddler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Meddler")
    }
}

#[derive(Debug)]
pub(crate) struct Meddled<S> {
    pub(crate) store: S,
    pub(crate) meddler: Meddler,
}

impl<S: Store> Store for Meddled<S> {
    forward_reads!();

    fn commit(&self, batch: Batch) -> Result<Version> {
        if self.meddler.conflicts.load(Ordering::Relaxed)
            && let Some(write) = batch.writes.first()
        {
            let key = write.key.clone();
            if let Some(record) = self.store.record(&key)? {
                let mut change = Batch::default();
                change.writes.push(RecordWrite {
                    key: key.clone(),
                    expect: Expect::Anything,
                    value: Some(record.value.clone()),
                });
                self.store.commit(change)?;
            }
            return Err(StoreError::Conflict { key });
        }
        if (batch.writes.iter()).any(|write| write.key.starts_with(key::BRANCHES)) {
            // It is free by the time of the act, which may write a branch itself.
            let act = self.meddler.before_branch.lock().unwrap().take();
            if let Some(act) = act {
                act();
            }
        }
        let ahead = batch.writes.is_empty()
            && batch
                .objects
                .iter()
                .any(|object| object.kind == Kind::Manifest);
        let outcome = self.store.commit(batch);
        let act = if ahead {
            self.meddler.acts.lock().unwrap().pop()
        } else {
            None
        };
        if let Some(act) = act {
            act();
        }
        outcome
    }
    fn stage(&self) -> Result<Box<dyn Staging>> {
        self.store.stage()
    }
}
