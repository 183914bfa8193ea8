//! The one connection that writes. A batch that finds nobody writing is committed by the thread that
//! brings it; those that come meanwhile wait for the writer's thread, which commits all that wait in
//! one transaction and answers them after its one sync.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, TrySendError, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use rusqlite::{
    Connection, ErrorCode, OptionalExtension, Transaction, TransactionBehavior, params,
};

use super::checkpointer;
use super::checkpointer::Checkpoints;
use super::data_folder::Folder;
use super::external_writes::Foreign;
use super::object_index::{Entering, Index};
use super::{schema, spawn};
use crate::base::id::ObjectId;
use crate::base::limits::{
    BATCHES_PER_TRANSACTION_MAX, BATCHES_WAITING_MAX, TOMBSTONES_KEPT, WAL_FRAMES_IDLE_MAX,
    WAL_FRAMES_MAX,
};
use crate::store::{Batch, Expect, NewBody, Result, StoreError, Version};

/// A batch and where its answer goes.
struct Request {
    batch: Batch,
    answer: SyncSender<Result<Version>>,
}

/// The way to the connection that writes. Dropped, it lets the thread finish what waits.
#[derive(Debug)]
pub(super) struct Writer {
    /// `None` stands for work that is due beside batches.
    requests: Option<SyncSender<Option<Request>>>,
    /// What waits for the thread, until it has the connection: nobody overtakes it.
    waiting: Arc<AtomicUsize>,
    thread: Option<JoinHandle<()>>,
    work: Arc<Mutex<Work>>,
    stopped: Arc<AtomicBool>,
}

impl Writer {
    pub(super) fn start(folder: &Folder, index: &Arc<Index>) -> Result<(Self, Arc<Foreign>)> {
        let database = folder.database();
        let mut db = schema::open_writer(&database)?;
        let frames = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&frames);
        db.wal_hook(Some(move |_: &mut rusqlite::hooks::Wal, pages: i32| {
            counted.store(u64::try_from(pages).unwrap_or(0), Ordering::Relaxed);
            Ok(())
        }))?;
        let (requests, waiting) = sync_channel(BATCHES_WAITING_MAX);
        let stopped = Arc::new(AtomicBool::new(false));
        let checkpoints = Checkpoints::start(schema::open_checkpointer(&database)?)?;
        let foreign = Arc::new(Foreign::new(&database)?);
        let work = Arc::new(Mutex::new(Work {
            db,
            foreign: Arc::clone(&foreign),
            index: Arc::clone(index),
            entering: None,
            stopped: Arc::clone(&stopped),
            frames,
            copied: 0,
            checkpoints,
        }));
        let queue = Queue {
            requests: waiting,
            waiting: Arc::default(),
        };
        let waiting = Arc::clone(&queue.waiting);
        let worked_on = Arc::clone(&work);
        let thread = spawn("store-writer", move || run(&queue, &worked_on))?;
        let writer = Self {
            requests: Some(requests),
            waiting,
            thread: Some(thread),
            work,
            stopped,
        };
        Ok((writer, foreign))
    }

    pub(super) fn commit(&self, batch: Batch) -> Result<Version> {
        let requests = self.requests.as_ref().ok_or(StoreError::Stopped)?;
        // Where somebody waits already, one more shares their sync.
        if self.waiting.load(Ordering::Acquire) == 0
            && let Ok(mut work) = self.work.try_lock()
        {
            let mut outcomes = work.commit_all(std::slice::from_ref(&batch));
            if work.is_due() {
                self.waiting.fetch_add(1, Ordering::AcqRel);
                // Full means that the thread will come to it anyway.
                if requests.try_send(None).is_err() {
                    self.waiting.fetch_sub(1, Ordering::AcqRel);
                }
            }
            return outcomes.pop().unwrap_or(Err(StoreError::Stopped));
        }
        let (answer, answered) = sync_channel(1);
        self.waiting.fetch_add(1, Ordering::AcqRel);
        match requests.try_send(Some(Request { batch, answer })) {
            Ok(()) => answered.recv().unwrap_or(Err(StoreError::Stopped)),
            Err(refused) => {
                self.waiting.fetch_sub(1, Ordering::AcqRel);
                Err(match refused {
                    TrySendError::Full(_) => StoreError::Busy,
                    TrySendError::Disconnected(_) => StoreError::Stopped,
                })
            }
        }
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::SeqCst) || self.work.is_poisoned()
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        drop(self.requests.take());
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the store's writer ended in a panic");
        }
    }
}

/// What the writer's thread takes its work from.
struct Queue {
    requests: Receiver<Option<Request>>,
    waiting: Arc<AtomicUsize>,
}

