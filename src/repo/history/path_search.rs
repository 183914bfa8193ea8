//! The search for the steps of a branch that touched a path.
//!
//! Which steps touched it never changes, so it is kept: the next search looks only at those that came since, and at
//! those before which this one ended.

use std::mem;

use super::newer::require_time;
use super::path_walk::{MetState, changed_within};
use super::step_cache::{RANGE_PLACES_MAX, Run, Touched};
use crate::base::file_path::FilePath;
use crate::repo::{Branch, Result};

/// Goes back through a history, from a state on, to the steps that touched what lies at a path.
#[derive(Debug)]
pub(super) struct PathSearch {
    branch: Branch,
    path: FilePath,
    /// The oldest place that there is.
    oldest: u64,
    /// Until when it goes on, by the time since the start.
    until_ms: i64,
    /// What is known of the steps down to where it is.
    known: Touched,
    /// So many of those were given, or lie before the state where it began.
    passed: usize,
    /// What others found of older steps: ranges that do not meet, the oldest first.
    older: Vec<Touched>,
    /// The state that was met last; `None` where none was.
    met: Option<MetState>,
    /// True once there is more to keep.
    has_looked: bool,
}

impl PathSearch {
    /// Begins with the step that led to the state at this place.
    pub(super) fn new(branch: &Branch, path: FilePath, place: u64, until_ms: i64) -> Result<Self> {
        let steps = &branch.project.projects.shared.steps;
        let mut older = steps.touched(branch.number, &path);
        older.retain(|range| range.from <= place);
        let known = older.pop_if(|newest| newest.to >= place);
        let known = known.unwrap_or_else(|| Touched::before(place));
        Ok(Self {
            branch: branch.clone(),
            path,
            oldest: oldest_place(branch, place)?,
            until_ms,
            passed: known.places.partition_point(|touched| *touched >= place),
            known,
            older,
            met: None,
            has_looked: false,
        })
    }

    /// The place of the next state whose replacement touched the path.
    ///
    /// # Errors
    /// [`Unfinished`](crate::repo::Error::Unfinished) when the time is over. What was looked at by then stays in
    /// memory, so that another search comes farther.
    pub(super) fn next_place(&mut self) -> Result<Option<u64>> {
        loop {
            if let Some(&place) = self.known.places.get(self.passed) {
                if place < self.oldest {
                    // It was pruned since it was found, and all that are older.
                    return Ok(None);
                }
                self.passed += 1;
                return Ok(Some(place));
            }
            if self.known.from <= self.oldest {
                return Ok(None);
            }
            self.look()?;
        }
    }

    /// Looks at the next steps: to the first that touched the path, or to the end of their run.
    fn look(&mut self) -> Result<()> {
        self.has_looked = true;
        let before = self.known.from;
        if let Some(older) = self.older.pop_if(|older| older.to >= before) {
            self.known.from = older.from;
            self.known.places.extend(older.places);
            self.met = None;
            return Ok(());
        }
        let down_to = self.older.last().map_or(0, |older| older.to);
        let down_to = down_to.max(self.oldest);
        let number = Run::number(before - 1);
        let run = Run::of(&self.branch, number)?;
        let within = changed_within(&run, &self.path);
        let mut met = match self.met.take() {
            Some(met) => met,
            // The state to which the newest step before led.
            None => MetState::of(&self.branch.state_after(before - 1)?),
        };
        let nodes = self.branch.project.projects.nodes();
        for step in run.between(down_to, before).iter().rev() {
            let told = step.path.map(|number| within[usize::from(number)]);
            // What is found is kept, so a step is not just believed that it touched the path.
            let told = told.filter(|within| !within);
            let passed = met.pass(step, told, nodes, &self.path)?;
            self.known.from = step.place;
            if passed.touches {
                self.known.places.push(step.place);
            }
            if passed.is_compared {
                self.require_time()?;
            }
            if passed.touches {
                self.met = Some(met);
                return Ok(());
            }
        }
        self.met = Some(met);
        self.known.from = Run::first(number).max(down_to);
        self.require_time()
    }

    /// # Errors
    /// [`Unfinished`](crate::repo::Error::Unfinished) when the time is over and there are more steps. Where not all
    /// that was found is kept, the next search would end at the same place: this one goes on however long it takes.
    fn require_time(&self) -> Result<()> {
        let is_kept = self.known.places.len() <= RANGE_PLACES_MAX;
        if self.known.from <= self.oldest || !is_kept {
            return Ok(());
        }
        require_time(&self.branch.project, Some(self.until_ms))
    }
}

/// However it ends, what it found is kept for the next one, within a bound.
impl Drop for PathSearch {
    fn drop(&mut self) {
        if self.has_looked {
            let known = mem::take(&mut self.known);
            let steps = &self.branch.project.projects.shared.steps;
            steps.add(self.branch.number, &self.path, known, self.oldest);
        }
    }
}

/// The oldest place that there is now before a state at this one; the place itself if there is none.
pub(super) fn oldest_place(branch: &Branch, place: u64) -> Result<u64> {
    let oldest = branch.oldest_snapshot()?;
    Ok(oldest.unwrap_or(place).min(place))
}
