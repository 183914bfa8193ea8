//! Tokens, and the record of what was done.

mod audit;
mod tokens;

use super::payload::Payload;
use crate::access::Caller;
use crate::http::error::Error;
use crate::http::reply::Reply;
use crate::http::request::context::RequestContext;
use crate::http::route::admin::account::Route;

pub(super) fn act(
    context: &RequestContext,
    caller: &Caller,
    route: &Route,
    payload: Payload,
) -> Result<Reply, Error> {
    match (route, payload) {
        (Route::Audit, _) => audit::list(context, caller),
        (Route::Tokens, _) => tokens::list(context, caller),
        (Route::CreateToken, Payload::Json(json)) => tokens::create(context, caller, &json),
        (Route::ChangeToken { id }, Payload::Json(json)) => {
            tokens::change(context, caller, id, &json)
        }
        (Route::RevokeToken { id }, _) => tokens::revoke(context, caller, id),
        (Route::CreateToken | Route::ChangeToken { .. }, _) => Err(Payload::missing()),
    }
}
