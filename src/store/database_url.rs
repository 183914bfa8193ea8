//! The address of a database, which may hold a password and is shown without it.

use std::borrow::Cow;
use std::fmt;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// What an address says beside the user, the hosts and the database that may be shown.
const SHOWN: [&str; 9] = [
    "dbname",
    "host",
    "hostaddr",
    "port",
    "sslcert",
    "sslkey",
    "sslmode",
    "sslrootcert",
    "user",
];
/// What of it is about encryption, which the client that connects knows nothing of.
const OF_ENCRYPTION: [&str; 4] = ["sslcert", "sslkey", "sslmode", "sslrootcert"];
/// What stands in the place of a secret.
const STARS: &str = "***";
/// What names the system's certificates as a file of them.
const SYSTEM: &str = "system";

/// How connections are to be made safe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encryption {
    /// They are not.
    Disable,
    /// By TLS, with a certificate that is trusted and names the host.
    VerifyFull,
}

/// What a client shows a server that asks for a certificate: the file of it and of those that lead to its issuer,
/// and the file of its key, both PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientCertificate {
    /// The file of the certificates, its own first.
    pub certificates: PathBuf,
    /// The file of the key.
    pub key: PathBuf,
}

/// The URL of a PostgreSQL database. Its `Display` and its `Debug` leave out the password.
#[derive(Clone, PartialEq, Eq)]
pub struct DatabaseUrl {
    url: String,
    shown: String,
    masked: String,
    has_password: bool,
    encryption: Option<Encryption>,
    root_file: Option<PathBuf>,
    certificate: Option<ClientCertificate>,
    password_file: Option<PathBuf>,
}

/// The password in the text of its file.
///
/// # Errors
/// What is wrong with it, a sentence that repeats nothing of it.
pub fn password_in(text: &str) -> Result<&str, &'static str> {
    match text.lines().next().unwrap_or_default() {
        "" => Err("its first line must be the password"),
        password => Ok(password),
    }
}

