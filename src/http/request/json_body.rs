//! JSON in requests: typed, with nothing unknown, nothing twice, nothing left over.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeOwned, Error as _, MapAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};

use crate::access::Expiry;
use crate::base::clock::Timestamp;
use crate::http::error::Error;

/// Reads a body as one JSON object.
///
/// # Errors
/// Whatever is wrong with it, in words that name the field.
pub(in crate::http) fn read<T: DeserializeOwned>(body: &[u8]) -> Result<T, Error> {
    serde_json::from_slice(body)
        .map(|Object(value)| value)
        .map_err(|error| {
            let wrong = without_value(error.to_string());
            Error::Malformed(format!("malformed JSON body: {wrong}"))
        })
}

/// What is wrong, without the value that is of another type: it may be a password.
fn without_value(said: String) -> String {
    const WRONG_TYPE: &str = "invalid type: ";
    let cut = || {
        let kind = said.find(WRONG_TYPE)? + WRONG_TYPE.len();
        let value = kind + said[kind..].find(['`', '"'])?;
        let expected = said.rfind(", expected ")?;
        let known = said.get(value..expected).map(|_| said[..value].trim_end());
        Some(format!("{}{}", known?, &said[expected..]))
    };
    cut().unwrap_or(said)
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
        from.deserialize_any(Spellings)
            .map(Self)
            .map_err(|error| D::Error::custom(format_args!("expires_at: {error}")))
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
    fn a_refusal_does_not_repeat_what_is_of_another_type() {
        for (json, wrong) in [
            (
                "{\"name\":918273}",
                "integer, expected a string at line 1 column 14",
            ),
            (
                "{\"name\":-1.5}",
                "floating point, expected a string at line 1 column 12",
            ),
            (
                "{\"name\":true}",
                "boolean, expected a string at line 1 column 12",
            ),
            (
                "{\"name\":[\"a\"]}",
                "sequence, expected a string at line 1 column 8",
            ),
            (
                "{\"name\":null}",
                "null, expected a string at line 1 column 12",
            ),
            (
                "\"a \\\"secret`, expected \"",
                "string, expected an object at line 1 column 24",
            ),
        ] {
            let refused = read::<Sample>(json.as_bytes()).unwrap_err().to_string();
            let expected = format!("malformed JSON body: invalid type: {wrong}");
            assert_eq!(refused, expected, "{json}");
        }
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
