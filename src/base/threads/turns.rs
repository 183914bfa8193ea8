//! Turns of threads: so many do something at once, and the others wait.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::lock;

/// Turns, of which so many may be taken at once. A thread that takes a second one can wait for itself.
#[derive(Debug)]
pub struct Turns {
    at_once_max: usize,
    taken: Mutex<usize>,
    given_back: Condvar,
}

/// A turn, which ends when it is dropped.
#[derive(Debug)]
pub struct Turn<'a>(&'a Turns);

impl Turns {
    /// So many at once, at least one.
    pub fn new(at_once_max: usize) -> Self {
        Self {
            at_once_max,
            taken: Mutex::new(0),
            given_back: Condvar::new(),
        }
    }

    /// Waits until it is this thread's turn.
    pub fn wait(&self) -> Turn<'_> {
        let is_full = |taken: &mut usize| *taken >= self.at_once_max;
        let taken = self.given_back.wait_while(self.taken(), is_full);
        *taken.unwrap_or_else(PoisonError::into_inner) += 1;
        Turn(self)
    }

    fn taken(&self) -> MutexGuard<'_, usize> {
        lock(&self.taken)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        *self.0.taken() -= 1;
        self.0.given_back.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use super::*;

    #[test]
    fn so_many_have_one_at_once() {
        let (turns, together) = (Turns::new(2), Barrier::new(2));
        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let _turn = turns.wait();
                    let others = now.fetch_add(1, Ordering::SeqCst);
                    most.fetch_max(others + 1, Ordering::SeqCst);
                    // Nobody goes on alone.
                    together.wait();
                    now.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        assert_eq!(most.load(Ordering::SeqCst), 2);
    }
}
