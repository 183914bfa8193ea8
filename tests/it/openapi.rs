//! The document of both APIs: contract section 8.

use std::io::Read as _;

use crate::harness::Daemon;

const DOCUMENT: &str = "/site-builder/api/openapi.json";

#[test]
fn anybody_reads_the_document() {
    let daemon = Daemon::start();
    let anonymous = daemon.anonymous();
    let answer = anonymous.get(DOCUMENT).expect_status(200);
    assert_eq!(answer.header("Cache-Control"), Some("no-cache"));
    assert_eq!(answer.header("Vary"), Some("Accept-Encoding"));
    let document = answer.json();
    assert_eq!(document["openapi"], "3.1.0");
    assert_eq!(document["info"]["title"], "siteconf");
    let paths = document["paths"].as_object().unwrap();
    assert!(paths.contains_key(DOCUMENT));

    let head = anonymous.head(DOCUMENT);
    assert_eq!(head.lasting_headers(), answer.lasting_headers());
    // Tools of other origins and with parameters of their own are no reason to refuse.
    let elsewhere = anonymous.with("Sec-Fetch-Site", "cross-site");
    let again = elsewhere.get(&format!("{DOCUMENT}?v=1"));
    again.assert_bytes(200, &answer.body);
}

#[test]
fn a_client_that_has_the_document_is_told_so() {
    let daemon = Daemon::start();
    let first = daemon.anonymous().get(DOCUMENT);
    let tag = first.header("ETag").expect("a tag");
    let again = daemon.anonymous().with("If-None-Match", tag).get(DOCUMENT);
    again.assert_empty(304);
    assert_eq!(again.header("ETag"), Some(tag));
    assert_eq!(again.header("Cache-Control"), Some("no-cache"));
}

#[test]
fn the_document_is_compressed_for_who_takes_that() {
    let daemon = Daemon::start();
    let plain = daemon.anonymous().get(DOCUMENT);
    let compressed = daemon
        .anonymous()
        .with("Accept-Encoding", "gzip")
        .get(DOCUMENT);
    assert_eq!(compressed.header("Content-Encoding"), Some("gzip"));
    let mut body = Vec::new();
    flate2::read::GzDecoder::new(&compressed.body[..])
        .read_to_end(&mut body)
        .unwrap();
    assert!(body == plain.body);
    assert_ne!(compressed.header("ETag"), plain.header("ETag"));
}

#[test]
fn the_document_is_only_read() {
    let daemon = Daemon::start();
    let anonymous = daemon.anonymous();
    let refused = anonymous.request("DELETE", DOCUMENT).send();
    refused.assert_refused(405);
    assert_eq!(refused.header("Allow"), Some("GET, HEAD, OPTIONS"));
    let options = anonymous.request("OPTIONS", DOCUMENT).send();
    options.assert_empty(204);
    assert_eq!(options.header("Allow"), Some("GET, HEAD, OPTIONS"));
    let below = anonymous.get(&format!("{DOCUMENT}/x"));
    below.assert_error(404, "there is no such route");
    let body = anonymous.request("GET", DOCUMENT).body(b"{}").send();
    body.assert_refused(400);
}
