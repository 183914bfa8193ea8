//! A state of a branch, and what can be read of it.

use std::fmt;

use super::{BranchDigest, Error, Missing, Project, Result};
use crate::base::file_path::FilePath;
use crate::base::id::{BlobId, GitId, ManifestId, Md5, NodeId, Sha256};
use crate::base::snapshot_version::SnapshotVersion;
use crate::manifest::lookup;
use crate::manifest::lookup::Found;
use crate::object::node::{FileEntry, Totals, Value, git_mode};
use crate::store::Body;

/// A state of a branch. What it holds never changes. A cheap handle.
#[derive(Clone, Debug)]
pub struct Revision {
    pub(super) project: Project,
    pub(super) branch: u64,
    manifest: ManifestId,
    totals: Totals,
    fixed: bool,
    is_new: bool,
    place: Option<u64>,
}

/// Names a state for caches: equal ids, equal content.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct RevisionId(ManifestId);

impl fmt::Display for RevisionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for RevisionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RevisionId({self})")
    }
}

/// What a tree entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A file.
    File {
        /// True for an executable one.
        executable: bool,
        /// Length in bytes.
        size: u64,
        /// MD5 of the bytes.
        md5: Md5,
        /// The bytes' own id: the file's entity tag.
        blob: BlobId,
    },
    /// A folder.
    Folder,
}

impl EntryKind {
    /// The mode of such an entry, as git's hosting services write it.
    pub fn git_mode(&self) -> &'static str {
        match self {
            Self::File { executable, .. } => git_mode(*executable),
            Self::Folder => "040000",
        }
    }
}

/// An entry of a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeEntry {
    /// The full path.
    pub path: String,
    /// What it is.
    pub kind: EntryKind,
    /// The id git gives the same content.
    pub git_id: GitId,
}

impl TreeEntry {
    /// The last segment of the path.
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }
}

/// A file of a state.
#[derive(Clone, Debug)]
pub struct FileView {
    project: Project,
    entry: FileEntry,
}

/// A file's bytes, held against their id.
#[derive(Clone, Debug)]
pub struct Content {
    /// Length in bytes.
    pub size: u64,
    /// SHA-256 of the bytes.
    pub sha256: Sha256,
    /// The bytes.
    pub body: Body,
}

impl Revision {
    pub(super) fn new(
        project: &Project,
        branch: u64,
        manifest: ManifestId,
        totals: Totals,
    ) -> Self {
        Self {
            project: project.clone(),
            branch,
            manifest,
            totals,
            fixed: false,
            is_new: false,
            place: None,
        }
    }

    /// The project that it belongs to.
    pub fn project(&self) -> &Project {
        &self.project
    }

    /// The same state under a name that it keeps for ever.
    pub(super) fn fixed(mut self) -> Self {
        self.fixed = true;
        self
    }

    /// The same state, which a change has just made.
    pub(super) fn just_made(mut self) -> Self {
        self.is_new = true;
        self
    }

    /// The same state at its place in the history: the version of the snapshot that holds it, or will
    /// hold it once the branch is changed.
    pub(super) fn at(mut self, place: u64) -> Self {
        self.place = Some(place);
        self
    }

    /// Its place in the history: the number of the snapshot that holds it, or will once the branch is
    /// changed. `None` if it was opened by its content.
    pub fn place(&self) -> Option<u64> {
        self.place
    }

    /// Names the state.
    pub fn id(&self) -> RevisionId {
        RevisionId(self.manifest)
    }

    /// The manifest of the state.
    pub fn manifest(&self) -> ManifestId {
        self.manifest
    }

    /// The number of the branch it is a state of. Never given twice.
    pub fn branch_number(&self) -> u64 {
        self.branch
    }

    /// True if the reference that led here names this state for ever: a snapshot or a commit id.
    pub fn is_fixed(&self) -> bool {
        self.fixed
    }

    /// What the state holds.
    pub fn totals(&self) -> Totals {
        self.totals
    }

    /// The branch digest (specification section 9): computed once per state, and kept. Its commit id
    /// is entered in the index of the project first.
    pub fn digest(&self) -> Result<BranchDigest> {
        let shared = &self.project.projects.shared;
        let project = self.project.number();
        shared
            .digests
            .publish_id(project, self.branch, self.manifest, self.is_new)
    }

    /// The same where memory has it, `None` else: it takes microseconds.
    pub fn known_digest(&self) -> Result<Option<BranchDigest>> {
        let shared = &self.project.projects.shared;
        let project = self.project.number();
        shared
            .digests
            .publish_known_id(project, self.branch, self.manifest)
    }

