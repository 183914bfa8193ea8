//! The rule for new passwords. Those that an account has already are not held against it.

use zxcvbn::zxcvbn;

use crate::access::error::{Error, Result};
use crate::base::limits::{PASSWORD_BYTES_MAX, PASSWORD_BYTES_MIN, PASSWORD_GUESSES_MIN};

/// Refuses a password that is guessed soon. Any characters are allowed, and none is changed.
///
/// # Errors
/// [`Error::Invalid`] for fewer than [`PASSWORD_BYTES_MIN`] or more than [`PASSWORD_BYTES_MAX`] bytes,
/// and for one of the first 100,000 guesses of whoever knows the account's name: a common password, the
/// name, a run of keys or digits, or one of these repeated or slightly changed.
pub(in crate::access) fn check(account: &str, password: &str) -> Result<()> {
    if !(PASSWORD_BYTES_MIN..=PASSWORD_BYTES_MAX).contains(&password.len()) {
        return Err(Error::invalid(format!(
            "malformed password: it must have {PASSWORD_BYTES_MIN} to {PASSWORD_BYTES_MAX} bytes"
        )));
    }
    if zxcvbn(password, &[account]).guesses() <= PASSWORD_GUESSES_MIN {
        return Err(Error::invalid(
            "this password is guessed soon: it is common, the user name, a row of keys, or one of these \
             repeated; take several words, or let one be made up",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(password: &str) -> Option<String> {
        let checked = check("administrator", password);
        checked.err().map(|refused| refused.to_string())
    }

    #[test]
    fn a_new_password_has_its_length() {
        let longest = "battery staple ".repeat(69)[..PASSWORD_BYTES_MAX].to_owned();
        for wrong in ["eleven byte", "", &format!("{longest}x")] {
            let expected = "malformed password: it must have 12 to 1024 bytes";
            assert_eq!(refused(wrong).as_deref(), Some(expected), "{wrong}");
        }
        assert_eq!(refused(&longest), None);
        assert_eq!(refused("пароль"), None, "twelve bytes");
    }

    #[test]
    fn what_is_guessed_first_is_refused() {
        for soon in [
            "administrator",
            "Administrator",
            "administratoradministrator",
            "123456789012",
            "111111111111",
            "            ",
            "passwordpassword",
            "1q2w3e4r5t6y",
            "qwertyuiop[]",
            "abcdefghijkl",
        ] {
            let said = refused(soon).unwrap_or_default();
            assert!(said.starts_with("this password is guessed soon"), "{soon}");
        }
        for fine in [
            "correct horse",
            "administrator has one",
            "9f86d081884c7d659a2feaa0c55ad015",
            "длинный пароль",
        ] {
            assert_eq!(refused(fine), None, "{fine}");
        }
    }
}
