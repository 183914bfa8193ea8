//! Whether this process may write into the folder, and what a failure makes of that. There is one state
//! for commits, copies of the log and uploads, and all processes that use the folder share it.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock};

use rusqlite::{ErrorCode, ffi};

use super::data_folder::{Folder, Identity, private_options};
use super::failure::failure_of;
use super::room::free::FreeRoom;
use crate::base::threads::lock;
use crate::store::writes::Trouble;
use crate::store::{Result, StoreError, Writes};

/// Bytes for which there must be room where a failure is not to be one of a full disk.
const ROOM_TRIED_BYTES: u64 = 1 << 20;

/// Whether this process may write, and the file `STOPPED` that tells the others.
#[derive(Debug)]
pub(super) struct Writability {
    folder: Folder,
    identity: Identity,
    replaced: AtomicBool,
    /// False beside a daemon, which alone settles the log (see [`super::recovery`]).
    settles: bool,
    /// Held while the file is made to agree with it: of the one alone nobody knows whose the other is.
    state: Mutex<State>,
    /// True from when a sync has failed until all of the log was written again, and synced, after it.
    sync_failed: AtomicBool,
    /// That the last commit found no room.
    want_of_room: Trouble,
    /// That the log was told of refusals.
    told: Trouble,
    /// The room that stays free.
    free_room: FreeRoom,
    /// The log, opened beside SQLite: the system tells each who has a file open of a failed sync, and
    /// SQLite does not pass its error on.
    log: OnceLock<File>,
}

/// Whether this process may write, whatever others say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Not until the log is settled: of what it holds it is not known whether it is on the disk. This is why it could
    /// not be settled, once that was tried.
    Unsettled(Option<Refusal>),
    /// It may.
    Settled,
    /// Not until a restart, after a failure that it cannot outlive.
    Stopped,
}

/// Why something was not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// There is no room, and nothing was changed; it heals when there is.
    Full,
    /// There is no room, and a restart may show it as written all the same; it heals when there is.
    InDoubt,
    /// Another process writes, or a file could not be opened for want of descriptors; it heals.
    Busy,
    /// The folder is not at its place; it heals when it is back.
    Moved,
    /// Nothing more is written until a restart.
    Stopped,
}

impl Refusal {
    /// What `STOPPED` begins with after it. An empty file is one for which there was no room.
    fn mark(self) -> &'static str {
        match self {
            Self::Full | Self::InDoubt => "no room: ",
            Self::Busy => "busy: ",
            // Of the first nothing is noted: the folder is elsewhere.
            Self::Moved | Self::Stopped => "",
        }
    }

    /// What it was after which `STOPPED` was written, and the rest of what the file says.
    pub(super) fn told(text: &str) -> (Self, &str) {
        if text.is_empty() {
            return (Self::Full, "");
        }
        let healing = [Self::Full, Self::Busy].into_iter();
        let mut told = healing.filter_map(|it| Some((it, text.strip_prefix(it.mark())?)));
        told.next().unwrap_or((Self::Stopped, text))
    }

    /// True where room on the disk heals it.
    pub(super) fn lacks_room(self) -> bool {
        matches!(self, Self::Full | Self::InDoubt)
    }

    pub(super) fn to_error(self) -> StoreError {
        match self {
            Self::Full => StoreError::Full,
            Self::InDoubt => StoreError::InDoubt,
            Self::Busy => StoreError::Busy,
            Self::Moved => StoreError::Moved,
            Self::Stopped => StoreError::Stopped,
        }
    }
}

impl Writability {
    /// Of a process that has yet to settle the log, or beside a daemon to find that it is.
    pub(super) fn new(folder: &Folder, settles: bool) -> Self {
        Self {
            folder: folder.clone(),
            identity: Identity::of(folder.root()),
            replaced: AtomicBool::new(false),
            settles,
            state: Mutex::new(State::Unsettled(None)),
            sync_failed: AtomicBool::new(false),
            want_of_room: Trouble::of_room(),
            told: Trouble::that_is_told(),
            free_room: FreeRoom::new(folder.root()),
            log: OnceLock::new(),
        }
    }

    /// Why nothing is written now: after a failure of this process or of another that uses the folder, because the
    /// log is not settled, or because the folder lies elsewhere now.
    pub(super) fn refusal(&self) -> Option<Refusal> {
        let state = self.state();
        match *state {
            State::Stopped => Some(Refusal::Stopped),
            State::Unsettled(refusal) => Some(refusal.unwrap_or(Refusal::Busy)),
            State::Settled if self.is_replaced() => Some(Refusal::Moved),
            State::Settled if !fs::exists(self.folder.stop_mark()).unwrap_or(false) => None,
            State::Settled => match self.folder.stopped_by() {
                Ok(text) => Some(Refusal::told(&text?).0),
                Err(_) => Some(Refusal::Stopped),
            },
        }
    }

