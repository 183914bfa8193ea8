//! How far one read of the log reaches: what is loose and what is packed lie in one order.

use std::sync::Arc;

use super::pack::{StoredPack, end_of};
use crate::base::limits::AUDIT_CHUNK;
use crate::store::{Record, Version};

/// The next records that are loose and the next pack, beyond a place in one direction. What is loose is
/// younger than the packs, but for a record that could not be packed, such as one that was damaged then.
#[derive(Debug)]
pub(super) struct Reach {
    place: Option<Version>,
    descending: bool,
    loose: Vec<Arc<Record>>,
    pack: Option<StoredPack>,
    /// The place up to which all is known, and where the next read begins; `None` where the log ends.
    pub(super) end: Option<Version>,
}

impl Reach {
    /// Of the records that were read beyond a place, at most [`AUDIT_CHUNK`], and then of the next pack.
    pub(super) fn new(
        place: Option<Version>,
        descending: bool,
        loose: Vec<Arc<Record>>,
        pack: Option<StoredPack>,
    ) -> Self {
        let of_pack = pack.as_ref().map(|kept| {
            if descending {
                kept.0.number()
            } else {
                end_of(kept)
            }
        });
        let of_loose = loose.last().map(|record| record.version);
        let of_loose = of_loose.filter(|_| loose.len() >= AUDIT_CHUNK);
        let ends = of_pack.into_iter().chain(of_loose);
        let end = if descending { ends.max() } else { ends.min() };
        Self {
            place,
            descending,
            loose,
            pack,
            end,
        }
    }

    /// True if a place is one that this read tells all of.
    pub(super) fn holds(&self, id: Version) -> bool {
        let (begin, end) = (self.place, self.end);
        if self.descending {
            begin.is_none_or(|begin| id < begin) && end.is_none_or(|end| id >= end)
        } else {
            begin.is_none_or(|begin| id > begin) && end.is_none_or(|end| id <= end)
        }
    }

    /// The records that are loose.
    pub(super) fn loose(&self) -> impl Iterator<Item = &Arc<Record>> {
        self.loose
            .iter()
            .filter(|record| self.holds(record.version))
    }

    /// The place of the last record that is loose: where the log ends, what comes later is beyond it.
    pub(super) fn last_loose(&self) -> Option<Version> {
        self.loose().last().map(|record| record.version)
    }

    /// The pack, if some of it lies within.
    pub(super) fn pack(&self) -> Option<&StoredPack> {
        let end = self.end?;
        let is_within = |kept: &&StoredPack| {
            if self.descending {
                end_of(kept) >= end
            } else {
                kept.0.number() <= end
            }
        };
        self.pack.as_ref().filter(is_within)
    }

    /// The pack, if this read goes up to its end.
    pub(super) fn pack_to_its_end(&self) -> Option<&StoredPack> {
        let is_end = |kept: &&StoredPack| !self.descending && self.end == Some(end_of(kept));
        self.pack.as_ref().filter(is_end)
    }
}
