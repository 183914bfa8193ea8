//! The hosts of a database, which are asked one after another.

use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::net::lookup_host;
use tokio::time::timeout;
use tokio_postgres::Client;
use tokio_postgres::config::{Config, Host, LoadBalanceHosts};

use super::{Connection, unreachable};
use crate::store::postgres::tls::Connector;
use crate::store::{Result, StoreError};

/// How long one address may take to be connected to, with TLS and the login.
const ADDRESS_MAX: Duration = Duration::from_secs(2);
/// Where a URL names none.
const PORT: u16 = 5432;

/// The hosts that a URL names.
#[derive(Debug)]
pub(super) struct Hosts {
    /// What each is asked with.
    pub(super) each: Vec<Config>,
    /// Which of all their addresses is asked first: the one that was reached last, or the next after one that was not.
    /// So an attempt that is given up early has not been in vain.
    first: AtomicUsize,
}

impl Hosts {
    /// Those of these parameters.
    pub(super) fn of(config: &Config) -> Self {
        let (hosts, addresses) = (config.get_hosts().len(), config.get_hostaddrs().len());
        let count = hosts.max(addresses);
        let is_even = |some: usize| some <= 1 || some == count;
        // What does not fit together is left to the client, which refuses it.
        let fits = (hosts == 0 || addresses == 0 || hosts == addresses)
            && is_even(config.get_ports().len());
        let each = if fits {
            (0..count).map(|place| of_one(config, place)).collect()
        } else {
            vec![config.clone()]
        };
        let is_random = config.get_load_balance_hosts() == LoadBalanceHosts::Random;
        Self {
            each,
            first: AtomicUsize::new(if is_random {
                rand::random_range(0..1024)
            } else {
                0
            }),
        }
    }

    /// Connects to the first that takes changes.
    ///
    /// # Errors
    /// Why the last one that was asked could not be connected to.
    pub(super) async fn connect(&self, connector: &Connector) -> Result<(Client, Connection)> {
        let addresses = self.addresses().await;
        let first = self.first.load(Ordering::Relaxed);
        let mut refusal = StoreError::Unavailable;
        for place in (first..).take(addresses.len()) {
            self.first.store(place + 1, Ordering::Relaxed);
            let address = &addresses[place % addresses.len()];
            match within(address.connect(connector.clone())).await {
                Some(Ok(connected)) => {
                    self.first.store(place, Ordering::Relaxed);
                    return Ok(connected);
                }
                Some(Err(error)) => refusal = unreachable(&error),
                None => {
                    refusal = StoreError::Engine("it has not answered within 2 seconds".into());
                }
            }
        }
        Err(refusal)
    }

    /// The addresses of all of them, in their order: a name may have several, and one of them may be silent.
    async fn addresses(&self) -> Vec<Config> {
        let mut addresses = Vec::new();
        for host in &self.each {
            let found = resolved(host).await;
            if found.is_empty() {
                addresses.push(host.clone());
            }
            addresses.extend(found.into_iter().map(|address| {
                let mut config = host.clone();
                config.hostaddr(address);
                config
            }));
        }
        addresses
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
