//! Files that were not brought, and lie where the branch has files: those that are as the branch has them are taken
//! for brought, and others are never replaced.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::own::{self, Own};
use crate::cli::output::{named, visible_path};
use crate::cli::pull::fault::{Fault, Pulled};
use crate::cli::pull::remote::fetch::git_id;
use crate::cli::pull::remote::tree::{TreeFile, folders_of};

/// Looks for what was not brought, as [`own::survey`], and tells which of it is taken for brought.
///
/// # Errors
/// As there, and [`Fault::Lasting`] where others stand in the way of the tree.
pub(in crate::cli::pull) fn survey(
    dir: &Path,
    known: &BTreeSet<PathBuf>,
    tree: &BTreeMap<String, TreeFile>,
) -> Pulled<(Own, BTreeSet<String>)> {
    let mut own = own::survey(dir, known)?;
    let adopted = adopt(dir, &mut own, tree)?;
    Ok((own, adopted))
}

/// Takes those files for brought that were not, and are as the branch has them.
///
/// # Errors
/// [`Fault::Lasting`] where others stand in the way: they are never replaced.
fn adopt(dir: &Path, own: &mut Own, tree: &BTreeMap<String, TreeFile>) -> Pulled<BTreeSet<String>> {
    let folders: BTreeSet<&str> = tree.keys().flat_map(|path| folders_of(path)).collect();
    let (mut adopted, mut in_the_way) = (BTreeSet::new(), Vec::new());
    for path in &own.files {
        let Some(text) = path.to_str() else {
            continue;
        };
        if let Some(file) = tree.get(text) {
            let is_same = own::open_file(dir, path).and_then(|found| {
                let metadata = found.metadata()?;
                let is_executable = metadata.permissions().mode() & 0o100 != 0;
                let is_same = is_executable == file.is_executable && git_id(found)? == file.id;
                Ok(is_same.then_some(metadata.ino()))
            });
            if let Ok(Some(inode)) = is_same {
                adopted.insert(text.to_owned());
                own.carried.insert(path.clone(), inode);
            } else {
                in_the_way.push(text);
            }
        } else if folders.contains(text) || folders_of(text).any(|f| tree.contains_key(f)) {
            in_the_way.push(text);
        }
    }
    let folders = own.folders.iter().filter_map(|folder| folder.to_str());
    let is_told =
        |folder: &str, told: &[&str]| told.iter().any(|path| Path::new(path).starts_with(folder));
    let is_file = |path: &str| tree.contains_key(path);
    for folder in folders.filter(|folder| is_file(folder) || folders_of(folder).any(is_file)) {
        if !is_told(folder, &in_the_way) {
            in_the_way.push(folder);
        }
    }
    if !in_the_way.is_empty() {
        return Err(Fault::lasting(format!(
            "{} holds what was not brought, and stands where the branch has something else: {}; move \
             it elsewhere",
            visible_path(dir),
            named(&in_the_way)
        )));
    }
    own.files
        .retain(|path| path.to_str().is_none_or(|path| !adopted.contains(path)));
    Ok(adopted)
}
