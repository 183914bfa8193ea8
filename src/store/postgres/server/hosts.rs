//! The hosts of a database, which are asked one after another.

use std::future::poll_fn;
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::net::lookup_host;
use tokio::time::timeout;
use tokio_postgres::Client;
#[cfg(test)]
use tokio_postgres::config::SslMode;
use tokio_postgres::config::{Config, Host, LoadBalanceHosts};

use super::credentials::Credential;
use super::fitness::IS_STANDBY;
use super::{Connection, unreachable, value_of};
use crate::store::{Result, StoreError};

/// How long one address may take to be connected to, with TLS and the login.
const ADDRESS_MAX: Duration = Duration::from_secs(2);
/// How long all other hosts may take once there is one for reading: whoever waits for a connection does so for 3
/// seconds.
const OTHERS_MAX: Duration = Duration::from_millis(500);
/// Where a URL names none.
const PORT: u16 = 5432;
/// The parameter that a standby reports at the login. A pooler repeats what its first connection was told, also after
/// the standby has become the primary.
const STANDBY: &str = "in_hot_standby";
const ASK_STANDBY: &str = "SELECT pg_catalog.pg_is_in_recovery()";
/// What one tells that is set to take no changes.
const TAKES_NONE: &str = "default_transaction_read_only";

/// The hosts that a URL names.
#[derive(Debug)]
pub(super) struct Hosts {
    each: Vec<OneHost>,
    first: First,
    /// Of those that are asked beside a primary that takes no changes.
    others: First,
}

#[derive(Debug)]
struct OneHost {
    /// What it is asked with.
    config: Config,
    /// Of the addresses that its name has.
    first: First,
}

/// Which is asked first: the one that was reached last, or the next after one that was not. So an attempt that is given
/// up early has not been in vain.
#[derive(Debug, Default)]
struct First(AtomicUsize);

impl Hosts {
    /// Those of these parameters.
    pub(super) fn of(config: &Config) -> Self {
        let (hosts, addresses) = (config.get_hosts().len(), config.get_hostaddrs().len());
        let count = hosts.max(addresses);
        let is_even = |some: usize| some <= 1 || some == count;
        // What does not fit together, or names none, is left to the client, which refuses it.
        let fits = count > 0
            && (hosts == 0 || addresses == 0 || hosts == addresses)
            && is_even(config.get_ports().len());
        let configs = if fits {
            (0..count).map(|place| of_one(config, place)).collect()
        } else {
            vec![config.clone()]
        };
        let each = configs.into_iter().map(|config| OneHost {
            config,
            first: First::default(),
        });
        let is_random = config.get_load_balance_hosts() == LoadBalanceHosts::Random;
        let first = if is_random {
            rand::random_range(0..1024)
        } else {
            0
        };
        Self {
            each: each.collect(),
            first: First(AtomicUsize::new(first)),
            others: First::default(),
        }
    }

    /// Connects to the first that is a primary and takes changes; where none does in time, to the first primary. One
    /// that is set to take none may be the one whose place another has taken.
    ///
    /// # Errors
    /// Why the last one that was asked could not be connected to.
    pub(super) async fn connect(&self, with: &Credential) -> Result<(Client, Connection)> {
        let mut refusal = StoreError::Unavailable;
        for turn in self.first.turns(self.each.len()) {
            match self.at(turn).connect(with).await {
                Ok(connected) => {
                    self.first.note_reached(turn);
                    if takes_changes(&connected.1) {
                        return Ok(connected);
                    }
                    let other = timeout(OTHERS_MAX, self.other_than(turn, with)).await;
                    return Ok(other.ok().flatten().unwrap_or(connected));
                }
                Err(refused) => refusal = refused,
            }
        }
        Err(refusal)
    }

    /// Connects to the first of the other hosts that takes changes.
    async fn other_than(&self, turn: usize, with: &Credential) -> Option<(Client, Connection)> {
        let count = self.each.len();
        for other in self.others.turns(count) {
            if other % count != turn % count
                && let Ok(connected) = self.at(other).connect(with).await
                && takes_changes(&connected.1)
            {
                self.others.note_reached(other);
                self.first.note_reached(other);
                return Some(connected);
            }
        }
        None
    }

    fn at(&self, turn: usize) -> &OneHost {
        &self.each[turn % self.each.len()]
    }

    /// How each of them is to be encrypted.
    #[cfg(test)]
    pub(super) fn ssl_modes(&self) -> impl Iterator<Item = SslMode> {
        self.each.iter().map(|host| host.config.get_ssl_mode())
    }
}

