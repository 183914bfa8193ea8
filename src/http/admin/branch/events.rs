//! `GET /projects/<project>/branches/<ref>/events`: the branch, each time it is another.
//!
//! The session is looked at and not used, as in [`super::watch`].

use std::sync::Arc;

use hyper::header::HeaderName;

use super::shape;
use super::watch::join;
use crate::http::admin::open::{Seen, open_branch};
use crate::http::blocking::Kind;
use crate::http::error::Error;
use crate::http::reply::Reply;
use crate::http::request::conditions;
use crate::http::request::context::RequestContext;
use crate::http::route::admin::BranchAt;
use crate::http::wait::events::{self, Source};
use crate::http::wait::subscriptions::Subscription;

/// What a client sends that comes again: the id of the last event that it got.
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// Answers with the stream. It begins with the branch as it is, unless the client has its tag.
pub(in crate::http::admin) async fn respond(
    context: &RequestContext,
    at: BranchAt,
) -> Result<Reply, Error> {
    let context = Arc::new(context.clone());
    let mut source = OneBranch {
        context: Arc::clone(&context),
        at,
        seen: None,
        id: String::new(),
        told: String::new(),
    };
    let (first, subscription) = source.look().await?;
    let known = match context.headers().get(LAST_EVENT_ID) {
        Some(id) => Some(String::from_utf8_lossy(id.as_bytes())),
        // A page cannot set a header in its first request.
        None => context.query.text("etag")?.map(Into::into),
    };
    let has_it = known.is_some_and(|known| conditions::bare(&known) == source.id);
    let first = if has_it { String::new() } else { first };
    events::respond(&context, source, (first, subscription))
}

/// The states of one branch.
struct OneBranch {
    context: Arc<RequestContext>,
    at: BranchAt,
    /// What the last look was made of.
    seen: Option<Seen>,
    /// The commit id of the branch when it was looked at last.
    id: String,
    /// The branch as JSON at that time.
    told: String,
}

impl Source for OneBranch {
    async fn look(&mut self) -> Result<(String, Subscription), Error> {
        let (context, at) = (&self.context, &self.at);
        let look = || {
            let caller = context.watcher()?;
            let subscription = join(context, &caller, at)?;
            // Before what is read: a change between the two is another state.
            let seen = Seen::now(context, &at.project)?;
            let branch = open_branch(context, &caller, at)?;
            let id = branch.head().digest()?.commit_id().to_owned();
            let shown = shape::of(context, &caller, &branch)?;
            Ok::<_, Error>((seen, id, events::json(&shown), subscription))
        };
        let asker = context.found_asker(true).await?;
        let threads = &context.service.threads;
        let (seen, id, shown, subscription) = threads.run(Kind::Admin, asker, look).await?;
        self.seen = Some(seen);
        self.id = id;
        if shown == self.told {
            return Ok((String::new(), subscription));
        }
        let event = format!("id: {}\ndata: {shown}\n\n", self.id);
        self.told = shown;
        Ok((event, subscription))
    }

    fn is_unchanged(&self) -> Result<bool, Error> {
        let now = Seen::now(&self.context, &self.at.project)?;
        Ok(self.seen == Some(now))
    }
}