    /// True while another folder, or none, has the name of this one.
    fn is_replaced(&self) -> bool {
        let is_replaced = !self.identity.has_its_name();
        if self.replaced.swap(is_replaced, Ordering::Relaxed) != is_replaced {
            if is_replaced {
                tracing::error!(
                    folder = %self.folder.root().display(),
                    "the data folder was moved, removed or replaced; the store refuses writes until it is back or a \
                     restart"
                );
            } else {
                tracing::info!(folder = %self.folder.root().display(), "the data folder is back");
            }
        }
        is_replaced
    }

    /// Why a change is not even tried. It tries itself to settle a log for which there was no room, so that it is taken
    /// as soon as there is.
    pub(super) fn refusal_untried(&self) -> Option<Refusal> {
        let is_tried = |refusal: &Refusal| refusal.lacks_room() && !self.is_settled();
        let refusal = self.refusal().filter(|refusal| !is_tried(refusal));
        refusal.inspect(|refusal| self.tell_of(*refusal))
    }

    /// Tells the log that changes are refused, as long as they are: it has no line of its own for each.
    pub(super) fn tell_of(&self, refusal: Refusal) {
        if matches!(refusal, Refusal::Full | Refusal::Stopped) && self.told.is_news() {
            tracing::warn!(?refusal, "changes are refused");
        }
    }

    /// Whether changes are taken.
    pub(super) fn writes(&self) -> Writes {
        match self.refusal() {
            Some(Refusal::Stopped) => Writes::Stopped,
            Some(Refusal::Moved) => Writes::Moved,
            Some(Refusal::Busy) => Writes::Busy,
            Some(Refusal::Full | Refusal::InDoubt) => Writes::Full,
            None if self.want_of_room.lasts() || self.free_room.is_lacking() => Writes::Full,
            None => Writes::Taken,
        }
    }

    /// Notes whether a commit found room.
    pub(super) fn note_room(&self, is_lacking: bool) {
        self.want_of_room.note(is_lacking);
        if is_lacking {
            self.tell_of(Refusal::Full);
        }
    }

    /// The room that stays free on the disk.
    pub(super) fn free_room(&self) -> &FreeRoom {
        &self.free_room
    }

    /// Says whether anything may be added.
    ///
    /// # Errors
    /// [`StoreError::LittleRoom`] while the disk has less room than is to stay free.
    pub(super) fn require_room(&self) -> Result<()> {
        if self.free_room.is_lacking() {
            self.tell_of(Refusal::Full);
            Err(StoreError::LittleRoom)
        } else {
            Ok(())
        }
    }

    /// False beside a daemon, which alone settles the log.
    pub(super) fn settles(&self) -> bool {
        self.settles
    }

    /// True when what an earlier process left in the log is in the database, and no sync has failed since.
    pub(super) fn is_settled(&self) -> bool {
        !matches!(*self.state(), State::Unsettled(_))
    }

    /// True if a sync has failed, and the log was not written again since: what was copied of the log before may be
    /// lost, and is not copied again by this process.
    pub(super) fn sync_has_failed(&self) -> bool {
        self.sync_failed.load(Ordering::SeqCst)
    }

    /// Notes that all of the log is on the disk, and nothing of it was copied before it was.
    pub(super) fn log_is_on_disk(&self) {
        self.sync_failed.store(false, Ordering::SeqCst);
    }

    /// True when what is committed now is durable, and stays so.
    pub(super) fn is_sound(&self) -> bool {
        self.refusal().is_none()
    }

    /// Notes that the log is settled, by this process or by the daemon beside which it runs.
    ///
    /// # Errors
    /// [`StoreError::Stopped`] after a failure meanwhile that is not healed by that.
    pub(super) fn settled(&self) -> Result<()> {
        let mut state = self.state();
        if *state == State::Stopped {
            return Err(StoreError::Stopped);
        }
        if self.settles {
            match fs::remove_file(self.folder.stop_mark()) {
                Err(e) if e.kind() != ErrorKind::NotFound => {
                    return Err(StoreError::io("removing STOPPED", e));
                }
                _ => {}
            }
        }
        if let Ok(log) = File::open(self.folder.log()) {
            self.log.get_or_init(|| log);
        }
        *state = State::Settled;
        Ok(())
    }

