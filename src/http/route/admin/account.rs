//! The routes of who uses the service: tokens, and the record of what was done.

use super::Takes;

/// A route, with the decoded names of its path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::http) enum Route {
    /// `GET /audit`
    Audit,
    /// `GET /tokens`
    Tokens,
    /// `POST /tokens`
    CreateToken,
    /// `PATCH /tokens/<id>`
    ChangeToken { id: String },
    /// `DELETE /tokens/<id>`
    RevokeToken { id: String },
}

impl Route {
    /// The route with this method and these segments.
    pub(super) fn find(method: &str, segments: &[&str]) -> Option<Self> {
        let owned = |text: &str| text.to_owned();
        Some(match (method, segments) {
            ("GET", ["audit"]) => Self::Audit,
            ("GET", ["tokens"]) => Self::Tokens,
            ("POST", ["tokens"]) => Self::CreateToken,
            ("PATCH", ["tokens", id]) => Self::ChangeToken { id: owned(id) },
            ("DELETE", ["tokens", id]) => Self::RevokeToken { id: owned(id) },
            _ => return None,
        })
    }

    pub(super) fn takes(&self) -> Takes {
        match self {
            Self::CreateToken | Self::ChangeToken { .. } => Takes::Json,
            Self::Audit | Self::Tokens | Self::RevokeToken { .. } => Takes::Nothing,
        }
    }

    pub(super) fn parameters(&self) -> &'static [&'static str] {
        match self {
            Self::Audit => &["since", "user", "project", "limit", "before"],
            Self::Tokens
            | Self::CreateToken
            | Self::ChangeToken { .. }
            | Self::RevokeToken { .. } => &[],
        }
    }
}

crate::http::route::names::templates! {
    Self::Audit => ["GET /audit"],
    Self::Tokens => ["GET /tokens"],
    Self::CreateToken => ["POST /tokens"],
    Self::ChangeToken { .. } => ["PATCH /tokens/{token_id}"],
    Self::RevokeToken { .. } => ["DELETE /tokens/{token_id}"],
}
