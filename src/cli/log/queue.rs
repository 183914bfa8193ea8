//! Lines of the log on their way out, written by a thread of their own.

use std::io::{self, Write};
use std::mem;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

use tracing_subscriber::fmt::MakeWriter;

use crate::base::tally::Count;

/// Most bytes of lines that wait. Lines that come beyond it are lost, and counted.
const WAITING_BYTES_MAX: usize = 4 << 20;
/// How long the first line waits for more: one write for many costs the service less.
const GATHERING: Duration = Duration::from_millis(5);
/// So many bytes wait no longer.
const GATHERED_BYTES: usize = 64 << 10;
/// How long the end of the service waits for a reader of the log.
const FLUSH_MAX: Duration = Duration::from_secs(1);
/// When a pipe that does not block is asked again.
const RETRY: Duration = Duration::from_millis(10);

/// Takes whole lines and never waits for who reads them. Lines that find no room, or that cannot be
/// written, are lost; the next that can be written are followed by one that says how many.
#[derive(Debug, Default)]
pub(super) struct Queue {
    state: Mutex<State>,
    /// The thread has something to do.
    arrived: Condvar,
    /// The thread has nothing left to do.
    done: Condvar,
    /// Lines lost since the start.
    pub(super) lost: Count,
}

#[derive(Debug, Default)]
struct State {
    lines: Vec<u8>,
    /// Lines lost since it was last said.
    lost: u64,
    /// The thread is writing.
    writing: bool,
    /// Somebody waits for the end: nothing is gathered.
    flushing: bool,
}

impl Queue {
    /// Starts the thread that writes to `out`.
    ///
    /// # Errors
    /// When there is no thread to be had.
    pub(super) fn start(out: impl Write + Send + 'static) -> io::Result<Arc<Self>> {
        let queue = Arc::new(Self::default());
        let of_thread = Arc::clone(&queue);
        let thread = thread::Builder::new().name("log".to_owned());
        thread.spawn(move || of_thread.write_all_to(out))?;
        Ok(queue)
    }

    /// Waits until all lines are written, a second at most.
    pub(super) fn flush(&self) {
        let mut state = self.lock();
        state.flushing = true;
        self.arrived.notify_one();
        let busy = |state: &mut State| state.writing || !state.lines.is_empty();
        let waited = self.done.wait_timeout_while(state, FLUSH_MAX, busy);
        waited.expect(UNPOISONED).0.flushing = false;
    }

    fn push(&self, line: &[u8]) {
        let mut state = self.lock();
        let before = state.lines.len();
        if before + line.len() > WAITING_BYTES_MAX {
            state.lost += 1;
            self.lost.up();
            return;
        }
        state.lines.extend_from_slice(line);
        let after = state.lines.len();
        drop(state);
        if before == 0 || (before < GATHERED_BYTES && after >= GATHERED_BYTES) {
            self.arrived.notify_one();
        }
    }

    /// The thread: writes what has come, for ever.
    fn write_all_to(&self, out: impl Write) {
        let mut out = Output { out, torn: false };
        let mut lines = Vec::new();
        loop {
            let lost_before = self.take(&mut lines);
            let lost = out.write(&lines);
            lines.clear();
            let mut state = self.lock();
            state.writing = false;
            self.lost.add(lost);
            if lost > 0 {
                state.lost += lost_before + lost;
            } else if lost_before > 0 {
                drop(state);
                // A line like the others, in the form of the others.
                tracing::warn!(lines = lost_before, "lines of the log were lost");
            }
        }
    }

    /// Waits for lines and takes them, and the count of those that were lost.
    fn take(&self, lines: &mut Vec<u8>) -> u64 {
        let mut state = self.lock();
        if state.lines.is_empty() {
            self.done.notify_all();
        }
        let none = |state: &mut State| state.lines.is_empty();
        state = self.arrived.wait_while(state, none).expect(UNPOISONED);
        let few = |state: &mut State| !state.flushing && state.lines.len() < GATHERED_BYTES;
        let waited = self.arrived.wait_timeout_while(state, GATHERING, few);
        state = waited.expect(UNPOISONED).0;
        mem::swap(lines, &mut state.lines);
        state.writing = true;
        mem::take(&mut state.lost)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect(UNPOISONED)
    }
}

