//! What systemd's journal makes of a line: it takes the priority from its beginning, as of a line of the kernel.

use std::env;
use std::fmt;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;

use tracing::{Event, Level, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

/// The variable with device and inode of what systemd has connected with the journal.
const STREAM: &str = "JOURNAL_STREAM";

/// True if standard error goes to the journal, and not somewhere else after it was led there.
pub(super) fn is_stderr() -> bool {
    let stderr = || {
        File::from(io::stderr().as_fd().try_clone_to_owned().ok()?)
            .metadata()
            .ok()
    };
    let named = env::var_os(STREAM);
    named.is_some_and(|named| {
        stderr().is_some_and(|stderr| named == *format!("{}:{}", stderr.dev(), stderr.ino()))
    })
}

/// Lines of a form, in the journal those of warnings and errors with their priority.
#[derive(Debug)]
pub(super) struct ForJournal<F> {
    form: F,
    is_journal: bool,
}

impl<F> ForJournal<F> {
    /// Writes in this form.
    pub(super) fn new(form: F, is_journal: bool) -> Self {
        Self { form, is_journal }
    }
}

impl<S, N, F> FormatEvent<S, N> for ForJournal<F>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
    F: FormatEvent<S, N>,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        if self.is_journal {
            match *event.metadata().level() {
                Level::ERROR => writer.write_str("<3>")?,
                Level::WARN => writer.write_str("<4>")?,
                _ => {}
            }
        }
        self.form.format_event(context, writer, event)
    }
}
