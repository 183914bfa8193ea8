//! Sessions that are shown for the first time. Each is looked up in the store, and whoever makes cookies up shows
//! nothing else.

use quick_cache::sync::Cache;

use crate::access;
use crate::base::id::Sha256;
use crate::base::limits::SESSIONS_MET_MAX;
use crate::http::error::Error;

/// Tells sessions that were met before from strangers.
#[derive(Debug)]
pub(in crate::http) struct Strangers {
    /// The digests of those that counted when they were shown first.
    met: Cache<Sha256, ()>,
}

impl Strangers {
    /// All are strangers.
    pub(in crate::http) fn new() -> Self {
        Self {
            met: Cache::new(SESSIONS_MET_MAX),
        }
    }

    /// Looks a session up if it is a stranger, so that memory knows it, or knows that it is none, when its request is
    /// answered.
    ///
    /// # Errors
    /// Those of `look`, but that the session does not count: the request tells that, in its order.
    pub(in crate::http) async fn meet<T>(
        &self,
        session: Sha256,
        look: impl Future<Output = Result<T, Error>>,
    ) -> Result<(), Error> {
        if self.met.get(&session).is_some() {
            return Ok(());
        }
        match look.await {
            Ok(_) => self.met.insert(session, ()),
            Err(Error::Access(access::Error::Unauthenticated(_))) => {}
            Err(failed) => return Err(failed),
        }
        Ok(())
    }
}
