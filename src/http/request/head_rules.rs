//! What is refused before a request is routed: heads that are ambiguous, too long, or ask for what
//! the service does not do. hyper passes all of them on.

use hyper::header::{AUTHORIZATION, EXPECT, HOST, HeaderName, ORIGIN, TRANSFER_ENCODING};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method, Version};

use crate::base::limits::{HEADER_LINES_MAX, REQUEST_TARGET_BYTES_MAX};
use crate::http::error::Error;

/// The methods that some route has.
pub(in crate::http) const METHODS: [Method; 5] = [
    Method::GET,
    Method::POST,
    Method::PUT,
    Method::PATCH,
    Method::DELETE,
];

/// Headers that decide who asks: given twice, a proxy and the service could each believe another.
const ONCE: [HeaderName; 5] = [
    HeaderName::from_static("private-token"),
    AUTHORIZATION,
    HeaderName::from_static("x-instance-id"),
    ORIGIN,
    HeaderName::from_static("sec-fetch-site"),
];

/// Marks a request whose target had a `#`, which hyper drops together with what follows it.
#[derive(Clone, Copy, Debug)]
pub(in crate::http) struct Fragment;

/// Refuses a head by its lines alone, whatever the route.
pub(in crate::http) fn check(head: &Parts) -> Result<(), Error> {
    if head.headers.len() > HEADER_LINES_MAX {
        return Err(Error::HeaderLines);
    }
    let target = head
        .uri
        .path_and_query()
        .map_or(0, |both| both.as_str().len());
    if target > REQUEST_TARGET_BYTES_MAX {
        return Err(Error::LongTarget);
    }
    match head.method {
        // Its target is no path, so no route can say which methods it has.
        Method::CONNECT => return Err(Error::method(&METHODS)),
        Method::OPTIONS | Method::HEAD | Method::TRACE => {}
        ref other if METHODS.contains(other) => {}
        _ => return Err(Error::UnknownMethod),
    }
    check_target(head)?;
    check_host(head)?;
    // Where each name has one line, none is given twice.
    if head.headers.len() > head.headers.keys_len() {
        for name in &ONCE {
            once(&head.headers, name)?;
        }
    }
    check_expect(&head.headers)?;
    check_coding(&head.headers)?;
    if head.uri.path() == "*" && head.method != Method::OPTIONS {
        return Err(Error::malformed("the target \"*\" is only for OPTIONS"));
    }
    Ok(())
}

