//! The one connection that writes. What comes while a group of batches is under way waits, and is the next
//! group: one call of the database, one transaction, one sync.

mod pruning;
mod refused;

use std::collections::VecDeque;
use std::iter;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

use self::pruning::prune;
pub(super) use self::refused::RefusedWrites;
use super::READER_SETTINGS;
use super::changes::Changes;
use super::failure::{Meaning, failure, meaning_of, said_by};
use super::group::{self, Arrays, Job, Outcomes};
use super::link::{CONNECTION_WAIT_MAX, Link, Params, Session};
use super::row::signed;
use super::server::{Server, Timeline};
use crate::base::limits::{BATCHES_PER_TRANSACTION_MAX, BATCHES_WAITING_MAX};
use crate::base::threads::lock;
use crate::store::{Result, StoreError};

const COMMIT: &str = "SELECT before, kinds, versions, details FROM siteconf.commit_v2(\
    $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24)";
const CONFIRM: &str = "SELECT siteconf.confirm_v1($1, $2)";
/// How often a group is sent again because a collection has begun meanwhile.
const RAISES_MAX: u32 = 100;
/// How long after its connection was lost a new one is waited for, to find out whether a group was committed.
const IN_DOUBT_MAX: Duration = Duration::from_secs(15);
/// How long a call may take before its connection counts as lost. It is never cancelled: a commit that is
/// cancelled while it waits for a standby is seen, and may be lost later.
const CALL_MAX: Duration = Duration::from_secs(30);
/// What the connection that writes is told, beside the number of its process. Each look is by an index: the plans are
/// made while the tables are empty, and stay.
const WRITER_SETTINGS: &str = "
SET lock_timeout = '5s';
SET statement_timeout = 0;
SET plan_cache_mode = force_generic_plan;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
";

/// The way to the task that writes.
#[derive(Debug)]
pub(super) struct Writer {
    jobs: Sender<Job>,
    refused: Arc<RefusedWrites>,
    timeline: Arc<Mutex<Option<Timeline>>>,
    task: JoinHandle<()>,
}

impl Writer {
    /// Starts the task on this runtime.
    pub(super) fn start(runtime: &Handle, server: &Arc<Server>, changes: &Arc<Changes>) -> Self {
        let (jobs, received) = channel(BATCHES_WAITING_MAX);
        let named = format!(
            "{WRITER_SETTINGS}SET siteconf.writer = {};",
            changes.writer()
        );
        let refused = Arc::new(RefusedWrites::default());
        let (written, counted) = watch::channel(0);
        drop(runtime.spawn(prune(
            Link::new(server, READER_SETTINGS).awaited_by_nobody(),
            counted,
        )));
        let timeline = Arc::default();
        let calls = Calls {
            timeline: Arc::clone(&timeline),
            refused: Arc::clone(&refused),
            link: Link::new(server, named),
            changes: Arc::clone(changes),
            writer: rand::random(),
            serial: 0,
            written,
        };
        let task = runtime.spawn(calls.run(received));
        Self {
            jobs,
            refused,
            timeline,
            task,
        }
    }

    /// Has a batch committed; the outcome is sent.
    pub(super) fn send(&self, job: Job) -> Result<()> {
        self.jobs.try_send(job).map_err(|refused| match refused {
            TrySendError::Full(_) => StoreError::Busy,
            TrySendError::Closed(_) => StoreError::Stopped,
        })
    }

    /// Why the last groups were refused.
    pub(super) fn refused(&self) -> &Arc<RefusedWrites> {
        &self.refused
    }

    /// The history in which it writes, once it has written.
    pub(super) fn timeline(&self) -> Option<Timeline> {
        *lock(&self.timeline)
    }

    /// False when the task has panicked.
    pub(super) fn is_alive(&self) -> bool {
        !self.task.is_finished()
    }
}

