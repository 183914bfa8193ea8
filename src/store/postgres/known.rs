//! What is known of the changes in the database: up to which they were read, and which of them are of others.

use std::collections::VecDeque;

use crate::base::limits::EXTERNAL_CHANGES_KEPT;
use crate::store::{Result, StoreError, Version};

/// A change as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) version: Version,
    pub(super) key: String,
    /// The number of the process that wrote it; none of one that an earlier release wrote.
    pub(super) writer: Option<i64>,
}

/// A change of another daemon, or one of this process that it did not know of yet when it was read.
#[derive(Debug)]
struct External {
    version: Version,
    key: String,
    /// When the look began that found it.
    found: u64,
    /// True once this process is known to have written it.
    is_own: bool,
}

#[derive(Debug, Default)]
pub(super) struct Known {
    /// All changes up to this version were read.
    pub(super) upto: Version,
    /// The change of that version, once it was read.
    last_read: Option<Change>,
    /// The last version that was read or written here.
    pub(super) last: Version,
    /// Versions beyond `upto` that this process has written: the one before the first, and the last.
    own: VecDeque<(Version, Version)>,
    /// Changes of others.
    external: VecDeque<External>,
    /// After this version all changes of others are kept, 0 for all since the beginning.
    floor: Version,
    /// The number of this process.
    writer: i64,
}

impl Known {
    /// All changes up to this version are known, to the process of this number.
    pub(super) fn since(last: Version, writer: i64) -> Self {
        Self {
            upto: last,
            last,
            writer,
            ..Self::default()
        }
    }

    /// As [`super::changes::Changes::record_own`].
    pub(super) fn record_own(&mut self, before: Version, last: Version) {
        self.last = self.last.max(last);
        if before < last && last > self.upto {
            // One after another they are one: nobody may look for long.
            match self.own.back_mut() {
                Some((_, end)) if *end == before => *end = last,
                _ => self.own.push_back((before, last)),
            }
        }
        // A look may have been faster than the answer to the commit.
        let first = self
            .external
            .partition_point(|change| change.version <= before);
        let own = self.external.range_mut(first..);
        for change in own.take_while(|change| change.version <= last) {
            change.is_own = true;
        }
    }

    /// The last change of another daemon.
    pub(super) fn last_external(&self) -> Option<Version> {
        self.external.back().map(|change| change.version)
    }

    /// The keys of the changes of others after a version. `None` where they are more than so many, or not known.
    pub(super) fn keys(&self, after: Version, most: usize) -> Option<Vec<String>> {
        if after < self.floor {
            return None;
        }
        let first = self
            .external
            .partition_point(|change| change.version <= after);
        let changes = self.external.range(first..);
        (changes.len() <= most).then(|| changes.map(|change| change.key.clone()).collect())
    }

    /// True if a look that began at this moment or later has found that another daemon wrote this key.
    pub(super) fn are_of_others(&self, key: &str, since: u64) -> bool {
        let last = self.external.iter().rev();
        last.take_while(|change| change.found >= since)
            .any(|change| change.key == key && !change.is_own)
    }

    /// Takes the changes from a version on, which a look found that began at this moment.
    ///
    /// # Errors
    /// [`StoreError::WentBack`] where that version is gone and none follows, or it is another, or what this
    /// process has written after it is not its own any more.
    pub(super) fn take(&mut self, from: Version, changes: Vec<Change>, found: u64) -> Result<()> {
        let (Some(oldest), Some(newest)) = (changes.first(), changes.last()) else {
            return Err(StoreError::WentBack);
        };
        let (first, last) = (oldest.version, newest.version);
        // Others may have written again as many as were lost.
        let is_other = self.last_read.as_ref().is_some_and(|read| read != oldest);
        let are_lost = self.have_lost(&changes);
        if first == from && is_other || are_lost {
            return Err(StoreError::WentBack);
        }
        let newest_key = newest.key.clone();
        self.last_read = Some(newest.clone());
        let is_whole = first == from && last - first + 1 == changes.len() as u64;
        if is_whole {
            // The first is known.
            for change in changes.into_iter().skip(1) {
                if !self.is_own(change.version) {
                    self.external.push_back(External {
                        version: change.version,
                        key: change.key,
                        found,
                        is_own: false,
                    });
                }
            }
        } else {
            // What follows was removed before it was read.
            self.external.clear();
            self.external.push_back(External {
                version: last,
                key: newest_key,
                found,
                is_own: false,
            });
            self.floor = last;
        }
        while self.external.len() > EXTERNAL_CHANGES_KEPT
            && let Some(first) = self.external.pop_front()
        {
            self.floor = self.floor.max(first.version);
        }
        self.own.retain(|(_, of_own)| *of_own > last);
        self.upto = last;
        self.last = self.last.max(last);
        Ok(())
    }

