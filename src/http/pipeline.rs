//! A request from top to bottom: limits, route, the API that answers, reply, log.

use std::convert::Infallible;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use hyper::body::Incoming;
use hyper::header::{HeaderValue, STRICT_TRANSPORT_SECURITY};
use hyper::{Method, Request, Response, StatusCode};
use tokio::time::timeout;

use super::admission::network::ClientNetwork;
use super::admission::quota::Share;
use super::error::{ApiFlavor, Error};
use super::health::probe;
use super::reply::of_error::of_error;
use super::reply::{Reply, ReplyBody};
use super::request::body::RequestBody;
use super::request::client::Peer;
use super::request::context::RequestContext;
use super::request::head_rules::Fragment;
use super::request::query::Query;
use super::request::{base_url, head_rules, path};
use super::route::template::Template;
use super::route::{self, Mount, Target};
use super::service::Service;
use super::wire::connection_state::ConnectionState;
use super::{admin, log, login, openapi, read, web};
use crate::access::{Refusal, Refused};
use crate::base::reads::Reads;

/// A browser that has reached the service by https comes by https for the next year.
const HTTPS_ONLY: HeaderValue = HeaderValue::from_static("max-age=31536000");

/// Answers a request, whatever happens. The connection is told when a rest of its body was left in it.
pub(in crate::http) async fn handle(
    service: Arc<Service>,
    request: Request<Incoming>,
    peer: Peer,
    connection: Arc<ConnectionState>,
) -> Result<Response<ReplyBody>, Infallible> {
    let started = Instant::now();
    let id = service.ids.next();
    let (head, incoming) = request.into_parts();
    connection.note_version(head.version);
    let mut body = RequestBody::new(incoming, &head, &service.settings.limits);
    service.unknown_proxies.look(peer, &head.headers);
    let client = peer.client(&head.headers, &service.settings);
    let by_https = base_url::is_https(&head.headers, peer, &service.settings);
    let proxy_request_id = peer.proxy_request_id(&head.headers);
    let mut known = Known {
        flavor: ApiFlavor::Admin,
        route: Template::NONE,
    };
    let mut context = RequestContext {
        service,
        head,
        query: Query::default(),
        peer,
        client,
        who: Arc::default(),
        connection,
    };
    let service = Arc::clone(&context.service);
    let longest_wait = Duration::from_secs(service.settings.limits.thread_wait_s_max);
    let outcome = {
        let dispatched = pin!(async {
            let reply = dispatch(&mut context, &mut body, &mut known).await?;
            if !reply.is_to_begin() {
                return Ok(reply);
            }
            // Rare, and every request would have room for it.
            let begun = Box::pin(timeout(longest_wait, reply.begun())).await;
            begun.unwrap_or(Err(Error::Overloaded(
                "too many large files are read at once",
            )))
        });
        catch_panic(dispatched).await
    };
    let refusal = outcome.as_ref().err().and_then(Error::refusal);
    if let (Err(error), Some(refusal)) = (&outcome, &refusal)
        && error.status() == StatusCode::FORBIDDEN
    {
        context.note_refusal(Refused::Right, refusal);
    }
    let reply = outcome.unwrap_or_else(|error| {
        log::failure(id, &error);
        of_error(&error, known.flavor)
    });
    let mut reply = reply.counted(|bytes| context.count_given(bytes));
    if by_https {
        reply = reply.with(STRICT_TRANSPORT_SECURITY, HTTPS_ONLY);
    }
    let close = body.drain().await;
    context.connection.note_unread(close);
    let held = context.connection.take_held();
    let method = &context.head.method;
    if !peer.is_probe() {
        let line = log::Line {
            id,
            client,
            method,
            uri: &context.head.uri,
            status: reply.status,
            route: known.route,
            bytes: reply.body_bytes(),
            who: context.who.get(),
            proxy_request_id: proxy_request_id.as_deref(),
            refusal,
            took: started.elapsed().saturating_sub(held),
            held,
        };
        record(&service, &line);
    }
    let is_last = (context.connection).is_last(service.settings.limits.requests_connection_max);
    let is_cut = context.head.extensions.get::<Fragment>().is_some();
    // In a stop nobody is to send the next request into a connection that has ended meanwhile.
    let close = close || is_last || service.is_crowded(peer) || service.health.is_stopping();
    let close = close || *method == Method::CONNECT || is_cut;
    Ok(reply.into_response(id, *method == Method::HEAD, close))
}

