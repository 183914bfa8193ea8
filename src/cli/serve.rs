//! The service: opened, listening, stopped by a signal.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;

use rustix::fs::Mode;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit, umask};
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::settings::Settings;
use super::{Error, Result, Streams, first_start, log};
use crate::access::{Accounts, Gate};
use crate::base::clock::{Clock, SystemClock};
use crate::http::{HttpSettings, Server};
use crate::repo::Projects;
use crate::store::Store;
use crate::store::record_cache::RecordCache;
use crate::store::sqlite::SqliteStore;

/// Serves until SIGTERM or Ctrl-C, then answers what is in flight. A second signal ends the process
/// at once, with exit code 1.
///
/// `renew_key` is as for [`first_start::server_key`].
pub(super) fn serve(settings: &Settings, renew_key: bool, streams: &mut Streams<'_>) -> Result<()> {
    let _rest_of_log = log::of_service(settings.log.as_deref())?;
    let address = resolve(&settings.listen)?;
    // Nobody else reads what lies in the folder.
    umask(Mode::RWXG | Mode::RWXO);
    raise_open_files();

    let store = SqliteStore::open_locked(&settings.data)?;
    let folder = store.data_folder().clone();
    let store: Arc<dyn Store> = Arc::new(RecordCache::new(store));
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let repository = Projects::new(Arc::clone(&store), Arc::clone(&clock));
    let accounts = Accounts::new(&repository);
    let key = first_start::server_key(&folder, &*store, &accounts, renew_key)?;
    first_start::first_account(&folder, &accounts, streams)?;
    let gate = Gate::new(repository, key, settings.sessions);
    let server = Server::new(gate, clock, http_settings(settings));

    let runtime = runtime()?;
    runtime.block_on(async {
        let failed = |e| Error::Failed(format!("watching for signals: {e}"));
        let mut stops = Stops::watch().map_err(failed)?;
        let listener = bind(address).await?;
        let address = listener.local_addr().map_err(cannot_listen(address))?;
        writeln!(streams.out, "listening on http://{address}")?;
        streams.out.flush()?;
        tracing::info!(%address, data = %settings.data.display(), "serving");

        let stop = async {
            stops.next().await;
            tracing::info!("stopping; a second signal ends at once");
            tokio::spawn(async move {
                stops.next().await;
                end_at_once();
            });
        };
        server.run(listener, stop).await;
        tracing::info!("stopped");
        Ok(())
    })
}

fn http_settings(settings: &Settings) -> HttpSettings {
    HttpSettings {
        external_url: settings.external_url.clone(),
        root_mount: settings.root_mount,
        trusted_proxies: settings.trusted_proxies.clone(),
        file_bytes_max: settings.file_bytes_max,
        archive_bytes_max: settings.archive_bytes_max,
    }
}

fn runtime() -> Result<Runtime> {
    Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|e| Error::Failed(format!("starting the threads: {e}")))
}

/// The address that the setting names.
fn resolve(listen: &str) -> Result<SocketAddr> {
    let malformed = || {
        Error::Usage(format!(
            "listen \"{listen}\" must be an address and a port, as in 127.0.0.1:8080"
        ))
    };
    let mut found = listen.to_socket_addrs().map_err(|_| malformed())?;
    found.next().ok_or_else(malformed)
}

async fn bind(address: SocketAddr) -> Result<TcpListener> {
    TcpListener::bind(address)
        .await
        .map_err(cannot_listen(address))
}

fn cannot_listen(address: SocketAddr) -> impl FnOnce(io::Error) -> Error {
    move |e| {
        Error::Failed(match e.kind() {
            io::ErrorKind::AddrInUse => {
                format!("{address} is in use by another process; choose another with --listen")
            }
            _ => format!("cannot listen on {address}: {e}"),
        })
    }
}

/// Lets the process have as many open files as the system allows it: each connection is one.
fn raise_open_files() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: maximum,
        maximum,
    };
    if let Err(e) = setrlimit(Resource::Nofile, raised) {
        tracing::warn!(error = %e, "the limit of open files stays as it is");
    }
}

/// The signals that ask for an end.
struct Stops {
    terminate: Signal,
    interrupt: Signal,
}

impl Stops {
    fn watch() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

#[expect(
    clippy::exit,
    reason = "who asks twice does not want to wait for anything; the store survives a kill"
)]
fn end_at_once() {
    std::process::exit(1);
}
