//! Where the daemons are while they are killed and started again, and when they died.

use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use crate::client::Client;
use crate::daemon::Daemon;

/// Longer than any start takes, or any answer.
const PATIENCE: Duration = Duration::from_mins(1);

/// The way to the daemons of a store, for all who work on it.
#[derive(Debug)]
pub(crate) struct Gate {
    began: Instant,
    /// True if what a daemon has sent may take effect when it has died.
    outlives: bool,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    places: Vec<Place>,
    /// Commands that run on the store.
    commands: usize,
}

/// The place of one daemon.
#[derive(Debug)]
struct Place {
    /// Knows where it listens.
    client: Client,
    is_open: bool,
    deaths: Vec<Duration>,
}

/// A daemon from its start to its death: its place, and how many were there before.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Life {
    place: usize,
    number: usize,
}

impl Gate {
    /// The way to the daemons that these clients know.
    pub(crate) fn to(clients: impl IntoIterator<Item = Client>, outlives: bool) -> Self {
        let place = |client| Place {
            client,
            is_open: true,
            deaths: Vec::new(),
        };
        let state = State {
            places: clients.into_iter().map(place).collect(),
            commands: 0,
        };
        Self {
            began: Instant::now(),
            outlives,
            state: Mutex::new(state),
            changed: Condvar::new(),
        }
    }

    /// The time of all who pass here.
    pub(crate) fn now(&self) -> Duration {
        self.began.elapsed()
    }

    /// True if what a daemon has sent may take effect when it has died.
    pub(crate) fn outlives(&self) -> bool {
        self.outlives
    }

    /// A client of one of the daemons, by any number, once it runs.
    pub(crate) fn client(&self, any: usize) -> (Client, Life) {
        let place = any % self.state().places.len();
        let state = self.wait(|state| state.places[place].is_open);
        let found = &state.places[place];
        let number = found.deaths.len();
        (found.client.another(), Life { place, number })
    }

    /// When a daemon died, once it has.
    pub(crate) fn death_of(&self, Life { place, number }: Life) -> Duration {
        let state = self.wait(|state| state.places[place].deaths.len() > number);
        state.places[place].deaths[number]
    }

    /// When daemons died, by their places.
    pub(crate) fn deaths(&self) -> Vec<Vec<Duration>> {
        let state = self.state();
        state
            .places
            .iter()
            .map(|place| place.deaths.clone())
            .collect()
    }

    /// Runs a command on the store while no daemon starts there: on a folder it would be refused.
    pub(crate) fn beside<T>(&self, command: impl FnOnce() -> T) -> T {
        let all_run = |state: &State| state.places.iter().all(|place| place.is_open);
        self.wait(all_run).commands += 1;
        let _running = Running(self);
        command()
    }

    /// Kills the daemon at a place where it stands. Commands have ended when this returns.
    pub(crate) fn kill(&self, place: usize, daemon: &mut Daemon) {
        self.state().places[place].is_open = false;
        daemon.kill();
        let death = self.now();
        self.state().places[place].deaths.push(death);
        self.changed.notify_all();
        drop(self.wait(|state| state.commands == 0));
    }

    /// Lets in again who asks the daemon at a place, which was started again.
    pub(crate) fn open(&self, place: usize, daemon: &Daemon) {
        let mut state = self.state();
        let place = &mut state.places[place];
        place.client = daemon.again(&place.client.credential);
        place.is_open = true;
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
