//! Who sent a request: whoever is at the other end of the connection, or whom a trusted proxy tells of.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use hyper::HeaderMap;
use hyper::header::{FORWARDED, HeaderName};

use crate::base::limits::PROXY_REQUEST_ID_BYTES_MAX;
use crate::http::settings::HttpSettings;

/// By what proxies tell of a client.
pub(in crate::http) const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Who is at the other end of a connection.
#[derive(Clone, Copy, Debug)]
pub(in crate::http) struct Peer {
    address: IpAddr,
    trusted: bool,
    /// The connection is one of TLS.
    over_tls: bool,
    /// It is the service itself, which finds out whether it answers.
    is_probe: bool,
}

impl Peer {
    /// Whoever has this address.
    pub(in crate::http) fn new(address: IpAddr, settings: &HttpSettings) -> Self {
        Self {
            address: address.to_canonical(),
            trusted: settings.trusts(address),
            over_tls: false,
            is_probe: false,
        }
    }

    /// The same over a TLS connection.
    pub(in crate::http) fn over_tls(self) -> Self {
        Self {
            over_tls: true,
            ..self
        }
    }

    /// A program on this machine that may open the service's socket. It has no address but the
    /// machine's, and is believed what it tells, because the rights on the socket are the operator's.
    pub(in crate::http) fn of_unix_socket() -> Self {
        Self {
            address: Ipv4Addr::LOCALHOST.into(),
            trusted: true,
            over_tls: false,
            is_probe: false,
        }
    }

    /// The service itself, which finds out whether it answers.
    pub(in crate::http) fn of_probe() -> Self {
        Self {
            is_probe: true,
            ..Self::of_unix_socket()
        }
    }

    /// True if its requests are nobody's: neither told nor counted.
    pub(in crate::http) fn is_probe(self) -> bool {
        self.is_probe
    }

    /// True if the connection is one of TLS.
    pub(in crate::http) fn is_over_tls(self) -> bool {
        self.over_tls
    }

    /// Its address.
    pub(in crate::http) fn address(self) -> IpAddr {
        self.address
    }

    /// True if it is believed what it tells of another's request.
    pub(in crate::http) fn is_trusted(self) -> bool {
        self.trusted
    }

    /// The id by which a trusted proxy knows the request: of visible ASCII, and not too long.
    pub(in crate::http) fn proxy_request_id(self, headers: &HeaderMap) -> Option<String> {
        let id = headers.get(X_REQUEST_ID).filter(|_| self.trusted)?;
        let id = id.to_str().ok().filter(|id| {
            (1..=PROXY_REQUEST_ID_BYTES_MAX).contains(&id.len())
                && id.bytes().all(|byte| byte.is_ascii_graphic())
        });
        id.map(str::to_owned)
    }

    /// The address of the client that sent a request with these headers. Of those that proxies tell it
    /// is the last that is not itself a trusted proxy's: what stands before it, the client wrote.
    /// `X-Forwarded-For` comes first, because a proxy that appends to it passes `Forwarded` on as the
    /// client sent it.
    pub(in crate::http) fn client(self, headers: &HeaderMap, settings: &HttpSettings) -> IpAddr {
        if !self.trusted {
            return self.address;
        }
        if headers.contains_key(X_FORWARDED_FOR) {
            return self.told(headers, &X_FORWARDED_FOR, settings, |node| Some(node));
        }
        self.told(headers, &FORWARDED, settings, |element| {
            let mut pairs = element.split(';').filter_map(|pair| pair.split_once('='));
            let told = pairs.find(|(name, _)| name.trim().eq_ignore_ascii_case("for"));
            told.map(|(_, node)| node)
        })
    }

    /// Follows what this header tells from its end.
    fn told(
        self,
        headers: &HeaderMap,
        name: &HeaderName,
        settings: &HttpSettings,
        node: impl Fn(&str) -> Option<&str>,
    ) -> IpAddr {
        let mut client = self.address;
        let lines = headers.get_all(name).iter().rev();
        // By bytes: what the client wrote before a comma may be no text, and takes nothing from what a proxy adds.
        let elements = lines.flat_map(|line| line.as_bytes().rsplit(|byte| *byte == b','));
        for element in elements {
            let element = str::from_utf8(element).ok();
            let Some(told) = element.and_then(&node).and_then(address) else {
                break;
            };
            client = told;
            if !settings.trusts(told) {
                break;
            }
        }
        client
    }
}

