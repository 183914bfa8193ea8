//! What a pull says of itself: in words, or as JSON.

use serde::Serialize;

use super::bring::{Done, Pull, Switched};
use crate::cli::output::{self, counted, named, visible, visible_path};
use crate::cli::{Result, Streams};

/// How results are told.
#[derive(Debug)]
pub(super) struct Teller {
    /// As JSON.
    pub(super) json: bool,
    /// An object a line, as they come one after the other.
    pub(super) lines: bool,
    /// True once it was told that the server's commits are no digests.
    is_unproven_told: bool,
}

/// A result as JSON.
#[derive(Debug, Serialize)]
struct ResultJson<'a> {
    branch: &'a str,
    short_id: &'a str,
    commit_id: Option<&'a str>,
    /// True if the folder held the branch already.
    unchanged: bool,
    added: u64,
    changed: u64,
    removed: u64,
    /// Bytes that came.
    bytes: u64,
    /// Files that somebody else had changed in the folder.
    mended: &'a [String],
    /// Links and submodules.
    left_out: &'a [String],
    /// True if the branch digest of the folder is the head's.
    proven: bool,
}

impl Teller {
    pub(super) fn new(json: bool, lines: bool) -> Self {
        Self {
            json,
            lines,
            is_unproven_told: false,
        }
    }

    /// Says what came of a pull; in words, nothing new is said to a person alone.
    pub(super) fn tell(
        &mut self,
        pull: &Pull,
        done: &Done,
        streams: &mut Streams<'_>,
    ) -> Result<()> {
        if self.json {
            self.tell_json(pull, done, streams)?;
        } else {
            self.tell_words(pull, done, streams)?;
        }
        streams.out.flush()?;
        Ok(())
    }

    /// Says something beside the results, on a line of its own.
    pub(super) fn remark(&self, text: &str, streams: &mut Streams<'_>) -> Result<()> {
        if self.json {
            writeln!(streams.err, "{text}")?;
            return Ok(());
        }
        writeln!(streams.out, "{text}")?;
        streams.out.flush()?;
        Ok(())
    }

    fn tell_json(&self, pull: &Pull, done: &Done, streams: &mut Streams<'_>) -> Result<()> {
        let Some(state) = &pull.state else {
            return Ok(());
        };
        let none = Switched::default();
        let (unchanged, switched) = match done {
            Done::Unchanged => (true, &none),
            Done::Switched(switched) => (false, switched),
        };
        let result = ResultJson {
            branch: &pull.source.branch,
            short_id: &state.head.short_id,
            commit_id: state.head.id.as_deref(),
            unchanged,
            added: switched.added,
            changed: switched.changed,
            removed: switched.removed,
            bytes: switched.bytes,
            mended: &switched.mended,
            left_out: &switched.left_out,
            proven: state.is_proven,
        };
        if !self.lines {
            return output::write_json(streams.out, &result);
        }
        // Only writing can fail.
        serde_json::to_writer(&mut *streams.out, &result).map_err(std::io::Error::from)?;
        writeln!(streams.out)?;
        Ok(())
    }

    fn tell_words(&mut self, pull: &Pull, done: &Done, streams: &mut Streams<'_>) -> Result<()> {
        let head = pull.state.as_ref().map(|state| &state.head.short_id);
        let head = head.map_or("", String::as_str);
        let branch = visible(&pull.source.branch);
        let Done::Switched(switched) = done else {
            return streams.tell(format_args!("{branch} is at {head}, as the folder is"));
        };
        let Switched {
            added,
            changed,
            removed,
            bytes,
            ..
        } = switched;
        writeln!(
            streams.out,
            "{branch} is at {head}: {added} added, {changed} changed, {removed} removed, {} fetched",
            counted(*bytes, "byte", "bytes")
        )?;
        if !switched.mended.is_empty() {
            streams.note(format_args!(
                "changed in the folder by somebody else, and as in the branch again: {}",
                named(&switched.mended)
            ))?;
        }
        if !switched.left_out.is_empty() {
            streams.note(format_args!(
                "left out, as links and submodules are: {}",
                named(&switched.left_out)
            ))?;
        }
        if !switched.is_proven && !self.is_unproven_told {
            self.is_unproven_told = true;
            streams.note(format_args!(
                "the commit ids of this server are no digests: each file that came is proven by its own id, \
                 {} as a whole is not",
                visible_path(pull.folder.path())
            ))?;
        }
        Ok(())
    }
}
