//! The audit log on the command line, oldest first.

use std::io;
use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Args;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use signal_hook::consts::SIGINT;
use signal_hook::flag;

use crate::access;
use crate::access::UNKNOWN_ACCOUNT;
use crate::base::actor::Actor;
use crate::base::clock::Timestamp;
use crate::cli::open_store::OpenStore;
use crate::cli::output::{quoted, visible};
use crate::cli::{Error, Outcome, Result, Streams, names};
use crate::repo;
use crate::repo::audit::{Entry, Filter, Shown};

/// How long nothing is looked for after nothing was found.
const PAUSE: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 250_000_000,
};

#[derive(Debug, Args)]
pub(in crate::cli) struct Audit {
    /// Only since then: RFC 3339, YYYY-MM-DD, midnight UTC, or how long ago, as 30d or 12h
    #[arg(long, value_name = "WHEN")]
    pub(in crate::cli) since: Option<String>,
    /// Only what this account did, or what was done to it; it may be removed
    #[arg(long, value_name = "NAME")]
    pub(in crate::cli) user: Option<String>,
    /// Only what was done to this project; it may be deleted
    #[arg(long, value_name = "ID")]
    pub(in crate::cli) project: Option<String>,
    /// As JSON, a line each
    #[arg(long)]
    pub(in crate::cli) json: bool,
    /// Go on with what comes, until Ctrl-C
    #[arg(long)]
    pub(in crate::cli) follow: bool,
}

/// `audit`. Nothing is held of what was shown, however long the log is.
pub(super) fn run(args: Audit, opened: &OpenStore, streams: &mut Streams<'_>) -> Result<Outcome> {
    let projects = &opened.projects;
    let since = args.since.as_deref().map(|text| {
        Timestamp::parse_since(text, projects.clock().now()).ok_or_else(|| {
            Error::Usage(format!(
                "--since \"{text}\" must be YYYY-MM-DD, midnight UTC, RFC 3339, as in \
                 2027-01-31T10:00:00Z, or how long ago, as 30d or 12h"
            ))
        })
    });
    let filter = Filter {
        since: since.transpose()?,
        user: args.user,
        project: args.project,
    };
    check(&filter, opened)?;
    let interrupted = Arc::new(AtomicBool::new(false));
    if args.follow {
        flag::register(SIGINT, Arc::clone(&interrupted))
            .map_err(|e| Error::Failed(format!("watching for Ctrl-C: {e}")))?;
    }
    if !args.json {
        let heading = ["TIME", "ACTION", "BY", "FROM", "WHAT"].map(str::to_owned);
        writeln!(streams.out, "{}", aligned(&heading))?;
    }
    let mut place = None;
    // Until something is shown, or the first end of the log is reached.
    let mut is_empty = true;
    loop {
        let chunk = projects.audit_after(place, filter.since)?;
        let wanted = |entry: &&Entry| filter.takes(&entry.record);
        for entry in chunk.entries.iter().filter(wanted) {
            is_empty = false;
            if args.json {
                // Only writing can fail.
                serde_json::to_writer(&mut *streams.out, &Shown::new(entry))
                    .map_err(io::Error::from)?;
                writeln!(streams.out)?;
            } else {
                writeln!(streams.out, "{}", aligned(&cells(entry)))?;
            }
        }
        place = chunk.place;
        if interrupted.load(Ordering::Relaxed) {
            return Ok(Outcome::Interrupted);
        }
        if !chunk.is_last {
            continue;
        }
        if mem::take(&mut is_empty) {
            tell_absent(&filter, opened, streams)?;
        }
        streams.out.flush()?;
        if !args.follow || reader_has_left()? {
            return Ok(Outcome::Fine);
        }
        if interrupted.load(Ordering::Relaxed) {
            return Ok(Outcome::Interrupted);
        }
    }
}

/// Refuses what can be no name, such as a variable that is not set: the log would seem to say that nothing has
/// happened. The names of removed accounts and of deleted projects are taken.
///
/// # Errors
/// [`Error::Usage`].
fn check(filter: &Filter, opened: &OpenStore) -> Result<()> {
    if let Some(user) = &filter.user {
        let name = name_in(user);
        if !is_no_account(name, opened) {
            names::account(name)?;
        }
    }
    if let Some(project) = &filter.project {
        names::repo_id(project)?;
    }
    Ok(())
}

