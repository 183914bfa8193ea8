//! The certificate and key of the TLS listener: read at the start, at SIGHUP and when their files
//! change. One that cannot be used leaves the one before in its place.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use tokio_rustls::rustls::client::verify_server_cert_signed_by_trust_anchor;
use tokio_rustls::rustls::crypto::{CryptoProvider, ring};
use tokio_rustls::rustls::pki_types::pem;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use tokio_rustls::rustls::server::{ClientHello, ParsedCertificate, ResolvesServerCert};
use tokio_rustls::rustls::sign::CertifiedKey;
use tokio_rustls::rustls::{
    CertificateError, Error as TlsError, RootCertStore, ServerConfig, version,
};

use crate::base::clock::{Clock, DAY_S, Timestamp};
use crate::base::threads::lock;
use crate::base::tls::KEY_KINDS;
use crate::cli::settings::{Exposed, Sourced};
use crate::cli::{Error, Result};
use crate::store::small_file::{self, CERTIFICATE_BYTES_MAX, Mark, mark};

/// How often the files are looked at. A change is read when it is still the same a look later, so that
/// a certificate is not read beside the key of the one before.
pub(super) const LOOK_EVERY: Duration = Duration::from_secs(2);

/// After so many looks, about a minute, what could not be used is tried again.
const LOOKS_TO_TRY: u32 = 30;

/// From so many days before its end on, the log warns of it, once a day.
const WARN_DAYS: u64 = 14;
/// What is wrong with a file whose first certificate cannot be read.
const NO_CERTIFICATE: &str = "its first certificate cannot be read: it is damaged, has a critical extension that is \
                              not known here, or is of X.509 version 1, which has no names: it must be of version 3, \
                              as with subjectAltName";

/// A certificate with its key, which may be another one tomorrow.
#[derive(Debug)]
pub(super) struct Certificate {
    chain_file: Sourced<PathBuf>,
    key_file: Sourced<PathBuf>,
    clock: Arc<dyn Clock>,
    current: RwLock<Arc<CertifiedKey>>,
    watched: Mutex<Watched>,
}

/// What was seen of the files.
#[derive(Debug)]
struct Watched {
    /// When they were read.
    read: Marks,
    /// At the last look.
    looked: Marks,
    /// What came of that reading, if it gave no pair.
    failed: Option<Failed>,
    /// The day, counted from 1970, on which the log was last told of the end to come.
    warned_day: u64,
}

/// A pair that could not be used. It may be of use later without any change of its files: one that begins a
/// moment after it was signed, or one that could not be opened for want of descriptors.
#[derive(Debug)]
struct Failed {
    reason: String,
    /// Looks since then.
    looks: u32,
}

/// Of the certificate's file, and of the key's.
type Marks = [Mark; 2];

/// Why a pair cannot be used, and which of its files is to blame.
#[derive(Debug)]
struct Fault<'a> {
    file: &'a Sourced<PathBuf>,
    reason: String,
}

impl Certificate {
    /// Reads the pair.
    ///
    /// # Errors
    /// [`Error::Usage`] with the setting of the file that cannot be used.
    pub(super) fn open(
        chain_file: &Sourced<PathBuf>,
        key_file: &Sourced<PathBuf>,
        clock: Arc<dyn Clock>,
    ) -> Result<Arc<Self>> {
        let marks = [mark(chain_file), mark(key_file)];
        let read = read(chain_file, key_file, clock.now());
        let pair = read.map_err(|fault| fault.file.refuse(fault.reason))?;
        let certificate = Self {
            chain_file: chain_file.clone(),
            key_file: key_file.clone(),
            clock,
            current: RwLock::new(Arc::new(pair)),
            watched: Mutex::new(Watched {
                read: marks,
                looked: marks,
                failed: None,
                warned_day: 0,
            }),
        };
        Ok(Arc::new(certificate))
    }

    /// Reads the pair again, and takes it if it can be used. The log is told either way.
    pub(super) fn read_again(&self) {
        let mut watched = self.watched();
        watched.failed = None;
        self.try_pair(&mut watched);
    }

    /// Reads the pair, and takes it if it can be used. The log is told, but not again of the same failure.
    fn try_pair(&self, watched: &mut Watched) {
        let marks = self.marks();
        (watched.read, watched.looked) = (marks, marks);
        let known = watched.failed.take().map(|failed| failed.reason);
        match read(&self.chain_file, &self.key_file, self.clock.now()) {
            Ok(pair) => {
                *self.current.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(pair);
                watched.warned_day = 0;
                tracing::info!(file = %self.chain_file.display(), "certificate read");
            }
            Err(Fault { file, reason }) => {
                if known.as_ref() != Some(&reason) {
                    tracing::error!(
                        file = %file.display(),
                        reason,
                        "the certificate cannot be used; the one before stays"
                    );
                }
                watched.failed = Some(Failed { reason, looks: 0 });
            }
        }
    }

