//! Work that may block a thread: reading a disk, waiting for a commit, computing for long.

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::block_in_place;

/// Runs the work here. On a worker of a runtime that serves many clients, another thread takes over
/// the other clients first, so that only the caller waits. This costs some ten microseconds: ask
/// memory before.
///
/// # Limits
/// As many threads take over at once as the runtime's blocking pool has; beyond that clients wait.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the one place that may block a worker"
)]
pub fn may_block<T>(work: impl FnOnce() -> T) -> T {
    let on_workers = Handle::try_current()
        .is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread);
    if on_workers {
        block_in_place(work)
    } else {
        work()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn others_of_the_only_worker_go_on_meanwhile() {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .build()
            .unwrap();
        let (done, other_is_done) = channel();
        runtime.block_on(async {
            let blocked = tokio::spawn(async move { may_block(|| other_is_done.recv()) });
            tokio::spawn(async move { done.send(7).unwrap() });
            assert_eq!(blocked.await.unwrap(), Ok(7));
        });
    }

    #[tokio::test]
    async fn a_thread_of_its_own_just_works() {
        assert_eq!(may_block(|| 7), 7);
    }
}
