//! The log: to standard error, text for a person at a terminal, JSON for everybody else.

use std::io::{self, IsTerminal};

use tracing_subscriber::EnvFilter;

use super::{Error, Result};

/// What the service logs unless told otherwise.
pub(super) const USUAL: &str = "info";
/// What the other commands log unless told otherwise.
pub(super) const QUIET: &str = "warn";

/// Begins to log what passes the filter. In a process that logs already, that stays as it is.
///
/// # Errors
/// [`Error::Usage`] for a malformed filter.
pub(super) fn start(filter: &str) -> Result<()> {
    let filter = EnvFilter::builder()
        .parse(filter)
        .map_err(|e| Error::Usage(format!("log filter \"{filter}\": {e}")))?;
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr);
    let _started = if io::stderr().is_terminal() {
        log.try_init()
    } else {
        log.json().flatten_event(true).try_init()
    };
    Ok(())
}
