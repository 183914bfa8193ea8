//! The command that runs after a change.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};

use super::fault::{Fault, Pulled};
use super::local::folder::Folder;
use super::local::state::{Due, State, durably};
use super::printed::Printed;
use super::remote::head::Head;
use crate::cli::running::stop::{LOOK, Stop};

/// How long a command that is told to end may take for that.
const GRACE: Duration = Duration::from_secs(5);

/// A command.
#[derive(Debug)]
pub(super) struct Hook {
    pub(super) command: String,
    pub(super) timeout: Duration,
}

impl Hook {
    /// Runs it, if it has not ended well since the last change. What it prints goes to `err`.
    ///
    /// # Errors
    /// [`Fault::Lasting`] says why it did not end well.
    pub(super) fn run(
        &self,
        folder: &Folder,
        state: &mut State,
        stop: &Stop,
        err: &mut dyn Write,
    ) -> Pulled<()> {
        let Some(due) = &state.due else {
            return Ok(());
        };
        stop.go_on()?;
        durably(&folder.changes(), |out| {
            for (path, change) in &due.changes {
                writeln!(out, "{} {path}", change.name())?;
            }
            Ok(())
        })?;
        let failed = |why: String| Fault::lasting(format!("--exec: {why}"));
        let (printed, [out, also]) = Printed::new().map_err(|e| failed(e.to_string()))?;
        let child = self
            .shell(folder, &state.head, due)
            .stdout(out)
            .stderr(also)
            .spawn()
            .map_err(|e| failed(format!("sh cannot be started: {e}")))?;
        let group = Group {
            leader: child,
            printed,
        };
        match group.wait(self.timeout, stop, err) {
            Ok(Some(status)) if status.success() => {
                let due = state.due.take();
                // What is not noted is known to the disk as before, and so it is here.
                folder.note(state).inspect_err(|_| state.due = due)
            }
            Ok(_) if stop.is_asked() => Err(Fault::Stopped),
            Ok(Some(status)) => Err(failed(format!("it ended with {status}"))),
            Ok(None) => {
                let seconds = self.timeout.as_secs();
                Err(failed(format!(
                    "it took longer than {seconds} s (--exec-timeout)"
                )))
            }
            Err(error) => Err(failed(error.to_string())),
        }
    }

    /// What runs it, with what it is told.
    fn shell(&self, folder: &Folder, head: &Head, due: &Due) -> Command {
        let mut shell = Command::new("sh");
        shell
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
            // So that what it starts can be ended with it.
            .process_group(0);
        if let Some(place) = folder.standing() {
            shell.current_dir(place);
        }
        shell
    }
}

/// A command that runs, and what it starts.
struct Group {
    leader: Child,
    printed: Printed,
}

impl Group {
    /// Waits for the command's end; `None` if it had to be ended, all of its group with it. What it left
    /// running when it ended by itself goes on.
    fn wait(
        mut self,
        timeout: Duration,
        stop: &Stop,
        err: &mut dyn Write,
    ) -> std::io::Result<Option<ExitStatus>> {
        let began = Instant::now();
        while began.elapsed() < timeout && !stop.is_asked() {
            self.printed.pass_on(err, LOOK);
            if let Some(status) = self.leader.try_wait()? {
                self.printed.pass_on(err, Duration::ZERO);
                return Ok(Some(status));
            }
        }
        let group = Pid::from_child(&self.leader);
        // One that is gone needs no signal.
        let _told = kill_process_group(group, Signal::TERM);
        let told = Instant::now();
        let mut status = None;
        while told.elapsed() < GRACE {
            self.printed.pass_on(err, LOOK);
            status = status.or(self.leader.try_wait()?);
            if status.is_some() && test_kill_process_group(group).is_err() {
                return Ok(None);
            }
        }
        let _told = kill_process_group(group, Signal::KILL);
        self.leader.wait()?;
        // The others take a moment, too: whoever is told that they were ended may begin anew at once.
        let told = Instant::now();
        while told.elapsed() < GRACE && test_kill_process_group(group).is_ok() {
            self.printed.pass_on(err, LOOK);
        }
        Ok(None)
    }
}
