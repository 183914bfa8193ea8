//! The accept loop.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, sleep};

use super::connection;
use super::linger::linger;
use crate::access::Gate;
use crate::base::clock::Clock;
use crate::base::limits::REFUSED_CONNECTIONS_MAX;
use crate::http::admission::network::ClientNetwork;
use crate::http::admission::places;
use crate::http::admission::quota::Share;
use crate::http::blocking;
use crate::http::request::client::Peer;
use crate::http::service::Service;
use crate::http::settings::HttpSettings;

/// Pause after an accept that failed for want of file descriptors or memory.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// How often the room on the disk is looked at where nobody asks.
const LOOKS_EVERY: Duration = Duration::from_secs(10);

/// What a client reads that has more connections than it may.
const REFUSAL: &str = "HTTP/1.1 429 Too Many Requests\r\n\
    Content-Type: application/json\r\n\
    Content-Length: 66\r\n\
    Retry-After: 1\r\n\
    Cache-Control: no-store\r\n\
    Connection: close\r\n\r\n\
    {\"message\":\"too many connections of one address; try again later\"}";

/// Both APIs, ready to be served on a listener.
#[derive(Debug)]
pub struct Server {
    service: Arc<Service>,
}

impl Server {
    /// Serves what the gate opens. The clock is what the health check shows.
    pub fn new(gate: Gate, clock: Arc<dyn Clock>, settings: HttpSettings) -> Self {
        Self {
            service: Arc::new(Service::new(gate, clock, settings)),
        }
    }

    /// Accepts and serves connections until `shutdown` ends, and returns when everything in flight was
    /// answered.
    ///
    /// # Limits
    /// At most [`Limits::connections_max`](crate::http::Limits) connections; more wait in the listener's
    /// backlog. How long the end may take is for the caller to bound.
    pub async fn run(self, listener: TcpListener, shutdown: impl Future<Output = ()>) {
        let room = Arc::new(places(self.service.settings.limits.connections_max));
        let lingering = Arc::new(Semaphore::new(REFUSED_CONNECTIONS_MAX));
        let (stop, stopping) = watch::channel(false);
        let mut connections = JoinSet::new();
        let mut shutdown = std::pin::pin!(shutdown);
        let mut looks = interval(LOOKS_EVERY);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                () = &mut shutdown => break,
                Some(_) = connections.join_next() => {}
                _ = looks.tick() => {
                    let service = Arc::clone(&self.service);
                    drop(blocking::start(move || service.health.look(&service.gate)));
                }
                accepted = accept(&listener, &room) => match accepted {
                    Ok((stream, address, place)) => {
                        let peer = Peer::new(address, &self.service.settings);
                        // A trusted proxy speaks for many: its connections are not counted.
                        let share = (!peer.is_trusted()).then(|| self.share_of(peer));
                        if let Some(None) = share {
                            let refused = refuse(stream, peer, Arc::clone(&lingering));
                            connections.spawn(async move {
                                refused.await;
                                drop(place);
                            });
                            continue;
                        }
                        let served = connection::serve(
                            Arc::clone(&self.service),
                            stream,
                            peer,
                            stopping.clone(),
                        );
                        connections.spawn(async move {
                            served.await;
                            drop((share, place));
                        });
                    }
                    Err(error) if concerns_one_connection(&error) => {}
                    Err(error) => {
                        tracing::warn!(%error, "cannot accept connections; trying again");
                        sleep(ACCEPT_PAUSE).await;
                    }
                },
            }
        }
        drop(listener);
        self.service.health.stop();
        stop.send_replace(true);
        while connections.join_next().await.is_some() {}
    }

    /// A connection's part of what its client may have; `None` when the client has all it may.
    fn share_of(&self, peer: Peer) -> Option<Share<ClientNetwork>> {
        let client = ClientNetwork::of(peer.address());
        self.service.clients.take(client, 1).ok()
    }
}

/// Says why a connection is not served, and ends it. Nothing of it is read before. A few are waited for,
/// because a client that has sent something does not see the answer otherwise.
async fn refuse(mut stream: TcpStream, peer: Peer, lingering: Arc<Semaphore>) {
    tracing::info!(client = %peer.address(), reason = "too many connections", "connection refused");
    // What was just opened has room for so little.
    let said = stream.try_write(REFUSAL.as_bytes()).is_ok();
    if let (true, Ok(_place)) = (said, lingering.try_acquire())
        && stream.shutdown().await.is_ok()
    {
        linger(&mut stream).await;
    }
}

/// Waits for room first, so that what is too much stays in the backlog.
async fn accept(
    listener: &TcpListener,
    room: &Arc<Semaphore>,
) -> io::Result<(TcpStream, IpAddr, OwnedSemaphorePermit)> {
    let place = Arc::clone(room)
        .acquire_owned()
        .await
        .expect("the semaphore is never closed");
    let (stream, address) = listener.accept().await?;
    Ok((stream, address.ip(), place))
}

/// True for errors of a connection that was gone before it was accepted.
fn concerns_one_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionRefused
            | io::ErrorKind::Interrupted
    )
}