/// Commits groups until nobody can send any more.
fn run(queue: &Queue, work: &Mutex<Work>) {
    let mut unfinished = false;
    while let Some(group) = queue.next_group(unfinished) {
        let Ok(mut work) = work.lock() else {
            tracing::error!("a write ended in a panic; the store refuses writes from now on");
            return;
        };
        queue.waiting.fetch_sub(group.len(), Ordering::AcqRel);
        let group: Vec<_> = group.into_iter().flatten().collect();
        let alone = group.len() <= 1;
        if !group.is_empty() {
            let (batches, answers): (Vec<_>, Vec<_>) = group
                .into_iter()
                .map(|request| (request.batch, request.answer))
                .unzip();
            let outcomes = work.commit_all(&batches);
            for (answer, outcome) in answers.into_iter().zip(outcomes) {
                // Who no longer waits for the answer does not need it.
                drop(answer.send(outcome));
            }
        }
        work.enter_objects();
        work.checkpoint(alone);
        unfinished = work.entering.is_some();
    }
}

impl Queue {
    /// Waits for batches and takes all that wait; takes none where there is other work, which may be
    /// `unfinished`. `None` when nobody can send any more.
    fn next_group(&self, unfinished: bool) -> Option<Vec<Option<Request>>> {
        let first = if unfinished {
            match self.requests.try_recv() {
                Ok(first) => first,
                Err(TryRecvError::Empty) => return Some(Vec::new()),
                Err(TryRecvError::Disconnected) => return None,
            }
        } else {
            self.requests.recv().ok()?
        };
        let rest = self
            .requests
            .try_iter()
            .take(BATCHES_PER_TRANSACTION_MAX - 1);
        Some(std::iter::once(first).chain(rest).collect())
    }
}

/// The connection that writes, and what it keeps in order beside.
#[derive(Debug)]
struct Work {
    /// Before the writing connection, which must close last.
    foreign: Arc<Foreign>,
    db: Connection,
    index: Arc<Index>,
    /// Objects that are being entered into the index, between the groups.
    entering: Option<Entering>,
    stopped: Arc<AtomicBool>,
    frames: Arc<AtomicU64>,
    /// The log's length when the helper was last told to copy it.
    copied: u64,
    checkpoints: Checkpoints,
}

impl Work {
    /// True if the thread has something to do beside batches.
    fn is_due(&self) -> bool {
        self.frames.load(Ordering::Relaxed) > WAL_FRAMES_IDLE_MAX || self.index.is_due()
    }

    /// Commits what can be committed of the group, and says what became of each.
    fn commit_all(&mut self, batches: &[Batch]) -> Vec<Result<Version>> {
        if self.stopped.load(Ordering::SeqCst) {
            return batches.iter().map(|_| Err(StoreError::Stopped)).collect();
        }
        match apply_group(&mut self.db, &self.foreign, &self.index, batches) {
            Ok(outcomes) => outcomes,
            Err(failure) => {
                let refusal = self.note_failure(&failure);
                batches.iter().map(|_| Err(refusal.to_error())).collect()
            }
        }
    }

    /// Enters objects into the index where many are due: a step after each group, and on as long as
    /// nobody waits.
    fn enter_objects(&mut self) {
        if self.stopped.load(Ordering::SeqCst) {
            self.entering = None;
            return;
        }
        let due = self.entering.take().or_else(|| self.index.entering());
        if let Some(mut entering) = due {
            match entering.step(&self.index, &mut self.db) {
                Ok(true) => {}
                Ok(false) => self.entering = Some(entering),
                // It begins anew after the next group.
                Err(failure) => drop(self.note_failure(&failure)),
            }
        }
    }

    /// Stops the store after a failure that it cannot outlive.
    fn note_failure(&self, failure: &rusqlite::Error) -> Refusal {
        let refusal = refusal_of(failure);
        if !matches!(refusal, Refusal::Full | Refusal::Busy) {
            // A failed write or sync may have left pages that only look written: never go on.
            self.stopped.store(true, Ordering::SeqCst);
            tracing::error!(error = %failure, "a write failed; the store refuses writes from now on");
        }
        refusal
    }

    /// Keeps the log short: the helper copies it beside the saves. To start again, which keeps it in
    /// blocks that the disk has given already, it needs a moment at which all of it is copied: then
    /// the writer copies, after it has answered, the little that came while the helper did. Where
    /// batches come one by one nobody waits meanwhile; among many that happens seldom.
    fn checkpoint(&mut self, alone: bool) {
        let frames = self.frames.load(Ordering::Relaxed);
        if frames < self.copied {
            // The log has started again.
            self.copied = 0;
        }
        let most = if alone {
            WAL_FRAMES_IDLE_MAX
        } else {
            WAL_FRAMES_MAX
        };
        let long = frames > most;
        let due = frames - self.copied > WAL_FRAMES_IDLE_MAX || long && self.copied <= most;
        // Where the log grows faster than the helper copies, saves have to wait for it.
        let overdue = frames > 2 * WAL_FRAMES_MAX;
        if due && !overdue && self.checkpoints.begin() {
            self.copied = frames;
        } else if long && (overdue || !due) && !self.checkpoints.is_copying() {
            checkpointer::copy(&self.db);
        }
    }
}

