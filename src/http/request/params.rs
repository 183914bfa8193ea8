//! Names in a request: what is malformed is refused, what is well-formed may be absent.

use crate::access::ProjectSelector;
use crate::base::branch_name::BranchName;
use crate::base::file_path::FilePath;
use crate::base::name_error::NameError;
use crate::base::repo_id::{RepoId, check_name};
use crate::base::snapshot_version::SnapshotVersion;
use crate::http::error::Error;
use crate::http::request::query::Query;
use crate::repo::Message;

impl From<NameError> for Error {
    fn from(refused: NameError) -> Self {
        Self::Malformed(refused.to_string())
    }
}

/// The project that a segment of the Read API names: a repo id, or a number as GitLab clients send
/// it. A text that could be a project of some other service is one that does not exist.
pub(in crate::http) fn selector(text: &str) -> Result<ProjectSelector, Error> {
    if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) {
        // A project has one number, and a number one spelling.
        if text.starts_with('0') {
            return Ok(ProjectSelector::Unknown);
        }
        return Ok(text
            .parse()
            .map_or(ProjectSelector::Unknown, ProjectSelector::Number));
    }
    match RepoId::parse(text) {
        Ok(id) => Ok(ProjectSelector::Id(id)),
        Err(refused) => match check_name(text) {
            Ok(()) => Ok(ProjectSelector::Unknown),
            Err(_) => Err(refused.into()),
        },
    }
}

/// The project that a segment of the Admin API names.
pub(in crate::http) fn repo_id(text: &str) -> Result<RepoId, Error> {
    Ok(RepoId::parse(text)?)
}

/// A branch's name.
pub(in crate::http) fn branch(text: &str) -> Result<BranchName, Error> {
    Ok(BranchName::parse(text)?)
}

/// A file's path.
pub(in crate::http) fn file(text: &str) -> Result<FilePath, Error> {
    Ok(FilePath::parse(text)?)
}

/// A folder's path from a query; `None` is the root.
pub(in crate::http) fn folder(text: Option<&str>) -> Result<Option<FilePath>, Error> {
    Ok(FilePath::parse_folder(text.unwrap_or_default())?)
}

/// The same in the Read API, where as at GitLab `.` is the root, too.
pub(in crate::http) fn folder_or_dot(text: Option<&str>) -> Result<Option<FilePath>, Error> {
    folder(text.filter(|text| !matches!(*text, "." | "./")))
}

/// The message of a change; an empty one is none.
pub(in crate::http) fn message(text: Option<&str>) -> Result<Option<Message>, Error> {
    let given = text.filter(|text| !text.is_empty()).map(Message::parse);
    let refused = |error| Error::Malformed(format!("message {error}"));
    given.transpose().map_err(refused)
}

/// The `limit` of a query, if it has one: how many entries a page has, from 1 to `most`.
pub(in crate::http) fn limit_of(query: &Query, most: usize) -> Result<Option<usize>, Error> {
    let Some(text) = query.text("limit")? else {
        return Ok(None);
    };
    match text.parse() {
        Ok(limit) if (1..=most).contains(&limit) => Ok(Some(limit)),
        _ => Err(Error::Malformed(format!(
            "limit is invalid: it must be 1 to {most}"
        ))),
    }
}

/// A snapshot's version.
pub(in crate::http) fn version(text: &str) -> Result<SnapshotVersion, Error> {
    Ok(SnapshotVersion::parse(text)?)
}

/// A reference to a revision, unchanged, if it has one of the forms of contract section 4.
pub(in crate::http) fn reference(text: Option<&str>) -> Result<Option<&str>, Error> {
    let Some(reference) = text else {
        return Ok(None);
    };
    let could_be_commit =
        (8..=64).contains(&reference.len()) && reference.bytes().all(|b| b.is_ascii_hexdigit());
    let name = reference.strip_prefix("refs/heads/").unwrap_or(reference);
    if reference == "HEAD" || could_be_commit || BranchName::split_snapshot(name).is_some() {
        return Ok(text);
    }
    BranchName::parse(name)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_is_a_repo_id_a_number_or_unknown() {
        assert_eq!(selector("42").unwrap(), ProjectSelector::Number(42));
        assert_eq!(selector("042").unwrap(), ProjectSelector::Unknown);
        assert_eq!(
            selector("acme/shop.erp").unwrap(),
            ProjectSelector::Id(RepoId::parse("acme/shop.erp").unwrap())
        );
        for text in [
            "acme",
            "acme/shop",
            "1e3",
            "99999999999999999999",
            "a.ERP",
            "v1",
        ] {
            assert_eq!(selector(text).unwrap(), ProjectSelector::Unknown, "{text}");
        }
        for text in [
            "", "..", "../x", "a/../b", "a\\b", "a\0b", "-1", "+1", "a b", "a//b", ".",
        ] {
            assert!(selector(text).is_err(), "{text:?} was accepted");
        }
    }

    #[test]
    fn references_have_the_forms_of_the_contract() {
        let hex = "0".repeat(40);
        for text in [
            "main",
            "feature/x",
            "heads/main",
            "refs/heads/main",
            "main@v0007",
            "refs/heads/main@v0007",
            "HEAD",
            "0123abcd",
            "0123ABCD",
            &hex,
        ] {
            assert_eq!(reference(Some(text)).unwrap(), Some(text));
        }
        assert_eq!(reference(None).unwrap(), None);
        for text in [
            "a..b",
            "main@v7",
            "refs/main",
            "refs/heads/",
            "refs/heads/main@v7",
            "a b",
            "x~1",
            "-x",
        ] {
            assert!(reference(Some(text)).is_err(), "{text} was accepted");
        }
    }
}