/// What the task holds.
struct Calls {
    link: Link,
    timeline: Arc<Mutex<Option<Timeline>>>,
    refused: Arc<RefusedWrites>,
    changes: Arc<Changes>,
    /// With the serial of a group, the name under which its outcome is kept.
    writer: [u8; 16],
    serial: i64,
    /// How much was written so far, for who removes what is no longer needed.
    written: watch::Sender<u64>,
}

impl Calls {
    /// Commits groups until nobody can send any more.
    async fn run(mut self, mut jobs: Receiver<Job>) {
        let mut waiting = VecDeque::new();
        loop {
            if waiting.is_empty() {
                let Some(first) = jobs.recv().await else {
                    return;
                };
                waiting.push_back(first);
            }
            while waiting.len() < BATCHES_PER_TRANSACTION_MAX
                && let Ok(job) = jobs.try_recv()
            {
                waiting.push_back(job);
            }
            let group = group::take(&mut waiting);
            let waiters = (&mut waiting, &mut jobs);
            let outcomes = self.commit_while_others_wait(&group, waiters).await;
            self.written
                .send_modify(|written| *written += outcomes.written());
            self.tell(group, outcomes);
        }
    }

    /// The outcome of each batch. Those that wait for their turn are refused meanwhile, as soon as it is known
    /// that the database is away: it may take long to find out what became of these.
    async fn commit_while_others_wait(
        &mut self,
        group: &[Job],
        (waiting, jobs): (&mut VecDeque<Job>, &mut Receiver<Job>),
    ) -> Outcomes {
        let changes = Arc::clone(&self.changes);
        let mut commit = pin!(self.commit(group));
        tokio::select! {
            outcomes = commit.as_mut() => return outcomes,
            _ = changes.refused() => {}
        }
        waiting.extend(iter::from_fn(|| jobs.try_recv().ok()));
        for job in waiting.drain(..) {
            job.observed(Err(StoreError::Unavailable))();
        }
        commit.await
    }

    /// The outcome of each batch.
    async fn commit(&mut self, group: &[Job]) -> Outcomes {
        self.serial += 1;
        let outcomes = self.outcomes(group).await;
        outcomes.unwrap_or_else(|refusal| Outcomes {
            before: None,
            of_batches: group.iter().map(|_| Err(refusal())).collect(),
        })
    }

    /// Tells all callers, once none of the group counts as a change of others any more.
    fn tell(&self, group: Vec<Job>, outcomes: Outcomes) {
        self.note_made(&group, &outcomes);
        let own = outcomes.before.zip(outcomes.last());
        let all = group.into_iter().zip(outcomes.of_batches);
        let callers: Vec<_> = all.map(|(job, outcome)| job.observed(outcome)).collect();
        if let Some((before, last)) = own {
            self.changes.record_own(before, last);
        }
        for tell in callers {
            tell();
        }
    }

    /// Notes which changes were made.
    fn note_made(&self, group: &[Job], outcomes: &Outcomes) {
        for (job, outcome) in group.iter().zip(&outcomes.of_batches) {
            if outcome.is_ok() {
                self.refused.note_made(!job.batch.objects.is_empty());
            }
        }
    }

