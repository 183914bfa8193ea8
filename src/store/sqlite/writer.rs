//! The one thread that writes: it takes every batch that waits, commits them in one transaction and
//! answers all of them after its one sync.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;

use rusqlite::wal::CheckpointMode;
use rusqlite::{
    Connection, ErrorCode, OptionalExtension, Transaction, TransactionBehavior, params,
};

use super::folder::Folder;
use super::foreign::Foreign;
use super::schema;
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

/// The way to the writer's thread. Dropped, it lets the thread finish what waits.
#[derive(Debug)]
pub(super) struct Writer {
    requests: Option<SyncSender<Request>>,
    thread: Option<JoinHandle<()>>,
    stopped: Arc<AtomicBool>,
}

impl Writer {
    pub(super) fn start(folder: &Folder) -> Result<(Self, Arc<Foreign>)> {
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
        let work = Work {
            db,
            foreign: Arc::clone(&foreign),
            waiting,
            stopped: Arc::clone(&stopped),
            frames,
            copied: 0,
            checkpoints,
        };
        let thread = spawn("store-writer", move || work.run())?;
        let writer = Self {
            requests: Some(requests),
            thread: Some(thread),
            stopped,
        };
        Ok((writer, foreign))
    }

    pub(super) fn commit(&self, batch: Batch) -> Result<Version> {
        let (answer, answered) = sync_channel(1);
        let requests = self.requests.as_ref().ok_or(StoreError::Stopped)?;
        match requests.try_send(Request { batch, answer }) {
            Ok(()) => answered.recv().unwrap_or(Err(StoreError::Stopped)),
            Err(TrySendError::Full(_)) => Err(StoreError::Busy),
            Err(TrySendError::Disconnected(_)) => Err(StoreError::Stopped),
        }
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::SeqCst)
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

/// What the writer's thread owns.
struct Work {
    /// Before the writing connection, which must close last.
    foreign: Arc<Foreign>,
    db: Connection,
    waiting: Receiver<Request>,
    stopped: Arc<AtomicBool>,
    frames: Arc<AtomicU64>,
    /// The log's length when the helper was last told to copy it.
    copied: u64,
    checkpoints: Checkpoints,
}

impl Work {
    fn run(mut self) {
        while let Ok(first) = self.waiting.recv() {
            let mut group = vec![first];
            group.extend(
                self.waiting
                    .try_iter()
                    .take(BATCHES_PER_TRANSACTION_MAX - 1),
            );
            let (batches, answers): (Vec<_>, Vec<_>) = group
                .into_iter()
                .map(|request| (request.batch, request.answer))
                .unzip();
            let outcomes = self.commit_all(&batches);
            for (answer, outcome) in answers.into_iter().zip(outcomes) {
                // Who no longer waits for the answer does not need it.
                drop(answer.send(outcome));
            }
            self.checkpoint();
        }
    }

    /// Commits what can be committed of the group, and says what became of each.
    fn commit_all(&mut self, batches: &[Batch]) -> Vec<Result<Version>> {
        if self.stopped.load(Ordering::SeqCst) {
            return batches.iter().map(|_| Err(StoreError::Stopped)).collect();
        }
        match apply_group(&mut self.db, &self.foreign, batches) {
            Ok(outcomes) => outcomes,
            Err(failure) => {
                let refusal = refusal_of(&failure);
                if !matches!(refusal, Refusal::Full | Refusal::Busy) {
                    // A failed write or sync may have left pages that only look written: never go on.
                    self.stopped.store(true, Ordering::SeqCst);
                    tracing::error!(error = %failure, "a write failed; the store refuses writes from now on");
                }
                batches.iter().map(|_| Err(refusal.to_error())).collect()
            }
        }
    }

