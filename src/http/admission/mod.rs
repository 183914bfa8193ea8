//! Who is let in: how much of the service one client may take, how long it is waited for, and when
//! somebody who failed too often may try again.
//!
//! What is bounded here is bounded twice: in all, and for each who asks. Nothing of it costs a request
//! that is answered from memory anything.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};

pub(in crate::http) mod answers;
pub(in crate::http) mod bodies;
pub(in crate::http) mod credential;
pub(in crate::http) mod failures;
pub(in crate::http) mod fair_semaphore;
pub(in crate::http) mod held_places;
pub(in crate::http) mod hosts;
pub(in crate::http) mod logins;
pub(in crate::http) mod long;
pub(in crate::http) mod network;
pub(in crate::http) mod patience;
pub(in crate::http) mod pieces;
pub(in crate::http) mod quota;
pub(in crate::http) mod unknown_proxies;
pub(in crate::http) mod waiting;

/// A semaphore with as many places as a setting says.
pub(in crate::http) fn places(most: u64) -> Semaphore {
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    Semaphore::new(most.min(Semaphore::MAX_PERMITS))
}

/// Waits for a place of a semaphore. Those of the service are never closed.
pub(in crate::http) async fn permit(of: Arc<Semaphore>) -> OwnedSemaphorePermit {
    let permit = of.acquire_owned().await;
    permit.expect("the semaphore is never closed")
}

/// The same for who borrows the semaphore as long as the place.
pub(in crate::http) async fn borrowed_permit(of: &Semaphore) -> SemaphorePermit<'_> {
    let permit = of.acquire().await;
    permit.expect("the semaphore is never closed")
}
