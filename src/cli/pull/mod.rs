//! `pull`: a folder on a client's machine that is kept equal to a branch, through the Read API alone.
//!
//! The head is asked for, and where it is another than the folder's, the tree; what differs is fetched,
//! laid out beside the folder, held against the branch digest, and put in its place in one step. Nothing
//! here opens a store.

pub(super) mod args;
mod bring;
mod fault;
mod hook;
mod local;
mod pace;
mod plan;
mod printed;
mod remote;
mod tell;
mod trouble;
mod watch;

use std::time::Duration;

use super::output::visible_lines;
use super::running::progress::Progress;
use super::running::stop::Stop;
use super::{Error, Outcome, Result, Streams, names};
use crate::base::branch_name::BranchName;
use args::Pull as PullArgs;
use bring::{Done, Manner, Pull};
use fault::{Fault, Pulled};
use hook::Hook;
use local::folder::Folder;
use local::state::Source;
use remote::address::Targets;
use remote::client::Client;
use remote::head::TaggedHead;
use remote::token::Token;
use tell::Teller;

/// Longest identifier of a project, in bytes: GitLab's are not ours.
const PROJECT_BYTES_MAX: usize = 1024;

/// A pull, what runs after it, and how both are told.
struct Pulling {
    pull: Pull,
    hook: Option<Hook>,
    teller: Teller,
}

/// `pull`.
pub(super) fn run(args: &PullArgs, streams: &mut Streams<'_>) -> Result<Outcome> {
    let root = remote::address::root(&args.url)?;
    if let Some((branch, _)) = BranchName::split_snapshot(&args.branch) {
        return Err(Error::Usage(format!(
            "\"{}\" is a snapshot, which never changes: a folder is kept equal to a branch, as {branch}",
            args.branch
        )));
    }
    let branch = names::branch(&args.branch)?;
    if args.repo_id.is_empty() || args.repo_id.len() > PROJECT_BYTES_MAX {
        return Err(Error::Usage(format!(
            "malformed project: it must have 1 to {PROJECT_BYTES_MAX} bytes"
        )));
    }
    let token = Token::read(args.token_file.as_deref())?;
    let stop = Stop::watch(false)?;
    let folder = Folder::open(&args.dir)?;
    let started = || {
        let state = folder.recover(&stop)?;
        Ok((state, folder.instance()?))
    };
    let (state, instance) = started().map_err(|fault| error(&fault, &stop))?;
    // A job of cron would tell it each time.
    if args.watch || state.is_none() || streams.err_is_terminal {
        for exposure in token.iter().flat_map(|token| token.exposures(&root)) {
            // Who does not listen cannot be told.
            let _told = writeln!(streams.err, "siteconf: {exposure}");
        }
    }
    let client = Client::new(
        root.clone(),
        token,
        instance,
        args.ca_file.as_deref(),
        usize::from(args.parallel),
        &stop,
    )?;
    let mut pulling = Pulling {
        pull: Pull {
            client,
            targets: Targets::new(&args.repo_id, branch.as_str()),
            source: Source {
                root,
                repo_id: args.repo_id.clone(),
                branch: branch.as_str().to_owned(),
            },
            folder,
            manner: Manner {
                keeps: args.keep,
                verifies: args.verify,
                notes_changes: args.exec.is_some(),
                bytes_max: args.bytes_max,
                parallel: args.parallel,
            },
            stop: stop.clone(),
            state,
            no_room: None,
        },
        hook: args.exec.clone().map(|command| Hook {
            command,
            timeout: Duration::from_secs(args.exec_timeout),
        }),
        teller: Teller::new(args.json, args.watch),
    };
    if args.watch {
        let interval = Duration::from_secs(args.interval);
        return Ok(watch::run(&mut pulling, interval, streams));
    }
    let head = pulling.pull.head(None);
    let done = head.and_then(|head| pulling.follow(head, streams));
    let told = done
        .map_err(|fault| error(&fault, &stop))
        .and_then(|done| pulling.teller.tell(&pulling.pull, &done, streams));
    // The command runs, whoever listens, and after an earlier change also where the server cannot be asked.
    let ran = pulling.exec(streams).map_err(|fault| match fault {
        Fault::Lasting(what) | Fault::Full { what, .. } => {
            Error::Failed(format!("{what}; the next pull runs it again"))
        }
        other => error(&other, &stop),
    });
    match (told, ran) {
        (told, Ok(())) => told.map(|()| Outcome::Fine),
        (Err(fault), Err(failed)) if !stop.is_asked() && !matches!(fault, Error::Output(_)) => {
            // Both are to be known.
            let _said = writeln!(
                streams.err,
                "siteconf: {}",
                visible_lines(&fault.to_string())
            );
            Err(failed)
        }
        (_, Err(failed)) => Err(failed),
    }
}

/// A fault as the end of the command.
fn error(fault: &Fault, stop: &Stop) -> Error {
    let again = match fault {
        Fault::Passing {
            after: Some(after), ..
        } => {
            format!("; it wants to be asked again in {} s", after.as_secs())
        }
        _ => String::new(),
    };
    stop.name(Error::Failed(format!("{fault}{again}")))
}

impl Pulling {
    /// Makes the folder hold a head, and shows how far that is.
    fn follow(&mut self, head: TaggedHead, streams: &mut Streams<'_>) -> Pulled<Done> {
        let pull = &mut self.pull;
        pull.folder.require_place()?;
        if pull.folder.make_again(pull.state.as_ref())? {
            pull.state = pull.folder.recover(&pull.stop)?;
        }
        let mut progress = Progress::new(streams);
        let done = self.pull.follow(head, |count, total| {
            progress.say(|| format!("{count} of {total} files fetched"));
        });
        drop(progress);
        for note in self.pull.folder.notes() {
            // Who does not listen cannot be told.
            let _told = writeln!(streams.err, "{note}");
        }
        done
    }

    /// True if there is a command, and it has not ended well since the last change.
    fn is_exec_due(&self) -> bool {
        let state = self.pull.state.as_ref();
        self.hook.is_some() && state.is_some_and(|state| state.due.is_some())
    }

    /// Runs the command where it is due.
    fn exec(&mut self, streams: &mut Streams<'_>) -> Pulled<()> {
        let (Some(hook), Some(state)) = (&self.hook, &mut self.pull.state) else {
            return Ok(());
        };
        hook.run(&self.pull.folder, state, &self.pull.stop, streams.err)
    }
}
