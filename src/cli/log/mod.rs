//! The log: to standard error or a file, text for a person at a terminal, JSON for everybody else.
//!
//! A command writes its lines itself. The service must not: a reader that stalls or a full disk would
//! hold its threads. It puts them into a [`Queue`], which a thread of its own empties.

mod file;
mod journal;
mod json_line;
mod queue;

use std::env;
use std::fs::{self, File};
use std::io::{self, IsTerminal};
use std::os::fd::AsFd;
use std::panic;
use std::sync::Arc;
use std::thread;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::{MakeWriter, format};

use super::running::progress::takes_escapes;
use super::settings::{LogFormat, Settings, Sourced};
use super::{Error, Result};
use crate::store::engine::StoreAddress;
use crate::store::sqlite;
use file::Replaceable;
use journal::ForJournal;
use json_line::JsonLine;
use queue::{Lines, Queue};

/// What the service logs unless told otherwise.
const USUAL: &str = "info";
/// What the other commands log unless told otherwise.
const QUIET: &str = "warn";

/// Begins to log what passes the filter, each line as it comes. In a process that logs already, that
/// stays as it is.
///
/// # Errors
/// [`Error::Usage`] for a malformed filter.
pub(super) fn of_command(filter: &Sourced<String>) -> Result<()> {
    let is_journal = journal::is_stderr();
    let form = Form::on_stderr(LogFormat::Auto);
    start(filter, QUIET, form, is_journal, io::stderr)
}

/// Begins to log as [`of_command`] does, through a queue, to where the settings say, and logs panics,
/// which else would be written to standard error at once. What it returns writes the rest of the queue
/// when it is dropped, and opens the file of the log again when it is called.
///
/// # Errors
/// [`Error::Usage`] for a malformed filter and a file that cannot be opened or lies in the folder of the store,
/// [`Error::Failed`] without a thread or a descriptor.
pub(super) fn of_service(settings: &Settings) -> Result<(Rest, impl FnMut() + Send + use<>)> {
    let failed = |e| Error::Failed(format!("starting the log: {e}"));
    let path = settings.log_file.to_path_buf();
    let is_named = !path.as_os_str().is_empty();
    let is_journal = !is_named && journal::is_stderr();
    let (out, form) = if is_named {
        require_elsewhere(settings)?;
        let file = file::open(&path).map_err(|e| unopened(settings, &e))?;
        (file, Form::in_file(settings.log_format))
    } else {
        // A descriptor of its own: who holds the lock of `io::stderr` may wait for a reader.
        let out = io::stderr().as_fd().try_clone_to_owned().map_err(failed)?;
        (File::from(out), Form::on_stderr(settings.log_format))
    };
    let out = Replaceable::new(out);
    let replacement = out.replacement();
    let queue = Queue::start(out).map_err(failed)?;
    let lines = Lines(Arc::clone(&queue));
    start(&settings.log, USUAL, form, is_journal, lines)?;
    panic::set_hook(Box::new(|defect| tracing::error!(%defect, "panic")));
    let reopen = move || {
        if !is_named {
            return;
        }
        match file::open(&path) {
            Ok(file) => replacement.put(file),
            Err(error) => tracing::error!(
                log_file = %path.display(),
                %error,
                "the log cannot be opened again; it goes on where it was"
            ),
        }
    };
    Ok((Rest(queue), reopen))
}

/// Lines that wait to be written. Dropped, it gives them a second.
#[derive(Clone, Debug)]
pub(super) struct Rest(Arc<Queue>);

/// Tells how many lines were lost since the start.
#[derive(Clone, Debug)]
pub(super) struct LostLines(Arc<Queue>);

impl LostLines {
    /// How many.
    pub(super) fn count(&self) -> u64 {
        self.0.lost.get()
    }
}

impl Rest {
    /// Tells how many lines were lost.
    pub(super) fn lost_lines(&self) -> LostLines {
        LostLines(Arc::clone(&self.0))
    }
}

impl Drop for Rest {
    fn drop(&mut self) {
        self.0.flush();
        if !thread::panicking() {
            drop(panic::take_hook());
        }
    }
}

