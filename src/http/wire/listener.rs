//! The accept loop.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use prometheus_client::collector::Collector;
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, sleep};
use tokio_rustls::rustls::ServerConfig;

use super::connection;
use super::failed_accepts::FailedAccepts;
use super::handshake::{self, Handshake};
use super::linger::linger;
use crate::access::Gate;
use crate::base::clock::Clock;
use crate::base::limits::{REFUSED_CONNECTIONS_MAX, UNSENT_BYTES_MAX};
use crate::http::admission::failures::ClientFailures;
use crate::http::admission::network::ClientNetwork;
use crate::http::admission::quota::{Full, Share};
use crate::http::admission::{permit, places};
use crate::http::blocking;
use crate::http::facts::Facts;
use crate::http::metrics::listener::MetricsServer;
use crate::http::request::client::Peer;
use crate::http::service::Service;
use crate::http::settings::HttpSettings;

/// Pause after an accept that failed for want of file descriptors or memory.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// How often the room on the disk is looked at where nobody asks, and whether accepts still fail.
const LOOKS_EVERY: Duration = Duration::from_secs(10);

/// What a client reads that has more connections than it may.
const REFUSAL: &str = "HTTP/1.1 429 Too Many Requests\r\n\
    Content-Type: application/json\r\n\
    Content-Length: 66\r\n\
    Retry-After: 1\r\n\
    Cache-Control: no-store\r\n\
    Connection: close\r\n\r\n\
    {\"message\":\"too many connections of one address; try again later\"}";

/// Where connections come in.
#[derive(Debug)]
pub enum Listener {
    /// Plain HTTP.
    Tcp(TcpListener),
    /// HTTP over TLS.
    Tls(TcpListener, Arc<ServerConfig>),
    /// Plain HTTP of programs on this machine. Who may open the socket is believed what it tells of
    /// another's request, as a trusted proxy is.
    Unix(UnixListener),
}

/// A connection that came in.
#[derive(Debug)]
enum Accepted {
    Tcp(TcpStream, IpAddr),
    Tls(TcpStream, IpAddr, Arc<ServerConfig>),
    Unix(UnixStream),
}

impl Listener {
    fn poll_accept(&self, cx: &mut Context<'_>) -> Poll<io::Result<Accepted>> {
        match self {
            Self::Tcp(listener) => listener
                .poll_accept(cx)
                .map_ok(|(stream, from)| Accepted::Tcp(stream, from.ip())),
            Self::Tls(listener, config) => listener
                .poll_accept(cx)
                .map_ok(|(stream, from)| Accepted::Tls(stream, from.ip(), Arc::clone(config))),
            Self::Unix(listener) => listener
                .poll_accept(cx)
                .map_ok(|(stream, _)| Accepted::Unix(stream)),
        }
    }
}

