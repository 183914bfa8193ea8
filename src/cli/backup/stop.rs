//! A command that is asked to end: it removes what it has begun, and says by its exit code which signal
//! it was.

use std::io::{self, BufRead, BufReader, Read};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use crate::base::limits::BLOCK_BYTES;
use crate::cli::{Error, Result};

/// What is added to a signal's number for the exit code.
const SIGNAL_EXIT: usize = 128;
/// How long a read waits before it looks whether it is to go on.
const LOOK: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};

/// Whether an end was asked for.
#[derive(Clone, Debug)]
pub(in crate::cli) struct Stop {
    /// The signal that asked for it, 0 before.
    signal: Arc<AtomicUsize>,
}

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
            match poll(&mut waits, Some(&LOOK)) {
                Ok(0) | Err(Errno::INTR) => {}
                Ok(_) => return self.input.read(buffer),
                Err(e) => return Err(e.into()),
            }
        }
    }
}
