//! What a branch's files must be: a sorted map, and what each change makes of it.

use std::collections::{BTreeMap, BTreeSet};

use siteconf::base::id::{BlobId, GitId, Md5};
use siteconf::object::node::{FileEntry, Totals};

/// Files by their full paths.
pub(crate) type Files = BTreeMap<String, FileEntry>;

/// A file that differs from that of any other number.
pub(crate) fn file(number: u64) -> FileEntry {
    let hash = *blake3::hash(&number.to_le_bytes()).as_bytes();
    FileEntry {
        executable: number.is_multiple_of(3),
        size: number,
        md5: Md5::from_bytes(hash[..16].try_into().unwrap()),
        git: GitId::from_bytes(hash[..20].try_into().unwrap()),
        blob: BlobId::from_bytes(hash),
    }
}

/// What is below a folder, by paths inside it; the root is the empty text.
pub(crate) fn below(files: &Files, folder: &str) -> Files {
    let prefix = if folder.is_empty() {
        String::new()
    } else {
        format!("{folder}/")
    };
    files
        .range(prefix.clone()..)
        .take_while(|(path, _)| path.starts_with(&prefix))
        .map(|(path, file)| (path[prefix.len()..].to_owned(), *file))
        .collect()
}

/// Every folder that has something below it, the root left out.
pub(crate) fn folders(files: &Files) -> BTreeSet<&str> {
    files.keys().flat_map(|path| above(path)).collect()
}

/// The folders a path lies in, outermost first.
fn above(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(|(at, _)| &path[..at])
}

/// What the tree must say that it holds.
pub(crate) fn totals(files: &Files) -> Totals {
    Totals {
        files: files.len() as u64,
        directories: folders(files).len() as u64,
        bytes: files.values().map(|file| file.size).sum(),
    }
}

/// Why a change of this path must be refused: a file among the folders it lies in.
fn blocked(files: &Files, path: &str) -> Result<(), String> {
    match above(path).find(|folder| files.contains_key(*folder)) {
        Some(file) => Err(format!("\"{file}\" is a file, not a folder")),
        None => Ok(()),
    }
}

/// Puts a file, or says why that cannot be.
pub(crate) fn put(files: &mut Files, path: &str, file: FileEntry) -> Result<(), String> {
    if !below(files, path).is_empty() {
        return Err(format!("\"{path}\" is a folder, not a file"));
    }
    blocked(files, path)?;
    files.insert(path.to_owned(), file);
    Ok(())
}

/// Puts a whole folder in the place of what may be there, or says why that cannot be.
pub(crate) fn graft(files: &mut Files, path: &str, content: &Files) -> Result<(), String> {
    if files.contains_key(path) {
        return Err(format!("\"{path}\" is a file, not a folder"));
    }
    blocked(files, path)?;
    remove(files, path);
    files.extend(
        content
            .iter()
            .map(|(inside, file)| (format!("{path}/{inside}"), *file)),
    );
    Ok(())
}

/// Removes a file or a folder; false if there is neither.
pub(crate) fn remove(files: &mut Files, path: &str) -> bool {
    let prefix = format!("{path}/");
    let under = files.range(prefix.clone()..).map(|(other, _)| other);
    let mut gone: Vec<_> = under
        .take_while(|other| other.starts_with(&prefix))
        .cloned()
        .collect();
    gone.push(path.to_owned());
    let removed = gone.iter().filter(|path| files.remove(*path).is_some());
    removed.count() > 0
}
