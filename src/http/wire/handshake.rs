//! The beginning of a TLS connection.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::server::TlsStream;

use super::linger::linger;

/// Ends a handshake before it has begun: the fatal alert `internal_error`.
pub(super) const ALERT: [u8; 7] = [0x15, 3, 3, 0, 2, 2, 80];

/// What a client reads that speaks plain HTTP.
const PLAIN: &str = "HTTP/1.1 400 Bad Request\r\n\
    Content-Type: application/json\r\n\
    Content-Length: 63\r\n\
    Cache-Control: no-store\r\n\
    Connection: close\r\n\r\n\
    {\"message\":\"this port speaks TLS; use https:// in the address\"}";

/// How a handshake ended.
#[derive(Debug)]
pub(super) enum Handshake {
    /// With a connection.
    Done(Box<TlsStream<TcpStream>>),
    /// Without one, for this reason.
    Failed(String),
}

/// Shakes hands with whoever is at the other end.
///
/// # Limits
/// Takes `longest` at most, and ends when the service stops.
pub(super) async fn shake_hands(
    stream: TcpStream,
    config: Arc<ServerConfig>,
    longest: Duration,
    mut stopping: watch::Receiver<bool>,
) -> Handshake {
    let shaken = timeout(longest, accept(stream, config));
    let failed = |reason: &str| Handshake::Failed(reason.to_owned());
    tokio::select! {
        biased;
        shaken = shaken => match shaken {
            Ok(Ok(Some(stream))) => Handshake::Done(Box::new(stream)),
            Ok(Ok(None)) => failed("it speaks plain HTTP"),
            Ok(Err(error)) => failed(&error.to_string()),
            Err(_) => failed("the handshake took too long"),
        },
        _ = stopping.wait_for(|stop| *stop) => failed("the service stops"),
    }
}

/// `None` for a client that does not speak TLS, which has been told so.
async fn accept(
    mut stream: TcpStream,
    config: Arc<ServerConfig>,
) -> io::Result<Option<TlsStream<TcpStream>>> {
    stream.set_nodelay(true)?;
    let mut first = [0];
    if stream.peek(&mut first).await? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    // Methods are in capitals; TLS answers all else.
    if first[0].is_ascii_uppercase() {
        stream.write_all(PLAIN.as_bytes()).await?;
        stream.shutdown().await?;
        linger(&mut stream).await;
        return Ok(None);
    }
    let accepted = TlsAcceptor::from(config).accept(stream);
    match accepted.into_fallible().await {
        Ok(stream) => Ok(Some(stream)),
        Err((error, mut stream)) => {
            // The client shall read the alert that says why.
            if stream.shutdown().await.is_ok() {
                linger(&mut stream).await;
            }
            Err(error)
        }
    }
}
