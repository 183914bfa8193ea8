//! The routes of one branch: its files, its history, its changes.

use super::Takes;
use crate::http::archive::Format;

/// A route, with the decoded names of its path. A state is the head of the branch, or the snapshot of
/// a version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::http) enum Route {
    /// `GET …`
    Show,
    /// `GET …/events`
    Events,
    /// `PATCH …`
    Rename,
    /// `DELETE …`
    Delete,
    /// `GET …/tree`, `GET …/snapshots/<version>/tree`
    Tree { version: Option<String> },
    /// `GET …/archive.<format>`, `GET …/snapshots/<version>/archive.<format>`
    Archive {
        version: Option<String>,
        format: Format,
    },
    /// `GET …/files/<path>`, `GET …/snapshots/<version>/files/<path>`
    File {
        version: Option<String>,
        path: String,
    },
    /// `PUT …/files/<path>`
    SaveFile { path: String },
    /// `DELETE …/files/<path>`
    DeleteFile { path: String },
    /// `POST …/batch`
    Batch,
    /// `GET …/history`
    History,
    /// `GET …/diff`
    Diff,
    /// `GET …/validation`
    Broken,
    /// `POST …/rollback`
    Rollback,
}

impl Route {
    /// The route with this method and these segments below the branch. A file's path is one segment, or
    /// several where a proxy decodes.
    pub(super) fn find(method: &str, segments: &[&str]) -> Option<Self> {
        Some(match (method, segments) {
            ("GET", []) => Self::Show,
            ("GET", ["events"]) => Self::Events,
            ("PATCH", []) => Self::Rename,
            ("DELETE", []) => Self::Delete,
            ("GET", ["tree"]) => Self::Tree { version: None },
            ("GET", [archive]) if let Some(format) = Format::of_name(archive) => Self::Archive {
                version: None,
                format,
            },
            ("GET", ["files", path @ ..]) => Self::File {
                version: None,
                path: path.join("/"),
            },
            ("PUT", ["files", path @ ..]) => Self::SaveFile {
                path: path.join("/"),
            },
            ("DELETE", ["files", path @ ..]) => Self::DeleteFile {
                path: path.join("/"),
            },
            ("POST", ["batch"]) => Self::Batch,
            ("GET", ["history"]) => Self::History,
            ("GET", ["diff"]) => Self::Diff,
            ("GET", ["validation"]) => Self::Broken,
            ("POST", ["rollback"]) => Self::Rollback,
            ("GET", ["snapshots", version, rest @ ..]) => {
                let version = Some((*version).to_owned());
                match rest {
                    ["tree"] => Self::Tree { version },
                    [archive] => Self::Archive {
                        version,
                        format: Format::of_name(archive)?,
                    },
                    ["files", path @ ..] => Self::File {
                        version,
                        path: path.join("/"),
                    },
                    _ => return None,
                }
            }
            _ => return None,
        })
    }

    pub(super) fn takes(&self) -> Takes {
        match self {
            Self::SaveFile { .. } => Takes::File,
            Self::Batch => Takes::Batch,
            Self::Rename => Takes::Json,
            Self::Rollback => Takes::NothingOfInterest,
            Self::Show
            | Self::Events
            | Self::Delete
            | Self::Tree { .. }
            | Self::Archive { .. }
            | Self::File { .. }
            | Self::DeleteFile { .. }
            | Self::History
            | Self::Broken
            | Self::Diff => Takes::Nothing,
        }
    }

    pub(super) fn parameters(&self) -> &'static [&'static str] {
        match self {
            Self::Tree { .. } => &["path", "recursive", "search", "limit", "after", "with"],
            Self::Archive { .. } => &["path"],
            Self::Batch => &["path", "message", "no_validate"],
            Self::SaveFile { .. } | Self::DeleteFile { .. } => &["message", "no_validate"],
            Self::Broken => &["limit", "after"],
            Self::History => &["path", "limit", "before"],
            Self::Diff => &["from", "to", "unified", "path", "limit", "after"],
            Self::Rollback => &["to", "path", "dry_run", "expect", "no_validate"],
            Self::Show => &["wait", "etag"],
            Self::Events => &["etag"],
            Self::Rename | Self::Delete | Self::File { .. } => &[],
        }
    }
}

crate::http::route::names::templates! {
    Self::Show => ["GET /projects/{repo_id}/branches/{ref}"] for Read,
    Self::Events => ["GET /projects/{repo_id}/branches/{ref}/events"] for Read,
    Self::Rename => ["PATCH /projects/{repo_id}/branches/{ref}"] for Rollback,
    Self::Delete => ["DELETE /projects/{repo_id}/branches/{ref}"] for Delete,
    Self::Tree { version: None } => ["GET /projects/{repo_id}/branches/{ref}/tree"] for Read,
    Self::Tree { version: Some(_) } => [
        "GET /projects/{repo_id}/branches/{ref}/snapshots/{version}/tree",
    ] for Read,
    Self::Archive { version: None, format: Format::Zip } => [
        "GET /projects/{repo_id}/branches/{ref}/archive.zip",
    ] for Read,
    Self::Archive { version: None, format: Format::TarGz } => [
        "GET /projects/{repo_id}/branches/{ref}/archive.tar.gz",
    ] for Read,
    Self::Archive { version: None, format: Format::Tar } => [
        "GET /projects/{repo_id}/branches/{ref}/archive.tar",
    ] for Read,
    Self::Archive { version: Some(_), format: Format::Zip } => [
        "GET /projects/{repo_id}/branches/{ref}/snapshots/{version}/archive.zip",
    ] for Read,
    Self::Archive { version: Some(_), format: Format::TarGz } => [
        "GET /projects/{repo_id}/branches/{ref}/snapshots/{version}/archive.tar.gz",
    ] for Read,
    Self::Archive { version: Some(_), format: Format::Tar } => [
        "GET /projects/{repo_id}/branches/{ref}/snapshots/{version}/archive.tar",
    ] for Read,
    Self::File { version: None, .. } => ["GET /projects/{repo_id}/branches/{ref}/files/{path}"] for Read,
    Self::File { version: Some(_), .. } => [
        "GET /projects/{repo_id}/branches/{ref}/snapshots/{version}/files/{path}",
    ] for Read,
    Self::SaveFile { .. } => ["PUT /projects/{repo_id}/branches/{ref}/files/{path}"] for Write,
    Self::DeleteFile { .. } => ["DELETE /projects/{repo_id}/branches/{ref}/files/{path}"] for Delete,
    Self::Batch => ["POST /projects/{repo_id}/branches/{ref}/batch"] for Write,
    Self::History => ["GET /projects/{repo_id}/branches/{ref}/history"] for Read,
    Self::Diff => ["GET /projects/{repo_id}/branches/{ref}/diff"] for Read,
    Self::Broken => ["GET /projects/{repo_id}/branches/{ref}/validation"] for Read,
    Self::Rollback => ["POST /projects/{repo_id}/branches/{ref}/rollback"] for Rollback,
}