impl DatabaseUrl {
    /// Takes a URL, as in `postgres://siteconf@localhost/siteconf`.
    ///
    /// # Errors
    /// What is wrong with it, a sentence that repeats nothing of it but the name of a parameter.
    pub fn parse(text: &str) -> Result<Self, Cow<'static, str>> {
        if !cfg!(feature = "fleet") {
            return Err(
                "this program was built without the feature \"fleet\", which a store in PostgreSQL \
                 needs"
                    .into(),
            );
        }
        let read = Self::read(text)?;
        #[cfg(feature = "fleet")]
        read.require_client_takes()?;
        Ok(read)
    }

    fn read(text: &str) -> Result<Self, &'static str> {
        let parts = Parts::of(text)?;
        let is_password = |param: &&str| param.starts_with("password=");
        let value = |name: &str| {
            let mut all = parts.shown.iter().filter_map(|param| param.split_once('='));
            let (_, value) = all.rfind(|(of, _)| *of == name)?;
            Some(percent_decode_str(value).decode_utf8_lossy().into_owned())
        };
        let encryption = match value("sslmode").as_deref() {
            None => None,
            Some("disable") => Some(Encryption::Disable),
            Some("verify-full") => Some(Encryption::VerifyFull),
            Some(_) => {
                return Err(
                    "sslmode must be verify-full, or disable where the network is trusted: what lies \
                     between would encrypt, and anybody could be at the other end",
                );
            }
        };
        let certificate = match (value("sslcert"), value("sslkey")) {
            (Some(certificates), Some(key)) => Some(ClientCertificate {
                certificates: certificates.into(),
                key: key.into(),
            }),
            (None, None) => None,
            _ => return Err("sslcert and sslkey must be given together"),
        };
        Ok(Self {
            url: text.to_owned(),
            shown: parts.to_shown(),
            masked: parts.to_masked(),
            has_password: !parts.password.is_empty() || parts.hidden.iter().any(is_password),
            encryption,
            root_file: value("sslrootcert")
                .filter(|file| file != SYSTEM)
                .map(PathBuf::from),
            certificate,
            password_file: None,
        })
    }

    /// Refuses what the client that connects would.
    #[cfg(feature = "fleet")]
    fn require_client_takes(&self) -> Result<(), Cow<'static, str>> {
        let is_taken = |url: &str| url.parse::<tokio_postgres::Config>().is_ok();
        let url = self.reveal_to_client();
        let (address, query) = url.split_once('?').unwrap_or((&url, ""));
        if !is_taken(address) {
            let reason = "its address is not of the form postgres://[user@]host[:port]/database, with a port of at \
                          most 65535";
            return Err(reason.into());
        }
        let mut is_behind_password = false;
        for param in query.split('&').filter(|param| !param.is_empty()) {
            let name = name_of(param);
            if !is_taken(&format!("postgres:///?{param}")) {
                // What follows a password may be a part of one in which an & is not written %26.
                let is_word = name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
                return Err(if is_word && !is_behind_password {
                    let reason = "there is no such parameter, or its value cannot be";
                    format!("the parameter \"{name}\": {reason}").into()
                } else {
                    "it has a parameter that there is not, or whose value cannot be; an & in a password \
                     must be written %26"
                        .into()
                });
            }
            is_behind_password |= percent_decode_str(name).decode_utf8_lossy() == "password";
        }
        Ok(())
    }

    /// True for a text that is a URL, or was meant to be one, and not the name of a folder.
    pub fn is_meant_by(text: &str) -> bool {
        let of_database = ["postgres:", "postgresql:"];
        text.contains("://") || of_database.iter().any(|scheme| text.starts_with(scheme))
    }

    /// The URL with stars for its password, and for the values of parameters that are not shown, which come last.
    pub fn masked(&self) -> &str {
        &self.masked
    }

    /// True if it holds a password.
    pub fn has_password(&self) -> bool {
        self.has_password
    }

    /// The same with this password, which was read in a file that may hold another one later.
    #[must_use]
    pub fn with_password_of(self, file: &Path, password: &str) -> Self {
        Self {
            password_file: Some(file.to_owned()),
            ..self.with_password(password)
        }
    }

    fn with_password(self, password: &str) -> Self {
        let mark = if self.url.contains('?') { '&' } else { '?' };
        let encoded = utf8_percent_encode(password, NON_ALPHANUMERIC);
        Self {
            url: format!("{}{mark}password={encoded}", self.url),
            has_password: true,
            ..self
        }
    }

    /// The file that its password was read in.
    pub fn password_file(&self) -> Option<&Path> {
        self.password_file.as_deref()
    }

    /// The URL with its password, for who connects.
    pub fn reveal(&self) -> &str {
        &self.url
    }

    /// The same without what it says of encryption.
    pub fn reveal_to_client(&self) -> String {
        let (before, query) = self.url.split_once('?').unwrap_or((&self.url, ""));
        let is_theirs = |param: &&str| !OF_ENCRYPTION.contains(&name_of(param));
        let params: Vec<_> = query.split('&').filter(is_theirs).collect();
        format!("{before}?{}", params.join("&"))
    }

    /// How connections are to be made safe; `None` where it does not say.
    pub fn encryption(&self) -> Option<Encryption> {
        self.encryption
    }

    /// The file of the certificates to trust; `None` for the system's.
    pub fn root_file(&self) -> Option<&Path> {
        self.root_file.as_deref()
    }

    /// What is shown to a server that asks for a certificate.
    pub fn certificate(&self) -> Option<&ClientCertificate> {
        self.certificate.as_ref()
    }
}

/// The parts of a URL, as they are written in it.
struct Parts<'a> {
    user: &'a str,
    password: &'a str,
    hosts: &'a str,
    database: &'a str,
    /// The parameters that may be shown.
    shown: Vec<&'a str>,
    /// The others.
    hidden: Vec<&'a str>,
}

