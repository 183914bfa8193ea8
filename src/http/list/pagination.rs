//! Pages of lists, as GitLab cuts them: by number, or from a place on (contract section 5).

use hyper::header::{HeaderName, HeaderValue, LINK};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::links::page_url;
use super::page_token;
use crate::base::limits::{LINKED_QUERY_BYTES_MAX, PAGE_ENTRIES_MAX, PAGE_ENTRIES_USUAL};
use crate::http::error::Error;
use crate::http::request::context::RequestContext;
use crate::http::request::query::Query;

/// Which part of a list a request asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::http) enum Paging {
    /// Nothing was said about pages: the whole list.
    Whole,
    /// The whole list, without a word about pages: `pagination=none`.
    Plain,
    /// The page of this number, from 1 on.
    Numbered {
        /// The number.
        page: u64,
        /// Entries on a page.
        per_page: u64,
    },
    /// What follows a place: `pagination=keyset`.
    From {
        /// The place's token, `None` for the beginning.
        token: Option<String>,
        /// Entries on a page.
        per_page: u64,
    },
}

impl Paging {
    /// Reads the parameters of a list.
    ///
    /// # Errors
    /// A value that GitLab refuses, in its words; [`Error::LongTarget`] above [`LINKED_QUERY_BYTES_MAX`].
    pub(in crate::http) fn of(query: &Query) -> Result<Self, Error> {
        match Self::read(query)? {
            Self::Plain => Err(unknown_pagination()),
            paging => Ok(paging),
        }
    }

    /// Reads the parameters of a tree, which can also be had plain.
    ///
    /// # Errors
    /// As [`Paging::of`].
    pub(in crate::http) fn of_tree(query: &Query, recursive: bool) -> Result<Self, Error> {
        match Self::read(query)? {
            Self::Plain if !recursive => Err(Error::malformed(
                "pagination cannot be \"none\" unless \"recursive\" is true",
            )),
            paging => Ok(paging),
        }
    }

    /// Reads the parameters of a list that has numbered pages alone: which page, and how many entries it has. As
    /// at GitLab it does not matter there what `pagination` says: clients add it to every list.
    ///
    /// # Errors
    /// As [`Paging::of`].
    pub(in crate::http) fn by_number(query: &Query) -> Result<(u64, u64), Error> {
        let (page, per_page) = Self::numbers(query)?;
        // What comes before the first page is the first page.
        let page = page.unwrap_or(1).max(1).unsigned_abs();
        Ok((page, per_page.unwrap_or(PAGE_ENTRIES_USUAL)))
    }

    /// What is said of numbers.
    fn numbers(query: &Query) -> Result<(Option<i64>, Option<u64>), Error> {
        let page = number(query, "page")?;
        let per_page = match number(query, "per_page")? {
            Some(0) => return Err(Error::malformed("per_page has a value not allowed")),
            // As at GitLab a number below 0 says nothing.
            given => given.and_then(|number| u64::try_from(number).ok()),
        };
        let bytes = query.pairs().map(|(key, value)| key.len() + value.len());
        if bytes.sum::<usize>() > LINKED_QUERY_BYTES_MAX {
            return Err(Error::LongTarget);
        }
        Ok((page, per_page.map(|number| number.min(PAGE_ENTRIES_MAX))))
    }

    fn read(query: &Query) -> Result<Self, Error> {
        let pagination = query.text("pagination")?;
        let (page, per_page) = Self::numbers(query)?;
        let said = pagination.is_some() || page.is_some() || per_page.is_some();
        match pagination {
            None if !said => Ok(Self::Whole),
            None | Some("legacy") => {
                let (page, per_page) = Self::by_number(query)?;
                Ok(Self::Numbered { page, per_page })
            }
            Some("keyset") => Ok(Self::From {
                token: query.text("page_token")?.map(str::to_owned),
                per_page: per_page.unwrap_or(PAGE_ENTRIES_USUAL),
            }),
            Some("none") => Ok(Self::Plain),
            Some(_) => Err(unknown_pagination()),
        }
    }
}

