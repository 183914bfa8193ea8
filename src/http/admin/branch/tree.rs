//! `GET …/tree`, of a branch and of its snapshots: whole, in pages, and what is searched in it.

use regex::{Regex, RegexBuilder};
use serde::Serialize;

use crate::access::Caller;
use crate::base::file_path::FilePath;
use crate::base::limits::{
    LAST_CHANGE_PAGE_MAX, REGEX_PROGRAM_BYTES_MAX, TREE_PAGE_MAX, TREE_SEARCH_BYTES_MAX,
    TREE_SEARCHED_MAX,
};
use crate::http::admin::open::open_state;
use crate::http::error::{ApiFlavor, Error};
use crate::http::list::stream;
use crate::http::reply::{Freshness, Reply, json};
use crate::http::request::context::RequestContext;
use crate::http::request::params;
use crate::http::route::admin::BranchAt;
use crate::http::shape::entry::EntryJson;
use crate::repo::{EntryKind, LastEntry, Listing, Revision, TreeEntry};

/// A part of a listing that a request asks for.
struct Part {
    search: Option<Regex>,
    limit: usize,
    after: Option<LastEntry>,
    with_last_change: bool,
}

/// An entry of a page.
#[derive(Serialize)]
struct PageEntryJson<'a> {
    #[serde(flatten)]
    entry: EntryJson<'a>,
    /// Of files, where it is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_change: Option<LastChangeJson>,
}

/// Who last changed a file, and when.
#[derive(Serialize)]
#[serde(untagged)]
enum LastChangeJson {
    Known {
        at: String,
        by: String,
    },
    /// Longer ago than is searched.
    Unknown,
}

/// Lists a folder of a state, or everything below it: whole, or with `search`, `limit`, `after` or
/// `with` in pages. What follows a page is named by its `Link`.
pub(super) fn list(
    context: &RequestContext,
    caller: &Caller,
    at: &BranchAt,
    version: Option<&str>,
) -> Result<Reply, Error> {
    let folder = params::folder(context.query.text("path")?)?;
    let recursive = context.query.flag("recursive")?;
    let part = Part::of(context)?;
    let revision = open_state(context, caller, at, version)?;
    let listing = revision.listing(folder.as_ref(), recursive)?;
    match part {
        Some(part) => page(context, &revision, &listing, &part),
        None => whole(context, listing),
    }
}

fn whole(context: &RequestContext, listing: Listing) -> Result<Reply, Error> {
    if stream::is_long(&listing) {
        let freshness = Freshness::Moving;
        return Ok(stream::respond(
            context,
            listing,
            ApiFlavor::Admin,
            freshness,
            &[],
        ));
    }
    let _room = context.room_to_list(stream::bytes_of(listing.total()))?;
    let entries = listing.part(0, listing.total())?;
    let shown = entries.iter().map(EntryJson::with_content).map(Ok);
    json::list_of(context, shown, &[])
}

fn page(
    context: &RequestContext,
    revision: &Revision,
    listing: &Listing,
    part: &Part,
) -> Result<Reply, Error> {
    let elsewhere = || Error::malformed("after is invalid: it is no path that this list has");
    let after = part.after.as_ref();
    let (entries, next) = if let Some(search) = &part.search {
        let found = listing.search(
            &|path| search.is_match(path),
            after,
            part.limit,
            TREE_SEARCHED_MAX,
        )?;
        let found = found.ok_or_else(elsewhere)?;
        (found.entries, found.next)
    } else {
        let shown = match after {
            Some(after) => listing.place_after(after)?.ok_or_else(elsewhere)?,
            None => 0,
        };
        let entries = listing.part(shown, part.limit as u64)?;
        let more = shown.saturating_add(entries.len() as u64) < listing.total();
        let next = entries.last().filter(|_| more);
        let next = next.map(LastEntry::of);
        (entries, next)
    };
    let shown: Vec<_> = entries
        .iter()
        .map(|entry| PageEntryJson::new(revision, entry, part.with_last_change))
        .collect::<Result<_, _>>()?;
    let next = next.as_ref().map(|last| ("after", last.as_str()));
    json::page(context, &shown, next)
}

impl Part {
    /// The part that is asked for; `None` for all.
    fn of(context: &RequestContext) -> Result<Option<Self>, Error> {
        let query = &context.query;
        let search = query.text("search")?;
        let after = query.text("after")?.map(LastEntry::parse).transpose()?;
        let with_last_change = match query.text("with")? {
            None => false,
            Some("last_change") => true,
            Some(_) => return Err(Error::malformed("with is invalid: it must be last_change")),
        };
        let most = if with_last_change {
            LAST_CHANGE_PAGE_MAX
        } else {
            TREE_PAGE_MAX
        };
        let limit = params::limit_of(query, most)?;
        if search.is_none() && limit.is_none() && after.is_none() && !with_last_change {
            return Ok(None);
        }
        Ok(Some(Self {
            search: search.map(matcher).transpose()?,
            limit: limit.unwrap_or(most),
            after,
            with_last_change,
        }))
    }
}

/// Finds a text as a part of others, whatever its case.
fn matcher(text: &str) -> Result<Regex, Error> {
    if text.len() > TREE_SEARCH_BYTES_MAX {
        return Err(Error::malformed("search is longer than 255 bytes"));
    }
    RegexBuilder::new(&regex::escape(text))
        .case_insensitive(true)
        .size_limit(REGEX_PROGRAM_BYTES_MAX)
        .build()
        .map_err(|_| Error::malformed("search is invalid: it is too long"))
}

impl<'a> PageEntryJson<'a> {
    fn new(
        revision: &Revision,
        entry: &'a TreeEntry,
        with_last_change: bool,
    ) -> Result<Self, Error> {
        let is_file = matches!(entry.kind, EntryKind::File { .. });
        let last_change = if with_last_change && is_file {
            let found = revision.last_changed(&FilePath::parse(&entry.path)?)?;
            Some(match found {
                Some((at, by)) => LastChangeJson::Known {
                    at: at.to_string(),
                    by,
                },
                None => LastChangeJson::Unknown,
            })
        } else {
            None
        };
        Ok(Self {
            entry: EntryJson::with_content(entry),
            last_change,
        })
    }
}
