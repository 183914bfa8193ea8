//! The Read API: GitLab's repository API in shape, opened by a token (specification section 4.1,
//! contract section 5).
//!
//! Only tokens count here; a session cookie is not looked at.

mod account;
mod archive;
mod base64_json;
mod blob;
mod branches;
mod commits;
mod compare;
mod diffs;
mod file;
mod kept;
mod projects;
mod stats;
mod tags;
pub(super) mod token;
mod tree;

use hyper::StatusCode;
use serde::Serialize;

use super::blocking::Kind;
use super::error::Error;
use super::reply::Reply;
use super::request::body::{RequestBody, has_type};
use super::request::context::RequestContext;
use super::request::params;
use super::route::read::{Resource, Route};
use super::wait::subscriptions::Subscription;
use super::wait::{asked, hold};
use crate::access::{TokenHolder, Writes};
use crate::base::branch_name::BranchName;
use crate::base::limits::REQUEST_TARGET_BYTES_MAX;
use crate::repo::Project;

/// The answer of the health check.
#[derive(Debug, Serialize)]
struct Health {
    status: &'static str,
    time: String,
    writes: &'static str,
}

/// Answers a request of the Read API.
pub(in crate::http) async fn respond(
    context: &mut RequestContext,
    route: Route,
    body: &mut RequestBody,
) -> Result<Reply, Error> {
    if let Route::Health = route {
        return health(context);
    }
    if has_form(context, body) {
        // Nothing is read for who shows no token that counts.
        let threads = &context.service.threads;
        threads.look(|| token::known_holder(context)).await?;
        merge_form(context, body).await?;
    }
    if route.can_wait() && context.query.value("wait")?.is_some() {
        // What is rarer is large, and every request would have room for it.
        return Box::pin(wait(context, &route)).await;
    }
    let context = &*context;
    let (opened, reply) = look(context, &route, |opened| {
        let reply = opened.at_once(context, &route)?;
        Ok((opened, reply))
    })
    .await?;
    opened.finish(reply, context, &route).await
}

/// Authenticates, opens the project where the route names one, and looks something up there.
async fn look<T>(
    context: &RequestContext,
    route: &Route,
    work: impl Fn(Authorized) -> Result<T, Error>,
) -> Result<T, Error> {
    let threads = &context.service.threads;
    let known = || {
        let opened = Authorized::known(context, route)?;
        opened.map(&work).transpose()
    };
    if let Some(found) = threads.look(known).await? {
        return Ok(found);
    }
    // A first use binds the token, and that commit waits for the writer: among the changes, which do so too, and not
    // where all who read have to pass. What is rarer is large, and every request would have room for it.
    Box::pin(async {
        let bind = || token::holder(context);
        let bound = threads.run(Kind::Admin, context.asker(), bind).await?;
        let opened = || work(Authorized::of(bound, context, route)?);
        threads.look(opened).await
    })
    .await
}

/// Answers when there is another answer than that the client has it, or when it has waited long enough.
async fn wait(context: &mut RequestContext, route: &Route) -> Result<Reply, Error> {
    let wait = asked::take(&mut context.query);
    let context = &*context;
    // Who is refused for its `wait` has bound no token by that.
    let may_ask = || Authorized::known(context, route);
    hold::hold(context, wait, may_ask, |joins| async move {
        let (opened, subscription) = look(context, route, |opened| {
            let subscription = if joins {
                opened.join(context, route)?
            } else {
                None
            };
            Ok((opened, subscription))
        })
        .await?;
        Ok((opened.respond(context, route).await?, subscription))
    })
    .await
}

fn health(context: &RequestContext) -> Result<Reply, Error> {
    context.gate().require_writable()?;
    let health = Health {
        status: "ok",
        time: context.service.clock.now().to_string(),
        writes: match context.gate().writes() {
            Writes::Taken => "ok",
            _ => "refused",
        },
    };
    Ok(Reply::json(StatusCode::OK, &health))
}

/// Who asks, and the project that is asked for.
#[derive(Debug)]
struct Authorized {
    holder: TokenHolder,
    project: Option<Project>,
}

impl Authorized {
    /// Authenticates, and opens the project where the route names one. `None` at a first use by which the token is to
    /// be bound.
    fn known(context: &RequestContext, route: &Route) -> Result<Option<Self>, Error> {
        let holder = token::known_holder(context)?;
        let opened = holder.map(|holder| Self::of(holder, context, route));
        opened.transpose()
    }

    /// Opens the project for who holds the token, where the route names one.
    fn of(holder: TokenHolder, context: &RequestContext, route: &Route) -> Result<Self, Error> {
        let named = match route {
            Route::Project { project } | Route::Repository { project, .. } => Some(project),
            _ => None,
        };
        let open = |named: &String| -> Result<_, Error> {
            let selector = params::selector(named)?;
            Ok(context.gate().open_by_token(&holder, &selector)?)
        };
        let project = named.map(open).transpose()?;
        Ok(Self { holder, project })
    }

    /// The answer, from memory or not.
    async fn respond(&self, context: &RequestContext, route: &Route) -> Result<Reply, Error> {
        let threads = &context.service.threads;
        let reply = threads.look(|| self.at_once(context, route)).await?;
        self.finish(reply, context, route).await
    }

