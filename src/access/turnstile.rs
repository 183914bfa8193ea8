//! Lets a few password checks run at once and a few more wait.

use std::sync::{Condvar, Mutex, MutexGuard};

use super::error::{Error, Result};

/// Bounds the memory and the cores that logins take, whoever sends them.
#[derive(Debug)]
pub(super) struct Turnstile {
    inside_max: usize,
    waiting_max: usize,
    state: Mutex<State>,
    left: Condvar,
}

#[derive(Debug, Default)]
struct State {
    inside: usize,
    waiting: usize,
}

/// The right to be inside, until it is dropped.
#[derive(Debug)]
pub(super) struct Pass<'a>(&'a Turnstile);

impl Turnstile {
    pub(super) fn new(inside_max: usize, waiting_max: usize) -> Self {
        Self {
            inside_max,
            waiting_max,
            state: Mutex::default(),
            left: Condvar::new(),
        }
    }

    /// Waits for its turn.
    ///
    /// # Errors
    /// [`Error::TooManyLogins`] when enough are waiting already.
    pub(super) fn enter(&self) -> Result<Pass<'_>> {
        let mut state = self.state();
        if state.inside == self.inside_max {
            if state.waiting == self.waiting_max {
                return Err(Error::TooManyLogins);
            }
            state.waiting += 1;
            state = self
                .left
                .wait_while(state, |state| state.inside == self.inside_max)
                .expect("no panic while held");
            state.waiting -= 1;
        }
        state.inside += 1;
        Ok(Pass(self))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no panic while held")
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        self.0.state().inside -= 1;
        self.0.left.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn one_too_many_is_sent_away_and_who_waits_comes_in() {
        let turnstile = Turnstile::new(1, 1);
        let (entered, entries) = channel();
        std::thread::scope(|scope| {
            let pass = turnstile.enter().unwrap();
            scope.spawn(|| {
                let _pass = turnstile.enter().unwrap();
                entered.send(()).unwrap();
            });
            while turnstile.state().waiting == 0 {
                std::thread::yield_now();
            }
            assert!(matches!(turnstile.enter(), Err(Error::TooManyLogins)));
            assert!(entries.try_recv().is_err());
            drop(pass);
            entries.recv().unwrap();
        });
        assert!(turnstile.enter().is_ok());
    }
}
