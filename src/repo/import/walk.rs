//! The way through a folder that is imported, in the order of the full paths. What is done with the files
//! is the visitor's.

use std::fs::{File, Metadata};
use std::io;
use std::ops::ControlFlow;
use std::path::Path;

use super::exclude::Exclude;
use super::links::{BEHIND_LINK, TO_EXCLUDED, TO_ITS_OWN};
use super::open_folder::{Entry, EntryKind, FolderId, OpenFolder, Skip};
use super::source::{ImportFolder, unreadable};
use crate::base::file_path::FilePath;
use crate::base::name_error::check_new;
use crate::repo::{Error, Result};

/// Whether to go on.
pub(super) type Flow = ControlFlow<()>;

/// What meets the entries of a folder.
pub(super) trait Visitor {
    /// A file. `at` is where it lies, `path` its path in the branch.
    fn file(&mut self, at: &Path, path: &FilePath, file: File, metadata: &Metadata)
    -> Result<Flow>;

    /// What comes next is in a folder.
    fn enter(&mut self) {}

    /// What was in the folder of this name has come.
    fn leave(&mut self, _name: &str) -> Result<()> {
        Ok(())
    }

    /// Something that is left out, a folder as a whole. `path` is its path in the branch; there is none for
    /// what can be no path of a branch.
    fn leave_out(&mut self, at: &Path, path: Option<&FilePath>, skip: Skip, why: &str) -> Flow;

    /// Something that is left out as a pattern says.
    fn exclude(&mut self, _at: &Path) -> Flow {
        Flow::Continue(())
    }
}

/// A way through a folder.
pub(super) struct Walk<'a, V> {
    source: &'a ImportFolder,
    exclude: &'a Exclude,
    /// Most entries behind links to folders.
    linked_max: u64,
    linked: u64,
    /// The folders that lead here, where links are followed.
    entered: Vec<FolderId>,
    visitor: &'a mut V,
}

impl<'a, V: Visitor> Walk<'a, V> {
    pub(super) fn new(
        source: &'a ImportFolder,
        exclude: &'a Exclude,
        linked_max: u64,
        visitor: &'a mut V,
    ) -> Self {
        Self {
            source,
            exclude,
            linked_max,
            linked: 0,
            entered: Vec::new(),
            visitor,
        }
    }

    /// Goes through the whole folder, or until the visitor has enough.
    ///
    /// # Errors
    /// [`Error::Invalid`] when the folder itself cannot be read, a data folder is in it, or its links
    /// lead to too much; what the visitor says.
    ///
    /// # Limits
    /// Memory grows with the entries of the largest single folder.
    pub(super) fn run(mut self) -> Result<Flow> {
        let (folder, path) = (self.source.folder(), self.source.path());
        let entries = self.source.list(folder, path)?;
        let entries = entries.map_err(|e| unreadable(path, &e))?;
        if self.source.follows_links() {
            let id = folder.id().map_err(|e| unreadable(path, &e))?;
            self.entered.push(id);
        }
        self.folder(folder, entries, path, false)
    }

    /// Goes through a folder. It calls itself for each folder in the folder, which stays open meanwhile:
    /// as deep as a path may be, because what is deeper is left out.
    fn folder(
        &mut self,
        folder: &OpenFolder,
        entries: Vec<Entry>,
        at: &Path,
        is_linked: bool,
    ) -> Result<Flow> {
        for entry in entries {
            let at = at.join(&entry.name);
            if is_linked {
                self.count_linked()?;
            }
            let inside = at.strip_prefix(self.source.path()).unwrap_or(&at);
            let flow = match (self.path_of(inside), &entry.kind) {
                _ if self.exclude.matches(inside) => self.visitor.exclude(&at),
                (Err(refused), _) => {
                    let path = refused.path.as_ref();
                    self.visitor.leave_out(&at, path, Skip::Name, &refused.why)
                }
                (Ok(path), EntryKind::LeftOut(skip, why)) => {
                    self.visitor.leave_out(&at, Some(&path), *skip, why)
                }
                (Ok(path), _) if self.leads_to_excluded(&entry) => {
                    let (skip, why) = (Skip::Link, TO_EXCLUDED);
                    self.visitor.leave_out(&at, Some(&path), skip, why)
                }
                (Ok(path), _) if is_linked && self.is_excluded_there(folder, &entry) => {
                    let (skip, why) = (Skip::Link, BEHIND_LINK);
                    self.visitor.leave_out(&at, Some(&path), skip, why)
                }
                (Ok(path), EntryKind::File) => match self.source.open_file(folder, &entry) {
                    Ok((file, metadata)) => self.visitor.file(&at, &path, file, &metadata)?,
                    Err(error) => self.lose(&at, &path, &error),
                },
                (Ok(path), EntryKind::Folder) => {
                    self.enter(folder, &entry, &at, &path, is_linked)?
                }
            };
            if flow.is_break() {
                return Ok(flow);
            }
        }
        Ok(Flow::Continue(()))
    }

