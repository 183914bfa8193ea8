//! Which projects a token covers.

use serde::{Deserialize, Serialize};

use super::account::Account;
use super::error::{Error, Result};
use super::rights::permission::Permissions;
use crate::base::repo_id::RepoId;
use crate::repo;
use crate::repo::{Project, Projects};

/// The text of the wildcard in a token's `repos`.
const WILDCARD: &str = "*";
const ALONE: &str = "malformed repos: \"*\" covers all your projects and must stand alone";

/// What a request names a project by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProjectSelector {
    /// Its identifier.
    Id(RepoId),
    /// Its number.
    Number(u64),
    /// A text that can be neither: the project cannot exist.
    Unknown,
}

/// A token's scope (specification section 5.1).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Scope {
    /// All projects of the token's owner, those of the future too.
    Wildcard,
    /// These and no others.
    Allowlist(Vec<Listed>),
}

/// What a scope must know of a project.
pub(super) struct Found {
    pub(super) number: u64,
    /// Its owner, by number.
    pub(super) owner: u64,
    /// What it is called here.
    pub(super) repo_id: RepoId,
}

impl From<&Project> for Found {
    fn from(project: &Project) -> Self {
        Self {
            number: project.number(),
            owner: project.owner(),
            repo_id: project.repo_id().clone(),
        }
    }
}

/// A project of an allowlist. The number decides: another project that is later made under the same
/// name is not covered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Listed {
    project: u64,
    repo_id: String,
}

impl Scope {
    /// Reads the `repos` that an account wants to give to a token.
    ///
    /// # Errors
    /// [`Error::Invalid`] for `"*"` beside others, for more than `most` entries and for
    /// a project that does not exist; [`Error::Forbidden`] for one that the account may not read.
    pub(super) fn parse(
        repos: &[String],
        account: &Account,
        projects: &Projects,
        most: u64,
    ) -> Result<Self> {
        Self::parse_by(repos, account, most, |id| {
            let project = find(projects, &ProjectSelector::Id(id.clone()))?;
            Ok(project.map(|project| Found::from(&project)))
        })
    }

    /// As [`Scope::parse`], with projects that `find` finds by what they are called there.
    pub(super) fn parse_by(
        repos: &[String],
        account: &Account,
        most: u64,
        find: impl Fn(&RepoId) -> Result<Option<Found>>,
    ) -> Result<Self> {
        if repos.iter().any(|repo| repo == WILDCARD) {
            if repos.len() == 1 {
                return Ok(Self::Wildcard);
            }
            return Err(Error::invalid(ALONE));
        }
        check_length(repos.len(), most)?;
        let mut listed = Vec::with_capacity(repos.len());
        for text in repos {
            let id = RepoId::parse(text).map_err(|refused| {
                Error::invalid(format!("malformed repos: {}", refused.reason))
            })?;
            let Some(project) = find(&id)? else {
                return Err(Error::invalid(format!(
                    "malformed repos: there is no project \"{text}\""
                )));
            };
            if !account.may_at(Permissions::VIEW, project.owner, &project.repo_id) {
                return Err(Error::no_role(&account.name));
            }
            let entry = Listed {
                project: project.number,
                repo_id: id.to_string(),
            };
            if !listed.contains(&entry) {
                listed.push(entry);
            }
        }
        Ok(Self::Allowlist(listed))
    }

    /// Adds the projects of another allowlist.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a wildcard on either side, and for more than `most` entries then.
    pub(super) fn extend(&mut self, added: &Self, most: u64) -> Result<()> {
        let (Self::Allowlist(listed), Self::Allowlist(added)) = (self, added) else {
            return Err(Error::invalid(ALONE));
        };
        for entry in added {
            if !listed.iter().any(|known| known.project == entry.project) {
                listed.push(entry.clone());
            }
        }
        check_length(listed.len(), most)
    }

    /// True if the scope of this owner's token covers the project.
    pub(super) fn covers(&self, owner: u64, project: &Project) -> bool {
        match self {
            Self::Wildcard => project.owner() == owner,
            Self::Allowlist(listed) => listed.iter().any(|entry| entry.project == project.number()),
        }
    }

    /// True if the token's holder may learn that what was asked for does not exist. With an allowlist
    /// that is what it names; everything else is refused alike, whether or not it exists: also the name
    /// that a project had before it was renamed.
    pub(super) fn may_learn_absence(
        &self,
        selector: &ProjectSelector,
        projects: &Projects,
    ) -> Result<bool> {
        let Self::Allowlist(listed) = self else {
            return Ok(true);
        };
        let named = listed.iter().filter(|entry| match selector {
            ProjectSelector::Id(id) => entry.repo_id == id.as_str(),
            ProjectSelector::Number(number) => entry.project == *number,
            ProjectSelector::Unknown => false,
        });
        for entry in named {
            if find(projects, &ProjectSelector::Number(entry.project))?.is_none() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The scope as `repos` again, for a token of this owner. A project that came back under another name is told by
    /// that one; one that is deleted, cannot be read, or may not be read by the owner any more, by the name under
    /// which it was listed.
    pub(super) fn to_repos(&self, owner: &Account, projects: &Projects) -> Vec<String> {
        let told = |entry: &Listed| match projects.project_by_number(entry.project) {
            Ok(project) if owner.may_read(&project) => project.repo_id().to_string(),
            _ => entry.repo_id.clone(),
        };
        match self {
            Self::Wildcard => vec![WILDCARD.to_owned()],
            Self::Allowlist(listed) => listed.iter().map(told).collect(),
        }
    }

    /// The same for one of the projects that it covers, with nothing of the others.
    pub(super) fn to_repos_within(&self, project: &Project) -> Vec<String> {
        vec![match self {
            Self::Wildcard => WILDCARD.to_owned(),
            Self::Allowlist(_) => project.repo_id().to_string(),
        }]
    }

    /// How many projects it names.
    pub(super) fn listed(&self) -> usize {
        match self {
            Self::Wildcard => 0,
            Self::Allowlist(listed) => listed.len(),
        }
    }
}

fn check_length(entries: usize, most: u64) -> Result<()> {
    if entries as u64 > most {
        return Err(Error::invalid(format!(
            "malformed repos: it must have at most {most} entries"
        )));
    }
    Ok(())
}

/// The project, `None` if there is none.
pub(super) fn find(projects: &Projects, selector: &ProjectSelector) -> Result<Option<Project>> {
    let found = match selector {
        ProjectSelector::Id(id) => projects.project(id),
        ProjectSelector::Number(number) => projects.project_by_number(*number),
        ProjectSelector::Unknown => return Ok(None),
    };
    match found {
        Ok(project) => Ok(Some(project)),
        Err(repo::Error::NotFound { .. }) => Ok(None),
        Err(failed) => Err(failed.into()),
    }
}
