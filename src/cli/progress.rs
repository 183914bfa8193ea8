//! Progress of long work: one line on a terminal that overwrites itself, nothing elsewhere.

use std::io::Write;
use std::time::{Duration, Instant};

use super::Streams;

/// How often the line changes.
const INTERVAL: Duration = Duration::from_millis(100);

/// The line. Dropped, it is wiped.
pub(super) struct Progress<'a> {
    err: &'a mut dyn Write,
    /// False where nobody looks.
    shows: bool,
    shown_at: Option<Instant>,
}

impl<'a> Progress<'a> {
    /// Shows on standard error, if that is a terminal.
    pub(super) fn new(streams: &'a mut Streams<'_>) -> Self {
        Self::on(streams.err, streams.err_is_terminal)
    }

    /// Shows here, unless nobody looks.
    pub(super) fn on(err: &'a mut dyn Write, shows: bool) -> Self {
        Self {
            err,
            shows,
            shown_at: None,
        }
    }

    /// Says how far the work is; the text is made only when it is shown.
    pub(super) fn say(&mut self, text: impl FnOnce() -> String) {
        if !self.shows || self.shown_at.is_some_and(|at| at.elapsed() < INTERVAL) {
            return;
        }
        self.shown_at = Some(Instant::now());
        // Progress that cannot be shown must not stop the work.
        let _shown = write!(self.err, "\r\x1b[K{}", text()).and_then(|()| self.err.flush());
    }

    /// Says something that stays, on a line of its own.
    pub(super) fn tell(&mut self, text: &str) {
        self.wipe();
        // As with progress, nobody who cannot be told must stop the work.
        let _told = writeln!(self.err, "{text}");
    }

    fn wipe(&mut self) {
        if self.shown_at.take().is_some() {
            let _wiped = write!(self.err, "\r\x1b[K").and_then(|()| self.err.flush());
        }
    }
}

impl Drop for Progress<'_> {
    fn drop(&mut self) {
        self.wipe();
    }
}
