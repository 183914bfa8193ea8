//! TLS as a client: what is trusted.

use std::error::Error;
use std::io;
use std::sync::Arc;

use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{self, ClientConfig, RootCertStore};

use crate::base::tls::{KEY_KINDS, distrust};

/// These certificates to trust; without any, the system's. `setting` names what gives them.
///
/// # Errors
/// What is wrong with them, a sentence.
pub(in crate::store) fn roots(given: &[Vec<u8>], setting: &str) -> Result<RootCertStore, String> {
    let mut trusted = RootCertStore::empty();
    for root in given {
        let added = trusted.add(CertificateDer::from(root.as_slice()));
        added.map_err(|_| format!("a certificate in {setting} is damaged"))?;
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

/// Who a client is: its certificate with those that lead to its issuer, and its key.
pub(in crate::store) type Identity = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

/// A client that trusts these alone, and shows a server that asks for it who it is: that of a database, whose URL says
/// so.
///
/// # Errors
/// That TLS cannot be used, or the identity, and why.
pub(in crate::store) fn client(
    trusted: RootCertStore,
    identity: Option<Identity>,
) -> Result<ClientConfig, String> {
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|e| format!("TLS cannot be used: {e}"))?
        .with_root_certificates(trusted);
    match identity {
        None => Ok(config.with_no_client_auth()),
        Some((certificates, key)) => {
            let config = config.with_client_auth_cert(certificates, key);
            config.map_err(|e| match e {
                rustls::Error::InconsistentKeys(_) => {
                    "sslkey is not the key of the certificate that sslcert names".to_owned()
                }
                rustls::Error::InvalidCertificate(_) => {
                    "sslcert names a certificate that is damaged".to_owned()
                }
                _ => format!(
                    "sslkey names a key that is damaged, or of a kind that cannot be used: it must be \
                     {KEY_KINDS}"
                ),
            })
        }
    }
}

/// What is wrong with the certificate of a server, as [`distrust`] has it; none for an error that is about something
/// else.
pub(in crate::store) fn fault(error: &(dyn Error + 'static), setting: &str) -> Option<String> {
    Some(distrust(fault_of(error)?, setting))
}

/// What a server has said that did not want this connection; none for an error that is about something else.
pub(in crate::store) fn refusal(error: &(dyn Error + 'static)) -> Option<String> {
    match fault_of(error)? {
        rustls::Error::AlertReceived(alert) => Some(format!("{alert:?}")),
        _ => None,
    }
}

/// The error of TLS that is the cause of another.
fn fault_of<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a rustls::Error> {
    let mut next = Some(error);
    loop {
        let error = next?;
        if let Some(fault) = error.downcast_ref::<rustls::Error>() {
            return Some(fault);
        }
        // What an error of the network holds it does not give as its source.
        let held = error
            .downcast_ref::<io::Error>()
            .and_then(io::Error::get_ref);
        next = held.map_or(error.source(), |held| Some(held));
    }
}
