//! The token, from a file or the environment: never from a flag, which everybody on the machine can read.

use std::env;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::cli::{Error, Result};

/// The variable that has the token where no file is named.
pub(in crate::cli::pull) const VARIABLE: &str = "SITECONF_TOKEN";
/// Longest token, in bytes.
const TOKEN_BYTES_MAX: u64 = 4096;

/// A token. It has no `Debug`: nothing may show it.
pub(in crate::cli::pull) struct Token(String);

impl Token {
    /// Reads it; `None` where there is none, as for a public project.
    ///
    /// # Errors
    /// [`Error::File`] for a file that cannot be read, [`Error::Usage`] for what cannot be a token.
    pub(in crate::cli::pull) fn read(file: Option<&Path>) -> Result<Option<Self>> {
        let Some(path) = file else {
            let Some(given) = env::var_os(VARIABLE).filter(|given| !given.is_empty()) else {
                return Ok(None);
            };
            let text = given.into_string().ok();
            return Self::parse(text, VARIABLE).map(Some);
        };
        let mut bytes = Vec::new();
        File::open(path)
            .and_then(|file| file.take(TOKEN_BYTES_MAX + 1).read_to_end(&mut bytes))
            .map_err(Error::file("reading the token in", path))?;
        let name = path.display().to_string();
        Self::parse(String::from_utf8(bytes).ok(), &name).map(Some)
    }

    fn parse(text: Option<String>, place: &str) -> Result<Self> {
        let text = text.unwrap_or_default();
        let token = text.trim();
        let fits = u64::try_from(token.len()).is_ok_and(|length| length <= TOKEN_BYTES_MAX);
        if token.is_empty() || !fits || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(Error::Usage(format!(
                "{place} holds no token: one line of visible ASCII, as `siteconf token create` prints it"
            )));
        }
        Ok(Self(token.to_owned()))
    }

    /// Its text, for the header that carries it.
    pub(in crate::cli::pull) fn text(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_one_line() {
        let parse = |text: &str| Token::parse(Some(text.to_owned()), "x").map(|token| token.0);
        assert_eq!(parse(" 0a1b\r\n").unwrap(), "0a1b");
        for wrong in ["", "\n", "a b", "a\nb", "\u{44f}", &"a".repeat(4097)] {
            assert!(matches!(parse(wrong), Err(Error::Usage(_))), "{wrong:?}");
        }
    }
}
