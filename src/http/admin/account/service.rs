//! `GET /service`

use hyper::StatusCode;
use serde::Serialize;

use crate::access::{Caller, Writes};
use crate::base::build::BUILD;
use crate::http::error::Error;
use crate::http::facts::StoreFacts;
use crate::http::reply::Reply;
use crate::http::request::context::RequestContext;

/// How the service is. What is not known, or not counted yet, is `null`.
#[derive(Debug, Serialize)]
struct ServiceJson {
    version: &'static str,
    started_at: String,
    uptime_s: u64,
    /// Why no requests should be sent; empty if they should.
    hindrances: Vec<String>,
    writes_refused: bool,
    free_bytes: Option<u64>,
    disk_low: bool,
    connections: u64,
    /// What is counted once a minute.
    sessions: Option<u64>,
    tokens: Option<u64>,
    tokens_expiring: Option<u64>,
    accounts: Option<u64>,
    projects: Option<u64>,
    #[serde(flatten)]
    store: Option<StoreFacts>,
}

/// Tells it to who has the role for everything. Nothing is counted for it: memory has all but the room on
/// the disk and two small files.
pub(super) fn show(context: &RequestContext, caller: &Caller) -> Result<Reply, Error> {
    let (service, gate) = (&*context.service, context.gate());
    gate.require_root(caller)?;
    let state = service.health.look(gate);
    let census = service.facts.get().and_then(|facts| facts.census());
    let started_at = service.started_at;
    let shown = ServiceJson {
        version: BUILD.as_str(),
        started_at: started_at.to_string(),
        uptime_s: service.uptime_s(),
        hindrances: state.hindrances(),
        writes_refused: state.writes != Writes::Taken,
        free_bytes: state.free_bytes,
        disk_low: state.disk_low,
        connections: service.tallies.connections_open.get(),
        sessions: census.map(|census| census.sessions),
        tokens: census.map(|census| census.tokens),
        tokens_expiring: census.map(|census| census.tokens_ending),
        accounts: census.map(|census| census.accounts),
        projects: census.map(|census| census.projects),
        store: service.facts.get().map(|facts| facts.store()),
    };
    Ok(Reply::json(StatusCode::OK, &shown))
}
