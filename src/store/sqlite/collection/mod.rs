//! Removing objects that nothing leads to, while others save (`objects-layout.md`, "Collection").
//!
//! What a state needs is decided above; here is what makes the removal safe. A collection begins by
//! raising the epoch: from then on each commit touches what it reuses, in its own transaction, and what
//! it puts has a later row. Then the caller reads the records that keep states, in one transaction, and
//! marks what they lead to. What is removed is neither marked nor touched nor later, judged again in the
//! transaction that removes it. A row to which the index does not lead is left: a state may need it all
//! the same, and a restored backup finds it again.

mod files;
mod marks;
pub(super) mod pin;
mod space;
pub(super) mod state;

use std::ops::ControlFlow;

use rusqlite::{Connection, OptionalExtension, Row, Transaction, TransactionBehavior, params};

use super::data_folder::{CollectionLock, Lock};
use super::object_index::ObjectIndex;
use super::{SqliteStore, sound_record};
use crate::base::id::ObjectId;
use crate::store::collection::{
    self, Amount, Collectable, KeptByCollection, Need, Pace, Space, Swept,
};
use crate::store::{Batch, Record, Result, Store, StoreError, prefix_end};
pub use marks::Marks;
use space::GivingBack;
use state::State;

/// Most attempts at a transaction that does not come to its turn, ten seconds each.
const ATTEMPTS_MAX: u32 = 30;
/// Rows looked at between two transactions.
const PAGE_ROWS: i64 = 1000;
/// Touches that are forgotten for a row that a step would remove: many lie on one page.
const TOUCHES_TO_A_ROW: usize = 16;

/// The one collection that is under way. Dropped before its end
/// ([`crate::store::collection::Collection::finish`]) it leaves the store whole, and the next one does what it
/// has not done.
#[derive(Debug)]
pub struct Collection<'a> {
    store: &'a SqliteStore,
    epoch: i64,
    /// Rows beyond this one are not removed.
    scope: i64,
    /// What was touched in this epoch or later is not removed.
    spared: i64,
    pace: Pace,
    giving_back: GivingBack,
    _alone: CollectionLock,
}

/// A row that is to be removed.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    row: i64,
    id: ObjectId,
    bytes: u64,
}

/// What became of a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Removal {
    Done,
    /// It is not there any more.
    Gone,
    /// It was left.
    Unindexed,
}

impl SqliteStore {
    /// Keeps a service from starting; see [`SqliteStore::compact`].
    ///
    /// # Errors
    /// [`StoreError::Locked`] when one runs.
    pub fn lock_out_service(&self) -> Result<Lock> {
        Lock::take(self.folder.root())
    }

    /// Bytes of all pages of the database, also of those that are yet in its log alone.
    ///
    /// # Errors
    /// [`StoreError::Engine`].
    pub fn size_bytes(&self) -> Result<u64> {
        space::size_bytes(self)
    }

    /// Writes the database anew without free pages, while no service runs. Interrupted, it changes nothing;
    /// false when `is_ended`, which is asked by and by, ended it.
    pub fn compact(
        &self,
        _alone: &Lock,
        is_ended: impl Fn() -> bool + Clone + Send + 'static,
    ) -> Result<bool> {
        space::compact(self, is_ended)
    }

    /// The oldest touches that count beside this state, and the last row that may be removed.
    fn kept_by_pins(&self, state: State) -> Result<(i64, i64)> {
        let (epoch, row) = pin::kept(&self.folder)?.unwrap_or((state.epoch, state.last));
        Ok((epoch.min(state.epoch), row.min(state.last)))
    }

    /// Runs a transaction of a collection on the connection that writes.
    fn write<T>(
        &self,
        mut work: impl FnMut(&mut Connection, &ObjectIndex) -> rusqlite::Result<T>,
    ) -> Result<T> {
        let writer = self.writer.as_ref().ok_or(StoreError::ReadOnly)?;
        let mut attempts = 1;
        loop {
            match writer.run("a collection", &mut work) {
                // Others save without a pause; each attempt has waited for them.
                Err(StoreError::Busy) if attempts < ATTEMPTS_MAX => attempts += 1,
                outcome => return outcome,
            }
        }
    }
}

