//! A connection to the database that is made again when it is lost.

use std::collections::HashMap;
use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, sleep_until, timeout, timeout_at};
use tokio_postgres::error::{DbError, Severity, SqlState};
use tokio_postgres::types::ToSql;
use tokio_postgres::{AsyncMessage, Client, Row, Statement};

use super::failure::{Meaning, failure, meaning_of, unfit};
use super::server::{Connection, Primary, SESSION_SETTINGS, Server, Started, Timeline};
use crate::base::threads::lock;
use crate::store::{Result, StoreError};

/// How long is waited for a connection.
pub(super) const CONNECTION_WAIT_MAX: Duration = Duration::from_secs(3);
/// How long the first connection of a process may take, whatever hosts are silent.
const FIRST_CONNECTION_MAX: Duration = Duration::from_secs(15);
/// How long an answer may take; the server gives up a statement that reads a little earlier.
const ANSWER_WAIT_MAX: Duration = Duration::from_secs(11);
/// After so long without any answer a connection is silent. A statement takes less, unless it waits for a lock. It is
/// less than it takes to find that the whole database does not answer.
const SILENT_AFTER: Duration = Duration::from_secs(1);
/// Between two attempts to connect, at first and at most.
const PAUSE_MIN: Duration = Duration::from_millis(50);
const PAUSE_MAX: Duration = Duration::from_millis(500);