impl OneHost {
    /// Connects to the first of its addresses that is one of a primary: one of several may be silent. A primary that is
    /// set to take no changes is read all the same.
    async fn connect(&self, with: &Credential) -> Result<(Client, Connection)> {
        let mut config = self.config.clone();
        if let Some(password) = &with.password {
            config.password(password);
        }
        let found = resolved(&config).await;
        let with_address = |address: &IpAddr| {
            let mut config = config.clone();
            config.hostaddr(*address);
            config
        };
        let mut ways: Vec<Config> = found.iter().map(with_address).collect();
        if ways.is_empty() {
            ways.push(config);
        }
        let mut refusal = StoreError::Unavailable;
        for turn in self.first.turns(ways.len()) {
            let way = &ways[turn % ways.len()];
            let connecting = async {
                let (client, mut connection) = way.connect(with.connector.clone()).await?;
                let is_standby = is_standby(&client, &mut connection).await;
                Ok::<_, tokio_postgres::Error>((client, connection, is_standby))
            };
            match within(connecting).await {
                Some(Ok((_, _, true))) => refusal = StoreError::Engine(IS_STANDBY.into()),
                Some(Ok((client, connection, false))) => {
                    self.first.note_reached(turn);
                    return Ok((client, connection));
                }
                Some(Err(error)) => refusal = unreachable(&error),
                None => {
                    refusal = StoreError::Engine("it has not answered within 2 seconds".into());
                }
            }
        }
        Err(refusal)
    }
}

impl First {
    /// A turn for each of so many, counted on without end: the place of one is the rest by their number.
    fn turns(&self, count: usize) -> impl Iterator<Item = usize> {
        let first = self.0.load(Ordering::Relaxed);
        (first..)
            .take(count)
            .inspect(|turn| self.0.store(turn + 1, Ordering::Relaxed))
    }

    fn note_reached(&self, turn: usize) {
        self.0.store(turn, Ordering::Relaxed);
    }
}

/// True unless a server is set to take none.
fn takes_changes(connection: &Connection) -> bool {
    connection.parameter(TAKES_NONE) != Some("on")
}

/// True of a standby, and of what may be one and does not say.
async fn is_standby(client: &Client, connection: &mut Connection) -> bool {
    if connection.parameter(STANDBY) != Some("on") {
        return false;
    }
    let driven = async {
        while let Some(Ok(_)) = poll_fn(|context| connection.poll_message(context)).await {}
    };
    tokio::select! {
        told = value_of(client, ASK_STANDBY) => !matches!(told, Ok(Some(told)) if told == "f"),
        () = driven => true,
    }
}

/// The addresses of the name of a host; none for one that is not named so, or whose name is not found.
async fn resolved(config: &Config) -> Vec<IpAddr> {
    let ([Host::Tcp(name)], []) = (config.get_hosts(), config.get_hostaddrs()) else {
        return Vec::new();
    };
    let port = config.get_ports().first().copied().unwrap_or(PORT);
    match within(lookup_host((name.as_str(), port))).await {
        Some(Ok(found)) => found.map(|address| address.ip()).collect(),
        _ => Vec::new(),
    }
}

/// What comes in time.
async fn within<T>(asked: impl Future<Output = T>) -> Option<T> {
    timeout(ADDRESS_MAX, asked).await.ok()
}

/// The parameters for one of the hosts.
fn of_one(all: &Config, place: usize) -> Config {
    let mut one = Config::new();
    one.application_name(all.get_application_name().unwrap_or_default())
        .ssl_mode(all.get_ssl_mode())
        .ssl_negotiation(all.get_ssl_negotiation())
        .channel_binding(all.get_channel_binding())
        .target_session_attrs(all.get_target_session_attrs())
        .keepalives(all.get_keepalives())
        .keepalives_idle(all.get_keepalives_idle());
    if let Some(user) = all.get_user() {
        one.user(user);
    }
    if let Some(password) = all.get_password() {
        one.password(password);
    }
    if let Some(name) = all.get_dbname() {
        one.dbname(name);
    }
    if let Some(options) = all.get_options() {
        one.options(options);
    }
    if let Some(silence) = all.get_tcp_user_timeout() {
        one.tcp_user_timeout(*silence);
    }
    if let Some(interval) = all.get_keepalives_interval() {
        one.keepalives_interval(interval);
    }
    if let Some(retries) = all.get_keepalives_retries() {
        one.keepalives_retries(retries);
    }
    match all.get_hosts().get(place) {
        Some(Host::Tcp(name)) => {
            one.host(name);
        }
        Some(Host::Unix(path)) => {
            one.host_path(path);
        }
        None => {}
    }
    if let Some(address) = all.get_hostaddrs().get(place) {
        one.hostaddr(*address);
    }
    let ports = all.get_ports();
    if let Some(port) = ports.get(place).or(ports.first()) {
        one.port(*port);
    }
    one
}