    /// Has the log settled before anything more is written, by this process alone; beside a daemon nobody writes any
    /// more. `refusal` is told until then.
    pub(super) fn unsettle(&self, refusal: Refusal, why: &str) {
        let mut state = self.state();
        let (now, told) = match (*state, self.settles) {
            (State::Stopped, _) => return,
            (_, true) => (State::Unsettled(Some(refusal)), refusal),
            (_, false) => (State::Stopped, Refusal::Stopped),
        };
        if *state != now {
            *state = now;
            tracing::error!(
                ?refusal,
                "{why}; the store is read, and refuses writes for now"
            );
            self.tell(told, why);
        }
    }

    /// Tells the other processes not to write, because of this failure.
    fn tell(&self, refusal: Refusal, why: &str) {
        let mark = self.folder.stop_mark();
        let opened = match private_options().create(true).open(&mark) {
            // A disk without room for one more name or file still has these.
            Err(e) if matches!(e.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded) => {
                self.take_reserve_as(&mark)
            }
            opened => opened,
        };
        let written = opened.and_then(|mut file: File| {
            let text = format!("{}{why}\n", refusal.mark());
            // Over what is there: a block that is given back may not be had again.
            file.write_all(text.as_bytes())?;
            file.set_len(text.len() as u64)
        });
        if let Err(error) = written {
            tracing::warn!(%error, "why nothing more is written cannot be noted for other processes");
        }
    }

    /// The refusal that a failure leads to. Stops all writing after one that it cannot outlive: a failed
    /// write or sync may leave pages that only look written.
    pub(super) fn judge(&self, action: &str, failure: &StoreError) -> Refusal {
        let refusal = match failure {
            StoreError::Full => Refusal::Full,
            StoreError::Busy => Refusal::Busy,
            StoreError::Moved => Refusal::Moved,
            other => match failure_of(other) {
                Some(failure) => self.refusal_of(failure),
                None => Refusal::Stopped,
            },
        };
        match refusal {
            Refusal::Stopped => self.stop(action, failure),
            Refusal::Full => self.heed_want_of_room(action, failure),
            Refusal::Busy | Refusal::InDoubt | Refusal::Moved => {}
        }
        refusal
    }

    /// Stops all writing.
    fn stop(&self, action: &str, failure: &StoreError) {
        let mut state = self.state();
        if *state != State::Stopped {
            *state = State::Stopped;
            tracing::error!(
                error = %failure,
                "{action} failed; the store refuses writes from now on"
            );
            self.tell(Refusal::Stopped, &format!("{action} failed: {failure}"));
        }
    }

    /// Has the log settled again after a failure that may be one of a sync: it heals, but not by writing on. What is
    /// written again over what such a sync has left may stay unreadable on the disk.
    fn heed_want_of_room(&self, action: &str, failure: &StoreError) {
        self.tell_of(Refusal::Full);
        if may_be_of_sync(failure) {
            if !is_of_write(failure) {
                self.sync_failed.store(true, Ordering::SeqCst);
            }
            self.unsettle(Refusal::Full, &format!("{action} failed: {failure}"));
        }
    }

