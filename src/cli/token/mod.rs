//! Read tokens from the command line.

pub(super) mod args;

use std::sync::Arc;

use serde::Serialize;

use crate::access;
use crate::access::{Account, NewToken, TokenView, Tokens};
use crate::base::clock::Timestamp;
use crate::cli::opened::Opened;
use crate::cli::output;
use crate::cli::output::Listed;
use crate::cli::{Error, Result, Streams};
use args::{TokenCommand, TokenCreate};

/// The scope that covers all projects of the owner (contract section 6).
const ALL_REPOS: &str = "*";

/// A token as it is listed, with the names of the Admin API.
#[derive(Serialize)]
#[expect(non_snake_case, reason = "the specification's name")]
struct Row {
    tokenId: String,
    name: String,
    owner: String,
    repos: Vec<String>,
    expires_at: Option<String>,
    fingerprint_required: bool,
    fingerprint_bound: bool,
    suffix: String,
    created_at: String,
    last_used_at: Option<String>,
    state: String,
}

impl From<TokenView> for Row {
    fn from(token: TokenView) -> Self {
        let text = |at: Timestamp| at.to_string();
        Self {
            tokenId: token.id,
            name: token.name,
            owner: token.owner,
            repos: token.repos,
            expires_at: token.expires_at.map(text),
            fingerprint_required: token.fingerprint_required,
            fingerprint_bound: token.fingerprint_bound,
            suffix: token.suffix,
            created_at: text(token.created_at),
            last_used_at: token.last_used_at.map(text),
            state: token.state.to_string(),
        }
    }
}

impl Listed for Row {
    const HEADINGS: &'static [&'static str] = &[
        "ID",
        "OWNER",
        "NAME",
        "ENDS IN",
        "STATE",
        "EXPIRES",
        "LAST USED",
        "INSTANCE",
        "REPOS",
    ];

    fn cells(&self) -> Vec<String> {
        let instance = match (self.fingerprint_required, self.fingerprint_bound) {
            (false, _) => "any",
            (true, false) => "the first",
            (true, true) => "bound",
        };
        vec![
            self.tokenId.clone(),
            self.owner.clone(),
            self.name.clone(),
            self.suffix.clone(),
            self.state.clone(),
            self.expires_at
                .clone()
                .unwrap_or_else(|| "never".to_owned()),
            self.last_used_at
                .clone()
                .unwrap_or_else(|| "never".to_owned()),
            instance.to_owned(),
            self.repos.join(" "),
        ]
    }
}

/// Runs one of the commands of `token`.
pub(super) fn run(command: TokenCommand, opened: &Opened, streams: &mut Streams<'_>) -> Result<()> {
    match command {
        TokenCommand::Create(wish) => create(wish, opened, streams),
        TokenCommand::List { user, json } => {
            let tokens = Tokens::new(&opened.repository);
            let accounts = match user {
                Some(name) => vec![opened.accounts.by_name(&name)?],
                None => opened.accounts.list()?,
            };
            let mut rows = Vec::new();
            for account in &accounts {
                rows.extend(tokens.list(account)?.into_iter().map(Row::from));
            }
            output::list(streams.out, json, &rows)
        }
        TokenCommand::Revoke { id } => {
            let tokens = Tokens::new(&opened.repository);
            let owner = owner_of(&tokens, opened, &id)?;
            Ok(tokens.revoke(&owner, &id, &opened.actor)?)
        }
    }
}

/// Prints the token alone, so that a script can take it.
fn create(wish: TokenCreate, opened: &Opened, streams: &mut Streams<'_>) -> Result<()> {
    let expires_at = wish.expires.as_deref().map(parse_time).transpose()?;
    let account = opened.accounts.by_name(&wish.user)?;
    let new = NewToken {
        name: wish.name,
        repos: if wish.all {
            vec![ALL_REPOS.to_owned()]
        } else {
            wish.repos
        },
        expires_at,
        fingerprint_required: wish.fingerprint,
    };
    let tokens = Tokens::new(&opened.repository);
    let repos = new.repos.join(", ");
    let (secret, made) = tokens.create(&account, new, &opened.actor).map_err(|e| match e {
        access::Error::Forbidden(_) => Error::Failed(format!(
            "{0} may not read all of {repos}; give a role first, as in \"siteconf user role add {0} \
             ROLE_SITEBUILDER_USER__<prefix>\"",
            account.name()
        )),
        other => other.into(),
    })?;
    let shown = writeln!(streams.out, "{}", secret.reveal()).and_then(|()| streams.out.flush());
    if let Err(e) = shown {
        // A token that nobody has seen would only lie there.
        tokens.revoke(&account, &made.id, &opened.actor)?;
        let reason = format!("writing the token: {e}; it is revoked again");
        return Err(Error::Failed(reason));
    }
    Ok(())
}

fn parse_time(text: &str) -> Result<Timestamp> {
    Timestamp::parse(text).ok_or_else(|| {
        Error::Usage(format!(
            "--expires \"{text}\" must be YYYY-MM-DD, midnight UTC, or RFC 3339, as in 2027-01-31T10:00:00Z"
        ))
    })
}

/// The account that has this token. Ids are unique in the service.
fn owner_of(tokens: &Tokens, opened: &Opened, id: &str) -> Result<Arc<Account>> {
    for account in opened.accounts.list()? {
        if tokens.list(&account)?.iter().any(|token| token.id == id) {
            return Ok(account);
        }
    }
    Err(Error::Failed(format!("there is no token \"{id}\"")))
}
