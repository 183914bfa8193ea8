//! What counts as one client where clients are counted.

use std::net::{IpAddr, Ipv6Addr};

/// Bits of an IPv6 address that tell one customer of a provider from another; the rest is theirs.
const IPV6_BITS: u32 = 64;

/// An IPv4 address, or the /64 of an IPv6 address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::http) struct ClientNetwork(IpAddr);

impl ClientNetwork {
    /// What this address belongs to. An IPv4 address in an IPv6 one is that IPv4 address.
    pub(in crate::http) fn of(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            IpAddr::V6(address) => {
                let theirs = u128::MAX >> IPV6_BITS;
                Ipv6Addr::from_bits(address.to_bits() & !theirs).into()
            }
            address @ IpAddr::V4(_) => address,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ipv6_client_is_its_64() {
        let of = |text: &str| ClientNetwork::of(text.parse().unwrap());
        for (one, other, same) in [
            ("192.0.2.1", "192.0.2.1", true),
            ("192.0.2.1", "192.0.2.2", false),
            ("192.0.2.1", "::ffff:192.0.2.1", true),
            ("2001:db8::1", "2001:db8::ffff:0:0:2", true),
            ("2001:db8::1", "2001:db8:0:1::1", false),
        ] {
            assert_eq!(of(one) == of(other), same, "{one} {other}");
        }
    }
}
