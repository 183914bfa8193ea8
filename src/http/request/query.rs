//! The query of a request, and a form, which has the same syntax.

use std::borrow::Cow;
use std::collections::HashSet;

use super::path::decode;
use crate::base::name_error::shortened;
use crate::http::error::Error;

/// Decoded pairs in the order they came. A value is looked at only when a route asks for its key.
#[derive(Clone, Debug, Default)]
pub(in crate::http) struct Query {
    pairs: Vec<(String, String)>,
    /// True where a yes or no that is empty was not given.
    takes_empty_flags: bool,
}

impl Query {
    /// Reads `a=b&c=d`; `+` is a space.
    ///
    /// # Errors
    /// A bad escape, or bytes that are not UTF-8.
    pub(in crate::http) fn parse(text: &str) -> Result<Self, Error> {
        Ok(Self {
            pairs: pairs(text)?,
            takes_empty_flags: false,
        })
    }

    /// The same query as the Read API reads it, as GitLab does: with only the last value of each key, and an empty
    /// yes or no as one that was not given. Links to further pages repeat each key once, however often a client adds
    /// its own.
    pub(in crate::http) fn last_values(mut self) -> Self {
        self.takes_empty_flags = true;
        if self.pairs.len() < 2 {
            return self;
        }
        let mut seen = HashSet::with_capacity(self.pairs.len());
        let mut last = vec![false; self.pairs.len()];
        for (at, (key, _)) in self.pairs.iter().enumerate().rev() {
            last[at] = seen.insert(key.as_str());
        }
        let mut last = last.into_iter();
        self.pairs.retain(|_| last.next().unwrap_or(true));
        self
    }

    /// Adds those pairs of a form, the body of a `GET`, whose keys the query does not have (contract
    /// section 1).
    pub(in crate::http) fn merge_form(&mut self, text: &str) -> Result<(), Error> {
        let form = Self::parse(text)?.last_values();
        let known: HashSet<_> = self.pairs.iter().map(|(key, _)| key.clone()).collect();
        let new = form.pairs.into_iter();
        self.pairs
            .extend(new.filter(|(key, _)| !known.contains(key)));
        Ok(())
    }

    /// The value of a key; `None` when it is absent or empty.
    ///
    /// # Errors
    /// The key was given twice.
    pub(in crate::http) fn text(&self, key: &str) -> Result<Option<&str>, Error> {
        Ok(self.value(key)?.filter(|value| !value.is_empty()))
    }

    /// The value of a key that must be given.
    ///
    /// # Errors
    /// The key is absent, empty, or was given twice.
    pub(in crate::http) fn required(&self, key: &str) -> Result<&str, Error> {
        self.text(key)?
            .ok_or_else(|| Error::Malformed(format!("query parameter \"{key}\" is missing")))
    }

    /// The values of a key that may be given more than once; empty ones are absent.
    pub(in crate::http) fn texts(&self, key: &str) -> impl Iterator<Item = &str> {
        let given = self.pairs().filter(move |(name, _)| *name == key);
        given
            .map(|(_, value)| value)
            .filter(|value| !value.is_empty())
    }

    /// A yes or no; no when it is absent (contract section 1), and of [`Query::last_values`] when it is empty, too.
    ///
    /// # Errors
    /// The value is none of the spellings, or the key was given twice.
    pub(in crate::http) fn flag(&self, key: &str) -> Result<bool, Error> {
        let is_given = |value: &&str| !(self.takes_empty_flags && value.is_empty());
        let Some(value) = self.value(key)?.filter(is_given) else {
            return Ok(false);
        };
        match value {
            "1" | "true" | "True" | "TRUE" | "t" | "T" | "yes" | "Yes" | "YES" | "y" | "Y"
            | "on" | "On" | "ON" => Ok(true),
            "0" | "false" | "False" | "FALSE" | "f" | "F" | "no" | "No" | "NO" | "n" | "N"
            | "off" | "Off" | "OFF" => Ok(false),
            _ => Err(Error::Malformed(format!("{key} is invalid"))),
        }
    }

    /// All pairs, those of a form after those of the query.
    pub(in crate::http) fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        let pairs = self.pairs.iter();
        pairs.map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// The value of a key, as [`Query::value`], which is then no longer there.
    pub(in crate::http) fn take(&mut self, key: &str) -> Result<Option<String>, Error> {
        let taken = self.value(key)?.map(str::to_owned);
        self.pairs.retain(|(name, _)| name != key);
        Ok(taken)
    }

    /// Refuses keys that a route of the Admin API does not know.
    pub(in crate::http) fn only(&self, known: &[&str]) -> Result<(), Error> {
        match self.unknown(known) {
            Some(key) => Err(Error::Malformed(format!(
                "unknown query parameter \"{}\"",
                shortened(key)
            ))),
            None => Ok(()),
        }
    }

    /// The first key that is none of these.
    pub(in crate::http) fn unknown(&self, known: &[&str]) -> Option<&str> {
        let mut keys = self.pairs().map(|(key, _)| key);
        keys.find(|key| !known.contains(key))
    }

