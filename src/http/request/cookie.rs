//! The session cookie (contract section 7).

use hyper::HeaderMap;
use hyper::header::{COOKIE, HeaderValue};

use crate::base::secret::Secret;

/// The cookie as this service sets it: its name and attributes depend on how it is reached.
#[derive(Clone, Copy, Debug)]
pub(in crate::http) struct SessionCookie {
    secure: bool,
}

impl SessionCookie {
    /// For a service that is reached by https, or not.
    pub(in crate::http) const fn new(secure: bool) -> Self {
        Self { secure }
    }

    const fn name(self) -> &'static str {
        if self.secure {
            "__Host-siteconf_session"
        } else {
            "siteconf_session"
        }
    }

    /// The cookie's value in a request. Two values are none: a sibling port or subdomain may have
    /// set the other.
    pub(in crate::http) fn read(self, headers: &HeaderMap) -> Option<Secret> {
        let mut values = headers
            .get_all(COOKIE)
            .into_iter()
            .flat_map(|line| line.as_bytes().split(|&b| b == b';'))
            .filter_map(|pair| {
                let pair = pair.trim_ascii();
                let at = pair.iter().position(|&b| b == b'=')?;
                (&pair[..at] == self.name().as_bytes()).then(|| &pair[at + 1..])
            });
        let value = values.next()?;
        if values.next().is_some() {
            return None;
        }
        Secret::parse(value)
    }

    /// The line that sets it.
    pub(in crate::http) fn set(self, secret: &Secret) -> HeaderValue {
        let mut line = self.line(secret.reveal(), "");
        line.set_sensitive(true);
        line
    }

    /// The line that removes it.
    pub(in crate::http) fn remove(self) -> HeaderValue {
        self.line("", "; Max-Age=0")
    }

    fn line(self, value: &str, age: &str) -> HeaderValue {
        let name = self.name();
        let secure = if self.secure { "; Secure" } else { "" };
        let line = format!("{name}={value}; Path=/; HttpOnly; SameSite=Strict{secure}{age}");
        HeaderValue::try_from(line).expect("a secret has only hexadecimal digits")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(cookie: SessionCookie, lines: &[String]) -> bool {
        let headers = lines
            .iter()
            .map(|line| (COOKIE, HeaderValue::try_from(line).unwrap()))
            .collect();
        cookie.read(&headers).is_some()
    }

    #[test]
    fn one_value_under_our_name_is_a_session_and_two_are_none() {
        let cookie = SessionCookie::new(false);
        let (one, two) = ("a".repeat(64), "b".repeat(64));
        let ours = |value: &str| format!("siteconf_session={value}");
        assert!(read(cookie, &[ours(&one)]));
        assert!(read(cookie, &[format!("x=1; {}; y=2", ours(&one))]));
        assert!(read(cookie, &["x=1".into(), ours(&one)]));
        for lines in [
            vec![],
            vec![ours("")],
            vec![ours(&one.to_uppercase())],
            vec![ours(&format!("\"{one}\""))],
            vec![format!("{}; {}", ours(&one), ours(&two))],
            vec![ours(&one), ours(&one)],
            vec![format!("__Host-siteconf_session={one}")],
            vec![format!("Siteconf_session={one}")],
        ] {
            assert!(!read(cookie, &lines), "{lines:?} was a session");
        }
        assert!(read(
            SessionCookie::new(true),
            &[format!("__Host-siteconf_session={one}")]
        ));
    }

    #[test]
    fn the_attributes_follow_the_contract() {
        let secret = Secret::generate();
        let plain = SessionCookie::new(false).set(&secret);
        assert_eq!(
            plain.to_str().unwrap(),
            format!(
                "siteconf_session={}; Path=/; HttpOnly; SameSite=Strict",
                secret.reveal()
            )
        );
        assert_eq!(
            SessionCookie::new(true).remove(),
            "__Host-siteconf_session=; Path=/; HttpOnly; SameSite=Strict; Secure; Max-Age=0"
        );
    }
}
