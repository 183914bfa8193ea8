//! What the operator decides about this layer.

use std::net::IpAddr;
use std::str::FromStr;

use hyper::{Method, StatusCode};
use ipnet::IpNet;

use crate::access::AccountLimits;
use crate::base::limits::{
    ARCHIVE_BYTES_MAX_DEFAULT, BATCH_ACTIONS_MAX, BATCH_BYTES_MAX, BLOCKING_AT_ONCE_MAX,
    DISK_LOW_BYTES_DEFAULT, FILE_BYTES_MAX_DEFAULT, HANDSHAKE_S_MAX, JSON_BYTES_MAX,
    KEEP_DELETED_DAYS_DEFAULT, REQUESTS_PER_CONNECTION_MAX, THREAD_WAIT_S_MAX, UPLOAD_S_MAX,
    WRITE_WAIT_S_MAX,
};
use crate::base::reads::Reads;

/// What the operator decides about this layer.
#[derive(Clone, Debug)]
pub struct HttpSettings {
    /// True to serve the Read API at `/api/v4` too, for clients that drop the path of their base URL.
    pub root_mount: bool,
    /// The address under which clients reach the service, as `https://conf.example`, when it is not
    /// the one they send as `Host`. With `https` the session cookie is always `Secure`.
    pub external_url: Option<String>,
    /// Names under which the service may be reached besides that one; with neither, any will do.
    pub hosts: Vec<String>,
    /// Proxies that are believed what they tell of the client's request (`Forwarded`, `X-Forwarded-*`).
    pub trusted_proxies: Vec<Network>,
    /// Largest file that is taken, in bytes.
    pub file_bytes_max: u64,
    /// Largest sum of the files of an archive, in bytes.
    pub archive_bytes_max: u64,
    /// How long what is deleted can be restored, in days. It is only told here.
    pub keep_deleted_days: u64,
    /// What clients may take of the service.
    pub limits: Limits,
    /// Which requests have a line in the log.
    pub access_log: AccessLog,
    /// How new it must be what the holder of a token reads.
    pub reads: Reads,
    /// The service is not ready while the file system of the store has less room, in bytes.
    pub disk_low_bytes: u64,
}

/// Which requests have a line in the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AccessLog {
    /// All.
    #[default]
    All,
    /// Those that may change something, and those that were refused or failed.
    Writes,
    /// Those that were refused or failed: with a status of 400 and above.
    Errors,
    /// None.
    Off,
}

impl AccessLog {
    /// True if a request that was answered so has a line.
    pub(in crate::http) fn tells(self, method: &Method, status: StatusCode) -> bool {
        let failed = status.is_client_error() || status.is_server_error();
        match self {
            Self::All => true,
            Self::Writes => failed || !matches!(method.as_str(), "GET" | "HEAD" | "OPTIONS"),
            Self::Errors => failed,
            Self::Off => false,
        }
    }
}

impl FromStr for AccessLog {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        match text {
            "all" => Ok(Self::All),
            "writes" => Ok(Self::Writes),
            "errors" => Ok(Self::Errors),
            "off" => Ok(Self::Off),
            _ => Err("it must be all, writes, errors or off"),
        }
    }
}

impl HttpSettings {
    /// True for the address of a proxy that is believed.
    pub(in crate::http) fn trusts(&self, address: IpAddr) -> bool {
        let mut trusted = self.trusted_proxies.iter();
        trusted.any(|network| network.contains(address))
    }
}

/// What clients may take of the service. A client is an IPv4 address or a /64 of IPv6.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most connections at once; more wait in the backlog.
    pub connections_max: u64,
    /// Most connections of one client, and, where a proxy tells of it, most requests with bodies at once;
    /// 0 is no limit. The connections of trusted proxies are not counted.
    pub connections_address_max: u64,
    /// Longest wait for the head of a request, and for the next request of a connection, in seconds.
    pub head_s_max: u64,
    /// Requests of a connection, after which it is closed; 0 is no limit.
    pub requests_connection_max: u64,
    /// Longest handshake of a TLS connection, in seconds.
    pub handshake_s_max: u64,
    /// Longest wait for a client to take the next bytes of an answer, in seconds.
    pub write_s_max: u64,
    /// Longest time for a body of JSON or of a form, in seconds.
    pub body_s_max: u64,
    /// Time in which another body must bring `upload_bytes_s_min` for each second, in seconds.
    pub upload_grace_s: u64,
    /// Least bytes a second of such a body; 0 is any.
    pub upload_bytes_s_min: u64,
    /// Longest time for such a body, in seconds.
    pub upload_s_max: u64,
    /// Longest body of a login, in bytes: a name and a password, each byte escaped.
    pub login_bytes_max: u64,
    /// Longest body of JSON of the Admin API but for a batch, in bytes.
    pub json_bytes_max: u64,
    /// Longest body of a batch, also unpacked, in bytes.
    pub batch_bytes_max: u64,
    /// Most actions of a batch, 1 to [`BATCH_ACTIONS_MAX`].
    pub batch_actions_max: u64,
    /// Bytes of bodies of the Admin API in memory at once.
    pub bodies_bytes_max: u64,
    /// Of these, most for one account.
    pub bodies_bytes_account_max: u64,
    /// Requests at once that change something or whose answer is not in memory; each has a thread.
    pub threads_max: u64,
    /// Longest wait of a request for such a thread, in seconds.
    pub thread_wait_s_max: u64,
    /// Requests that compute, search or read for long, at once.
    pub long_at_once_max: u64,
    /// Such requests that wait.
    pub long_waiting_max: u64,
    /// Such requests of one token, or of one account that is logged in, that run or wait.
    pub long_credential_max: u64,
    /// Requests that wait for a change at once; each keeps its connection.
    pub waiting_max: u64,
    /// Of these, most of one token, or of one account that is logged in.
    pub waiting_credential_max: u64,
    /// Of these, most of one client; 0 is no limit.
    pub waiting_address_max: u64,
    /// Passwords checked at once: each takes 19 MiB and some 25 ms of a core.
    pub logins_at_once_max: u64,
    /// Logins that wait for that.
    pub logins_waiting_max: u64,
    /// Logins of one client that are checked or wait.
    pub logins_waiting_address_max: u64,
    /// Right logins a minute with one account; 0 is no limit, as for the next four.
    pub logins_minute_account_max: u64,
    /// Wrong logins a minute of one client with one account.
    pub wrong_logins_minute_max: u64,
    /// Wrong logins a minute of one client.
    pub wrong_logins_minute_address_max: u64,
    /// Wrong logins a minute with one account.
    pub wrong_logins_minute_account_max: u64,
    /// Requests a minute of one client with tokens that do not count.
    pub wrong_tokens_minute_address_max: u64,
    /// What one account may have.
    pub accounts: AccountLimits,
}

