//! TLS to the server of the database. Its certificate is always held against what is trusted and against the
//! name of the host: a connection that anybody could take over would be worth no more than none.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::Socket;
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};

use crate::store::database_url::ClientCertificate;
use crate::store::remote::tls;
use crate::store::small_file::{self, CERTIFICATE_BYTES_MAX};

/// What of a URL names certificates to trust.
const SETTING: &str = "sslrootcert";

/// What makes connections: over TLS, or as they are.
#[derive(Clone)]
pub(super) struct Connector(Option<TlsConnector>);

/// A connection that is about to be made safe, to this host.
pub(super) struct Handshake {
    connector: Connector,
    host: String,
}

/// A connection over TLS.
#[derive(Debug)]
pub(super) struct Encrypted(tokio_rustls::client::TlsStream<Socket>);

/// Why a server is not spoken to.
#[derive(Debug)]
struct Distrust(String);

impl Connector {
    /// One without TLS.
    pub(super) fn plain() -> Self {
        Self(None)
    }

    /// One with TLS that trusts the certificates in this file; without one, the system's. A server that asks
    /// for a certificate is shown this one.
    ///
    /// # Errors
    /// What is wrong with them, a sentence.
    pub(super) fn trusting(
        file: Option<&Path>,
        own: Option<&ClientCertificate>,
    ) -> Result<Self, String> {
        let roots = file.map_or(Ok(Vec::new()), |file| certificates(file, SETTING))?;
        let roots: Vec<_> = roots.iter().map(|root| root.to_vec()).collect();
        let identity = own.map(identity).transpose()?;
        let config = tls::client(tls::roots(&roots, SETTING)?, identity)?;
        Ok(Self(Some(Arc::new(config).into())))
    }
}

/// What a server means that has ended a connection with this alert.
pub(super) fn refused_by_server(alert: &str) -> String {
    format!(
        "its server ended the connection over TLS ({alert}); where it asks for a certificate, sslcert and \
         sslkey name one of an issuer that it trusts"
    )
}

/// The certificates in a file that this setting names.
fn certificates(file: &Path, setting: &str) -> Result<Vec<CertificateDer<'static>>, String> {
    let text = text_of(file, setting)?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    match found {
        Ok(found) if !found.is_empty() => Ok(found),
        _ => Err(format!(
            "{setting} names {}: it must be certificates, PEM",
            file.display()
        )),
    }
}

fn identity(own: &ClientCertificate) -> Result<tls::Identity, String> {
    let certificates = certificates(&own.certificates, "sslcert")?;
    let text = text_of(&own.key, "sslkey")?;
    let key = PrivateKeyDer::from_pem_slice(&text).map_err(|_| {
        format!(
            "sslkey names {}: it must be a key without a password, PEM",
            own.key.display()
        )
    })?;
    Ok((certificates, key))
}

fn text_of(file: &Path, setting: &str) -> Result<Vec<u8>, String> {
    small_file::read(file, CERTIFICATE_BYTES_MAX)
        .map_err(|fault| format!("{setting} names {}: {fault}", file.display()))
}

impl MakeTlsConnect<Socket> for Connector {
    type Stream = Encrypted;
    type TlsConnect = Handshake;
    type Error = io::Error;

    fn make_tls_connect(&mut self, host: &str) -> io::Result<Handshake> {
        Ok(Handshake {
            connector: self.clone(),
            host: host.to_owned(),
        })
    }
}

impl TlsConnect<Socket> for Handshake {
    type Stream = Encrypted;
    type Error = Box<dyn Error + Send + Sync>;
    type Future = Pin<Box<dyn Future<Output = Result<Encrypted, Self::Error>> + Send>>;

    fn connect(self, socket: Socket) -> Self::Future {
        Box::pin(async move {
            let Self {
                connector: Connector(connector),
                host,
            } = self;
            let connector = connector.ok_or(Distrust("no TLS was asked for".to_owned()))?;
            let name = ServerName::try_from(host.clone())
                .map_err(|_| Distrust(format!("\"{host}\" is no name of a host")))?;
            match connector.connect(name, socket).await {
                Ok(stream) => Ok(Encrypted(stream)),
                // With TLS 1.2 the server says here that it wants another certificate.
                Err(error) if let Some(alert) = tls::refusal(&error) => {
                    Err(Distrust(refused_by_server(&alert)).into())
                }
                // Of the network's errors another attempt may know nothing.
                Err(error) => match tls::fault(&error, SETTING) {
                    Some(fault) => {
                        Err(Distrust(format!("the certificate of {host} {fault}")).into())
                    }
                    None => Err(error.into()),
                },
            }
        })
    }
}

impl Error for Distrust {}

impl fmt::Display for Distrust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "TLS" } else { "plain" })
    }
}

impl TlsStream for Encrypted {
    fn channel_binding(&self) -> ChannelBinding {
        // The certificate was held against the name of the host: nobody is between.
        ChannelBinding::none()
    }
}

impl AsyncRead for Encrypted {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().0).poll_read(context, into)
    }
}

impl AsyncWrite for Encrypted {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().0).poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().0).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().0).poll_shutdown(context)
    }
}
