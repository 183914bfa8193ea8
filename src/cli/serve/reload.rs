//! What the service reads or opens again at SIGHUP, while it runs.

use std::fmt;
use std::io;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

type Step = Box<dyn FnMut() + Send>;

/// The steps of a reload, in the order in which they were added. The settings themselves are not read
/// again.
#[derive(Default)]
pub(super) struct Reload {
    steps: Vec<Step>,
}

impl fmt::Debug for Reload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reload")
            .field("steps", &self.steps.len())
            .finish()
    }
}

impl Reload {
    /// Adds a step. What goes wrong in it, it tells the log: nobody waits for a reload. The others are
    /// taken all the same.
    pub(super) fn add(&mut self, step: impl FnMut() + Send + 'static) {
        self.steps.push(Box::new(step));
    }

    /// Starts the thread that takes the steps. It is not the one that waits for signals: a step that
    /// hangs, as on a dead network drive, must not hold up a stop.
    ///
    /// # Errors
    /// When there is no thread to be had.
    pub(super) fn start(mut self) -> io::Result<Trigger> {
        let (trigger, triggered) = sync_channel(1);
        let take_steps = move || {
            for () in triggered {
                tracing::info!("reloading");
                self.steps.iter_mut().for_each(|step| step());
                tracing::info!("reloaded");
            }
        };
        thread::Builder::new()
            .name("reload".to_owned())
            .spawn(take_steps)?;
        Ok(Trigger(trigger))
    }
}

/// Asks for a reload.
#[derive(Clone, Debug)]
pub(super) struct Trigger(SyncSender<()>);

impl Trigger {
    /// Does not wait for it. One that is asked for while another waits to begin is that other.
    pub(super) fn pull(&self) {
        // Full: one waits already. Closed: a step panicked, which the log has told.
        let _waits = self.0.try_send(());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn steps_are_taken_in_order_at_each_reload() {
        let (done, seen) = channel();
        let mut reload = Reload::default();
        for step in ["certificates", "log"] {
            let done = done.clone();
            reload.add(move || done.send(step).unwrap());
        }
        let trigger = reload.start().unwrap();
        for _ in 0..2 {
            trigger.pull();
            let taken = [seen.recv().unwrap(), seen.recv().unwrap()];
            assert_eq!(taken, ["certificates", "log"]);
        }
    }
}
