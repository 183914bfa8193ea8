//! Answers that are made once for all who ask for the same while a project is in one state.

use crate::http::error::Error;
use crate::http::reply::Reply;
use crate::http::reply::cache::{RenderedKey, ShownState};
use crate::http::reply::coding::Coding;
use crate::http::reply::rendered::Rendered;
use crate::http::request::context::RequestContext;
use crate::repo::Project;

/// By what an answer is kept that is the same until the project or one of its branches changes, but for what is pruned.
pub(super) fn key(
    context: &RequestContext,
    project: &Project,
    asked: String,
) -> Result<RenderedKey, Error> {
    Ok(RenderedKey {
        state: ShownState::of_branches(project)?,
        asked,
        coding: Coding::accepted(context.headers()),
    })
}

/// The answer under a key, if it is kept and nothing of the past that it tells of was removed since. It takes
/// microseconds.
pub(super) fn found(
    context: &RequestContext,
    project: &Project,
    key: &RenderedKey,
) -> Result<Option<Reply>, Error> {
    let Some(kept) = context.service.rendered.get(key) else {
        return Ok(None);
    };
    let holds = kept.holds_in(project)?;
    Ok(holds.then(|| kept.reply(context.headers())))
}

/// The same; `make` makes it where there is none, once for all who ask at the same time.
///
/// # Errors
/// Those of `make`.
pub(super) fn found_or_made(
    context: &RequestContext,
    project: &Project,
    key: &RenderedKey,
    make: impl Fn() -> Result<Rendered, Error>,
) -> Result<Reply, Error> {
    let rendered = &context.service.rendered;
    let mut is_new = false;
    let body = rendered.get_or_render(key, || {
        is_new = true;
        make()
    })?;
    if is_new || body.holds_in(project)? {
        return Ok(body.reply(context.headers()));
    }
    // The state is the same, and something of the past is gone: this one takes its place.
    let body = make()?;
    let reply = body.reply(context.headers());
    rendered.keep(key.clone(), body);
    Ok(reply)
}
