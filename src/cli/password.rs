//! Where a new password comes from: a line of standard input, a person at a terminal, or chance.

use std::io::{self, BufRead, Read};

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

use super::running::stop::Stop;
use super::{Error, Result, Streams};
use crate::access::{Accounts, random_password};
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
    /// Makes one up that nobody can guess.
    pub(super) fn random() -> Self {
        Self {
            text: random_password(),
            made_up: true,
        }
    }

    /// Obtains one for the account of this name: by asking twice when a person is there, who must not see
    /// it, from standard input when told so, else by chance.
    ///
    /// # Errors
    /// [`Error::Usage`] for one on standard input that breaks the rule, [`Error::Failed`] when a person
    /// gave none, or nobody would see one that is made up, [`Error::Interrupted`] after Ctrl-C.
    pub(super) fn obtain(
        account: &str,
        from_stdin: bool,
        streams: &mut Streams<'_>,
    ) -> Result<Self> {
        let text = if streams.input_is_terminal {
            ask_twice(account, streams)?
        } else if from_stdin {
            let line = read_line(streams.input).map_err(unread)?;
            let text = line.unwrap_or_default();
            Accounts::check_password(account, &text).map_err(|e| Error::Usage(e.to_string()))?;
            text
        } else {
            streams.require_out("the password")?;
            return Ok(Self::random());
        };
        Ok(Self {
            text,
            made_up: false,
        })
    }
}

/// One line without its end; `None` where there is none. More than a password can have is not read.
fn read_line(input: &mut dyn BufRead) -> io::Result<Option<String>> {
    let most = u64::try_from(PASSWORD_BYTES_MAX + 3).expect("a small constant");
    let mut line = String::new();
    if input.take(most).read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let end = line.trim_end_matches(['\r', '\n']).len();
    line.truncate(end);
    Ok(Some(line))
}

fn unread(error: io::Error) -> Error {
    Error::file("reading the password from", "standard input")(error)
}

/// Asks a person until there is a good password that was typed the same twice.
fn ask_twice(account: &str, streams: &mut Streams<'_>) -> Result<String> {
    // Whatever ends this, the terminal shows again what is typed.
    let stop = Stop::watch(false)?;
    let _silence = Silence::begin();
    let mut input = stop.reading(streams.input);
    let err = &mut *streams.err;
    let mut ask = |question: &str| {
        write!(err, "{question}: ")?;
        err.flush()?;
        let line = read_line(&mut input);
        writeln!(err)?;
        match line {
            Ok(Some(line)) => Ok(line),
            Ok(None) => Err(Error::Failed(
                "no password was given, and nothing was changed".to_owned(),
            )),
            Err(e) => Err(stop.name(unread(e))),
        }
    };
    let rule = format!("New password, {PASSWORD_BYTES_MIN} to {PASSWORD_BYTES_MAX} bytes");
    let (mut question, mut wrong) = (rule.clone(), String::new());
    for _ in 0..ASKED_MAX {
        let first = ask(&question)?;
        wrong = match Accounts::check_password(account, &first) {
            Err(refused) => refused.to_string(),
            Ok(()) if ask("The same again")? == first => return Ok(first),
            Ok(()) => "the two passwords differ".to_owned(),
        };
        question = format!("{wrong}\n{rule}");
    }
    Err(Error::Failed(format!("{wrong}; nothing was changed")))
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
            ("secret123\n", Some("secret123")),
            ("secret123\r\nmore\n", Some("secret123")),
            ("  spaces stay  ", Some("  spaces stay  ")),
            ("\n", Some("")),
            ("", None),
        ] {
            let line = read_line(&mut given.as_bytes()).unwrap();
            assert_eq!(line.as_deref(), read, "{given:?}");
        }
    }

    #[test]
    fn an_endless_line_is_not_read_to_its_end() {
        let endless = "x".repeat(1 << 20);
        let read = read_line(&mut endless.as_bytes()).unwrap().unwrap();
        assert_eq!(read.len(), PASSWORD_BYTES_MAX + 3);
    }

    #[test]
    fn no_two_random_ones_are_equal() {
        let (one, other) = (NewPassword::random(), NewPassword::random());
        assert_ne!(one.text, other.text);
        assert_eq!(one.text.len(), 32);
    }
}
