//! Progress of long work: one line on a terminal that overwrites itself, nothing elsewhere.

use std::io::Write;
use std::time::{Duration, Instant};

use super::Streams;

/// How often the line changes.
const INTERVAL: Duration = Duration::from_millis(100);

/// The line. Dropped, it is wiped.
pub(super) struct Progress<'a> {
    /// `None` where nobody looks.
    err: Option<&'a mut dyn Write>,
    shown_at: Option<Instant>,
}

impl<'a> Progress<'a> {
    /// Shows on standard error, if that is a terminal.
    pub(super) fn new(streams: &'a mut Streams<'_>) -> Self {
        Self {
            err: streams.err_is_terminal.then_some(&mut *streams.err),
            shown_at: None,
        }
    }

    /// Says how far the work is; the text is made only when it is shown.
    pub(super) fn say(&mut self, text: impl FnOnce() -> String) {
        let Some(err) = &mut self.err else { return };
        if self.shown_at.is_some_and(|at| at.elapsed() < INTERVAL) {
            return;
        }
        self.shown_at = Some(Instant::now());
        // Progress that cannot be shown must not stop the work.
        let _shown = write!(err, "\r\x1b[K{}", text()).and_then(|()| err.flush());
    }
}

impl Drop for Progress<'_> {
    fn drop(&mut self) {
        if let (Some(err), Some(_)) = (&mut self.err, self.shown_at) {
            let _wiped = write!(err, "\r\x1b[K").and_then(|()| err.flush());
        }
    }
}