const UNPOISONED: &str = "no panic while held";

/// Where lines go, which may take a part of them only.
struct Output<W> {
    out: W,
    /// The last thing that was written is a part of a line.
    torn: bool,
}

impl<W: Write> Output<W> {
    /// Writes lines. Gives how many of them could not be written whole.
    fn write(&mut self, mut lines: &[u8]) -> u64 {
        if self.torn {
            self.torn = !self.write_some(&mut b"\n".as_slice());
        }
        if self.torn || !self.write_some(&mut lines) {
            return lines.split_inclusive(|byte| *byte == b'\n').count() as u64;
        }
        0
    }

    /// Writes from the front until nothing is left or it fails; what is not written is left.
    fn write_some(&mut self, bytes: &mut &[u8]) -> bool {
        while !bytes.is_empty() {
            match self.out.write(bytes) {
                Ok(count) if count > 0 => {
                    self.torn = bytes[count - 1] != b'\n';
                    *bytes = &bytes[count..];
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => thread::sleep(RETRY),
                Ok(_) | Err(_) => return false,
            }
        }
        true
    }
}

/// Gives each event's line to a queue.
#[derive(Debug)]
pub(super) struct Lines(pub(super) Arc<Queue>);

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Line<'a>;

    fn make_writer(&'a self) -> Line<'a> {
        Line(&self.0)
    }
}

/// Takes the bytes of one line.
#[derive(Debug)]
pub(super) struct Line<'a>(&'a Queue);

impl Write for Line<'_> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.0.push(line);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    /// Shows each write, takes as many bytes of it as it is told, and fails when told 0.
    struct LimitedWriter {
        shown: mpsc::Sender<Vec<u8>>,
        takes: mpsc::Receiver<usize>,
    }

    impl Write for LimitedWriter {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.shown.send(bytes.to_vec()).map_err(io::Error::other)?;
            match self.takes.recv().map_err(io::Error::other)? {
                0 => Err(io::Error::from(io::ErrorKind::StorageFull)),
                takes => Ok(takes.min(bytes.len())),
            }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn limited_writer() -> (LimitedWriter, mpsc::Receiver<Vec<u8>>, mpsc::Sender<usize>) {
        let ((shown, writes), (take, takes)) = (mpsc::channel(), mpsc::channel());
        (LimitedWriter { shown, takes }, writes, take)
    }

    #[test]
    fn who_logs_does_not_wait_for_the_reader_and_what_finds_no_room_is_counted() {
        let (out, writes, take) = limited_writer();
        let queue = Queue::start(out).unwrap();
        queue.push(b"first\n");
        assert_eq!(writes.recv().unwrap(), b"first\n");
        // The thread is held: what comes now waits up to the bound.
        let line = [[b'x'; 1023].as_slice(), b"\n"].concat();
        let room = WAITING_BYTES_MAX / line.len();
        for _ in 0..room + 7 {
            queue.push(&line);
        }
        assert_eq!(queue.lock().lost, 7);
        take.send(usize::MAX).unwrap();
        assert_eq!(writes.recv().unwrap().len(), WAITING_BYTES_MAX);
        take.send(usize::MAX).unwrap();
        // One gives up after a second.
        (0..30).for_each(|_| queue.flush());
        assert_eq!(queue.lock().lost, 0);
    }

    #[test]
    fn a_line_that_was_torn_is_ended_and_counted() {
        let (out, writes, take) = limited_writer();
        let mut out = Output { out, torn: false };
        for takes in [4, 0, 1, 6, usize::MAX] {
            take.send(takes).unwrap();
        }
        assert_eq!(out.write(b"one\ntwo\nthree\n"), 2);
        assert_eq!(out.write(b"four\n"), 0);
        assert_eq!(out.write(b"five\n"), 0);
        let writes: Vec<_> = writes.try_iter().collect();
        let expected = [
            "one\ntwo\nthree\n",
            "two\nthree\n",
            "four\n",
            "our\n",
            "five\n",
        ];
        assert_eq!(writes, expected.map(str::as_bytes));
    }
}