/// Refuses bytes that a client must escape (RFC 3986). Those of `[]^|`, which must be escaped too, are
/// let through: a GitLab client sends them as they are. What comes before a `#` may name something else.
fn check_target(head: &Parts) -> Result<(), Error> {
    if head.extensions.get::<Fragment>().is_some() {
        return Err(Error::malformed(
            "the target holds a \"#\", which must be written %23",
        ));
    }
    let target = head.uri.path_and_query().map_or("", |both| both.as_str());
    if target
        .bytes()
        .any(|b| !b.is_ascii_graphic() || br#""\<>`{}"#.contains(&b))
    {
        return Err(Error::malformed(
            "the target holds a character that must be percent-encoded",
        ));
    }
    Ok(())
}

/// Refuses a second line of this name.
fn once(headers: &HeaderMap, name: &HeaderName) -> Result<(), Error> {
    if headers.get_all(name).into_iter().nth(1).is_some() {
        return Err(Error::Malformed(format!("header {name} is given twice")));
    }
    Ok(())
}

/// Wants exactly one well-formed `Host`, and an absolute target to name the same. HTTP/1.0 has no
/// such header, and probes of that version send none.
fn check_host(head: &Parts) -> Result<(), Error> {
    once(&head.headers, &HOST)?;
    let Some(host) = head.headers.get(HOST) else {
        return match head.version {
            Version::HTTP_09 | Version::HTTP_10 => Ok(()),
            _ => Err(Error::malformed("header Host is missing")),
        };
    };
    let host = host.to_str().unwrap_or_default();
    if !is_host(host.as_bytes()) {
        return Err(Error::malformed("header Host is malformed"));
    }
    let scheme = head.uri.scheme_str().unwrap_or_default();
    match head.uri.authority() {
        Some(authority) if !is_same_host(scheme, authority.as_str(), host) => {
            Err(Error::malformed("the target names another host than Host"))
        }
        _ => Ok(()),
    }
}

/// True for two spellings of one host and port under this scheme, whose usual port may be left out.
pub(in crate::http) fn is_same_host(scheme: &str, one: &str, other: &str) -> bool {
    let usual = match scheme {
        "http" => ":80",
        "https" => ":443",
        _ => "",
    };
    let [one, other] = [one, other].map(|host| host.strip_suffix(usual).unwrap_or(host));
    one.eq_ignore_ascii_case(other)
}

/// True for a name or an address with an optional port.
pub(in crate::http) fn is_host(text: &[u8]) -> bool {
    let (host, port) = match text.iter().rposition(|&b| b == b':') {
        Some(colon) if !text.ends_with(b"]") => (&text[..colon], &text[colon + 1..]),
        _ => (text, &b""[..]),
    };
    let name_fine = match host.strip_prefix(b"[") {
        Some(address) => address.strip_suffix(b"]").is_some_and(|address| {
            std::str::from_utf8(address)
                .is_ok_and(|address| address.parse::<std::net::Ipv6Addr>().is_ok())
        }),
        None => {
            !host.is_empty()
                && host
                    .iter()
                    .all(|b| b.is_ascii_alphanumeric() || b"-._".contains(b))
        }
    };
    name_fine && port.len() <= 5 && port.iter().all(u8::is_ascii_digit)
}

fn check_expect(headers: &HeaderMap) -> Result<(), Error> {
    let known = headers
        .get_all(EXPECT)
        .iter()
        .all(|value| value.as_bytes().eq_ignore_ascii_case(b"100-continue"));
    if known {
        Ok(())
    } else {
        Err(Error::Expectation)
    }
}

/// hyper undoes `chunked` and leaves every other coding in the body.
fn check_coding(headers: &HeaderMap) -> Result<(), Error> {
    let codings = || {
        headers
            .get_all(TRANSFER_ENCODING)
            .into_iter()
            .flat_map(|line| line.as_bytes().split(|&b| b == b','))
            .map(<[u8]>::trim_ascii)
    };
    if codings().any(|coding| !coding.eq_ignore_ascii_case(b"chunked")) {
        return Err(Error::TransferCoding);
    }
    if codings().nth(1).is_some() {
        return Err(Error::malformed("the body is chunked twice"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use hyper::{Request, StatusCode};

    use super::*;

    fn status(method: &str, target: &str, lines: &[(&str, &str)]) -> Option<StatusCode> {
        let mut request = Request::builder().method(method).uri(target);
        for (name, value) in lines {
            request = request.header(*name, *value);
        }
        let (head, ()) = request.body(()).unwrap().into_parts();
        check(&head).err().map(|error| error.status())
    }

    #[test]
    fn the_host_is_one_and_well_formed() {
        for host in [
            "h",
            "localhost:8080",
            "10.0.0.1:80",
            "[::1]",
            "[::1]:80",
            "a-b.c_d.example",
        ] {
            assert_eq!(status("GET", "/", &[("host", host)]), None, "{host}");
        }
        for host in [
            "", "a b/c@d", "h:x", "h:123456", ":80", "[::1", "[x]", "user@h", "a,b",
        ] {
            assert_eq!(
                status("GET", "/", &[("host", host)]),
                Some(StatusCode::BAD_REQUEST),
                "{host:?}"
            );
        }
        assert_eq!(status("GET", "/", &[]), Some(StatusCode::BAD_REQUEST));
        assert_eq!(
            status("GET", "/", &[("host", "h"), ("host", "h")]),
            Some(StatusCode::BAD_REQUEST)
        );
        for (target, host) in [
            ("http://H/a", "h"),
            ("http://h:80/a", "h"),
            ("http://h/a", "h:80"),
            ("https://h:443/a", "H"),
            ("http://[::1]:80/a", "[::1]"),
        ] {
            assert_eq!(status("GET", target, &[("host", host)]), None, "{target}");
        }
        for (target, host) in [
            ("http://evil/a", "h"),
            ("http://h:443/a", "h"),
            ("https://h/a", "h:80"),
            ("http://h:8080/a", "h"),
            ("http://u@h/a", "h"),
        ] {
            assert_eq!(
                status("GET", target, &[("host", host)]),
                Some(StatusCode::BAD_REQUEST),
                "{target}"
            );
        }
    }

    #[test]
    fn methods_and_their_targets() {
        let host = ("host", "h");
        for (method, target, expected) in [
            ("GET", "/", None),
            ("HEAD", "/", None),
            ("OPTIONS", "*", None),
            ("GET", "*", Some(StatusCode::BAD_REQUEST)),
            ("CONNECT", "h:80", Some(StatusCode::METHOD_NOT_ALLOWED)),
            ("TRACE", "/", None),
            ("FOO", "/", Some(StatusCode::NOT_IMPLEMENTED)),
            ("get", "/", Some(StatusCode::NOT_IMPLEMENTED)),
        ] {
            assert_eq!(
                status(method, target, &[host]),
                expected,
                "{method} {target}"
            );
        }
    }

    #[test]
    fn what_must_be_escaped_is_refused_but_for_what_clients_send() {
        let host = ("host", "h");
        for target in ["/%D1%8F", "/a[1]|^'()*!@:;,~", "/?ref=a|b"] {
            assert_eq!(status("GET", target, &[host]), None, "{target}");
        }
        for target in ["/я", "/a\\b", "/a\"b", "/{a}", "/?ref=я"] {
            assert_eq!(
                status("GET", target, &[host]),
                Some(StatusCode::BAD_REQUEST),
                "{target}"
            );
        }
    }

    #[test]
    fn a_target_that_was_cut_is_refused() {
        let request = Request::builder().uri("/a").header("host", "h");
        let (mut head, ()) = request.body(()).unwrap().into_parts();
        assert!(check(&head).is_ok());
        head.extensions.insert(Fragment);
        let refused = check(&head).unwrap_err();
        assert_eq!(refused.status(), StatusCode::BAD_REQUEST);
    }

    #[test]
    fn codings_expectations_and_credentials_are_unambiguous() {
        let host = ("host", "h");
        for (lines, expected) in [
            (&[("transfer-encoding", "chunked")][..], None),
            (
                &[("transfer-encoding", "gzip, chunked")],
                Some(StatusCode::NOT_IMPLEMENTED),
            ),
            (
                &[
                    ("transfer-encoding", "chunked"),
                    ("transfer-encoding", "chunked"),
                ],
                Some(StatusCode::BAD_REQUEST),
            ),
            (&[("expect", "100-Continue")], None),
            (&[("expect", "foo")], Some(StatusCode::EXPECTATION_FAILED)),
            (
                &[("private-token", "a"), ("private-token", "a")],
                Some(StatusCode::BAD_REQUEST),
            ),
            (
                &[("origin", "http://h"), ("origin", "http://h")],
                Some(StatusCode::BAD_REQUEST),
            ),
        ] {
            let all: Vec<_> = std::iter::once(host).chain(lines.iter().copied()).collect();
            assert_eq!(status("PUT", "/", &all), expected, "{lines:?}");
        }
    }

    #[test]
    fn a_head_has_bounds() {
        let host = ("host", "h");
        let long = format!("/{}", "a".repeat(REQUEST_TARGET_BYTES_MAX));
        assert_eq!(
            status("GET", &long, &[host]),
            Some(StatusCode::URI_TOO_LONG)
        );
        let many: Vec<_> = std::iter::once(host)
            .chain(std::iter::repeat_n(("x", "y"), HEADER_LINES_MAX))
            .collect();
        assert_eq!(
            status("GET", "/", &many),
            Some(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE)
        );
    }
}