    /// The answer that was found at once, or one that takes longer.
    async fn finish(
        &self,
        found: Option<Reply>,
        context: &RequestContext,
        route: &Route,
    ) -> Result<Reply, Error> {
        if let Some(reply) = found {
            return Ok(reply);
        }
        let place = || {
            let token = Some(self.holder.number());
            let long = &context.service.long;
            long.enter(self.holder.owner(), token, &context.connection)
        };
        let threads = &context.service.threads;
        if threads.look(|| self.takes_long(context, route)).await? {
            let place = place()?;
            let reply = place.run(|| self.show(context, route)).await?;
            return Ok(reply.in_turns(place));
        }
        let show = || self.show(context, route);
        let reply = threads.run(Kind::Read, context.asker(), show).await?;
        if reply.is_made_while_sent() {
            return Ok(reply.in_turns(place()?));
        }
        Ok(reply)
    }

    /// A place among those who wait for a change of what the route shows.
    fn join(&self, context: &RequestContext, route: &Route) -> Result<Option<Subscription>, Error> {
        let (Route::Repository { resource, .. }, Some(project)) = (route, &self.project) else {
            return Ok(None);
        };
        let subscriptions = &context.service.subscriptions;
        match resource {
            Resource::Branches => subscriptions.join(project, None).map(Some),
            // Of a name that is none the answer says so.
            Resource::Branch(name) => BranchName::parse(name)
                .ok()
                .map(|name| subscriptions.join(project, Some(&name)))
                .transpose(),
            _ => Ok(None),
        }
    }

    /// The answer if it takes microseconds: what the token alone tells, a file whose commits are in memory, of which
    /// else what is not there is read from the disk at once, and what was rendered before.
    fn at_once(&self, context: &RequestContext, route: &Route) -> Result<Option<Reply>, Error> {
        let (resource, project) = match (route, &self.project) {
            // Who holds the token is known by now: clients ask this before they begin, and wait for nobody.
            (Route::User | Route::Token | Route::Version, _) => {
                return self.show(context, route).map(Some);
            }
            (Route::Project { .. }, Some(project)) => return projects::found(context, project),
            (Route::Repository { resource, .. }, Some(project)) => (resource, project),
            _ => return Ok(None),
        };
        match resource {
            Resource::Raw(path) => file::raw_at_once(context, project, path),
            Resource::File(path) => file::show_at_once(context, project, path),
            Resource::Branches => branches::found_list(context, project),
            Resource::Branch(name) => branches::found(context, project, name),
            Resource::Tree => tree::rendered(context, project),
            Resource::Commits => commits::found_list(context, project),
            Resource::Commit(reference) => commits::found(context, project, reference),
            _ => Ok(None),
        }
    }

    /// True for what was not answered at once, and may compute, search or read for long.
    fn takes_long(&self, context: &RequestContext, route: &Route) -> Result<bool, Error> {
        let (Route::Repository { resource, .. }, Some(project)) = (route, &self.project) else {
            return Ok(false);
        };
        Ok(match resource {
            Resource::File(_) | Resource::Raw(_) => file::searches(context, project)?,
            Resource::Compare
            | Resource::CommitDiff(_)
            | Resource::CommitRefs(_)
            | Resource::Blob(_)
            | Resource::RawBlob(_)
            | Resource::Archive(_) => true,
            Resource::Tree => tree::searches(context, project)?,
            Resource::Commit(reference) => commits::takes_long(context, project, reference)?,
            Resource::Commits => commits::list_takes_long(context, project)?,
            Resource::Branches => branches::list_takes_long(context)?,
            Resource::Branch(_) | Resource::Tags | Resource::Tag(_) => false,
        })
    }

    fn show(&self, context: &RequestContext, route: &Route) -> Result<Reply, Error> {
        match (route, &self.project) {
            (Route::User, _) => account::user(context, &self.holder),
            (Route::Token, _) => account::token(context, &self.holder),
            (Route::Version, _) => account::version(context),
            (Route::Projects, _) => projects::list(context, &self.holder),
            (Route::Project { .. }, Some(project)) => projects::show(context, project),
            (Route::Repository { resource, .. }, Some(project)) => show(context, project, resource),
            (Route::Health, _) => health(context),
            (Route::Project { .. } | Route::Repository { .. }, None) => Err(Error::NoRoute),
        }
    }
}

/// Answers with something of a project's repository.
fn show(context: &RequestContext, project: &Project, resource: &Resource) -> Result<Reply, Error> {
    match resource {
        Resource::Branches => branches::list(context, project),
        Resource::Branch(name) => branches::show(context, project, name),
        Resource::Tree => tree::list(context, project),
        Resource::File(path) => file::show(context, project, path),
        Resource::Raw(path) => file::raw(context, project, path),
        Resource::Blob(sha) => blob::show(context, project, sha),
        Resource::RawBlob(sha) => blob::raw(context, project, sha),
        Resource::Archive(format) => archive::send(context, project, *format),
        Resource::Commits => commits::list(context, project),
        Resource::Commit(reference) => commits::show(context, project, reference),
        Resource::CommitDiff(reference) => commits::diff(context, project, reference),
        Resource::CommitRefs(reference) => commits::refs(context, project, reference),
        Resource::Compare => compare::show(context, project),
        Resource::Tags => tags::list(context, project),
        Resource::Tag(_) => tags::show(),
    }
}

/// True for a request with parameters in its body, where some clients put them for a `GET`. A body of
/// another type says nothing, and is not looked at.
fn has_form(context: &RequestContext, body: &RequestBody) -> bool {
    body.announced() != Some(0) && has_type(&context.head, "application/x-www-form-urlencoded")
}

/// Takes the parameters in the body.
async fn merge_form(context: &mut RequestContext, body: &mut RequestBody) -> Result<(), Error> {
    let form = body.collect_soon(REQUEST_TARGET_BYTES_MAX as u64).await?;
    let form = std::str::from_utf8(&form).map_err(|_| Error::malformed("the form is not UTF-8"))?;
    context.query.merge_form(form)
}
