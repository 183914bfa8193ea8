//! The routes of those who watch the service.

use hyper::Method;

/// Whether the process answers, and whether it should be sent requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::http) enum Route {
    /// `GET /livez`
    Live,
    /// `GET /readyz`
    Ready,
}

impl Route {
    /// The route with this method and path.
    pub(in crate::http) fn find(method: &Method, segments: &[&str]) -> Option<Self> {
        match (method.as_str(), segments) {
            ("GET", ["livez"]) => Some(Self::Live),
            ("GET", ["readyz"]) => Some(Self::Ready),
            _ => None,
        }
    }
}

crate::http::route::names::templates! {
    Self::Live => ["GET /livez"] for Anybody,
    Self::Ready => ["GET /readyz"] for Anybody,
}
