//! What all requests share.

use std::sync::{Arc, OnceLock};

use super::admission::answers::AnswerMemory;
use super::admission::bodies::BodyMemory;
use super::admission::failures::ClientFailures;
use super::admission::hosts::Hosts;
use super::admission::logins::Logins;
use super::admission::long::LongRequests;
use super::admission::network::ClientNetwork;
use super::admission::pieces::PieceMemory;
use super::admission::quota::Quota;
use super::admission::unknown_proxies::UnknownProxies;
use super::admission::waiting::WaitingRequests;
use super::blocking::Threads;
use super::facts::Facts;
use super::health::Health;
use super::login::first_looks::SeenSessions;
use super::metrics::tallies::Tallies;
use super::reply::cache::RenderedCache;
use super::request::client::Peer;
use super::request::id::RequestIds;
use super::settings::{HttpSettings, Limits};
use super::wait::subscriptions::Subscriptions;
use crate::access::Gate;
use crate::base::clock::{Clock, Timestamp};

/// The part of the places for connections, of all and of a client, below which each answer ends its connection.
const CONNECTIONS_KEPT_FREE_PART: u64 = 16;

/// A site, in which there are 65,536 clients, may have so many times as many connections as one of them.
const CONNECTIONS_SITE_FACTOR: u64 = 4;
/// And one of so many parts of all connections at most, unless one client may have more.
const CONNECTIONS_SITE_PART: u64 = 2;

/// What all requests share.
#[derive(Debug)]
pub(in crate::http) struct Service {
    pub(in crate::http) gate: Gate,
    pub(in crate::http) clock: Arc<dyn Clock>,
    pub(in crate::http) settings: HttpSettings,
    /// By client, and by site: connections, and the requests with bodies that a proxy sends for a client.
    pub(in crate::http) clients: Arc<Quota<ClientNetwork>>,
    /// By account: bytes of bodies in memory.
    pub(in crate::http) bodies: BodyMemory,
    /// By who asks: bytes of large files that are read and not written yet.
    pub(in crate::http) pieces: PieceMemory,
    /// By who asks: bytes of whole answers in memory.
    pub(in crate::http) answers: AnswerMemory,
    pub(in crate::http) hosts: Hosts,
    pub(in crate::http) unknown_proxies: UnknownProxies,
    pub(in crate::http) long: LongRequests,
    pub(in crate::http) logins: Logins,
    pub(in crate::http) seen_sessions: SeenSessions,
    /// Room for requests that wait for a change.
    pub(in crate::http) waiting: WaitingRequests,
    /// Those that wait, by what for.
    pub(in crate::http) subscriptions: Arc<Subscriptions>,
    /// Requests with a token that does not count.
    pub(in crate::http) wrong_tokens: ClientFailures,
    /// Room for requests that hold a thread.
    pub(in crate::http) threads: Threads,
    pub(in crate::http) ids: RequestIds,
    pub(in crate::http) rendered: RenderedCache,
    pub(in crate::http) health: Health,
    pub(in crate::http) tallies: Arc<Tallies>,
    /// What others know of the service, once they have said so.
    pub(in crate::http) facts: OnceLock<Arc<dyn Facts>>,
    /// When it was started, by the machine's clock.
    pub(in crate::http) started_at: Timestamp,
    /// The same by the clock that nobody sets, in milliseconds.
    started_ms: i64,
}

impl Service {
    /// Serves what the gate opens.
    pub(in crate::http) fn new(gate: Gate, clock: Arc<dyn Clock>, settings: HttpSettings) -> Self {
        let tallies = Arc::default();
        Self {
            threads: Threads::new(&settings.limits),
            clients: clients(&settings.limits),
            bodies: BodyMemory::new(&settings.limits),
            pieces: PieceMemory::new(),
            answers: AnswerMemory::new(),
            hosts: Hosts::new(&settings),
            unknown_proxies: UnknownProxies::default(),
            long: LongRequests::new(&settings.limits, Arc::clone(&clock)),
            logins: Logins::new(&settings.limits),
            seen_sessions: SeenSessions::new(),
            waiting: WaitingRequests::new(&settings.limits, &tallies),
            subscriptions: Arc::default(),
            wrong_tokens: ClientFailures::per_minute(
                settings.limits.wrong_tokens_minute_address_max,
            ),
            ids: RequestIds::new(),
            rendered: RenderedCache::new(),
            tallies,
            facts: OnceLock::new(),
            started_at: clock.now(),
            started_ms: clock.uptime_ms(),
            health: Health::new(settings.disk_low_bytes),
            gate,
            clock,
            settings,
        }
    }

    /// True while so few connections find a place, of all or of one client, that those which are answered give theirs
    /// up, so that nobody waits for the place of one that rests, or is refused for it.
    pub(in crate::http) fn is_crowded(&self, peer: Peer) -> bool {
        let limits = &self.settings.limits;
        let open = self.tallies.connections_open.get();
        if open > usual_of(limits.connections_max) {
            return true;
        }
        // As long as there are fewer in all, nobody has so many.
        let of_client = usual_of(limits.connections_address_max);
        let is_limited = limits.connections_address_max > 0 && !peer.is_trusted();
        let client = || ClientNetwork::of(peer.address());
        is_limited && open > of_client && self.clients.taken_by(client()) > of_client
    }

    /// How long it has run, in seconds.
    pub(in crate::http) fn uptime_s(&self) -> u64 {
        let ms = self.clock.uptime_ms().saturating_sub(self.started_ms);
        u64::try_from(ms / 1000).unwrap_or(0)
    }
}

/// How many of so many places for connections are given to who may rest.
fn usual_of(places: u64) -> u64 {
    places.saturating_sub((places / CONNECTIONS_KEPT_FREE_PART).max(1))
}

/// What clients may have of the connections: so that a customer who has a whole site leaves some to others.
fn clients(limits: &Limits) -> Arc<Quota<ClientNetwork>> {
    let client_max = match limits.connections_address_max {
        0 => u64::MAX,
        most => most,
    };
    let site_max = client_max
        .saturating_mul(CONNECTIONS_SITE_FACTOR)
        .min(limits.connections_max / CONNECTIONS_SITE_PART)
        .max(client_max);
    Quota::with_groups(u64::MAX, client_max, site_max, ClientNetwork::site)
}

#[cfg(test)]
mod tests {
    use std::iter;

    use super::*;

    #[test]
    fn ten_clients_of_a_site_leave_connections_to_others() {
        let client = |site: u16, network: u16| {
            ClientNetwork::of([0x2001, 0xdb8, site, network, 0, 0, 0, 1].into())
        };
        for (connections_max, connections_address_max, of_site) in [
            (10_000, 1_024, 4_096),
            (10_000, 100, 400),
            (10_000, 2_000, 5_000),
            // As much as one client may have.
            (1_000, 1_024, 1_024),
            // No limit.
            (1_000, 0, 20_000),
        ] {
            let clients = clients(&Limits {
                connections_max,
                connections_address_max,
                ..Limits::default()
            });
            let of_client = |network| {
                let clients = &clients;
                let connections = iter::from_fn(move || clients.take(client(1, network), 1).ok());
                connections.take(2_000)
            };
            let held: Vec<_> = (0..10).flat_map(of_client).collect();
            assert_eq!(held.len(), of_site);
            for other in [client(2, 0), ClientNetwork::of([192, 0, 2, 1].into())] {
                assert!(clients.take(other, 1).is_ok());
            }
            let first = client(1, 0);
            assert_eq!(clients.take(first, 1).is_ok(), connections_address_max == 0);
            drop(held);
            assert!(clients.take(first, 1).is_ok());
        }
    }
}