    /// The value of a key, an empty one too, where that must not pass for absent.
    pub(in crate::http) fn value(&self, key: &str) -> Result<Option<&str>, Error> {
        let mut found = self.pairs.iter().filter(|(name, _)| name == key);
        let first = found.next().map(|(_, value)| value.as_str());
        if found.next().is_some() {
            return Err(Error::Malformed(format!(
                "parameter \"{key}\" is given twice"
            )));
        }
        Ok(first)
    }
}

fn pairs(text: &str) -> Result<Vec<(String, String)>, Error> {
    text.split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            Ok((form_text(key)?, form_text(value)?))
        })
        .collect()
}

fn form_text(text: &str) -> Result<String, Error> {
    if !text.contains('+') {
        return decode(text).map(Cow::into_owned);
    }
    decode(&text.replace('+', " ")).map(Cow::into_owned)
}

/// The keys of an undecoded query for the log, without any value. What does not look like a key of
/// ours is left out, for it may be a secret that was put there by mistake.
pub(in crate::http) fn keys_for_log(query: &str) -> String {
    let harmless = |key: &&str| {
        (1..=24).contains(&key.len()) && key.bytes().all(|b| b.is_ascii_lowercase() || b == b'_')
    };
    let keys: Vec<_> = query
        .split('&')
        .map(|pair| pair.split('=').next().unwrap_or(pair))
        .filter(|key| !key.is_empty())
        .map(|key| if harmless(&key) { key } else { "…" })
        .take(16)
        .collect();
    keys.join("&")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_decoded_and_empty_ones_are_absent() {
        let query = Query::parse("ref=feature%2Fa+b%2Bc&path=&search&x;y=1&REF=no").unwrap();
        assert_eq!(query.text("ref").unwrap(), Some("feature/a b+c"));
        assert_eq!(query.text("path").unwrap(), None);
        assert_eq!(query.text("search").unwrap(), None);
        assert_eq!(query.text("x;y").unwrap(), Some("1"));
        assert_eq!(query.text("absent").unwrap(), None);
        assert!(query.required("path").is_err());
    }

    #[test]
    fn a_known_key_given_twice_is_refused_and_an_unknown_one_is_not_looked_at() {
        let query = Query::parse("ref=a&x=1&x=2&ref=a").unwrap();
        assert!(query.text("ref").is_err());
        assert!(query.only(&["ref"]).is_err());
        assert!(query.only(&["ref", "x"]).is_ok());
        let long = Query::parse(&"%01".repeat(10_000)).unwrap();
        let refused = long.only(&[]).unwrap_err().to_string();
        assert_eq!(
            refused,
            format!("unknown query parameter \"{}…\"", "\u{1}".repeat(200))
        );
    }

    #[test]
    fn of_last_values_each_key_is_there_once() {
        let mut query = Query::parse("page=2&x=1&page=3&ref=&x=2&ref").unwrap();
        query.pairs.push(("page".to_owned(), "4".to_owned()));
        let mut query = query.last_values();
        query.merge_form("page=5&y=1&y=2").unwrap();
        let pairs: Vec<_> = query.pairs().collect();
        assert_eq!(pairs, [("x", "2"), ("ref", ""), ("page", "4"), ("y", "2")]);
        assert_eq!(query.text("page").unwrap(), Some("4"));
    }

    #[test]
    fn booleans_have_the_spellings_of_the_contract() {
        let flag = |value: &str| Query::parse(&format!("r={value}")).unwrap().flag("r");
        for yes in [
            "1", "true", "True", "TRUE", "t", "T", "yes", "Y", "on", "ON",
        ] {
            assert!(flag(yes).unwrap(), "{yes}");
        }
        for no in [
            "0", "false", "False", "FALSE", "f", "F", "no", "N", "off", "OFF",
        ] {
            assert!(!flag(no).unwrap(), "{no}");
        }
        for wrong in ["2", "tRue", "yep", "-1", "", "null"] {
            assert!(flag(wrong).is_err(), "{wrong:?} was accepted");
        }
        assert!(!Query::default().flag("r").unwrap());
    }

    #[test]
    fn for_readers_an_empty_boolean_was_not_given() {
        for text in ["r=", "r", "r=1&r=", "x=1&r="] {
            let query = Query::parse(text).unwrap().last_values();
            assert!(!query.flag("r").unwrap(), "{text}");
        }
        let mut query = Query::parse("r=").unwrap().last_values();
        query.merge_form("r=1&s=").unwrap();
        assert!(!query.flag("r").unwrap() && !query.flag("s").unwrap());
        let query = Query::parse("r=null").unwrap().last_values();
        assert!(query.flag("r").is_err());
    }

    #[test]
    fn the_query_wins_over_a_form_in_the_body() {
        let mut query = Query::parse("ref=a").unwrap();
        query.merge_form("ref=b&path=x%2Fy&recursive=true").unwrap();
        assert_eq!(query.text("ref").unwrap(), Some("a"));
        assert_eq!(query.text("path").unwrap(), Some("x/y"));
        assert!(query.flag("recursive").unwrap());
    }

    #[test]
    fn the_log_sees_keys_only() {
        let token = "a".repeat(64);
        assert_eq!(
            keys_for_log(&format!("ref=main&private_token={token}&{token}&X=1&&")),
            "ref&private_token&…&…"
        );
    }
}
