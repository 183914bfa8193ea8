//! A file as it is shown, in words or as JSON.

use serde::Serialize;

use crate::base::id::{BlobId, GitId, Md5};
use crate::object::node::{FileEntry, git_mode};
use crate::repo::FileView;

/// A file as a tree holds it.
#[derive(Serialize)]
pub(in crate::cli) struct File {
    mode: &'static str,
    size: u64,
    md5: Md5,
    git: GitId,
    blob: BlobId,
}

impl From<FileEntry> for File {
    fn from(entry: FileEntry) -> Self {
        Self {
            mode: git_mode(entry.executable),
            size: entry.size,
            md5: entry.md5,
            git: entry.git,
            blob: entry.blob,
        }
    }
}

impl From<&FileView> for File {
    fn from(file: &FileView) -> Self {
        Self {
            mode: file.git_mode(),
            size: file.size(),
            md5: file.md5(),
            git: file.git_id(),
            blob: file.blob(),
        }
    }
}

impl File {
    /// What tells it from another, in words.
    pub(in crate::cli) fn text(&self) -> String {
        format!("{} {} bytes blob {}", self.mode, self.size, self.blob)
    }

    /// All of it, in words.
    pub(in crate::cli) fn whole_text(&self) -> String {
        format!("{} md5 {} git {}", self.text(), self.md5, self.git)
    }
}
