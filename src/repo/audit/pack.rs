//! Old entries packed together: loose, each takes some 300 bytes, packed some 20.

use std::sync::Arc;

use serde::de::Error as _;

use super::entry::Entry;
use crate::base::clock::Timestamp;
use crate::base::limits::{AUDIT_CHUNK, AUDIT_LOOSE_MIN};
use crate::object::audit_pack::{AuditPack, time_of};
use crate::object::key;
use crate::repo::Projects;
use crate::store::{Batch, Expect, Record, Result, Scan, StoreError, Values, Version};

/// A pack and the record that it is in.
pub(super) type StoredPack = (Arc<Record>, Arc<AuditPack>);

impl Projects {
    /// What packs the oldest entries that are loose behind the packs; `None` while there are few. Another who packs, or
    /// removes one of them, first makes the commit a [`StoreError::Conflict`].
    ///
    /// # Limits
    /// [`AUDIT_CHUNK`] entries at once; [`AUDIT_LOOSE_MIN`], the newest, stay loose.
    pub(in crate::repo) fn audit_to_pack(&self) -> Result<Option<Batch>> {
        // What is older than a pack stays loose, so that packs never overlap.
        let packed = self
            .pack_before(None)?
            .map(|last| key::audit(end_of(&last)));
        let loose = self.store().scan(Scan {
            after: packed.as_deref(),
            limit: AUDIT_CHUNK + AUDIT_LOOSE_MIN,
            values: Values::Sound,
            ..Scan::prefix(key::AUDIT)
        })?;
        if loose.len() < AUDIT_CHUNK + AUDIT_LOOSE_MIN {
            return Ok(None);
        }
        let oldest = loose.iter().take(AUDIT_CHUNK);
        let oldest = oldest.map(|record| (record.version, record.value.as_ref()));
        let Some((pack, ids)) = AuditPack::new(oldest) else {
            return Ok(None);
        };
        // What it removes takes more room.
        let mut batch = Batch::upkeep();
        batch.write(key::audit_pack(ids[0]), Expect::Absent, &pack);
        for id in ids {
            batch.delete(key::audit(id), Expect::Version(id));
        }
        Ok(Some(batch))
    }

    /// Packs the oldest entries that are loose. True if it did; then there may be more.
    ///
    /// # Limits
    /// [`AUDIT_CHUNK`] entries at once; [`AUDIT_LOOSE_MIN`], the newest, stay loose.
    pub fn pack_audit(&self) -> crate::repo::Result<bool> {
        let Some(batch) = self.audit_to_pack()? else {
            return Ok(false);
        };
        match self.store().commit(batch) {
            Ok(_) => Ok(true),
            // Another packs them.
            Err(StoreError::Conflict { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// The first pack that has entries beyond a place, or of all.
    pub(super) fn pack_after(&self, place: Option<Version>) -> Result<Option<StoredPack>> {
        if let Some(place) = place {
            let found = self.next_pack(Some(place.saturating_add(1)), true)?;
            if let Some(found) = found.filter(|(_, pack)| pack.last > place) {
                return Ok(Some(found));
            }
        }
        self.next_pack(place, false)
    }

    /// The first pack that begins before a place, or the last of all.
    pub(super) fn pack_before(&self, place: Option<Version>) -> Result<Option<StoredPack>> {
        self.next_pack(place, true)
    }

    fn next_pack(&self, place: Option<Version>, descending: bool) -> Result<Option<StoredPack>> {
        let mut after = place.map(key::audit_pack);
        loop {
            let found = self.store().scan(Scan {
                after: after.as_deref(),
                descending,
                limit: 1,
                values: Values::Sound,
                ..Scan::prefix(key::AUDIT_PACKS)
            })?;
            let Some(record) = found.into_iter().next() else {
                return Ok(None);
            };
            if let Some(pack) = record.decode_sound() {
                return Ok(Some((record, pack.value)));
            }
            after = Some(record.key.clone());
        }
    }
}

/// The entries of a pack, but none where all are from before `since`.
pub(super) fn entries_of((record, pack): &StoredPack, since: Option<Timestamp>) -> Vec<Entry> {
    if since.is_some_and(|since| pack.newest < since) {
        return Vec::new();
    }
    let entry = |(id, value): (Version, Vec<u8>)| {
        let loose = Record::new(key::audit(id), id, value.into());
        let record = loose.decode_sound()?.value;
        Some(Entry { id, record })
    };
    lines_of(record, pack)
        .into_iter()
        .filter_map(entry)
        .collect()
}

/// The place of the last entry of a pack.
pub(super) fn end_of((record, pack): &StoredPack) -> Version {
    // One that says wrong must not lead back.
    pack.last.max(record.number())
}

/// Has a batch remove from a pack what is from before a time. Gives how many.
pub(super) fn forget((record, pack): &StoredPack, before: Timestamp, batch: &mut Batch) -> usize {
    if pack.oldest >= before {
        return 0;
    }
    let expect = Expect::Version(record.version);
    if pack.newest < before {
        batch.delete(record.key.clone(), expect);
        return usize::try_from(pack.count).unwrap_or(usize::MAX);
    }
    let lines = lines_of(record, pack);
    let young = lines
        .iter()
        .filter(|(_, value)| time_of(value).is_none_or(|at| at >= before));
    let rest = AuditPack::new(young.map(|(id, value)| (*id, value.as_slice())));
    // A damaged one stays.
    let Some((rest, ids)) = rest else {
        return 0;
    };
    let key = key::audit_pack(ids[0]);
    if key == record.key {
        batch.write(key, expect, &rest);
    } else {
        batch.delete(record.key.clone(), expect);
        batch.write(key, Expect::Absent, &rest);
    }
    lines.len() - ids.len()
}

/// The ids and values in a pack. Of one that is damaged none, which is told in the log of the service.
fn lines_of(record: &Record, pack: &AuditPack) -> Vec<(Version, Vec<u8>)> {
    let lines = pack.records();
    let told = lines.inspect_err(|error| {
        let error = record.damaged(serde_json::Error::custom(error));
        tracing::error!(%error, "it is left out");
    });
    told.unwrap_or_default()
}
