//! Which of the files that differ were moved.

use std::hash::{BuildHasher, RandomState};

use super::FileDifference;

/// For added files that hold the bytes of a deleted one, by their places in a list of differences, the
/// place of that one. Each is named once; of several the one that keeps its name is taken, else the first.
/// Empty files are left out: they say nothing.
///
/// # Limits
/// 8 bytes for each that was moved, and 24 for each added or deleted file until all are seen.
#[derive(Debug, Default)]
pub struct Renames {
    /// The added one and the deleted one, in the order of the former.
    pairs: Vec<(u32, u32)>,
}

impl Renames {
    /// Those in a list.
    pub fn of(differences: &[FileDifference]) -> Self {
        let mut candidates = Candidates::default();
        for difference in differences {
            candidates.add(difference);
        }
        candidates.pair()
    }

    /// The place of the deleted file that the added one at this place was.
    pub fn source(&self, at: usize) -> Option<usize> {
        let at = u32::try_from(at).ok()?;
        let pair = self.pairs.binary_search_by_key(&at, |(added, _)| *added);
        usize::try_from(self.pairs[pair.ok()?].1).ok()
    }
}

/// Added and deleted files of a list that is seen one after another.
#[derive(Debug, Default)]
pub(super) struct Candidates {
    seen: u32,
    /// Secret, so that nobody makes two contents that are taken for one.
    hashes: RandomState,
    deleted: Vec<Candidate>,
    added: Vec<Candidate>,
}

#[derive(Clone, Copy, Debug)]
struct Candidate {
    blob: u64,
    name: u64,
    place: u32,
    is_paired: bool,
}

impl Candidates {
    /// Takes the next of the list.
    pub(super) fn add(&mut self, difference: &FileDifference) {
        let (file, files) = match (&difference.old, &difference.new) {
            (Some(old), None) => (old, &mut self.deleted),
            (None, Some(new)) => (new, &mut self.added),
            _ => {
                self.seen = self.seen.saturating_add(1);
                return;
            }
        };
        let path = &difference.path;
        let name = path.rsplit('/').next().unwrap_or(path);
        if file.size() > 0 {
            files.push(Candidate {
                blob: self.hashes.hash_one(file.blob()),
                name: self.hashes.hash_one(name),
                place: self.seen,
                is_paired: false,
            });
        }
        self.seen = self.seen.saturating_add(1);
    }

    /// Which of them belong together.
    pub(super) fn pair(mut self) -> Renames {
        let mut pairs = Vec::new();
        // Who keeps its name, then who does not.
        self.pair_by(&mut pairs, |file| (file.blob, file.name));
        self.pair_by(&mut pairs, |file| (file.blob, 0));
        pairs.sort_unstable();
        Renames { pairs }
    }

    /// Pairs those of equal keys, each in the order of its list.
    fn pair_by(&mut self, pairs: &mut Vec<(u32, u32)>, key: impl Fn(&Candidate) -> (u64, u64)) {
        for files in [&mut self.deleted, &mut self.added] {
            files.sort_unstable_by_key(|file| (key(file), file.place));
        }
        let mut deleted = self.deleted.iter_mut().peekable();
        for added in &mut self.added {
            while deleted.next_if(|file| key(file) < key(added)).is_some() {}
            if let Some(file) = deleted.next_if(|file| key(file) == key(added)) {
                pairs.push((added.place, file.place));
                (added.is_paired, file.is_paired) = (true, true);
            }
        }
        for files in [&mut self.deleted, &mut self.added] {
            files.retain(|file| !file.is_paired);
        }
    }
}
