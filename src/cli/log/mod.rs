//! The log: to standard error, text for a person at a terminal, JSON for everybody else.
//!
//! A command writes its lines itself. The service must not: a reader that stalls or a full disk would
//! hold its threads. It puts them into a [`Queue`], which a thread of its own empties.

mod json_line;
mod queue;

use std::fs::File;
use std::io::{self, IsTerminal};
use std::os::fd::AsFd;
use std::panic;
use std::sync::Arc;
use std::thread;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

use super::settings::Told;
use super::{Error, Result};
use json_line::JsonLine;
use queue::{Lines, Queue};

/// What the service logs unless told otherwise.
const USUAL: &str = "info";
/// What the other commands log unless told otherwise.
const QUIET: &str = "warn";

/// Begins to log what passes the filter, each line as it comes. In a process that logs already, that
/// stays as it is.
///
/// # Errors
/// [`Error::Usage`] for a malformed filter.
pub(super) fn of_command(filter: &Told<String>) -> Result<()> {
    start(filter, QUIET, io::stderr)
}

/// Begins to log as [`of_command`] does, through a queue, and logs panics, which else would be written
/// to standard error at once. What it returns writes the rest of the queue when it is dropped.
///
/// # Errors
/// [`Error::Usage`] for a malformed filter, [`Error::Failed`] without a thread or a descriptor.
pub(super) fn of_service(filter: &Told<String>) -> Result<Rest> {
    let failed = |e| Error::Failed(format!("starting the log: {e}"));
    // A descriptor of its own: who holds the lock of `io::stderr` may wait for a reader.
    let out = io::stderr().as_fd().try_clone_to_owned().map_err(failed)?;
    let queue = Queue::start(File::from(out)).map_err(failed)?;
    start(filter, USUAL, Lines(Arc::clone(&queue)))?;
    panic::set_hook(Box::new(|defect| tracing::error!(%defect, "panic")));
    Ok(Rest(queue))
}

/// Lines that wait to be written. Dropped, it gives them a second.
#[derive(Clone, Debug)]
pub(super) struct Rest(Arc<Queue>);

impl Drop for Rest {
    fn drop(&mut self) {
        self.0.flush();
        if !thread::panicking() {
            drop(panic::take_hook());
        }
    }
}

/// An empty filter is `usual`.
fn start<W>(filter: &Told<String>, usual: &str, out: W) -> Result<()>
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let text = if filter.is_empty() { usual } else { filter };
    let filter = EnvFilter::builder()
        .parse(text)
        .map_err(|e| filter.refuse(format_args!("it is no filter: {e}")))?;
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(out);
    let _started = if io::stderr().is_terminal() {
        log.try_init()
    } else {
        log.event_format(JsonLine).try_init()
    };
    Ok(())
}
