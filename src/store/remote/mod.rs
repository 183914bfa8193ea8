//! What an engine does over a network, on a runtime of its own: callers wait on their threads.

pub(super) mod repeated;
pub(super) mod tls;

use std::sync::mpsc::sync_channel;

use tokio::runtime::{Builder, Handle, Runtime};

use super::{Result, StoreError};
use crate::base::may_block;

/// A runtime of so many threads, for an engine.
pub(super) fn start_runtime(threads: usize, name: &str) -> Result<Runtime> {
    let runtime = Builder::new_multi_thread()
        .worker_threads(threads)
        .thread_name(name)
        .enable_all()
        .build();
    runtime.map_err(|e| StoreError::io("starting a thread", e))
}

/// Has a task of the runtime do this, and waits for it; on any thread, for it is not one of the runtime's.
pub(super) fn wait<T: Send + 'static>(
    runtime: &Runtime,
    work: impl Future<Output = Result<T>> + Send + 'static,
) -> Result<T> {
    wait_on(runtime.handle(), work)
}

/// The same of a runtime that may have ended: then there is no answer.
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
