//! JSON in requests: typed, with nothing unknown, nothing twice, nothing left over.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeOwned, MapAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};

use crate::access::Expiry;
use crate::base::clock::Timestamp;
use crate::base::limits::REQUEST_HEAD_BYTES_MAX;
use crate::base::name_error::shortened;
use crate::http::error::Error;

/// How serde begins what it says of a value of another type.
const WRONG_TYPE: &str = "invalid type: ";

/// Longest text, as it is written and with its quotes, but for the contents of files: as much as a head has room for,
/// where some of what a body says may stand, too.
const TEXT_BYTES_MAX: usize = REQUEST_HEAD_BYTES_MAX;

/// Reads a body as one JSON object.
///
/// # Errors
/// Whatever is wrong with it, in words that name the field.
///
/// # Limits
/// Texts of [`TEXT_BYTES_MAX`].
pub(in crate::http) fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, Error> {
    read_with(body, None)
}

/// The same, with texts of any length in the fields of this name.
///
/// # Errors
/// As [`read`].
pub(in crate::http) fn read_with_long<T: DeserializeOwned>(
    body: &[u8],
    long: &str,
) -> Result<T, Error> {
    read_with(body, Some(long))
}

fn read_with<T: DeserializeOwned>(body: &[u8], long: Option<&str>) -> Result<T, Error> {
    check_texts(body, long)?;
    let mut from = serde_json::Deserializer::from_slice(body);
    let wrong = match serde_path_to_error::deserialize(&mut from) {
        Ok(Object(value)) => match from.end() {
            Ok(()) => return Ok(value),
            Err(behind) => behind.to_string(),
        },
        Err(error) => told(&error),
    };
    Err(Error::Malformed(format!("malformed JSON body: {wrong}")))
}

/// Refuses texts that are too long, but for those of the fields of one name. serde repeats what it refuses, key or
/// value, and has several copies of it at once: of a body as long as a batch may be they would be too large.
fn check_texts(body: &[u8], long: Option<&str>) -> Result<(), Error> {
    if body.len() <= TEXT_BYTES_MAX {
        return Ok(());
    }
    // What is malformed may have texts where none belong. serde refuses it there, and comes no further.
    let (mut before, mut at) = (&body[..0], 0);
    while let Some(gap) = body[at..].iter().position(|byte| *byte == b'"') {
        let begin = at + gap;
        let rest = &body[begin..];
        let may_be_long = || {
            let is_value = body[at..begin].trim_ascii() == b":";
            is_value && long.is_some_and(|long| is_text(before, long))
        };
        let length = match text_length(&rest[..rest.len().min(TEXT_BYTES_MAX)]) {
            Some(length) => length,
            None if rest.len() <= TEXT_BYTES_MAX || may_be_long() => {
                text_length(rest).unwrap_or(rest.len())
            }
            None => {
                return Err(Error::Malformed(format!(
                    "malformed JSON body: a text of more than {TEXT_BYTES_MAX} bytes begins at byte {}",
                    begin + 1
                )));
            }
        };
        before = &rest[..length];
        at = begin + length;
    }
    Ok(())
}

/// How many bytes a text takes that begins here, with its quotes; `None` if it does not end here.
fn text_length(bytes: &[u8]) -> Option<usize> {
    let is_special = |byte: &u8| matches!(byte, b'"' | b'\\');
    let mut end = 1;
    loop {
        end += bytes.get(end..)?.iter().position(is_special)? + 1;
        if bytes[end - 1] == b'"' {
            return Some(end);
        }
        // What is escaped ends nothing.
        end += 1;
    }
}

/// True if this is how a text is written, of which letters may be escaped.
fn is_text(written: &[u8], text: &str) -> bool {
    serde_json::from_slice::<String>(written).is_ok_and(|written| written == text)
}

/// What is wrong, and with which field, in the words of JSON, not of serde.
fn told(error: &serde_path_to_error::Error<serde_json::Error>) -> String {
    let (field, said) = (error.path().to_string(), error.inner().to_string());
    let said = match said.strip_prefix(WRONG_TYPE) {
        Some(types) => format!("{WRONG_TYPE}{}", in_json_words(&without_value(types))),
        None => with_short_value(&said).unwrap_or(said),
    };
    // What is no JSON has no fields, and that a field is unknown names it.
    if field == "." || !error.inner().is_data() || said.starts_with("unknown field ") {
        return said;
    }
    format!("{field}: {said}")
}

/// Two types, without the value that is of the wrong one: it may be a password.
fn without_value(types: &str) -> String {
    let cut = || {
        let value = types.find(['`', '"'])?;
        let expected = types.rfind(", expected ")?;
        let kind = types.get(..value).filter(|_| value < expected)?.trim_end();
        Some(format!("{kind}{}", &types[expected..]))
    };
    cut().unwrap_or_else(|| types.to_owned())
}