/// Both APIs, ready to be served on listeners.
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

    /// Shows what this service counts, and what is collected beside it.
    pub fn metrics(&self, beside: impl Collector) -> MetricsServer {
        MetricsServer::new(&self.service, beside)
    }

    /// Tells what others know of the service to those who may ask. The first to be told of stays.
    pub fn tell(&self, facts: Arc<dyn Facts>) {
        drop(self.service.facts.set(facts));
    }

    /// What finds out whether requests are answered.
    pub fn probe(&self) -> Probe {
        Probe {
            service: Arc::clone(&self.service),
        }
    }

    /// What begins a stop before its end.
    pub fn drain(&self) -> Drain {
        Drain {
            service: Arc::clone(&self.service),
        }
    }

    /// Accepts and serves connections of all listeners until `shutdown` ends, and returns when everything
    /// in flight was answered.
    ///
    /// # Limits
    /// At most [`Limits::connections_max`](crate::http::Limits) connections; more wait in the listeners'
    /// backlogs. A handshake counts as a connection. Of what a client on a network does not take the system
    /// keeps about [`UNSENT_BYTES_MAX`]. How long the end may take is for the caller to bound.
    pub async fn run(self, listeners: Vec<Listener>, shutdown: impl Future<Output = ()>) {
        let room = Arc::new(places(self.service.settings.limits.connections_max));
        let lingering = Arc::new(Semaphore::new(REFUSED_CONNECTIONS_MAX));
        let (stop, stopping) = watch::channel(false);
        let mut connections = JoinSet::new();
        let mut shutdown = std::pin::pin!(shutdown);
        let mut looks = interval(LOOKS_EVERY);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut failed = FailedAccepts::default();
        // Who has too many may try on, thousands of times a second.
        let told = ClientFailures::per_minute(1);
        let mut first = 0;
        loop {
            // The listeners have their turns, so that a busy one does not keep the others waiting.
            first = (first + 1) % listeners.len().max(1);
            tokio::select! {
                biased;
                () = &mut shutdown => break,
                Some(_) = connections.join_next() => {}
                _ = looks.tick() => {
                    failed.look();
                    let service = Arc::clone(&self.service);
                    drop(blocking::start(move || service.health.look(&service.gate)));
                }
                accepted = accept(&listeners, first, &room) => match accepted {
                    Ok((accepted, place)) => {
                        let peer = self.peer_of(&accepted);
                        // A trusted proxy speaks for many: its connections are not counted.
                        let share = (!peer.is_trusted()).then(|| self.share_of(peer));
                        let tallies = Arc::clone(&self.service.tallies);
                        if let Some(Err(full)) = share {
                            tallies.connections_refused.up();
                            self.tell_refused(peer, full, &told);
                            let refused = refuse(accepted, Arc::clone(&lingering));
                            connections.spawn(async move {
                                refused.await;
                                drop(place);
                            });
                            continue;
                        }
                        tallies.connections_open.up();
                        let service = Arc::clone(&self.service);
                        let stopping = stopping.clone();
                        connections.spawn(async move {
                            serve(service, accepted, peer, stopping).await;
                            tallies.connections_open.down();
                            drop((share, place));
                        });
                    }
                    Err(error) if concerns_one_connection(&error) => {}
                    Err(error) => {
                        self.service.tallies.accepts_failed.up();
                        failed.add(&error);
                        sleep(ACCEPT_PAUSE).await;
                    }
                },
            }
        }
        drop(listeners);
        self.service.health.stop();
        stop.send_replace(true);
        // After that: who is answered now finds the connection ended.
        self.service.subscriptions.close();
        while connections.join_next().await.is_some() {}
    }

    fn peer_of(&self, accepted: &Accepted) -> Peer {
        let settings = &self.service.settings;
        match accepted {
            Accepted::Tcp(_, address) => Peer::new(*address, settings),
            Accepted::Tls(_, address, _) => Peer::new(*address, settings).over_tls(),
            Accepted::Unix(_) => Peer::of_unix_socket(),
        }
    }

    /// Tells the log, once a minute for each client and ten times for a /48 of IPv6, that a connection is not served.
    fn tell_refused(&self, peer: Peer, full: Full, told: &ClientFailures) {
        let (client, now_ms) = (
            ClientNetwork::of(peer.address()),
            self.service.clock.uptime_ms(),
        );
        if told.wait_s(&client, now_ms).is_none() {
            told.add(&client, now_ms);
            let reason = why_refused(full);
            tracing::info!(client = %peer.address(), reason, "connection refused");
        }
    }

    /// A connection's part of what its client may have.
    ///
    /// # Errors
    /// The client, or its site, has all it may.
    fn share_of(&self, peer: Peer) -> Result<Share<ClientNetwork>, Full> {
        let client = ClientNetwork::of(peer.address());
        self.service.clients.take(client, 1)
    }
}

/// Finds out whether the service answers requests.
#[derive(Clone, Debug)]
pub struct Probe {
    service: Arc<Service>,
}

impl Probe {
    /// Asks for the health check as a client does, but for the socket: that all connections are taken
    /// is no fault. True when an answer came, whatever it says of the store. The log does not tell it, and
    /// it is not counted.
    ///
    /// # Limits
    /// As long as the answer takes: that is for the caller to bound.
    pub async fn is_answered(&self) -> bool {
        connection::answers(Arc::clone(&self.service)).await
    }
}

/// Begins the stop of a service that goes on accepting.
#[derive(Debug)]
pub struct Drain {
    service: Arc<Service>,
}

impl Drain {
    /// From now on `/readyz` says that the service is stopping, and each answer ends its connection.
    pub fn begin(&self) {
        self.service.health.stop();
    }
}

/// Serves what came in, after its handshake if it has one.
async fn serve(
    service: Arc<Service>,
    accepted: Accepted,
    peer: Peer,
    stopping: watch::Receiver<bool>,
) {
    let tallies = Arc::clone(&service.tallies);
    match accepted {
        Accepted::Tcp(stream, _) => {
            bound_unsent(&stream);
            if stream.set_nodelay(true).is_ok() {
                tallies.connections_taken.up();
                connection::serve(service, stream, peer, stopping).await;
            }
        }
        Accepted::Tls(stream, _, config) => {
            bound_unsent(&stream);
            // Each connection would have room for it.
            let longest = Duration::from_secs(service.settings.limits.handshake_s_max);
            let shaken = handshake::shake_hands(stream, config, longest, stopping.clone());
            let handshake = Box::pin(shaken);
            match handshake.await {
                Handshake::Done(stream) => {
                    tallies.connections_taken.up();
                    connection::serve(service, stream, peer, stopping).await;
                }
                Handshake::Failed(reason) => {
                    tallies.handshakes_failed.up();
                    tracing::debug!(client = %peer.address(), reason, "no TLS connection");
                }
            }
        }
        Accepted::Unix(stream) => {
            tallies.connections_taken.up();
            connection::serve(service, stream, peer, stopping).await;
        }
    }
}

