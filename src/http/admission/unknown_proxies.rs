//! Proxies that nobody told the service of: all who come through one have its address, and share what one client may.

use std::net::IpAddr;
use std::sync::Mutex;

use hyper::HeaderMap;

use crate::base::limits::UNKNOWN_PROXIES_TOLD_MAX;
use crate::base::threads::lock;
use crate::http::request::client::{Peer, X_FORWARDED_FOR};

/// The addresses that the log was told of.
#[derive(Debug, Default)]
pub(in crate::http) struct UnknownProxies(Mutex<Vec<IpAddr>>);

impl UnknownProxies {
    /// Tells the log, once for each address, of who seems to be one. Who comes from elsewhere than the networks of
    /// the operator is not told of: anybody can send the header, and must not have himself proposed as trusted.
    ///
    /// # Limits
    /// [`UNKNOWN_PROXIES_TOLD_MAX`] addresses.
    pub(in crate::http) fn look(&self, peer: Peer, headers: &HeaderMap) {
        if peer.is_trusted() || !headers.contains_key(X_FORWARDED_FOR) {
            return;
        }
        let address = peer.address();
        if is_near(address) && self.is_new(address) {
            tracing::warn!(
                client = %address,
                "this client tells of another one by X-Forwarded-For and is not believed: if it is your proxy, name it \
                 in trusted_proxies; all who come through it count as one client"
            );
        }
    }

    fn is_new(&self, address: IpAddr) -> bool {
        let mut told = lock(&self.0);
        let is_new = told.len() < UNKNOWN_PROXIES_TOLD_MAX && !told.contains(&address);
        if is_new {
            told.push(address);
        }
        is_new
    }
}

/// True for addresses that no network but the own one leads to.
fn is_near(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4.is_loopback() || v4.is_private(),
        IpAddr::V6(v6) => v6.is_loopback() || v6.is_unique_local() || v6.is_unicast_link_local(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_told_once_and_not_endlessly_many_are() {
        let proxies = UnknownProxies::default();
        let address = |last: usize| IpAddr::from([10, 0, 0, u8::try_from(last).unwrap()]);
        assert!(proxies.is_new(address(0)) && !proxies.is_new(address(0)));
        let told = (0..100).filter(|last| proxies.is_new(address(*last)));
        assert_eq!(told.count(), UNKNOWN_PROXIES_TOLD_MAX - 1);
    }

    #[test]
    fn strangers_are_not_told_of() {
        for (address, near) in [
            ("127.0.0.1", true),
            ("172.17.0.1", true),
            ("::1", true),
            ("fd00::1", true),
            ("fe80::1", true),
            ("203.0.113.7", false),
            ("2001:db8::7", false),
        ] {
            assert_eq!(is_near(address.parse().unwrap()), near, "{address}");
        }
    }
}