    /// True for a link to what is excluded, or to something in an excluded folder.
    fn leads_to_excluded(&self, entry: &Entry) -> bool {
        let target = entry.target.as_deref().map(Path::ancestors);
        target.is_some_and(|mut above| above.any(|path| self.exclude.matches(path)))
    }

    /// True for what a pattern names by the path without links. In a linked folder that is not the path by
    /// which the way came.
    fn is_excluded_there(&self, folder: &OpenFolder, entry: &Entry) -> bool {
        self.exclude.matches(&folder.below().join(&entry.name))
    }

    /// Goes through a folder in a folder.
    fn enter(
        &mut self,
        folder: &OpenFolder,
        entry: &Entry,
        at: &Path,
        path: &FilePath,
        is_linked: bool,
    ) -> Result<Flow> {
        let entered = match self.source.enter(folder, entry) {
            Ok(entered) => entered,
            Err(error) => return Ok(self.lose(at, path, &error)),
        };
        if self.source.follows_links() {
            match entered.id() {
                Err(error) => return Ok(self.lose(at, path, &error)),
                Ok(id) if self.entered.contains(&id) => {
                    let (skip, why) = (Skip::Link, TO_ITS_OWN);
                    return Ok(self.visitor.leave_out(at, Some(path), skip, why));
                }
                Ok(id) => self.entered.push(id),
            }
        }
        let flow = match self.source.list(&entered, at)? {
            Err(error) => self.lose(at, path, &error),
            Ok(entries) => {
                self.visitor.enter();
                let is_linked = is_linked || entry.target.is_some();
                let flow = self.folder(&entered, entries, at, is_linked)?;
                if flow.is_continue() {
                    self.visitor.leave(path.name())?;
                }
                flow
            }
        };
        self.entered.pop();
        Ok(flow)
    }

    /// A path below the folder as a path of a branch.
    fn path_of(&self, inside: &Path) -> std::result::Result<FilePath, RefusedPath> {
        let no_path = |why| RefusedPath { path: None, why };
        let text = inside.to_str();
        let text = text.ok_or_else(|| no_path("its name is not UTF-8".to_owned()))?;
        let path = FilePath::parse(text).map_err(|e| no_path(e.to_string()))?;
        match check_new("path", path.as_str()) {
            Err(why) if !self.source.is_of_branch() => Err(RefusedPath {
                path: Some(path),
                why: why.to_string(),
            }),
            _ => Ok(path),
        }
    }

    fn lose(&mut self, at: &Path, path: &FilePath, error: &io::Error) -> Flow {
        let why = error.to_string();
        self.visitor
            .leave_out(at, Some(path), Skip::Unreadable, &why)
    }

    /// Links to folders that lead to each other double what there is with each step.
    fn count_linked(&mut self) -> Result<()> {
        self.linked += 1;
        if self.linked <= self.linked_max {
            return Ok(());
        }
        Err(Error::invalid(format!(
            "the symbolic links in {} lead to folders with more than {} files and folders, each counted \
             as often as it is reached: leave some of the links out, or do not follow them",
            self.source.path().display(),
            self.linked_max
        )))
    }
}

/// Why a path below the folder is not taken.
struct RefusedPath {
    /// The path, where a branch may have it from before it was refused.
    path: Option<FilePath>,
    why: String,
}
