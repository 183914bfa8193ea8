//! The routes of projects, their lists of branches, and what was deleted.

use super::Takes;

/// A route, with the decoded names of its path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::http) enum Route {
    /// `GET /projects`
    List,
    /// `POST /projects`
    Create,
    /// `GET /projects/<project>`
    Show { project: String },
    /// `PATCH /projects/<project>`
    Change { project: String },
    /// `DELETE /projects/<project>`
    Delete { project: String },
    /// `GET /projects/<project>/tokens`
    Tokens { project: String },
    /// `GET /projects/<project>/branches`
    Branches { project: String },
    /// `POST /projects/<project>/branches`
    CreateBranch { project: String },
    /// `GET /projects/<project>/events`
    Events { project: String },
    /// `GET /projects/<project>/validation`
    Rules { project: String },
    /// `PUT /projects/<project>/validation`
    SetRules { project: String },
    /// `GET /deleted`
    Deleted,
    /// `POST /deleted/<id>/restore`
    Restore { id: String },
}

impl Route {
    /// The route with this method and these segments.
    pub(super) fn find(method: &str, segments: &[&str]) -> Option<Self> {
        let owned = |text: &str| text.to_owned();
        Some(match (method, segments) {
            ("GET", ["projects"]) => Self::List,
            ("POST", ["projects"]) => Self::Create,
            ("GET", ["projects", project]) => Self::Show {
                project: owned(project),
            },
            ("PATCH", ["projects", project]) => Self::Change {
                project: owned(project),
            },
            ("DELETE", ["projects", project]) => Self::Delete {
                project: owned(project),
            },
            ("GET", ["projects", project, "tokens"]) => Self::Tokens {
                project: owned(project),
            },
            ("GET", ["projects", project, "validation"]) => Self::Rules {
                project: owned(project),
            },
            ("PUT", ["projects", project, "validation"]) => Self::SetRules {
                project: owned(project),
            },
            ("GET", ["projects", project, "branches"]) => Self::Branches {
                project: owned(project),
            },
            ("POST", ["projects", project, "branches"]) => Self::CreateBranch {
                project: owned(project),
            },
            ("GET", ["projects", project, "events"]) => Self::Events {
                project: owned(project),
            },
            ("GET", ["deleted"]) => Self::Deleted,
            ("POST", ["deleted", id, "restore"]) => Self::Restore { id: owned(id) },
            _ => return None,
        })
    }

    pub(super) fn takes(&self) -> Takes {
        match self {
            Self::Create
            | Self::Change { .. }
            | Self::CreateBranch { .. }
            | Self::SetRules { .. } => Takes::Json,
            Self::Restore { .. } => Takes::JsonOrNothing,
            Self::List
            | Self::Show { .. }
            | Self::Delete { .. }
            | Self::Tokens { .. }
            | Self::Branches { .. }
            | Self::Events { .. }
            | Self::Rules { .. }
            | Self::Deleted => Takes::Nothing,
        }
    }

    pub(super) fn parameters(&self) -> &'static [&'static str] {
        match self {
            Self::List => &[
                "scope",
                "search",
                "page",
                "per_page",
                "pagination",
                "page_token",
            ],
            Self::Deleted => &["scope", "page", "per_page", "pagination", "page_token"],
            Self::Create
            | Self::Show { .. }
            | Self::Change { .. }
            | Self::Delete { .. }
            | Self::Tokens { .. }
            | Self::Branches { .. }
            | Self::CreateBranch { .. }
            | Self::Events { .. }
            | Self::Rules { .. }
            | Self::SetRules { .. }
            | Self::Restore { .. } => &[],
        }
    }
}

crate::http::route::names::templates! {
    Self::List => ["GET /projects"] for Session,
    Self::Create => ["POST /projects"] for Session,
    Self::Show { .. } => ["GET /projects/{repo_id}"] for Read,
    Self::Change { .. } => ["PATCH /projects/{repo_id}"] for Manage,
    Self::Delete { .. } => ["DELETE /projects/{repo_id}"] for Delete,
    Self::Tokens { .. } => ["GET /projects/{repo_id}/tokens"] for Manage,
    Self::Branches { .. } => ["GET /projects/{repo_id}/branches"] for Read,
    Self::CreateBranch { .. } => ["POST /projects/{repo_id}/branches"] for Write,
    Self::Events { .. } => ["GET /projects/{repo_id}/events"] for Read,
    Self::Rules { .. } => ["GET /projects/{repo_id}/validation"] for Read,
    Self::SetRules { .. } => ["PUT /projects/{repo_id}/validation"] for Manage,
    Self::Deleted => ["GET /deleted"] for Session,
    Self::Restore { .. } => ["POST /deleted/{deleted_id}/restore"] for Restore,
}
