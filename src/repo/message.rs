//! Why somebody made a change.

use std::fmt;

use crate::base::limits::MESSAGE_BYTES_MAX;

/// What a history says of a change: text of one or more lines.
///
/// # Limits
/// 1 to 4,096 bytes; of control characters only line ends and tabs, as what shows a history may be a
/// terminal.
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
}

impl Message {
    /// Checks a text.
    pub fn parse(text: &str) -> Result<Self, MessageError> {
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
        for text in ["x", "two\nlines", "two\r\n\tlines", "новые цены", &longest] {
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
        ] {
            assert_eq!(Message::parse(text), Err(error), "{text:?}");
        }
    }
}
