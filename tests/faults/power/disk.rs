//! A disk that keeps what was synced, and loses what it likes of the rest.

use rand::RngExt;
use rand::rngs::StdRng;

use super::journal::{Journal, Moment};
use super::tree::{Change, Tree};

/// How the unsynced changes fare in a power cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// All are lost.
    Lost,
    /// All have reached the disk.
    Kept,
    /// The first of them have.
    First,
    /// Each by itself.
    Some,
    /// Each file and folder by itself.
    Files,
    /// As `Some`, and of those of a file some sectors.
    Torn,
}

/// How often each is met: what is mixed has more ways to go wrong.
const FATES: [Fate; 8] = [
    Fate::Lost,
    Fate::Kept,
    Fate::First,
    Fate::Files,
    Fate::Some,
    Fate::Some,
    Fate::Torn,
    Fate::Torn,
];

/// What a disk writes at once.
const SECTORS: [usize; 2] = [512, 4096];

/// A disk at one moment of a journal.
#[derive(Debug)]
pub(super) struct Disk<'a> {
    journal: &'a Journal,
    synced: Tree,
    /// Changes that may have reached it, in their order.
    unsynced: Vec<usize>,
    /// The next moment.
    next: usize,
}

/// What is on the disk after a power cut.
#[derive(Debug)]
pub(super) struct Left {
    pub(super) tree: Tree,
    pub(super) fate: Fate,
    /// The unsynced changes, and whether each is there.
    pub(super) unsynced: Vec<(usize, bool)>,
}

impl<'a> Disk<'a> {
    pub(super) fn new(journal: &'a Journal) -> Self {
        Self {
            synced: journal.first.clone(),
            journal,
            unsynced: Vec::new(),
            next: 0,
        }
    }

    /// Goes on until this place.
    pub(super) fn run_to(&mut self, place: usize) {
        while let Some((at, moment)) = self.journal.moments.get(self.next)
            && *at <= place
        {
            match moment {
                Moment::Began(op) => self.unsynced.push(*op),
                Moment::Synced { node, began } => self.sync(*node, *began),
            }
            self.next += 1;
        }
    }

    fn sync(&mut self, node: usize, began: usize) {
        let ops = &self.journal.ops;
        let is_covered = |op: usize| ops[op].change.node() == node && ops[op].ended < began;
        // What has left a folder has come to the other one.
        let moved: Vec<_> = self.unsynced.iter().filter(|op| is_covered(**op)).collect();
        let moved: Vec<_> = moved.iter().filter_map(|op| ops[**op].after).collect();
        self.unsynced.retain(|op| {
            let is_synced = is_covered(*op) || moved.contains(op);
            if is_synced {
                self.synced.apply(&ops[*op].change);
            }
            !is_synced
        });
    }

    /// Cuts the power.
    pub(super) fn cut(&self, random: &mut StdRng) -> Left {
        let fate = FATES[random.random_range(0..FATES.len())];
        let ops = &self.journal.ops;
        let (mut tree, mut unsynced) = (self.synced.clone(), Vec::new());
        let first = random.random_range(0..=self.unsynced.len());
        let salt: usize = random.random_range(0..1 << 20);
        for (at, op) in self.unsynced.iter().enumerate() {
            let change = &ops[*op].change;
            let is_kept = match fate {
                Fate::Lost => false,
                Fate::Kept => true,
                Fate::First => at < first,
                Fate::Some | Fate::Torn => random.random_bool(0.5),
                Fate::Files => (change.node() ^ salt).wrapping_mul(0x9E37_79B9) >> 8 & 1 == 1,
            };
            let is_lost = |other| unsynced.contains(&(other, false));
            let is_kept = is_kept && !ops[*op].after.is_some_and(is_lost);
            unsynced.push((*op, is_kept));
            if !is_kept {
                continue;
            }
            match change {
                Change::Write { file, at, bytes } if fate == Fate::Torn => {
                    tear(&mut tree, (*file, *at, bytes), random);
                }
                _ => tree.apply(change),
            }
        }
        Left {
            tree,
            fate,
            unsynced,
        }
    }
}

/// Writes some sectors of a change; those that are lost may be zeros where the file was shorter.
fn tear(tree: &mut Tree, (file, at, bytes): (usize, usize, &[u8]), random: &mut StdRng) {
    let sector = SECTORS[random.random_range(0..SECTORS.len())];
    let is_whole_as_seen_by_length = random.random_bool(0.5);
    let mut done = 0;
    while done < bytes.len() {
        let end = ((at + done) / sector + 1) * sector - at;
        let end = end.min(bytes.len());
        if random.random_bool(0.5) {
            tree.apply(&Change::Write {
                file,
                at: at + done,
                bytes: bytes[done..end].to_vec(),
            });
        }
        done = end;
    }
    if is_whole_as_seen_by_length {
        tree.apply(&Change::Resize {
            file,
            length: at + bytes.len(),
            cuts: false,
        });
    }
}