/// Applies the group in one transaction. An outer error means that nothing of it was committed.
fn apply_group(
    db: &mut Connection,
    foreign: &Foreign,
    index: &Index,
    batches: &[Batch],
) -> rusqlite::Result<Vec<Result<Version>>> {
    let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let version = schema::last_version(&tx)?;
    foreign.note(version);
    let names_objects = |batch: &Batch| !(batch.objects.is_empty() && batch.required.is_empty());
    if batches.iter().any(names_objects) {
        index.catch_up(&tx)?;
    }
    let mut group = Group {
        tx: &tx,
        index,
        put: HashMap::new(),
        version,
    };
    let mut outcomes = Vec::with_capacity(batches.len());
    for batch in batches {
        outcomes.push(match group.check(batch)? {
            Some(refused) => Err(refused),
            None => group.apply(batch).map(Ok)?,
        });
    }
    let Group { put, version, .. } = group;
    if outcomes.iter().any(Result::is_ok) {
        tx.commit()?;
        index.add(put);
        foreign.note_own(version);
    }
    Ok(outcomes)
}

/// A transaction of several batches.
struct Group<'a> {
    tx: &'a Transaction<'a>,
    index: &'a Index,
    /// Rows that it has put.
    put: HashMap<ObjectId, i64>,
    /// The last write's.
    version: Version,
}

impl Group<'_> {
    fn contains(&self, id: ObjectId) -> rusqlite::Result<bool> {
        Ok(self.put.contains_key(&id) || self.index.find_known(self.tx, id)?.is_some())
    }

    /// Why the batch cannot be applied, if it cannot.
    fn check(&self, batch: &Batch) -> rusqlite::Result<Option<StoreError>> {
        let mut find = self
            .tx
            .prepare_cached("SELECT version FROM record WHERE key = ?1")?;
        for write in &batch.writes {
            if write.expect == Expect::Anything {
                continue;
            }
            let found: Option<Version> =
                find.query_one([&write.key], |row| row.get(0)).optional()?;
            let fine = match write.expect {
                Expect::Anything => true,
                Expect::Absent => found.is_none(),
                Expect::Version(version) => found == Some(version),
            };
            if !fine {
                return Ok(Some(StoreError::Conflict {
                    key: write.key.clone(),
                }));
            }
        }
        for id in &batch.required {
            if !batch.objects.iter().any(|new| new.id == *id) && !self.contains(*id)? {
                return Ok(Some(StoreError::Missing { id: *id }));
            }
        }
        Ok(None)
    }

    fn apply(&mut self, batch: &Batch) -> rusqlite::Result<Version> {
        let tx = self.tx;
        let mut put = tx.prepare_cached(
            "INSERT INTO object (id, kind, size, sha256, bytes) VALUES (?1, ?2, ?3, ?4, ?5)",
        )?;
        for new in &batch.objects {
            if self.contains(new.id)? {
                continue;
            }
            let bytes = match &new.body {
                NewBody::Inline(bytes) => Some(bytes.as_ref()),
                NewBody::Published => None,
            };
            let sha256 = new.sha256.as_ref().map(|id| id.as_bytes().as_slice());
            let row = put.insert(params![
                new.id.as_bytes(),
                new.kind.code(),
                new.size,
                sha256,
                bytes
            ])?;
            self.put.insert(new.id, row);
        }
        let mut write = tx.prepare_cached(
            "INSERT INTO record (version, key, value) VALUES (?1, ?2, ?3)
             ON CONFLICT (key) DO UPDATE SET version = excluded.version, value = excluded.value",
        )?;
        let mut delete = tx.prepare_cached("DELETE FROM record WHERE key = ?1")?;
        let mut bury = tx.prepare_cached("INSERT INTO tombstone (version, key) VALUES (?1, ?2)")?;
        let mut forget = tx.prepare_cached("DELETE FROM tombstone WHERE version < ?1")?;
        for record in &batch.writes {
            if let Some(value) = &record.value {
                self.version += 1;
                write.execute(params![self.version, record.key, value.as_ref()])?;
            } else if delete.execute([&record.key])? > 0 {
                self.version += 1;
                bury.execute(params![self.version, record.key])?;
                forget.execute([self.version.saturating_sub(TOMBSTONES_KEPT)])?;
            }
        }
        Ok(self.version)
    }
}

/// A failure of a whole group, as each of its callers is told.
enum Refusal {
    Full,
    Busy,
    Stopped,
}

impl Refusal {
    fn to_error(&self) -> StoreError {
        match self {
            Self::Full => StoreError::Full,
            Self::Busy => StoreError::Busy,
            Self::Stopped => StoreError::Stopped,
        }
    }
}

fn refusal_of(failure: &rusqlite::Error) -> Refusal {
    match failure.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => Refusal::Full,
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Refusal::Busy,
        _ => Refusal::Stopped,
    }
}
