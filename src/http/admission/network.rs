//! What counts as one client where clients are counted.

use std::net::{IpAddr, Ipv6Addr};

/// Bits of an IPv4 address.
const IPV4_BITS: u8 = 32;

/// Bits of an IPv6 address that tell one network of a provider's customer from another; the rest is the network's.
const IPV6_BITS: u8 = 64;

/// Bits of an IPv6 address behind which one customer of a provider may have all networks; elsewhere many customers,
/// such as those of a hoster, have one each.
const SITE_BITS: u8 = 48;

/// An IPv4 address, or the /64 of an IPv6 address; or the [site](ClientNetwork::site) of that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::http) struct ClientNetwork {
    beginning: IpAddr,
    bits: u8,
}

impl ClientNetwork {
    /// What this address belongs to. An IPv4 address in an IPv6 one is that IPv4 address.
    pub(in crate::http) fn of(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V6(address) => Self::of_ipv6(address, IPV6_BITS),
            address @ IpAddr::V4(_) => Self {
                beginning: address,
                bits: IPV4_BITS,
            },
        }
    }

    /// The /48 of IPv6 that it belongs to, of which one customer may have all; `None` for IPv4.
    pub(in crate::http) fn site(self) -> Option<Self> {
        match self.beginning {
            IpAddr::V6(address) => Some(Self::of_ipv6(address, SITE_BITS)),
            IpAddr::V4(_) => None,
        }
    }

    fn of_ipv6(address: Ipv6Addr, bits: u8) -> Self {
        let beginning = Ipv6Addr::from_bits(address.to_bits() & !(u128::MAX >> bits));
        Self {
            beginning: beginning.into(),
            bits,
        }
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
        assert_eq!(of("2001:db8::1").site(), of("2001:db8:0:1::1").site());
        assert_ne!(of("2001:db8::1").site(), of("2001:db8:1::1").site());
        assert_ne!(of("2001:db8::1").site(), Some(of("2001:db8::1")));
        assert_eq!(of("::ffff:192.0.2.1").site(), None);
    }
}
