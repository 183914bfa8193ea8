//! Why a server is not trusted, in words for those who ask it: the library's say how it found that.

use tokio_rustls::rustls::{CertificateError, Error};

/// What is wrong with the certificate of a server, or with its TLS, behind "the certificate of …" or "its
/// certificate". `setting` names what gives certificates to trust.
pub fn distrust(fault: &Error, setting: &str) -> String {
    let fault = match fault {
        Error::InvalidCertificate(fault) => fault,
        Error::InvalidMessage(_) => {
            return "was not even looked at: what answers does not speak TLS".to_owned();
        }
        Error::PeerIncompatible(_) => {
            return "was not even looked at: the other side and this one know no way of TLS 1.2 or 1.3 in common"
                .to_owned();
        }
        other => return format!("was not even looked at: {other}"),
    };
    match fault {
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
        CertificateError::BadEncoding => {
            "cannot be read: it is damaged, or has a critical extension that is not known here"
                .to_owned()
        }
        // The library behind this one tells these in words alone.
        other if format!("{other:?}").contains("UnsupportedCertVersion") => {
            "is of X.509 version 1, which has no names; make one of version 3, with subjectAltName"
                .to_owned()
        }
        other if format!("{other:?}").contains("CaUsedAsEndEntity") => {
            "is one of an authority (CA:TRUE), which no server may show; make one with \
             basicConstraints=CA:FALSE, or one that it signs"
                .to_owned()
        }
        other => format!("cannot be trusted: {other}"),
    }
}