fn unknown_pagination() -> Error {
    Error::malformed("pagination does not have a valid value")
}

/// A whole number of any length; one that no list can reach stands for the largest.
fn number(query: &Query, key: &'static str) -> Result<Option<i64>, Error> {
    let Some(text) = query.text(key)? else {
        return Ok(None);
    };
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(Error::Malformed(format!("{key} is invalid")));
    }
    let largest = if text.starts_with('-') {
        i64::MIN
    } else {
        i64::MAX
    };
    Ok(Some(text.parse().unwrap_or(largest)))
}

/// What the headers of an answer say of the page in it and those around it.
#[derive(Clone, Debug, Default)]
pub(in crate::http) struct PageHeaders {
    lines: Vec<(HeaderName, HeaderValue)>,
}

impl PageHeaders {
    /// Of a list of this length that is answered whole.
    pub(in crate::http) fn whole(total: u64) -> Self {
        let mut headers = Self::default();
        headers.numbers(1, total.max(PAGE_ENTRIES_USUAL), None, None);
        headers.totals(total, 1);
        headers
    }

    /// Of a numbered page of a list of this length.
    pub(in crate::http) fn numbered(
        context: &RequestContext,
        page: u64,
        per_page: u64,
        total: u64,
    ) -> Self {
        let pages = total.div_ceil(per_page).max(1);
        let mut headers = Self::default();
        let previous = (1 < page && page <= pages).then(|| page - 1);
        let next = (page < pages).then(|| page + 1);
        headers.numbers(page, per_page, previous, next);
        headers.totals(total, pages);
        headers.links(context, per_page, previous, next, Some(pages));
        headers
    }

    /// Of a numbered page of a list whose length is not known.
    pub(in crate::http) fn numbered_open(
        context: &RequestContext,
        page: u64,
        per_page: u64,
        more: bool,
    ) -> Self {
        let mut headers = Self::default();
        let previous = (1 < page).then(|| page - 1);
        let next = more.then(|| page + 1);
        headers.numbers(page, per_page, previous, next);
        headers.links(context, per_page, previous, next, None);
        headers
    }

    /// Of a page that begins at a place; `next` is the token of the one after it.
    pub(in crate::http) fn from_place(
        context: &RequestContext,
        per_page: u64,
        next: Option<&str>,
    ) -> Self {
        let mut headers = Self::default();
        if let Some(token) = next {
            let per_page = per_page.to_string();
            let url = page_url(context, &[("per_page", &per_page), ("page_token", token)]);
            headers.line(LINK, &format!("<{url}>; rel=\"next\""));
        }
        headers
    }

    /// The header lines.
    pub(in crate::http) fn lines(&self) -> &[(HeaderName, HeaderValue)] {
        &self.lines
    }

    fn numbers(&mut self, page: u64, per_page: u64, previous: Option<u64>, next: Option<u64>) {
        let or_empty = |page: Option<u64>| page.map_or_else(String::new, |page| page.to_string());
        self.line(HeaderName::from_static("x-page"), &page.to_string());
        self.line(HeaderName::from_static("x-per-page"), &per_page.to_string());
        self.line(HeaderName::from_static("x-prev-page"), &or_empty(previous));
        self.line(HeaderName::from_static("x-next-page"), &or_empty(next));
    }

    fn totals(&mut self, total: u64, pages: u64) {
        self.line(HeaderName::from_static("x-total"), &total.to_string());
        self.line(HeaderName::from_static("x-total-pages"), &pages.to_string());
    }

    fn links(
        &mut self,
        context: &RequestContext,
        per_page: u64,
        previous: Option<u64>,
        next: Option<u64>,
        last: Option<u64>,
    ) {
        let per_page = per_page.to_string();
        let link = |(relation, page): (&str, Option<u64>)| {
            let page = page?.to_string();
            let url = page_url(context, &[("page", &page), ("per_page", &per_page)]);
            Some(format!("<{url}>; rel=\"{relation}\""))
        };
        let around = [
            ("prev", previous),
            ("next", next),
            ("first", Some(1)),
            ("last", last),
        ];
        let links: Vec<_> = around.into_iter().filter_map(link).collect();
        self.line(LINK, &links.join(", "));
    }

