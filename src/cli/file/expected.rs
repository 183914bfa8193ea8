//! In which state a file must be for a change of it.

use crate::base::branch_name::BranchName;
use crate::base::file_path::FilePath;
use crate::base::id::BlobId;
use crate::base::repo_id::RepoId;
use crate::cli::open_store::{OpenStore, parse_version, snapshot};
use crate::cli::output::shell_word;
use crate::cli::{Error, Result};
use crate::repo;
use crate::repo::{Condition, FileView};

/// The word for no file.
const ABSENT: &str = "absent";

/// What `--expect` demands of a file.
///
/// # Errors
/// [`Error::Usage`] for what is no blob id, no version and not `absent`; [`Error::Failed`] for a version
/// that the branch does not have.
pub(super) fn condition(
    expect: Option<&str>,
    (repo_id, branch, path): (&RepoId, &BranchName, &FilePath),
    opened: &OpenStore,
) -> Result<Condition> {
    let Some(expect) = expect else {
        return Ok(Condition::None);
    };
    if expect == ABSENT {
        return Ok(Condition::IfAbsent);
    }
    if let Ok(blob) = expect.parse::<BlobId>() {
        return Ok(Condition::IfMatch(vec![blob.to_string()]));
    }
    let version = parse_version(expect).map_err(|_| {
        Error::Usage(format!(
            "--expect \"{expect}\" must be the 64 digits of a blob id, a snapshot as in v0007, or {ABSENT}"
        ))
    })?;
    let state = snapshot(&opened.branch(repo_id, branch)?, version)?;
    match state.file(path) {
        Ok(file) => Ok(Condition::IfMatch(vec![file.blob().to_string()])),
        Err(repo::Error::NotFound { .. }) => Ok(Condition::IfAbsent),
        Err(failed) => Err(failed.into()),
    }
}

/// Says what was found where a file was not as expected.
pub(super) fn refusal(
    error: repo::Error,
    (repo_id, branch, path): (&RepoId, &BranchName, &FilePath),
    opened: &OpenStore,
) -> Error {
    if !matches!(error, repo::Error::Precondition { .. }) {
        return error.into();
    }
    let head = opened.branch(repo_id, branch).map(|branch| branch.head());
    let now = match head.ok().and_then(|head| head.file(path).ok()) {
        Some(file) => {
            let (size, blob) = (FileView::size(&file), file.blob());
            format!("it has {size} bytes, blob {blob}")
        }
        None => "it is not there".to_owned(),
    };
    Error::Failed(format!(
        "\"{path}\" is not as --expect demands, and nothing was changed: {now}; \"siteconf history \
         {repo_id} {branch} --path={}\" says who changed it",
        shell_word(path.as_str())
    ))
}
