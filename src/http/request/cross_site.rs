//! Protection of what a browser's cookie opens from other sites (contract section 7).

use hyper::HeaderMap;
use hyper::header::ORIGIN;

use super::base_url;
use super::client::Peer;
use super::head_rules::is_same_host;
use crate::http::error::Error;
use crate::http::settings::HttpSettings;

/// Most characters of an origin or a host that a refusal repeats.
const REPEATED_CHARS_MAX: usize = 200;

/// Kinds of use in which a browser would run or embed a file; none of them has a reason here.
const EMBEDDING: [&[u8]; 11] = [
    b"audioworklet",
    b"embed",
    b"frame",
    b"iframe",
    b"manifest",
    b"object",
    b"paintworklet",
    b"script",
    b"serviceworker",
    b"style",
    b"worker",
];

/// Passes requests of our own pages and of programs that are no browser.
///
/// # Errors
/// [`Error::CrossSite`], and [`Error::ForeignOrigin`] where it may be a page of ours behind a proxy that
/// the settings do not tell of.
pub(in crate::http) fn check(
    headers: &HeaderMap,
    peer: Peer,
    settings: &HttpSettings,
) -> Result<(), Error> {
    if let Some(site) = headers.get("sec-fetch-site") {
        return if site == "same-origin" || site == "none" {
            Ok(())
        } else {
            Err(Error::CrossSite)
        };
    }
    let Some(origin) = headers.get(ORIGIN) else {
        return Ok(());
    };
    let origin = origin.to_str().map_err(|_| Error::CrossSite)?;
    let host = base_url::host(headers, peer).unwrap_or_default();
    let configured = settings.external_url.as_deref();
    if configured.is_some_and(|ours| is_origin_of(ours, origin)) {
        return Ok(());
    }
    // A name of our own listener, whose certificate has it, is ours beside the configured address.
    if (configured.is_none() || peer.is_over_tls())
        && names(origin, &host, base_url::is_https(headers, peer, settings))
    {
        return Ok(());
    }
    Err(Error::ForeignOrigin(foreign(origin, &host, configured)))
}

/// Refuses to hand a stored file to a page as code of any kind.
pub(in crate::http) fn check_file_use(headers: &HeaderMap) -> Result<(), Error> {
    let embedded = headers
        .get("sec-fetch-dest")
        .is_some_and(|dest| EMBEDDING.contains(&dest.as_bytes()));
    if embedded || headers.contains_key("service-worker") {
        return Err(Error::CrossSite);
    }
    Ok(())
}

/// True if the origin names this host. Where the service does not know of https, a proxy may do that
/// which nobody told it of, and either scheme will do.
fn names(origin: &str, host: &str, is_https: bool) -> bool {
    let (scheme, named) = match origin.split_once("://") {
        Some(("https", named)) => ("https", named),
        Some(("http", named)) if !is_https => ("http", named),
        _ => return false,
    };
    !host.is_empty() && is_same_host(scheme, named, host)
}

/// What the refused reads: another site's page gets nothing of it, and ours is told what to set.
fn foreign(origin: &str, host: &str, configured: Option<&str>) -> String {
    let shown = |text: &str| text.chars().take(REPEATED_CHARS_MAX).collect::<String>();
    let origin = shown(origin);
    match configured {
        Some(ours) => format!(
            "requests of other sites are refused: the page's Origin \"{origin}\" is not the setting \
             external_url, \"{ours}\""
        ),
        None => format!(
            "requests of other sites are refused: the page's Origin \"{origin}\" is not where its \
             request was sent to, \"{}\"; behind a proxy, give the setting external_url the address that \
             the browser shows, or name the proxy in trusted_proxies and let it send X-Forwarded-Host and \
             X-Forwarded-Proto",
            shown(host)
        ),
    }
}

/// True if the origin is the scheme, the host and the port of this URL.
fn is_origin_of(url: &str, origin: &str) -> bool {
    let (Some((scheme, rest)), Some((named, host))) =
        (url.split_once("://"), origin.split_once("://"))
    else {
        return false;
    };
    let ours = rest.split('/').next().unwrap_or_default();
    named.eq_ignore_ascii_case(scheme) && is_same_host(scheme, ours, host)
}

#[cfg(test)]
mod tests {
    use hyper::header::{HeaderName, HeaderValue};

    use super::*;

    fn passes(
        lines: &[(&'static str, &'static str)],
        external_url: Option<&str>,
        peer: impl Fn(Peer) -> Peer,
    ) -> bool {
        let headers = lines
            .iter()
            .map(|(name, value)| {
                (
                    HeaderName::from_static(name),
                    HeaderValue::from_static(value),
                )
            })
            .collect();
        let settings = HttpSettings {
            external_url: external_url.map(str::to_owned),
            ..HttpSettings::default()
        };
        let plain = Peer::new("192.0.2.1".parse().unwrap(), &settings);
        check(&headers, peer(plain), &settings).is_ok()
    }

