//! The changes of a branch that touched a path, whatever brought them about: a page at a time. For each
//! the history is searched for some milliseconds.

use std::time::{Duration, Instant};

use super::change::Change;
use super::path_walk::{MetState, changed_within};
use super::step_cache::{Run, Step};
use crate::base::file_path::FilePath;
use crate::base::limits::{HISTORY_FIRST_MS_MAX, HISTORY_SEARCH_MS_MAX, HISTORY_SEARCHED_MAX};
use crate::base::snapshot_version::SnapshotVersion;
use crate::manifest::Nodes;
use crate::object::key;
use crate::repo::{Branch, Result};
use crate::store::Scan;

/// Snapshots after which a search looks at the time.
const LOOKED_AT_ONCE: u64 = 256;
/// And comparisons.
const COMPARED_AT_ONCE: u64 = 8;

/// Changes that touched a path, newest first.
#[derive(Clone, Debug)]
pub struct ChangesPage {
    /// The changes.
    pub changes: Vec<Change>,
    /// The snapshot before which the search goes on; `None` when all of the history was searched.
    pub next: Option<SnapshotVersion>,
}

/// Goes back through a history, from a state on.
struct Search<'a> {
    nodes: &'a Nodes,
    path: &'a FilePath,
    met: MetState,
    looked: u64,
    compared: u64,
    began: Instant,
    /// How long it may take while nothing is found.
    empty_for: Duration,
}

impl Branch {
    /// The changes that touched what lies at a path, a file or a folder: from the newest on, or from
    /// the newest before a snapshot; at most `limit`. Where snapshots are missing between two, what
    /// differs between those counts as changed by the older one.
    ///
    /// # Limits
    /// 100,000 snapshots are looked at, for 6 ms, or where the page begins at the newest for 40 ms until the
    /// first change is found, but some in any case. So a page may have fewer changes, or none, and a `next`.
    pub fn changes_of(
        &self,
        path: &FilePath,
        before: Option<SnapshotVersion>,
        limit: usize,
    ) -> Result<ChangesPage> {
        let mut page = ChangesPage {
            changes: Vec::new(),
            next: None,
        };
        let beyond = self.snapshot_count().saturating_add(1);
        let empty_for = Duration::from_millis(match before {
            None => HISTORY_FIRST_MS_MAX,
            Some(_) => HISTORY_SEARCH_MS_MAX,
        });
        let before = before.map_or(beyond, |before| beyond.min(before.number()));
        let Some(oldest) = self.oldest_snapshot()?.filter(|oldest| *oldest < before) else {
            return Ok(page);
        };
        let newest = self.state_after(before - 1)?;
        let mut search = Search {
            nodes: newest.nodes(),
            path,
            met: MetState::of(&newest),
            looked: 0,
            compared: 0,
            began: Instant::now(),
            empty_for,
        };
        let mut found = Vec::new();
        'runs: for number in Run::numbers(oldest, before) {
            let run = Run::of(self, number)?;
            let within = changed_within(&run, path);
            for step in run.between(oldest, before).iter().rev() {
                let told = step.path.map(|number| within[usize::from(number)]);
                if search.touches(step, told)? {
                    found.push(step.place);
                }
                if found.len() == limit || search.is_over(found.is_empty()) {
                    page.next = (step.place > oldest).then(|| SnapshotVersion::new(step.place));
                    break 'runs;
                }
            }
            // Also where there was no step, because the snapshots were pruned.
            let first = Run::first(number);
            if first > oldest && search.is_late(found.is_empty()) {
                page.next = Some(SnapshotVersion::new(first));
                break;
            }
        }
        for place in found {
            page.changes.extend(self.change_after(place)?);
        }
        Ok(page)
    }

    /// The change after the snapshot at this place; `None` if it was pruned.
    fn change_after(&self, place: u64) -> Result<Option<Change>> {
        // It and the next that there is.
        let prefix = key::snapshots(self.number);
        let records = self.project.projects.store().scan(Scan {
            after: Some(&key::snapshot(self.number, place - 1)),
            limit: 2,
            ..Scan::prefix(&prefix)
        })?;
        let Some(record) = records.first().filter(|record| record.number() == place) else {
            return Ok(None);
        };
        let next = records.get(1);
        Ok(Some(Change {
            snapshot: self.snapshot_of(record)?,
            after: match next.filter(|next| next.number() <= self.snapshot_count()) {
                Some(next) => self.snapshot_of(next)?.revision,
                None => self.head(),
            },
        }))
    }
}

impl Search<'_> {
    /// True if this step touched the path, of which `told` is as for [`MetState::pass`].
    fn touches(&mut self, step: &Step, told: Option<bool>) -> Result<bool> {
        self.looked += 1;
        let passed = self.met.pass(step, told, self.nodes, self.path)?;
        self.compared += u64::from(passed.is_compared);
        Ok(passed.touches)
    }

    /// True if the page ends here: after its time, or so many snapshots.
    fn is_over(&self, empty: bool) -> bool {
        if self.looked >= HISTORY_SEARCHED_MAX {
            return true;
        }
        let looks_up = self.looked.is_multiple_of(LOOKED_AT_ONCE)
            || self.compared > 0 && self.compared.is_multiple_of(COMPARED_AT_ONCE);
        looks_up && self.is_late(empty)
    }

    /// True after the page's time.
    fn is_late(&self, empty: bool) -> bool {
        let most = if empty {
            self.empty_for
        } else {
            Duration::from_millis(HISTORY_SEARCH_MS_MAX)
        };
        self.began.elapsed() >= most
    }
}
