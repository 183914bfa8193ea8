//! A branch for who waits for its next state: `GET …/branches/<ref>?wait=30`.
//!
//! The session is looked at and not used: a page that watches by itself keeps nobody logged in.

use super::item;
use crate::access::Caller;
use crate::http::admin::open::open;
use crate::http::blocking::Kind;
use crate::http::error::Error;
use crate::http::reply::Reply;
use crate::http::request::context::RequestContext;
use crate::http::request::params;
use crate::http::route::admin::BranchAt;
use crate::http::wait::subscriptions::Subscription;
use crate::http::wait::{asked, hold};

/// True for a request that would wait.
pub(in crate::http::admin) fn is_asked(context: &RequestContext) -> bool {
    context.query.pairs().any(|(key, _)| key == "wait")
}

/// Answers such a request.
pub(in crate::http::admin) async fn respond(
    context: &mut RequestContext,
    at: BranchAt,
) -> Result<Reply, Error> {
    let wait = asked::take(&mut context.query);
    let (context, at) = (&*context, &at);
    let may_ask = || context.watcher();
    hold::hold(context, wait, may_ask, |joins| async move {
        let look = || {
            let caller = context.watcher()?;
            let subscription = joins.then(|| join(context, &caller, at)).transpose()?;
            Ok((item::show(context, &caller, at)?, subscription))
        };
        let asker = context.found_asker(true).await?;
        let threads = &context.service.threads;
        threads.run(Kind::Admin, asker, look).await
    })
    .await
}

/// A place among those who wait for a change of the branch.
pub(super) fn join(
    context: &RequestContext,
    caller: &Caller,
    at: &BranchAt,
) -> Result<Subscription, Error> {
    let name = params::branch(&at.branch)?;
    let project = open(context, caller, &at.project)?;
    context.service.subscriptions.join(&project, Some(&name))
}
