//! The document and its files as they are served: contract section 9.

use std::io::Read as _;

use crate::harness::{Answer, Daemon};
use crate::left_out::leave_out;

const PAGE: &str = "/site-builder/";
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
    img-src 'self' data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'; \
    require-trusted-types-for 'script'; trusted-types 'none'";

/// The addresses of the document's assets; none where the build left the page out.
fn assets(document: &Answer) -> Vec<String> {
    let quoted = document.text().split('"');
    let assets = quoted.filter(|text| text.starts_with("/site-builder/-/"));
    let assets: Vec<_> = assets.map(str::to_owned).collect();
    if assets.is_empty() {
        assert!(document.text().contains("built without its page"));
        leave_out("the assets, for the build left the page out");
    }
    assets
}

#[test]
fn the_root_leads_to_the_page() {
    let daemon = Daemon::start();
    let answer = daemon.anonymous().get("/");
    answer.assert_empty(303);
    assert_eq!(answer.header("Location"), Some(PAGE));
    let refused = daemon.anonymous().request("POST", "/").send();
    refused.assert_refused(405);
}

#[test]
fn every_state_of_the_page_is_the_same_document() {
    let daemon = Daemon::start();
    let anonymous = daemon.anonymous();
    let first = anonymous.get(PAGE).expect_status(200);
    for (name, value) in [
        ("Content-Type", "text/html; charset=utf-8"),
        ("Cache-Control", "no-cache"),
        ("Vary", "Accept-Encoding"),
        ("Content-Security-Policy", POLICY),
        ("Cross-Origin-Opener-Policy", "same-origin"),
        (
            "Permissions-Policy",
            "camera=(), microphone=(), geolocation=()",
        ),
        ("X-Content-Type-Options", "nosniff"),
        ("X-Frame-Options", "DENY"),
        ("Referrer-Policy", "no-referrer"),
    ] {
        assert_eq!(first.header(name), Some(value), "{name}");
    }
    // Somebody follows a link in a message: another site's request, without a cookie.
    let linked = anonymous.with("Sec-Fetch-Site", "cross-site");
    let linked = linked.with(
        "Accept",
        "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
    );
    for path in [
        "",
        "files/acme/shop.erp?branch=main&path=a%2Fb.xml",
        "tokens",
        "no/such/screen",
    ] {
        let answer = linked.get(&format!("{PAGE}{path}"));
        answer.assert_bytes(200, &first.body);
    }
    let tag = first.header("ETag").expect("a tag");
    let again = anonymous.with("If-None-Match", tag).get(PAGE);
    again.assert_empty(304);
    assert_eq!(again.header("Content-Security-Policy"), Some(POLICY));
    assert_eq!(
        anonymous.head(PAGE).lasting_headers(),
        first.lasting_headers()
    );
    let refused = anonymous.request("DELETE", "/site-builder/tokens").send();
    refused.assert_refused(405);
    assert_eq!(refused.header("Allow"), Some("GET, HEAD, OPTIONS"));
    let api = anonymous.get("/site-builder/api/nothing");
    api.assert_error(404, "there is no such route");
}

#[test]
fn assets_are_fresh_for_ever_and_compressed() {
    let daemon = Daemon::start();
    let anonymous = daemon.anonymous();
    for path in assets(&anonymous.get(PAGE)) {
        let plain = anonymous.get(&path).expect_status(200);
        assert_eq!(
            plain.header("Cache-Control"),
            Some("public, max-age=31536000, immutable")
        );
        let content_type = match path.rsplit_once('.').unwrap().1 {
            "js" => "text/javascript; charset=utf-8",
            "css" => "text/css; charset=utf-8",
            _ => "image/svg+xml",
        };
        assert_eq!(plain.header("Content-Type"), Some(content_type));
        let browser = anonymous.with("Accept-Encoding", "gzip, deflate, br");
        let compressed = browser.get(&path).expect_status(200);
        assert_eq!(compressed.header("Content-Encoding"), Some("gzip"));
        assert_eq!(compressed.header("Vary"), Some("Accept-Encoding"));
        let mut body = Vec::new();
        flate2::read::GzDecoder::new(&compressed.body[..])
            .read_to_end(&mut body)
            .unwrap();
        assert!(body == plain.body, "{path}");
        let tag = compressed.header("ETag").expect("a tag");
        browser
            .with("If-None-Match", tag)
            .get(&path)
            .assert_empty(304);
    }
}

#[test]
fn assets_of_another_version_are_not_there() {
    let daemon = Daemon::start();
    for path in ["-/0123456789abcdef/app.js", "-/0123456789abcdef", "-/"] {
        let answer = daemon.anonymous().get(&format!("{PAGE}{path}"));
        answer.assert_refused(404);
        assert_eq!(answer.header("Cache-Control"), Some("no-store"));
    }
}

#[test]
fn the_licences_of_what_the_page_is_made_of_are_told() {
    let daemon = Daemon::start();
    let anonymous = daemon.anonymous();
    if assets(&anonymous.get(PAGE)).is_empty() {
        return;
    }
    let answer = anonymous.get("/site-builder/licences").expect_status(200);
    assert!(answer.text().contains("preact"), "{}", answer.text());
    assert_eq!(
        answer.header("Content-Type"),
        Some("text/plain; charset=utf-8")
    );
}