    /// True if one of these is in the place of one that this process has written.
    fn have_lost(&self, changes: &[Change]) -> bool {
        let mut by_others = changes.iter().filter(|it| it.writer != Some(self.writer));
        by_others.any(|change| self.is_own(change.version))
    }

    /// True of a version after those that were read that this process has written.
    fn is_own(&self, version: Version) -> bool {
        let mut own = self.own.iter();
        own.any(|(before, last)| *before < version && version <= *last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of the process.
    const WRITER: i64 = 7;

    fn change(version: Version, writer: i64) -> Change {
        Change {
            version,
            key: format!("k{version}"),
            writer: Some(writer),
        }
    }

    /// Of which the process wrote some.
    fn changes(versions: &[Version], own: &[Version]) -> Vec<Change> {
        let writer = |version: &Version| if own.contains(version) { WRITER } else { 1 };
        versions
            .iter()
            .map(|version| change(*version, writer(version)))
            .collect()
    }

    fn kept(known: &Known) -> Vec<Version> {
        known.external.iter().map(|change| change.version).collect()
    }

    #[test]
    fn own_changes_are_left_out_and_what_was_removed_is_noticed() {
        let mut known = Known::since(4, WRITER);
        known.own.push_back((5, 7));
        let all = changes(&[4, 5, 6, 7, 8], &[6, 7]);
        known.take(4, all, 0).unwrap();
        assert_eq!((kept(&known), known.upto, known.floor), (vec![5, 8], 8, 0));
        assert!(known.own.is_empty());
        for hole in [&[9, 10][..], &[8, 10]] {
            (known.upto, known.last_read) = (8, Some(change(8, 1)));
            known.take(8, changes(hole, &[]), 0).unwrap();
            assert_eq!((kept(&known), known.upto, known.floor), (vec![10], 10, 10));
        }
    }

    #[test]
    fn what_took_the_place_of_a_lost_change_is_told_from_it() {
        let mut known = Known::since(0, WRITER);
        known.take(0, changes(&[0, 1], &[]), 0).unwrap();
        known.record_own(1, 3);
        assert!(known.take(1, Vec::new(), 0).is_err());
        // Of the last that was read the key is the same, of what this process wrote all is but who did.
        let others = vec![change(1, 2), change(2, WRITER), change(3, WRITER)];
        assert!(known.take(1, others, 0).is_err());
        for lost in [2, 3] {
            let kept = 5 - lost;
            assert!(known.take(1, changes(&[1, 2, 3], &[kept]), 0).is_err());
        }
        let key = Change {
            key: "other".to_owned(),
            ..change(1, 1)
        };
        assert!(known.take(1, vec![key, change(2, WRITER)], 0).is_err());
        known.take(1, changes(&[1, 2, 3, 4], &[2, 3]), 0).unwrap();
        assert_eq!((kept(&known), known.upto), (vec![1, 4], 4));
    }

    #[test]
    fn what_this_process_wrote_is_not_of_others_however_late_it_learns_of_it() {
        let mut known = Known::since(0, WRITER);
        let of_others = |known: &Known| -> Vec<_> {
            let others = known.external.iter().filter(|change| !change.is_own);
            others.map(|change| change.version).collect()
        };
        // The answer to the commit of 1 and 2 comes before the look that finds them, that of 4 after it.
        known.record_own(0, 2);
        let all = changes(&[0, 1, 2, 3, 4, 5], &[1, 2, 4]);
        known.take(0, all, 0).unwrap();
        assert_eq!(of_others(&known), vec![3, 4, 5]);
        known.record_own(3, 4);
        assert_eq!(of_others(&known), vec![3, 5]);
        // Who keeps something in memory was told that it may be old, and stays so.
        assert_eq!(kept(&known), vec![3, 4, 5]);
    }

    #[test]
    fn the_changes_that_are_kept_are_bounded() {
        let mut known = Known::default();
        let all: Vec<_> = (0..=EXTERNAL_CHANGES_KEPT as u64 + 5).collect();
        known.take(0, changes(&all, &[]), 0).unwrap();
        assert_eq!(
            (known.external.len(), known.floor),
            (EXTERNAL_CHANGES_KEPT, 5)
        );
    }
}
