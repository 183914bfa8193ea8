//! Tokens that are wanted, listed.

use super::ALL_REPOS;
use super::args::TokenList;
use super::row;
use crate::access::{Account, TokenState, TokenView, Tokens};
use crate::base::clock::Timestamp;
use crate::cli::open_store::OpenStore;
use crate::cli::output;
use crate::cli::{Error, Result, Streams, names};
use crate::repo::Project;

/// Which tokens are wanted.
struct Filter {
    project: Option<Project>,
    ending_before: Option<Timestamp>,
    unused_since: Option<Timestamp>,
}

impl Filter {
    fn takes(&self, account: &Account, token: &TokenView) -> bool {
        let covers = |project: &Project| {
            if token.repos == [ALL_REPOS] {
                return project.owner() == account.number();
            }
            token
                .repos
                .iter()
                .any(|id| id == project.repo_id().as_str())
        };
        let ends = |before: Timestamp| {
            account.is_enabled()
                && token.state == TokenState::Active
                && token.expires_at.is_some_and(|at| at <= before)
        };
        let is_unused = |since: Timestamp| token.last_used_at.unwrap_or(token.created_at) < since;
        self.project.as_ref().is_none_or(covers)
            && self.ending_before.is_none_or(ends)
            && self.unused_since.is_none_or(is_unused)
    }
}

/// `token list`.
pub(super) fn list(args: &TokenList, opened: &OpenStore, streams: &mut Streams<'_>) -> Result<()> {
    let now = opened.projects.clock().now();
    let time = |flag, text: &Option<String>, read: fn(&str, Timestamp) -> Option<Timestamp>| {
        let read = |text: &String| {
            read(text, now).ok_or_else(|| {
                Error::Usage(format!(
                    "--{flag} \"{text}\" must be a length of time, as 30d or 12h, or YYYY-MM-DD, \
                     midnight UTC, or RFC 3339, as in 2027-01-31T10:00:00Z"
                ))
            })
        };
        text.as_ref().map(read).transpose()
    };
    let repo_id = args.repo.as_deref().map(names::repo_id).transpose()?;
    let filter = Filter {
        ending_before: time("expiring", &args.expiring, Timestamp::parse_until)?,
        unused_since: time("unused", &args.unused, Timestamp::parse_since)?,
        project: repo_id.map(|id| opened.project(&id)).transpose()?,
    };
    let accounts = match &args.user {
        Some(name) => vec![opened.accounts.by_name(name)?],
        None => opened.accounts.list()?,
    };
    let tokens = Tokens::new(&opened.projects);
    let mut rows = Vec::new();
    for account in &accounts {
        let mut wanted = tokens.list(account)?;
        wanted.retain(|token| filter.takes(account, token));
        rows.extend(wanted.into_iter().map(|token| row::shown(token, account)));
    }
    output::list(streams.out, args.json, &rows)
}
