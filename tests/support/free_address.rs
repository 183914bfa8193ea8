//! Ports for programs that take none from the system and tell it.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::ops::Range;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU16, Ordering};

use rand::RngExt;

/// Below those that Linux gives to who asks for any, so that it gives this one to nobody else meanwhile. Behind them is
/// room for all that one process asks for.
const PORTS: Range<u16> = 20_000..32_000;

/// The one that is tried next. Each is given once: whoever has got it may begin to listen at any time.
static NEXT: LazyLock<AtomicU16> =
    LazyLock::new(|| AtomicU16::new(rand::rng().random_range(PORTS)));

/// An address of the loopback that nobody listened on a moment ago, and that nobody else of this process is given.
pub(crate) fn free_address() -> SocketAddr {
    loop {
        let port = NEXT.fetch_add(1, Ordering::Relaxed);
        if let Ok(listener) = TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
            return listener.local_addr().unwrap();
        }
    }
}
