//! Everything this layer counts.

use super::requests::Requests;
use crate::base::tally::Count;

/// Counts since the start.
#[derive(Debug)]
pub(in crate::http) struct Tallies {
    pub(in crate::http) requests: Requests,
    /// Bytes that came from clients, heads and all.
    pub(in crate::http) bytes_in: Count,
    /// Bytes that clients took.
    pub(in crate::http) bytes_out: Count,
    /// Connections that are open now.
    pub(in crate::http) connections_open: Count,
    /// Connections that were served, over TLS after their handshake.
    pub(in crate::http) connections_taken: Count,
    /// Connections that were refused: their client had all it may.
    pub(in crate::http) connections_refused: Count,
    /// How often a connection could not be accepted; it waits.
    pub(in crate::http) accepts_failed: Count,
    /// Connections that came to no TLS.
    pub(in crate::http) handshakes_failed: Count,
    /// Requests that wait for a change now.
    pub(in crate::http) requests_waiting: Count,
    /// Logins with the right password.
    pub(in crate::http) logins: Count,
    /// Logins with a wrong one, or with the name of no account.
    pub(in crate::http) logins_wrong: Count,
    /// Logins that were told to wait, before a password was looked at.
    pub(in crate::http) logins_throttled: Count,
    /// Requests with a token that does not count.
    pub(in crate::http) tokens_wrong: Count,
    /// The same, once its client had shown so many that it was told to wait.
    pub(in crate::http) tokens_throttled: Count,
}

impl Default for Tallies {
    fn default() -> Self {
        Self {
            requests: Requests::new(),
            bytes_in: Count::new(),
            bytes_out: Count::new(),
            connections_open: Count::new(),
            connections_taken: Count::new(),
            connections_refused: Count::new(),
            accepts_failed: Count::new(),
            handshakes_failed: Count::new(),
            requests_waiting: Count::new(),
            logins: Count::new(),
            logins_wrong: Count::new(),
            logins_throttled: Count::new(),
            tokens_wrong: Count::new(),
            tokens_throttled: Count::new(),
        }
    }
}
