//! TLS as a client: what is trusted.

use std::error::Error;
use std::io;
use std::sync::Arc;

use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::{self, CertificateError, ClientConfig, RootCertStore};

/// These certificates to trust; without any, the system's. `setting` names what gives them.
///
/// # Errors
/// What is wrong with them, a sentence.
pub(in crate::store) fn roots(given: &[Vec<u8>], setting: &str) -> Result<RootCertStore, String> {
    let mut trusted = RootCertStore::empty();
    for root in given {
        let added = trusted.add(CertificateDer::from(root.as_slice()));
        added.map_err(|e| format!("a certificate in {setting} cannot be used: {e}"))?;
    }
    if given.is_empty() {
        trusted.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    }
    if trusted.is_empty() {
        return Err(format!(
            "the system has no certificates to trust; install ca-certificates, or give {setting}"
        ));
    }
    Ok(trusted)
}

/// A client that trusts these alone.
///
/// # Errors
/// That TLS cannot be used, and why.
pub(in crate::store) fn client(trusted: RootCertStore) -> Result<ClientConfig, String> {
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|e| format!("TLS cannot be used: {e}"))?;
    Ok(config.with_root_certificates(trusted).with_no_client_auth())
}

/// What is wrong with the certificate of a server, or with its TLS, behind "the certificate of …" or "its
/// certificate"; none for an error that is about something else. `setting` names what gives certificates to
/// trust.
pub(in crate::store) fn distrust(error: &(dyn Error + 'static), setting: &str) -> Option<String> {
    let mut next = Some(error);
    let fault = loop {
        let error = next?;
        if let Some(fault) = error.downcast_ref::<rustls::Error>() {
            break fault;
        }
        // What an error of the network holds it does not give as its source.
        let held = error
            .downcast_ref::<io::Error>()
            .and_then(io::Error::get_ref);
        next = held.map_or(error.source(), |held| Some(held));
    };
    let rustls::Error::InvalidCertificate(fault) = fault else {
        return Some(format!("was not even looked at: {fault}"));
    };
    Some(match fault {
        CertificateError::UnknownIssuer => {
            format!("is of an issuer that is not trusted; {setting} names certificates to trust")
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "is for other names; call the host as the certificate does (subjectAltName)".to_owned()
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "has expired".to_owned()
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "is not valid yet; see that the clock is right".to_owned()
        }
        other => format!("cannot be trusted: {other}"),
    })
}