/// The name in what the log has under `BY`, which may go on with the system's user, as in `ann (command line: root)`.
fn name_in(by: &str) -> &str {
    let parts = by.split_once(" (").filter(|(_, user)| user.ends_with(')'));
    parts.map_or(by, |(name, _)| name)
}

/// True for those whom the log names and who have no account: commands, the service, and who is not known.
fn is_no_account(name: &str, opened: &OpenStore) -> bool {
    [
        opened.actor.name(),
        Actor::service().name(),
        UNKNOWN_ACCOUNT,
    ]
    .contains(&name)
}

/// Where no record is shown, says which account or project is not there either: its name may be mistyped.
fn tell_absent(filter: &Filter, opened: &OpenStore, streams: &mut Streams<'_>) -> Result<()> {
    let (mut about, mut absent) = (Vec::new(), Vec::new());
    if let Some(user) = &filter.user {
        about.push(format!("the user {}", quoted(user)));
        let name = name_in(user);
        if !is_no_account(name, opened) {
            match opened.accounts.by_name(name) {
                Err(access::Error::NoSuchAccount { .. }) => absent.push("no such account"),
                found => drop(found?),
            }
        }
    }
    if let Some(project) = &filter.project {
        about.push(format!("the project {}", quoted(project)));
        let found = opened.projects.project(&names::repo_id(project)?);
        if repo::optional(found)?.is_none() {
            absent.push("no such project");
        }
    }
    if absent.is_empty() {
        return Ok(());
    }
    let since = filter.since;
    let since = since.map_or_else(String::new, |since| format!(" since {since}"));
    streams.note(format_args!(
        "siteconf: no record{since} is about {}, and there is {} now",
        about.join(" and "),
        absent.join(" and ")
    ))
}

/// Waits a little. True if nobody reads standard output any more: else that would be noticed only when
/// there is something to write.
fn reader_has_left() -> Result<bool> {
    let output = io::stdout();
    let mut watched = [PollFd::new(&output, PollFlags::empty())];
    match poll(&mut watched, Some(&PAUSE)) {
        Ok(_) | Err(Errno::INTR) => {}
        Err(e) => return Err(Error::Output(e.into())),
    }
    let left = PollFlags::ERR | PollFlags::HUP | PollFlags::NVAL;
    Ok(watched[0].revents().intersects(left))
}

/// The columns of an entry.
fn cells(entry: &Entry) -> [String; 5] {
    let shown = Shown::new(entry);
    let mut what = Vec::new();
    if let Some(project) = shown.project {
        what.push(match shown.branch {
            Some(branch) => format!("{project}:{branch}"),
            None => project.to_owned(),
        });
    }
    what.extend(shown.path.map(str::to_owned));
    what.extend(shown.account.map(|account| format!("account {account}")));
    if let (Some(id), Some(suffix)) = (&shown.token_id, shown.suffix) {
        what.push(format!("token {id} (…{suffix})"));
    }
    let text = |label: &str, value: Option<String>| value.map(|value| format!("{label} {value}"));
    what.extend(text("restored", shown.restored.map(|at| at.to_string())));
    what.extend(text("snapshot", shown.snapshot.map(|at| at.to_string())));
    what.extend(text("count", shown.count.map(|count| count.to_string())));
    what.extend(text(
        "sessions ended",
        shown.sessions.map(|count| count.to_string()),
    ));
    what.extend(shown.detail.map(str::to_owned));
    what.extend(
        shown
            .left_out
            .map(|count| format!("{count} more before it are not told")),
    );
    [
        shown.at,
        shown.action.to_owned(),
        shown.by.to_owned(),
        shown.from.unwrap_or_default(),
        what.join(", "),
    ]
}

/// A line of columns. The log has no end that could be waited for, so their width is the usual one.
fn aligned(cells: &[String; 5]) -> String {
    let [time, action, by, from, what] = cells.each_ref().map(|cell| visible(cell));
    format!("{time:24}  {action:16}  {by:20}  {from:15}  {what}")
}