impl Collectable for SqliteStore {
    type Marks = Marks;
    type Collection<'a> = Collection<'a>;
    /// The last row.
    type Bound = i64;

    fn begin_collection(&self, pace: Pace) -> Result<Collection<'_>> {
        let alone = self.folder.lock_for_collection()?;
        let state = self.write(|db, _| raise(db))?;
        let (spared, scope) = self.kept_by_pins(state)?;
        let collection = Collection {
            store: self,
            epoch: state.epoch,
            scope,
            spared,
            pace,
            giving_back: GivingBack::begin(self)?,
            _alone: alone,
        };
        collection.merge_index()?;
        Ok(collection)
    }

    fn mark(&self, marks: &mut Marks, id: ObjectId, need: Need) -> Result<bool> {
        marks.mark(self, id, need)
    }

    fn visit_at_once(
        &self,
        prefixes: &[&str],
        visit: &mut dyn FnMut(&Record) -> Result<()>,
    ) -> Result<()> {
        self.read(|db| {
            let tx = db.unchecked_transaction()?;
            let mut list = tx.prepare_cached(
                "SELECT key, version, value, checksum FROM record
                 WHERE key >= ?1 AND key < CAST(?2 AS TEXT) ORDER BY key",
            )?;
            for prefix in prefixes {
                let mut rows = list.query(params![prefix, prefix_end(prefix)])?;
                while let Some(row) = rows.next()? {
                    let (key, version) = (row.get(0)?, row.get(1)?);
                    visit(&sound_record(
                        key,
                        version,
                        row.get_ref(2)?,
                        row.get_ref(3)?,
                    )?)?;
                }
            }
            Ok(())
        })
    }

    fn collectable(&self) -> Result<i64> {
        let state = self.read(|db| Ok(State::read(db)?))?;
        Ok(self.kept_by_pins(state)?.1)
    }

    fn weigh(
        &self,
        marks: &Marks,
        last: i64,
        mut visit: impl FnMut(u64, Option<Need>),
    ) -> Result<()> {
        let mut after = 0;
        while after < last {
            let page = self.read(|db| {
                let mut list = db.prepare_cached(
                    "SELECT seq, size FROM object WHERE seq > ?1 AND seq <= ?2
                     ORDER BY seq LIMIT ?3",
                )?;
                let rows = list.query_map(params![after, last, PAGE_ROWS], |row| {
                    Ok((row.get(0)?, row.get(1)?))
                })?;
                Ok(rows.collect::<rusqlite::Result<Vec<(i64, u64)>>>()?)
            })?;
            let Some((seen, _)) = page.last() else {
                break;
            };
            after = *seen;
            for (row, bytes) in page {
                visit(bytes, marks.need(row));
            }
        }
        Ok(())
    }

    fn size_of(&self, id: ObjectId) -> Result<u64> {
        let size = self.read(|db| {
            let mut get =
                db.prepare_cached("SELECT size FROM object WHERE seq = ?1 AND id = ?2")?;
            self.in_row(db, id, |row| {
                let size = get.query_one(params![row, id.as_bytes()], |row| row.get(0));
                size.optional()
            })
        })?;
        size.ok_or(StoreError::Missing { id })
    }

    fn are_there(&self, ids: &[ObjectId]) -> Result<Vec<bool>> {
        ids.iter().map(|id| self.has_row(*id)).collect()
    }

    fn last_collection(&self) -> Result<Option<KeptByCollection>> {
        self.folder.last_collection()
    }

    fn note_collection(&self, kept: KeptByCollection) -> Result<()> {
        let (live, old) = (kept.live_bytes, kept.old_bytes);
        self.folder.note_collection(kept.at, live, old)
    }
}

