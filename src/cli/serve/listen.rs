//! Where the service listens: TCP, TLS, a Unix socket, and a port for its metrics, each if its setting
//! says so.

use std::fs::{self, File};
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use tokio::net::{TcpListener, UnixListener};
use tokio_rustls::rustls::ServerConfig;

use super::certificate::Certificate;
use crate::base::clock::{Clock, SystemClock};
use crate::cli::settings::{Settings, Sourced};
use crate::cli::{Error, Result};
use crate::http::Listener;

/// Why a service does not listen on a path.
const NO_SOCKET: &str = "what lies there is no socket, and is not replaced";
/// The value of `listen` for no plain listener.
const NONE: &str = "none";
/// The rights on the Unix socket: who may open it is believed what it tells of clients.
const SOCKET_MODE: u32 = 0o660;
/// Longest path of a Unix socket: the system takes 108 bytes with the one that ends it.
const SOCKET_PATH_BYTES_MAX: usize = 107;
/// Longest wait for another service that begins to listen in the same folder, and how often it is tried.
const LOCK_WAIT: Duration = Duration::from_secs(5);
const LOCK_PAUSE: Duration = Duration::from_millis(5);

/// What the settings name, checked before anything is opened.
#[derive(Debug)]
pub(super) struct Places {
    plain: Option<SocketAddr>,
    tls: Option<(SocketAddr, Arc<ServerConfig>)>,
    unix: Option<Sourced<PathBuf>>,
    metrics: Option<SocketAddr>,
    /// What the TLS listener shows.
    pub(super) certificate: Option<Arc<Certificate>>,
}

impl Places {
    /// Reads the settings, and the certificate that they name.
    ///
    /// # Errors
    /// [`Error::Usage`] for what cannot be, [`Error::Failed`].
    pub(super) fn of(settings: &Settings, clock: &Arc<dyn Clock>) -> Result<Self> {
        let plain = match settings.listen.as_str() {
            NONE => None,
            _ => Some(resolve(&settings.listen)?),
        };
        let [tls_listen, unix_listen] = [
            !settings.tls_listen.is_empty(),
            !settings.unix_listen.as_os_str().is_empty(),
        ];
        if plain.is_none() && !tls_listen && !unix_listen {
            return Err(settings
                .listen
                .refuse("then tls_listen or unix_listen must say where to listen"));
        }
        let files = [&settings.tls_cert, &settings.tls_key];
        let mut places = Self {
            plain,
            tls: None,
            unix: unix_listen.then(|| settings.unix_listen.clone()),
            metrics: match settings.metrics_listen.as_str() {
                "" => None,
                _ => Some(resolve(&settings.metrics_listen)?),
            },
            certificate: None,
        };
        if tls_listen {
            let address = resolve(&settings.tls_listen)?;
            if files.iter().any(|file| file.as_os_str().is_empty()) {
                return Err(settings
                    .tls_listen
                    .refuse("it needs a certificate and its key: set tls_cert and tls_key"));
            }
            let clock = Arc::clone(clock);
            let certificate = Certificate::open(&settings.tls_cert, &settings.tls_key, clock)?;
            places.tls = Some((address, Arc::new(certificate.config()?)));
            places.certificate = Some(certificate);
        } else if let Some(file) = files.iter().find(|file| !file.as_os_str().is_empty()) {
            return Err(file.refuse("nothing speaks TLS: set tls_listen to an address and a port"));
        }
        places.require_different(settings)?;
        Ok(places)
    }

    /// # Errors
    /// [`Error::Usage`] where two listeners have the same address: the system would blame another process.
    fn require_different(&self, settings: &Settings) -> Result<()> {
        let tls = self.tls.as_ref().map(|(address, _)| *address);
        let named = [
            ("listen", &settings.listen, self.plain),
            ("tls_listen", &settings.tls_listen, tls),
            ("metrics_listen", &settings.metrics_listen, self.metrics),
        ];
        for (at, (_, told, address)) in named.iter().enumerate() {
            // Of port 0 the system gives each its own.
            let taken = address.filter(|address| address.port() != 0);
            let first = named[..at]
                .iter()
                .find(|(.., other)| taken.is_some() && *other == taken);
            if let Some((name, ..)) = first {
                return Err(told.refuse(format_args!("{name} has this address already")));
            }
        }
        Ok(())
    }

