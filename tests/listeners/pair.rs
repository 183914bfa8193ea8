//! Certificates, made for a test, and TLS clients that trust them.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rcgen::{CertificateParams, DnType, KeyPair, date_time_ymd};
use time::OffsetDateTime;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{
    ClientConfig, ClientConnection, HandshakeKind, RootCertStore, StreamOwned,
    SupportedProtocolVersion, crypto, version,
};

/// How long a test waits for bytes.
const PATIENCE: Duration = Duration::from_secs(20);

/// A certificate for `conf.example` and `127.0.0.1`, and its key.
pub(crate) struct Pair {
    certificate: rcgen::Certificate,
    key: KeyPair,
}

impl Pair {
    pub(crate) fn new() -> Self {
        Self::until(2096)
    }

    /// One that ends with the beginning of a year.
    pub(crate) fn until(year: i32) -> Self {
        Self::ending(date_time_ymd(year, 1, 1))
    }

    /// One that ends at this time.
    pub(crate) fn ending(at: OffsetDateTime) -> Self {
        let names = ["conf.example", "localhost", "127.0.0.1"].map(str::to_owned);
        let mut params = CertificateParams::new(names).unwrap();
        params.not_before = date_time_ymd(2000, 1, 1);
        params.not_after = at;
        let mut name = rcgen::DistinguishedName::new();
        name.push(DnType::CommonName, "conf.example");
        params.distinguished_name = name;
        let key = KeyPair::generate().unwrap();
        Self {
            certificate: params.self_signed(&key).unwrap(),
            key,
        }
    }

    /// Writes `cert.pem` and `key.pem`, the latter for the owner alone.
    pub(crate) fn write(&self, folder: &Path) -> [PathBuf; 2] {
        let paths = ["cert.pem", "key.pem"].map(|name| folder.join(name));
        fs::write(&paths[0], self.certificate.pem()).unwrap();
        fs::write(&paths[1], self.key.serialize_pem()).unwrap();
        let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        fs::set_permissions(&paths[1], private).unwrap();
        paths
    }

    pub(crate) fn der(&self) -> CertificateDer<'static> {
        self.certificate.der().clone()
    }
}

/// What a client needs that trusts these certificates. It remembers sessions.
pub(crate) fn trusting(
    pairs: &[&Pair],
    versions: &[&'static SupportedProtocolVersion],
) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    for pair in pairs {
        roots.add(pair.der()).unwrap();
    }
    let provider = Arc::new(crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(versions)
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    Arc::new(config)
}

/// The same for the newest version.
pub(crate) fn trusting_newest(pairs: &[&Pair]) -> Arc<ClientConfig> {
    trusting(pairs, &[&version::TLS13])
}

/// A TLS connection.
pub(crate) struct Client(pub(crate) StreamOwned<ClientConnection, TcpStream>);

impl Client {
    pub(crate) fn connect(config: &Arc<ClientConfig>, address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        let name = ServerName::try_from("conf.example").unwrap();
        let connection = ClientConnection::new(Arc::clone(config), name).unwrap();
        Self(StreamOwned::new(connection, stream))
    }

    /// Sends a request without a body and reads the answer to its end, which the head's length tells.
    pub(crate) fn get(&mut self, target: &str) -> std::io::Result<String> {
        let request = format!("GET {target} HTTP/1.1\r\nHost: conf.example\r\n\r\n");
        self.0.write_all(request.as_bytes())?;
        let mut seen = Vec::new();
        let mut byte = [0];
        while !seen.ends_with(b"\r\n\r\n") {
            self.0.read_exact(&mut byte)?;
            seen.push(byte[0]);
        }
        let head = String::from_utf8(seen.clone()).unwrap();
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("Content-Length: "))
            .map_or(0, |length| length.parse().unwrap());
        let mut body = vec![0; length];
        self.0.read_exact(&mut body)?;
        seen.extend(body);
        Ok(String::from_utf8_lossy(&seen).into_owned())
    }

    /// Sends bytes and reads whatever comes until the connection ends properly.
    pub(crate) fn exchange(&mut self, request: &[u8]) -> std::io::Result<String> {
        self.0.write_all(request)?;
        let mut answer = Vec::new();
        self.0.read_to_end(&mut answer)?;
        Ok(String::from_utf8_lossy(&answer).into_owned())
    }

    /// The certificate that was shown.
    pub(crate) fn certificate(&self) -> CertificateDer<'static> {
        let shown = self.0.conn.peer_certificates().unwrap();
        shown[0].clone().into_owned()
    }

    pub(crate) fn is_resumed(&self) -> bool {
        self.0.conn.handshake_kind() == Some(HandshakeKind::Resumed)
    }
}
