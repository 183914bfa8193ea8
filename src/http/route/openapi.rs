//! The route of the document that describes both APIs (contract section 8).

use hyper::Method;

/// The one route of the document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::http) enum Route {
    Document,
}

impl Route {
    /// The route with this method and path below the document's own.
    pub(in crate::http) fn find(method: &Method, segments: &[&str]) -> Option<Self> {
        (method == Method::GET && segments.is_empty()).then_some(Self::Document)
    }
}

crate::http::route::names::templates! {
    Self::Document => ["GET "] for Anybody,
}
