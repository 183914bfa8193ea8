//! `GET /projects/<project>/repository/tree`

use serde::{Deserialize, Serialize};

use crate::base::file_path::FilePath;
use crate::base::id::ManifestId;
use crate::http::error::{ApiFlavor, Error};
use crate::http::list::page_token;
use crate::http::list::pagination::{PageHeaders, Paging};
use crate::http::list::stream;
use crate::http::reply::cache::{RenderedKey, ShownState};
use crate::http::reply::coding::Coding;
use crate::http::reply::{Freshness, Reply, json};
use crate::http::request::context::RequestContext;
use crate::http::request::params;
use crate::http::shape::entry::EntryJson;
use crate::repo;
use crate::repo::{Project, Revision};

/// A place in a tree: the state that the first page showed, and how much of it was shown. Saves that
/// come between two pages move nothing.
#[derive(Debug, Serialize, Deserialize)]
struct PageCursor {
    branch: u64,
    manifest: ManifestId,
    shown: u64,
}

/// What a request asks for: a part of a list of a folder.
struct Asked {
    reference: Option<String>,
    folder: Option<FilePath>,
    recursive: bool,
    paging: Paging,
    /// What a token of the list is sealed to.
    list: String,
    /// Where the pages before ended, by a token.
    place: Option<PageCursor>,
}

impl Asked {
    fn by(context: &RequestContext, project: &Project) -> Result<Self, Error> {
        let reference = params::reference(context.query.text("ref")?)?;
        let folder = params::folder_or_dot(context.query.text("path")?)?;
        let recursive = context.query.flag("recursive")?;
        let paging = Paging::of_tree(&context.query, recursive)?;
        let list = list_name(project, reference, folder.as_ref(), recursive);
        let place = match &paging {
            Paging::From {
                token: Some(token), ..
            } => Some(page_token::read(context, &list, token)?),
            _ => None,
        };
        Ok(Self {
            reference: reference.map(str::to_owned),
            folder,
            recursive,
            paging,
            list,
            place,
        })
    }

    /// The state that is shown. It is searched for where that is needed.
    fn state(&self, project: &Project) -> Result<Revision, Error> {
        let state = match &self.place {
            Some(place) => project.reopen(place.branch, place.manifest),
            None => project.resolve(self.reference.as_deref()),
        };
        state.map_err(not_found)
    }

    /// The state that is shown, `None` where it has to be searched for.
    fn known_state(&self, project: &Project) -> Result<Option<Revision>, Error> {
        let state = match &self.place {
            Some(place) => project.reopen(place.branch, place.manifest).map(Some),
            None => project.resolve_known(self.reference.as_deref()),
        };
        state.map_err(not_found)
    }

    /// How long the answer may be used again.
    fn freshness(&self) -> Freshness {
        Freshness::of_reference(self.reference.as_deref())
    }

    /// By what the answer is kept. One without pages has no links: whatever else is in its address, it is the same.
    fn key(&self, context: &RequestContext, state: &Revision) -> RenderedKey {
        let asked = match self.paging {
            Paging::Whole | Paging::Plain => {
                let folder = self.folder.as_ref().map_or("", FilePath::as_str);
                let (paging, freshness) = (&self.paging, self.freshness());
                format!("{paging:?} {freshness:?} {} {folder}", self.recursive)
            }
            Paging::Numbered { .. } | Paging::From { .. } => context.url(),
        };
        RenderedKey {
            state: ShownState::of_revision(state),
            asked,
            coding: Coding::accepted(context.headers()),
        }
    }

    /// Entries that were shown on the pages before.
    fn shown(&self) -> u64 {
        self.place.as_ref().map_or(0, |place| place.shown)
    }

    /// Where the page begins, how many entries it has, and what its headers say.
    fn part(
        &self,
        context: &RequestContext,
        state: &Revision,
        total: u64,
    ) -> (u64, u64, PageHeaders) {
        match self.paging {
            Paging::Whole => (0, total, PageHeaders::whole(total)),
            Paging::Plain => (0, total, PageHeaders::default()),
            Paging::Numbered { page, per_page } => {
                let skip = (page - 1).saturating_mul(per_page);
                let headers = PageHeaders::numbered(context, page, per_page, total);
                (skip, per_page, headers)
            }
            Paging::From { per_page, .. } => {
                let end = self.shown().saturating_add(per_page);
                let next = (end < total).then(|| {
                    let place = place_in(state, end);
                    page_token::make(context, &self.list, &place)
                });
                let headers = PageHeaders::from_place(context, per_page, next.as_deref());
                (self.shown(), per_page, headers)
            }
        }
    }
}

fn not_found(error: repo::Error) -> Error {
    Error::from(error).revision_as("404 Tree Not Found")
}

/// The answer of [`list`] if it is kept for the state that the branch is in.
pub(super) fn rendered(
    context: &RequestContext,
    project: &Project,
) -> Result<Option<Reply>, Error> {
    let asked = Asked::by(context, project)?;
    let Some(state) = asked.known_state(project)? else {
        return Ok(None);
    };
    let kept = context.service.rendered.get(&asked.key(context, &state));
    Ok(kept.map(|body| body.reply(context.headers())))
}

/// True if the revision has to be searched for.
pub(super) fn searches(context: &RequestContext, project: &Project) -> Result<bool, Error> {
    let asked = Asked::by(context, project)?;
    Ok(asked.known_state(project)?.is_none())
}

/// Lists a folder of a revision, or everything below it.
pub(super) fn list(context: &RequestContext, project: &Project) -> Result<Reply, Error> {
    let asked = Asked::by(context, project)?;
    let state = asked.state(project)?;
    let freshness = asked.freshness();
    let unless_pruned = |error| not_found(state.or_pruned(error));
    let listing = state.listing(asked.folder.as_ref(), asked.recursive);
    let listing = listing.map_err(unless_pruned)?;
    let (skip, take, headers) = asked.part(context, &state, listing.total());
    let lines = headers.lines();
    let whole = matches!(asked.paging, Paging::Whole | Paging::Plain);
    if whole && stream::is_long(&listing) {
        return Ok(stream::respond(
            context,
            listing,
            ApiFlavor::Read,
            freshness,
            lines,
        ));
    }
    let key = asked.key(context, &state);
    let rendered = &context.service.rendered;
    let body = rendered.get_or_render(&key, || {
        let entries = listing.part(skip, take).map_err(unless_pruned)?;
        let shown: Vec<_> = entries.iter().map(EntryJson::new).collect();
        json::shared(context, &shown, lines, freshness, key.coding)
    })?;
    Ok(body.reply(context.headers()))
}

fn place_in(revision: &Revision, shown: u64) -> PageCursor {
    PageCursor {
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