    fn line(&mut self, name: HeaderName, value: &str) {
        let value = HeaderValue::try_from(value).expect("links are escaped, numbers are digits");
        self.lines.push((name, value));
    }
}

/// Cuts the page that is asked for out of a list that is in memory. The entries rise by `place`, a
/// place in the list; no two are at the same. `list` names the list to its tokens.
///
/// # Errors
/// A token of another list, or none of ours.
pub(in crate::http) fn cut<T, P: Ord + Serialize + DeserializeOwned>(
    context: &RequestContext,
    paging: &Paging,
    list: &str,
    mut entries: Vec<T>,
    place: impl Fn(&T) -> P,
) -> Result<(Vec<T>, PageHeaders), Error> {
    let total = entries.len() as u64;
    match paging {
        Paging::Whole => Ok((entries, PageHeaders::whole(total))),
        Paging::Plain => Ok((entries, PageHeaders::default())),
        Paging::Numbered { page, per_page } => {
            let (page, per_page) = (*page, *per_page);
            let skip = (page - 1).saturating_mul(per_page);
            let part = entries
                .into_iter()
                .skip(usize::try_from(skip).unwrap_or(usize::MAX))
                .take(usize::try_from(per_page).unwrap_or(usize::MAX))
                .collect();
            let headers = PageHeaders::numbered(context, page, per_page, total);
            Ok((part, headers))
        }
        Paging::From { token, per_page } => {
            if let Some(token) = token {
                let after: P = page_token::read(context, list, token)?;
                let shown = entries.partition_point(|entry| place(entry) <= after);
                entries.drain(..shown);
            }
            let wanted = usize::try_from(*per_page).unwrap_or(usize::MAX);
            let more = entries.len() > wanted;
            entries.truncate(wanted);
            let last = entries.last().filter(|_| more);
            let next = last.map(|last| page_token::make(context, list, &place(last)));
            let headers = PageHeaders::from_place(context, *per_page, next.as_deref());
            Ok((entries, headers))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(query: &str, recursive: bool) -> Result<Paging, String> {
        Paging::of_tree(&Query::parse(query).unwrap(), recursive).map_err(|error| error.to_string())
    }

    #[test]
    fn parameters_are_read_as_at_gitlab() {
        let numbered = |page, per_page| Ok(Paging::Numbered { page, per_page });
        for (query, expected) in [
            ("", Ok(Paging::Whole)),
            ("page=&per_page=", Ok(Paging::Whole)),
            ("page=2", numbered(2, 20)),
            ("page=0", numbered(1, 20)),
            ("page=-3", numbered(1, 20)),
            ("per_page=100", numbered(1, 100)),
            ("per_page=101", numbered(1, 100)),
            ("per_page=99999999999999999999", numbered(1, 100)),
            ("pagination=legacy&page=3&per_page=7", numbered(3, 7)),
            (
                "pagination=keyset&per_page=5&page_token=x&page=9",
                Ok(Paging::From {
                    token: Some("x".into()),
                    per_page: 5,
                }),
            ),
            ("pagination=none&per_page=5", Ok(Paging::Plain)),
            ("page=abc", Err("page is invalid".into())),
            ("page=1.5", Err("page is invalid".into())),
            ("per_page=x", Err("per_page is invalid".into())),
            ("per_page=0", Err("per_page has a value not allowed".into())),
            ("per_page=-1", Ok(Paging::Whole)),
            ("per_page=-99999999999999999999", Ok(Paging::Whole)),
            ("page=2&per_page=-1", numbered(2, 20)),
            (
                "pagination=offset",
                Err("pagination does not have a valid value".into()),
            ),
        ] {
            assert_eq!(tree(query, true), expected, "{query}");
        }
        assert_eq!(
            tree("pagination=none", false),
            Err("pagination cannot be \"none\" unless \"recursive\" is true".into())
        );
        let query = Query::parse("pagination=none").unwrap();
        assert!(Paging::of(&query).is_err());
    }
}
