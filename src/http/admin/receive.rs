//! Reads the body that a route takes.

use super::payload::{Packed, Payload};
use super::{account, branch, form, project, unzip};
use crate::base::digest::byte_count;
use crate::base::may_block;
use crate::http::error::Error;
use crate::http::request::body::{RequestBody, check_encoding, check_file, check_json, has_type};
use crate::http::request::context::RequestContext;
use crate::http::request::upload;
use crate::http::route::admin::{Route, Takes};
use crate::http::settings::Limits;

/// Reads the body that the route takes, if the caller may do there what the route does.
pub(super) async fn receive(
    context: &RequestContext,
    route: &Route,
    body: &mut RequestBody,
) -> Result<Payload, Error> {
    match route.takes() {
        Takes::NothingOfInterest => Ok(Payload::None),
        Takes::Nothing => {
            body.refuse()?;
            Ok(Payload::None)
        }
        Takes::JsonOrNothing if body.announced() == Some(0) => Ok(Payload::None),
        Takes::Json | Takes::JsonOrNothing => {
            admit(context, route, body).await?;
            check_json(&context.head)?;
            check_encoding(&context.head)?;
            let most = context.settings().limits.json_bytes_max;
            Ok(Payload::Json(body.collect_soon(most).await?))
        }
        Takes::File => {
            admit(context, route, body).await?;
            check_file(&context.head)?;
            Ok(Payload::File(upload::receive(context, body).await?))
        }
        Takes::Batch => {
            admit(context, route, body).await?;
            check_encoding(&context.head)?;
            batch(context, body).await
        }
    }
}

/// Reads a batch: JSON, an archive, or a form.
async fn batch(context: &RequestContext, body: &mut RequestBody) -> Result<Payload, Error> {
    let (head, limits) = (&context.head, &context.settings().limits);
    let most = limits.batch_bytes_max;
    if has_type(head, "application/x-tar") {
        // Its files are parts of it.
        let bytes = body.collect(most).await?;
        return Ok(Payload::Packed(Packed::Tar(bytes)));
    }
    if has_type(head, "application/zip") {
        let bytes = body.collect(most).await?;
        let (zip, unpacked) = may_block(|| unzip::open(bytes, limits))?;
        // What its entries take counts, too, but keeps out none that is alone.
        let in_memory = unzip::bytes_in_memory(&zip).min(limits.bodies_bytes_held_max());
        body.hold(in_memory.max(unpacked))?;
        return Ok(Payload::Packed(Packed::Zip(Box::new(zip))));
    }
    if let Some(boundary) = form::boundary(head) {
        let bytes = body.collect(most).await?;
        hold_twice(body, &bytes, limits)?;
        return Ok(Payload::Packed(Packed::Form(
            form::files(bytes, boundary, limits).await?,
        )));
    }
    if !has_type(head, "application/json") {
        return Err(Error::MediaType(
            "the body must be application/json, application/x-tar, application/zip or \
             multipart/form-data"
                .into(),
        ));
    }
    check_json(head)?;
    let bytes = body.collect(most).await?;
    hold_twice(body, &bytes, limits)?;
    Ok(Payload::Json(bytes))
}

/// Counts a body of which each file is copied. The copies count, too, but keep out no body that is alone.
fn hold_twice(body: &mut RequestBody, bytes: &[u8], limits: &Limits) -> Result<(), Error> {
    let twice = 2 * byte_count(bytes);
    body.hold(twice.min(limits.bodies_bytes_held_max()))
}

/// Refuses what would be refused after the body, too.
async fn admit(
    context: &RequestContext,
    route: &Route,
    body: &mut RequestBody,
) -> Result<(), Error> {
    let threads = &context.service.threads;
    threads.look(|| admit_now(context, route, body)).await
}

fn admit_now(context: &RequestContext, route: &Route, body: &mut RequestBody) -> Result<(), Error> {
    let caller = context.caller()?;
    body.count(context.service.bodies.share(caller.account()));
    match route {
        Route::Project(route) => project::admit(context, &caller, route),
        Route::Branch(at, route) => branch::admit(context, &caller, at, route, body.is_short()),
        Route::Account(route) => account::admit(context, &caller, route),
    }
}
