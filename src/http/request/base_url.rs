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
    let own = headers.get(HOST).and_then(|host| host.to_str().ok());
    format!(
        "{}://{}{}",
        forwarded.proto.as_deref().unwrap_or("http"),
        forwarded.host.as_deref().or(own).unwrap_or("localhost"),
        forwarded.prefix.as_deref().unwrap_or_default()
    )
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
    /// Reads `Forwarded` (RFC 7239) where there is one, else the `X-Forwarded-*` headers. What is
    /// malformed was not forwarded.
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
        } else {
            forwarded.proto = first(headers, &X_FORWARDED_PROTO);
            forwarded.host = first(headers, &X_FORWARDED_HOST);
        }
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
