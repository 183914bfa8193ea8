//! What differs between two trees, read part by part.

use std::collections::HashMap;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use super::FileDifference;
use super::renames::{Candidates, Renames};
use crate::base::file_path::FilePath;
use crate::base::id::NodeId;
use crate::manifest::diff as manifest;
use crate::manifest::diff::Start;
use crate::manifest::{Draft, DraftNodes};
use crate::repo::{FileView, Project, Result, Revision};

/// So many differences come before the next one whose path a survey keeps.
const MARKED_EVERY: usize = 64;

/// Two trees that are compared. The new one may be in no store. A cheap handle.
#[derive(Clone, Debug)]
pub struct Comparison {
    project: Project,
    drafted: Arc<DraftNodes>,
    old: NodeId,
    new: NodeId,
}

/// What has to be known of all differences before the first one is told.
#[derive(Debug)]
pub struct Survey {
    renames: Renames,
    /// The paths of the first of them and of each 64th after it.
    marks: Vec<String>,
}

impl Comparison {
    /// Of two states.
    pub fn of(old: &Revision, new: &Revision) -> Result<Self> {
        Ok(Self {
            project: new.project.clone(),
            drafted: Arc::default(),
            old: old.root()?,
            new: new.root()?,
        })
    }

    /// Of a state and one that a draft leads to.
    pub(in crate::repo) fn drafted(
        project: &Project,
        draft: Draft<'_>,
        old: NodeId,
        new: NodeId,
    ) -> Self {
        Self {
            project: project.clone(),
            drafted: Arc::new(draft.into_nodes()),
            old,
            new,
        }
    }

    /// Names what is compared: equal texts, equal differences.
    pub fn content(&self) -> String {
        format!("{} {}", self.old, self.new)
    }

    /// The differences behind a path, or the first ones, at most this many, in the byte order of their
    /// paths. What both trees share is not read.
    pub fn part(&self, after: Option<&str>, limit: usize) -> Result<Vec<FileDifference>> {
        let mut part = Vec::new();
        if limit > 0 {
            self.each(after.map(Start::After), |difference| {
                part.push(difference);
                if part.len() < limit {
                    ControlFlow::Continue(())
                } else {
                    ControlFlow::Break(())
                }
            })?;
        }
        Ok(part)
    }

    /// A page: those at or below `path` that come after `after`, at most `limit`, and whether there are
    /// more. It is compared until the page is full; what comes before it is skipped unread.
    pub fn page(
        &self,
        path: Option<&FilePath>,
        after: Option<&FilePath>,
        limit: usize,
    ) -> Result<(Vec<FileDifference>, bool)> {
        let start = match (path, after) {
            (Some(path), after) if after.is_none_or(|after| after.as_str() < path.as_str()) => {
                Some(Start::At(path.as_str()))
            }
            (_, after) => after.map(|after| Start::After(after.as_str())),
        };
        let (mut page, mut more) = (Vec::new(), false);
        // Nothing that comes after this is below the path.
        let end = path.map(|path| format!("{path}0"));
        self.each(start, |difference| {
            if end.as_ref().is_some_and(|end| difference.path >= *end) {
                return ControlFlow::Break(());
            }
            if path.is_some_and(|path| !path.is_or_holds(&difference.path)) {
                return ControlFlow::Continue(());
            }
            more = page.len() == limit;
            if more {
                return ControlFlow::Break(());
            }
            page.push(difference);
            ControlFlow::Continue(())
        })?;
        Ok((page, more))
    }

    /// Looks at all differences, and keeps little of them.
    ///
    /// # Limits
    /// Memory as of [`Renames`], and a path for each 64 differences.
    pub fn survey(&self) -> Result<Survey> {
        let (mut candidates, mut marks, mut seen) = (Candidates::default(), Vec::new(), 0_usize);
        self.each(None, |difference| {
            candidates.add(&difference);
            if seen.is_multiple_of(MARKED_EVERY) {
                marks.push(difference.path);
            }
            seen += 1;
            ControlFlow::Continue(())
        })?;
        Ok(Survey {
            renames: candidates.pair(),
            marks,
        })
    }

    /// By their places the moved files among the differences at these places, with the paths that they had.
    pub fn sources(&self, survey: &Survey, of: Range<usize>) -> Result<HashMap<usize, String>> {
        let mut wanted: Vec<(usize, usize)> = of
            .filter_map(|at| Some((survey.renames.source(at)?, at)))
            .collect();
        wanted.sort_unstable();
        let mut sources = HashMap::with_capacity(wanted.len());
        for near in wanted.chunk_by(|one, next| one.0 / MARKED_EVERY == next.0 / MARKED_EVERY) {
            let mark = near[0].0 / MARKED_EVERY;
            let mut near = near.iter().peekable();
            let mut place = mark * MARKED_EVERY;
            self.each(Some(Start::At(&survey.marks[mark])), |difference| {
                if let Some((_, at)) = near.next_if(|(source, _)| *source == place) {
                    sources.insert(*at, difference.path);
                }
                place += 1;
                match near.peek() {
                    Some(_) => ControlFlow::Continue(()),
                    None => ControlFlow::Break(()),
                }
            })?;
        }
        Ok(sources)
    }

    fn each(
        &self,
        start: Option<Start<'_>>,
        mut visit: impl FnMut(FileDifference) -> ControlFlow<()>,
    ) -> Result<()> {
        let nodes = self.drafted.over(self.project.projects.nodes());
        let view = |entry| FileView::new(&self.project, entry);
        let _flow = manifest::each(&nodes, self.old, self.new, start, &mut |change| {
            visit(FileDifference {
                path: change.path,
                old: change.old.map(view),
                new: change.new.map(view),
            })
        })?;
        Ok(())
    }
}