impl Limits {
    /// Most bytes of bodies that one account can have in memory, all of them together.
    pub(in crate::http) fn bodies_bytes_held_max(&self) -> u64 {
        self.bodies_bytes_account_max.min(self.bodies_bytes_max)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections_max: 10_000,
            connections_address_max: 1_024,
            head_s_max: 20,
            requests_connection_max: REQUESTS_PER_CONNECTION_MAX,
            handshake_s_max: HANDSHAKE_S_MAX,
            write_s_max: WRITE_WAIT_S_MAX,
            body_s_max: 20,
            upload_grace_s: 30,
            upload_bytes_s_min: 1024,
            upload_s_max: UPLOAD_S_MAX,
            login_bytes_max: 8 << 10,
            json_bytes_max: JSON_BYTES_MAX,
            batch_bytes_max: BATCH_BYTES_MAX,
            batch_actions_max: BATCH_ACTIONS_MAX as u64,
            bodies_bytes_max: 128 << 20,
            bodies_bytes_account_max: 64 << 20,
            threads_max: BLOCKING_AT_ONCE_MAX,
            thread_wait_s_max: THREAD_WAIT_S_MAX,
            long_at_once_max: 2,
            long_waiting_max: 256,
            long_credential_max: 8,
            waiting_max: 9_000,
            waiting_credential_max: 1_000,
            waiting_address_max: 1_000,
            logins_at_once_max: 2,
            logins_waiting_max: 64,
            logins_waiting_address_max: 16,
            logins_minute_account_max: 60,
            wrong_logins_minute_max: 5,
            wrong_logins_minute_address_max: 10,
            wrong_logins_minute_account_max: 60,
            wrong_tokens_minute_address_max: 300,
            accounts: AccountLimits::default(),
        }
    }
}

impl Default for HttpSettings {
    fn default() -> Self {
        Self {
            root_mount: false,
            external_url: None,
            hosts: Vec::new(),
            trusted_proxies: Vec::new(),
            file_bytes_max: FILE_BYTES_MAX_DEFAULT,
            archive_bytes_max: ARCHIVE_BYTES_MAX_DEFAULT,
            keep_deleted_days: KEEP_DELETED_DAYS_DEFAULT,
            limits: Limits::default(),
            access_log: AccessLog::All,
            reads: Reads::default(),
            disk_low_bytes: DISK_LOW_BYTES_DEFAULT,
        }
    }
}

/// A range of addresses: one, or all with a common beginning (`10.0.0.0/8`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network(IpNet);

/// Says why a text is no [`Network`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it must be an address, or an address, a slash and a number of bits, as in 10.0.0.0/8")]
pub struct NetworkError;

impl Network {
    /// True if the address is in the range. An IPv4 address in an IPv6 one is that IPv4 address.
    pub fn contains(&self, address: IpAddr) -> bool {
        self.0.contains(&address.to_canonical())
    }
}

impl FromStr for Network {
    type Err = NetworkError;

    fn from_str(text: &str) -> Result<Self, NetworkError> {
        let one = text.parse::<IpAddr>().map(IpNet::from);
        let network = one.or_else(|_| text.parse()).map_err(|_| NetworkError)?;
        Ok(Self(network))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_is_an_address_or_a_range() {
        for (network, address, expected) in [
            ("10.0.0.0/8", "10.255.0.1", true),
            ("10.0.0.0/8", "11.0.0.1", false),
            ("10.0.0.0/8", "::ffff:10.1.2.3", true),
            ("10.1.2.3", "10.1.2.3", true),
            ("10.1.2.3", "10.1.2.4", false),
            ("0.0.0.0/0", "::1", false),
            ("fd00::/8", "fdff::1", true),
            ("fd00::/8", "fe00::1", false),
        ] {
            let range: Network = network.parse().unwrap();
            let contains = range.contains(address.parse().unwrap());
            assert_eq!(contains, expected, "{network} {address}");
        }
        for text in ["", "host", "10.0.0.0/33", "::/129", "10.0.0.0/", "10.0/8"] {
            assert!(text.parse::<Network>().is_err(), "{text} was accepted");
        }
    }
}
