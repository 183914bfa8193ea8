//! The log read, from its end or from a place on, and its beginning removed.

use std::sync::Arc;

use crate::base::clock::Timestamp;
use crate::base::limits::{AUDIT_CHUNK, AUDIT_SEARCHED_MAX};
use crate::object::audit::AuditRecord;
use crate::object::key;
use crate::repo::{Projects, Result};
use crate::store::{Batch, Expect, Record, Scan, Version};

/// A record of the log.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its place: the version of its write.
    pub id: Version,
    /// What it tells.
    pub record: Arc<AuditRecord>,
}

/// Which entries are wanted; all, where it says nothing.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Not those from before.
    pub since: Option<Timestamp>,
    /// Only what this account did, or what was done to it.
    pub user: Option<String>,
    /// Only what was done to the project of this identifier, also to one that has it no more.
    pub project: Option<String>,
}

/// Entries of the log, newest first.
#[derive(Clone, Debug)]
pub struct Page {
    /// The entries.
    pub entries: Vec<Entry>,
    /// Where the next page begins, `None` where the log ends. There may be a next page after one that
    /// has fewer entries than were asked for, and even none.
    pub next: Option<Version>,
}

impl Filter {
    /// True if the entry is wanted.
    pub fn takes(&self, record: &AuditRecord) -> bool {
        let is_of = |user: &String| {
            let rest = record.by.strip_prefix(user.as_str());
            // The command line is named without the system's user, too.
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(" ("))
                || record.account.as_ref() == Some(user)
        };
        let is_in = |wanted: &String| {
            let project = record.project.as_ref();
            project.is_some_and(|(_, id)| id == wanted)
        };
        !self.is_before(record)
            && self.user.as_ref().is_none_or(is_of)
            && self.project.as_ref().is_none_or(is_in)
    }

    fn is_before(&self, record: &AuditRecord) -> bool {
        self.since.is_some_and(|since| record.at < since)
    }
}

impl Projects {
    /// The newest entries before a place, or of all.
    ///
    /// # Limits
    /// At most `limit` entries, out of [`AUDIT_SEARCHED_MAX`]. A search for what is new ends at
    /// [`AUDIT_CHUNK`] records in a row that are too old: the machine's clock may have been set, so a
    /// single one proves nothing.
    pub fn audit_page(
        &self,
        filter: &Filter,
        before: Option<Version>,
        limit: usize,
    ) -> Result<Page> {
        let mut page = Page {
            entries: Vec::new(),
            next: before,
        };
        let (mut searched, mut too_old) = (0, 0);
        while searched < AUDIT_SEARCHED_MAX {
            let chunk = self.audit_chunk(page.next, true)?;
            for entry in &chunk {
                if page.entries.len() == limit {
                    return Ok(page);
                }
                page.next = Some(entry.id);
                if filter.takes(&entry.record) {
                    page.entries.push(entry.clone());
                }
                if filter.is_before(&entry.record) {
                    too_old += 1;
                } else {
                    too_old = 0;
                }
            }
            searched += chunk.len();
            if chunk.is_empty() || too_old >= AUDIT_CHUNK {
                page.next = None;
                break;
            }
        }
        Ok(page)
    }

    /// Tells something that has no commit of its own, such as a work of many commits that has ended.
    ///
    /// # Durability
    /// It is in the log when this returns.
    pub fn tell(&self, record: &AuditRecord) -> Result<()> {
        let mut batch = Batch::with_reserve();
        batch.append_to(key::AUDIT, record);
        self.store().commit(batch)?;
        Ok(())
    }

    /// At most [`AUDIT_CHUNK`] entries behind a place, or from the log's beginning, oldest first,
    /// wanted or not; none where the log ends.
    pub fn audit_after(&self, place: Option<Version>) -> Result<Vec<Entry>> {
        self.audit_chunk(place, false)
    }

    /// A place behind which all entries since a time are, but those that are older than
    /// [`AUDIT_CHUNK`] in a row that are too old. `None` is the log's beginning.
    pub fn audit_place(&self, since: Timestamp) -> Result<Option<Version>> {
        let (mut first, mut next) = (None, None);
        loop {
            let chunk = self.audit_chunk(next, true)?;
            let Some(last) = chunk.last() else {
                return Ok(None);
            };
            let mut too_old = true;
            for entry in &chunk {
                if entry.record.at >= since {
                    (first, too_old) = (Some(entry.id), false);
                }
            }
            next = Some(last.id);
            if too_old {
                // Nothing is at the place itself, or it is too old.
                return Ok(first
                    .or(chunk.first().map(|newest| newest.id + 1))
                    .map(|id| id - 1));
            }
        }
    }

    /// Removes entries of before a time from the [`AUDIT_CHUNK`] behind a place, or from the log's
    /// beginning. Gives how many, and the place behind which to go on, `None` where the log ends: what a
    /// clock that was wrong dated later stays, and does not keep the others.
    pub fn forget_audit(
        &self,
        before: Timestamp,
        place: Option<Version>,
    ) -> Result<(usize, Option<Version>)> {
        let mut batch = Batch::with_reserve();
        let chunk = self.audit_chunk(place, false)?;
        for entry in &chunk {
            if entry.record.at < before {
                batch.delete(key_of(entry.id), Expect::Anything);
            }
        }
        let removed = batch.writes.len();
        if removed > 0 {
            self.store().commit(batch)?;
        }
        Ok((removed, chunk.last().map(|last| last.id)))
    }

    /// At most [`AUDIT_CHUNK`] entries beyond a place, none where the log ends. Those that are damaged
    /// are left out.
    fn audit_chunk(&self, place: Option<Version>, descending: bool) -> Result<Vec<Entry>> {
        let mut place = place.map(key_of);
        let entry = |record: &Arc<Record>| {
            let id = record.version;
            let record = record.decode_sound()?.value;
            Some(Entry { id, record })
        };
        loop {
            let records = self.store().scan(Scan {
                after: place.as_deref(),
                descending,
                limit: AUDIT_CHUNK,
                leaves_out_damaged: true,
                ..Scan::prefix(key::AUDIT)
            })?;
            let entries: Vec<_> = records.iter().filter_map(entry).collect();
            match records.last() {
                // None would be the end.
                Some(last) if entries.is_empty() => place = Some(last.key.clone()),
                _ => return Ok(entries),
            }
        }
    }
}

fn key_of(id: Version) -> String {
    format!("{}{id:016x}", key::AUDIT)
}
