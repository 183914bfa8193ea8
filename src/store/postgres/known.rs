//! What is known of the changes in the database: up to which they were read, and which of them are of others.

use std::collections::VecDeque;

use super::failure::went_back;
use crate::base::limits::FOREIGN_CHANGES_KEPT;
use crate::store::{Result, Version};

/// A change of another daemon, or one of this process that it did not know of yet when it was read.
#[derive(Debug)]
struct Foreign {
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
    /// The key that this version wrote, once it was read.
    last_key: Option<String>,
    /// The last version that was read or written here.
    pub(super) last: Version,
    /// Versions beyond `upto` that this process has written: the one before the first, and the last.
    own: VecDeque<(Version, Version)>,
    /// Changes of others.
    foreign: VecDeque<Foreign>,
    /// After this version all changes of others are kept, 0 for all since the beginning.
    floor: Version,
}

impl Known {
    /// All changes up to this version are known.
    pub(super) fn since(last: Version) -> Self {
        Self {
            upto: last,
            last,
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
            .foreign
            .partition_point(|change| change.version <= before);
        let own = self.foreign.range_mut(first..);
        for change in own.take_while(|change| change.version <= last) {
            change.is_own = true;
        }
    }

    /// The last change of another daemon.
    pub(super) fn last_foreign(&self) -> Option<Version> {
        self.foreign.back().map(|change| change.version)
    }

    /// The keys of the changes of others after a version. `None` where they are more than so many, or not known.
    pub(super) fn keys(&self, after: Version, most: usize) -> Option<Vec<String>> {
        if after < self.floor {
            return None;
        }
        let first = self
            .foreign
            .partition_point(|change| change.version <= after);
        let changes = self.foreign.range(first..);
        (changes.len() <= most).then(|| changes.map(|change| change.key.clone()).collect())
    }

    /// True if a look that began at this moment or later has found that another daemon wrote this key.
    pub(super) fn are_of_others(&self, key: &str, since: u64) -> bool {
        let last = self.foreign.iter().rev();
        last.take_while(|change| change.found >= since)
            .any(|change| change.key == key && !change.is_own)
    }

    /// Takes the changes from a version on, which a look found that began at this moment.
    ///
    /// # Errors
    /// [`crate::store::StoreError::Unfit`] where that version is gone and none follows, or is another.
    pub(super) fn take(
        &mut self,
        from: Version,
        changes: Vec<(Version, String)>,
        found: u64,
    ) -> Result<()> {
        let (Some((first, first_key)), Some((last, last_key))) = (changes.first(), changes.last())
        else {
            return Err(went_back());
        };
        let (first, last, last_key) = (*first, *last, last_key.clone());
        // Others may have written again as many as were lost.
        let is_other = self.last_key.as_ref().is_some_and(|key| key != first_key);
        if first == from && is_other {
            return Err(went_back());
        }
        self.last_key = Some(last_key.clone());
        let is_whole = first == from && last - first + 1 == changes.len() as u64;
        if is_whole {
            // The first is known.
            for (version, key) in changes.into_iter().skip(1) {
                let wrote =
                    |(before, last): &(Version, Version)| *before < version && version <= *last;
                if !self.own.iter().any(wrote) {
                    self.foreign.push_back(Foreign {
                        version,
                        key,
                        found,
                        is_own: false,
                    });
                }
            }
        } else {
            // What follows was removed before it was read.
            self.foreign.clear();
            self.foreign.push_back(Foreign {
                version: last,
                key: last_key,
                found,
                is_own: false,
            });
            self.floor = last;
        }
        while self.foreign.len() > FOREIGN_CHANGES_KEPT
            && let Some(first) = self.foreign.pop_front()
        {
            self.floor = self.floor.max(first.version);
        }
        self.own.retain(|(_, of_own)| *of_own > last);
        self.upto = last;
        self.last = self.last.max(last);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changes(versions: &[Version]) -> Vec<(Version, String)> {
        versions
            .iter()
            .map(|version| (*version, format!("k{version}")))
            .collect()
    }

    fn kept(known: &Known) -> Vec<Version> {
        known.foreign.iter().map(|change| change.version).collect()
    }

    #[test]
    fn own_changes_are_left_out_and_what_was_removed_is_noticed() {
        let mut known = Known {
            upto: 4,
            ..Known::default()
        };
        known.own.push_back((5, 7));
        known.take(4, changes(&[4, 5, 6, 7, 8]), 0).unwrap();
        assert_eq!((kept(&known), known.upto, known.floor), (vec![5, 8], 8, 0));
        assert!(known.own.is_empty());
        for hole in [&[9, 10][..], &[8, 10]] {
            (known.upto, known.last_key) = (8, Some("k8".to_owned()));
            known.take(8, changes(hole), 0).unwrap();
            assert_eq!((kept(&known), known.upto, known.floor), (vec![10], 10, 10));
        }
        assert!(known.take(10, Vec::new(), 0).is_err());
        let other = vec![(10, "other".to_owned()), (11, "k11".to_owned())];
        assert!(known.take(10, other, 0).is_err());
    }

    #[test]
    fn what_this_process_wrote_is_not_of_others_however_late_it_learns_of_it() {
        let mut known = Known::default();
        let of_others = |known: &Known| -> Vec<_> {
            let others = known.foreign.iter().filter(|change| !change.is_own);
            others.map(|change| change.version).collect()
        };
        // The answer to the commit of 1 and 2 comes before the look that finds them, that of 4 after it.
        known.record_own(0, 2);
        known.take(0, changes(&[0, 1, 2, 3, 4, 5]), 0).unwrap();
        assert_eq!(of_others(&known), vec![3, 4, 5]);
        known.record_own(3, 4);
        assert_eq!(of_others(&known), vec![3, 5]);
        // Who keeps something in memory was told that it may be old, and stays so.
        assert_eq!(kept(&known), vec![3, 4, 5]);
    }

    #[test]
    fn the_changes_that_are_kept_are_bounded() {
        let mut known = Known::default();
        let all: Vec<_> = (0..=FOREIGN_CHANGES_KEPT as u64 + 5).collect();
        known.take(0, changes(&all), 0).unwrap();
        assert_eq!(
            (known.foreign.len(), known.floor),
            (FOREIGN_CHANGES_KEPT, 5)
        );
    }
}