    /// Looks at the files, and reads them again where they have changed and are at rest, and about once a
    /// minute where they could not be used. Once a day it warns of a certificate that ends soon.
    pub(super) fn look(&self) {
        let mut watched = self.watched();
        let marks = self.marks();
        let is_at_rest = marks == watched.looked;
        watched.looked = marks;
        let is_new = marks != watched.read;
        let is_due = watched.failed.as_mut().is_some_and(|failed| {
            failed.looks += 1;
            failed.looks >= LOOKS_TO_TRY
        });
        if (is_new || is_due) && is_at_rest {
            if is_new {
                watched.failed = None;
            }
            self.try_pair(&mut watched);
        }
        let day = seconds(self.clock.now()) / DAY_S;
        if watched.warned_day != day {
            watched.warned_day = day;
            self.warn_of_end();
        }
    }

    /// What TLS connections are made by.
    ///
    /// # Errors
    /// [`Error::Failed`] when the system has no random numbers.
    pub(super) fn config(self: &Arc<Self>) -> Result<ServerConfig> {
        let failed = |e: TlsError| Error::Failed(format!("preparing TLS: {e}"));
        let resolver: Arc<dyn ResolvesServerCert> = Arc::<Self>::clone(self);
        let mut config = ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&version::TLS13, &version::TLS12])
            .map_err(failed)?
            .with_no_client_auth()
            .with_cert_resolver(resolver);
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        // A client that comes again, as most do every minute, is spared half of the handshake.
        config.ticketer = ring::Ticketer::new().map_err(failed)?;
        Ok(config)
    }

    /// When the certificate that is shown ends, in seconds since 1970.
    pub(super) fn ends_s(&self) -> Option<u64> {
        let current = self.current();
        // After all time it has ended, and the refusal says when.
        match judge(current.cert.first()?, u64::MAX) {
            Err(TlsError::InvalidCertificate(CertificateError::ExpiredContext {
                not_after,
                ..
            })) => Some(not_after.as_secs()),
            _ => None,
        }
    }

    fn warn_of_end(&self) {
        let current = self.current();
        let now = seconds(self.clock.now());
        let Some(first) = current.cert.first() else {
            return;
        };
        if let Err(reason) = check_time(first, now + WARN_DAYS * DAY_S) {
            tracing::warn!(file = %self.chain_file.display(), reason, "the certificate ends soon");
        }
    }

    fn current(&self) -> Arc<CertifiedKey> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn marks(&self) -> Marks {
        [mark(&self.chain_file), mark(&self.key_file)]
    }

    fn watched(&self) -> std::sync::MutexGuard<'_, Watched> {
        lock(&self.watched)
    }
}

impl ResolvesServerCert for Certificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.current())
    }
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

/// Reads a pair that can be used now.
fn read<'a>(
    chain_file: &'a Sourced<PathBuf>,
    key_file: &'a Sourced<PathBuf>,
    now: Timestamp,
) -> std::result::Result<CertifiedKey, Fault<'a>> {
    let of_chain = |reason: String| Fault {
        file: chain_file,
        reason,
    };
    let of_key = |reason: String| Fault {
        file: key_file,
        reason,
    };
    let bytes_of =
        |file| small_file::read(file, CERTIFICATE_BYTES_MAX).map_err(|fault| fault.to_string());
    let text = bytes_of(chain_file).map_err(of_chain)?;
    let chain: std::result::Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    let chain = chain.map_err(|e| {
        of_chain(match e {
            pem::Error::MissingSectionEnd { .. } => {
                "its last part has no end: it is written by half".to_owned()
            }
            _ => "a part of it is no PEM: it is damaged, or was not copied whole".to_owned(),
        })
    })?;
    let Some(first) = chain.first() else {
        return Err(of_chain("there is no certificate in it".to_owned()));
    };
    check_time(first, seconds(now)).map_err(of_chain)?;
    let text = bytes_of(key_file).map_err(of_key)?;
    let key = PrivateKeyDer::from_pem_slice(&text)
        .map_err(|_| of_key("there is no private key without a password in it".to_owned()))?;
    let others = chain.get(1..).unwrap_or_default().to_vec();
    let of_another = others
        .into_iter()
        .any(|other| CertifiedKey::from_der(vec![other], key.clone_key(), &provider()).is_ok());
    let pair = CertifiedKey::from_der(chain, key, &provider()).map_err(|e| match e {
        TlsError::InconsistentKeys(_) if of_another => {
            of_chain("the server's own certificate, which the key fits, must come first".to_owned())
        }
        TlsError::InconsistentKeys(_) => of_key(format!(
            "it does not fit the certificate in {}",
            chain_file.display()
        )),
        TlsError::InvalidCertificate(_) => of_chain(NO_CERTIFICATE.to_owned()),
        _ => of_key(format!(
            "it is damaged, or of a kind that cannot be used: it must be {KEY_KINDS}"
        )),
    })?;
    if let Some(exposed) = exposed_key(key_file) {
        exposed.warn();
    }
    Ok(pair)
}

