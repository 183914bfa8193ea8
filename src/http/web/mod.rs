//! The page at `/site-builder/`, for people with a browser. It is a client of the Admin API as any other: what
//! is here serves its files and knows nothing of what they do. Nobody needs to be logged in to get them.

mod assets;

use hyper::header::{
    ACCEPT, CACHE_CONTROL, CONTENT_SECURITY_POLICY, ETAG, HeaderName, HeaderValue, LOCATION, VARY,
};
use hyper::{HeaderMap, StatusCode};

use super::error::Error;
use super::read::token;
use super::reply::Reply;
use super::reply::coding::Coding;
use super::route::web::Route;
use assets::{File, Form, Page};

/// Scripts and styles come from the service alone, none from the text of a document; nothing that a string
/// says becomes a script. Styles in a shadow root are objects, to which this does not apply.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
    img-src 'self' data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'; \
    require-trusted-types-for 'script'; trusted-types 'none'";

/// The document's headers besides those of every answer.
const DOCUMENT_HEADERS: [(HeaderName, &str); 4] = [
    (CACHE_CONTROL, "no-cache"),
    (CONTENT_SECURITY_POLICY, POLICY),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("permissions-policy"),
        "camera=(), microphone=(), geolocation=()",
    ),
];

/// Answers with a part of the page, or with 304 to a client that has it.
///
/// # Errors
/// 404 for an asset that this build does not have, as of another version, and for a program at a wrong address.
pub(in crate::http) fn respond(route: &Route, headers: &HeaderMap) -> Result<Reply, Error> {
    let page = Page::served();
    match route {
        Route::Home => {
            let reply = Reply::empty(StatusCode::SEE_OTHER);
            Ok(reply.with(LOCATION, HeaderValue::from_static("/site-builder/")))
        }
        // A probe, or a client of an API whose address is not quite right, would take the document for an answer.
        Route::Document { is_below: true } if !is_of_browser(headers) => Err(Error::NoRoute),
        Route::Document { .. } => {
            let mut reply = unless_known(&page.document, headers);
            for (name, value) in DOCUMENT_HEADERS {
                reply = reply.with(name, HeaderValue::from_static(value));
            }
            Ok(reply)
        }
        Route::Licences => {
            let reply = unless_known(&page.licences, headers);
            Ok(reply.with(CACHE_CONTROL, HeaderValue::from_static("no-cache")))
        }
        Route::Asset { hash, name } => {
            let asset = page.assets.get(name).filter(|_| *hash == page.hash);
            let asset = asset.ok_or(Error::NotThere("there is no such asset in this version"))?;
            let for_ever = HeaderValue::from_static("public, max-age=31536000, immutable");
            Ok(unless_known(asset, headers).with(CACHE_CONTROL, for_ever))
        }
    }
}

/// True for a request as a browser makes it that is led to an address: it asks for HTML and shows no token.
fn is_of_browser(headers: &HeaderMap) -> bool {
    let lines = headers.get_all(ACCEPT).iter();
    let mut types = lines
        .flat_map(|line| line.as_bytes().split(|&b| b == b','))
        .filter_map(|member| member.split(|&b| b == b';').next());
    let takes_html = types.any(|kind| kind.trim_ascii().eq_ignore_ascii_case(b"text/html"));
    takes_html && !token::is_shown(headers)
}

/// The file with its tag, compressed for who takes it.
fn unless_known(file: &File, headers: &HeaderMap) -> Reply {
    let coding = Coding::accepted(headers);
    let Form { bytes, tag } = match coding {
        Coding::Identity => file.plain(),
        Coding::Gzip => file.compressed(),
    };
    let reply = if tag.is_known_to(headers) {
        Reply::empty(StatusCode::NOT_MODIFIED)
    } else {
        Reply::bytes(StatusCode::OK, file.content_type, bytes.clone()).coded(coding)
    };
    reply
        .with(ETAG, tag.header())
        .with(VARY, HeaderValue::from_static("Accept-Encoding"))
}
