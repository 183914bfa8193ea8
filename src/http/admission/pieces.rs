//! Memory for pieces of large files that are read and not taken by their clients yet.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::long::Credential;
use super::quota::{Quota, Share};
use crate::base::limits::{PIECES_BYTES_CREDENTIAL_MAX, PIECES_BYTES_MAX, PIECES_READ_AT_ONCE_MAX};

/// The memory, and turns to read something into it.
#[derive(Clone, Debug)]
pub(in crate::http) struct PieceMemory {
    quota: Arc<Quota<Credential>>,
    reading: Arc<Semaphore>,
}

/// What one who asks may take of it. Nobody whom the service does not know takes any.
#[derive(Debug)]
pub(in crate::http) struct PieceShares {
    memory: PieceMemory,
    credential: Option<Credential>,
}

impl PieceMemory {
    /// Nothing is taken.
    pub(in crate::http) fn new() -> Self {
        Self {
            quota: Quota::new(PIECES_BYTES_MAX, PIECES_BYTES_CREDENTIAL_MAX),
            reading: Arc::new(Semaphore::new(PIECES_READ_AT_ONCE_MAX)),
        }
    }

    /// The part of who asks.
    pub(in crate::http) fn shares(&self, credential: Option<Credential>) -> PieceShares {
        PieceShares {
            memory: self.clone(),
            credential,
        }
    }
}

impl PieceShares {
    /// Takes so many bytes, `None` where there are not that many left.
    pub(in crate::http) fn take(&self, bytes: usize) -> Option<Share<Credential>> {
        self.memory.quota.take(self.credential?, bytes as u64).ok()
    }

    /// Waits without a thread for the turn to read. It ends when what is given is dropped.
    pub(in crate::http) fn turn(&self) -> impl Future<Output = OwnedSemaphorePermit> + use<> {
        let reading = Arc::clone(&self.memory.reading);
        async move {
            let turn = reading.acquire_owned().await;
            turn.expect("the semaphore is never closed")
        }
    }
}