    /// The same of a failure of SQLite, without stopping.
    pub(super) fn refusal_of(&self, failure: &rusqlite::Error) -> Refusal {
        match failure.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Refusal::Full,
            // The last is a race for its locks that was lost many times.
            Some(
                ErrorCode::DatabaseBusy
                | ErrorCode::DatabaseLocked
                | ErrorCode::FileLockingProtocolFailed,
            ) => Refusal::Busy,
            Some(ErrorCode::SystemIoFailure) => {
                // SQLite knows ENOSPC of a write as such. It gives this error alone for a quota, for
                // ENOSPC of a sync, and where the index of the log cannot grow. Then the transaction is whole in
                // the log, where a start would read it that comes before the next transaction.
                let extended = failure.sqlite_error().map(|error| error.extended_code);
                if extended == Some(ffi::SQLITE_IOERR_SHMSIZE) {
                    Refusal::InDoubt
                } else if self.is_full() {
                    Refusal::Full
                } else {
                    Refusal::Stopped
                }
            }
            _ => Refusal::Stopped,
        }
    }

    /// True if a sync of the log has failed for want of room, or the folder takes no more.
    fn is_full(&self) -> bool {
        let synced = self.log.get().map_or(Ok(()), File::sync_data);
        match synced.map_err(|e| StoreError::io("syncing the log", e)) {
            Ok(()) => {
                let tried = self.folder.try_room(ROOM_TRIED_BYTES);
                matches!(tried, Err(StoreError::Full))
            }
            Err(error) => matches!(error, StoreError::Full),
        }
    }

    /// Makes the room that is kept the file of this path, empty.
    fn take_reserve_as(&self, path: &Path) -> io::Result<File> {
        fs::rename(self.folder.reserve(), path)?;
        let file = private_options().open(path)?;
        file.set_len(0)?;
        Ok(file)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

/// True for a failure of SQLite that may be one of a sync.
fn may_be_of_sync(failure: &StoreError) -> bool {
    failure_of(failure)
        .is_some_and(|failure| failure.sqlite_error_code() == Some(ErrorCode::SystemIoFailure))
}

/// True for a failure of SQLite that is one of a write, as over a quota: what was copied before is as it was.
fn is_of_write(failure: &StoreError) -> bool {
    failure_of(failure)
        .and_then(rusqlite::Error::sqlite_error)
        .is_some_and(|error| error.extended_code == ffi::SQLITE_IOERR_WRITE)
}

#[cfg(test)]
impl Writability {
    /// As after a commit that failed for want of room, by this code of SQLite.
    pub(super) fn fail_for_want_of_room(&self, code: i32) {
        let failure = rusqlite::Error::SqliteFailure(ffi::Error::new(code), None).into();
        self.heed_want_of_room("a commit", &failure);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_are_told_names_the_refusal_again() {
        for refusal in [Refusal::Full, Refusal::Busy, Refusal::Stopped] {
            let text = format!("{}a commit failed", refusal.mark());
            assert_eq!(Refusal::told(&text), (refusal, "a commit failed"));
        }
        assert_eq!(Refusal::told(""), (Refusal::Full, ""));
    }

    #[test]
    fn a_failure_while_the_log_is_settled_stops_all_writing_all_the_same() {
        let root = tempfile::tempdir().unwrap();
        let (folder, _lock) = Folder::open_or_create(root.path()).unwrap();
        let writes = Writability::new(&folder, true);
        writes.settled().unwrap();
        writes.fail_for_want_of_room(ffi::SQLITE_IOERR_FSYNC);
        let failure = StoreError::io("syncing", ErrorKind::Other.into());
        assert_eq!(writes.judge("an upload", &failure), Refusal::Stopped);
        assert!(matches!(writes.settled(), Err(StoreError::Stopped)));
        assert_eq!(writes.refusal(), Some(Refusal::Stopped));
        let told = folder.stopped_by().unwrap().unwrap();
        assert!(told.starts_with("an upload failed: "), "{told}");
    }

    #[test]
    fn a_sync_without_room_heals_where_the_log_is_settled_and_stops_writing_beside_that() {
        let root = tempfile::tempdir().unwrap();
        let (folder, _lock) = Folder::open_or_create(root.path()).unwrap();
        let service = Writability::new(&folder, true);
        let beside = Writability::new(&folder, false);
        service.settled().unwrap();
        service.fail_for_want_of_room(ffi::SQLITE_IOERR_FSYNC);
        assert_eq!(
            (service.refusal(), service.is_settled()),
            (Some(Refusal::Full), false)
        );
        service.settled().unwrap();
        beside.settled().unwrap();
        beside.fail_for_want_of_room(ffi::SQLITE_IOERR_FSYNC);
        for process in [&service, &beside] {
            assert_eq!(process.refusal(), Some(Refusal::Stopped));
        }
    }

    #[test]
    fn a_failure_stops_all_writing_unless_it_heals() {
        let root = tempfile::tempdir().unwrap();
        let (folder, _lock) = Folder::open_or_create(root.path()).unwrap();
        let failed = |code: i32| {
            let [writes, beside] = [(); 2].map(|()| Writability::new(&folder, true));
            for process in [&writes, &beside] {
                process.settled().unwrap();
            }
            let failure = rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
            let refusal = writes.judge("a commit", &failure.into());
            let stopped = Some(Refusal::Stopped).filter(|stopped| *stopped == refusal);
            for process in [&writes, &beside] {
                assert_eq!(process.refusal(), stopped, "{code}");
            }
            refusal
        };
        for (code, refusal) in [
            (ffi::SQLITE_FULL, Refusal::Full),
            (ffi::SQLITE_IOERR_SHMSIZE, Refusal::InDoubt),
            (ffi::SQLITE_BUSY, Refusal::Busy),
            (ffi::SQLITE_PROTOCOL, Refusal::Busy),
            // There is room: it is the disk.
            (ffi::SQLITE_IOERR_WRITE, Refusal::Stopped),
            (ffi::SQLITE_IOERR_FSYNC, Refusal::Stopped),
            (ffi::SQLITE_CORRUPT, Refusal::Stopped),
        ] {
            assert_eq!(failed(code), refusal, "{code}");
        }
    }
}
