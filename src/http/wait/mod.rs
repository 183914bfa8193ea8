//! Requests that are held until what they ask for has changed, so that a client need not poll.
//!
//! A request that waits is a future and a line in a table: no thread, and nothing that is done for it
//! until something happens. What it waits for is told by [`crate::repo::Project::watch_branch`], whoever
//! made the change. Then, and when the time is over, it is answered as if it came only now: with the
//! token, the session and the rights of that moment. A stream of events (`events`) does the same again and
//! again.

pub(in crate::http) mod asked;
mod beside;
pub(in crate::http) mod events;
pub(in crate::http) mod hold;
pub(in crate::http) mod subscriptions;
