//! JSON: whether a text is it, its value, and where in the text a part of the value stands.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::text::{Fault, Place, place_of};

/// Refuses what is not JSON. Nothing of it is kept, so nesting costs nothing.
pub(super) fn check(text: &str) -> Result<(), Fault> {
    read::<IgnoredAny>(text).map(drop)
}

/// The value of a text.
///
/// # Errors
/// Also for one that is nested more than 127 deep.
pub(super) fn value(text: &str) -> Result<Value, Fault> {
    read(text)
}

fn read<'t, T: Deserialize<'t>>(text: &'t str) -> Result<T, Fault> {
    serde_json::from_str(text).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        let reason = error.to_string();
        let reason = reason.strip_suffix(&format!(" at line {line} column {column}"));
        let reason = reason.map_or_else(|| error.to_string(), str::to_owned);
        // serde_json counts bytes in a line.
        let start = text.split_inclusive('\n').take(line.saturating_sub(1));
        let offset = start.map(str::len).sum::<usize>() + column.saturating_sub(1);
        Fault::in_text(text, offset.min(text.len()), reason)
    })
}

/// Where in a text that is JSON the part of its value stands that these keys and numbers lead to; what is
/// not there is told by the place of the last that is.
pub(super) fn place<'p>(text: &str, path: impl Iterator<Item = Cow<'p, str>>) -> Place {
    let mut here = text.trim_ascii_start();
    for name in path {
        let Some(next) = part(here, &name) else {
            break;
        };
        here = next;
    }
    place_of(text, here.as_ptr().addr() - text.as_ptr().addr())
}

/// The part of an object or an array that has this key or number. Of a key that is there twice the last
/// counts, as for the value.
fn part<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let is_object = text.starts_with('{');
    if !is_object && !text.starts_with('[') {
        return None;
    }
    let mut found = None;
    let mut rest = text[1..].trim_ascii_start();
    for number in 0_usize.. {
        if rest.starts_with(['}', ']']) || rest.is_empty() {
            break;
        }
        let is_meant = if is_object {
            let (key, behind) = rest.split_at(end_of_value(rest));
            rest = behind
                .trim_ascii_start()
                .strip_prefix(':')?
                .trim_ascii_start();
            serde_json::from_str::<String>(key).ok()? == name
        } else {
            name.parse() == Ok(number)
        };
        if is_meant {
            found = Some(rest);
        }
        rest = rest[end_of_value(rest)..].trim_ascii_start();
        rest = rest.strip_prefix(',').unwrap_or(rest).trim_ascii_start();
    }
    found
}

/// The length of the value that a text which is JSON begins with.
fn end_of_value(text: &str) -> usize {
    let bytes = text.as_bytes();
    let (mut depth, mut at) = (0_usize, 0);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => {
                at += 1;
                while bytes.get(at).is_some_and(|byte| *byte != b'"') {
                    at += 1 + usize::from(bytes[at] == b'\\');
                }
                if depth == 0 {
                    return (at + 1).min(bytes.len());
                }
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' | b',' if depth == 0 => return at,
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    return at + 1;
                }
            }
            byte if depth == 0 && byte.is_ascii_whitespace() => return at,
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(text: &str) -> String {
        let Fault { place, reason } = check(text).unwrap_err();
        format!("{} {reason}", place.unwrap())
    }

    #[test]
    fn what_is_no_json_is_told_with_its_place() {
        for sound in ["{}", " [1, 2.5e3, \"я\", null]\n", "1", "{\"a\":1,\"a\":2}"] {
            check(sound).unwrap();
        }
        assert_eq!(fault(""), "1:1 EOF while parsing a value");
        assert_eq!(fault("{\n  \"я\": 1,\n}"), "3:1 key must be a string");
        assert_eq!(fault("{\"я\" 1}"), "1:6 expected `:`");
        assert_eq!(fault("[1] x"), "1:5 trailing characters");
        assert_eq!(fault("[NaN]"), "1:2 expected value");
        assert_eq!(fault("{'a':1}"), "1:2 key must be a string");
    }

    #[test]
    fn nesting_is_no_danger() {
        let deep = 1 << 20;
        check(&("[".repeat(deep) + &"]".repeat(deep))).unwrap();
        assert!(check(&"[".repeat(deep)).is_err());
        assert!(value(&("[".repeat(200) + &"]".repeat(200))).is_err());
    }

    #[test]
    fn a_part_is_found_in_the_text() {
        let text = "\n{\"я\": 0,\n \"a/b\": [true,\n  {\"c\": 3}]}";
        let found = |path: &[&str]| {
            let path = path.iter().map(|name| Cow::Borrowed(*name));
            place(text, path).to_string()
        };
        assert_eq!(found(&[]), "2:1");
        assert_eq!(found(&["я"]), "2:7");
        assert_eq!(found(&["a/b", "1", "c"]), "4:9");
        assert_eq!(found(&["a/b", "7"]), "3:9");
    }
}