    /// Sends the group until it is known what became of it. An error is made for each batch.
    async fn outcomes(
        &self,
        group: &[Job],
    ) -> std::result::Result<Outcomes, Box<dyn Fn() -> StoreError + Send>> {
        let began = Instant::now();
        // When the connection was lost over which it was first sent.
        let mut lost: Option<Instant> = None;
        let (mut repeats, mut raises) = (0, 0);
        loop {
            let was_sent = lost.is_some();
            let connected_by = match lost {
                Some(lost) => lost + IN_DOUBT_MAX,
                None => began + CONNECTION_WAIT_MAX,
            };
            let session = match self.link.session(connected_by).await {
                Ok(session) => session,
                Err(_) if was_sent => return Err(Box::new(|| StoreError::InDoubt)),
                Err(StoreError::Unfit { reason }) => {
                    return Err(Box::new(move || StoreError::Unfit {
                        reason: reason.clone(),
                    }));
                }
                Err(_) => return Err(Box::new(|| StoreError::Unavailable)),
            };
            *lock(&self.timeline) = Some(session.timeline);
            let arrays = Arrays::new(group, session.timeline);
            let seen = signed(self.changes.last());
            let named: [&(dyn tokio_postgres::types::ToSql + Sync); 4] =
                [&self.writer.as_slice(), &self.serial, &was_sent, &seen];
            let params: Vec<_> = named.into_iter().chain(arrays.params()).collect();
            let params: Params<'_> = &params;
            session.forget_warnings();
            match self.wait_for(&session, session.query(COMMIT, params)).await {
                Ok(Ok(rows)) if session.is_doubtful() => {
                    drop(rows);
                    self.link.discard(&session).await;
                    return Err(Box::new(|| StoreError::InDoubt));
                }
                Ok(Ok(rows)) => {
                    let outcomes = rows.first().map(Outcomes::of);
                    return match outcomes {
                        Some(Ok(outcomes))
                            if outcomes.of_batches.len() == group.len()
                                && (!was_sent || self.is_kept(&session, &outcomes).await) =>
                        {
                            Ok(outcomes)
                        }
                        // It is committed, and cannot be understood.
                        _ => Err(Box::new(|| StoreError::InDoubt)),
                    };
                }
                Ok(Err(error)) => match meaning_of(&error) {
                    Meaning::Lost => {
                        tracing::warn!("the database was lost during a commit; it is asked again");
                        self.link.discard(&session).await;
                        lost.get_or_insert_with(Instant::now);
                    }
                    Meaning::Again if repeats == 0 => {
                        tracing::warn!(error = said_by(&error), "a commit is repeated");
                        repeats += 1;
                    }
                    Meaning::Raised if raises < RAISES_MAX => raises += 1,
                    // The first call may be under way still: it holds the lock while it waits for a standby.
                    Meaning::Again | Meaning::Raised | Meaning::Refused if was_sent => {
                        return Err(Box::new(|| StoreError::InDoubt));
                    }
                    Meaning::Again | Meaning::Raised | Meaning::Refused => {
                        self.link.tell_refused(&error);
                        let refusal = failure(&error);
                        self.refused.note_refusal(&refusal);
                        self.link.leave_read_only(&session, &refusal).await;
                        return Err(Box::new(move || failure(&error)));
                    }
                },
                Err(()) => {
                    self.link.discard(&session).await;
                    lost.get_or_insert_with(Instant::now);
                }
            }
        }
    }

    /// Waits for what the server answers; nothing where that takes too long, or another server is seen to commit: this
    /// one may never answer, and what it says counts no more.
    async fn wait_for<T>(
        &self,
        session: &Session,
        asked: impl Future<Output = T>,
    ) -> std::result::Result<T, ()> {
        let primary = self.link.primary();
        let answered = async {
            let answer = asked.await;
            primary
                .is(session.started)
                .await
                .then_some(answer)
                .ok_or(())
        };
        tokio::select! {
            answer = timeout(CALL_MAX, answered) => answer.unwrap_or(Err(())),
            () = primary.is_another_than(session.started) => Err(()),
        }
    }

    /// False if what an earlier call has left may be lost later: who only reads it does not wait for a standby. It is
    /// written once more, which does.
    async fn is_kept(&self, session: &Arc<Session>, outcomes: &Outcomes) -> bool {
        let is_of_this_call = outcomes.before.is_some();
        if is_of_this_call {
            return true;
        }
        let named: Params<'_> = &[&self.writer.as_slice(), &self.serial];
        let confirmed = timeout(CALL_MAX, session.query(CONFIRM, named)).await;
        let is_kept = matches!(confirmed, Ok(Ok(_))) && !session.is_doubtful();
        if !is_kept {
            self.link.discard(session).await;
        }
        is_kept
    }
}
