//! Removing objects that nothing leads to, while any number of daemons save (`4.sql`). A collection needs one
//! connection and no long snapshot; killed anywhere it leaves the store whole.

pub(super) mod pin;

use std::cell::Cell;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::link::{CONNECTION_WAIT_MAX, Link, Session};
use super::row::{id_of, signed, unsigned};
use super::{PostgresStore, record};
use crate::base::clock::Timestamp;
use crate::base::id::ObjectId;
use crate::store::collection::{
    Amount, Collectable, Collection, KeptByCollection, Need, Pace, Space, Swept,
};
use crate::store::{Batch, Record, Result, Store, StoreError, Values, prefix_end};

/// What the connection of a collection is told.
pub(super) const COLLECTION_SETTINGS: &str = "
SET lock_timeout = '5s';
SET statement_timeout = '60s';
SET plan_cache_mode = force_generic_plan;
SET enable_seqscan = off;
";
/// Two at once would be safe; one of them would work in vain. Who looks through the store has a share of the lock.
const TRY_LOCK: &str = "SELECT pg_try_advisory_lock(1936290915, 2)";
const TRY_SHARE: &str = "SELECT pg_try_advisory_xact_lock_shared(1936290915, 2)";
const UNLOCK: &str = "SELECT pg_advisory_unlock(1936290915, 2)";
const RAISE: &str = "SELECT spared, raised FROM siteconf.raise_v1()";
const SWEEP: &str = "SELECT objects, bytes, places FROM siteconf.sweep_v2($1, $2, $3)";
const PAGE: &str = "SELECT id, size FROM siteconf.object WHERE id > $1 ORDER BY id LIMIT $2";
const WEIGHED: &str =
    "SELECT id, size, epoch FROM siteconf.object WHERE id > $1 ORDER BY id LIMIT $2";
const SPARED: &str = "SELECT min(epoch) FROM siteconf.pin";
const BEGIN: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
const RECORDS: &str = "SELECT key, version, value FROM siteconf.record
    WHERE key > $1 AND key < $2 ORDER BY key LIMIT $3";
const SIZE: &str = "SELECT size FROM siteconf.object WHERE id = $1";
const THERE: &str = "SELECT id FROM siteconf.object WHERE id = ANY ($1)";
const LAST: &str = "SELECT ended, live_bytes, old_bytes FROM siteconf.gc WHERE ended IS NOT NULL";
const NOTE: &str = "SELECT siteconf.collected_v1($1, $2, $3)";
/// Rows read at once.
const PAGE_ROWS: i64 = 1000;
/// Most rows that are removed in one transaction: others may wait for it.
const REMOVED_AT_ONCE: usize = 256;
/// How long is waited for the lock to be given back. Without an answer it goes with the connection.
const UNLOCK_WAIT_MAX: Duration = Duration::from_secs(2);

type Statement<const N: usize> = [Box<dyn ToSql + Sync + Send>; N];

/// Objects that were marked, and what needs them.
///
/// # Limits
/// Memory of up to 80 bytes for each.
#[derive(Debug, Default)]
pub struct Marks(HashMap<ObjectId, Need>);

/// A collection that is under way.
#[derive(Debug)]
pub struct PostgresCollection<'a> {
    store: &'a PostgresStore,
    link: Arc<Link>,
    /// What holds the lock of collections, unless it was lost: then another may begin, which harms nothing.
    holds: Arc<Session>,
    /// What is of this epoch or a later one is not removed.
    spared: i32,
    /// The epoch that it has begun. A server that does not have it is another.
    raised: i32,
    pace: Pace,
    /// Places that went to the trash.
    places: Cell<u64>,
}

impl PostgresStore {
    /// The rows of a statement over a connection.
    fn call<const N: usize>(
        &self,
        link: &Arc<Link>,
        sql: &'static str,
        params: Statement<N>,
    ) -> Result<Vec<Row>> {
        let link = Arc::clone(link);
        self.runtime.wait(async move {
            let params = params
                .each_ref()
                .map(|param| &**param as &(dyn ToSql + Sync));
            link.read(sql, &params).await
        })
    }
}

impl Collectable for PostgresStore {
    type Marks = Marks;
    type Collection<'a> = PostgresCollection<'a>;
    /// Objects of this epoch and later ones are kept by a pin.
    type Bound = Option<i32>;

