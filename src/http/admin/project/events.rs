//! `GET /projects/<project>/events`: the branches that were made, changed or deleted.
//!
//! The session is looked at and not used, as where one branch is waited for.

use std::sync::Arc;

use serde::Serialize;

use crate::access::ProjectRights;
use crate::base::branch_name::BranchName;
use crate::http::admin::branch::shape::AdminBranchJson;
use crate::http::admin::open::{Seen, open};
use crate::http::blocking::Kind;
use crate::http::error::Error;
use crate::http::reply::Reply;
use crate::http::request::context::RequestContext;
use crate::http::wait::events::{self, Source};
use crate::http::wait::subscriptions::Subscription;
use crate::repo::BranchStates;

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
    };
    let first = source.look().await?;
    events::respond(&context, source, first)
}

/// The changes of all branches of a project.
struct AllBranches {
    context: Arc<RequestContext>,
    project: String,
    /// What the last look was made of.
    seen: Option<Seen>,
    /// What was found last.
    told: Option<Found>,
}

struct Found {
    branches: BranchStates,
    default: Option<BranchName>,
    rights: ProjectRights,
}

/// What an event tells.
#[derive(Debug, Serialize)]
struct Changes {
    /// Those that were made or changed, as they are now.
    branches: Vec<AdminBranchJson>,
    /// Names that no branch has any more.
    deleted: Vec<BranchName>,
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
}

impl AllBranches {
    fn look_now(&mut self) -> Result<(String, Subscription), Error> {
        let context = &self.context;
        let caller = context.watcher()?;
        let project = open(context, &caller, &self.project)?;
        let subscription = context.service.subscriptions.join(&project, None)?;
        // Before what is read: a change between the two is another state.
        let seen = Seen::now(context, &self.project)?;
        let default = project.default_branch()?;
        let found = Found {
            branches: project.branch_states()?,
            default: default.as_ref().map(|branch| branch.name().clone()),
            rights: caller.rights_on(&project),
        };
        self.seen = Some(seen);
        let told = self.told.replace(found);
        let (Some(told), Some(found)) = (told, &self.told) else {
            return Ok((String::new(), subscription));
        };
        let is_shown_otherwise = |name: &BranchName| {
            let is_default = |of: &Found| of.default.as_ref() == Some(name);
            told.rights != found.rights || is_default(&told) != is_default(found)
        };
        let changes =
            project.branch_changes(&told.branches, &found.branches, is_shown_otherwise)?;
        if changes.changed.is_empty() && changes.gone.is_empty() {
            return Ok((String::new(), subscription));
        }
        let shown = changes.changed.iter().map(|branch| {
            AdminBranchJson::new(context, &project, branch, default.as_ref(), found.rights)
        });
        let event = events::json(&Changes {
            branches: shown.collect::<Result<_, _>>()?,
            deleted: changes.gone,
        });
        Ok((format!("data: {event}\n\n"), subscription))
    }
}
