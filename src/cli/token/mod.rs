//! Read tokens from the command line.

pub(super) mod args;
mod list;
mod row;

use std::io::Read as _;

use serde::Serialize;

use crate::access;
use crate::access::{Account, Expiry, NewToken, TokenChange, TokenState, TokenView, Tokens};
use crate::base::clock::{Timestamp, parse_span_s};
use crate::base::secret::{SECRET_DIGITS, Secret};
use crate::cli::open_store::OpenStore;
use crate::cli::output;
use crate::cli::{Error, Result, Streams, names, user};
use args::{TokenCommand, TokenCreate, TokenUpdate};

/// The scope that covers all projects of the owner (contract section 6).
const ALL_REPOS: &str = "*";

/// A token with its value, with the names of the Admin API.
#[derive(Serialize)]
#[expect(non_snake_case, reason = "the specification's names")]
struct Shown<'a> {
    tokenId: &'a str,
    tokenString: &'a str,
    expires_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    earlier_until: Option<String>,
}

impl<'a> Shown<'a> {
    fn new(secret: &'a Secret, token: &'a TokenView) -> Self {
        let text = |at: Timestamp| at.to_string();
        Self {
            tokenId: &token.id,
            tokenString: secret.reveal(),
            expires_at: token.expires_at.map(text),
            earlier_until: token.earlier_until.map(text),
        }
    }
}

/// Runs one of the commands of `token`.
pub(super) fn run(
    command: TokenCommand,
    opened: &OpenStore,
    streams: &mut Streams<'_>,
) -> Result<()> {
    let tokens = Tokens::new(&opened.projects);
    match command {
        TokenCommand::Create(args) => create(args, opened, streams),
        TokenCommand::List(args) => list::list(&args, opened, streams),
        TokenCommand::Show { id, json } => {
            let owner = owner_of(&tokens, &id)?;
            let row = row::shown(tokens.by_id(&owner, &id)?, &owner);
            if json {
                output::write_json(streams.out, &row)
            } else {
                output::list(streams.out, false, &[row])
            }
        }
        TokenCommand::Update(args) => update(args, opened, streams),
        TokenCommand::Rotate { id, grace, json } => {
            rotate(&id, grace.as_deref(), json, opened, streams)
        }
        TokenCommand::Revoke { id } => {
            let owner = owner_of(&tokens, &id)?;
            tokens.revoke(&owner, &id, &opened.actor)?;
            streams.tell_change(format_args!("token {id} is revoked"))
        }
    }
}

/// Prints the token alone, so that a script can take it.
fn create(args: TokenCreate, opened: &OpenStore, streams: &mut Streams<'_>) -> Result<()> {
    names::token(&args.name)?;
    let now = opened.projects.clock().now();
    let expiry = args.expires.as_deref().map(|text| parse_expiry(text, now));
    let expires_at = match expiry.transpose()? {
        Some(Expiry::At(end)) => Some(end),
        Some(Expiry::Never) | None => None,
    };
    let account = opened.accounts.by_name(&args.user)?;
    require_readable(&args.repos, &account, opened)?;
    let new = NewToken {
        name: args.name,
        repos: if args.all {
            vec![ALL_REPOS.to_owned()]
        } else {
            args.repos
        },
        expires_at,
        fingerprint_required: args.fingerprint,
    };
    let tokens = Tokens::new(&opened.projects);
    let actor = &opened.actor;
    let made = if args.value_stdin {
        let secret = read_value(streams)?;
        let made = tokens.create_with(&account, new, &secret, actor)?;
        // Who gave the value has it.
        if args.json {
            let told = output::write_json(streams.out, &row::shown(made.clone(), &account));
            output::of_change(told, streams.out, None)?;
        } else {
            streams.tell_change(format_args!("token {} is made", made.id))?;
        }
        made
    } else {
        streams.require_out("the token")?;
        let (secret, made) = tokens.create(&account, new, actor)?;
        show(&secret, &made, args.json, streams).or_else(|e| {
            // A token that nobody has seen would only lie there.
            tokens.revoke(&account, &made.id, actor)?;
            Err(Error::Failed(format!(
                "writing the token: {e}; it is revoked again"
            )))
        })?;
        made
    };
    note_shut(&made, &account, streams)
}

fn update(args: TokenUpdate, opened: &OpenStore, streams: &mut Streams<'_>) -> Result<()> {
    args.name.as_deref().map_or(Ok(()), names::token)?;
    let tokens = Tokens::new(&opened.projects);
    let account = owner_of(&tokens, &args.id)?;
    require_readable(&args.repos, &account, opened)?;
    require_readable(&args.added, &account, opened)?;
    let repos = if args.all {
        vec![ALL_REPOS.to_owned()]
    } else {
        args.repos
    };
    if !args.added.is_empty() && tokens.by_id(&account, &args.id)?.repos == [ALL_REPOS] {
        return Err(Error::Failed(format!(
            "token {} covers every project of {}; name those it is to cover with --repo",
            args.id,
            account.name()
        )));
    }
    let now = opened.projects.clock().now();
    let expires_at = args.expires.as_deref().map(|text| parse_expiry(text, now));
    let change = TokenChange {
        name: args.name,
        repos: Some(repos).filter(|repos| !repos.is_empty()),
        added_repos: args.added,
        expires_at: expires_at.transpose()?,
        fingerprint_required: None,
        reset_fingerprint: args.reset_fingerprint,
    };
    let changed = tokens.change(&account, &args.id, &change, &opened.actor)?;
    streams.tell_change(format_args!("token {} is changed", args.id))?;
    note_shut(&changed, &account, streams)
}

