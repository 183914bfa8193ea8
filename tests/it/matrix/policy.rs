//! Whom routes are for, and what that makes of each credential.

use std::collections::BTreeSet;

use serde_json::Value;

use super::credentials::{Credential, Headers, Session, Token};

/// What is said of a header that decides who asks, where it is there twice.
const TWICE: &str = "header private-token is given twice";

/// Whom a route is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Policy {
    Anybody,
    /// The holder of a token, where it has one of these.
    Token(Vec<String>),
    /// Whoever is logged in, with one of these.
    Session(Vec<String>),
}

impl Policy {
    /// What the document says of an operation.
    pub(super) fn of(operation: &Value) -> Self {
        let (mut tokens, mut sessions, mut needs) = (false, false, BTreeSet::new());
        for either in operation["security"].as_array().expect("it is said") {
            for (scheme, need) in either.as_object().unwrap() {
                tokens |= scheme == "PrivateToken";
                sessions |= scheme == "Session";
                needs.extend(
                    need.as_array()
                        .unwrap()
                        .iter()
                        .map(|need| need.as_str().unwrap().to_owned()),
                );
            }
        }
        match (tokens, sessions) {
            (false, false) => Self::Anybody,
            (true, false) => Self::Token(needs.into_iter().collect()),
            (false, true) => Self::Session(needs.into_iter().collect()),
            (true, true) => panic!("a route looks at tokens or at cookies: {operation}"),
        }
    }
}

/// What a cell of the matrix has to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Done,
    Refused(u16, &'static str),
}

/// What the policy makes of a credential.
pub(super) fn outcome(route: &str, policy: &Policy, credential: &Credential) -> Outcome {
    let of_admin = route.contains(" /user/") || matches!(policy, Policy::Session(_));
    match credential.headers {
        Headers::Ambiguous => return Outcome::Refused(400, TWICE),
        Headers::OfAnotherSite if of_admin => {
            return Outcome::Refused(403, "requests of other sites are refused");
        }
        Headers::OfAnotherSite | Headers::Usual => {}
    }
    match policy {
        Policy::Anybody => Outcome::Done,
        Policy::Token(needs) => match credential.token {
            Token::Nothing => Outcome::Refused(401, "401 Unauthorized"),
            Token::Elsewhere => Outcome::Refused(401, "FINGERPRINT_MISMATCH"),
            Token::Counts { covers, .. } if covers || needs.is_empty() => Outcome::Done,
            Token::Counts { .. } => Outcome::Refused(403, "403 Forbidden"),
        },
        Policy::Session(needs) => match credential.session {
            Session::Nothing => Outcome::Refused(401, "Not logged in"),
            Session::Of(account) => {
                let has = |need: &String| account.has.contains(&need.as_str());
                if needs.is_empty() || needs.iter().any(has) {
                    Outcome::Done
                } else if needs
                    .iter()
                    .any(|need| need == "own_session" || need == "restore")
                {
                    Outcome::Refused(404, absence(route))
                } else {
                    Outcome::Refused(403, "your roles do not allow this")
                }
            }
        },
    }
}

/// How a route says that what it names is not there.
fn absence(route: &str) -> &'static str {
    if route.contains("/sessions/") {
        "Session not found"
    } else {
        "Nothing deleted has this id"
    }
}

/// What a path makes of a method that none of its routes has.
pub(super) fn of_method(method: &str, path: &str, credential: &Credential) -> Outcome {
    if method == "BREW" {
        Outcome::Refused(501, "this method is not implemented")
    } else if credential.headers == Headers::Ambiguous {
        Outcome::Refused(400, TWICE)
    } else if method == "OPTIONS" {
        Outcome::Done
    } else if path.starts_with("/site-builder/api/erp-config/") {
        Outcome::Refused(405, "405 Not Allowed")
    } else {
        Outcome::Refused(
            405,
            "this route does not have this method; see the Allow header",
        )
    }
}