/// What a line is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Text { colours: bool },
    Json,
}

impl Form {
    fn on_stderr(format: LogFormat) -> Self {
        let is_terminal = io::stderr().is_terminal();
        match format {
            LogFormat::Auto if !is_terminal => Self::Json,
            LogFormat::Auto | LogFormat::Text => Self::Text {
                colours: is_terminal && takes_escapes() && !refuses_colours(),
            },
            LogFormat::Json => Self::Json,
        }
    }

    fn in_file(format: LogFormat) -> Self {
        match format {
            LogFormat::Text => Self::Text { colours: false },
            LogFormat::Auto | LogFormat::Json => Self::Json,
        }
    }
}

/// True where the environment asks for no colours (no-color.org).
fn refuses_colours() -> bool {
    env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
}

/// What is wrong with the settings of the service's log: its filter, and a file that cannot be opened or lies in the
/// folder of the store. None is made.
pub(super) fn wrong_settings(settings: &Settings) -> Vec<Error> {
    let mut wrong: Vec<_> = parse(&settings.log, USUAL).err().into_iter().collect();
    let path = &settings.log_file;
    if !path.as_os_str().is_empty() {
        let looked = require_elsewhere(settings)
            .and_then(|()| file::look(path).map_err(|e| unopened(settings, &e)));
        wrong.extend(looked.err());
    }
    wrong
}

/// Refuses a file in the folder of the store where lines of the log would get into a part of the store, or lie where
/// nothing may lie before there is one. Beside the parts of a store that is there it does no harm.
fn require_elsewhere(settings: &Settings) -> Result<()> {
    let StoreAddress::Folder(root) = &*settings.store else {
        return Ok(());
    };
    let (Ok(log), Ok(store)) = (file::place(&settings.log_file), file::place(root)) else {
        return Ok(());
    };
    let Ok(within) = log.strip_prefix(&store) else {
        return Ok(());
    };
    let first = within.components().next();
    let is_beside = first.is_some_and(|first| !sqlite::is_part(first.as_os_str()));
    // Where that cannot be seen, it is told why the file cannot be opened.
    let is_store = |name: &&str| fs::exists(store.join(name)).unwrap_or(true);
    if is_beside && ["FORMAT", "store.db"].iter().any(is_store) {
        return Ok(());
    }
    Err(settings.log_file.refuse(format_args!(
        "it must lie outside of the folder of the store, {}, in which only the store's own files may be",
        settings.store
    )))
}

fn unopened(settings: &Settings, error: &io::Error) -> Error {
    settings
        .log_file
        .refuse(format_args!("it cannot be opened: {error}"))
}

/// An empty filter is `usual`.
fn parse(filter: &Sourced<String>, usual: &str) -> Result<EnvFilter> {
    let text = if filter.is_empty() { usual } else { filter };
    let bare = |part: &&str| !part.contains(['=', '[', ':']) && *part != "siteconf";
    let mut bare = text.split(',').map(str::trim).filter(bare);
    // A word alone is the name of a part of the program to the filter, and nothing is called "verbose".
    if let Some(word) = bare.find(|word| word.parse::<LevelFilter>().is_err()) {
        return Err(filter.refuse(format_args!(
            "\"{word}\" is no level: it must be error, warn, info, debug, trace or off, or a part and \
             its level, as in siteconf::store=debug"
        )));
    }
    EnvFilter::builder()
        .parse(text)
        .map_err(|e| filter.refuse(format_args!("it is no filter: {e}")))
}

/// Begins to log; an empty filter is `usual`.
fn start<W>(
    filter: &Sourced<String>,
    usual: &str,
    form: Form,
    is_journal: bool,
    out: W,
) -> Result<()>
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let filter = parse(filter, usual)?;
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(out);
    let _started = match form {
        Form::Text { colours } => log
            .with_ansi(colours)
            .event_format(ForJournal::new(format(), is_journal))
            .try_init(),
        Form::Json => log
            .event_format(ForJournal::new(JsonLine, is_journal))
            .try_init(),
    };
    Ok(())
}
