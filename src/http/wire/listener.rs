//! The accept loop.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::connection;
use crate::access::Gate;
use crate::base::clock::Clock;
use crate::http::admission::places;
use crate::http::service::Service;
use crate::http::settings::HttpSettings;

/// Pause after an accept that failed for want of file descriptors or memory.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Both APIs, ready to be served on a listener.
#[derive(Debug)]
pub struct Server {
    service: Arc<Service>,
}

impl Server {
    /// Serves what the gate opens. The clock is what the health check shows.
    pub fn new(gate: Gate, clock: Arc<dyn Clock>, settings: HttpSettings) -> Self {
        Self {
            service: Arc::new(Service::new(gate, clock, settings)),
        }
    }

    /// Accepts and serves connections until `shutdown` ends, and returns when everything in flight was
    /// answered.
    ///
    /// # Limits
    /// At most [`Limits::connections_max`](crate::http::Limits) connections; more wait in the listener's
    /// backlog. How long the end may take is for the caller to bound.
    pub async fn run(self, listener: TcpListener, shutdown: impl Future<Output = ()>) {
        let room = Arc::new(places(self.service.settings.limits.connections_max));
        let (stop, stopping) = watch::channel(false);
        let mut connections = JoinSet::new();
        let mut shutdown = std::pin::pin!(shutdown);
        loop {
            tokio::select! {
                biased;
                () = &mut shutdown => break,
                Some(_) = connections.join_next() => {}
                accepted = accept(&listener, &room) => match accepted {
                    Ok((stream, place)) => {
                        let served = connection::serve(
                            Arc::clone(&self.service),
                            stream,
                            stopping.clone(),
                        );
                        connections.spawn(async move {
                            served.await;
                            drop(place);
                        });
                    }
                    Err(error) if concerns_one_connection(&error) => {}
                    Err(error) => {
                        tracing::warn!(%error, "cannot accept connections; trying again");
                        sleep(ACCEPT_PAUSE).await;
                    }
                },
            }
        }
        drop(listener);
        stop.send_replace(true);
        while connections.join_next().await.is_some() {}
    }
}

/// Waits for room first, so that what is too much stays in the backlog.
async fn accept(
    listener: &TcpListener,
    room: &Arc<Semaphore>,
) -> io::Result<(TcpStream, OwnedSemaphorePermit)> {
    let place = Arc::clone(room)
        .acquire_owned()
        .await
        .expect("the semaphore is never closed");
    let (stream, _) = listener.accept().await?;
    Ok((stream, place))
}

/// True for errors of a connection that was gone before it was accepted.
fn concerns_one_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionRefused
            | io::ErrorKind::Interrupted
    )
}
