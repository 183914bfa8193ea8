//! Threads that have ended when their owner is gone.

use std::io;
use std::thread::{Builder, JoinHandle};

/// A thread beside its owner. When this is dropped, the thread is waited for, and the log tells of a panic that it
/// ended in. What tells it to end must be dropped before: in its owner, by a field above this one.
#[derive(Debug)]
pub struct Joined {
    /// `None` only while it is dropped.
    thread: Option<JoinHandle<()>>,
}

impl Joined {
    /// Starts the work in a thread of this name.
    ///
    /// # Errors
    /// When the system has no thread for it.
    pub fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<Self> {
        let thread = Builder::new().name(name.to_owned()).spawn(work)?;
        Ok(Self {
            thread: Some(thread),
        })
    }

    /// True once its work has ended, in a panic, too.
    pub fn is_finished(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }
}

impl Drop for Joined {
    fn drop(&mut self) {
        let Some(thread) = self.thread.take() else {
            return;
        };
        let name = thread.thread().name().unwrap_or_default().to_owned();
        if thread.join().is_err() {
            tracing::error!(thread = name, "a thread ended in a panic");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn who_drops_it_waits_for_its_end() {
        let (ends, end) = channel::<()>();
        let (told, tells) = channel();
        let thread = Joined::spawn("waits", move || {
            let _ended = end.recv();
            told.send(7).unwrap();
        });
        let thread = thread.unwrap();
        assert!(!thread.is_finished());
        drop(ends);
        drop(thread);
        assert_eq!(tells.try_recv(), Ok(7));
    }

    #[test]
    fn a_panic_ends_the_thread_alone() {
        drop(Joined::spawn("panics", || panic!("as planned")).unwrap());
    }
}
