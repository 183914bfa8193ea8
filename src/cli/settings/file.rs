//! A file of settings: TOML, with the names of the table.

use std::ops::Range;
use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::given::{Given, Source, Sourced, Written};
use super::table::Setting;
use crate::cli::{Error, Result};
use crate::store::small_file;

/// What a file of settings says.
pub(super) struct Contents {
    pub(super) given: Vec<Given>,
    /// A refusal for each name that no setting has.
    pub(super) wrong: Vec<Error>,
}

/// Reads a file of settings.
///
/// # Errors
/// [`Error::Usage`] for a file that cannot be read or is no TOML.
pub(super) fn read(path: &Sourced<PathBuf>) -> Result<Contents> {
    let text = text_of(path)?;
    let table = DeTable::parse(&text).map_err(|e| {
        // The line itself is not repeated: it may hold a password.
        let line = line_of(&text, e.span().map_or(0, |span| span.start));
        let (path, message) = (path.display(), e.message());
        Error::Usage(format!("{path}, line {line}: {message}"))
    })?;
    let file = File { path, text: &text };
    let mut read = Contents {
        given: Vec::new(),
        wrong: Vec::new(),
    };
    let mut take = |found| match found {
        Ok(given) => read.given.push(given),
        Err(unknown) => read.wrong.push(unknown),
    };
    for (name, value) in table.get_ref() {
        match value.get_ref() {
            DeValue::Table(inner) => {
                for (last, value) in inner {
                    let whole = format!("{}.{}", name.get_ref(), last.get_ref());
                    take(file.given(&whole, &last.span(), value));
                }
            }
            _ => take(file.given(name.get_ref(), &name.span(), value)),
        }
    }
    Ok(read)
}

struct File<'a> {
    path: &'a Path,
    text: &'a str,
}

impl File<'_> {
    fn given(&self, name: &str, at: &Range<usize>, value: &Spanned<DeValue<'_>>) -> Result<Given> {
        let line = line_of(self.text, at.start);
        let path = self.path.to_owned();
        let Some(setting) = Setting::in_file(name) else {
            let path = path.display();
            return Err(Error::Usage(format!(
                "{path}, line {line}: there is no setting \"{name}\""
            )));
        };
        Ok(Given {
            setting,
            written: written(value.get_ref()),
            shown: self.text[value.span()].to_owned(),
            source: Source::File { path, line },
        })
    }
}

/// The number of the line, from 1, that this byte is in.
fn line_of(text: &str, at: usize) -> usize {
    1 + text.bytes().take(at).filter(|byte| *byte == b'\n').count()
}

fn written(value: &DeValue<'_>) -> Written {
    match value {
        DeValue::String(text) => Written::Text(text.clone().into_owned()),
        DeValue::Boolean(read) => Written::Bool(*read),
        DeValue::Integer(number) => u64::from_str_radix(number.as_str(), number.radix())
            .map_or(Written::Other, Written::Number),
        DeValue::Array(items) => {
            let text = |item: &Spanned<DeValue<'_>>| match item.get_ref() {
                DeValue::String(text) => Some(text.clone().into_owned()),
                _ => None,
            };
            let texts: Option<Vec<_>> = items.iter().map(text).collect();
            texts.map_or(Written::Other, Written::List)
        }
        _ => Written::Other,
    }
}

/// The text of a file that is a setting's value: settings, a password or keys.
///
/// # Errors
/// [`Error::Usage`] for a file that cannot be read, is not a regular one, is longer than 64 KiB or no UTF-8.
pub(in crate::cli) fn text_of(path: &Sourced<PathBuf>) -> Result<String> {
    small_file::read_text(path).map_err(|fault| path.refuse(fault))
}
