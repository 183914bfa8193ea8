//! Progress of long work: one line on a terminal that overwrites itself, nothing elsewhere.

use std::env;
use std::io::{self, Write};
use std::time::{Duration, Instant};

use rustix::termios::tcgetwinsize;

use crate::cli::Streams;

/// How often the line changes.
const INTERVAL: Duration = Duration::from_millis(100);

/// The line. Dropped, it is wiped.
pub(in crate::cli) struct Progress<'a> {
    err: &'a mut dyn Write,
    /// False where nobody looks.
    shows: bool,
    shown_at: Option<Instant>,
}

impl<'a> Progress<'a> {
    /// Shows on standard error, if that is a terminal.
    pub(in crate::cli) fn new(streams: &'a mut Streams<'_>) -> Self {
        Self::on(streams.err, streams.err_is_terminal)
    }

    /// Shows here, unless nobody looks.
    pub(in crate::cli) fn on(err: &'a mut dyn Write, shows: bool) -> Self {
        Self {
            err,
            // What takes no escapes cannot overwrite a line.
            shows: shows && takes_escapes(),
            shown_at: None,
        }
    }

    /// Says how far the work is; the text is made only when it is shown.
    pub(in crate::cli) fn say(&mut self, text: impl FnOnce() -> String) {
        if !self.shows || self.shown_at.is_some_and(|at| at.elapsed() < INTERVAL) {
            return;
        }
        self.shown_at = Some(Instant::now());
        // Progress that cannot be shown must not stop the work.
        let text = fitted(&text(), columns());
        let _shown = write!(self.err, "\r\x1b[K{text}").and_then(|()| self.err.flush());
    }

    /// Says something that stays, on a line of its own.
    pub(in crate::cli) fn tell(&mut self, text: &str) {
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

/// True unless the terminal says that it takes no escapes.
pub(in crate::cli) fn takes_escapes() -> bool {
    env::var_os("TERM").is_none_or(|terminal| terminal != "dumb")
}

/// How wide the terminal is; `None` where it does not say.
fn columns() -> Option<usize> {
    let size = tcgetwinsize(io::stderr()).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

/// As much of a text as fits: a line that wraps could not be overwritten.
fn fitted(text: &str, columns: Option<usize>) -> String {
    // The last column stays free: some terminals wrap as soon as it is written.
    let most = columns.map_or(usize::MAX, |columns| columns.saturating_sub(1));
    text.chars().take(most).collect()
}