/// The same with no more of a name or a value than a refusal shows; `None` where none is repeated.
fn with_short_value(said: &str) -> Option<String> {
    let begin = said.find(['`', '"'])? + 1;
    // Its last quote is right before.
    let end = said.rfind(", expected ")?.checked_sub(1)?;
    let value = shortened(said.get(begin..end)?);
    Some(format!("{}{value}{}", &said[..begin], &said[end..]))
}

fn in_json_words(types: &str) -> String {
    let words = [
        ("a sequence", "an array"),
        ("sequence", "array"),
        ("a map", "an object"),
        ("map", "object"),
    ];
    words
        .into_iter()
        .fold(types.to_owned(), |types, (word, json)| {
            types.replace(word, json)
        })
}

/// A value that is written as an object. serde alone would also take an array of the fields.
#[derive(Debug)]
pub(in crate::http) struct Object<T>(pub(in crate::http) T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Fields<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for Fields<T> {
            type Value = T;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map))
            }
        }

        from.deserialize_map(Fields(PhantomData)).map(Object)
    }
}

/// For an optional field: it is absent, or has a value; `null` is not the same as absent.
pub(in crate::http) fn given<'de, T, D>(from: D) -> Result<Option<T>, D::Error>
where
    T: Deserialize<'de>,
    D: Deserializer<'de>,
{
    T::deserialize(from).map(Some)
}

/// `expires_at` as clients write it: RFC 3339, `YYYY-MM-DD`, a number of Unix seconds or
/// milliseconds, or `null` for never (contract section 6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::http) struct ExpiresAt(pub(in crate::http) Expiry);

impl<'de> Deserialize<'de> for ExpiresAt {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Spellings).map(Self)
    }
}

/// The spellings of a time at which something ends.
struct Spellings;