    /// Begins to listen. From now on connections wait.
    ///
    /// # Errors
    /// [`Error::Failed`] for an address that is taken, [`Error::Usage`] for a path that is not to be
    /// replaced.
    pub(super) async fn bind(self) -> Result<Bound> {
        let mut bound = Bound::default();
        if let Some(address) = self.plain {
            let (listener, address) = bind(address, "--listen").await?;
            bound.add(Listener::Tcp(listener), format!("http://{address}"));
        }
        if let Some((address, config)) = self.tls {
            let (listener, address) = bind(address, "--tls-listen").await?;
            bound.add(
                Listener::Tls(listener, config),
                format!("https://{address}"),
            );
        }
        if let Some(path) = self.unix {
            let (listener, file) = bind_socket(&path).map_err(|reason| path.refuse(reason))?;
            bound.socket = Some(file);
            bound.add(Listener::Unix(listener), format!("unix:{}", path.display()));
        }
        if let Some(address) = self.metrics {
            bound.metrics = Some(bind(address, "--metrics-listen").await?);
        }
        Ok(bound)
    }
}

/// The listeners, as they are given to the server.
#[derive(Debug, Default)]
pub(super) struct Bound {
    pub(super) listeners: Vec<Listener>,
    /// Where each is reached, as in `http://127.0.0.1:8080`.
    pub(super) shown: Vec<String>,
    /// The listener of the metrics, and its address.
    pub(super) metrics: Option<(TcpListener, SocketAddr)>,
    /// Removed when this is dropped.
    pub(super) socket: Option<SocketFile>,
}

impl Bound {
    fn add(&mut self, listener: Listener, shown: String) {
        self.listeners.push(listener);
        self.shown.push(shown);
    }
}

/// The file of a Unix socket that is ours. Dropping it removes the file, unless another one is in its
/// place.
#[derive(Debug)]
pub(super) struct SocketFile {
    path: PathBuf,
    device_and_number: (u64, u64),
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        // Another service that starts now could put its own there after the look at it.
        let _alone = lock_folder(&self.path);
        let is_ours = |found: fs::Metadata| (found.dev(), found.ino()) == self.device_and_number;
        if fs::symlink_metadata(&self.path).is_ok_and(is_ours)
            && let Err(error) = fs::remove_file(&self.path)
        {
            tracing::warn!(%error, socket = %self.path.display(), "the socket's file stays");
        }
    }
}

/// What is wrong with where the settings say to listen, the addresses each for itself.
pub(super) fn wrong_places(settings: &Settings) -> Vec<Error> {
    let Settings {
        listen,
        tls_listen,
        metrics_listen,
        ..
    } = settings;
    let mut wrong = Vec::new();
    for (address, none) in [(listen, NONE), (tls_listen, ""), (metrics_listen, "")] {
        if address.as_str() != none {
            wrong.extend(resolve(address).err());
        }
    }
    let unix = &settings.unix_listen;
    // An absent folder is no fault: systemd makes one with the service (`RuntimeDirectory=`).
    if fs::symlink_metadata(&**unix).is_ok_and(|found| !found.file_type().is_socket()) {
        wrong.push(unix.refuse(NO_SOCKET));
    }
    wrong.extend(too_long(unix).map(|why| unix.refuse(why)));
    if wrong.is_empty() {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        wrong.extend(Places::of(settings, &clock).err());
    }
    wrong
}

/// Why a socket cannot have this path, where it is too long.
fn too_long(path: &Path) -> Option<String> {
    let is_long = path.as_os_str().len() > SOCKET_PATH_BYTES_MAX;
    is_long.then(|| {
        format!("it is too long for a socket: it must have at most {SOCKET_PATH_BYTES_MAX} bytes")
    })
}

