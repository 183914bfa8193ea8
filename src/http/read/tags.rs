//! `GET /projects/<project>/repository/tags` and `…/tags/<name>`
//!
//! A project has no tags: its snapshots are names of a branch. Clients that look for tags are told so.

use crate::http::error::Error;
use crate::http::list::pagination;
use crate::http::list::pagination::Paging;
use crate::http::reply::json;
use crate::http::reply::{Freshness, Reply};
use crate::http::request::context::RequestContext;
use crate::repo::Project;

/// The list of no tags.
pub(super) fn list(context: &RequestContext, project: &Project) -> Result<Reply, Error> {
    let paging = Paging::of(&context.query)?;
    let list = format!("tags/{}", project.number());
    let none: Vec<String> = Vec::new();
    let (part, headers) = pagination::cut(context, &paging, &list, none, String::clone)?;
    json::respond(context, &part, Freshness::Moving, headers.lines())
}

/// No tag has any name.
pub(super) fn show() -> Result<Reply, Error> {
    Err(Error::NotThere("404 Tag Not Found"))
}