/// The parameters of a statement.
pub(super) type Params<'a> = &'a [&'a (dyn ToSql + Sync)];

/// The way to the database: one connection at a time, shared by all who ask over it.
#[derive(Debug)]
pub(super) struct Link {
    server: Arc<Server>,
    /// What a new connection is told, beside what every one is.
    settings: String,
    answer_wait_max: Duration,
    /// False where nobody waits for what is asked: that it cannot be is no sign for others.
    is_awaited: bool,
    /// Where what is asked makes sense in one history alone: the one that the first connection led to.
    history: Option<OnceLock<Timeline>>,
    kept: tokio::sync::Mutex<Kept>,
}

/// The connection, or what makes one. That goes on when who began it waits no longer: under load each would have only a
/// moment for an attempt of its own.
#[derive(Debug, Default)]
struct Kept {
    session: Option<Arc<Session>>,
    /// It gives nothing where it takes too long.
    attempt: Option<JoinHandle<Option<Result<Session>>>>,
}

/// A connection, with the statements that it knows.
#[derive(Debug)]
pub(super) struct Session {
    client: Client,
    pub(super) made: Instant,
    /// The server at its other end.
    pub(super) started: Started,
    /// What that server writes.
    pub(super) timeline: Timeline,
    statements: Mutex<HashMap<&'static str, Statement>>,
    is_doubtful: Arc<AtomicBool>,
    /// When the last answer came.
    heard: Mutex<Instant>,
}

impl Link {
    /// A way that connects when it is first used.
    pub(super) fn new(server: &Arc<Server>, settings: impl Into<String>) -> Self {
        Self {
            server: Arc::clone(server),
            settings: settings.into(),
            answer_wait_max: ANSWER_WAIT_MAX,
            is_awaited: true,
            history: None,
            kept: tokio::sync::Mutex::default(),
        }
    }

    /// The same, for what nobody waits for: that no connection can be had for it says nothing of others.
    pub(super) fn awaited_by_nobody(self) -> Self {
        Self {
            is_awaited: false,
            ..self
        }
    }

    /// The same, for what goes by what it has done before: from a server whose history is another than that of the
    /// first one it has [`StoreError::Unfit`].
    pub(super) fn of_one_history(self) -> Self {
        Self {
            history: Some(OnceLock::new()),
            ..self
        }
    }

    /// The same, for what is answered at once or not at all: without an answer for so long the connection is lost.
    pub(super) fn answering_within(self, answer_wait_max: Duration) -> Self {
        Self {
            answer_wait_max,
            ..self
        }
    }

    /// As [`Server::primary`].
    pub(super) fn primary(&self) -> &Primary {
        self.server.primary()
    }

    /// As [`Server::give_up_connections`].
    pub(super) fn give_up_connections(&self) {
        self.server.give_up_connections();
    }

    /// The rows that a statement reads. It is asked again over a new connection where one is lost, or leads to a server
    /// whose place another has taken.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] without an answer, and what the database says.
    pub(super) async fn read(&self, sql: &'static str, params: Params<'_>) -> Result<Vec<Row>> {
        self.read_beside(None, sql, params).await
    }

    /// The same. Another link is asked, too, once the connection of this one is silent: it alone may be lost, which
    /// nothing tells as long as the other end is there. Where both are slow the first answer counts. It is asked, too,
    /// where this one gets no connection in that time: those that are there live on where nobody may connect any more.
    ///
    /// # Errors
    /// As [`Link::read`].
    pub(super) async fn read_beside(
        &self,
        other: Option<&Self>,
        sql: &'static str,
        params: Params<'_>,
    ) -> Result<Vec<Row>> {
        let deadline = Instant::now() + self.answer_wait_max;
        loop {
            // It may have taken long to find that the one before was lost.
            let connected_by = deadline.min(Instant::now() + CONNECTION_WAIT_MAX);
            let meanwhile = async {
                let other = other?;
                sleep(SILENT_AFTER).await;
                other.ask(sql, params, deadline).await
            };
            let connected = tokio::select! {
                biased;
                connected = self.session(connected_by) => connected,
                Some(rows) = meanwhile => return Ok(rows),
            };
            let session = match connected {
                Ok(session) => session,
                Err(refused) => {
                    let asked = async { other?.ask(sql, params, connected_by).await };
                    let rows = timeout_at(deadline, asked).await.ok().flatten();
                    return rows.ok_or(refused);
                }
            };
            let beside = async {
                let other = other?;
                session.until_silent().await;
                other.ask(sql, params, deadline).await
            };
            let answer = tokio::select! {
                biased;
                answer = timeout_at(deadline, session.query(sql, params)) => answer,
                Some(rows) = beside => {
                    self.leave(&session);
                    return Ok(rows);
                }
            };
            match answer {
                Ok(Ok(rows)) => {
                    match timeout_at(deadline, self.primary().is(session.started)).await {
                        Ok(true) => return Ok(rows),
                        Ok(false) => self.discard(&session).await,
                        Err(_) => return Err(StoreError::Unavailable),
                    }
                }
                Ok(Err(error)) if meaning_of(&error) == Meaning::Lost => {
                    self.discard(&session).await;
                }
                Ok(Err(error)) => {
                    self.tell_refused(&error);
                    let refusal = failure(&error);
                    self.leave_read_only(&session, &refusal).await;
                    return Err(refusal);
                }
                Err(_) => {
                    self.discard(&session).await;
                    return Err(StoreError::Unavailable);
                }
            }
        }
    }

    /// The rows if they are to be had by then. Why they are not, the link says that was asked first.
    async fn ask(
        &self,
        sql: &'static str,
        params: Params<'_>,
        deadline: Instant,
    ) -> Option<Vec<Row>> {
        let session = self.session(deadline).await.ok()?;
        let rows = session.query(sql, params).await.ok()?;
        self.primary().is(session.started).await.then_some(rows)
    }

    /// As [`Server::reports`] tells it: why a statement was refused.
    pub(super) fn tell_refused(&self, error: &tokio_postgres::Error) {
        self.server.reports().tell_refused(error);
    }

    /// The connection, made if there is none.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] if there is none at the deadline, [`StoreError::Unfit`].
    pub(super) async fn session(&self, deadline: Instant) -> Result<Arc<Session>> {
        let made = self
            .session_by(deadline, deadline, CONNECTION_WAIT_MAX)
            .await;
        if let Err(refused @ StoreError::Unfit { .. }) = &made {
            // All that goes over other connections may be well, so that nothing else tells it.
            self.server.reports().tell_unreached(refused);
            self.note_in_vain();
        }
        let session = made?;
        self.require_history(&session).await?;
        Ok(session)
    }

    /// The first connection of a process. Nothing tells it yet which of several hosts is silent, so that an attempt
    /// that goes on from one to the next may take longer than later ones. Why it is refused, the process says as it
    /// ends.
    ///
    /// # Errors
    /// As [`Link::session`].
    pub(super) async fn first_session(&self) -> Result<Arc<Session>> {
        let now = Instant::now();
        self.session_by(
            now + CONNECTION_WAIT_MAX,
            now + FIRST_CONNECTION_MAX,
            FIRST_CONNECTION_MAX,
        )
        .await
    }

    /// No attempt begins after the one moment, or is waited for after the other; each may take so long, whoever
    /// waits for it.
    async fn session_by(
        &self,
        last_attempt: Instant,
        deadline: Instant,
        attempt_max: Duration,
    ) -> Result<Arc<Session>> {
        let in_vain = || {
            self.note_in_vain();
            StoreError::Unavailable
        };
        let unavailable = |_| in_vain();
        let mut kept = timeout_at(deadline, self.kept.lock())
            .await
            .map_err(unavailable)?;
        kept.session.take_if(|session| session.client.is_closed());
        if let Some(session) = &kept.session {
            return Ok(Arc::clone(session));
        }
        let mut pause = PAUSE_MIN;
        loop {
            let was_over = kept.attempt.as_ref().is_some_and(JoinHandle::is_finished);
            let attempt = kept.attempt.get_or_insert_with(|| {
                let connecting = connect(Arc::clone(&self.server), self.settings.clone());
                tokio::spawn(async move { timeout(attempt_max, connecting).await.ok() })
            });
            let made = timeout_at(deadline, attempt).await.map_err(unavailable)?;
            kept.attempt = None;
            match made.ok().flatten() {
                Some(Ok(session)) if !session.client.is_closed() => {
                    return Ok(Arc::clone(kept.session.insert(Arc::new(session))));
                }
                // Nobody waited for it any more. Why it failed may be over.
                _ if was_over => {
                    self.note_in_vain();
                    continue;
                }
                Some(Err(refused @ StoreError::Unfit { .. })) => return Err(refused),
                Some(Err(error)) => self.server.reports().tell_unreached(&error),
                Some(Ok(_)) | None => {}
            }
            if Instant::now() + pause > last_attempt {
                return Err(in_vain());
            }
            // Not all daemons at once.
            sleep(pause.mul_f64(rand::random_range(0.5..1.0))).await;
            pause = PAUSE_MAX.min(pause * 2);
        }
    }

    /// Notes that no connection was to be had, where somebody waits for one.
    fn note_in_vain(&self) {
        if self.is_awaited {
            self.server.reports().note_in_vain();
        }
    }

    /// Looks whether a connection leads to the history in which it makes sense what is asked.
    ///
    /// # Errors
    /// [`StoreError::Unfit`].
    async fn require_history(&self, session: &Arc<Session>) -> Result<()> {
        let timeline = session.timeline;
        let first = self.history.as_ref().map(|it| it.get_or_init(|| timeline));
        if first.is_none_or(|first| *first == timeline) {
            return Ok(());
        }
        self.discard(session).await;
        Err(unfit(
            "another server has taken its place since this began; begin again",
        ))
    }

    /// Has what comes next go over a new connection.
    pub(super) async fn connect_anew(&self) {
        *self.kept.lock().await = Kept::default();
    }

    /// Uses this connection no more.
    pub(super) async fn discard(&self, session: &Arc<Session>) {
        let mut kept = self.kept.lock().await;
        kept.session.take_if(|kept| Arc::ptr_eq(kept, session));
    }

    /// Puts a new connection into the place of this one, if one is made in this time.
    pub(super) async fn renew(&self, session: &Arc<Session>, within: Duration) {
        let connecting = connect(Arc::clone(&self.server), self.settings.clone());
        let Ok(Ok(new)) = timeout(within, connecting).await else {
            return;
        };
        let mut kept = self.kept.lock().await;
        if let Some(kept) = kept
            .session
            .as_mut()
            .filter(|kept| Arc::ptr_eq(kept, session))
        {
            *kept = Arc::new(new);
        }
    }

    /// Uses a connection no more over which something was refused because the database takes no changes. What it is set
    /// to counts for a connection as long as that lasts, and of several hosts another one may take them now.
    pub(super) async fn leave_read_only(&self, session: &Arc<Session>, refusal: &StoreError) {
        if matches!(refusal, StoreError::DatabaseReadOnly) {
            self.discard(session).await;
        }
    }

    /// Asks nothing new over this connection. What was asked may yet be answered: it is not lost for being slow.
    fn leave(&self, session: &Arc<Session>) {
        // While a connection is made this one is gone already, and who has an answer does not wait for that.
        if let Ok(mut kept) = self.kept.try_lock() {
            kept.session.take_if(|kept| Arc::ptr_eq(kept, session));
        }
    }
}

/// Makes a connection that is told these settings.
async fn connect(server: Arc<Server>, settings: String) -> Result<Session> {
    let given_up = server.given_up();
    let (client, connection) = server.connect().await?;
    let made = Instant::now();
    let is_doubtful = Arc::default();
    let driven = drive(connection, Arc::clone(&server), Arc::clone(&is_doubtful));
    tokio::spawn(until_given_up(given_up, driven));
    server.require_sessions(&client).await?;
    client.batch_execute(SESSION_SETTINGS).await?;
    let told = client.batch_execute(&settings).await;
    told.map_err(|error| match error.code() {
        Some(state) if *state == SqlState::LOCK_NOT_AVAILABLE => {
            unfit("it is being copied; start again when that has ended")
        }
        _ => failure(&error),
    })?;
    let (started, timeline) = server.require(&client).await?;
    server.reports().note_reached();
    Ok(Session {
        client,
        made,
        started,
        timeline,
        statements: Mutex::default(),
        is_doubtful,
        heard: Mutex::new(Instant::now()),
    })
}

impl Session {
    /// The rows of a statement, which is prepared when it first comes.
    pub(super) async fn query(
        &self,
        sql: &'static str,
        params: Params<'_>,
    ) -> std::result::Result<Vec<Row>, tokio_postgres::Error> {
        let known = lock(&self.statements).get(sql).cloned();
        let statement = if let Some(known) = known {
            known
        } else {
            let new = self.client.prepare(sql).await?;
            let mut statements = lock(&self.statements);
            statements.insert(sql, new.clone());
            new
        };
        let answer = self.client.query(&statement, params).await;
        *self.heard() = Instant::now();
        answer
    }

    /// Ends when nothing has been answered over it for [`SILENT_AFTER`], as of now. One that answers others is not
    /// silent, however long it takes: another would be asked for all that many wait for.
    async fn until_silent(&self) {
        let mut since = Instant::now();
        loop {
            sleep_until(since + SILENT_AFTER).await;
            let heard = *self.heard();
            if heard <= since {
                return;
            }
            since = heard;
        }
    }

    fn heard(&self) -> MutexGuard<'_, Instant> {
        lock(&self.heard)
    }

    /// Takes what the server has warned of until now for what it is: not about the next statement.
    pub(super) fn forget_warnings(&self) {
        self.is_doubtful.store(false, Ordering::Release);
    }

    /// True if the server has warned since: somebody ended its wait for a standby, so that what was committed
    /// may not be there after a failure.
    pub(super) fn is_doubtful(&self) -> bool {
        self.is_doubtful.load(Ordering::Acquire)
    }
}