/// The address that a setting names.
fn resolve(listen: &Sourced<String>) -> Result<SocketAddr> {
    let malformed = || listen.refuse("it must be an address and a port, as in 127.0.0.1:8080");
    let mut found = listen.to_socket_addrs().map_err(|_| malformed())?;
    found.next().ok_or_else(malformed)
}

/// Gives the address with the port that was taken.
async fn bind(address: SocketAddr, flag: &str) -> Result<(TcpListener, SocketAddr)> {
    let cannot_listen = |e: io::Error| {
        Error::Failed(match e.kind() {
            io::ErrorKind::AddrInUse => {
                format!("{address} is in use by another process; choose another with {flag}")
            }
            _ => format!("cannot listen on {address}: {e}"),
        })
    };
    let listener = TcpListener::bind(address).await.map_err(cannot_listen)?;
    let address = listener.local_addr().map_err(cannot_listen)?;
    Ok((listener, address))
}

/// Listens on a path. What a service that has ended left there is replaced, and nothing else.
///
/// # Errors
/// Why that cannot be, as a text.
fn bind_socket(path: &Path) -> std::result::Result<(UnixListener, SocketFile), String> {
    if let Some(why) = too_long(path) {
        return Err(why);
    }
    let failed = |e: io::Error| format!("cannot listen there: {e}");
    // Two services that start at once on what a third one left would both replace it.
    let alone = lock_folder(path).map_err(failed)?;
    match fs::symlink_metadata(path) {
        Ok(found) if !found.file_type().is_socket() => {
            return Err(NO_SOCKET.to_owned());
        }
        Ok(_) => match UnixStream::connect(path) {
            Ok(_) => return Err("another service listens there".to_owned()),
            Err(e) if e.kind() == io::ErrorKind::ConnectionRefused => {
                fs::remove_file(path).map_err(failed)?;
            }
            Err(e) => return Err(failed(e)),
        },
        Err(e) if e.kind() == io::ErrorKind::NotFound => {}
        Err(e) => return Err(failed(e)),
    }
    let listener = UnixListener::bind(path).map_err(failed)?;
    let found = fs::symlink_metadata(path).map_err(failed)?;
    let file = SocketFile {
        path: absolute(path),
        device_and_number: (found.dev(), found.ino()),
    };
    // Whoever removes it again locks the folder, too.
    drop(alone);
    // Until here the umask let nobody else in.
    let rights = fs::Permissions::from_mode(SOCKET_MODE);
    fs::set_permissions(path, rights).map_err(failed)?;
    Ok((listener, file))
}

/// Locks the folder of a socket, which leaves no file there, until what is returned is dropped.
///
/// # Errors
/// When another process holds it for seconds, or the folder cannot be read.
fn lock_folder(socket: &Path) -> io::Result<File> {
    let socket = std::path::absolute(socket)?;
    let folder = File::open(socket.parent().unwrap_or(&socket))?;
    let end = Instant::now() + LOCK_WAIT;
    loop {
        match flock(&folder, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) if Instant::now() < end => thread::sleep(LOCK_PAUSE),
            Err(Errno::WOULDBLOCK) => {
                return Err(io::Error::other("another process has locked its folder"));
            }
            locked => return locked.map(|()| folder).map_err(io::Error::from),
        }
    }
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    #[tokio::test]
    async fn of_two_that_start_on_what_another_left_one_listens() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        for _ in 0..200 {
            // Dropped, a listener leaves its file.
            drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
            let (runtime, together) = (tokio::runtime::Handle::current(), Barrier::new(2));
            let start = || {
                let _entered = runtime.enter();
                together.wait();
                bind_socket(&path)
                    .map_err(|reason| assert_eq!(reason, "another service listens there"))
            };
            let started = thread::scope(|scope| {
                [scope.spawn(start), scope.spawn(start)].map(|thread| thread.join().unwrap())
            });
            let listening = started.iter().filter(|started| started.is_ok()).count();
            assert_eq!(listening, 1);
            UnixStream::connect(&path).unwrap();
            drop(started);
            assert!(!path.exists());
        }
    }
}
