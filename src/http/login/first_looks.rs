//! Sessions that are shown for the first time. Each is looked up in the store, and whoever makes cookies up shows
//! nothing else.

use quick_cache::sync::Cache;

use crate::access;
use crate::base::id::Sha256;
use crate::base::limits::SESSIONS_SEEN_MAX;
use crate::http::error::Error;

/// The sessions that have counted once.
#[derive(Debug)]
pub(in crate::http) struct SeenSessions {
    /// Their digests.
    seen: Cache<Sha256, ()>,
}

impl SeenSessions {
    /// None.
    pub(in crate::http) fn new() -> Self {
        Self {
            seen: Cache::new(SESSIONS_SEEN_MAX),
        }
    }

    /// Notes a session that counts.
    pub(in crate::http) fn note(&self, session: Sha256) {
        self.seen.insert(session, ());
    }

    /// Looks a session up if it was not seen before, so that memory knows it, or knows that there is none, when its
    /// request is answered.
    ///
    /// # Errors
    /// Those of `look`, but that the session does not count: the request tells that, in its order.
    pub(in crate::http) async fn look_first<T>(
        &self,
        session: Sha256,
        look: impl Future<Output = Result<T, Error>>,
    ) -> Result<(), Error> {
        if self.seen.get(&session).is_some() {
            return Ok(());
        }
        match look.await {
            Ok(_) => self.note(session),
            Err(Error::Access(access::Error::Unauthenticated(_))) => {}
            Err(failed) => return Err(failed),
        }
        Ok(())
    }
}