/// An address with or without a port, as proxies write it.
fn address(node: &str) -> Option<IpAddr> {
    let node = node.trim().trim_matches('"');
    let bare = node
        .strip_prefix('[')
        .and_then(|node| node.strip_suffix(']'));
    let address = bare.unwrap_or(node).parse();
    let with_port = || node.parse().map(|address: SocketAddr| address.ip());
    Some(address.or_else(|_| with_port()).ok()?.to_canonical())
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    fn client(peer: &str, lines: &[(&'static str, &'static str)]) -> String {
        let settings = HttpSettings {
            trusted_proxies: vec!["10.0.0.0/8".parse().unwrap()],
            ..HttpSettings::default()
        };
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            let name = HeaderName::from_static(name);
            headers.append(name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        let peer = Peer::new(peer.parse().unwrap(), &settings);
        peer.client(&headers, &settings).to_string()
    }

    #[test]
    fn a_trusted_proxy_tells_of_the_client() {
        let told = "x-forwarded-for";
        for (lines, expected) in [
            (&[][..], "10.0.0.1"),
            (&[(told, "192.0.2.7")], "192.0.2.7"),
            (&[(told, "192.0.2.7:4711")], "192.0.2.7"),
            (&[(told, "[2001:db8::1]:4711")], "2001:db8::1"),
            (&[(told, "::ffff:192.0.2.7")], "192.0.2.7"),
            // The client wrote the first one.
            (&[(told, "198.51.100.1, 192.0.2.7")], "192.0.2.7"),
            (&[(told, "198.51.100.1"), (told, "192.0.2.7")], "192.0.2.7"),
            (&[(told, "192.0.2.7, 10.0.0.2")], "192.0.2.7"),
            (&[(told, "unknown, 10.0.0.2")], "10.0.0.2"),
            (&[(told, "nonsense")], "10.0.0.1"),
            (&[(told, "é, 192.0.2.7")], "192.0.2.7"),
            (&[(told, "é")], "10.0.0.1"),
            (&[("forwarded", "for=é, for=192.0.2.7")], "192.0.2.7"),
            (
                &[("forwarded", "for=\"[2001:db8::1]:1\";proto=https")],
                "2001:db8::1",
            ),
            (
                &[("forwarded", "for=198.51.100.1"), (told, "192.0.2.7")],
                "192.0.2.7",
            ),
        ] {
            assert_eq!(client("10.0.0.1", lines), expected, "{lines:?}");
        }
    }

    #[test]
    fn only_a_trusted_proxy_names_a_request_and_not_at_length() {
        let settings = HttpSettings {
            trusted_proxies: vec!["10.0.0.0/8".parse().unwrap()],
            ..HttpSettings::default()
        };
        let (longest, too_long) = ("x".repeat(128), "x".repeat(129));
        for (peer, id, expected) in [
            ("10.0.0.1", "a-1", Some("a-1")),
            ("10.0.0.1", &longest, Some(longest.as_str())),
            ("10.0.0.1", &too_long, None),
            ("10.0.0.1", "", None),
            ("10.0.0.1", "a b", None),
            ("192.0.2.1", "a-1", None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(X_REQUEST_ID, HeaderValue::try_from(id).unwrap());
            let peer = Peer::new(peer.parse().unwrap(), &settings);
            assert_eq!(peer.proxy_request_id(&headers).as_deref(), expected, "{id}");
        }
    }

    #[test]
    fn nobody_else_tells_of_another() {
        let lines = [("x-forwarded-for", "198.51.100.1")];
        assert_eq!(client("192.0.2.1", &lines), "192.0.2.1");
        assert_eq!(client("::ffff:192.0.2.1", &lines), "192.0.2.1");
    }
}
