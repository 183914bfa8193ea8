//! An entry of a tree as GitLab's object.

use serde::Serialize;

use crate::base::id::{GitId, Md5};
use crate::http::request::conditions::ETag;
use crate::repo::{EntryKind, TreeEntry};

/// An entry of a tree.
#[derive(Debug, Serialize)]
pub(in crate::http) struct EntryJson<'a> {
    id: GitId,
    name: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    path: &'a str,
    mode: &'static str,
    /// Of files on the Admin API.
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    /// Of files on the Admin API.
    #[serde(skip_serializing_if = "Option::is_none")]
    md5: Option<Md5>,
    /// Of files on the Admin API.
    #[serde(skip_serializing_if = "Option::is_none")]
    etag: Option<ETag>,
}

impl<'a> EntryJson<'a> {
    /// An entry as GitLab shows it.
    pub(in crate::http) fn new(entry: &'a TreeEntry) -> Self {
        let kind = match entry.kind {
            EntryKind::File { .. } => "blob",
            EntryKind::Folder => "tree",
        };
        Self {
            id: entry.git_id,
            name: entry.name(),
            kind,
            path: &entry.path,
            mode: entry.kind.git_mode(),
            size: None,
            md5: None,
            etag: None,
        }
    }

    /// An entry with what the Admin API tells besides.
    pub(in crate::http) fn with_content(entry: &'a TreeEntry) -> Self {
        let mut shown = Self::new(entry);
        if let EntryKind::File {
            size, md5, blob, ..
        } = entry.kind
        {
            shown.size = Some(size);
            shown.md5 = Some(md5);
            shown.etag = Some(ETag::of_blob(blob));
        }
        shown
    }
}
