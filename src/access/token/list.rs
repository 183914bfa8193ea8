//! Tokens in lists: found first, and shown one by one.

use std::sync::Arc;

use super::{Token, TokenView};
use crate::access::account::Account;
use crate::access::error::Result;
use crate::access::keys;
use crate::access::tokens::Tokens;
use crate::repo::Project;
use crate::store::Folder;

/// A token of a list. It shares what memory has of the token; what is shown of it is made on request.
#[derive(Clone, Debug)]
pub struct ListedToken {
    owner: Arc<Account>,
    token: Arc<Token>,
    /// The project that the list is of.
    project: Option<Project>,
    /// Held so that all who make lists of the same tokens at the same time share them.
    _shared: Folder,
}

impl ListedToken {
    /// Its number. A list rises by it.
    pub fn number(&self) -> u64 {
        self.token.number
    }

    /// How many projects are told of it.
    pub fn projects(&self) -> usize {
        match &self.project {
            Some(_) => 1,
            None => self.token.scope.listed(),
        }
    }

    /// The same token in the list of a project, where it says nothing of others.
    pub(in crate::access) fn of(self, project: &Project) -> Self {
        let project = Some(project.clone());
        Self { project, ..self }
    }
}

impl Tokens {
    /// The tokens of an account, expired ones too, in the order in which they were made.
    pub fn listed(&self, account: &Account) -> Result<Vec<ListedToken>> {
        // What is about to be noted is shown.
        self.background.flush(&keys::tokens(account.number));
        self.listed_where(&Arc::new(account.clone()), |_| true)
    }

    /// The same, with all that is shown of them.
    pub fn list(&self, account: &Account) -> Result<Vec<TokenView>> {
        let listed = self.listed(account)?;
        Ok(listed.iter().map(|token| self.shown(token)).collect())
    }

    /// Those tokens of all accounts that are `wanted`, in the order in which they were made.
    pub(in crate::access) fn listed_of_all(
        &self,
        wanted: impl Fn(&Account, &Token) -> bool,
    ) -> Result<Vec<ListedToken>> {
        self.background.flush(keys::TOKENS);
        let mut listed = Vec::new();
        for account in self.accounts.list()? {
            listed.extend(self.listed_where(&account, |token| wanted(&account, token))?);
        }
        listed.sort_by_key(ListedToken::number);
        Ok(listed)
    }

    /// What is shown of a token in its list.
    pub(in crate::access) fn shown(&self, listed: &ListedToken) -> TokenView {
        let ListedToken {
            owner,
            token,
            project,
            ..
        } = listed;
        match project {
            None => self.view(owner, token),
            Some(project) => token.view_with(
                owner,
                token.scope.to_repos_within(project),
                self.clock.now(),
            ),
        }
    }

    fn listed_where(
        &self,
        owner: &Arc<Account>,
        wanted: impl Fn(&Token) -> bool,
    ) -> Result<Vec<ListedToken>> {
        let folder = self.records.folder(&keys::tokens(owner.number))?;
        let mut listed = Vec::new();
        for record in folder.iter() {
            let token = record.decode()?.value;
            if wanted(&token) {
                listed.push(ListedToken {
                    owner: Arc::clone(owner),
                    token,
                    project: None,
                    _shared: Arc::clone(&folder),
                });
            }
        }
        Ok(listed)
    }
}
