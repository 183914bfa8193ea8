//! The address of a database, which may hold a password and is shown without it.

use std::fmt;
use std::fmt::Write as _;

/// What an address says beside the user, the hosts and the database that may be shown.
const SHOWN: [&str; 6] = ["dbname", "host", "hostaddr", "port", "sslmode", "user"];

/// The URL of a PostgreSQL database. Its `Display` and its `Debug` leave out the password.
#[derive(Clone, PartialEq, Eq)]
pub struct DatabaseUrl {
    url: String,
    shown: String,
    has_password: bool,
}

impl DatabaseUrl {
    /// Takes a URL, as in `postgres://siteconf@localhost/siteconf`.
    ///
    /// # Errors
    /// What is wrong with it, a sentence that repeats nothing of it.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        if !cfg!(feature = "fleet") {
            return Err(
                "this program was built without the feature \"fleet\", which a store in PostgreSQL \
                 needs",
            );
        }
        let rest = text
            .strip_prefix("postgres://")
            .or_else(|| text.strip_prefix("postgresql://"))
            .ok_or("it must be of the form postgres://user@host/database")?;
        let (before, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, database) = before.split_once('/').unwrap_or((before, ""));
        if query.contains('@') || database.contains('@') {
            return Err(
                "a slash, a question mark and an @ in a name or a password must be written %2F, %3F \
                 and %40",
            );
        }
        let (login, hosts) = authority.rsplit_once('@').unwrap_or(("", authority));
        let (user, password) = login.split_once(':').unwrap_or((login, ""));
        let is_shown = |param: &&str| {
            let name = param.split('=').next().unwrap_or_default();
            SHOWN.contains(&name)
        };
        let (params, hidden): (Vec<_>, Vec<_>) = query
            .split('&')
            .filter(|param| !param.is_empty())
            .partition(is_shown);
        let mut shown = "postgres://".to_owned();
        if !user.is_empty() {
            write!(shown, "{user}@").expect("a string takes all");
        }
        write!(shown, "{hosts}/{database}").expect("a string takes all");
        if !params.is_empty() {
            write!(shown, "?{}", params.join("&")).expect("a string takes all");
        }
        let is_password = |param: &&str| param.starts_with("password=");
        Ok(Self {
            url: text.to_owned(),
            shown,
            has_password: !password.is_empty() || hidden.iter().any(is_password),
        })
    }

    /// True if it holds a password.
    pub fn has_password(&self) -> bool {
        self.has_password
    }

    /// The same with this password.
    #[must_use]
    pub fn with_password(self, password: &str) -> Self {
        let mark = if self.url.contains('?') { '&' } else { '?' };
        let encoded =
            percent_encoding::utf8_percent_encode(password, percent_encoding::NON_ALPHANUMERIC);
        Self {
            url: format!("{}{mark}password={encoded}", self.url),
            has_password: true,
            ..self
        }
    }

    /// The URL with its password, for who connects.
    pub fn reveal(&self) -> &str {
        &self.url
    }
}

impl fmt::Display for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DatabaseUrl({})", self.shown)
    }
}

#[cfg(all(test, feature = "fleet"))]
mod tests {
    use super::*;

    #[test]
    fn no_secret_is_shown() {
        for (url, shown, has_password) in [
            ("postgres://a@h/d", "postgres://a@h/d", false),
            ("postgresql://a@h:1,i:2/d", "postgres://a@h:1,i:2/d", false),
            ("postgres://a:Hidden@h/d", "postgres://a@h/d", true),
            ("postgres://a:Hid@den:x@h/d", "postgres://a@h/d", true),
            (
                "postgres:///d?host=%2Frun&password=Hidden&user=a",
                "postgres:///d?host=%2Frun&user=a",
                true,
            ),
            ("postgres:///d?pass%77ord=Hidden", "postgres:///d", false),
            ("postgres://a@h", "postgres://a@h/", false),
        ] {
            let parsed = DatabaseUrl::parse(url).unwrap();
            assert_eq!(
                (parsed.to_string(), parsed.has_password()),
                (shown.to_owned(), has_password),
                "{url}"
            );
            assert_eq!(parsed.reveal(), url);
            let with = parsed.with_password("Hid den&@/é");
            assert!(with.has_password());
            let all = format!("{with} {with:?}");
            assert!(!all.contains("Hid"), "{all}");
            let end = "password=Hid%20den%26%40%2F%C3%A9";
            assert!(with.reveal().ends_with(end), "{}", with.reveal());
        }
        for wrong in [
            "/var/lib/siteconf",
            "mysql://a:Hidden@h/d",
            "host=h password=Hidden",
            "postgres://a:Hid/den@h/d",
            "postgres://a:Hid?den@h/d",
        ] {
            let refusal = DatabaseUrl::parse(wrong).unwrap_err();
            assert!(!refusal.contains("Hid"), "{refusal}");
        }
    }
}

#[cfg(all(test, not(feature = "fleet")))]
mod tests {
    use super::*;

    #[test]
    fn without_the_engine_it_is_said_how_to_have_it() {
        assert_eq!(
            DatabaseUrl::parse("postgres://a@h/d").unwrap_err(),
            "this program was built without the feature \"fleet\", which a store in PostgreSQL needs"
        );
    }
}