impl Collection<'_> {
    /// Enters every object in the index before any is removed: of what is entered, no process keeps the
    /// row in memory.
    fn merge_index(&self) -> Result<()> {
        let index = &self.store.index;
        let merge = self.store.read(|db| {
            index.catch_up(db)?;
            Ok(index.merge_of_all(db)?)
        })?;
        let Some(mut merge) = merge else {
            return Ok(());
        };
        while !self.step(|db, index, size| merge.step(index, db, size))? {}
        Ok(())
    }

    /// Makes a step of as many rows or pages as the pace says, and of fewer where there is no room for so many.
    fn step<T>(
        &self,
        mut work: impl FnMut(&mut Connection, &ObjectIndex, usize) -> rusqlite::Result<T>,
    ) -> Result<T> {
        loop {
            let size = self.pace.size();
            let work = |db: &mut Connection, index: &ObjectIndex| work(db, index, size);
            match self.pace.step(self.store, || self.store.write(work)) {
                Err(StoreError::Full) if self.pace.halve() => {}
                outcome => return outcome,
            }
        }
    }

    /// The rows of the collection behind this one, `None` where there are no more.
    fn page(&self, after: i64) -> Result<Option<Vec<Candidate>>> {
        let page = self.store.read(|db| {
            let mut list = db.prepare_cached(
                "SELECT seq, id, size FROM object WHERE seq > ?1 AND seq <= ?2
                 ORDER BY seq LIMIT ?3",
            )?;
            let candidate = |row: &Row<'_>| {
                Ok(Candidate {
                    row: row.get(0)?,
                    id: ObjectId::from_bytes(row.get(1)?),
                    bytes: row.get(2)?,
                })
            };
            let rows = list.query_map(params![after, self.scope, PAGE_ROWS], candidate)?;
            Ok(rows.collect::<rusqlite::Result<Vec<_>>>()?)
        })?;
        Ok((!page.is_empty()).then_some(page))
    }

    /// Takes some of the rows, and removes those of them that were not touched, in one transaction.
    fn remove_some(&self, waiting: &mut Vec<Candidate>, swept: &mut Swept) -> Result<()> {
        let (left, now) = self.step(|db, _, size| {
            let left = waiting.len().saturating_sub(size);
            let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let mut now = Swept::default();
            // Who began another collection meanwhile, where locks do not hold, has other marks.
            if State::read(&tx)?.epoch == self.epoch {
                for it in &waiting[left..] {
                    if is_touched(&tx, it.row, self.spared)? {
                        continue;
                    }
                    match remove_row(&tx, it)? {
                        Removal::Done => now.removed.add(it.bytes),
                        Removal::Unindexed => now.unindexed += 1,
                        Removal::Gone => {}
                    }
                }
            }
            tx.commit()?;
            Ok((left, now))
        })?;
        waiting.truncate(left);
        let removed = &mut swept.removed;
        removed.objects += now.removed.objects;
        removed.bytes = removed.bytes.saturating_add(now.removed.bytes);
        swept.unindexed += now.unindexed;
        Ok(())
    }
}