    fn plain(peer: Peer) -> Peer {
        peer
    }

    #[test]
    fn only_our_own_pages_and_programs_pass() {
        let host = ("host", "conf.example:8080");
        for (lines, expected) in [
            (vec![host], true),
            (vec![host, ("sec-fetch-site", "same-origin")], true),
            (vec![host, ("sec-fetch-site", "none")], true),
            (vec![host, ("sec-fetch-site", "same-site")], false),
            (vec![host, ("sec-fetch-site", "cross-site")], false),
            (vec![host, ("sec-fetch-site", "nonsense")], false),
            (vec![host, ("origin", "http://conf.example:8080")], true),
            (vec![host, ("origin", "http://conf.example:8081")], false),
            (vec![host, ("origin", "http://conf.example")], false),
            (vec![host, ("origin", "null")], false),
            (vec![host, ("origin", "conf.example:8080")], false),
            (
                vec![
                    host,
                    ("sec-fetch-site", "cross-site"),
                    ("origin", "http://conf.example:8080"),
                ],
                false,
            ),
        ] {
            assert_eq!(passes(&lines, None, plain), expected, "{lines:?}");
        }
        let lines = [host, ("origin", "https://public.example")];
        assert!(passes(&lines, Some("https://public.example/"), plain));
        assert!(!passes(&lines, Some("http://public.example/"), plain));
        let lines = [
            ("host", "public.example"),
            ("origin", "http://public.example"),
        ];
        assert!(passes(&lines, None, plain));
        assert!(!passes(&lines, Some("https://public.example"), plain));
    }

    #[test]
    fn our_own_tls_listener_is_https_and_a_trusted_proxy_tells_the_host() {
        let at = |origin| [("host", "inner:8443"), ("origin", origin)];
        let (https, http) = (at("https://inner:8443"), at("http://inner:8443"));
        assert!(passes(&https, None, Peer::over_tls));
        assert!(passes(
            &https,
            Some("https://public.example"),
            Peer::over_tls
        ));
        assert!(!passes(&http, None, Peer::over_tls));
        // A proxy that nobody told of may speak TLS before the plain listener.
        assert!(passes(&https, None, plain));

        let told = [
            ("host", "inner:8080"),
            ("x-forwarded-host", "public.example"),
            ("x-forwarded-proto", "https"),
            ("origin", "https://public.example"),
        ];
        assert!(passes(&told, None, |_| Peer::of_unix_socket()));
        assert!(!passes(&told, None, plain));
    }

    #[test]
    fn the_usual_port_of_a_scheme_may_be_written_out() {
        let at = |host, origin| [("host", host), ("origin", origin)];
        for (host, origin, url, expected) in [
            ("h:80", "http://h", None, true),
            ("h", "http://h:80", None, true),
            ("h:443", "https://h", None, true),
            ("h:443", "http://h", None, false),
            ("h:80", "https://h", None, false),
            ("h:8080", "http://h", None, false),
            ("h", "http://h", Some("http://h:80"), true),
            ("h", "https://h", Some("https://h:443/"), true),
            ("h", "https://h:443", Some("https://h"), true),
            ("h", "http://h", Some("http://h:443"), false),
            ("h", "https://h", Some("http://h:80"), false),
        ] {
            let passed = passes(&at(host, origin), url, plain);
            assert_eq!(passed, expected, "{host} {origin} {url:?}");
        }
        let over_tls = |host, origin| passes(&at(host, origin), None, Peer::over_tls);
        assert!(over_tls("h:443", "https://h"));
        assert!(!over_tls("h:80", "http://h"));
    }

    #[test]
    fn who_is_refused_behind_a_proxy_reads_what_to_set() {
        let settings = HttpSettings::default();
        let headers = [
            ("host", "127.0.0.1:8080"),
            ("origin", "https://conf.example"),
        ];
        let headers = headers.map(|(name, value)| {
            let name = HeaderName::from_static(name);
            (name, HeaderValue::from_static(value))
        });
        let peer = Peer::new("127.0.0.1".parse().unwrap(), &settings);
        let refused = check(&headers.into_iter().collect(), peer, &settings).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "requests of other sites are refused: the page's Origin \"https://conf.example\" is not where \
             its request was sent to, \"127.0.0.1:8080\"; behind a proxy, give the setting external_url \
             the address that the browser shows, or name the proxy in trusted_proxies and let it send \
             X-Forwarded-Host and X-Forwarded-Proto"
        );
    }
}
