//! What a connection is made with beside the address: the password, and what TLS trusts and shows. For each connection
//! the file of the password is read anew, and those of TLS are where they have changed. What cannot be used leaves in
//! its place what was there before.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use tokio::time::Instant;

use crate::base::threads::lock;
use crate::store::database_url::{ClientCertificate, DatabaseUrl, password_in};
use crate::store::postgres::tls::Connector;
use crate::store::remote::repeated::Repeated;
use crate::store::small_file::{self, Mark, mark};

/// Files that could not be used are read again after so long, or when they have changed.
const FAILED_AGAIN_AFTER: Duration = Duration::from_mins(1);

/// The files, and what the last connection was made with. Its `Debug` shows no secret.
pub(super) struct Credentials {
    password_file: Option<PathBuf>,
    /// The files of TLS that the address names, if it is used.
    tls: Option<TlsFiles>,
    last: Mutex<Last>,
    faults: Repeated,
}

/// What a connection is made with.
#[derive(Clone)]
pub(super) struct Credential {
    /// `None` where it is that of the address.
    pub(super) password: Option<String>,
    pub(super) connector: Connector,
}

/// What the last connection was made with.
struct Last {
    credential: Credential,
    /// Of the files of TLS, before they were read.
    marks: [Mark; 3],
    /// When they could not be used.
    failed: Option<Instant>,
}

/// Files of certificates and of a key.
struct TlsFiles {
    /// `None` for the system's certificates, which are read again with the others.
    trusted: Option<PathBuf>,
    shown: Option<ClientCertificate>,
}

impl Credentials {
    /// Those of an address over which nothing is encrypted.
    pub(super) fn plain(url: &DatabaseUrl) -> Self {
        Self::new(url, None, Connector::plain(), [None; 3])
    }

    /// Those of an address to which TLS is spoken.
    ///
    /// # Errors
    /// What is wrong with the files that it names, a sentence.
    pub(super) fn over_tls(url: &DatabaseUrl) -> Result<Self, String> {
        let files = TlsFiles {
            trusted: url.root_file().map(Path::to_owned),
            shown: url.certificate().cloned(),
        };
        let marks = files.marks();
        let connector = files.connector()?;
        Ok(Self::new(url, Some(files), connector, marks))
    }

    fn new(
        url: &DatabaseUrl,
        tls: Option<TlsFiles>,
        connector: Connector,
        marks: [Mark; 3],
    ) -> Self {
        let credential = Credential {
            password: None,
            connector,
        };
        Self {
            password_file: url.password_file().map(Path::to_owned),
            tls,
            last: Mutex::new(Last {
                credential,
                marks,
                failed: None,
            }),
            faults: Repeated::default(),
        }
    }

    /// What the next connection is to be made with.
    pub(super) fn now(&self) -> Credential {
        let mut last = lock(&self.last);
        if let Some(file) = &self.password_file {
            match read_password(file) {
                Ok(password) => last.credential.password = Some(password),
                Err(fault) => self.tell(&fault),
            }
        }
        if let Some(files) = &self.tls {
            let marks = files.marks();
            // What kept them from being read may end without a change of theirs.
            let is_due = |failed: Instant| failed.elapsed() >= FAILED_AGAIN_AFTER;
            if marks != last.marks || last.failed.is_some_and(is_due) {
                last.marks = marks;
                match files.connector() {
                    Ok(connector) => {
                        last.credential.connector = connector;
                        last.failed = None;
                    }
                    Err(fault) => {
                        last.failed = Some(Instant::now());
                        self.tell(&fault);
                    }
                }
            }
        }
        last.credential.clone()
    }

    fn tell(&self, fault: &str) {
        if self.faults.is_due(fault) {
            tracing::error!(
                fault,
                "what connections to the database are made with cannot be read anew; what was there before is used"
            );
        }
    }
}

impl TlsFiles {
    fn marks(&self) -> [Mark; 3] {
        let shown = self.shown.as_ref();
        let files = [
            self.trusted.as_deref(),
            shown.map(|shown| &*shown.certificates),
            shown.map(|shown| &*shown.key),
        ];
        files.map(|file| file.and_then(mark))
    }

    fn connector(&self) -> Result<Connector, String> {
        Connector::trusting(self.trusted.as_deref(), self.shown.as_ref())
    }
}

/// # Errors
/// What is wrong with the file, without a word of what is in it.
fn read_password(file: &Path) -> Result<String, String> {
    let named = |fault: &dyn fmt::Display| {
        format!("postgres_password_file names {}: {fault}", file.display())
    };
    let text = small_file::read_text(file).map_err(|fault| named(&fault))?;
    let password = password_in(&text).map_err(|fault| named(&fault))?;
    Ok(password.to_owned())
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        lock(&self.last).credential.connector.fmt(f)
    }
}
