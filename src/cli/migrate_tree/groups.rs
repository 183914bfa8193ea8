//! Whether a folder whose name could be a project's, as acme.com, is one, or holds projects, as
//! acme.com/shop.erp.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use crate::base::repo_id::{RepoId, check_name};
use crate::repo::{ImportFolder, LyingKind};

/// The folder of a project that holds old snapshots.
pub(super) const SNAPSHOTS: &str = ".snapshots";

/// What a folder is.
#[derive(Debug)]
pub(super) enum Nature {
    Project,
    /// It holds projects.
    Group,
    /// It may be both; what to do, as a sentence.
    Unclear(String),
}

/// What the folder at a place of the tree is, which is project `id` if it is one. Old snapshots tell. Where
/// there are none, it is a project, unless everything in it may be projects. Folders that are empty, or cannot be
/// listed, may be whatever their names allow.
///
/// # Limits
/// Lists the folders below as long as they hold nothing but folders.
pub(super) fn nature(tree: &ImportFolder, place: &Path, id: &RepoId) -> Nature {
    let mut lying = Lying::in_folder(tree, place);
    let is_project = lying.has_snapshots;
    if is_project {
        // What has old snapshots there is a branch.
        let known = Lying::in_folder(tree, &place.join(SNAPSHOTS));
        let branches: HashSet<_> = known.folders.into_iter().map(|(name, _)| name).collect();
        lying.folders.retain(|(name, _)| !branches.contains(name));
    }
    match (is_project, lying.projects(tree, id.as_str())) {
        (true, Found::Certain(inner)) => Nature::Unclear(format!(
            "it holds old snapshots of project {id}, and in it are some of project {inner}: move the folder \
             of {inner} out, and call it {}",
            inner.as_str().replace('/', "%2F")
        )),
        (false, Found::Certain(_)) => Nature::Group,
        (false, Found::Possible(inner)) => Nature::Unclear(format!(
            "it is either project {id} or a group with project {inner}: put an empty folder {SNAPSHOTS} \
             into the one that is a project"
        )),
        (true, Found::Possible(_)) | (_, Found::Unknown | Found::Nothing) => Nature::Project,
    }
}

/// The projects that a folder holds, if it is no project.
#[derive(Debug)]
enum Found {
    /// Something is there that is none.
    Nothing,
    /// It holds nothing that tells: folders that are empty, or that cannot be listed.
    Unknown,
    /// It holds nothing but what may be projects; the first.
    Possible(RepoId),
    /// There is one with old snapshots.
    Certain(RepoId),
}

/// What lies in a folder.
#[derive(Debug, Default)]
struct Lying {
    /// By their names, without the one of old snapshots.
    folders: Vec<(String, PathBuf)>,
    has_snapshots: bool,
    has_more: bool,
}

impl Lying {
    /// Nothing if the folder cannot be listed: that tells as little as an empty one.
    fn in_folder(tree: &ImportFolder, place: &Path) -> Self {
        let mut lying = Self::default();
        let below = tree.below(place).ok();
        let contents = below.and_then(|folder| folder.contents().ok());
        for (name, kind) in contents.unwrap_or_default() {
            match (name.into_string(), kind) {
                (Ok(name), _) if name == SNAPSHOTS => lying.has_snapshots = true,
                (Ok(name), LyingKind::Folder) => {
                    let place = place.join(&name);
                    lying.folders.push((name, place));
                }
                _ => lying.has_more = true,
            }
        }
        lying
    }

    /// Looks for projects in a folder of this name.
    fn projects(&self, tree: &ImportFolder, name: &str) -> Found {
        let mut first = None;
        let mut is_all = !self.has_more;
        for (folder, place) in &self.folders {
            let name = format!("{name}/{}", decoded(folder));
            match Self::in_folder(tree, place).as_project(tree, &name) {
                Found::Certain(found) => return Found::Certain(found),
                Found::Possible(found) => first = first.or(Some(found)),
                Found::Unknown => {}
                Found::Nothing => is_all = false,
            }
        }
        match first {
            _ if !is_all => Found::Nothing,
            Some(first) => Found::Possible(first),
            None => Found::Unknown,
        }
    }

    /// Looks at a folder of this name as a project, or a group with some.
    fn as_project(&self, tree: &ImportFolder, name: &str) -> Found {
        let id = RepoId::parse(name).ok();
        if let Some(id) = id.clone().filter(|_| self.has_snapshots) {
            return Found::Certain(id);
        }
        if self.has_more {
            return Found::Nothing;
        }
        let below = match check_name(name) {
            Ok(()) => self.projects(tree, name),
            Err(_) => Found::Nothing,
        };
        match (below, id) {
            (Found::Certain(found), _) => Found::Certain(found),
            (_, Some(id)) => Found::Possible(id),
            (below, None) => below,
        }
    }
}

/// A folder's name with its slashes.
pub(super) fn decoded(name: &str) -> String {
    name.replace("%2F", "/").replace("%2f", "/")
}
