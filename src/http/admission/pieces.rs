//! Memory for pieces of large files that are read and not taken by their clients yet, and the threads that read
//! them.

use std::sync::Arc;

use super::credential::{Credential, CredentialQuota, CredentialShare};
use crate::base::limits::{PIECES_BYTES_CREDENTIAL_MAX, PIECES_BYTES_MAX, PIECES_READ_AT_ONCE_MAX};
use crate::http::blocking::{FewThreads, Wanted};

/// The memory, and the threads that read something into it.
#[derive(Clone, Debug)]
pub(in crate::http) struct PieceMemory {
    quota: Arc<CredentialQuota>,
    readers: Arc<FewThreads>,
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
            quota: Arc::new(CredentialQuota::new(
                PIECES_BYTES_MAX,
                PIECES_BYTES_CREDENTIAL_MAX,
            )),
            readers: Arc::new(FewThreads::new("read-file", PIECES_READ_AT_ONCE_MAX)),
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
    pub(in crate::http) fn take(&self, bytes: usize) -> Option<CredentialShare> {
        self.memory.quota.take(self.credential?, bytes as u64).ok()
    }

    /// Starts work that reads a large file when one of the threads is free, unless nobody waits for it any more.
    pub(in crate::http) fn start<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Wanted<T> {
        self.memory.readers.start(work)
    }
}
