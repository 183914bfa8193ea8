//! The log read, from its end or from a place on, and its beginning removed.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::entry::{Chunk, Entry};
use super::pack;
use super::reach::Reach;
use crate::base::clock::Timestamp;
use crate::base::limits::{AUDIT_CHUNK, AUDIT_OLD_PACKS_MAX, AUDIT_SEARCHED_MAX};
use crate::object::audit::AuditRecord;
use crate::object::audit_pack::time_of;
use crate::object::key;
use crate::repo::{Projects, Result};
use crate::store::{Batch, Expect, Scan, StoreError, Values, Version};

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
    /// At most `limit` entries, out of [`AUDIT_SEARCHED_MAX`]. The log ends for who asks since when, and has no next
    /// page, behind [`AUDIT_OLD_PACKS_MAX`] packs in a row that are wholly older.
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
        let (mut searched, mut old_packs) = (0, 0);
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
            let is_old = |since| chunk.entries.iter().all(|entry| entry.record.at < since);
            old_packs = if filter.since.is_some_and(is_old) {
                old_packs + 1
            } else {
                0
            };
            if chunk.is_last || old_packs == AUDIT_OLD_PACKS_MAX {
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
    /// [`AUDIT_CHUNK`] entries that are loose, and as many that are packed.
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
        loop {
            let reach = self.audit_reach(place, false)?;
            let mut batch = Batch::with_reserve();
            let mut removed = 0;
            for record in reach.loose() {
                if time_of(&record.value).is_some_and(|at| at < before) {
                    batch.delete(record.key.clone(), Expect::Version(record.version));
                    removed += 1;
                }
            }
            if let Some(kept) = reach.pack_to_its_end() {
                removed += pack::forget(kept, before, &mut batch);
            }
            if !batch.writes.is_empty() {
                match self.store().commit(batch) {
                    // Another packed some of it.
                    Err(StoreError::Conflict { .. }) => continue,
                    committed => committed?,
                };
            }
            return Ok((removed, reach.end));
        }
    }

    /// The next entries beyond a place. Those that are damaged are left out; so are whole packs from
    /// before `since`.
    fn audit_chunk(
        &self,
        place: Option<Version>,
        descending: bool,
        since: Option<Timestamp>,
    ) -> Result<Chunk> {
        let reach = self.audit_reach(place, descending)?;
        let mut found: BTreeMap<Version, Arc<AuditRecord>> = BTreeMap::new();
        if let Some(kept) = reach.pack() {
            let entries = pack::entries_of(kept, since).into_iter();
            let entries = entries.filter(|entry| reach.holds(entry.id));
            found.extend(entries.map(|entry| (entry.id, entry.record)));
        }
        for record in reach.loose() {
            if let Some(decoded) = record.decode_sound() {
                found.insert(record.version, decoded.value);
            }
        }
        let mut entries: Vec<_> = found
            .into_iter()
            .map(|(id, record)| Entry { id, record })
            .collect();
        if descending {
            entries.reverse();
        }
        Ok(Chunk {
            entries,
            place: reach.end.or(reach.last_loose()).or(place),
            is_last: reach.end.is_none(),
        })
    }

    /// What is read of the log at once, beyond a place.
    fn audit_reach(&self, place: Option<Version>, descending: bool) -> Result<Reach> {
        let after = place.map(key::audit);
        // Before the packs: what is packed between is in one of these then. The other way round, it
        // would be in neither.
        let loose = self.store().scan(Scan {
            after: after.as_deref(),
            descending,
            limit: AUDIT_CHUNK,
            values: Values::Sound,
            ..Scan::prefix(key::AUDIT)
        })?;
        let pack = if descending {
            self.pack_before(place)?
        } else {
            self.pack_after(place)?
        };
        Ok(Reach::new(place, descending, loose, pack))
    }
}
