//! What the regular expressions of a schema take: memory once they are made, and time where they are matched.

use std::collections::HashMap;

use jsonschema::{PatternOptions, ValidationOptions};
use regex::RegexBuilder;
use serde_json::json;

use crate::base::limits::{
    REGEX_PROGRAM_BYTES_MAX, SCHEMA_DFA_BYTES_MAX, SCHEMA_PATTERN_BYTES_MAX,
    SCHEMA_PATTERNS_BYTES_MAX, SCHEMA_PATTERNS_MAX,
};

/// Programs are told apart down to this size, in bytes.
const PROGRAM_BYTES_MIN: usize = 256;
/// Bytes of a program that go over a byte of text in one step.
const PROGRAM_BYTES_A_STEP: f64 = 1024.0;
/// Characters of an expression that a refusal shows.
const SHOWN_CHARS: usize = 40;

/// The expressions of a schema: each counts as often as it is there, as what is kept for matching does.
#[derive(Debug, Default)]
pub(super) struct Patterns<'s> {
    /// The size of each one's program, in bytes; 0 of what is none.
    known: HashMap<&'s str, usize>,
    count: usize,
    bytes: usize,
}

impl<'s> Patterns<'s> {
    /// Counts one more, and gives the steps that it takes at most for each byte of a text. What is no
    /// expression is left to be told when the schema is read.
    ///
    /// # Errors
    /// Says what is too large, and what to do.
    ///
    /// # Limits
    /// [`SCHEMA_PATTERNS_MAX`], [`SCHEMA_PATTERN_BYTES_MAX`], and, as programs, [`REGEX_PROGRAM_BYTES_MAX`] each
    /// and [`SCHEMA_PATTERNS_BYTES_MAX`] together.
    pub(super) fn add(&mut self, pattern: &'s str) -> Result<f64, String> {
        self.count += 1;
        if self.count > SCHEMA_PATTERNS_MAX {
            return Err(format!(
                "it has more than {SCHEMA_PATTERNS_MAX} patterns: join some of them to one, as in \"^(a|b)\""
            ));
        }
        if pattern.len() > SCHEMA_PATTERN_BYTES_MAX {
            return Err(format!(
                "the pattern {} has more than {SCHEMA_PATTERN_BYTES_MAX} bytes: make it shorter",
                shown(pattern)
            ));
        }
        let bytes = match self.known.get(pattern) {
            Some(bytes) => *bytes,
            None => program_bytes(pattern)?,
        };
        self.known.insert(pattern, bytes);
        self.bytes += bytes;
        if self.bytes > SCHEMA_PATTERNS_BYTES_MAX {
            return Err(format!(
                "its patterns may take more than {SCHEMA_PATTERNS_BYTES_MAX} bytes of memory together: use fewer of \
                 them, with shorter repetitions and fewer classes as \"\\p{{L}}\""
            ));
        }
        let program = f64::from(u32::try_from(bytes).unwrap_or(u32::MAX));
        Ok(program / PROGRAM_BYTES_A_STEP)
    }

    /// What their programs take together, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// How the schema is read.
    pub(super) fn options(&self) -> ValidationOptions<'static> {
        let all = SCHEMA_PATTERNS_BYTES_MAX / self.count.max(1);
        options(REGEX_PROGRAM_BYTES_MAX, all.min(SCHEMA_DFA_BYTES_MAX))
    }
}

fn options(program_bytes: usize, dfa_bytes: usize) -> ValidationOptions<'static> {
    let patterns = PatternOptions::regex()
        .size_limit(program_bytes)
        .dfa_size_limit(dfa_bytes);
    jsonschema::options()
        .with_pattern_options(patterns)
        .offline()
}

/// How large the program of an expression is at most, in bytes: up to half more than it is. 0 of what is none.
fn program_bytes(pattern: &str) -> Result<usize, String> {
    let schema = json!({ "pattern": pattern });
    let fits = |bytes: &usize| options(*bytes, 0).build(&schema).is_ok();
    if !fits(&REGEX_PROGRAM_BYTES_MAX) {
        let mut builder = RegexBuilder::new(pattern);
        let made = builder.size_limit(REGEX_PROGRAM_BYTES_MAX).build();
        return match made {
            Err(regex::Error::CompiledTooBig(_)) => Err(format!(
                "the pattern {} takes more than {REGEX_PROGRAM_BYTES_MAX} bytes of memory: give it shorter \
                 repetitions, and fewer classes as \"\\p{{L}}\"",
                shown(pattern)
            )),
            _ => Ok(0),
        };
    }
    let sizes = std::iter::successors(Some(PROGRAM_BYTES_MIN), |bytes| Some(bytes + bytes / 2));
    let mut below = sizes.take_while(|bytes| *bytes < REGEX_PROGRAM_BYTES_MAX);
    Ok(below.find(fits).unwrap_or(REGEX_PROGRAM_BYTES_MAX))
}

/// The beginning of an expression, in quotes.
fn shown(pattern: &str) -> String {
    match pattern.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("\"{}…\"", &pattern[..end]),
        None => format!("\"{pattern}\""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_measured() {
        for (pattern, least, most) in [
            ("^[a-z]+$", 300, 600),
            ("^[0-9]{1,3}([.][0-9]{1,3}){3}$", 1000, 3000),
            ("^.{1,255}$", 250_000, 450_000),
            ("a[ab]{12000}[cd]", 900_000, 1 << 20),
            ("(?=a)", 0, 0),
        ] {
            let bytes = program_bytes(pattern).unwrap();
            assert!((least..=most).contains(&bytes), "{pattern}: {bytes}");
        }
        assert!(program_bytes("a[ab]{20000}[cd]").is_err());
    }

    #[test]
    fn each_counts_as_often_as_it_is_there() {
        let mut patterns = Patterns::default();
        let steps = patterns.add("^.{1,255}$").unwrap();
        let bytes = patterns.bytes();
        assert_eq!(patterns.add("^.{1,255}$"), Ok(steps));
        assert_eq!(patterns.bytes(), 2 * bytes);
        let refused = (0..SCHEMA_PATTERNS_MAX).find_map(|_| patterns.add("^.{1,255}$").err());
        assert!(refused.unwrap().starts_with("its patterns may take"));
        assert!(patterns.bytes() < SCHEMA_PATTERNS_BYTES_MAX + REGEX_PROGRAM_BYTES_MAX);
    }
}
