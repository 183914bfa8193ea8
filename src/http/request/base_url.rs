//! The address under which a client knows the service: configured, told by a trusted proxy, or the
//! `Host` it sent (contract section 5).

use hyper::HeaderMap;
use hyper::header::{FORWARDED, HOST, HeaderName};

use super::client::Peer;
use super::head_rules::is_host;
use crate::http::settings::HttpSettings;

const X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
const X_FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
const X_FORWARDED_PREFIX: HeaderName = HeaderName::from_static("x-forwarded-prefix");

/// The scheme and authority of the service for this request, and a prefix if a proxy puts one before
/// the path; without a slash at its end.
pub(in crate::http) fn base_url(
    headers: &HeaderMap,
    peer: Peer,
    settings: &HttpSettings,
) -> String {
    if let Some(url) = &settings.external_url {
        return url.trim_end_matches('/').to_owned();
    }
    let forwarded = if peer.is_trusted() {
        Forwarded::of(headers)
    } else {
        Forwarded::default()
    };
    let usual = if peer.is_over_tls() { "https" } else { "http" };
    let own = headers.get(HOST).and_then(|host| host.to_str().ok());
    format!(
        "{}://{}{}",
        forwarded.proto.as_deref().unwrap_or(usual),
        forwarded.host.as_deref().or(own).unwrap_or("localhost"),
        forwarded.prefix.as_deref().unwrap_or_default()
    )
}

/// True if this client reaches the service by https: because that is the configured address, by the word
/// of a trusted proxy, or over TLS.
pub(in crate::http) fn is_https(headers: &HeaderMap, peer: Peer, settings: &HttpSettings) -> bool {
    let configured = settings.external_url.as_deref();
    if configured.is_some_and(|url| url.starts_with("https://")) {
        return true;
    }
    let told = if peer.is_trusted() {
        Forwarded::of(headers).proto
    } else {
        None
    };
    told.map_or(peer.is_over_tls(), |proto| proto == "https")
}

/// The host that the client sent this request to, with its port if it has one: a trusted proxy's word,
/// or `Host`.
pub(in crate::http) fn host(headers: &HeaderMap, peer: Peer) -> Option<String> {
    let told = if peer.is_trusted() {
        Forwarded::of(headers).host
    } else {
        None
    };
    told.or_else(|| headers.get(HOST)?.to_str().ok().map(str::to_owned))
}

/// What a proxy tells about the request that it was sent. Of a chain of proxies the first counts, the
/// one that the client spoke to.
#[derive(Debug, Default, PartialEq, Eq)]
struct Forwarded {
    proto: Option<String>,
    host: Option<String>,
    prefix: Option<String>,
}

impl Forwarded {
    /// Reads the `X-Forwarded-*` headers, and `Forwarded` (RFC 7239) for what they do not tell: a proxy that sets them
    /// passes `Forwarded` on as the client sent it. What is malformed was not forwarded.
    fn of(headers: &HeaderMap) -> Self {
        let mut forwarded = Self {
            prefix: first(headers, &X_FORWARDED_PREFIX).filter(|prefix| is_prefix(prefix)),
            ..Self::default()
        };
        if let Some(element) = first(headers, &FORWARDED) {
            for pair in element.split(';') {
                let Some((name, value)) = pair.split_once('=') else {
                    continue;
                };
                let value = value.trim().trim_matches('"').to_owned();
                match name.trim().to_ascii_lowercase().as_str() {
                    "proto" => forwarded.proto = Some(value),
                    "host" => forwarded.host = Some(value),
                    _ => {}
                }
            }
        }
        forwarded.proto = first(headers, &X_FORWARDED_PROTO).or(forwarded.proto);
        forwarded.host = first(headers, &X_FORWARDED_HOST).or(forwarded.host);
        forwarded.proto = forwarded
            .proto
            .map(|proto| proto.to_ascii_lowercase())
            .filter(|proto| proto == "http" || proto == "https");
        forwarded.host = forwarded.host.filter(|host| is_host(host.as_bytes()));
        forwarded.prefix = forwarded
            .prefix
            .map(|prefix| prefix.trim_end_matches('/').to_owned());
        forwarded
    }
}

