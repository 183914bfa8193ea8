//! What was deleted, listed and restored.

use hyper::StatusCode;
use serde::Deserialize;

use super::projects;
use crate::access;
use crate::access::{Caller, Restored};
use crate::http::admin::branch::shape;
use crate::http::error::Error;
use crate::http::list::pagination;
use crate::http::list::pagination::Paging;
use crate::http::reply::{Reply, json};
use crate::http::request::context::RequestContext;
use crate::http::request::{conditions, json_body};
use crate::repo;
use crate::repo::{Deleted, ShownDeleted};

/// About so many bytes are told of what was deleted, and as many are in memory before.
const DELETED_BYTES: usize = 512;

/// What a restore may send.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    /// Another name: the repo id of a project, the name of a branch.
    #[serde(default, rename = "as", deserialize_with = "json_body::given")]
    name: Option<String>,
}

/// `GET /deleted`, whole or in GitLab's pages, the newest deletion first.
pub(super) fn list(context: &RequestContext, caller: &Caller) -> Result<Reply, Error> {
    let accessible = projects::is_accessible(context)?;
    let paging = Paging::of(&context.query)?;
    let mut room = None;
    // A page takes as much, too: the newest are known when all were looked at.
    let deleted = context.gate().deleted(caller, accessible, |count| {
        if room.is_none() {
            room = context.room_to_list(count.saturating_mul(DELETED_BYTES))?;
        }
        Ok::<_, Error>(())
    })?;
    let list = format!("deleted/{accessible}");
    let place = |deleted: &Deleted| (-deleted.deleted_at().ms(), deleted.id().numbers());
    let (part, headers) = pagination::cut(context, &paging, &list, deleted, place)?;
    let shown = part.iter().map(|deleted| shown(context, deleted));
    json::list_of(context, shown, headers.lines())
}

fn shown(context: &RequestContext, deleted: &Deleted) -> Result<ShownDeleted, Error> {
    let owner = context.gate().owner_name_of_deleted(deleted)?;
    let keep_days = context.settings().keep_deleted_days;
    Ok(ShownDeleted::new(deleted, Some(owner), keep_days))
}

/// `POST /deleted/<id>/restore`
pub(super) fn restore(
    context: &RequestContext,
    caller: &Caller,
    id: &str,
    body: Option<&[u8]>,
) -> Result<Reply, Error> {
    conditions::check_untagged(context.headers())?;
    let wanted: Wanted = body.map(json_body::read).transpose()?.unwrap_or_default();
    let restored = context.gate().restore(caller, id, wanted.name.as_deref());
    let shown = match restored.map_err(advised)? {
        Restored::Project(project) => projects::shown(context, caller, StatusCode::OK, &project),
        Restored::Branch(branch) => shape::shown(context, caller, StatusCode::OK, &branch),
    };
    shown.map_err(Error::after_change)
}

/// Says what to do about a name that is taken.
fn advised(error: access::Error) -> Error {
    match error {
        access::Error::Repo(repo::Error::Exists { what }) => Error::Malformed(format!(
            "a {what} of this name exists already: restore the deleted one under another, as in \
             {{\"as\": \"{}\"}}",
            if what == "project" {
                "acme/shop2.erp"
            } else {
                "main2"
            }
        )),
        other => other.into(),
    }
}
