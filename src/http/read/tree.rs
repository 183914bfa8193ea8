//! `GET /projects/<project>/repository/tree`

use serde::{Deserialize, Serialize};

use crate::base::file_path::FilePath;
use crate::base::id::ManifestId;
use crate::base::may_block;
use crate::http::error::Error;
use crate::http::list::cache::{RenderedKey, ShownState};
use crate::http::list::page_token;
use crate::http::list::pagination::{PageHeaders, Paging};
use crate::http::list::stream::{self, Form};
use crate::http::reply::json::JsonBody;
use crate::http::reply::{Freshness, Reply, gzip};
use crate::http::request::context::RequestContext;
use crate::http::request::params;
use crate::http::shape::entry::EntryJson;
use crate::repo::{Project, Revision};

/// A place in a tree: the state that the first page showed, and how much of it was shown. Saves that
/// come between two pages move nothing.
#[derive(Debug, Serialize, Deserialize)]
struct Place {
    branch: u64,
    manifest: ManifestId,
    shown: u64,
}

/// Lists a folder of a revision, or everything below it.
pub(super) fn list(context: &RequestContext, project: &Project) -> Result<Reply, Error> {
    let reference = params::reference(context.query.text("ref")?)?;
    let folder = params::folder(context.query.text("path")?)?;
    let recursive = context.query.flag("recursive")?;
    let paging = Paging::of_tree(&context.query, recursive)?;
    let list = list_name(project, reference, folder.as_ref(), recursive);

    let mut shown = 0;
    let revision = match &paging {
        Paging::From {
            token: Some(token), ..
        } => {
            let place: Place = page_token::read(context, &list, token)?;
            shown = place.shown;
            project.reopen(place.branch, place.manifest)
        }
        _ => project.resolve(reference),
    };
    let revision =
        revision.map_err(|error| Error::from(error).revision_as("404 Tree Not Found"))?;
    let freshness = Freshness::of_reference(reference);
    let gzip = gzip::is_accepted(context.headers());
    let key = RenderedKey {
        state: ShownState::Revision(revision.id()),
        url: context.url(),
        gzip,
    };
    let rendered = &context.service.rendered;
    if let Some(body) = rendered.get(&key) {
        return Ok(body.reply(context.headers()));
    }
    let listing = may_block(|| revision.listing(folder.as_ref(), recursive))?;
    let total = listing.total();
    let whole = matches!(paging, Paging::Whole | Paging::Plain);
    let (skip, take, headers) = match paging {
        Paging::Whole => (0, total, PageHeaders::whole(total)),
        Paging::Plain => (0, total, PageHeaders::default()),
        Paging::Numbered { page, per_page } => {
            let skip = (page - 1).saturating_mul(per_page);
            let headers = PageHeaders::numbered(context, page, per_page, total);
            (skip, per_page, headers)
        }
        Paging::From { per_page, .. } => {
            let end = shown.saturating_add(per_page);
            let next = (end < total).then(|| {
                let place = place_in(&revision, end);
                page_token::make(context, &list, &place)
            });
            let headers = PageHeaders::from_place(context, per_page, next.as_deref());
            (shown, per_page, headers)
        }
    };
    let lines = headers.lines();
    if whole && stream::is_long(&listing) {
        return Ok(stream::respond(
            context,
            listing,
            Form::Read,
            freshness,
            lines,
        ));
    }
    let body = rendered.get_or_render(&key, || {
        let entries = listing.part(skip, take)?;
        let shown: Vec<_> = entries.iter().map(EntryJson::new).collect();
        Ok(JsonBody::of(&shown, lines, freshness, gzip))
    })?;
    Ok(body.reply(context.headers()))
}

fn place_in(revision: &Revision, shown: u64) -> Place {
    Place {
        branch: revision.branch_number(),
        manifest: revision.manifest(),
        shown,
    }
}

/// What a token of this list is sealed to.
fn list_name(
    project: &Project,
    reference: Option<&str>,
    folder: Option<&FilePath>,
    recursive: bool,
) -> String {
    let number = project.number();
    let reference = reference.unwrap_or("HEAD");
    let folder = folder.map_or("", FilePath::as_str);
    // No name holds a line break.
    format!("tree\n{number}\n{reference}\n{folder}\n{recursive}")
}
