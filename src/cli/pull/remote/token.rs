//! The token, from a file or the environment: never from a flag, which everybody on the machine can read.

use std::env;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use super::address;
use crate::base::threads::lock;
use crate::cli::output::visible_path;
use crate::cli::settings::Exposed;
use crate::cli::{Error, Result};

/// The variable that has the token where no file is named.
pub(in crate::cli::pull) const VARIABLE: &str = "SITECONF_TOKEN";
/// Longest token, in bytes.
const TOKEN_BYTES_MAX: u64 = 4096;

/// A token. It has no `Debug`: nothing may show it.
pub(in crate::cli::pull) struct Token {
    text: Mutex<Arc<str>>,
    /// Where it is read again.
    file: Option<PathBuf>,
}

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
            let text = parse(given.into_string().ok(), VARIABLE)?;
            return Ok(Some(Self::new(text, None)));
        };
        let text = read_file(path)?;
        Ok(Some(Self::new(text, Some(path.to_owned()))))
    }

    fn new(text: Arc<str>, file: Option<PathBuf>) -> Self {
        Self {
            text: Mutex::new(text),
            file,
        }
    }

    /// Its text, for the header that carries it.
    pub(in crate::cli::pull) fn text(&self) -> Arc<str> {
        Arc::clone(&lock(&self.text))
    }

    /// Who else may read it, a line each: those on the way to this root, and everybody on this machine.
    pub(in crate::cli::pull) fn exposures(&self, root: &str) -> Vec<String> {
        let on_the_way = address::open_host(root).map(|host| {
            format!("the token goes over the network unencrypted: http://{host}; use https")
        });
        let file = self.file.as_deref();
        let here = file.and_then(|file| Exposed::find(file, "the token"));
        let here = here.map(|found| format!("{}: {found}", visible_path(found.file())));
        on_the_way.into_iter().chain(here).collect()
    }

    /// Reads its file again, as after a rotation; a file that cannot be read now changes nothing. True if
    /// the token is another than this one.
    pub(in crate::cli::pull) fn renew(&self, than: &str) -> bool {
        if let Some(Ok(text)) = self.file.as_deref().map(read_file) {
            *lock(&self.text) = text;
        }
        *self.text() != *than
    }
}

fn read_file(path: &Path) -> Result<Arc<str>> {
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(TOKEN_BYTES_MAX + 1).read_to_end(&mut bytes))
        .map_err(Error::file("reading the token in", path))?;
    parse(String::from_utf8(bytes).ok(), &path.display().to_string())
}

fn parse(text: Option<String>, place: &str) -> Result<Arc<str>> {
    let text = text.unwrap_or_default();
    let token = text.trim();
    let fits = u64::try_from(token.len()).is_ok_and(|length| length <= TOKEN_BYTES_MAX);
    if token.is_empty() || !fits || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(Error::Usage(format!(
            "{place} holds no token: one line of visible ASCII, as `siteconf token create` prints it"
        )));
    }
    Ok(token.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_one_line() {
        let parse = |text: &str| parse(Some(text.to_owned()), "x");
        assert_eq!(&*parse(" 0a1b\r\n").unwrap(), "0a1b");
        for wrong in ["", "\n", "a b", "a\nb", "\u{44f}", &"a".repeat(4097)] {
            assert!(matches!(parse(wrong), Err(Error::Usage(_))), "{wrong:?}");
        }
    }
}
