//! A routed request, as handlers see it.

use std::sync::Arc;

use hyper::HeaderMap;
use hyper::http::request::Parts;

use super::query::Query;
use super::{HttpSettings, Service, origin};
use crate::access::Gate;

/// What a handler may look at: everything of the request but its body.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) service: Arc<Service>,
    pub(super) head: Parts,
    pub(super) query: Query,
}

impl Call {
    /// Puts a request's parts together.
    pub(super) fn new(service: Arc<Service>, head: Parts, query: Query) -> Self {
        Self {
            service,
            head,
            query,
        }
    }

    /// The gate.
    pub(super) fn gate(&self) -> &Gate {
        &self.service.gate
    }

    /// The operator's settings.
    pub(super) fn settings(&self) -> &HttpSettings {
        &self.service.settings
    }

    /// The request's headers.
    pub(super) fn headers(&self) -> &HeaderMap {
        &self.head.headers
    }

    /// The address of the service as this client knows it, without a slash at its end.
    pub(super) fn base_url(&self) -> String {
        origin::base_url(&self.head, self.settings())
    }

    /// The address of the Read API as this client knows it, without a slash at its end: what a client
    /// of GitLab takes for the address of the whole service.
    pub(super) fn mount_url(&self) -> String {
        let mut base = self.base_url();
        let path = self.head.uri.path().trim_start_matches('/');
        base.push_str(match path.split('/').next() {
            Some("api") => "/api/v4",
            _ => "/site-builder/api/erp-config",
        });
        base
    }
}
