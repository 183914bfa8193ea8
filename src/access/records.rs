//! This layer's records, read and written as values. Nothing is kept in memory here: the store does
//! that, and drops what it keeps when a record is written.

use std::sync::Arc;

use serde::de::DeserializeOwned;

use super::error::{Error, Result};
use super::maker::{Judged, Maker, May};
use crate::base::actor::Actor;
use crate::base::clock::Clock;
use crate::repo::Projects;
use crate::repo::audit::{Action, AuditRecord};
use crate::store::{Batch, Expect, Folder, Record, Scan, Store, Values, Versioned, retry};

/// Records that are read at a time.
const PAGE: usize = 1000;

/// The records of this layer.
#[derive(Clone, Debug)]
pub(super) struct Records {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    /// See [`Records::made_by`].
    maker: Option<(Maker, May)>,
}

impl Records {
    pub(super) fn new(projects: &Projects) -> Self {
        Self {
            store: Arc::clone(projects.store()),
            clock: Arc::clone(projects.clock()),
            maker: None,
        }
    }

    /// The same, with changes that this session makes, and only while it has not ended and its account still `may`.
    ///
    /// # Errors
    /// A commit then also ends in [`Error::Unauthenticated`] and [`Error::Forbidden`].
    pub(super) fn made_by(self, maker: Maker, may: May) -> Self {
        Self {
            maker: Some((maker, may)),
            ..self
        }
    }

    /// The audit record of what this actor does now.
    pub(super) fn audit_record(&self, actor: &Actor, action: Action) -> AuditRecord {
        AuditRecord::new(self.clock.now(), actor, action)
    }

    /// The value under this key, `None` if there is none.
    pub(super) fn get<T>(&self, key: &str) -> Result<Option<Versioned<T>>>
    where
        T: DeserializeOwned + Send + Sync + 'static,
    {
        Ok(self.store.value(key)?)
    }

    /// The values under a prefix, in the order of their keys.
    pub(super) fn under<T>(&self, prefix: &str) -> Result<Vec<Versioned<T>>>
    where
        T: DeserializeOwned + Send + Sync + 'static,
    {
        Ok(self.store.values(prefix)?)
    }

    /// All records under a prefix. Whoever asks for them while this is held shares them, however many they are.
    pub(super) fn folder(&self, prefix: &str) -> Result<Folder> {
        Ok(self.store.folder(prefix)?)
    }

    /// Reads all values under a prefix, past what memory keeps of records: all of them would take the places of what
    /// clients ask for all the time.
    ///
    /// # Limits
    /// Memory for a page of records at a time.
    pub(super) fn each<T>(&self, prefix: &str, mut look: impl FnMut(Arc<T>)) -> Result<()>
    where
        T: DeserializeOwned + Send + Sync + 'static,
    {
        self.each_version(prefix, |found| look(found.value))
    }

    /// The same with their versions. They are those of now, where what memory keeps may be as old as a look at what
    /// others write.
    ///
    /// # Limits
    /// As [`Records::each`].
    pub(super) fn each_version<T>(
        &self,
        prefix: &str,
        mut look: impl FnMut(Versioned<T>),
    ) -> Result<()>
    where
        T: DeserializeOwned + Send + Sync + 'static,
    {
        for page in self.store.pages(Scan {
            limit: PAGE,
            ..Scan::prefix(prefix)
        }) {
            for record in page? {
                look(record.decode()?);
            }
        }
        Ok(())
    }

    /// How many keys there are under a prefix now.
    ///
    /// # Limits
    /// As [`Records::each`].
    pub(super) fn count(&self, prefix: &str) -> Result<usize> {
        let mut count = 0;
        for page in self.store.pages(Scan {
            limit: PAGE,
            values: Values::Unread,
            ..Scan::prefix(prefix)
        }) {
            count += page?.len();
        }
        Ok(count)
    }

    /// The first key under a prefix that is `wanted`; no value is read.
    ///
    /// # Limits
    /// As [`Records::each`].
    pub(super) fn find_key(
        &self,
        prefix: &str,
        wanted: impl Fn(&Record) -> bool,
    ) -> Result<Option<Arc<Record>>> {
        for page in self.store.pages(Scan {
            limit: PAGE,
            values: Values::Unread,
            ..Scan::prefix(prefix)
        }) {
            if let Some(found) = page?.into_iter().find(|record| wanted(record)) {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// True if there is nothing under a prefix.
    pub(super) fn is_empty(&self, prefix: &str) -> Result<bool> {
        Ok(self.store.is_empty_under(prefix)?)
    }

    /// Takes the next number of a counter, as `Store::next_number`.
    pub(super) fn next_number(&self, counter: &str, batch: &mut Batch) -> Result<u64> {
        Ok(self.store.next_number(counter, batch)?)
    }

    /// What a batch expects that is to be committed only while a counter is as it is now.
    pub(super) fn counter(&self, counter: &str) -> Result<(String, Expect)> {
        let last = self.get::<u64>(counter)?;
        let expect = last.map_or(Expect::Absent, |last| last.expect());
        Ok((counter.to_owned(), expect))
    }

    /// Makes the batch durable and visible.
    pub(super) fn commit(&self, mut batch: Batch) -> Result<()> {
        self.hold(&mut batch)?;
        self.store.commit(batch)?;
        Ok(())
    }

    /// Begins a change: gives the batch, which is committed only while who makes the change may.
    pub(super) fn held(&self, mut batch: Batch) -> Result<Batch> {
        self.hold(&mut batch)?;
        Ok(batch)
    }

    /// Has a batch committed only while who makes the change may.
    ///
    /// # Errors
    /// [`Error::Unauthenticated`] when the session has ended, [`Error::Forbidden`] when its account has lost the right.
    pub(super) fn hold(&self, batch: &mut Batch) -> Result<()> {
        if let Some((maker, may)) = &self.maker {
            match maker.judged(self.store.as_ref(), may)? {
                Judged::May(held) => held.into_iter().for_each(|record| batch.expect(record)),
                Judged::SessionEnded => return Err(Error::ended_session(maker.name())),
                Judged::MayNot => return Err(Error::no_role(maker.name())),
            }
        }
        Ok(())
    }

    /// The same for what takes rights away: when it returns, no process goes by what was there before.
    pub(super) fn commit_and_settle(&self, batch: Batch) -> Result<()> {
        self.commit(batch)?;
        self.settle();
        Ok(())
    }

    /// Waits until no process goes by what was there before what is there now.
    pub(super) fn settle(&self) {
        self.store.settle();
    }

    /// Repeats an attempt whose commit found that a record had changed since it was read.
    ///
    /// # Errors
    /// Those of [`retry::Attempts::lost`].
    pub(super) fn retry_on_conflict<T>(&self, attempt: impl FnMut() -> Result<T>) -> Result<T> {
        retry::until_committed(self.store.as_ref(), Error::conflict, attempt)
    }
}
