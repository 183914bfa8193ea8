//! Bringing tokens, or saying which would be brought.

use super::Migration;
use super::report::{Done, Kind};
use super::tokens::{State, TokenLine};
use crate::access;
use crate::access::{Account, Brought, Ended, OldToken, Permissions, Planned, Tokens};
use crate::base::repo_id::RepoId;
use crate::cli::Result;
use crate::cli::token::lacks_role;
use crate::repo::Execution;

/// Whose token it is, where that is nobody who can be.
const NO_ACCOUNT: &str = "there is no account for its owner";

impl Migration<'_> {
    /// Brings a token, or what changed of it.
    pub(super) fn token(&mut self, at: &str, line: &TokenLine, old: &OldToken) -> Result<()> {
        let outcome = if line.state == State::Revoked {
            self.end_token(line, old)?
        } else {
            self.bring_token(line, old)?
        };
        match outcome {
            Ok(done) => {
                let shown = format!("\"{}\" of {}", line.name, line.owner);
                self.report.step(done, Kind::Token, shown, 0);
            }
            Err(reason) => self.report.find(at, &reason),
        }
        Ok(())
    }

    /// Ends a token that is revoked there; nothing is made for it.
    fn end_token(
        &self,
        line: &TokenLine,
        old: &OldToken,
    ) -> Result<std::result::Result<Done, String>> {
        let Some(account) = self.known_account(&line.owner)? else {
            return Ok(Ok(Done::Unchanged));
        };
        let tokens = Tokens::new(&self.opened.projects);
        let execution = Execution::of(self.dry_run);
        let ended = tokens.end(&account, old.digest, &self.opened.actor, execution)?;
        let stays = |why: &str, id: &str| {
            format!("it is revoked there, and {why}: \"siteconf token revoke {id}\" ends it")
        };
        Ok(match ended {
            Ended::Absent => Ok(Done::Unchanged),
            Ended::Revoked => Ok(Done::Revoked),
            Ended::OfAnother => Err("it belongs to another account here".to_owned()),
            Ended::Rotated(id) => Err(stays("has another value here", &id)),
            Ended::Changed(id) => Err(stays("was changed here since it came", &id)),
        })
    }

    fn bring_token(
        &mut self,
        line: &TokenLine,
        old: &OldToken,
    ) -> Result<std::result::Result<Done, String>> {
        let owner = line.owner.as_str();
        let is_met = self.accounts.contains_key(owner) || self.owners.has(owner);
        if !is_met && self.known_account(owner)?.is_none() {
            return Ok(Err(format!(
                "\"{owner}\" owns nothing in the tree; name it in the owner map"
            )));
        }
        let Some(account) = self.account(owner)? else {
            return Ok(Err(NO_ACCOUNT.to_owned()));
        };
        let tokens = Tokens::new(&self.opened.projects);
        let actor = &self.opened.actor;
        let brought = if self.dry_run {
            let held = self.tokens_of(&account)?;
            let owner = |id: &RepoId| self.planned_owner(id);
            let planned = Planned {
                owner: &owner,
                tokens: held,
            };
            let brought = tokens.bring(&account, old, actor, Some(planned));
            if matches!(brought, Ok(Brought::Made)) {
                self.token_counts.insert(account.number(), held + 1);
            }
            brought
        } else {
            tokens.bring(&account, old, actor, None)
        };
        Ok(match brought {
            Ok(Brought::Made) => Ok(Done::Made),
            Ok(Brought::Changed) => Ok(Done::Changed),
            Ok(Brought::Unchanged) => Ok(Done::Unchanged),
            Err(access::Error::Invalid { reason }) => Err(reason),
            Err(access::Error::Forbidden(_)) => {
                let repo_id = self.unreadable(&account, &line.repos)?;
                Err(lacks_role(account.name(), &repo_id))
            }
            Err(failed) => return Err(failed.into()),
        })
    }

    /// What the first of these projects of the tree is called here that an account may not read.
    fn unreadable(&self, account: &Account, repos: &[String]) -> Result<String> {
        for repo in repos {
            let Ok(id) = RepoId::parse(repo) else {
                continue;
            };
            let found = self.opened.projects.project_from(&id)?;
            let found = found.map(|found| (found.owner(), found.repo_id().clone()));
            let planned = || Some((self.planned_owner(&id)?, id.clone()));
            if let Some((owner, repo_id)) = found.or_else(planned)
                && !account.may_at(Permissions::VIEW, owner, &repo_id)
            {
                return Ok(repo_id.to_string());
            }
        }
        Ok(repos.join(", "))
    }

    /// How many tokens an account would have by now.
    fn tokens_of(&self, account: &Account) -> Result<usize> {
        if let Some(count) = self.token_counts.get(&account.number()) {
            return Ok(*count);
        }
        Ok(Tokens::new(&self.opened.projects).list(account)?.len())
    }

    /// The number of the account that would own a project of the tree by now.
    fn planned_owner(&self, id: &RepoId) -> Option<u64> {
        let owner = self.planned.get(id)?.as_ref()?;
        let account = self.accounts.get(owner)?.as_ref()?;
        Some(account.number())
    }
}
