//! Work that must not wait: done with what is in memory, or not at all.
//!
//! A thread that serves many clients can do what is short by itself, if nothing in it waits for the
//! disk or for another thread. Nobody can tell before how far memory reaches, so the work is tried:
//! whatever would wait asks here first.

use std::cell::Cell;

thread_local! {
    static TRIAL: Cell<Trial> = const { Cell::new(Trial::None) };
}

/// What this thread tries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trial {
    /// Nothing: it may wait.
    None,
    /// Work that has not wanted to wait so far.
    Fine,
    /// Work that has.
    Failed,
}

/// Does the work without waiting for anything. `None` when it would have had to: then its outcome,
/// whatever it was, does not count, and it is to be done again where waiting is allowed. Till then it
/// must not have changed anything but what is kept in memory.
pub fn only<T>(work: impl FnOnce() -> T) -> Option<T> {
    /// Ends the trial even when the work panics.
    struct End;
    impl Drop for End {
        fn drop(&mut self) {
            TRIAL.set(Trial::None);
        }
    }
    TRIAL.set(Trial::Fine);
    let _end = End;
    let outcome = work();
    (TRIAL.get() == Trial::Fine).then_some(outcome)
}

/// True where waiting is allowed. Who is told otherwise gives up with an error: [`only`] drops what
/// becomes of it.
pub fn may_wait() -> bool {
    let may = TRIAL.get() == Trial::None;
    if !may {
        TRIAL.set(Trial::Failed);
    }
    may
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_that_would_wait_does_not_count() {
        assert_eq!(only(|| 1), Some(1));
        assert_eq!(only(|| (may_wait(), 1)), None);
        assert!(may_wait());
        // Whoever hides that he gave up does not hide it from here.
        assert_eq!(only(|| if may_wait() { 1 } else { 2 }), None);
        let panicked = std::panic::catch_unwind(|| only(|| panic!("a defect")));
        assert!(panicked.is_err() && may_wait());
    }
}
