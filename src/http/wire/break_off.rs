//! An end of a connection that no client takes for the end of an answer.

use tokio::io::DuplexStream;
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::server::TlsStream;

/// A connection that can be ended so.
pub(super) trait BreakOff {
    /// Has the client read an error, and no end, once the connection is dropped without a shutdown. What it has not
    /// taken by then is lost.
    fn break_off(&self);
}

impl BreakOff for TcpStream {
    fn break_off(&self) {
        // Where it cannot, the client reads an end as it would without.
        drop(self.set_zero_linger());
    }
}

impl BreakOff for Box<TlsStream<TcpStream>> {
    fn break_off(&self) {
        // TLS has a message that says that the end is meant, which is not sent either.
        self.get_ref().0.break_off();
    }
}

impl BreakOff for UnixStream {
    fn break_off(&self) {
        // The system has no such end for it.
    }
}

impl BreakOff for DuplexStream {
    fn break_off(&self) {}
}
