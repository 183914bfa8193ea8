//! Why somebody made a change.

use std::fmt;

use crate::base::limits::MESSAGE_BYTES_MAX;
use crate::base::name_error::{is_deceptive, is_hidden};

/// What a history says of a change: text of one or more lines.
///
/// # Limits
/// 1 to 4,096 bytes; of control characters only line ends and tabs, as what shows a history may be a
/// terminal; of those that are not seen only joiners, which some scripts and emoji need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message(String);

/// What is wrong with a message. It reads on after the name of what held it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MessageError {
    /// There is nothing in it.
    #[error("is empty")]
    Empty,
    /// It is over the limit.
    #[error("is longer than {MESSAGE_BYTES_MAX} bytes")]
    TooLong,
    /// A terminal might take a part of it for an order.
    #[error("holds a control character that is no line end and no tab")]
    Control,
    /// What is shown is not what is there.
    #[error("holds a bidirectional, zero-width or other invisible character")]
    Hidden,
}

impl Message {
    /// Checks a text.
    pub fn parse(text: &str) -> Result<Self, MessageError> {
        let is_plain = |c: char| matches!(c, '\n' | '\r' | '\t' | '\u{200c}' | '\u{200d}');
        let message = Self::parse_old(text)?;
        if text
            .chars()
            .any(|c| !is_plain(c) && (is_deceptive(c) || is_hidden(c)))
        {
            return Err(MessageError::Hidden);
        }
        Ok(message)
    }

    /// Checks a text of an older system, whose history stays as it was.
    pub fn parse_old(text: &str) -> Result<Self, MessageError> {
        let is_barred = |c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\t');
        if text.is_empty() {
            Err(MessageError::Empty)
        } else if text.len() > MESSAGE_BYTES_MAX {
            Err(MessageError::TooLong)
        } else if text.chars().any(is_barred) {
            Err(MessageError::Control)
        } else {
            Ok(Self(text.to_owned()))
        }
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_lines_and_no_other_controls() {
        let longest = "m".repeat(MESSAGE_BYTES_MAX);
        for text in [
            "x",
            "two\nlines",
            "two\r\n\tlines",
            "новые цены",
            "👩\u{200d}🚀",
            &longest,
        ] {
            assert_eq!(Message::parse(text).unwrap().to_string(), text);
        }
        let long = "m".repeat(MESSAGE_BYTES_MAX + 1);
        for (text, error) in [
            ("", MessageError::Empty),
            (&long, MessageError::TooLong),
            ("\u{1b}[31m", MessageError::Control),
            ("a\0", MessageError::Control),
            ("a\u{7f}", MessageError::Control),
            ("a\u{9b}", MessageError::Control),
            ("a\u{202e}b", MessageError::Hidden),
            ("a\u{2028}b", MessageError::Hidden),
            ("a\u{ad}b", MessageError::Hidden),
            ("a\u{e0041}", MessageError::Hidden),
        ] {
            assert_eq!(Message::parse(text), Err(error), "{text:?}");
        }
    }
}