    fn begin_collection(&self, pace: Pace) -> Result<PostgresCollection<'_>> {
        if self.writer.is_none() {
            return Err(StoreError::ReadOnly);
        }
        // A server that has taken the place of this one may lack the epoch, and what others have touched since.
        let link = Arc::new(Link::new(&self.server, COLLECTION_SETTINGS).of_one_history());
        let locking = Arc::clone(&link);
        let holds = self.runtime.wait(async move {
            let session = locking
                .session(Instant::now() + CONNECTION_WAIT_MAX)
                .await?;
            let locked = async |statement| {
                let rows = session.query(statement, &[]).await?;
                let locked = rows.first().map(|row| row.try_get(0)).transpose()?;
                Ok::<_, StoreError>(locked.unwrap_or(false))
            };
            if locked(TRY_LOCK).await? {
                return Ok(session);
            }
            // One that has just ended is told as a check, too.
            let what = if locked(TRY_SHARE).await? {
                "\"siteconf debug check\""
            } else {
                "a collection"
            };
            Err(StoreError::Underway { what })
        })?;
        let mut collection = PostgresCollection {
            store: self,
            link,
            holds,
            spared: 0,
            raised: 0,
            pace,
            places: Cell::new(0),
        };
        let raised = self.call(&collection.link, RAISE, [])?;
        let raised = raised.first().ok_or(StoreError::Unavailable)?;
        collection.spared = raised.try_get(0)?;
        collection.raised = raised.try_get(1)?;
        Ok(collection)
    }

    /// That it is not there only the sweep finds.
    fn mark(&self, marks: &mut Marks, id: ObjectId, need: Need) -> Result<bool> {
        match marks.0.entry(id) {
            Entry::Vacant(entry) => {
                entry.insert(need);
                Ok(true)
            }
            Entry::Occupied(_) => Ok(false),
        }
    }

    fn visit_at_once(
        &self,
        prefixes: &[&str],
        visit: &mut dyn FnMut(&Record) -> Result<()>,
    ) -> Result<()> {
        // Of its own: whatever happens, the snapshot goes with the connection.
        let link = Arc::new(Link::new(&self.server, COLLECTION_SETTINGS));
        let session = self.runtime.wait(async move {
            let session = link.session(Instant::now() + CONNECTION_WAIT_MAX).await?;
            session.query(BEGIN, &[]).await?;
            Ok(session)
        })?;
        for prefix in prefixes {
            let mut after = prefix.as_bytes().to_vec();
            let beyond = prefix_end(prefix);
            loop {
                let (session, from, to) = (Arc::clone(&session), after, beyond.clone());
                let rows = self.runtime.wait(async move {
                    let params: [&(dyn ToSql + Sync); 3] = [&from, &to, &PAGE_ROWS];
                    Ok(session.query(RECORDS, &params).await?)
                })?;
                let Some(last) = rows.last() else { break };
                after = last.try_get(0)?;
                for row in &rows {
                    visit(&*record(row, Values::All)?)?;
                }
            }
        }
        Ok(())
    }

    fn collectable(&self) -> Result<Option<i32>> {
        let rows = self.read(SPARED, [])?;
        let least = rows.first().map(|row| row.try_get(0)).transpose()?;
        Ok(least.flatten())
    }

    /// What others put meanwhile counts as needed by nothing.
    fn weigh(
        &self,
        marks: &Marks,
        bound: Option<i32>,
        mut visit: impl FnMut(u64, Option<Need>),
    ) -> Result<()> {
        let mut after: Vec<u8> = Vec::new();
        loop {
            let rows = self.read(WEIGHED, [Box::new(after), Box::new(PAGE_ROWS)])?;
            let Some(last) = rows.last() else {
                return Ok(());
            };
            after = last.try_get(0)?;
            for row in &rows {
                let epoch: i32 = row.try_get(2)?;
                let need = marks.0.get(&id_of(row.try_get(0)?)?).copied();
                let is_pinned = bound.is_some_and(|bound| epoch >= bound);
                if need.is_some() || !is_pinned {
                    visit(unsigned(row.try_get(1)?), need);
                }
            }
        }
    }

    fn size_of(&self, id: ObjectId) -> Result<u64> {
        let rows = self.read(SIZE, [Box::new(id.as_bytes().to_vec())])?;
        let row = rows.first().ok_or(StoreError::Missing { id })?;
        Ok(unsigned(row.try_get(0)?))
    }

    fn are_there(&self, ids: &[ObjectId]) -> Result<Vec<bool>> {
        let wanted: Vec<_> = ids.iter().map(|id| id.as_bytes().to_vec()).collect();
        let rows = self.read(THERE, [Box::new(wanted)])?;
        let there: Vec<ObjectId> = rows
            .iter()
            .map(|row| id_of(row.try_get(0)?))
            .collect::<Result<_>>()?;
        let there: std::collections::HashSet<_> = there.into_iter().collect();
        Ok(ids.iter().map(|id| there.contains(id)).collect())
    }

    fn last_collection(&self) -> Result<Option<KeptByCollection>> {
        let rows = self.read(LAST, [])?;
        let Some(row) = rows.first() else {
            return Ok(None);
        };
        let at = Timestamp::parse(row.try_get(0)?);
        let (live, old): (i64, i64) = (row.try_get(1)?, row.try_get(2)?);
        Ok(at.map(|at| KeptByCollection {
            at,
            live_bytes: unsigned(live),
            old_bytes: unsigned(old),
        }))
    }

    fn note_collection(&self, kept: KeptByCollection) -> Result<()> {
        let link = Arc::new(Link::new(&self.server, COLLECTION_SETTINGS));
        let noted: Statement<3> = [
            Box::new(kept.at.to_string()),
            Box::new(signed(kept.live_bytes)),
            Box::new(signed(kept.old_bytes)),
        ];
        self.call(&link, NOTE, noted).map(drop)
    }
}

