//! Where the daemon is while it is killed and started again, and when it died.

use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use crate::client::Client;
use crate::daemon::Daemon;

/// Longer than any start takes, or any answer.
const PATIENCE: Duration = Duration::from_mins(1);

/// The way to a daemon, for all who work on its folder.
#[derive(Debug)]
pub(crate) struct Gate {
    began: Instant,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    /// Knows where it listens.
    client: Client,
    is_open: bool,
    deaths: Vec<Duration>,
    /// Commands that run on its folder.
    commands: usize,
}

impl Gate {
    /// The way to this daemon. Clients are those of its account.
    pub(crate) fn to(daemon: &Daemon) -> Self {
        let state = State {
            client: daemon.admin(),
            is_open: true,
            deaths: Vec::new(),
            commands: 0,
        };
        Self {
            began: Instant::now(),
            state: Mutex::new(state),
            changed: Condvar::new(),
        }
    }

    /// The time of all who pass here.
    pub(crate) fn now(&self) -> Duration {
        self.began.elapsed()
    }

    /// A client of the daemon that runs, once one does, and the number of that daemon.
    pub(crate) fn client(&self) -> (Client, usize) {
        let state = self.wait(|state| state.is_open);
        (state.client.another(), state.deaths.len())
    }

    /// When the daemon of this number died, once it has.
    pub(crate) fn death_of(&self, daemon: usize) -> Duration {
        self.wait(|state| state.deaths.len() > daemon).deaths[daemon]
    }

    /// When daemons died.
    pub(crate) fn deaths(&self) -> Vec<Duration> {
        self.state().deaths.clone()
    }

    /// Runs a command on the folder while no daemon starts there, which would be refused.
    pub(crate) fn beside<T>(&self, command: impl FnOnce() -> T) -> T {
        self.wait(|state| state.is_open).commands += 1;
        let _running = Running(self);
        command()
    }

    /// Kills the daemon where it stands, and starts it again.
    pub(crate) fn kill_and_restart(&self, daemon: &mut Daemon) {
        self.state().is_open = false;
        daemon.kill();
        let death = self.now();
        self.state().deaths.push(death);
        self.changed.notify_all();
        drop(self.wait(|state| state.commands == 0));
        daemon.kill_and_restart();
        let mut state = self.state();
        state.client = daemon.again(&state.client.credential);
        state.is_open = true;
        self.changed.notify_all();
    }

    /// Waits until the state is so.
    fn wait(&self, until: impl Fn(&State) -> bool) -> MutexGuard<'_, State> {
        let waits = |state: &mut State| !until(state);
        let waited = self
            .changed
            .wait_timeout_while(self.state(), PATIENCE, waits);
        let (state, over) = waited.unwrap();
        assert!(!over.timed_out(), "no daemon died or began: {state:?}");
        state
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }
}

/// A command that runs.
struct Running<'a>(&'a Gate);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.state().commands -= 1;
        self.0.changed.notify_all();
    }
}
