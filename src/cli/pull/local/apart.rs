//! The folder that is pulled lies apart from data folders: a store in it would be exchanged with the files of a branch.

use std::fs;
use std::path::Path;

use crate::cli::output::visible_path;
use crate::cli::{Error, Result};
use crate::repo::DATA_FOLDER_NAMES;

/// Refuses a folder that lies in a data folder, and one that is or holds one, unless a pull has filled it: a branch may
/// hold such names. Of the folders in it those are looked at that lie right there.
///
/// # Errors
/// [`Error::Usage`], which names the data folder.
pub(super) fn require_apart(dir: &Path, is_filled: bool) -> Result<()> {
    let around = dir.ancestors().skip(1).map(Path::to_owned);
    let mut within = Vec::new();
    if !is_filled {
        within.push(dir.to_owned());
        let entries = fs::read_dir(dir).into_iter().flatten().flatten();
        within.extend(entries.map(|entry| entry.path()));
    }
    match around.chain(within).find(|path| is_data_folder(path)) {
        Some(data) => Err(in_the_way(dir, &data)),
        None => Ok(()),
    }
}

fn is_data_folder(path: &Path) -> bool {
    let holds = |name: &str| path.join(name).symlink_metadata().is_ok();
    DATA_FOLDER_NAMES.into_iter().all(holds)
}

fn in_the_way(dir: &Path, data: &Path) -> Error {
    let dir = visible_path(dir);
    let data = visible_path(data);
    Error::Usage(format!(
        "{dir} is, lies in or holds the data folder {data} of siteconf, whose store would be exchanged with the files \
         of the branch; name a folder apart from it"
    ))
}