impl PostgresCollection<'_> {
    /// Removes those of some objects that nobody has touched, in one transaction.
    fn remove(&self, ids: Vec<Vec<u8>>, removed: &mut Amount) -> Result<()> {
        let rows = self.pace.step(self.store, || {
            let some: Statement<3> = [Box::new(ids), Box::new(self.spared), Box::new(self.raised)];
            self.store.call(&self.link, SWEEP, some)
        })?;
        let row = rows.first().ok_or(StoreError::Unavailable)?;
        let [objects, bytes, places] = [row.try_get(0)?, row.try_get(1)?, row.try_get(2)?];
        removed.objects += unsigned(objects);
        removed.bytes = removed.bytes.saturating_add(unsigned(bytes));
        self.places.set(self.places.get() + unsigned(places));
        Ok(())
    }
}

impl Collection for PostgresCollection<'_> {
    type Marks = Marks;

    fn sweep_rows(
        &self,
        marks: &Marks,
        mut kept: impl FnMut(Need, u64),
        mut progress: impl FnMut(Amount) -> ControlFlow<()>,
        swept: &mut Swept,
    ) -> Result<ControlFlow<()>> {
        let mut waiting = Vec::new();
        let mut after: Vec<u8> = Vec::new();
        let mut met = 0;
        loop {
            let page: Statement<2> = [Box::new(after), Box::new(PAGE_ROWS)];
            let rows = self.store.call(&self.link, PAGE, page)?;
            for row in &rows {
                let id = id_of(row.try_get(0)?)?;
                if let Some(need) = marks.0.get(&id) {
                    met += 1;
                    kept(*need, unsigned(row.try_get(1)?));
                } else {
                    waiting.push(id.as_bytes().to_vec());
                }
            }
            let last = rows.last().map(|row| row.try_get(0)).transpose()?;
            let at_once = self.pace.size().min(REMOVED_AT_ONCE);
            while waiting.len() >= at_once || last.is_none() && !waiting.is_empty() {
                let some = waiting.drain(..at_once.min(waiting.len())).collect();
                self.remove(some, &mut swept.removed)?;
                if progress(swept.removed).is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            match last {
                Some(last) => after = last,
                None => break,
            }
        }
        swept.lost = (marks.0.len() as u64).saturating_sub(met);
        Ok(ControlFlow::Continue(()))
    }

    fn commit(&self, over: &dyn Store, batch: Batch) -> Result<()> {
        self.pace.commit(self.store, over, batch)
    }

    /// A daemon removes them from the bucket when their time is over.
    fn sweep_files(&self) -> Result<u64> {
        Ok(self.places.get())
    }

    /// The server uses the room of removed rows again by itself.
    fn give_back(&self, _progress: impl FnMut(u64) -> ControlFlow<()>) -> Result<Space> {
        Ok(Space {
            shrinks: true,
            ..Space::default()
        })
    }

    fn finish(self) -> Result<()> {
        Ok(())
    }
}

impl Drop for PostgresCollection<'_> {
    fn drop(&mut self) {
        let session = Arc::clone(&self.holds);
        let unlocked = self.store.runtime.wait(async move {
            // Without an answer it goes with the connection.
            drop(timeout(UNLOCK_WAIT_MAX, session.query(UNLOCK, &[])).await);
            Ok(())
        });
        drop(unlocked);
    }
}
