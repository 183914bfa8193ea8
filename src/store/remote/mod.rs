//! What an engine does over a network, on a runtime of its own: callers wait on their threads.

pub(super) mod repeated;
pub(super) mod tls;

use std::sync::mpsc::sync_channel;

use tokio::runtime::{Builder, Handle, Runtime};
use tokio::task::JoinHandle;

use super::{Result, StoreError};
use crate::base::may_block;

/// The runtime of an engine. Dropped, it ends at once, whatever is under way on it: what is dropped on a thread of a
/// runtime must not wait.
#[derive(Debug)]
pub(super) struct OwnRuntime {
    handle: Handle,
    /// `None` only while it is dropped.
    runtime: Option<Runtime>,
}

impl OwnRuntime {
    /// Starts a runtime of so many threads of this name.
    pub(super) fn start(threads: usize, name: &str) -> Result<Self> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(threads)
            .thread_name(name)
            .enable_all()
            .build()
            .map_err(|e| StoreError::io("starting a thread", e))?;
        Ok(Self {
            handle: runtime.handle().clone(),
            runtime: Some(runtime),
        })
    }

    /// What others start tasks on it with, also when it has ended: then nothing comes of them.
    pub(super) fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Starts a task.
    pub(super) fn spawn<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        self.handle.spawn(work)
    }

    /// Has a task do this, and waits for it; on any thread, for it is not one of the runtime's.
    pub(super) fn wait<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T>> + Send + 'static,
    ) -> Result<T> {
        wait_on(&self.handle, work)
    }
}

impl Drop for OwnRuntime {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// As [`OwnRuntime::wait`], on a runtime that may have ended: then there is no answer.
pub(super) fn wait_on<T: Send + 'static>(
    runtime: &Handle,
    work: impl Future<Output = Result<T>> + Send + 'static,
) -> Result<T> {
    let (sender, receiver) = sync_channel(1);
    drop(runtime.spawn(async move {
        // Who waits is there.
        drop(sender.send(work.await));
    }));
    may_block(|| receiver.recv()).unwrap_or(Err(StoreError::Stopped))
}
