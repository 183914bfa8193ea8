//! Lists of what lies in the bucket. Where it has many names they may take long, or be refused, while all else goes on.

use object_store::list::{PaginatedListOptions, PaginatedListStore};
use object_store::path::Path;
use object_store::{Extensions, ListResult, ObjectMeta};

use super::client::{OfList, silence};
use super::patience::Patience;
use super::{Bucket, SILENT_BEFORE, is_day};
use crate::store::Result;

/// The places of a day, as they are listed.
pub(in crate::store) struct Places<'a> {
    day: &'a str,
    pages: Pages<'a>,
    /// What is left of the last page.
    listed: std::vec::IntoIter<ObjectMeta>,
}

/// A list, as it comes.
struct Pages<'a> {
    bucket: &'a Bucket,
    /// What the names begin with.
    prefix: String,
    /// Of those that go on behind this, what stands before it is listed.
    delimiter: Option<&'static str>,
    next: Next,
}

/// Where a list goes on.
enum Next {
    AtItsBeginning,
    Behind(String),
    Nowhere,
}

impl Places<'_> {
    /// The next ones, so many at most, each with its bytes; `None` at the end.
    pub(in crate::store) async fn next(
        &mut self,
        most: usize,
    ) -> Result<Option<Vec<(String, u64)>>> {
        let day = self.day;
        loop {
            let place = |object: ObjectMeta| {
                let name = object.location.filename()?;
                Some((format!("{day}/{name}"), object.size))
            };
            let places: Vec<_> = self.listed.by_ref().filter_map(place).take(most).collect();
            if !places.is_empty() {
                return Ok(Some(places));
            }
            let Some(page) = self.pages.next().await? else {
                return Ok(None);
            };
            self.listed = page.objects.into_iter();
        }
    }
}

impl Pages<'_> {
    /// The next page; `None` at the end.
    async fn next(&mut self) -> Result<Option<ListResult>> {
        let page_token = match &self.next {
            Next::AtItsBeginning => None,
            Next::Behind(token) => Some(token.clone()),
            Next::Nowhere => return Ok(None),
        };
        let mut extensions = Extensions::new();
        extensions.insert(OfList);
        let options = PaginatedListOptions {
            delimiter: self.delimiter.map(Into::into),
            page_token,
            extensions,
            ..PaginatedListOptions::default()
        };
        let prefix = Some(self.prefix.as_str()).filter(|prefix| !prefix.is_empty());
        let list = || self.bucket.store.list_paginated(prefix, options.clone());
        let page = self.bucket.listed(list).await;
        let page = page.map_err(|error| self.bucket.failed("listing the bucket", &error))?;
        self.next = match page.page_token {
            // One that does not go on would go on for ever.
            Some(token) if !token.is_empty() && options.page_token.as_ref() != Some(&token) => {
                Next::Behind(token)
            }
            _ => Next::Nowhere,
        };
        Ok(Some(page.result))
    }
}

impl Bucket {
    /// The days that have names, older than this one.
    pub(in crate::store) async fn days_before(&self, oldest: &str) -> Result<Vec<String>> {
        let mut pages = self.pages("", Some("/"));
        let mut days = Vec::new();
        while let Some(page) = pages.next().await? {
            let names = page.common_prefixes.iter().filter_map(Path::filename);
            let of_page = names.filter(|name| is_day(name) && *name < oldest);
            days.extend(of_page.map(str::to_owned));
        }
        Ok(days)
    }

    /// The places of a day.
    pub(in crate::store) fn places_of_day<'a>(&'a self, day: &'a str) -> Places<'a> {
        Places {
            day,
            pages: self.pages(day, None),
            listed: Vec::new().into_iter(),
        }
    }

    /// The names in a folder, or in that of all where this has no name.
    fn pages(&self, folder: &str, delimiter: Option<&'static str>) -> Pages<'_> {
        let mut prefix = self.path(folder).to_string();
        if !prefix.is_empty() {
            prefix.push('/');
        }
        Pages {
            bucket: self,
            prefix,
            delimiter,
            next: Next::AtItsBeginning,
        }
    }

    /// Asks for a list unless the bucket is known to be away. That none comes says nothing of all else.
    pub(super) async fn listed<T, A>(&self, asking: impl Fn() -> A) -> object_store::Result<T>
    where
        A: Future<Output = object_store::Result<T>>,
    {
        if self.gate.is_shut() {
            return Err(silence(SILENT_BEFORE));
        }
        Patience::OF_LIST.ask(asking).await
    }
}