/// Counts a request that was answered, and tells the log of it if the settings want that.
fn record(service: &Service, line: &log::Line<'_>) {
    let requests = &service.tallies.requests;
    requests.add(line.route, line.method, line.status, line.took);
    if service.settings.access_log.tells(line.method, line.status) {
        log::request(line);
    }
}

/// What becomes known of a request on its way, and stays known when it is refused later.
#[derive(Debug)]
struct Known {
    /// Whose words an error speaks.
    flavor: ApiFlavor,
    route: Template,
}

/// Limits, route, and the API that answers.
async fn dispatch(
    context: &mut RequestContext,
    body: &mut RequestBody,
    known: &mut Known,
) -> Result<Reply, Error> {
    head_rules::check(&context.head)?;
    let uri = &context.head.uri;
    if uri.path() == "*" {
        return Ok(Reply::options(&head_rules::METHODS));
    }
    let segments = path::segments(uri.path())?;
    let segments: Vec<&str> = segments.iter().map(AsRef::as_ref).collect();
    let mount = Mount::of(&segments, context.settings().root_mount);
    let is_read = matches!(mount, Mount::Read(_));
    if is_read {
        known.flavor = ApiFlavor::Read;
    }
    let query = Query::parse(uri.query().unwrap_or_default())?;
    context.query = if is_read { query.last_values() } else { query };
    let target = route::find(&context.head.method, mount)?;
    known.route = Template::of(&target);
    // Health checks tell nothing, and probes call a service by whatever address it has.
    if !matches!(
        target,
        Target::Read(route::read::Route::Health) | Target::Probe(_)
    ) {
        let service = &context.service;
        service.hosts.check(context.headers(), context.peer)?;
    }
    let _share = share_of(context, body)?;
    catch_up(context, &target).await?;
    match target {
        Target::Read(route) => read::respond(context, route, body).await,
        // What is rarer is large, and every request would have room for it.
        Target::Admin(route) => Box::pin(admin::respond(context, route, body)).await,
        Target::User(route) => Box::pin(login::respond(context, route, body)).await,
        Target::OpenApi(_) => openapi::respond(context, body),
        Target::Probe(route) => {
            body.refuse()?;
            let service = &context.service;
            match route {
                route::probe::Route::Live => Ok(probe::live()),
                route::probe::Route::Ready => {
                    probe::ready(&service.health.look_in_turn(&service.gate).await)
                }
            }
        }
        Target::Web(route) => {
            body.refuse()?;
            web::respond(&route, context.headers())
        }
        Target::Options(methods) => Ok(Reply::options(&methods)),
    }
}

/// Waits until what the request reads is new enough. It holds no thread, so that without the database of the
/// service all goes on that needs none.
async fn catch_up(context: &RequestContext, target: &Target) -> Result<(), Error> {
    let reads = match target {
        Target::Read(route::read::Route::Health)
        | Target::OpenApi(_)
        | Target::Probe(_)
        | Target::Web(_)
        | Target::Options(_) => return Ok(()),
        Target::Read(_) => context.settings().reads,
        // People see what they have done, whichever daemon they have done it through.
        Target::Admin(_) | Target::User(_) => Reads::Strict,
    };
    match context.gate().catch_up(reads) {
        None => Ok(()),
        Some(caught_up) => Ok(caught_up.await?),
    }
}

/// What a request with a body takes of what its client may have, where the connection does not count
/// because it is a proxy's.
fn share_of(
    context: &RequestContext,
    body: &RequestBody,
) -> Result<Option<Share<ClientNetwork>>, Error> {
    if !context.peer.is_trusted() || body.announced() == Some(0) {
        return Ok(None);
    }
    let clients = &context.service.clients;
    let share = clients.take(ClientNetwork::of(context.client), 1);
    share.map(Some).map_err(|_| Error::TooMany {
        refusal: Refusal::new("too many requests at once"),
        retry_after_s: 1,
    })
}

/// Runs a handler and makes an error of its panic, so that one request's defect is one 500. The handler is
/// lent: each future that is handed on is kept twice, and 10,000 clients may wait in here.
async fn catch_panic(
    mut outcome: Pin<&mut impl Future<Output = Result<Reply, Error>>>,
) -> Result<Reply, Error> {
    std::future::poll_fn(move |cx| {
        catch_unwind(AssertUnwindSafe(|| outcome.as_mut().poll(cx)))
            .unwrap_or(Poll::Ready(Err(Error::Crashed)))
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_is_an_error_of_one_request() {
        let crashed = catch_panic(pin!(async { panic!("a defect") })).await;
        assert!(matches!(crashed, Err(Error::Crashed)));
    }
}
