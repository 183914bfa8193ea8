//! Lists: aligned columns for people, JSON for programs. And the results of changes that were made.

use std::fmt::{Display, Write as _};
use std::io::{ErrorKind, Write};
use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::{OFlags, fcntl_getfl, fstat, makedev};
use serde::Serialize;

use super::{Error, Result};
use crate::base::name_error::{is_deceptive, is_hidden};
use crate::repo::Revision;

/// Most names that a message lists.
const NAMED_MAX: usize = 20;

/// Something that is listed.
pub(super) trait Listed: Serialize {
    /// The columns' headings.
    const HEADINGS: &'static [&'static str];

    /// The columns' texts.
    fn cells(&self) -> Vec<String>;
}

/// Writes a list: as a JSON array, or as columns under their headings.
pub(super) fn list<T: Listed>(out: &mut dyn Write, json: bool, items: &[T]) -> Result<()> {
    if json {
        return write_json(out, &items);
    }
    let mut rows = vec![T::HEADINGS.iter().map(|h| (*h).to_owned()).collect()];
    rows.extend(items.iter().map(T::cells));
    for line in aligned(&rows) {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

/// A JSON array that is written while its items come.
pub(super) struct JsonArray<'a> {
    out: &'a mut dyn Write,
    any: bool,
}

impl<'a> JsonArray<'a> {
    /// Begins it.
    pub(super) fn begin(out: &'a mut dyn Write) -> Result<Self> {
        write!(out, "[")?;
        Ok(Self { out, any: false })
    }

    /// Writes an item.
    pub(super) fn item<T: Serialize>(&mut self, item: &T) -> Result<()> {
        let comma = if self.any { "," } else { "" };
        write!(self.out, "{comma}\n  ")?;
        serde_json::to_writer(&mut *self.out, item).map_err(std::io::Error::from)?;
        self.any = true;
        Ok(())
    }

    /// Ends it.
    pub(super) fn end(self) -> Result<()> {
        let line = if self.any { "\n" } else { "" };
        writeln!(self.out, "{line}]")?;
        Ok(())
    }
}

/// Writes a value as JSON, for reading by people too.
pub(super) fn write_json<T: Serialize>(out: &mut dyn Write, value: &T) -> Result<()> {
    // Only writing can fail: what is shown has string keys and no failing types.
    serde_json::to_writer_pretty(&mut *out, value).map_err(std::io::Error::from)?;
    writeln!(out)?;
    Ok(())
}

/// Ends the result of a change that was made: what came of reading and writing it, and what waits in `out`. `undo` says
/// which command undoes the change.
///
/// # Errors
/// What `written` failed with, as [`Error::AfterChange`]: who does not know that the change was made would make it
/// again, or look for what it removed. To a reader that left nothing is said.
pub(super) fn of_change(
    written: std::result::Result<(), impl Into<Error>>,
    out: &mut dyn Write,
    undo: Option<&str>,
) -> Result<()> {
    let written = written.map_err(Into::<Error>::into);
    let written = written.and_then(|()| Ok(out.flush()?));
    written.map_err(|error| {
        let has_left =
            matches!(&error, Error::Output(source) if source.kind() == ErrorKind::BrokenPipe);
        if has_left {
            return error;
        }
        let undo = undo.map_or_else(String::new, |undo| format!("; {undo}"));
        Error::AfterChange {
            source: Box::new(error),
            made: format!("the change was made{undo}"),
        }
    })
}

/// What was read to tell of a change that was made; `None` where it cannot be read any more, which the log says. An
/// error would be taken for one of the change.
pub(super) fn known<T, E: Display>(read: std::result::Result<T, E>) -> Option<T> {
    read.inspect_err(
        |error| tracing::warn!(%error, "not all can be told of a change that was made"),
    )
    .ok()
}

/// The short id of the state that a change has left a branch in, as [`known`] has it.
pub(super) fn known_short_id(state: &Revision) -> Option<String> {
    known(state.digest()).map(|digest| digest.short_id().to_owned())
}

/// Lines with columns of equal width. The last column is not padded.
fn aligned(rows: &[Vec<String>]) -> Vec<String> {
    let columns = rows.first().map_or(0, Vec::len);
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| visible(cell).chars().count()).max()
    };
    let widths: Vec<_> = (0..columns).map(|c| width(c).unwrap_or(0)).collect();
    rows.iter()
        .map(|row| {
            let mut line = String::new();
            for (cell, width) in row.iter().zip(&widths) {
                let cell = visible(cell);
                write!(line, "{cell:width$}  ").expect("a string takes all");
            }
            line.trim_end().to_owned()
        })
        .collect()
}

/// True if this was closed when the program began. Before its first line the null device takes the place of what is
/// closed, open to be read, too, which it is not behind `>/dev/null` of a shell. A program that hands it on open for
/// both is not told apart: nobody sees what is written there, and nobody writes what is read.
pub(super) fn was_closed(stream: impl AsFd) -> bool {
    let is_null = fstat(&stream).is_ok_and(|found| found.st_rdev == makedev(1, 3));
    is_null && fcntl_getfl(&stream).is_ok_and(|flags| flags.contains(OFlags::RDWR))
}

/// A number with what is counted: `1 file`, `2 files`.
pub(super) fn counted(count: u64, one: &str, more: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { more })
}

