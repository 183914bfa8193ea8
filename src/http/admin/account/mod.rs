//! Accounts, tokens, the record of what was done, and how the service is.

mod accounts;
mod audit;
mod service;
pub(super) mod tokens;

use super::payload::Payload;
use crate::access::Caller;
use crate::http::error::Error;
use crate::http::reply::Reply;
use crate::http::request::context::RequestContext;
use crate::http::route::admin::account::Route;

/// Refuses what would be refused after the body, too.
pub(super) fn admit(context: &RequestContext, caller: &Caller, route: &Route) -> Result<(), Error> {
    match route {
        Route::CreateAccount | Route::ChangeAccount { .. } | Route::SetPassword { .. } => {
            accounts::admit(context, caller)
        }
        _ => Ok(()),
    }
}

pub(super) fn act(
    context: &RequestContext,
    caller: &Caller,
    route: &Route,
    payload: Payload,
) -> Result<Reply, Error> {
    match (route, payload) {
        (Route::Audit, _) => audit::list(context, caller),
        (Route::Service, _) => service::show(context, caller),
        (Route::Accounts, _) => accounts::list(context, caller),
        (Route::CreateAccount, Payload::Json(json)) => accounts::create(context, caller, &json),
        (Route::Account { name }, _) => accounts::show(context, caller, name),
        (Route::ChangeAccount { name }, Payload::Json(json)) => {
            accounts::change(context, caller, name, &json)
        }
        (Route::RemoveAccount { name }, _) => accounts::remove(context, caller, name),
        (Route::SetPassword { name }, Payload::Json(json)) => {
            accounts::set_password(context, caller, name, Some(&json))
        }
        (Route::SetPassword { name }, _) => accounts::set_password(context, caller, name, None),
        (Route::AddRole { name, role }, _) => accounts::add_role(context, caller, name, role),
        (Route::RemoveRole { name, role }, _) => accounts::remove_role(context, caller, name, role),
        (Route::Tokens, _) => tokens::list(context, caller),
        (Route::RotateToken { id }, Payload::Json(json)) => {
            tokens::rotate(context, caller, id, Some(&json))
        }
        (Route::RotateToken { id }, _) => tokens::rotate(context, caller, id, None),
        (Route::CreateToken, Payload::Json(json)) => tokens::create(context, caller, &json),
        (Route::ChangeToken { id }, Payload::Json(json)) => {
            tokens::change(context, caller, id, &json)
        }
        (Route::RevokeToken { id }, _) => tokens::revoke(context, caller, id),
        (
            Route::CreateToken
            | Route::ChangeToken { .. }
            | Route::CreateAccount
            | Route::ChangeAccount { .. },
            _,
        ) => Err(Payload::missing()),
    }
}
