//! Names on a command line, read. A line has several: a refusal shows which one is meant.

use super::output::quoted;
use super::{Error, Result};
use crate::access::check_token_name;
use crate::base::account_name::AccountName;
use crate::base::branch_name::BranchName;
use crate::base::file_path::FilePath;
use crate::base::name_error::{NameError, check_new, shortened};
use crate::base::repo_id::RepoId;
use crate::repo::Message;

/// Reads the identifier of a project.
///
/// # Errors
/// [`Error::Usage`] with the name and its rule, as the others here.
pub(super) fn repo_id(text: &str) -> Result<RepoId> {
    read(text, RepoId::parse)
}

/// Reads the name of a branch.
pub(super) fn branch(text: &str) -> Result<BranchName> {
    read(text, BranchName::parse)
}

/// Refuses the name of what is yet to be made where nobody could see all of it. What has such a name already keeps it.
pub(super) fn to_be_made(what: &'static str, name: &str) -> Result<()> {
    read(name, |name| check_new(what, name))
}

/// Reads the path of a file.
pub(super) fn file(text: &str) -> Result<FilePath> {
    read(text, FilePath::parse)
}

/// Reads the path of a file or folder; `None` for the whole branch, and where none was given.
pub(super) fn folder(text: Option<&str>) -> Result<Option<FilePath>> {
    read(text.unwrap_or_default(), FilePath::parse_folder)
}

/// Reads `--path`, the one file or folder that a command is for; `None` where it was not given.
///
/// # Errors
/// [`Error::Usage`] also for one that names the whole branch: it may be a variable that is not set, and the
/// command is for less than that.
pub(super) fn part(given: Option<&str>) -> Result<Option<FilePath>> {
    match folder(given)? {
        None if given.is_some() => Err(Error::Usage(
            "--path names no file and no folder; leave it out for the whole branch".to_owned(),
        )),
        path => Ok(path),
    }
}

/// Reads the name of an account that is to be.
pub(super) fn account(text: &str) -> Result<AccountName> {
    read(text, AccountName::parse)
}

/// Checks the name of a token.
pub(super) fn token(text: &str) -> Result<()> {
    let refused = |error| NameError {
        what: "--name",
        ..error
    };
    read(text, |text| check_token_name(text).map_err(refused))
}

/// Reads the message of a change, where one was given.
///
/// # Errors
/// [`Error::Usage`] with the rule alone: what is too long, or no text, is not shown.
pub(super) fn message(given: Option<&str>) -> Result<Option<Message>> {
    let message = given.map(Message::parse).transpose();
    message.map_err(|error| Error::Usage(format!("--message {error}")))
}

fn read<T>(text: &str, parse: impl Fn(&str) -> std::result::Result<T, NameError>) -> Result<T> {
    parse(text).map_err(|NameError { what, reason }| {
        let shown = quoted(&shortened(text));
        Error::Usage(format!("malformed {what} {shown}: {reason}"))
    })
}