    /// The bytes of the branch digest, which nobody is told: no commit id is entered in the index.
    pub(super) fn sha256(&self) -> Result<Sha256> {
        let shared = &self.project.projects.shared;
        shared.digests.compute(self.branch, self.manifest)
    }

    /// The branch digest if the store keeps it: the same for all who serve the store. Some 0.2 s after it was
    /// first told, it does.
    pub fn kept_digest(&self) -> Result<Option<BranchDigest>> {
        self.project.projects.shared.digests.kept(self.manifest)
    }

    /// Of how many states the store does not keep the digest, from this one on back: of so many at most.
    ///
    /// # Errors
    /// [`Missing::Revision`] when the branch is gone.
    pub fn undigested(&self, states: usize) -> Result<usize> {
        let before = self.place().map(SnapshotVersion::new);
        let earlier = self
            .branch()?
            .history(before, Some(states.saturating_sub(1)))?;
        let mut undigested = usize::from(self.kept_digest()?.is_none());
        for snapshot in &earlier {
            undigested += usize::from(snapshot.revision.kept_digest()?.is_none());
        }
        Ok(undigested)
    }

    /// The file at a path.
    ///
    /// # Errors
    /// [`Missing::File`] when nothing or a folder is there.
    pub fn file(&self, path: &FilePath) -> Result<FileView> {
        match lookup::path(self.nodes(), self.root()?, path)? {
            Some(Found::File(entry)) => Ok(FileView {
                project: self.project.clone(),
                entry,
            }),
            _ => Err(Error::missing(Missing::File)),
        }
    }

    /// The entries of a folder (`None` is the root), in the order of contract section 5: not
    /// recursive, folders first; recursive, depth first in path order, folders included.
    ///
    /// # Errors
    /// [`Missing::Folder`] when nothing or a file is there.
    pub fn list(&self, folder: Option<&FilePath>, recursive: bool) -> Result<Vec<TreeEntry>> {
        self.listing(folder, recursive)?.part(0, u64::MAX)
    }

    pub(super) fn folder(&self, folder: Option<&FilePath>) -> Result<NodeId> {
        let root = self.root()?;
        let Some(path) = folder else { return Ok(root) };
        match lookup::path(self.nodes(), root, path)? {
            Some(Found::Directory(entry)) => Ok(entry.root),
            _ => Err(Error::missing(Missing::Folder)),
        }
    }

    pub(super) fn tree_entry(
        &self,
        path: String,
        value: &Value,
    ) -> crate::store::Result<Option<TreeEntry>> {
        Ok(match value {
            Value::File(file) => {
                let kind = EntryKind::File {
                    executable: file.executable,
                    size: file.size,
                    md5: file.md5,
                    blob: file.blob,
                };
                Some(TreeEntry {
                    path,
                    kind,
                    git_id: file.git,
                })
            }
            Value::Directory(directory) => {
                let git_id = self
                    .project
                    .projects
                    .shared
                    .tree_ids
                    .of(self.nodes(), directory.root)?;
                Some(TreeEntry {
                    path,
                    kind: EntryKind::Folder,
                    git_id,
                })
            }
            Value::Subtree(_) => None,
        })
    }

    /// The root of the state's tree.
    pub(super) fn root(&self) -> Result<NodeId> {
        Ok(self.nodes().manifest(self.manifest)?.root)
    }

    pub(super) fn nodes(&self) -> &crate::manifest::Nodes {
        self.project.projects.nodes()
    }
}

impl FileView {
    pub(super) fn new(project: &Project, entry: FileEntry) -> Self {
        Self {
            project: project.clone(),
            entry,
        }
    }

    /// Length in bytes.
    pub fn size(&self) -> u64 {
        self.entry.size
    }

    /// MD5 of the bytes.
    pub fn md5(&self) -> Md5 {
        self.entry.md5
    }

    /// The id git gives the bytes.
    pub fn git_id(&self) -> GitId {
        self.entry.git
    }

    /// The bytes' own id: the file's entity tag.
    pub fn blob(&self) -> BlobId {
        self.entry.blob
    }

    /// True for an executable file.
    pub fn is_executable(&self) -> bool {
        self.entry.executable
    }

    /// The mode of the file, as git writes it.
    pub fn git_mode(&self) -> &'static str {
        git_mode(self.entry.executable)
    }

    /// The bytes.
    ///
    /// # Errors
    /// [`Error::Store`] when they are missing or damaged: never wrong bytes.
    pub fn content(&self) -> Result<Content> {
        let blob = self
            .project
            .projects
            .nodes()
            .objects()
            .blob(self.entry.blob)?;
        Ok(Content {
            size: blob.size,
            sha256: blob.sha256,
            body: blob.body,
        })
    }
}