fn rotate(
    id: &str,
    grace: Option<&str>,
    json: bool,
    opened: &OpenStore,
    streams: &mut Streams<'_>,
) -> Result<()> {
    let grace_s = grace.map_or(Ok(0), |text| {
        parse_span_s(text).ok_or_else(|| {
            Error::Usage(format!(
                "--grace \"{text}\" must be a length of time, as 7d or 12h"
            ))
        })
    })?;
    streams.require_out("the token")?;
    let tokens = Tokens::new(&opened.projects);
    let account = owner_of(&tokens, id)?;
    let (secret, token) = tokens.rotate(&account, id, grace_s, &opened.actor)?;
    show(&secret, &token, json, streams).map_err(|e| {
        Error::Failed(format!(
            "writing the token: {e}; it has a value that nobody has seen: rotate it again with \
             \"siteconf token rotate {id}\""
        ))
    })?;
    note_shut(&token, &account, streams)
}

/// Says on standard error why a token opens nothing, and what to do; of one that is open it says nothing.
fn note_shut(token: &TokenView, owner: &Account, streams: &mut Streams<'_>) -> Result<()> {
    if let (TokenState::Expired, Some(end)) = (token.state, token.expires_at) {
        let id = &token.id;
        streams.note(format_args!(
            "siteconf: token {id} has ended at {end}, and opens nothing; give it another end with \"siteconf token \
             update {id} --expires 30d\""
        ))?;
    }
    user::note_disabled(owner, "no token of it opens anything", streams)
}

fn show(
    secret: &Secret,
    token: &TokenView,
    json: bool,
    streams: &mut Streams<'_>,
) -> std::io::Result<()> {
    if json {
        serde_json::to_writer_pretty(&mut *streams.out, &Shown::new(secret, token))?;
        writeln!(streams.out)?;
    } else {
        writeln!(streams.out, "{}", secret.reveal())?;
    }
    streams.out.flush()
}

/// A value that somebody has already, alone on standard input.
fn read_value(streams: &mut Streams<'_>) -> Result<Secret> {
    let mut text = Vec::new();
    // A line's end may follow, and one byte too many is enough to refuse.
    let most = u64::try_from(SECRET_DIGITS + 3).expect("a small constant");
    let mut input = (&mut *streams.input).take(most);
    input
        .read_to_end(&mut text)
        .map_err(Error::file("reading the token from", "standard input"))?;
    Secret::parse(text.trim_ascii_end()).ok_or_else(|| {
        Error::Usage(format!(
            "the token on standard input must be {SECRET_DIGITS} hexadecimal digits in lower case, as \
             \"openssl rand -hex 32\" makes it"
        ))
    })
}

/// Refuses projects that are not there, and those that the account may not read, with what to do.
fn require_readable(repos: &[String], account: &Account, opened: &OpenStore) -> Result<()> {
    for repo_id in repos {
        let project = opened.project(&names::repo_id(repo_id)?)?;
        if !account.may_read(&project) {
            return Err(Error::Failed(lacks_role(account.name(), repo_id)));
        }
    }
    Ok(())
}

/// Says that an account may not read a project, and what to do.
pub(super) fn lacks_role(account: &str, repo_id: &str) -> String {
    format!(
        "{account} may not read {repo_id}; give it a role for that first, as with \"siteconf user role \
         add {account} ROLE_SITEBUILDER_USER__{repo_id}\""
    )
}

fn parse_expiry(text: &str, now: Timestamp) -> Result<Expiry> {
    if text == "never" {
        return Ok(Expiry::Never);
    }
    let end = Timestamp::parse_until(text, now).ok_or_else(|| {
        Error::Usage(format!(
            "--expires \"{text}\" must be how long from now, as 30d or 12h, or YYYY-MM-DD, midnight \
             UTC, or RFC 3339, as in 2027-01-31T10:00:00Z, or never"
        ))
    })?;
    Ok(Expiry::At(end))
}

/// The account that has this token. Ids are unique in the service.
fn owner_of(tokens: &Tokens, id: &str) -> Result<std::sync::Arc<Account>> {
    match tokens.owner_of(id) {
        Err(access::Error::NoSuchToken) => Err(Error::Failed(format!(
            "there is no token \"{id}\"; \"siteconf token list\" names all"
        ))),
        found => Ok(found?),
    }
}