/// The first element of a list that may be spread over several lines.
fn first(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    let line = headers.get(name)?.to_str().ok()?;
    let element = line.split(',').next()?.trim();
    (!element.is_empty()).then(|| element.to_owned())
}

/// True for a path that can stand in a link as it is.
fn is_prefix(text: &str) -> bool {
    text.starts_with('/')
        && !text.starts_with("//")
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"/-._~%".contains(&b))
}

#[cfg(test)]
mod tests {
    use hyper::Request;

    use super::*;

    fn settings(external_url: Option<&str>) -> HttpSettings {
        HttpSettings {
            external_url: external_url.map(str::to_owned),
            trusted_proxies: vec!["10.0.0.0/8".parse().unwrap(), "::1".parse().unwrap()],
            ..HttpSettings::default()
        }
    }

    fn base(peer: &str, lines: &[(&str, &str)], external_url: Option<&str>) -> String {
        let mut request = Request::builder().header("host", "own:8080");
        for (name, value) in lines {
            request = request.header(*name, *value);
        }
        let (head, ()) = request.body(()).unwrap().into_parts();
        let settings = settings(external_url);
        let peer = Peer::new(peer.parse().unwrap(), &settings);
        base_url(&head.headers, peer, &settings)
    }

    #[test]
    fn a_trusted_proxy_tells_the_address() {
        for (lines, expected) in [
            (&[][..], "http://own:8080"),
            (
                &[(
                    "forwarded",
                    "for=1.2.3.4;proto=https;host=\"conf.example:444\", host=inner",
                )],
                "https://conf.example:444",
            ),
            (&[("x-forwarded-proto", "https")], "https://own:8080"),
            (
                &[
                    ("x-forwarded-proto", "HTTPS, http"),
                    ("x-forwarded-host", "conf.example, inner"),
                    ("x-forwarded-prefix", "/conf/"),
                ],
                "https://conf.example/conf",
            ),
            (
                &[
                    ("x-forwarded-proto", "gopher"),
                    ("x-forwarded-host", "a/b@c"),
                    ("x-forwarded-prefix", "//evil"),
                ],
                "http://own:8080",
            ),
        ] {
            assert_eq!(base("10.1.1.1", lines, None), expected, "{lines:?}");
        }
    }

    #[test]
    fn https_is_what_the_client_speaks() {
        let proto = "x-forwarded-proto";
        for (peer, over_tls, url, told, expected) in [
            ("192.0.2.1", false, None, None, false),
            ("192.0.2.1", true, None, None, true),
            ("192.0.2.1", false, None, Some("https"), false),
            ("192.0.2.1", true, None, Some("http"), true),
            ("10.1.1.1", false, None, None, false),
            ("10.1.1.1", false, None, Some("https"), true),
            // A proxy that speaks TLS with us and not with its client.
            ("10.1.1.1", true, None, Some("http"), false),
            ("10.1.1.1", true, None, None, true),
            ("192.0.2.1", false, Some("https://conf.example"), None, true),
            ("192.0.2.1", false, Some("http://conf.example"), None, false),
        ] {
            let settings = settings(url);
            let mut headers = HeaderMap::new();
            if let Some(told) = told {
                headers.insert(proto, told.parse().unwrap());
            }
            let mut peer = Peer::new(peer.parse().unwrap(), &settings);
            if over_tls {
                peer = peer.over_tls();
            }
            let by_https = is_https(&headers, peer, &settings);
            assert_eq!(by_https, expected, "{peer:?} {url:?} {told:?}");
        }
    }

    #[test]
    fn nobody_else_does_and_the_setting_wins() {
        let lines = [
            ("x-forwarded-host", "evil.example"),
            ("forwarded", "host=evil.example"),
        ];
        assert_eq!(base("192.0.2.1", &lines, None), "http://own:8080");
        assert_eq!(
            base("10.1.1.1", &lines, Some("https://conf.example/")),
            "https://conf.example"
        );
    }
}