/// A path, as [`visible`] has it.
pub(super) fn visible_path(path: &Path) -> String {
    visible(&path.to_string_lossy())
}

/// A text that cannot deceive who reads it on a terminal: what moves the cursor, turns the direction of
/// the text or is invisible becomes an escape, nothing is a dash.
pub(super) fn visible(text: &str) -> String {
    if text.is_empty() {
        return "-".to_owned();
    }
    escaped(text, is_deceptive)
}

/// A text between quotes that cannot deceive, and of which all is seen; of an empty one there is nothing between them.
pub(super) fn quoted(text: &str) -> String {
    format!("\"{}\"", escaped(text, |c| is_deceptive(c) || is_hidden(c)))
}

/// The first of some names, as [`visible`] has them.
///
/// # Limits
/// [`NAMED_MAX`].
pub(super) fn named(names: &[impl AsRef<str>]) -> String {
    let first = names.iter().take(NAMED_MAX);
    let mut shown: Vec<_> = first
        .map(|name| format!("\"{}\"", visible(name.as_ref())))
        .collect();
    if names.len() > NAMED_MAX {
        shown.push(format!("and {} more", names.len() - NAMED_MAX));
    }
    shown.join(", ")
}

/// A text of several lines that cannot deceive, as [`visible`].
pub(super) fn visible_lines(text: &str) -> String {
    escaped(text, |c| c != '\n' && is_deceptive(c))
}

/// A text of files that cannot deceive, as [`visible_lines`]; their tabs stay.
pub(super) fn visible_text(text: &str) -> String {
    escaped(text, |c| !matches!(c, '\n' | '\t') && is_deceptive(c))
}

/// A text as one word of a command that can be typed as it stands.
pub(super) fn shell_word(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "_-./@:%+=,".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

fn escaped(text: &str, deceives: impl Fn(char) -> bool) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if deceives(c) {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::StoreError;

    #[test]
    fn a_word_for_a_shell_is_quoted_where_it_must_be() {
        for (text, word) in [
            ("conf/a-b.xml", "conf/a-b.xml"),
            ("я.xml", "я.xml"),
            ("", "''"),
            ("a b", "'a b'"),
            ("$(x);`y`", "'$(x);`y`'"),
            ("it's", "'it'\\''s'"),
        ] {
            assert_eq!(shell_word(text), word);
        }
    }

    #[test]
    fn what_fails_after_a_change_is_told_with_the_change() {
        let full = || std::io::Error::from(ErrorKind::StorageFull);
        let told = |written: Result<()>, undo| {
            let ended = of_change(written, &mut std::io::sink(), undo);
            ended.map_err(|error| error.to_string())
        };
        let made = "writing the result: no storage space; the change was made";
        for (written, undo, said) in [
            (Ok(()), Some("it is undone so"), Ok(())),
            (Err(full().into()), None, Err(made.to_owned())),
            (
                Err(full().into()),
                Some("it is undone so"),
                Err(format!("{made}; it is undone so")),
            ),
            (
                Err(Error::Failed("of another kind".to_owned())),
                Some("it is undone so"),
                Err("of another kind; the change was made; it is undone so".to_owned()),
            ),
        ] {
            assert_eq!(told(written, undo), said);
        }
        // Where the store lies is said in front of it, as of an error before the change.
        let away = of_change(
            Err(StoreError::Unavailable),
            &mut std::io::sink(),
            Some("it is undone so"),
        );
        let away = away.unwrap_err();
        assert!(
            matches!(away.of_store(), Some(StoreError::Unavailable)),
            "{away:?}"
        );
        assert_eq!(
            away.to_string(),
            "the database does not answer; the change was made; it is undone so"
        );
        // What ends a command whose reader left stays what it was.
        let left = std::io::Error::from(ErrorKind::BrokenPipe);
        let ended = of_change(Err(left), &mut std::io::sink(), None);
        assert!(
            matches!(&ended, Err(Error::Output(error)) if error.kind() == ErrorKind::BrokenPipe),
            "{ended:?}"
        );
    }

    #[derive(Serialize)]
    struct Sample {
        name: &'static str,
        files: u64,
    }

    impl Listed for Sample {
        const HEADINGS: &'static [&'static str] = &["NAME", "FILES"];

        fn cells(&self) -> Vec<String> {
            vec![self.name.to_owned(), self.files.to_string()]
        }
    }

    fn shown(json: bool) -> String {
        let items = [
            Sample {
                name: "ветка",
                files: 1,
            },
            Sample {
                name: "a\u{1b}[2J",
                files: 20,
            },
            Sample { name: "", files: 3 },
        ];
        let mut out = Vec::new();
        list(&mut out, json, &items).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn columns_align_and_controls_are_escaped() {
        assert_eq!(
            shown(false),
            "NAME        FILES\n\
             ветка       1\n\
             a\\u{1b}[2J  20\n\
             -           3\n"
        );
    }

    #[test]
    fn json_is_an_array_of_whole_values() {
        let read: serde_json::Value = serde_json::from_str(&shown(true)).unwrap();
        assert_eq!(
            read,
            serde_json::json!([
                {"name": "ветка", "files": 1},
                {"name": "a\u{1b}[2J", "files": 20},
                {"name": "", "files": 3},
            ])
        );
    }
}
