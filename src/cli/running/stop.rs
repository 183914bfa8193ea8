//! A command that is asked to end: it removes what it has begun, and says by its exit code which signal
//! it was.

use std::io::{self, BufRead, BufReader, Read};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use crate::base::limits::BLOCK_BYTES;
use crate::cli::{Error, Result};

/// What is added to a signal's number for the exit code.
const SIGNAL_EXIT: usize = 128;
/// How long a signal may go unseen in a pause.
pub(in crate::cli) const LOOK: Duration = Duration::from_millis(20);
/// How long a read waits before it looks whether it is to go on.
const READ_LOOK: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};

/// Whether an end was asked for; seen by all threads.
#[derive(Clone, Debug)]
pub(in crate::cli) struct Stop {
    /// The signal that asked for it, 0 before.
    signal: Arc<AtomicUsize>,
}

/// An end was asked for.
#[derive(Clone, Copy, Debug)]
pub(in crate::cli) struct Asked;

impl Stop {
    /// Watches for Ctrl-C and SIGTERM; a second signal ends at once. With `at_once` the first does: for
    /// what leaves nothing, and may wait for a reader or a writer.
    pub(in crate::cli) fn watch(at_once: bool) -> Result<Self> {
        let asked = Arc::new(AtomicBool::new(at_once));
        let signal = Arc::new(AtomicUsize::new(0));
        for number in [SIGINT, SIGTERM] {
            let known = usize::try_from(number).unwrap_or(0);
            let exit = i32::try_from(SIGNAL_EXIT + known).unwrap_or(1);
            // In this order: the first signal finds the mark not yet set.
            flag::register_conditional_shutdown(number, exit, Arc::clone(&asked))
                .and_then(|_| flag::register_usize(number, Arc::clone(&signal), known))
                .and_then(|_| flag::register(number, Arc::clone(&asked)))
                .map_err(|e| Error::Failed(format!("watching for signals: {e}")))?;
        }
        Ok(Self { signal })
    }

    /// True once a signal came.
    pub(in crate::cli) fn is_asked(&self) -> bool {
        self.signal.load(Ordering::Relaxed) != 0
    }

    /// Goes on until a signal came.
    pub(in crate::cli) fn flow(&self) -> ControlFlow<()> {
        if self.is_asked() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }

    /// The same, where an error ends the work.
    pub(in crate::cli) fn go_on(&self) -> std::result::Result<(), Asked> {
        if self.is_asked() { Err(Asked) } else { Ok(()) }
    }

    /// Waits so long, or until an end is asked for.
    pub(in crate::cli) fn pause(&self, length: Duration) -> std::result::Result<(), Asked> {
        let end = Instant::now() + length;
        loop {
            self.go_on()?;
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            thread::sleep(left.min(LOOK));
        }
    }

    /// Calls `then` once an end is asked for, from a thread of its own.
    pub(in crate::cli) fn on_ask(&self, then: impl FnOnce() + Send + 'static) {
        let stop = self.clone();
        thread::spawn(move || {
            while !stop.is_asked() {
                thread::sleep(LOOK);
            }
            then();
        });
    }

    /// The error of a command that saves all or nothing, and was ended before.
    pub(in crate::cli) fn nothing_saved(&self) -> Error {
        Error::NothingSaved(self.exit_code().unwrap_or(1))
    }

    /// The error of a command that goes on when it is run again.
    pub(in crate::cli) fn paused(&self) -> Error {
        Error::Paused(self.exit_code().unwrap_or(1))
    }

    /// The command's error: after a signal, whatever came of it.
    pub(in crate::cli) fn name(&self, error: impl Into<Error>) -> Error {
        self.exit_code()
            .map_or_else(|| error.into(), Error::Interrupted)
    }

    /// That of the signal that came.
    fn exit_code(&self) -> Option<u8> {
        match self.signal.load(Ordering::Relaxed) {
            0 => None,
            signal => Some(u8::try_from(SIGNAL_EXIT + signal).unwrap_or(1)),
        }
    }

    /// Reads standard input, and stops when asked to, also while nothing comes.
    pub(in crate::cli) fn reading<'a>(
        &'a self,
        input: &'a mut (dyn BufRead + 'a),
    ) -> impl BufRead + 'a {
        // In blocks: of a smaller read `input` would keep bytes that the wait below does not see.
        BufReader::with_capacity(BLOCK_BYTES, Reading { stop: self, input })
    }
}

struct Reading<'a> {
    stop: &'a Stop,
    input: &'a mut (dyn BufRead + 'a),
}

impl Read for Reading<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let stdin = io::stdin();
        loop {
            if self.stop.is_asked() {
                return Err(io::Error::other("interrupted"));
            }
            let mut waits = [PollFd::new(&stdin, PollFlags::IN)];
            match poll(&mut waits, Some(&READ_LOOK)) {
                Ok(0) | Err(Errno::INTR) => {}
                Ok(_) => return self.input.read(buffer),
                Err(e) => return Err(e.into()),
            }
        }
    }
}
