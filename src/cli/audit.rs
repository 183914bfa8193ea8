//! The audit log on the command line, oldest first.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Args;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use signal_hook::consts::SIGINT;
use signal_hook::flag;

use crate::base::clock::Timestamp;
use crate::cli::open_store::OpenStore;
use crate::cli::output::visible;
use crate::cli::{Error, Outcome, Result, Streams};
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
    /// Only what this account did, or what was done to it
    #[arg(long, value_name = "NAME")]
    pub(in crate::cli) user: Option<String>,
    /// Only what was done to this project
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
pub(super) fn run(wish: Audit, opened: &OpenStore, streams: &mut Streams<'_>) -> Result<Outcome> {
    let repository = &opened.repository;
    let since = wish.since.as_deref().map(|text| {
        Timestamp::parse_since(text, repository.clock().now()).ok_or_else(|| {
            Error::Usage(format!(
                "--since \"{text}\" must be YYYY-MM-DD, midnight UTC, RFC 3339, as in \
                 2027-01-31T10:00:00Z, or how long ago, as 30d or 12h"
            ))
        })
    });
    let filter = Filter {
        since: since.transpose()?,
        user: wish.user,
        project: wish.project,
    };
    let interrupted = Arc::new(AtomicBool::new(false));
    if wish.follow {
        flag::register(SIGINT, Arc::clone(&interrupted))
            .map_err(|e| Error::Failed(format!("watching for Ctrl-C: {e}")))?;
    }
    if !wish.json {
        let heading = ["TIME", "ACTION", "BY", "FROM", "WHAT"].map(str::to_owned);
        writeln!(streams.out, "{}", aligned(&heading))?;
    }
    let mut place = None;
    loop {
        let chunk = repository.audit_after(place, filter.since)?;
        let wanted = |entry: &&Entry| filter.takes(&entry.record);
        for entry in chunk.entries.iter().filter(wanted) {
            if wish.json {
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
        streams.out.flush()?;
        if !wish.follow || reader_has_left()? {
            return Ok(Outcome::Fine);
        }
        if interrupted.load(Ordering::Relaxed) {
            return Ok(Outcome::Interrupted);
        }
    }
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