impl<'a> Parts<'a> {
    fn of(text: &'a str) -> Result<Self, &'static str> {
        let rest = text
            .strip_prefix("postgres://")
            .or_else(|| text.strip_prefix("postgresql://"))
            .ok_or("it must be of the form postgres://[user@]host[:port]/database")?;
        let (before, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, database) = before.split_once('/').unwrap_or((before, ""));
        let (login, hosts) = authority.rsplit_once('@').unwrap_or(("", authority));
        if query.contains('@') || database.contains('@') || login.contains('@') {
            return Err(
                "a slash, a question mark and an @ in a name or a password must be written %2F, %3F \
                 and %40",
            );
        }
        let (user, password) = login.split_once(':').unwrap_or((login, ""));
        let is_shown = |param: &&str| SHOWN.contains(&name_of(param));
        let params = query.split('&').filter(|param| !param.is_empty());
        let (shown, hidden) = params.partition(is_shown);
        Ok(Self {
            user,
            password,
            hosts,
            database,
            shown,
            hidden,
        })
    }

    /// The URL without what is not shown.
    fn to_shown(&self) -> String {
        self.written(self.user, &self.shown)
    }

    /// The URL with stars in the place of it.
    fn to_masked(&self) -> String {
        let user = self.user;
        let login = if self.password.is_empty() {
            user.to_owned()
        } else {
            format!("{user}:{STARS}")
        };
        let hidden = self.hidden.iter();
        let hidden: Vec<_> = hidden
            .map(|param| format!("{}={STARS}", name_of(param)))
            .collect();
        let mut params = self.shown.clone();
        params.extend(hidden.iter().map(String::as_str));
        self.written(&login, &params)
    }

    fn written(&self, login: &str, params: &[&str]) -> String {
        let Self {
            hosts, database, ..
        } = self;
        let mut url = "postgres://".to_owned();
        if !login.is_empty() {
            write!(url, "{login}@").expect("a string takes all");
        }
        write!(url, "{hosts}/{database}").expect("a string takes all");
        if !params.is_empty() {
            write!(url, "?{}", params.join("&")).expect("a string takes all");
        }
        url
    }
}

/// The name of a parameter.
fn name_of(param: &str) -> &str {
    param.split('=').next().unwrap_or_default()
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
            (
                "postgres:///d?host=%2Frun&password=Hidden&user=a",
                "postgres:///d?host=%2Frun&user=a",
                true,
            ),
            ("postgres:///d?pass%77ord=Hidden", "postgres:///d", false),
            ("postgres://a@h", "postgres://a@h/", false),
            (
                "postgres://a@h/d?sslmode=verify-full&sslrootcert=%2Fca.pem&options=Hidden",
                "postgres://a@h/d?sslmode=verify-full&sslrootcert=%2Fca.pem",
                false,
            ),
        ] {
            let parsed = DatabaseUrl::parse(url).unwrap();
            assert_eq!(
                (parsed.to_string(), parsed.has_password()),
                (shown.to_owned(), has_password),
                "{url}"
            );
            assert_eq!(parsed.reveal(), url);
            assert!(!parsed.masked().contains("Hid"), "{}", parsed.masked());
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
            "postgres://a:Hid@den:x@h/d",
            "postgres://a:Hid?den@h/d",
            "postgres://a:Hidden@h/d?sslmode=require",
            "postgres://a:Hidden@h/d?sslcert=/a.pem",
            "postgres://a:Hidden@h:99999/d",
            "postgres://a@h/d?Hidden=1",
            "postgres://a@h/d?password=x&hid",
            "postgres://a@h/d?port=Hidden",
        ] {
            let refusal = DatabaseUrl::parse(wrong).unwrap_err();
            assert!(!refusal.to_lowercase().contains("hid"), "{refusal}");
        }
    }
}

#[cfg(all(test, feature = "fleet"))]
mod encryption_tests {
    use super::*;

    #[test]
    fn what_is_said_of_encryption_is_not_for_the_client() {
        let parse = |url| DatabaseUrl::parse(url).unwrap();
        let said = parse("postgres://a@h/d?sslmode=verify-full&port=1&sslrootcert=%2Fca%20s.pem");
        assert_eq!(said.encryption(), Some(Encryption::VerifyFull));
        assert_eq!(said.root_file(), Some(Path::new("/ca s.pem")));
        assert_eq!(said.reveal_to_client(), "postgres://a@h/d?port=1");
        assert_eq!(said.certificate(), None);
        let with = said.with_password("p");
        assert_eq!(
            with.reveal_to_client(),
            "postgres://a@h/d?port=1&password=p"
        );
        let shown = parse("postgres://a@h/d?sslkey=%2Fa.key&port=1&sslcert=%2Fa.pem");
        let certificate = ClientCertificate {
            certificates: "/a.pem".into(),
            key: "/a.key".into(),
        };
        assert_eq!(shown.certificate(), Some(&certificate));
        assert_eq!(shown.reveal_to_client(), "postgres://a@h/d?port=1");
        let none = parse("postgres://a@h/d?sslmode=disable&sslrootcert=system");
        assert_eq!(none.encryption(), Some(Encryption::Disable));
        assert_eq!(
            (none.root_file(), parse("postgres://a@h/d").encryption()),
            (None, None)
        );
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
