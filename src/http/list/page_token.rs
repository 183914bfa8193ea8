//! Places in a list that a client hands back: opaque, and sealed, so that none can be made up or
//! altered.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::base::secret::Seal;
use crate::http::error::Error;
use crate::http::request::context::RequestContext;

/// What the seals of this module are for.
const PURPOSE: &str = "siteconf 2026-11 page token v1";

/// Makes the token of a place in the list that `list` names.
pub(in crate::http) fn make(
    context: &RequestContext,
    list: &str,
    place: &impl Serialize,
) -> String {
    let place = serde_json::to_vec(place).expect("places have text keys and finite numbers");
    let mut token = seal(context, list, &place).as_bytes().to_vec();
    token.extend_from_slice(&place);
    BASE64_URL_SAFE_NO_PAD.encode(token)
}

/// The place that a token names in the list that `list` names. A token is as long as its place, which may be a
/// whole path, and no longer than the query that it came in.
///
/// # Errors
/// It was not made here, or for another list.
pub(in crate::http) fn read<T: DeserializeOwned>(
    context: &RequestContext,
    list: &str,
    token: &str,
) -> Result<T, Error> {
    let place = || {
        let bytes = BASE64_URL_SAFE_NO_PAD.decode(token).ok()?;
        let (sealed, place) = bytes.split_at_checked(Seal::BYTES)?;
        if !seal(context, list, place).is(sealed) {
            return None;
        }
        serde_json::from_slice(place).ok()
    };
    place().ok_or_else(|| {
        Error::malformed("page_token is invalid: take it from the link to the next page, unchanged")
    })
}

fn seal(context: &RequestContext, list: &str, place: &[u8]) -> Seal {
    let mut bytes = list.len().to_le_bytes().to_vec();
    bytes.extend_from_slice(list.as_bytes());
    bytes.extend_from_slice(place);
    context.gate().seal(PURPOSE, &bytes)
}
