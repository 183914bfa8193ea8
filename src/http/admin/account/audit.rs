//! `GET /audit`

use serde::Serialize;

use crate::access::Caller;
use crate::base::clock::Timestamp;
use crate::base::limits::AUDIT_PAGE_MAX;
use crate::http::error::Error;
use crate::http::reply::{Freshness, Reply, json};
use crate::http::request::context::RequestContext;
use crate::http::request::params;
use crate::repo::audit::{Filter, Shown};

/// A page of the audit log.
#[derive(Debug, Serialize)]
struct PageJson<'a> {
    entries: Vec<Shown<'a>>,
    /// What `before` is for the next page.
    next: Option<u64>,
}

/// Lists the log, newest first, in pages.
pub(super) fn list(context: &RequestContext, caller: &Caller) -> Result<Reply, Error> {
    let query = &context.query;
    let now = context.service.clock.now();
    let since = query.text("since")?.map(|text| {
        Timestamp::parse_since(text, now).ok_or_else(|| {
            Error::malformed(
                "since is invalid: it must be RFC 3339, a day as 2026-11-21, or how long ago, as 30d or \
                 12h",
            )
        })
    });
    let before = query.text("before")?.map(|text| {
        let place = text.parse::<u64>();
        place.map_err(|_| Error::malformed("before is invalid: it must be a number from \"next\""))
    });
    let limit = params::limit_of(query, AUDIT_PAGE_MAX);
    let filter = Filter {
        since: since.transpose()?,
        user: query.text("user")?.map(str::to_owned),
        project: query.text("project")?.map(str::to_owned),
    };
    let (before, limit) = (before.transpose()?, limit?);
    let page =
        context
            .gate()
            .audit_page(caller, &filter, before, limit.unwrap_or(AUDIT_PAGE_MAX))?;
    let shown = PageJson {
        entries: page.entries.iter().map(Shown::new).collect(),
        next: page.next,
    };
    json::respond(context, &shown, Freshness::Moving, &[])
}
