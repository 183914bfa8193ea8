//! The keys of this layer's records. Numbers are padded, so that keys sort as they do.

use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};

use crate::base::hex_number::{numbered, push_hex};
use crate::base::id::Sha256;

/// Counts accounts.
pub(super) const ACCOUNT_COUNTER: &str = "counter/account";
/// Counts tokens, of all accounts together: a token's number is its id in the API.
pub(super) const TOKEN_COUNTER: &str = "counter/token";
/// All accounts.
pub(super) const ACCOUNTS: &str = "account/";

/// An account.
pub(super) fn account(number: u64) -> String {
    numbered(ACCOUNTS, number)
}

/// Leads from a name to its account's number.
pub(super) fn account_name(name: &str) -> String {
    format!("account-name/{name}")
}

/// All owners of an older system that became accounts.
pub(super) const MIGRATED_ACCOUNTS: &str = "moved-account/";
/// What is encoded of an owner's name, beside what is not ASCII.
const ENCODED: &AsciiSet = &CONTROLS.add(b'/').add(b'%');

/// Leads from an owner of an older system to the number of the account that it became. It stays when the
/// account is renamed or removed.
pub(super) fn migrated_account(owner: &str) -> String {
    format!("{MIGRATED_ACCOUNTS}{}", utf8_percent_encode(owner, ENCODED))
}

/// The owner that a key leads from.
pub(super) fn migrated_owner(key: &str) -> Option<String> {
    let owner = percent_decode_str(key.strip_prefix(MIGRATED_ACCOUNTS)?);
    Some(owner.decode_utf8().ok()?.into_owned())
}

/// All sessions.
pub(super) const SESSIONS: &str = "session/";
/// All tokens of all accounts.
pub(super) const TOKENS: &str = "token/";

/// A session, under the digest of its secret.
pub(super) fn session(digest: Sha256) -> String {
    format!("session/{digest}")
}

/// All sessions of an account; [`account_session`] without its last part.
pub(super) fn account_sessions(account: u64) -> String {
    format!("account-session/{account:08x}/")
}

/// Says that a session is this account's.
pub(super) fn account_session(account: u64, digest: Sha256) -> String {
    format!("account-session/{account:08x}/{digest}")
}

/// All tokens of an account.
pub(super) fn tokens(account: u64) -> String {
    let mut key = numbered("token/", account);
    key.push('/');
    key
}

/// A token.
pub(super) fn token(account: u64, number: u64) -> String {
    let mut key = tokens(account);
    push_hex(&mut key, number);
    key
}

/// The number of the account that has the token of this key.
pub(super) fn owner_of_token(key: &str) -> Option<u64> {
    let (account, _) = key.strip_prefix(TOKENS)?.split_once('/')?;
    u64::from_str_radix(account, 16).ok()
}

/// Leads from the digest of a token's secret to the token.
pub(super) fn token_digest(digest: Sha256) -> String {
    format!("token-digest/{digest}")
}
