//! Which projects a token covers.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::access::account::Account;
use crate::access::error::{Error, Result};
use crate::access::rights::permission::Permissions;
use crate::base::repo_id::RepoId;
use crate::repo;
use crate::repo::{DeletedId, Project, Projects};

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
pub(in crate::access) enum Scope {
    /// All projects of the token's owner, those of the future too.
    Wildcard,
    /// These and no others.
    Allowlist(Vec<Listed>),
}

/// What a scope must know of a project.
pub(in crate::access) struct Found {
    pub(in crate::access) number: u64,
    /// Its owner, by number.
    pub(in crate::access) owner: u64,
    /// What it is called here.
    pub(in crate::access) repo_id: RepoId,
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
pub(in crate::access) struct Listed {
    project: u64,
    repo_id: String,
}

impl Scope {
    /// Reads the `repos` that an account wants to give to a token.
    ///
    /// # Errors
    /// [`Error::Invalid`] for `"*"` beside others, for more than `most` entries and for
    /// a project that does not exist; [`Error::Forbidden`] for one that the account may not read.
    pub(in crate::access) fn parse(
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

    /// As [`Scope::parse`], with projects that `found` finds by what they are called there.
    pub(in crate::access) fn parse_by(
        repos: &[String],
        account: &Account,
        most: u64,
        found: impl Fn(&RepoId) -> Result<Option<Found>>,
    ) -> Result<Self> {
        Self::parse_each(repos, most, |id| Listed::new(id, found(id)?, account))
    }

    /// As [`Scope::parse`], in place of this scope of the owner's token. What it lists stays listed under the name
    /// that is told of it, also where it is deleted, or the owner may not read it any more.
    ///
    /// # Errors
    /// As [`Scope::parse`]; [`Error::Invalid`] for a name that was that of a project on the list, and is another's.
    pub(in crate::access) fn parse_again(
        &self,
        repos: &[String],
        owner: &Account,
        projects: &Projects,
        most: u64,
    ) -> Result<Self> {
        let listed = match self {
            Self::Wildcard => &[][..],
            Self::Allowlist(listed) => listed,
        };
        Self::parse_each(repos, most, |id| {
            let found = find(projects, &ProjectSelector::Id(id.clone()))?;
            let found = found.map(|project| Found::from(&project));
            let is_called = |entry: &&Listed| entry.name(owner, projects) == id.as_str();
            let is_found =
                |entry: &&Listed| found.as_ref().is_some_and(|p| p.number == entry.project);
            if let Some(entry) = listed.iter().filter(is_found).find(is_called) {
                return Ok(Listed {
                    project: entry.project,
                    repo_id: id.to_string(),
                });
            }
            match listed.iter().find(is_called) {
                None => Listed::new(id, found, owner),
                Some(entry) if found.is_none() => Ok(entry.clone()),
                Some(_) => Err(Error::invalid(format!(
                    "malformed repos: the token lists a project that was \"{id}\", and another has this name now: \
                     save the token without it first, and then with it"
                ))),
            }
        })
    }

    fn parse_each(
        repos: &[String],
        most: u64,
        entry: impl Fn(&RepoId) -> Result<Listed>,
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
            let entry = entry(&id)?;
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
    pub(in crate::access) fn extend(&mut self, added: &Self, most: u64) -> Result<()> {
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
    pub(in crate::access) fn covers(&self, owner: u64, project: &Project) -> bool {
        match self {
            Self::Wildcard => project.owner() == owner,
            Self::Allowlist(listed) => listed.iter().any(|entry| entry.project == project.number()),
        }
    }

    /// The projects that it names and that are there, each once; `None` for the wildcard, which names none.
    pub(in crate::access) fn named(&self, projects: &Projects) -> Result<Option<Vec<Project>>> {
        let Self::Allowlist(listed) = self else {
            return Ok(None);
        };
        // A project may be on the list under several names.
        let numbers: BTreeSet<_> = listed.iter().map(|entry| entry.project).collect();
        let found = numbers
            .into_iter()
            .map(|number| find(projects, &ProjectSelector::Number(number)));
        Ok(Some(
            found.filter_map(Result::transpose).collect::<Result<_>>()?,
        ))
    }

    /// True if the token's holder may learn that what was asked for does not exist. With an allowlist
    /// that is what it names; everything else is refused alike, whether or not it exists: also the name
    /// that a project had before it was renamed.
    pub(in crate::access) fn may_learn_absence(
        &self,
        selector: &ProjectSelector,
        owner: &Account,
        projects: &Projects,
    ) -> Result<bool> {
        let Self::Allowlist(listed) = self else {
            return Ok(true);
        };
        let is_gone = |number| -> Result<bool> {
            Ok(find(projects, &ProjectSelector::Number(number))?.is_none())
        };
        match selector {
            ProjectSelector::Id(id) => {
                for entry in listed {
                    // Of those that are there nobody needs the name.
                    if is_gone(entry.project)? && entry.name(owner, projects) == id.as_str() {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            ProjectSelector::Number(number) => {
                let is_listed = listed.iter().any(|entry| entry.project == *number);
                Ok(is_listed && is_gone(*number)?)
            }
            ProjectSelector::Unknown => Ok(false),
        }
    }

    /// The scope as `repos` again, for a token of this owner. A name that another project has by now is left out,
    /// for the token does not cover that project.
    pub(in crate::access) fn to_repos(&self, owner: &Account, projects: &Projects) -> Vec<String> {
        match self {
            Self::Wildcard => vec![WILDCARD.to_owned()],
            Self::Allowlist(listed) => {
                let names = listed
                    .iter()
                    .filter_map(|entry| entry.told_name(owner, projects));
                names.collect()
            }
        }
    }

    /// The same for one of the projects that it covers, with nothing of the others.
    pub(in crate::access) fn to_repos_within(&self, project: &Project) -> Vec<String> {
        vec![match self {
            Self::Wildcard => WILDCARD.to_owned(),
            Self::Allowlist(_) => project.repo_id().to_string(),
        }]
    }

    /// How many projects it names.
    pub(in crate::access) fn listed(&self) -> usize {
        match self {
            Self::Wildcard => 0,
            Self::Allowlist(listed) => listed.len(),
        }
    }
}

impl Listed {
    /// A project that an account wants to have listed.
    fn new(id: &RepoId, found: Option<Found>, account: &Account) -> Result<Self> {
        let Some(project) = found else {
            return Err(Error::invalid(format!(
                "malformed repos: there is no project \"{id}\""
            )));
        };
        if !account.may_at(Permissions::VIEW, project.owner, &project.repo_id) {
            return Err(Error::no_role(&account.name));
        }
        Ok(Self {
            project: project.number,
            repo_id: id.to_string(),
        })
    }

    /// What the project is called, or was before it was deleted, to the owner of the token. Of one that cannot be read,
    /// or may not be read by the owner any more, the name under which it was listed.
    fn name(&self, owner: &Account, projects: &Projects) -> String {
        self.name_here(owner, projects)
            .unwrap_or_else(|| self.former_name(owner, projects))
    }

    /// The same as it is told of the token: `None` where another project has the name now, which the token does not
    /// cover.
    fn told_name(&self, owner: &Account, projects: &Projects) -> Option<String> {
        self.name_here(owner, projects).or_else(|| {
            let former = self.former_name(owner, projects);
            let named = RepoId::parse(&former).ok();
            let named = named.and_then(|id| projects.project(&id).ok());
            let is_of_another = named.is_some_and(|named| named.number() != self.project);
            (!is_of_another).then_some(former)
        })
    }

    /// What the project is called, where it is there and the owner of the token may read it.
    fn name_here(&self, owner: &Account, projects: &Projects) -> Option<String> {
        let project = projects.project_by_number(self.project).ok()?;
        name_for(owner, &Found::from(&project))
    }

    /// The name that is left of a project which is not there for the owner of the token.
    fn former_name(&self, owner: &Account, projects: &Projects) -> String {
        let deleted = projects.deleted_by_id(DeletedId::Project(self.project));
        let deleted = deleted.ok().map(|deleted| Found {
            number: self.project,
            owner: deleted.owner(),
            repo_id: deleted.repo_id().clone(),
        });
        deleted
            .and_then(|deleted| name_for(owner, &deleted))
            .unwrap_or_else(|| self.repo_id.clone())
    }
}

/// What a project is called, for an account that may read it.
fn name_for(account: &Account, project: &Found) -> Option<String> {
    let may_read = account.may_at(Permissions::VIEW, project.owner, &project.repo_id);
    may_read.then(|| project.repo_id.to_string())
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
pub(in crate::access) fn find(
    projects: &Projects,
    selector: &ProjectSelector,
) -> Result<Option<Project>> {
    let found = match selector {
        ProjectSelector::Id(id) => projects.project(id),
        ProjectSelector::Number(number) => projects.project_by_number(*number),
        ProjectSelector::Unknown => return Ok(None),
    };
    Ok(repo::optional(found)?)
}