/// The key of a certificate, if everybody may read it.
pub(super) fn exposed_key(file: &Path) -> Option<Exposed> {
    Exposed::find(file, "the key")
}

/// Refuses a certificate that does not count at this time, in seconds since 1970. Nothing else of it is
/// judged: whether it is trusted is for the clients to say.
fn check_time(certificate: &CertificateDer<'_>, at_s: u64) -> std::result::Result<(), String> {
    let day = |at: UnixTime| {
        let ms = i64::try_from(at.as_secs().saturating_mul(1000)).unwrap_or(i64::MAX);
        Timestamp::from_ms(ms)
    };
    ParsedCertificate::try_from(certificate).map_err(|_| NO_CERTIFICATE.to_owned())?;
    match judge(certificate, at_s) {
        Err(TlsError::InvalidCertificate(CertificateError::ExpiredContext {
            not_after, ..
        })) => Err(format!("the certificate ends at {}", day(not_after))),
        Err(TlsError::InvalidCertificate(CertificateError::NotValidYetContext {
            not_before,
            ..
        })) => Err(format!("the certificate begins at {}", day(not_before))),
        _ => Ok(()),
    }
}

/// What TLS itself says of a certificate at a time, in seconds since 1970, of whose issuer nothing is
/// known: its time is checked before that.
fn judge(certificate: &CertificateDer<'_>, at_s: u64) -> std::result::Result<(), TlsError> {
    verify_server_cert_signed_by_trust_anchor(
        &ParsedCertificate::try_from(certificate)?,
        &RootCertStore::empty(),
        &[],
        UnixTime::since_unix_epoch(Duration::from_secs(at_s)),
        provider().signature_verification_algorithms.all,
    )
}

fn seconds(at: Timestamp) -> u64 {
    u64::try_from(at.ms() / 1000).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    use std::time::Instant;

    use clap::Parser;
    use rcgen::{CertificateParams, KeyPair, date_time_ymd};

    use super::*;
    use crate::base::clock::ManualClock;
    use crate::cli::args::{Cli, Command};
    use crate::cli::settings::Settings;

    /// Writes a pair for the time between two years.
    fn write_pair(folder: &Path, begin: i32, end: i32) {
        let mut params = CertificateParams::new(["conf.example".to_owned()]).unwrap();
        params.not_before = date_time_ymd(begin, 1, 1);
        params.not_after = date_time_ymd(end, 1, 1);
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        fs::write(folder.join("cert.pem"), certificate.pem()).unwrap();
        fs::write(folder.join("key.pem"), key.serialize_pem()).unwrap();
    }

    /// One that was signed a moment ago may begin a moment later.
    #[test]
    fn what_could_not_be_used_is_tried_again() {
        let folder = tempfile::tempdir().unwrap();
        let line = [
            "siteconf".into(),
            "serve".into(),
            "--tls-cert".into(),
            folder.path().join("cert.pem").into_os_string(),
            "--tls-key".into(),
            folder.path().join("key.pem").into_os_string(),
        ];
        let Ok(Cli {
            command: Command::Serve(serve),
            settings,
        }) = Cli::try_parse_from(line)
        else {
            panic!("the line says serve");
        };
        let settings = Settings::gather(settings, serve.settings.given()).unwrap();
        let year = |year: i32| Timestamp::parse(&format!("{year}-01-02T00:00:00Z")).unwrap();
        let clock = Arc::new(ManualClock::new(year(2026)));
        write_pair(folder.path(), 2020, 2030);
        let certificate =
            Certificate::open(&settings.tls_cert, &settings.tls_key, clock.clone()).unwrap();
        let old = certificate.ends_s();
        write_pair(folder.path(), 2027, 2040);
        let looks = |count| (0..count).for_each(|_| certificate.look());
        looks(100);
        assert_eq!(certificate.ends_s(), old);
        clock.set(year(2027));
        looks(100);
        assert!(certificate.ends_s() > old, "the new one is never taken");
    }

    /// A key that the service could not read is read once it may.
    #[test]
    fn other_rights_are_a_change() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let before = mark(file.path());
        let end = Instant::now() + Duration::from_secs(10);
        // The file system's clock may not have moved on since the file was made.
        while mark(file.path()) == before {
            assert!(Instant::now() < end, "{before:?} stays");
            let rights = fs::Permissions::from_mode(0o640);
            fs::set_permissions(file.path(), rights).unwrap();
        }
        let (before, group) = (mark(file.path()), file.as_file().metadata().unwrap().gid());
        while mark(file.path()) == before {
            assert!(Instant::now() < end, "{before:?} stays");
            std::os::unix::fs::chown(file.path(), None, Some(group)).unwrap();
        }
    }
}
