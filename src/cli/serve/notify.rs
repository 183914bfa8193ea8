//! What the service tells systemd, or whoever else started it with a socket for it: `sd_notify(3)`.

use std::env;
use std::ffi::OsStr;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::Arc;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use crate::base::may_block;

/// Longest wait for room in the socket: who does not read must not hold the service.
const SEND_MAX: Duration = Duration::from_secs(1);

/// Where it is told; nowhere when nobody asked.
#[derive(Clone, Debug, Default)]
pub(super) struct Notifier(Option<Arc<(UnixDatagram, SocketAddr)>>);

impl Notifier {
    /// The socket that `NOTIFY_SOCKET` names: a path, or `@` and an abstract name. One that is of no use
    /// is told to the log.
    pub(super) fn of_environment() -> Self {
        let Some(name) = env::var_os("NOTIFY_SOCKET").filter(|name| !name.is_empty()) else {
            return Self::default();
        };
        Self::to(&name).unwrap_or_else(|error| {
            tracing::warn!(%error, socket = ?name, "NOTIFY_SOCKET cannot be used");
            Self::default()
        })
    }

    /// The socket of this name: a path, or `@` and an abstract name.
    pub(super) fn to(name: &OsStr) -> io::Result<Self> {
        let address = match name.as_bytes() {
            [b'@', name @ ..] => SocketAddr::from_abstract_name(name)?,
            path if path.starts_with(b"/") => SocketAddr::from_pathname(name)?,
            _ => return Err(io::Error::other("it must begin with / or @")),
        };
        let socket = UnixDatagram::unbound()?;
        socket.set_write_timeout(Some(SEND_MAX))?;
        Ok(Self(Some(Arc::new((socket, address)))))
    }

    /// Everything is bound: clients and whatever waits for the service may come.
    pub(super) fn ready(&self, status: &str) {
        self.tell(&format!("READY=1\nSTATUS={status}"));
    }

    /// A reload has begun; [`Self::ready`] ends it.
    pub(super) fn reloading(&self) {
        let now = clock_gettime(ClockId::Monotonic);
        let microseconds = now.tv_sec * 1_000_000 + now.tv_nsec / 1000;
        self.tell(&format!("RELOADING=1\nMONOTONIC_USEC={microseconds}"));
    }

    /// The stop has begun.
    pub(super) fn stopping(&self) {
        self.tell("STOPPING=1");
    }

    /// The service is well.
    pub(super) fn well(&self) {
        self.tell("WATCHDOG=1");
    }

    /// How often [`Self::well`] is waited for, when it is.
    pub(super) fn watchdog(&self) -> Option<Duration> {
        self.0.as_ref()?;
        let number = |name| env::var_os(name)?.to_str()?.parse::<u64>().ok();
        if number("WATCHDOG_PID").is_some_and(|pid| pid != u64::from(std::process::id())) {
            return None;
        }
        let microseconds = number("WATCHDOG_USEC").filter(|&microseconds| microseconds > 0)?;
        Some(Duration::from_micros(microseconds))
    }

    fn tell(&self, what: &str) {
        let Some((socket, address)) = self.0.as_deref() else {
            return;
        };
        if let Err(error) = may_block(|| socket.send_to_addr(what.as_bytes(), address)) {
            tracing::warn!(%error, what, "could not be told by NOTIFY_SOCKET");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn others_go_on_while_nobody_reads_what_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        let _unread = UnixDatagram::bind(&path).unwrap();
        let full = UnixDatagram::unbound().unwrap();
        full.set_nonblocking(true).unwrap();
        while full.send_to(b"earlier", &path).is_ok() {}
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .build()
            .unwrap();
        let goes_on = || {
            let notifier = Notifier::to(path.as_os_str()).unwrap();
            let (done, other_is_done) = channel();
            runtime.block_on(async {
                let telling = tokio::spawn(async move {
                    notifier.well();
                    other_is_done.try_recv()
                });
                tokio::spawn(async move { done.send(()) });
                telling.await.unwrap().is_ok()
            })
        };
        // It waits for a second alone: on a machine that is held up for longer the other may not have come to it.
        assert!((0..10).any(|_| goes_on()));
    }
}
