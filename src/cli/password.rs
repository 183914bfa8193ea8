//! Where a new password comes from: a line of standard input, a person at a terminal, or chance.

use std::io::{self, BufRead, Read};

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

use super::{Error, Result, Streams};
use crate::base::limits::{PASSWORD_BYTES_MAX, PASSWORD_BYTES_MIN};

/// How often a password is asked for whose two spellings differ.
const ASKED_MAX: usize = 3;

/// A new password.
pub(super) struct NewPassword {
    /// The text.
    pub(super) text: String,
    /// True if nobody knows it yet: it has to be shown.
    pub(super) made_up: bool,
}

impl NewPassword {
    /// Makes one that nobody can guess: 128 random bits as 32 hexadecimal digits.
    pub(super) fn random() -> Self {
        Self {
            text: hex::encode(rand::random::<[u8; 16]>()),
            made_up: true,
        }
    }

    /// Obtains one: from standard input when told so, by asking twice when a person is there, else
    /// by chance.
    pub(super) fn obtain(from_stdin: bool, streams: &mut Streams<'_>) -> Result<Self> {
        let text = if from_stdin {
            read_line(streams.input)?
        } else if streams.input_is_terminal {
            ask_twice(streams)?
        } else {
            return Ok(Self::random());
        };
        Ok(Self {
            text,
            made_up: false,
        })
    }
}

/// One line without its end. More than a password can have is not read.
fn read_line(input: &mut dyn BufRead) -> Result<String> {
    let most = u64::try_from(PASSWORD_BYTES_MAX + 3).expect("a small constant");
    let mut line = String::new();
    input
        .take(most)
        .read_line(&mut line)
        .map_err(Error::file("reading the password from", "standard input"))?;
    let end = line.trim_end_matches(['\r', '\n']).len();
    line.truncate(end);
    Ok(line)
}

fn ask_twice(streams: &mut Streams<'_>) -> Result<String> {
    let _silence = Silence::begin();
    let question = format!("New password, {PASSWORD_BYTES_MIN} to {PASSWORD_BYTES_MAX} bytes");
    for _ in 0..ASKED_MAX {
        let first = ask(&question, streams)?;
        if ask("The same again", streams)? == first {
            return Ok(first);
        }
        writeln!(streams.err, "the two differ")?;
    }
    Err(Error::Usage("the two passwords differ".to_owned()))
}

fn ask(question: &str, streams: &mut Streams<'_>) -> Result<String> {
    write!(streams.err, "{question}: ")?;
    streams.err.flush()?;
    let line = read_line(streams.input)?;
    writeln!(streams.err)?;
    Ok(line)
}

/// The terminal's echo turned off, until dropped.
struct Silence {
    before: Option<Termios>,
}

impl Silence {
    fn begin() -> Self {
        let before = tcgetattr(io::stdin()).ok();
        if let Some(mut silent) = before.clone() {
            silent.local_modes.remove(LocalModes::ECHO);
            // A terminal without this setting shows what is typed; better than no password.
            let _set = tcsetattr(io::stdin(), OptionalActions::Flush, &silent);
        }
        Self { before }
    }
}

impl Drop for Silence {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            let _set = tcsetattr(io::stdin(), OptionalActions::Now, before);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_without_its_end() {
        for (given, read) in [
            ("secret123\n", "secret123"),
            ("secret123\r\nmore\n", "secret123"),
            ("  spaces stay  ", "  spaces stay  "),
            ("", ""),
        ] {
            assert_eq!(read_line(&mut given.as_bytes()).unwrap(), read, "{given:?}");
        }
    }

    #[test]
    fn an_endless_line_is_not_read_to_its_end() {
        let endless = "x".repeat(1 << 20);
        let read = read_line(&mut endless.as_bytes()).unwrap();
        assert_eq!(read.len(), PASSWORD_BYTES_MAX + 3);
    }

    #[test]
    fn no_two_random_ones_are_equal() {
        let (one, other) = (NewPassword::random(), NewPassword::random());
        assert_ne!(one.text, other.text);
        assert_eq!(one.text.len(), 32);
    }
}