impl Visitor<'_> for Spellings {
    type Value = Expiry;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "null or a date: RFC 3339 with an offset, YYYY-MM-DD, whole Unix seconds or milliseconds",
        )
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<Expiry, E> {
        Ok(Expiry::Never)
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Expiry, E> {
        let wrong = || E::invalid_value(Unexpected::Str(text), &self);
        Timestamp::parse(text).map(Expiry::At).ok_or_else(wrong)
    }

    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<Expiry, E> {
        let wrong = || E::invalid_value(Unexpected::Signed(number), &self);
        Timestamp::from_number(number)
            .map(Expiry::At)
            .ok_or_else(wrong)
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<Expiry, E> {
        match i64::try_from(number) {
            Ok(number) => self.visit_i64(number),
            Err(_) => Err(E::invalid_value(Unexpected::Unsigned(number), &self)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(deny_unknown_fields)]
    struct Sample {
        name: String,
        #[serde(default, deserialize_with = "given")]
        expires_at: Option<ExpiresAt>,
        #[serde(default, deserialize_with = "given")]
        flag: Option<bool>,
        #[serde(default)]
        rows: Vec<Row>,
    }

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(deny_unknown_fields)]
    struct Row {
        map: u64,
    }

    fn expires_at(json: &str) -> Option<Expiry> {
        let sample: Sample = read(format!("{{\"name\":\"a\"{json}}}").as_bytes()).unwrap();
        sample.expires_at.map(|ExpiresAt(at)| at)
    }

    #[test]
    fn a_date_is_absent_null_or_one_of_its_spellings() {
        let day = Timestamp::parse("2027-01-01").map(Expiry::At);
        assert_eq!(expires_at(""), None);
        assert_eq!(expires_at(",\"expires_at\":null"), Some(Expiry::Never));
        assert_eq!(expires_at(",\"expires_at\":\"2027-01-01\""), day);
        assert_eq!(expires_at(",\"expires_at\":1798761600"), day);
        assert_eq!(expires_at(",\"expires_at\":1798761600000"), day);
    }

    #[test]
    fn a_refusal_names_the_field_and_does_not_repeat_what_is_of_another_type() {
        for (json, wrong) in [
            (
                "{\"name\":918273}",
                "name: invalid type: integer, expected a string at line 1 column 14",
            ),
            (
                "{\"name\":-1.5}",
                "name: invalid type: floating point, expected a string at line 1 column 12",
            ),
            (
                "{\"name\":true}",
                "name: invalid type: boolean, expected a string at line 1 column 12",
            ),
            (
                "{\"name\":[\"a\"]}",
                "name: invalid type: array, expected a string at line 1 column 8",
            ),
            (
                "{\"name\":{\"a\":1}}",
                "name: invalid type: object, expected a string at line 1 column 8",
            ),
            (
                "{\"name\":null}",
                "name: invalid type: null, expected a string at line 1 column 12",
            ),
            (
                "{\"name\":\"a\",\"rows\":\"x, expected `\"}",
                "rows: invalid type: string, expected an array at line 1 column 34",
            ),
            (
                "{\"name\":\"a\",\"rows\":[{\"map\":1},{\"map\":true}]}",
                "rows[1].map: invalid type: boolean, expected u64 at line 1 column 41",
            ),
            (
                "{\"name\":\"a\",\"rows\":[{}]}",
                "rows[0]: missing field `map` at line 1 column 22",
            ),
            (
                "{\"name\":\"a\",\"rows\":[{\"maps\":1}]}",
                "unknown field `maps`, expected `map` at line 1 column 27",
            ),
            (
                "{\"name\":\"a\",\"expires_at\":[]}",
                "expires_at: invalid type: array, expected null or a date: RFC 3339 with an offset, \
                 YYYY-MM-DD, whole Unix seconds or milliseconds at line 1 column 27",
            ),
            (
                "{\"name\":\"a",
                "EOF while parsing a string at line 1 column 10",
            ),
            (
                "\"a \\\"secret`, expected \"",
                "invalid type: string, expected an object at line 1 column 24",
            ),
        ] {
            let refused = read::<Sample>(json.as_bytes()).unwrap_err().to_string();
            assert_eq!(refused, format!("malformed JSON body: {wrong}"), "{json}");
        }
    }

    #[test]
    fn a_refusal_shows_the_beginning_of_what_is_long() {
        let (long, shown) = ("x".repeat(300), format!("{}…", "x".repeat(200)));
        for (json, begin, end) in [
            (
                format!("{{\"{long}\":1}}"),
                format!("unknown field `{shown}`, expected "),
                " at line 1 column 303",
            ),
            (
                format!("{{\"name\":\"a\",\"expires_at\":\"{long}\"}}"),
                format!("expires_at: invalid value: string \"{shown}\", expected null or a date: "),
                " at line 1 column 327",
            ),
        ] {
            let refused = read::<Sample>(json.as_bytes()).unwrap_err().to_string();
            let said = refused.strip_prefix("malformed JSON body: ").unwrap();
            assert!(said.starts_with(&begin) && said.ends_with(end), "{refused}");
        }
    }

    #[test]
    fn a_text_is_short_unless_its_field_may_have_a_long_one() {
        let long = "\\\"".repeat(TEXT_BYTES_MAX / 2);
        let whole = "\"".repeat(TEXT_BYTES_MAX / 2);
        for key in ["name", "n\\u0061me"] {
            let behind = "\", \"flag\":true}";
            let json = format!("{{ \"rows\": [] , \"{key}\" : \"{long}{behind}");
            let sample: Sample = read_with_long(json.as_bytes(), "name").unwrap();
            assert_eq!(sample.name, whole, "{key}");
            let refused = read::<Sample>(json.as_bytes()).unwrap_err().to_string();
            let begin = json.len() - long.len() - behind.len();
            assert_eq!(
                refused,
                format!(
                    "malformed JSON body: a text of more than 65536 bytes begins at byte {begin}"
                )
            );
        }
        for json in [
            format!("{{\"{long}\":1}}"),
            format!("{{\"name\":[\"{long}\"]}}"),
            format!("{{\"name\":\"a\",\"expires_at\":\"{long}\"}}"),
            format!("{{\"name\":\"a\",\"{long}"),
        ] {
            let refused = read_with_long::<Sample>(json.as_bytes(), "name").unwrap_err();
            let refused = refused.to_string();
            assert!(refused.contains("a text of more than"), "{refused:.200}");
        }
        // Of one that never ends serde says so.
        let json = format!("{}{{\"name\":\"a", " ".repeat(TEXT_BYTES_MAX));
        let refused = read::<Sample>(json.as_bytes()).unwrap_err().to_string();
        assert!(refused.contains("EOF"), "{refused}");
    }

    #[test]
    fn everything_else_is_refused() {
        let deep = format!("{{\"name\":{}", "[".repeat(100_000));
        for body in [
            "",
            "null",
            "[\"a\"]",
            "\"a\"",
            "{}",
            "{\"name\":1}",
            "{\"name\":null}",
            "{\"name\":\"a\",\"name\":\"b\"}",
            "{\"name\":\"a\",\"NAME\":\"b\"}",
            "{\"name\":\"a\",\"owner\":\"b\"}",
            "{\"name\":\"a\"} x",
            "\u{feff}{\"name\":\"a\"}",
            "{\"name\":\"\\ud800\"}",
            "{\"name\":\"a\",\"flag\":null}",
            "{\"name\":\"a\",\"flag\":\"true\"}",
            "{\"name\":\"a\",\"expires_at\":\"never\"}",
            "{\"name\":\"a\",\"expires_at\":1.5}",
            "{\"name\":\"a\",\"expires_at\":1e999}",
            "{\"name\":\"a\",\"expires_at\":true}",
            "{\"name\":\"a\",\"expires_at\":18446744073709551615}",
            &deep,
        ] {
            assert!(
                read::<Sample>(body.as_bytes()).is_err(),
                "{body:.60} was accepted"
            );
        }
    }
}
