//! `GET /projects/<project>/events`: the branches that were made, changed or deleted.
//!
//! The session is looked at and not used, as where one branch is waited for.

use std::iter;
use std::sync::Arc;

use crate::access::{Caller, ProjectRights};
use crate::base::branch_name::BranchName;
use crate::base::limits::EVENT_BYTES_MAX;
use crate::http::admin::branch::shape::AdminBranchJson;
use crate::http::admin::open::{Seen, open};
use crate::http::blocking::Kind;
use crate::http::error::Error;
use crate::http::list::stream::part;
use crate::http::reply::Reply;
use crate::http::reply::json_text::into_text;
use crate::http::request::context::RequestContext;
use crate::http::wait::events::{self, Source};
use crate::http::wait::subscriptions::Subscription;
use crate::repo::{Branch, BranchChanges, BranchStates, Project};

/// Answers with the stream. It begins with nothing: who has it open reads the list, and misses no change.
pub(in crate::http::admin) async fn respond(
    context: &RequestContext,
    project: String,
) -> Result<Reply, Error> {
    let context = Arc::new(context.clone());
    let mut source = AllBranches {
        context: Arc::clone(&context),
        project,
        seen: None,
        told: None,
        telling: None,
        is_due: false,
    };
    let first = source.look().await?;
    events::respond(&context, source, first)
}

/// The changes of all branches of a project.
struct AllBranches {
    context: Arc<RequestContext>,
    project: String,
    /// What the last look was made of that found something anew.
    seen: Option<Seen>,
    /// What was found last of which all is told.
    told: Option<Found>,
    /// What was found after that, and what is left to tell of the changes between the two.
    telling: Option<(Found, BranchChanges)>,
    is_due: bool,
}

struct Found {
    branches: BranchStates,
    default: Option<Branch>,
    rights: ProjectRights,
}

impl Source for AllBranches {
    async fn look(&mut self) -> Result<(String, Subscription), Error> {
        let context = Arc::clone(&self.context);
        let asker = context.found_asker(true).await?;
        let threads = &context.service.threads;
        threads.run(Kind::Admin, asker, || self.look_now()).await
    }

    fn is_unchanged(&self) -> Result<bool, Error> {
        let now = Seen::now(&self.context, &self.project)?;
        Ok(self.seen == Some(now))
    }

    fn is_due(&self) -> bool {
        self.is_due
    }
}

impl AllBranches {
    /// Goes on to tell what was found before, or finds what has changed since.
    fn look_now(&mut self) -> Result<(String, Subscription), Error> {
        let context = &self.context;
        let caller = context.watcher()?;
        let project = open(context, &caller, &self.project)?;
        let subscription = context.service.subscriptions.join(&project, None)?;
        // Another may have the name by now.
        let telling = self.telling.take().filter(|(_, left)| left.is_of(&project));
        let goes_on = telling.is_some();
        let (found, left) = if let Some((found, left)) = telling {
            (found, Some(left))
        } else {
            // Before what is read: a change between the two is another state.
            self.seen = Some(Seen::now(context, &self.project)?);
            (Found::now(&project, &caller)?, None)
        };
        let Some(told) = &self.told else {
            self.told = Some(found);
            return Ok((String::new(), subscription));
        };
        let mut changes = match left {
            Some(left) => left,
            None => project.branch_changes(&told.branches, &found.branches),
        };
        let (event, is_full) = next_event(context, &project, [told, &found], &mut changes)?;
        // A change after what is told now was found was told to the subscription of then: it is looked for anew.
        self.is_due = goes_on || is_full;
        if is_full {
            self.telling = Some((found, changes));
        } else {
            self.told = Some(found);
        }
        Ok((event, subscription))
    }
}

impl Found {
    fn now(project: &Project, caller: &Caller) -> Result<Self, Error> {
        Ok(Self {
            default: project.default_branch()?,
            branches: project.branch_states()?,
            rights: caller.rights_on(project),
        })
    }

    fn has_as_default(&self, name: &BranchName) -> bool {
        let default = self.default.as_ref();
        default.is_some_and(|default| default.name() == name)
    }
}

/// The event that tells the next of the changes between two looks, empty where there is none, and whether it is full,
/// so that some may be left. `branches` are those that were made or changed, as they are by now, `deleted` names that
/// no branch had any more at the second look.
///
/// # Limits
/// Nothing is added after [`EVENT_BYTES_MAX`] bytes.
fn next_event(
    context: &RequestContext,
    project: &Project,
    [told, found]: [&Found; 2],
    changes: &mut BranchChanges,
) -> Result<(String, bool), Error> {
    let is_shown_otherwise = |name: &BranchName| {
        told.rights != found.rights || told.has_as_default(name) != found.has_as_default(name)
    };
    let changed = iter::from_fn(|| changes.next_changed(is_shown_otherwise).transpose());
    let default = found.default.as_ref();
    let mut shown = changed
        .map(|branch| AdminBranchJson::new(context, project, &branch?, default, found.rights));
    let branches = part(&mut shown, EVENT_BYTES_MAX)?;
    let mut names = iter::from_fn(|| changes.next_gone().map(Ok));
    let deleted = part(&mut names, EVENT_BYTES_MAX.saturating_sub(branches.len()))?;
    if branches.is_empty() && deleted.is_empty() {
        return Ok((String::new(), false));
    }
    let is_full = branches.len() + deleted.len() >= EVENT_BYTES_MAX;
    let (branches, deleted) = (into_text(branches), into_text(deleted));
    let event = format!("data: {{\"branches\":[{branches}],\"deleted\":[{deleted}]}}\n\n");
    Ok((event, is_full))
}
