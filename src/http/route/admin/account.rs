//! The routes of who uses the service: accounts, tokens, the record of what was done, and how it is.

use super::Takes;

/// A route, with the decoded names of its path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::http) enum Route {
    /// `GET /audit`
    Audit,
    /// `GET /service`
    Service,
    /// `GET /accounts`
    Accounts,
    /// `POST /accounts`
    CreateAccount,
    /// `GET /accounts/<name>`
    Account { name: String },
    /// `PATCH /accounts/<name>`
    ChangeAccount { name: String },
    /// `DELETE /accounts/<name>`
    RemoveAccount { name: String },
    /// `PUT /accounts/<name>/password`
    SetPassword { name: String },
    /// `PUT /accounts/<name>/roles/<role>`
    AddRole { name: String, role: String },
    /// `DELETE /accounts/<name>/roles/<role>`
    RemoveRole { name: String, role: String },
    /// `GET /tokens`
    Tokens,
    /// `POST /tokens`
    CreateToken,
    /// `PATCH /tokens/<id>`
    ChangeToken { id: String },
    /// `DELETE /tokens/<id>`
    RevokeToken { id: String },
    /// `POST /tokens/<id>/rotate`
    RotateToken { id: String },
}

impl Route {
    /// The route with this method and these segments. A role is one segment, or several where a proxy
    /// decodes.
    pub(super) fn find(method: &str, segments: &[&str]) -> Option<Self> {
        let owned = |text: &str| text.to_owned();
        Some(match (method, segments) {
            ("GET", ["audit"]) => Self::Audit,
            ("GET", ["service"]) => Self::Service,
            ("GET", ["accounts"]) => Self::Accounts,
            ("POST", ["accounts"]) => Self::CreateAccount,
            ("GET", ["accounts", name]) => Self::Account { name: owned(name) },
            ("PATCH", ["accounts", name]) => Self::ChangeAccount { name: owned(name) },
            ("DELETE", ["accounts", name]) => Self::RemoveAccount { name: owned(name) },
            ("PUT", ["accounts", name, "password"]) => Self::SetPassword { name: owned(name) },
            ("PUT", ["accounts", name, "roles", role @ ..]) => Self::AddRole {
                name: owned(name),
                role: role.join("/"),
            },
            ("DELETE", ["accounts", name, "roles", role @ ..]) => Self::RemoveRole {
                name: owned(name),
                role: role.join("/"),
            },
            ("GET", ["tokens"]) => Self::Tokens,
            ("POST", ["tokens"]) => Self::CreateToken,
            ("PATCH", ["tokens", id]) => Self::ChangeToken { id: owned(id) },
            ("DELETE", ["tokens", id]) => Self::RevokeToken { id: owned(id) },
            ("POST", ["tokens", id, "rotate"]) => Self::RotateToken { id: owned(id) },
            _ => return None,
        })
    }

    pub(super) fn takes(&self) -> Takes {
        match self {
            Self::CreateToken
            | Self::ChangeToken { .. }
            | Self::CreateAccount
            | Self::ChangeAccount { .. } => Takes::Json,
            Self::SetPassword { .. } | Self::RotateToken { .. } => Takes::JsonOrNothing,
            Self::Audit
            | Self::Service
            | Self::Accounts
            | Self::Account { .. }
            | Self::RemoveAccount { .. }
            | Self::AddRole { .. }
            | Self::RemoveRole { .. }
            | Self::Tokens
            | Self::RevokeToken { .. } => Takes::Nothing,
        }
    }

    /// True for what may hash passwords.
    pub(super) fn hashes(&self) -> bool {
        matches!(
            self,
            Self::CreateAccount | Self::SetPassword { .. } | Self::RemoveAccount { .. }
        )
    }

    pub(super) fn parameters(&self) -> &'static [&'static str] {
        match self {
            Self::Audit => &["since", "user", "project", "limit", "before"],
            Self::Tokens => &[
                "owner",
                "all",
                "page",
                "per_page",
                "pagination",
                "page_token",
            ],
            _ => &[],
        }
    }
}

crate::http::route::names::templates! {
    Self::Audit => ["GET /audit"] for Audit,
    Self::Service => ["GET /service"] for Service,
    Self::Accounts => ["GET /accounts"] for Accounts,
    Self::CreateAccount => ["POST /accounts"] for Accounts,
    Self::Account { .. } => ["GET /accounts/{name}"] for Accounts,
    Self::ChangeAccount { .. } => ["PATCH /accounts/{name}"] for Accounts,
    Self::RemoveAccount { .. } => ["DELETE /accounts/{name}"] for Accounts,
    Self::SetPassword { .. } => ["PUT /accounts/{name}/password"] for Accounts,
    Self::AddRole { .. } => ["PUT /accounts/{name}/roles/{role}"] for Accounts,
    Self::RemoveRole { .. } => ["DELETE /accounts/{name}/roles/{role}"] for Accounts,
    Self::Tokens => ["GET /tokens"] for Session,
    Self::CreateToken => ["POST /tokens"] for Session,
    Self::ChangeToken { .. } => ["PATCH /tokens/{token_id}"] for OwnToken,
    Self::RevokeToken { .. } => ["DELETE /tokens/{token_id}"] for RevokedToken,
    Self::RotateToken { .. } => ["POST /tokens/{token_id}/rotate"] for OwnToken,
}
