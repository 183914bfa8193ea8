//! The command that runs after a change.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use super::fault::Fault;
use super::local::folder::Folder;
use super::local::state::{State, durably};
use super::stopped::{LOOK, Stopping};

/// How long a command that is told to end may take for that.
const GRACE: Duration = Duration::from_secs(5);

/// A command.
#[derive(Debug)]
pub(super) struct Hook {
    pub(super) command: String,
    pub(super) timeout: Duration,
}

impl Hook {
    /// Runs it, if it has not ended well since the last change; the error says why it did not.
    pub(super) fn run(
        &self,
        folder: &Folder,
        state: &mut State,
        stopping: &Stopping,
    ) -> Result<(), Fault> {
        let Some(due) = &state.due else {
            return Ok(());
        };
        durably(&folder.changes(), |out| {
            for (path, change) in &due.changes {
                writeln!(out, "{} {path}", change.name())?;
            }
            Ok(())
        })?;
        let head = &state.head;
        let failed = |why: String| Fault::lasting(format!("--exec: {why}; it is run again"));
        let mut child = Command::new("sh")
            .args(["-c", &self.command])
            .env(
                "SITECONF_COMMIT",
                head.id.as_ref().unwrap_or(&head.short_id),
            )
            .env("SITECONF_DIR", folder.path())
            .env("SITECONF_CHANGED", due.changes.len().to_string())
            .env("SITECONF_CHANGES", folder.changes())
            // It is not its business.
            .env_remove(super::remote::token::VARIABLE)
            .stdin(Stdio::null())
            // What it starts ends with it.
            .process_group(0)
            .spawn()
            .map_err(|e| failed(format!("sh cannot be started: {e}")))?;
        let group = Pid::from_child(&child);
        let began = Instant::now();
        let mut told_to_end = None;
        let status = loop {
            if let Some(status) = child.try_wait().map_err(|e| failed(e.to_string()))? {
                break status;
            }
            let is_late = began.elapsed() > self.timeout;
            if told_to_end.is_none() && (is_late || stopping.is_asked()) {
                told_to_end = Some(Instant::now());
                let _ended = kill_process_group(group, Signal::TERM);
            }
            if told_to_end.is_some_and(|at| at.elapsed() > GRACE) {
                let _ended = kill_process_group(group, Signal::KILL);
            }
            thread::sleep(LOOK);
        };
        if stopping.is_asked() && !status.success() {
            return Err(Fault::Stopped);
        }
        if told_to_end.is_some() && !stopping.is_asked() {
            let seconds = self.timeout.as_secs();
            return Err(failed(format!(
                "it took longer than {seconds} s (--exec-timeout)"
            )));
        }
        if !status.success() {
            return Err(failed(format!("it ended with {status}")));
        }
        state.due = None;
        folder.note(state)
    }
}
