//! Tokens in lists: found first, and shown one by one.

use std::collections::HashMap;
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
    /// Held so that all who make lists of one account's tokens at the same time share them.
    _shared: Option<Folder>,
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
}

/// Tokens of all accounts, as far as who asked for them may see them: all, or those that open a project. They are
/// read when they are listed.
#[derive(Debug)]
pub struct TokensOfAll {
    tokens: Tokens,
    project: Option<Project>,
}

impl TokensOfAll {
    /// All of them, or those that open this project.
    pub(in crate::access) fn new(tokens: &Tokens, project: Option<Project>) -> Self {
        Self {
            tokens: tokens.clone(),
            project,
        }
    }

    /// How many tokens are read for the list, at most: as many as were ever made.
    pub fn read_at_most(&self) -> Result<u64> {
        self.tokens.made()
    }

    /// The tokens, in the order in which they were made. Those of a project open it now but for their expiry, and say
    /// nothing of other projects.
    ///
    /// # Limits
    /// The tokens of all accounts are read, past what memory keeps.
    pub fn list(&self) -> Result<Vec<ListedToken>> {
        let tokens = &self.tokens;
        tokens.background.flush(keys::TOKENS);
        let accounts = tokens.accounts.list()?.into_iter();
        let owners: HashMap<_, _> = accounts.map(|owner| (owner.number, owner)).collect();
        let opens = |owner: &Account, token: &Token| {
            self.project.as_ref().is_none_or(|project| {
                owner.enabled
                    && token.scope.covers(owner.number, project)
                    && owner.may_read(project)
            })
        };
        let mut listed = Vec::new();
        tokens.records.each(keys::TOKENS, |token: Arc<Token>| {
            if let Some(owner) = owners.get(&token.account)
                && opens(owner, &token)
            {
                listed.push(ListedToken {
                    owner: Arc::clone(owner),
                    token,
                    project: self.project.clone(),
                    _shared: None,
                });
            }
        })?;
        listed.sort_by_key(ListedToken::number);
        Ok(listed)
    }
}

impl Tokens {
    /// The tokens of an account, expired ones too, in the order in which they were made.
    pub fn listed(&self, account: &Account) -> Result<Vec<ListedToken>> {
        // What is about to be noted is shown.
        self.background.flush(&keys::tokens(account.number));
        let owner = Arc::new(account.clone());
        let folder = self.records.folder(&keys::tokens(account.number))?;
        let listed = folder.iter().map(|record| {
            Ok(ListedToken {
                owner: Arc::clone(&owner),
                token: record.decode()?.value,
                project: None,
                _shared: Some(Arc::clone(&folder)),
            })
        });
        listed.collect()
    }

    /// The same, with all that is shown of them.
    pub fn list(&self, account: &Account) -> Result<Vec<TokenView>> {
        let listed = self.listed(account)?;
        Ok(listed.iter().map(|token| self.shown(token)).collect())
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
}
