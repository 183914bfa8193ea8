//! Which token a request of the Read API shows.

use hyper::HeaderMap;
use hyper::header::{AUTHORIZATION, HeaderName, HeaderValue};

use crate::access;
use crate::access::{Refusal, Refused, TokenHolder};
use crate::base::secret::Secret;
use crate::http::admission::network::ClientNetwork;
use crate::http::error::Error;
use crate::http::request::context::{RequestContext, Who};

const PRIVATE_TOKEN: HeaderName = HeaderName::from_static("private-token");
const INSTANCE_ID: HeaderName = HeaderName::from_static("x-instance-id");

/// Who holds the token of this request. The first use of one that is bound by it waits for its commit.
///
/// # Errors
/// No token, two different ones, one that is not in its form, and what the gate refuses.
pub(super) fn holder(context: &RequestContext) -> Result<TokenHolder, Error> {
    let (token, instance_id) = credential(context)?;
    let from = Some(context.client);
    let holder = context.gate().token(&token, instance_id, from);
    let holder = holder.map_err(|refused| count(context, refused))?;
    context.note(Who::Holder(holder.clone()));
    Ok(holder)
}

/// The same, waiting for no commit: `None` at a first use by which the token is to be bound, which [`holder`] does.
///
/// # Errors
/// As there.
pub(super) fn known_holder(context: &RequestContext) -> Result<Option<TokenHolder>, Error> {
    let (token, instance_id) = credential(context)?;
    let holder = context.gate().known_token(&token, instance_id);
    let holder = holder.map_err(|refused| count(context, refused))?;
    if let Some(holder) = &holder {
        context.note(Who::Holder(holder.clone()));
    }
    Ok(holder)
}

/// The token that a request shows, and the instance that it comes from.
fn credential(context: &RequestContext) -> Result<(Secret, Option<&[u8]>), Error> {
    let headers = context.headers();
    let token = shown(headers).ok_or_else(Error::no_credential)?;
    let instance_id = headers.get(INSTANCE_ID).map(HeaderValue::as_bytes);
    Ok((token, instance_id))
}

/// Counts a token that does not count, and says so to who shows too many. Only who is refused anyway is
/// counted: one bad client does not keep out those that share its address.
fn count(context: &RequestContext, refused: access::Error) -> Error {
    let (access::Error::Unauthenticated(refusal) | access::Error::FingerprintMismatch(refusal)) =
        &refused
    else {
        return refused.into();
    };
    context.note_refusal(Refused::Token, refusal);
    let (client, now_ms) = (
        ClientNetwork::of(context.client),
        context.service.clock.uptime_ms(),
    );
    let wrong_tokens = &context.service.wrong_tokens;
    let tallies = &context.service.tallies;
    let Some(retry_after_s) = wrong_tokens.wait_s(&client, now_ms) else {
        wrong_tokens.add(&client, now_ms);
        tallies.tokens_wrong.up();
        return refused.into();
    };
    tallies.tokens_throttled.up();
    Error::TooMany {
        refusal: Refusal {
            reason: "too many requests with tokens that do not count",
            ..refusal.clone()
        },
        retry_after_s,
    }
}

/// The one token in `PRIVATE-TOKEN` or `Authorization: Bearer`; the same in both is one. Nothing
/// else is a credential, and least of all the query.
fn shown(headers: &HeaderMap) -> Option<Secret> {
    let private = headers.get(PRIVATE_TOKEN).map(HeaderValue::as_bytes);
    let bearer = headers
        .get(AUTHORIZATION)
        .and_then(|value| bearer(value.as_bytes()));
    match (private, bearer) {
        (Some(private), Some(bearer)) if private != bearer => None,
        (Some(token), _) | (None, Some(token)) => Secret::parse(token),
        (None, None) => None,
    }
}

/// True if the request shows a token, or what is to be one. Not for what a proxy adds that asks people who they are.
pub(in crate::http) fn is_shown(headers: &HeaderMap) -> bool {
    let authorization = headers.get(AUTHORIZATION);
    headers.contains_key(PRIVATE_TOKEN)
        || authorization.is_some_and(|value| {
            bearer(value.as_bytes()).is_some_and(|it| Secret::parse(it).is_some())
        })
}

fn bearer(value: &[u8]) -> Option<&[u8]> {
    let space = value.iter().position(|&b| b == b' ')?;
    value[..space]
        .eq_ignore_ascii_case(b"bearer")
        .then(|| value[space..].trim_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_shown_in_one_of_two_headers() {
        let (one, two) = ("a".repeat(64), "b".repeat(64));
        let with = |lines: &[(HeaderName, String)]| -> Option<String> {
            let headers = lines
                .iter()
                .map(|(name, value)| (name.clone(), HeaderValue::try_from(value).unwrap()))
                .collect();
            shown(&headers).map(|secret| secret.reveal().to_owned())
        };
        let bearer = |token: &str| (AUTHORIZATION, format!("Bearer {token}"));
        let private = |token: &str| (PRIVATE_TOKEN, token.to_owned());
        let basic = || (AUTHORIZATION, "Basic eDp5".to_owned());
        for lines in [
            vec![private(&one)],
            vec![bearer(&one)],
            vec![(AUTHORIZATION, format!("bearer  {one}"))],
            vec![private(&one), bearer(&one)],
            vec![private(&one), basic()],
        ] {
            assert_eq!(with(&lines), Some(one.clone()), "{lines:?}");
        }
        for lines in [
            vec![],
            vec![basic()],
            vec![private("")],
            vec![private(&one[1..])],
            vec![private(&one.to_uppercase())],
            vec![private(&format!("0x{}", &one[2..]))],
            vec![private(&format!("{one},"))],
            vec![private(&one), bearer(&two)],
            vec![private(""), bearer(&one)],
            vec![(AUTHORIZATION, one.clone())],
        ] {
            assert_eq!(with(&lines), None, "{lines:?}");
        }
    }
}
