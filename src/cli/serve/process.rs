//! What the service asks of the system for its process.

use std::time::Duration;

use rustix::fs::Mode;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit, umask};
use tokio::runtime::{Builder, Runtime};

use crate::base::limits::{BLOCKING_THREAD_IDLE_MS, BLOCKING_THREADS};
use crate::cli::{Error, Result};

/// Room for the files that are open beside those of connections: the store's, large files that are written, the log.
const OWN_FILES: u64 = 512;

/// Prepares the process for a store that nobody else is to read, and for so many connections.
pub(super) fn prepare(connections_max: u64) {
    // Nobody else reads what lies in the folder.
    umask(Mode::RWXG | Mode::RWXO);
    raise_open_files(connections_max);
    keep_memory_out_of_files();
}

/// The threads on which the service runs.
pub(super) fn runtime() -> Result<Runtime> {
    Builder::new_multi_thread()
        .enable_all()
        .max_blocking_threads(BLOCKING_THREADS)
        .thread_keep_alive(Duration::from_millis(BLOCKING_THREAD_IDLE_MS))
        .build()
        .map_err(|e| Error::Failed(format!("starting the threads: {e}")))
}

/// Has the system write no core dump, which would hold passwords, tokens and the server key: the watchdog ends a
/// process by a signal that makes one. Who needs one raises the limit again (`prlimit --core=unlimited --pid`).
fn keep_memory_out_of_files() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Core);
    // A byte: a program that takes dumps from the system, as Apport does, gets them at none, and no file is so short.
    let current = Some(maximum.map_or(1, |most| most.min(1)));
    let none = Rlimit { current, maximum };
    if let Err(e) = setrlimit(Resource::Core, none) {
        tracing::warn!(error = %e, "the limit of core dumps stays as it is");
    }
}

/// Lets the process have as many open files as the system allows it: each connection is one, and each large file
/// that is read another. The log is told where that is too little for so many connections.
fn raise_open_files(connections_max: u64) {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: maximum,
        maximum,
    };
    let allowed = match setrlimit(Resource::Nofile, raised) {
        Ok(()) => maximum,
        Err(e) => {
            tracing::warn!(error = %e, "the limit of open files stays as it is");
            current
        }
    };
    let needed = connections_max.saturating_add(OWN_FILES);
    if let Some(allowed) = allowed.filter(|allowed| *allowed < needed) {
        tracing::warn!(
            allowed,
            needed,
            "the system allows fewer open files than connections_max needs: raise its hard limit \
             (LimitNOFILE= of the unit, ulimit -Hn) or lower connections_max"
        );
    }
}
