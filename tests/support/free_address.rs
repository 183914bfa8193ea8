//! Ports for programs that take none from the system and tell it.

use std::net::{SocketAddr, TcpListener};

/// An address of the loopback that nobody listened on a moment ago.
pub(crate) fn free_address() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap()
}
