//! Protection of what a browser's cookie opens from other sites (contract section 7).

use hyper::HeaderMap;
use hyper::header::{HOST, ORIGIN};

use crate::http::error::Error;

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
/// [`Error::CrossSite`].
pub(in crate::http) fn check(headers: &HeaderMap, external_url: Option<&str>) -> Result<(), Error> {
    let allowed = if let Some(site) = headers.get("sec-fetch-site") {
        site == "same-origin" || site == "none"
    } else if let Some(origin) = headers.get(ORIGIN) {
        origin
            .to_str()
            .is_ok_and(|origin| is_ours(origin, headers, external_url))
    } else {
        true
    };
    if allowed {
        Ok(())
    } else {
        Err(Error::CrossSite)
    }
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

/// True if the origin is the configured address; without one, if it names the host that the request was
/// sent to.
fn is_ours(origin: &str, headers: &HeaderMap, external_url: Option<&str>) -> bool {
    if let Some(ours) = external_url {
        return origin.eq_ignore_ascii_case(origin_of(ours));
    }
    let host = origin
        .strip_prefix("http://")
        .or_else(|| origin.strip_prefix("https://"));
    let sent_to = headers.get(HOST).and_then(|host| host.to_str().ok());
    match (host, sent_to) {
        (Some(host), Some(sent_to)) => host.eq_ignore_ascii_case(sent_to),
        _ => false,
    }
}

/// Scheme, host and port of a URL.
fn origin_of(url: &str) -> &str {
    let host_at = url.find("://").map_or(0, |at| at + 3);
    let end = url[host_at..]
        .find('/')
        .map_or(url.len(), |at| host_at + at);
    &url[..end]
}

#[cfg(test)]
mod tests {
    use hyper::header::{HeaderName, HeaderValue};

    use super::*;

    fn passes(lines: &[(&'static str, &'static str)], external_url: Option<&str>) -> bool {
        let headers = lines
            .iter()
            .map(|(name, value)| {
                (
                    HeaderName::from_static(name),
                    HeaderValue::from_static(value),
                )
            })
            .collect();
        check(&headers, external_url).is_ok()
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
            assert_eq!(passes(&lines, None), expected, "{lines:?}");
        }
        let lines = [host, ("origin", "https://public.example")];
        assert!(passes(&lines, Some("https://public.example/")));
        assert!(!passes(&lines, Some("http://public.example/")));
        let lines = [
            ("host", "public.example"),
            ("origin", "http://public.example"),
        ];
        assert!(passes(&lines, None));
        assert!(!passes(&lines, Some("https://public.example")));
    }
}
