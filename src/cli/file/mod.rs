//! Files of a branch from the command line: listed, read, saved, deleted.

pub(super) mod args;
pub(super) mod cat;
mod expected;
pub(super) mod ls;
pub(super) mod put;
pub(super) mod rm;
pub(super) mod shown;

#[cfg(test)]
mod tests;

use super::Error;
use crate::base::file_path::FilePath;

/// The refusal of a path at which there is nothing.
fn nothing_at(path: &FilePath, repo_id: &str, revision: &str) -> Error {
    Error::Failed(format!(
        "there is no \"{path}\" in {revision} of {repo_id}; \"siteconf ls -r {repo_id} {revision}\" \
         lists what there is"
    ))
}