    /// Keeps the log short: the helper copies it beside the saves; where it cannot keep up, the
    /// writer does it itself, after it has answered, so that the log can start again.
    fn checkpoint(&mut self) {
        let frames = self.frames.load(Ordering::Relaxed);
        if frames < self.copied {
            // The log has started again.
            self.copied = 0;
        }
        if frames > WAL_FRAMES_MAX {
            if let Err(e) = self
                .db
                .wal_checkpoint_v2(None::<&str>, CheckpointMode::PASSIVE)
            {
                tracing::warn!(error = %e, "a checkpoint failed");
            }
        } else if frames - self.copied > WAL_FRAMES_IDLE_MAX {
            self.copied = frames;
            self.checkpoints.wish();
        }
    }
}

/// Applies the group in one transaction. An outer error means that nothing of it was committed.
fn apply_group(
    db: &mut Connection,
    foreign: &Foreign,
    batches: &[Batch],
) -> rusqlite::Result<Vec<Result<Version>>> {
    let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut version = schema::last_version(&tx)?;
    foreign.note(version);
    let mut outcomes = Vec::with_capacity(batches.len());
    let mut changed = false;
    for batch in batches {
        if let Some(refused) = check(&tx, batch)? {
            outcomes.push(Err(refused));
        } else {
            apply(&tx, batch, &mut version)?;
            changed = true;
            outcomes.push(Ok(version));
        }
    }
    if changed {
        tx.commit()?;
        foreign.note_own(version);
    }
    Ok(outcomes)
}

/// Why the batch cannot be applied, if it cannot.
fn check(tx: &Transaction<'_>, batch: &Batch) -> rusqlite::Result<Option<StoreError>> {
    let mut find = tx.prepare_cached("SELECT version FROM record WHERE key = ?1")?;
    for write in &batch.writes {
        if write.expect == Expect::Anything {
            continue;
        }
        let found: Option<Version> = find.query_one([&write.key], |row| row.get(0)).optional()?;
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
    let mut exists = tx.prepare_cached("SELECT 1 FROM object WHERE id = ?1")?;
    for id in &batch.required {
        if !batch.objects.iter().any(|new| new.id == *id) && !exists.exists([id.as_bytes()])? {
            return Ok(Some(StoreError::Missing { id: *id }));
        }
    }
    Ok(None)
}

fn apply(tx: &Transaction<'_>, batch: &Batch, version: &mut Version) -> rusqlite::Result<()> {
    let mut put = tx.prepare_cached(
        "INSERT INTO object (id, kind, size, sha256, bytes) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT (id) DO NOTHING",
    )?;
    for new in &batch.objects {
        let bytes = match &new.body {
            NewBody::Inline(bytes) => Some(bytes.as_ref()),
            NewBody::Published => None,
        };
        let sha256 = new.sha256.as_ref().map(|id| id.as_bytes().as_slice());
        put.execute(params![
            new.id.as_bytes(),
            new.kind.code(),
            new.size,
            sha256,
            bytes
        ])?;
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
            *version += 1;
            write.execute(params![*version, record.key, value.as_ref()])?;
        } else if delete.execute([&record.key])? > 0 {
            *version += 1;
            bury.execute(params![*version, record.key])?;
            forget.execute([version.saturating_sub(TOMBSTONES_KEPT)])?;
        }
    }
    Ok(())
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

/// The way to the thread that copies the log into the database beside the writer. Dropped, it waits
/// for the thread to end.
struct Checkpoints {
    wishes: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Checkpoints {
    fn start(db: Connection) -> Result<Self> {
        let (wishes, wished) = sync_channel::<()>(1);
        let thread = spawn("store-checkpoint", move || {
            while wished.recv().is_ok() {
                if let Err(e) = db.wal_checkpoint_v2(None::<&str>, CheckpointMode::PASSIVE) {
                    tracing::warn!(error = %e, "a checkpoint failed");
                }
            }
        })?;
        Ok(Self {
            wishes: Some(wishes),
            thread: Some(thread),
        })
    }

    fn wish(&self) {
        if let Some(wishes) = &self.wishes {
            // Full means that the thread has been told already.
            let _told = wishes.try_send(());
        }
    }
}

impl Drop for Checkpoints {
    fn drop(&mut self) {
        drop(self.wishes.take());
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the store's checkpoints ended in a panic");
        }
    }
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>> {
    let thread = std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(work);
    thread.map_err(|e| StoreError::io("starting a thread", e))
}