/// What the log says of a connection that is not served, so that the operator sees whether others of its /48 have the
/// places.
fn why_refused(full: Full) -> &'static str {
    match full {
        Full::Holder => "too many connections of one address",
        Full::Group => "too many connections of one /48 of IPv6",
        Full::All => "too many connections",
    }
}

/// Has the system keep little for a client that takes nothing: megabytes of its memory otherwise.
fn bound_unsent(stream: &TcpStream) {
    // Where it cannot, all else goes on as well.
    drop(SockRef::from(stream).set_tcp_notsent_lowat(UNSENT_BYTES_MAX));
}

/// Tells a client why its connection is not served, and ends it. Nothing of it is read before. A few are waited for,
/// because a client that has sent something does not see the answer otherwise.
async fn refuse(accepted: Accepted, lingering: Arc<Semaphore>) {
    match accepted {
        Accepted::Tcp(stream, _) => {
            let said = say(&stream, REFUSAL.as_bytes()).await;
            end_refused(stream, said, &lingering).await;
        }
        // A handshake would cost more than the refusal saves.
        Accepted::Tls(stream, ..) => {
            let said = say(&stream, &handshake::ALERT).await;
            end_refused(stream, said, &lingering).await;
        }
        // It is trusted, and so never refused.
        Accepted::Unix(_) => {}
    }
}

/// Sends this over a connection that was just opened, which has room for so little; false where it could not.
async fn say(stream: &TcpStream, words: &[u8]) -> bool {
    // Nothing is known of it yet, and a write would not even be tried.
    stream.writable().await.is_ok() && stream.try_write(words).is_ok()
}

async fn end_refused<S>(mut stream: S, said: bool, lingering: &Semaphore)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    if let (true, Ok(_place)) = (said, lingering.try_acquire())
        && stream.shutdown().await.is_ok()
    {
        linger(&mut stream).await;
    }
}

/// Waits for room first, so that what is too much stays in the backlog.
async fn accept(
    listeners: &[Listener],
    first: usize,
    room: &Arc<Semaphore>,
) -> io::Result<(Accepted, OwnedSemaphorePermit)> {
    let place = permit(Arc::clone(room)).await;
    let accepted = std::future::poll_fn(|cx| {
        let (before, after) = listeners.split_at(first);
        let mut ready = after.iter().chain(before).map(|l| l.poll_accept(cx));
        ready.find(Poll::is_ready).unwrap_or(Poll::Pending)
    });
    Ok((accepted.await?, place))
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

#[cfg(test)]
mod tests {
    use tokio::net::TcpSocket;

    use super::*;
    use crate::http::admission::quota::Quota;

    #[test]
    fn the_log_tells_whether_an_address_or_its_48_has_too_many_connections() {
        let clients = Quota::with_groups(u64::MAX, 2, 3, ClientNetwork::site);
        let connect = |network: u16| {
            let client = ClientNetwork::of([0x2001, 0xdb8, 1, network, 0, 0, 0, 1].into());
            clients.take(client, 1)
        };
        let _held = [0, 0, 1].map(|network| connect(network).unwrap());
        let why = |network| why_refused(connect(network).unwrap_err());
        assert_eq!(why(0), "too many connections of one address");
        for network in [1, 2] {
            assert_eq!(why(network), "too many connections of one /48 of IPv6");
        }
    }

    #[tokio::test]
    async fn the_system_keeps_little_of_what_a_client_does_not_take() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpSocket::new_v4().unwrap();
        client.set_recv_buffer_size(4096).unwrap();
        let address = listener.local_addr().unwrap();
        let _client = client.connect(address).await.unwrap();
        let (stream, _) = listener.accept().await.unwrap();
        bound_unsent(&stream);
        stream.writable().await.unwrap();
        let mut kept = 0;
        while let Ok(sent) = stream.try_write(&[0; 16 << 10]) {
            kept += sent;
        }
        let most = UNSENT_BYTES_MAX as usize;
        assert!((most / 2..2 * most).contains(&kept), "{kept}");
    }
}