/// Drives a connection until it ends, or is given up: then all that waits for an answer finds that it is lost.
async fn until_given_up(mut given_up: watch::Receiver<()>, driven: impl Future<Output = ()>) {
    tokio::select! {
        () = driven => {}
        // The server outlives its connections.
        _ = given_up.changed() => {}
    }
}

/// Moves what goes over a connection until it ends.
async fn drive(mut connection: Connection, server: Arc<Server>, is_doubtful: Arc<AtomicBool>) {
    while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
        if let AsyncMessage::Notice(notice) = message
            && notice.parsed_severity() == Some(Severity::Warning)
        {
            server.reports().tell_warning(notice.message());
            if casts_doubt(&notice) {
                // Before the answer that it belongs to.
                is_doubtful.store(true, Ordering::Release);
            }
        }
    }
}

/// True for a warning that what was committed may not be there after a failure. All do, for a server may say so in any
/// language, except those that are known to be about something else.
fn casts_doubt(warning: &DbError) -> bool {
    // Class 57: the server stops, and an answer that comes before is as good as any.
    let stops = warning.code().code().starts_with("57");
    // Numbers of transactions run out. Millions are left, and each new one is warned of.
    let is_of_numbers = matches!(
        warning.routine(),
        Some("GetNewTransactionId" | "GetNewMultiXactId")
    );
    !stops && !is_of_numbers
}
