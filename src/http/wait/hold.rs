//! A request that is answered when there is news, or when it has waited long enough.

use std::time::Duration;

use hyper::StatusCode;
use tokio::time::{Instant, sleep_until};

use super::subscriptions::Subscription;
use crate::http::error::Error;
use crate::http::reply::Reply;
use crate::http::request::context::RequestContext;

/// Answers a request as soon as the answer is another than that the client has it (304), or the wait is
/// over, the client has left or the service stops. `attempt` makes the answer from the credential on, as
/// it is then; where it is told to, it takes a place first among those who wait.
///
/// # Errors
/// For a `wait` that cannot be those of `may_ask`, which looks whether the client may ask, or else its own; those of
/// `attempt`; [`Error::TooMany`] and [`Error::Overloaded`] where too many wait.
pub(in crate::http) async fn hold<C, F>(
    context: &RequestContext,
    wait: Result<Duration, Error>,
    may_ask: impl FnOnce() -> Result<C, Error>,
    attempt: impl Fn(bool) -> F,
) -> Result<Reply, Error>
where
    F: Future<Output = Result<(Reply, Option<Subscription>), Error>>,
{
    let service = &context.service;
    let wait = match wait {
        Ok(wait) => wait,
        // Who may not ask is told that first.
        Err(refused) => {
            let asked = service.threads.look(may_ask).await;
            return Err(asked.err().unwrap_or(refused));
        }
    };
    let (began, end) = (Instant::now(), service.subscriptions.end_of(wait));
    let mut place = None;
    let mut has_left = false;
    loop {
        let is_over = has_left || Instant::now() >= end || service.subscriptions.are_closed();
        let (reply, subscription) = attempt(!is_over).await?;
        let Some(mut subscription) =
            subscription.filter(|_| reply.status == StatusCode::NOT_MODIFIED)
        else {
            return Ok(reply);
        };
        drop(reply);
        if place.is_none() {
            place = Some(context.wait()?);
        }
        let held = context.connection.hold();
        tokio::select! {
            () = subscription.told() => {}
            () = sleep_until(end) => {}
            () = held.left() => has_left = true,
        }
        context.connection.note_held(began.elapsed());
    }
}
