//! What somebody gave for a setting, and where: so that a refusal can say it.

use std::ffi::OsString;
use std::fmt;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::table::Setting;
use super::unit::Unit;
use crate::base::clock::DAY_S;
use crate::cli::Error;

/// Most characters of a value that a refusal shows.
const SHOWN_CHARS_MAX: usize = 200;
/// Longest time of a setting in seconds, a century: no point in time that is so far away overflows.
const SECONDS_MAX: u64 = 36_500 * DAY_S;

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cli) enum Source {
    Default,
    Flag,
    Variable,
    /// A line of a file of settings, counted from 1.
    File {
        path: PathBuf,
        line: usize,
    },
}

/// A value as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Written {
    /// By a flag, as often as it was given, or by a variable.
    Plain(Vec<OsString>),
    Text(String),
    Number(u64),
    Bool(bool),
    List(Vec<String>),
    /// What no setting takes.
    Other,
}

/// What was given for a setting.
#[derive(Clone, Debug)]
pub(in crate::cli) struct Given {
    pub(super) setting: &'static Setting,
    pub(super) written: Written,
    /// The value as a refusal shows it.
    pub(super) shown: String,
    pub(super) source: Source,
}

/// A value that was read, and what a refusal says of where it came from.
#[derive(Clone, Debug)]
pub(in crate::cli) struct Sourced<T> {
    value: T,
    given: Given,
}

impl Given {
    /// What a flag or a variable gave.
    pub(super) fn plain(setting: &'static Setting, source: Source, values: Vec<OsString>) -> Self {
        let texts: Vec<_> = values.iter().map(|value| value.to_string_lossy()).collect();
        let text = texts.join(",");
        let is_bare = text.parse::<u64>().is_ok() || text.parse::<bool>().is_ok();
        Self {
            setting,
            written: Written::Plain(values),
            shown: if is_bare { text } else { format!("\"{text}\"") },
            source,
        }
    }

    /// Says what is wrong with it.
    pub(super) fn refuse(&self, reason: impl fmt::Display) -> Error {
        let (name, place) = (self.setting.name, self.place());
        if self.setting.may_hold_secret() {
            return Error::Usage(format!("{name} ({place}): {reason}"));
        }
        let mut shown = self.shown.clone();
        if let Some((end, _)) = shown.char_indices().nth(SHOWN_CHARS_MAX) {
            shown.truncate(end);
            shown.push('…');
        }
        Error::Usage(format!("{name} = {shown} ({place}): {reason}"))
    }

    /// Where it came from, in words.
    pub(super) fn place(&self) -> String {
        match &self.source {
            Source::Default => "the default".to_owned(),
            Source::Flag => format!("--{}", self.setting.flag()),
            Source::Variable => format!("{} in the environment", self.setting.variable()),
            Source::File { path, line } => format!("{}, line {line}", path.display()),
        }
    }

    /// A text.
    pub(super) fn text(&self) -> Result<String, Error> {
        match &self.written {
            Written::Plain(values) => {
                let last = values.last().and_then(|value| value.to_str());
                last.map(str::to_owned)
                    .ok_or_else(|| self.refuse("it must be UTF-8"))
            }
            Written::Text(text) => Ok(text.clone()),
            _ => Err(self.refuse("it must be a text in quotes")),
        }
    }

    /// One of the words that a type has.
    pub(super) fn parsed<T: FromStr<Err = &'static str>>(&self) -> Result<T, Error> {
        self.text()?.parse().map_err(|reason| self.refuse(reason))
    }

    /// A path; one that a flag or a variable gives may have any bytes.
    pub(super) fn path(&self) -> Result<PathBuf, Error> {
        match &self.written {
            Written::Plain(values) => Ok(values.last().cloned().unwrap_or_default().into()),
            _ => Ok(self.text()?.into()),
        }
    }

    /// A whole number, with a unit where the setting has one. Seconds are at most [`SECONDS_MAX`].
    pub(super) fn number(&self) -> Result<u64, Error> {
        let unit = self.setting.unit();
        let number = match &self.written {
            Written::Plain(_) => unit.parse(&self.text()?),
            Written::Text(text) if unit != Unit::Things => unit.parse(text),
            Written::Number(number) => Ok(*number),
            _ => Err(unit.rule_for(&self.shown)),
        }
        .map_err(|rule| self.refuse(rule))?;
        if unit == Unit::Seconds && number > SECONDS_MAX {
            let reason = format_args!("it must be at most {SECONDS_MAX}, a century");
            return Err(self.refuse(reason));
        }
        Ok(number)
    }

    /// A whole number that is not 0.
    pub(super) fn number_from_1(&self) -> Result<u64, Error> {
        match self.number()? {
            0 => Err(self.refuse("it must be at least 1")),
            number => Ok(number),
        }
    }

    /// A whole number from 1 to this one.
    pub(super) fn number_up_to(&self, most: u64) -> Result<u64, Error> {
        self.number_between(1, most)
    }

    /// A whole number from one to another.
    pub(super) fn number_between(&self, least: u64, most: u64) -> Result<u64, Error> {
        match self.number()? {
            number if (least..=most).contains(&number) => Ok(number),
            _ => Err(self.refuse(format_args!("it must be {least} to {most}"))),
        }
    }

    /// True or false.
    pub(super) fn bool(&self) -> Result<bool, Error> {
        let read = match &self.written {
            Written::Plain(_) => self.text()?.parse().ok(),
            Written::Bool(read) => Some(*read),
            _ => None,
        };
        read.ok_or_else(|| self.refuse("it must be true or false"))
    }

    /// Texts: a list in a file, with commas between them elsewhere.
    pub(super) fn list(&self) -> Result<Vec<String>, Error> {
        match &self.written {
            Written::Plain(values) => {
                let mut list = Vec::new();
                for value in values {
                    let text = value
                        .to_str()
                        .ok_or_else(|| self.refuse("it must be UTF-8"))?;
                    list.extend(text.split(',').map(str::to_owned));
                }
                Ok(list)
            }
            Written::List(list) => Ok(list.clone()),
            _ => Err(self.refuse("it must be a list of texts, as in [\"a\", \"b\"]")),
        }
    }

    /// What is read of it, with where it was given.
    pub(super) fn sourced<T>(
        &self,
        read: impl FnOnce(&Self) -> Result<T, Error>,
    ) -> Result<Sourced<T>, Error> {
        Ok(self.holding(read(self)?))
    }

    /// A value that was read of it.
    pub(super) fn holding<T>(&self, value: T) -> Sourced<T> {
        let given = self.clone();
        Sourced { value, given }
    }
}

impl<T> Sourced<T> {
    /// The same with another value, which a command has from elsewhere.
    pub(in crate::cli) fn replaced(&self, value: T) -> Self {
        self.given.holding(value)
    }

    /// The file in which it was given, if it was.
    pub(in crate::cli) fn file(&self) -> Option<&Path> {
        match &self.given.source {
            Source::File { path, .. } => Some(path),
            Source::Default | Source::Flag | Source::Variable => None,
        }
    }

    /// True if its variable in the environment gave it.
    pub(super) fn is_of_variable(&self) -> bool {
        self.given.source == Source::Variable
    }

    /// Says what is wrong with it, which only its use has shown.
    pub(in crate::cli) fn refuse(&self, reason: impl fmt::Display) -> Error {
        self.given.refuse(reason)
    }
}

impl<T> Deref for Sourced<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: fmt::Display> fmt::Display for Sourced<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}

/// Equal values are the same setting, whoever gave them.
impl<T: PartialEq> PartialEq for Sourced<T> {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl<T: Eq> Eq for Sourced<T> {}
