//! The log read, from its end or from a place on, and its beginning removed.

use std::sync::Arc;

use super::entry::{Chunk, Entry};
use super::pack;
use crate::base::clock::Timestamp;
use crate::base::limits::{AUDIT_CHUNK, AUDIT_SEARCHED_MAX};
use crate::object::audit::AuditRecord;
use crate::object::key;
use crate::repo::{Projects, Result};
use crate::store::{Batch, Expect, Record, Scan, Version};

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
        self.since.is_none_or(|since| record.at >= since)
            && self.user.as_ref().is_none_or(is_of)
            && self.project.as_ref().is_none_or(is_in)
    }
}

impl Projects {
    /// The newest entries before a place, or of all.
    ///
    /// # Limits
    /// At most `limit` entries, out of [`AUDIT_SEARCHED_MAX`].
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
        let mut searched = 0;
        while searched < AUDIT_SEARCHED_MAX {
            let chunk = self.audit_chunk(page.next, true, filter.since)?;
            for entry in &chunk.entries {
                if page.entries.len() == limit {
                    return Ok(page);
                }
                page.next = Some(entry.id);
                if filter.takes(&entry.record) {
                    page.entries.push(entry.clone());
                }
            }
            if chunk.is_last {
                page.next = None;
                break;
            }
            page.next = chunk.place;
            searched += chunk.entries.len().max(1);
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

    /// The next entries behind a place, or from the log's beginning, oldest first, wanted or not; where
    /// `since` says so, whole packs that are older are left out.
    ///
    /// # Limits
    /// [`AUDIT_CHUNK`] entries.
    pub fn audit_after(&self, place: Option<Version>, since: Option<Timestamp>) -> Result<Chunk> {
        self.audit_chunk(place, false, since)
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
        let (removed, next);
        if let Some(kept) = self.pack_after(place)? {
            removed = pack::forget(&kept, before, &mut batch);
            next = Some(pack::end_of(&kept));
        } else {
            let chunk = self.audit_chunk(place, false, None)?;
            for entry in &chunk.entries {
                if entry.record.at < before {
                    batch.delete(key::audit(entry.id), Expect::Anything);
                }
            }
            removed = batch.writes.len();
            next = chunk.place.filter(|_| !chunk.is_last);
        }
        if removed > 0 {
            self.store().commit(batch)?;
        }
        Ok((removed, next))
    }

    /// The next entries beyond a place. Those that are damaged are left out; so are whole packs from
    /// before `since`.
    fn audit_chunk(
        &self,
        place: Option<Version>,
        descending: bool,
        since: Option<Timestamp>,
    ) -> Result<Chunk> {
        let after = place.map(key::audit);
        // Before the packs: what is packed between is in one of these then. The other way round, it
        // would be in neither.
        let loose = self.store().scan(Scan {
            after: after.as_deref(),
            descending,
            limit: AUDIT_CHUNK,
            leaves_out_damaged: true,
            ..Scan::prefix(key::AUDIT)
        })?;
        // All of them are older than what is loose.
        let kept = match (descending, loose.is_empty()) {
            (true, false) => None,
            (true, true) => self.pack_before(place)?,
            (false, _) => self.pack_after(place)?,
        };
        if let Some(kept) = kept {
            let mut chunk = pack::chunk_of(&kept, since, descending);
            let is_beyond = |id: Version| match place {
                Some(place) if descending => id < place,
                Some(place) => id > place,
                None => true,
            };
            chunk.entries.retain(|entry| is_beyond(entry.id));
            return Ok(chunk);
        }
        let entry = |record: &Arc<Record>| {
            let id = record.version;
            let record = record.decode_sound()?.value;
            Some(Entry { id, record })
        };
        Ok(Chunk {
            entries: loose.iter().filter_map(entry).collect(),
            place: loose.last().map(|last| last.version).or(place),
            is_last: loose.is_empty(),
        })
    }
}
