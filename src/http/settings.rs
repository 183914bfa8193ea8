//! What the operator decides about this layer.

use std::net::IpAddr;
use std::str::FromStr;

use ipnet::IpNet;

use crate::base::limits::{ARCHIVE_BYTES_MAX_DEFAULT, FILE_BYTES_MAX_DEFAULT};

/// What the operator decides about this layer.
#[derive(Clone, Debug)]
pub struct HttpSettings {
    /// True to serve the Read API at `/api/v4` too, for clients that drop the path of their base URL.
    pub root_mount: bool,
    /// The address under which clients reach the service, as `https://conf.example`, when it is not
    /// the one they send as `Host`. With `https` the session cookie is `Secure`.
    pub external_url: Option<String>,
    /// Proxies that are believed what they tell of the client's request (`Forwarded`, `X-Forwarded-*`).
    pub trusted_proxies: Vec<Network>,
    /// Largest file that is taken, in bytes.
    pub file_bytes_max: u64,
    /// Largest sum of the files of an archive, in bytes.
    pub archive_bytes_max: u64,
}

impl Default for HttpSettings {
    fn default() -> Self {
        Self {
            root_mount: false,
            external_url: None,
            trusted_proxies: Vec::new(),
            file_bytes_max: FILE_BYTES_MAX_DEFAULT,
            archive_bytes_max: ARCHIVE_BYTES_MAX_DEFAULT,
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