impl collection::Collection for Collection<'_> {
    type Marks = Marks;

    fn sweep_rows(
        &self,
        marks: &Marks,
        mut kept: impl FnMut(Need, u64),
        mut progress: impl FnMut(Amount) -> ControlFlow<()>,
        swept: &mut Swept,
    ) -> Result<ControlFlow<()>> {
        let mut waiting = Vec::new();
        let mut after = 0;
        while let Some(page) = self.page(after)? {
            after = page.iter().map(|it| it.row).max().unwrap_or(after);
            for it in page {
                match marks.need(it.row) {
                    Some(need) => kept(need, it.bytes),
                    None => waiting.push(it),
                }
            }
            while waiting.len() >= self.pace.size() {
                self.remove_some(&mut waiting, swept)?;
                if progress(swept.removed).is_break()
                    || space::give_back_excess(self, || progress(swept.removed))?.is_break()
                {
                    return Ok(ControlFlow::Break(()));
                }
            }
        }
        while !waiting.is_empty() {
            self.remove_some(&mut waiting, swept)?;
        }
        Ok(ControlFlow::Continue(()))
    }

    fn commit(&self, over: &dyn Store, batch: Batch) -> Result<()> {
        self.pace.commit(self.store, over, batch)
    }

    fn sweep_files(&self) -> Result<u64> {
        files::remove_unnamed(self.store)
    }

    fn give_back(&self, progress: impl FnMut(u64) -> ControlFlow<()>) -> Result<Space> {
        space::give_back(self, progress)
    }

    /// Commits no longer touch what they reuse. Then the file of the database is cut off behind its last page.
    fn finish(self) -> Result<()> {
        let state = self.store.write(|db, _| {
            let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
            // A pin that is taken from now on is of a later epoch than what is forgotten.
            tx.execute("UPDATE collection SET epoch = epoch + 1, scope = 0", [])?;
            let state = State::read(&tx)?;
            tx.commit()?;
            Ok(state)
        })?;
        let (kept, _) = self.store.kept_by_pins(state)?;
        let forget = |db: &mut Connection, _: &ObjectIndex, size: usize| {
            db.execute(
                "DELETE FROM touched WHERE seq IN
                    (SELECT seq FROM touched WHERE epoch < ?1 LIMIT ?2)",
                params![kept, size * TOUCHES_TO_A_ROW],
            )
        };
        while self.step(forget)? > 0 {}
        space::shorten_file(self.store)
    }
}

/// Begins a collection of every row that there is.
fn raise(db: &mut Connection) -> rusqlite::Result<State> {
    let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let State { last, .. } = State::read(&tx)?;
    tx.execute(
        "UPDATE collection SET epoch = epoch + 1, scope = ?1, last = ?1",
        [last],
    )?;
    let state = State::read(&tx)?;
    tx.commit()?;
    Ok(state)
}

fn is_touched(tx: &Transaction<'_>, row: i64, since: i64) -> rusqlite::Result<bool> {
    tx.prepare_cached("SELECT 1 FROM touched WHERE seq = ?1 AND epoch >= ?2")?
        .exists([row, since])
}

/// Removes an object with all that belongs to it, unless the index does not lead to it: since the merge it
/// leads to every row that may be removed, so then it is damaged, and what a state needs may be unmarked.
fn remove_row(tx: &Transaction<'_>, it: &Candidate) -> rusqlite::Result<Removal> {
    let own = params![it.row, it.id.as_bytes()];
    let mut leave = tx.prepare_cached("DELETE FROM object_index WHERE seq = ?1 AND id = ?2")?;
    if leave.execute(own)? == 0 && !has_another_row(tx, it.id)? {
        let mut find = tx.prepare_cached("SELECT 1 FROM object WHERE seq = ?1 AND id = ?2")?;
        return Ok(if find.exists(own)? {
            Removal::Unindexed
        } else {
            Removal::Gone
        });
    }
    let mut remove = tx.prepare_cached("DELETE FROM object WHERE seq = ?1 AND id = ?2")?;
    if remove.execute(own)? == 0 {
        return Ok(Removal::Gone);
    }
    tx.prepare_cached("DELETE FROM outboard WHERE seq = ?1")?
        .execute([it.row])?;
    Ok(Removal::Done)
}

/// True if the index leads to a row of this object: it was put again when it could not be found.
fn has_another_row(tx: &Transaction<'_>, id: ObjectId) -> rusqlite::Result<bool> {
    tx.prepare_cached("SELECT 1 FROM object_index JOIN object USING (seq, id) WHERE id = ?1")?
        .exists([id.as_bytes()])
}
