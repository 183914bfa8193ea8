//! Under which names the service is reached, so that no page of another site gets at it by a name of
//! its own that leads here (contract section 1).

use hyper::HeaderMap;
use hyper::header::HOST;

use crate::http::error::Error;
use crate::http::request::client::Peer;
use crate::http::settings::HttpSettings;

/// Names of the machine itself, which no other site has.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// The names; none when the operator named none, and any will do.
#[derive(Debug)]
pub(in crate::http) struct Hosts(Vec<String>);

impl Hosts {
    /// Those of the settings, without ports.
    pub(in crate::http) fn new(settings: &HttpSettings) -> Self {
        let url = settings.external_url.as_deref().unwrap_or_default();
        let authority = url.split('/').nth(2).map(str::to_owned);
        let names = settings.hosts.iter().cloned().chain(authority);
        Self(names.map(|host| name(&host).to_owned()).collect())
    }

    /// Refuses a request that was sent to another name. A client on the machine itself may call it by
    /// its usual names, and HTTP/1.0 without `Host` names nothing.
    ///
    /// # Errors
    /// [`Error::Misdirected`].
    pub(in crate::http) fn check(&self, headers: &HeaderMap, peer: Peer) -> Result<(), Error> {
        if self.0.is_empty() {
            return Ok(());
        }
        let Some(host) = headers.get(HOST).and_then(|host| host.to_str().ok()) else {
            return Ok(());
        };
        let is = |known: &str| known.eq_ignore_ascii_case(name(host));
        let is_local = peer.address().is_loopback() && LOOPBACK.into_iter().any(is);
        if is_local || self.0.iter().any(|known| is(known)) {
            return Ok(());
        }
        Err(Error::Misdirected)
    }
}

/// A host without its port.
fn name(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    }
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    fn passes(external_url: Option<&str>, hosts: &[&str], host: &str, peer: &str) -> bool {
        let settings = HttpSettings {
            external_url: external_url.map(str::to_owned),
            hosts: hosts.iter().map(|&host| host.to_owned()).collect(),
            ..HttpSettings::default()
        };
        let mut headers = HeaderMap::new();
        headers.insert(HOST, HeaderValue::try_from(host).unwrap());
        let peer = Peer::new(peer.parse().unwrap(), &settings);
        Hosts::new(&settings).check(&headers, peer).is_ok()
    }

    #[test]
    fn a_host_is_one_of_the_list_where_there_is_a_list() {
        let url = Some("https://conf.example");
        for (url, hosts, host, peer, expected) in [
            (None, &[][..], "evil.example", "192.0.2.1", true),
            (url, &[], "conf.example", "192.0.2.1", true),
            (url, &[], "CONF.example:443", "192.0.2.1", true),
            (url, &[], "evil.example", "192.0.2.1", false),
            (url, &["inner:8080"], "inner", "192.0.2.1", true),
            (
                None,
                &["[2001:db8::1]"],
                "[2001:db8::1]:80",
                "192.0.2.1",
                true,
            ),
            (None, &["inner"], "conf.example", "192.0.2.1", false),
            (url, &[], "localhost:8080", "127.0.0.1", true),
            (url, &[], "[::1]:8080", "::1", true),
            (url, &[], "localhost:8080", "192.0.2.1", false),
            (url, &[], "evil.example", "127.0.0.1", false),
        ] {
            let passed = passes(url, hosts, host, peer);
            assert_eq!(passed, expected, "{url:?} {hosts:?} {host} {peer}");
        }
    }
}
