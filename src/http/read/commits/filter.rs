//! The commits that a list leaves out, as its request says.

use crate::base::clock::Timestamp;
use crate::base::file_path::FilePath;
use crate::http::error::Error;
use crate::http::request::params;
use crate::http::request::query::Query;
use crate::repo::Commit;

/// Which commits are listed.
#[derive(Debug)]
pub(super) struct Filter {
    pub(super) since: Option<Timestamp>,
    until: Option<Timestamp>,
    author: Option<String>,
    pub(super) path: Option<FilePath>,
}

impl Filter {
    pub(super) fn read(query: &Query) -> Result<Self, Error> {
        let time = |key: &'static str| -> Result<Option<Timestamp>, Error> {
            let invalid = || Error::Malformed(format!("{key} is invalid"));
            let text = query.text(key)?;
            text.map(|text| parse_time(text).ok_or_else(invalid))
                .transpose()
        };
        Ok(Self {
            since: time("since")?,
            until: time("until")?,
            author: query.text("author")?.map(str::to_lowercase),
            path: params::folder_or_dot(query.text("path")?)?,
        })
    }

    /// True if a commit of the path is one of them.
    pub(super) fn takes(&self, commit: &Commit) -> Result<bool, Error> {
        let is_by = |author: &String| commit.by.to_lowercase().contains(author);
        if self.until.is_some_and(|until| commit.at > until)
            || !self.author.as_ref().is_none_or(is_by)
        {
            return Ok(false);
        }
        let touched = self.path.as_ref().map(|path| commit.touches(path));
        Ok(touched.transpose()?.unwrap_or(true))
    }
}

/// Reads a time as clients of GitLab write it. There Ruby's `DateTime.parse` reads it, which takes almost anything; of
/// that this takes a day, or a day and a time, in digits: the time after `T` or blanks, with or without seconds, and
/// behind it `Z`, an offset with or without its colon, or nothing, which is UTC. One digit will do for a month, a day
/// or an hour, and quotes around all of it are left out. Before 1970 it is the beginning of 1970.
fn parse_time(text: &str) -> Option<Timestamp> {
    let text = text.trim_matches([' ', '"', '\'']);
    let (day, time) = text
        .split_once(['T', 't', ' '])
        .unwrap_or((text, "00:00:00"));
    let time = time.trim_start();
    let ends_time = |c: char| !(c.is_ascii_digit() || c == ':' || c == '.');
    let (time, zone) = time.split_at(time.find(ends_time).unwrap_or(time.len()));
    let seconds = if time.matches(':').count() == 1 {
        ":00"
    } else {
        ""
    };
    let day = padded(day, "-")?;
    let time = padded(&format!("{time}{seconds}"), ":")?;
    Timestamp::parse_or_epoch(&format!("{day}T{time}{}", offset(zone)?))
}

/// Three numbers, each with two digits at least.
fn padded(text: &str, separator: &str) -> Option<String> {
    let two_digits = |number: &str| (!number.is_empty()).then(|| format!("{number:0>2}"));
    let numbers = text.split(separator).map(two_digits);
    let numbers: Vec<_> = numbers.collect::<Option<_>>()?;
    (numbers.len() == 3).then(|| numbers.join(separator))
}

/// What stands behind a time, as RFC 3339 writes it.
fn offset(text: &str) -> Option<String> {
    let text = text.trim_start();
    if matches!(text, "" | "Z" | "z" | "UTC" | "GMT") {
        return Some("Z".to_owned());
    }
    let (sign, text) = match text.strip_prefix('-') {
        Some(text) => ('-', text),
        // A plus that is not escaped in an address is a blank.
        None => ('+', text.strip_prefix('+').unwrap_or(text)),
    };
    let (hours, minutes) = text.split_once(':').or_else(|| text.split_at_checked(2))?;
    let minutes = if minutes.is_empty() { "00" } else { minutes };
    Some(format!("{sign}{hours:0>2}:{minutes}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_clients_of_gitlab_write_them() {
        for (given, read) in [
            ("2024-01-31", "2024-01-31T00:00:00.000Z"),
            ("2024-1-3", "2024-01-03T00:00:00.000Z"),
            ("\"2024-01-31\"", "2024-01-31T00:00:00.000Z"),
            ("'2024-01-31T10:00:00Z'", "2024-01-31T10:00:00.000Z"),
            ("2024-01-31t10:00:00.5z", "2024-01-31T10:00:00.500Z"),
            ("2024-01-31T10:00:00", "2024-01-31T10:00:00.000Z"),
            ("2024-01-31 10:00:00.123456", "2024-01-31T10:00:00.123Z"),
            ("2024-01-31T10:00:00+03:00", "2024-01-31T07:00:00.000Z"),
            ("2024-01-31 10:00:00 +0300", "2024-01-31T07:00:00.000Z"),
            ("2024-01-31 10:00:00 -03:30", "2024-01-31T13:30:00.000Z"),
            ("2024-01-31 10:00:00 UTC", "2024-01-31T10:00:00.000Z"),
            ("2024-01-31T10:00:00 03:00", "2024-01-31T07:00:00.000Z"),
            ("2024-01-31 10:00  0300", "2024-01-31T07:00:00.000Z"),
            ("2024-01-31T10:00+03", "2024-01-31T07:00:00.000Z"),
            ("2024-01-31T10:00+3:00", "2024-01-31T07:00:00.000Z"),
            ("2024-1-31  9:05Z", "2024-01-31T09:05:00.000Z"),
            ("1969-12-31", "1970-01-01T00:00:00.000Z"),
            ("1969-12-31T23:30-01:00", "1970-01-01T00:30:00.000Z"),
            ("0001-01-01T00:00:00Z", "1970-01-01T00:00:00.000Z"),
        ] {
            let at = parse_time(given).map(|at| at.to_string());
            assert_eq!(at.as_deref(), Some(read), "{given}");
        }
        for wrong in [
            "",
            "''",
            "yesterday",
            "2024-01",
            "24-01-31",
            "2024-02-30",
            "1969-02-30",
            "2024-13-01",
            "2024--01-31",
            "2024-01-31-",
            "2024-01-31T",
            "2024-01-31T10",
            "2024-01-31T10:",
            "2024-01-31T:30",
            "2024-01-31T25:00",
            "2024-01-31T10:00:00:00",
            "2024-01-31 10:00 PM",
            "2024-01-31T10:00+100",
            "2024-01-31T10:00+0",
            "2024-01-31T10:00+99:00",
            "2024-01-31T10:00+\u{44f}",
            "10:00:00",
            "Z",
        ] {
            assert_eq!(parse_time(wrong), None, "{wrong}");
        }
    }
}
