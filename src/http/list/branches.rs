//! A list of branches: its text is made once for its tag, and where that is long once more while it is sent. Of each
//! branch no more than its place among the names is held between.

use std::sync::Arc;

use serde::Serialize;

use super::stream::{Each, Parts};
use crate::http::admission::fair_semaphore::FairPermit;
use crate::http::error::Error;
use crate::http::reply::coding::Coding;
use crate::http::reply::json::{ListText, PASSING};
use crate::http::request::context::RequestContext;
use crate::repo::{Branch, BranchNames, Project};

/// Who a list is for.
pub(in crate::http) trait Audience: Send + Sync {
    /// A branch as they see it.
    type Shown: Serialize;

    /// Shows a branch of this project.
    ///
    /// # Errors
    /// It cannot be read.
    fn show(
        &self,
        context: &RequestContext,
        project: &Project,
        branch: &Branch,
    ) -> Result<Self::Shown, Error>;

    /// Looks whether they may still have the list.
    ///
    /// # Errors
    /// They may not, or the project is gone.
    fn check(&self, context: &RequestContext, project: &Project) -> Result<(), Error>;
}

/// Branches of a project, in the order of their list.
pub(in crate::http) struct ListedBranches<A> {
    project: Project,
    names: BranchNames,
    /// Their places among the names; once the list is made for its tag, of those only that may be shown again.
    places: Vec<usize>,
    audience: A,
}

impl<A: Audience> ListedBranches<A> {
    /// Those at these places among the names.
    pub(in crate::http) fn new(
        project: Project,
        names: BranchNames,
        places: Vec<usize>,
        audience: A,
    ) -> Self {
        Self {
            project,
            names,
            places,
            audience,
        }
    }

    /// How many there are.
    pub(in crate::http) fn count(&self) -> usize {
        self.places.len()
    }

    /// Makes the text. Each branch is read when it is shown; one that was deleted meanwhile is left out.
    ///
    /// # Errors
    /// As [`ListText::of`], and those of [`Audience::show`].
    pub(in crate::http) fn text<'a>(
        &mut self,
        context: &'a RequestContext,
        room: Option<FairPermit<'a>>,
        coding: Coding,
    ) -> Result<ListText<'a>, Error> {
        let places = std::mem::take(&mut self.places);
        let mut left = Vec::with_capacity(places.len());
        let shown = places.into_iter().filter_map(|place| {
            let branch = self.open(place).transpose()?;
            Some(branch.and_then(|branch| self.stamped(context, place, &branch, &mut left)))
        });
        let list = ListText::of(context, room, coding, shown)?;
        self.places = left;
        Ok(list)
    }

    /// The same of these branches, whatever their places are: they were read after the names, and are in the byte order
    /// of their own.
    ///
    /// # Errors
    /// As there.
    pub(in crate::http) fn text_of<'a>(
        &mut self,
        context: &'a RequestContext,
        room: Option<FairPermit<'a>>,
        coding: Coding,
        branches: &[Branch],
    ) -> Result<ListText<'a>, Error> {
        let (mut left, mut place) = (Vec::with_capacity(branches.len()), 0);
        let shown = branches.iter().map(|branch| {
            let name = branch.name().as_str();
            while place < self.names.len() && self.names.name(place) < name {
                place += 1;
            }
            self.stamped(context, place, branch, &mut left)
        });
        let list = ListText::of(context, room, coding, shown)?;
        self.places = left;
        Ok(list)
    }

    /// What is shown of a branch, with its stamp. Its place is added to those `left` if it may be shown again.
    fn stamped(
        &self,
        context: &RequestContext,
        place: usize,
        branch: &Branch,
        left: &mut Vec<usize>,
    ) -> Result<(A::Shown, [u8; 16]), Error> {
        let stamp = if place < self.names.len() && self.names.is_of(place, branch) {
            left.push(place);
            branch.stamp()
        } else {
            PASSING
        };
        Ok((self.show(context, branch)?, stamp))
    }

    /// The same list, made while it is sent. A branch that has changed since the tag was made is shown as it is then,
    /// and one that was renamed not at all: the state that the tag is of is over.
    pub(in crate::http) fn into_parts(mut self, context: &RequestContext) -> impl Parts + use<A> {
        let context = Arc::new(context.clone());
        let places = std::mem::take(&mut self.places).into_iter();
        let listed = Arc::new(self);
        let (asked, checked) = (Arc::clone(&context), Arc::clone(&listed));
        Each {
            entries: places.filter_map(move |place| listed.show_again(&context, place).transpose()),
            check: move || checked.audience.check(&asked, &checked.project),
        }
    }

    fn show_again(
        &self,
        context: &RequestContext,
        place: usize,
    ) -> Result<Option<A::Shown>, Error> {
        let branch = self.open(place)?;
        let branch = branch.filter(|branch| self.names.is_of(place, branch));
        branch.map(|branch| self.show(context, &branch)).transpose()
    }

    /// The branch at this place among the names, `None` for one that was deleted meanwhile.
    fn open(&self, place: usize) -> Result<Option<Branch>, Error> {
        Ok(self.project.open_branches(&self.names, [place])?.pop())
    }

    fn show(&self, context: &RequestContext, branch: &Branch) -> Result<A::Shown, Error> {
        self.audience.show(context, &self.project, branch)
    }
}
