//! Ports for programs that take none from the system and tell it.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::ops::Range;

use rand::RngExt;

/// Below those that Linux gives to who asks for any, so that it gives this one to nobody else meanwhile.
const PORTS: Range<u16> = 20_000..32_000;

/// An address of the loopback that nobody listened on a moment ago.
pub(crate) fn free_address() -> SocketAddr {
    loop {
        let port = rand::rng().random_range(PORTS);
        if let Ok(listener) = TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
            return listener.local_addr().unwrap();
        }
    }
}
