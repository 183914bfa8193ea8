//! The bucket for large files that the settings name, with its keys and what it is trusted by.

use std::env;

use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;

use super::settings::{Settings, text_of};
use super::{Error, Result};
use crate::store::bucket_access::{BucketAccess, BucketKey, BucketKeys, RoleSource};
use crate::store::bucket_url::BucketUrl;
use crate::store::small_file::{self, CERTIFICATE_BYTES_MAX};

/// What a token service notes as the name of a session unless the environment says another.
const SESSION: &str = "siteconf";

/// How the bucket is reached that the settings name, if they name one.
///
/// # Errors
/// [`Error::Usage`] for keys or certificates that are missing or cannot be read.
pub(super) fn access(settings: &Settings) -> Result<Option<BucketAccess>> {
    let Some(url) = &settings.blobs else {
        return Ok(None);
    };
    Ok(Some(BucketAccess {
        url: url.clone(),
        keys: keys(url, settings)?,
        roots: roots(settings)?,
        trash_days: i32::try_from(settings.blobs_keep_days).unwrap_or(i32::MAX),
    }))
}

fn keys(url: &BucketUrl, settings: &Settings) -> Result<BucketKeys> {
    let file = &settings.s3_credentials_file;
    let is_given = !file.as_os_str().is_empty();
    if url.is_of_machine() {
        if is_given {
            return Err(file.refuse("blobs says role=machine; give one of the two"));
        }
        let endpoint = variable("AWS_EC2_METADATA_SERVICE_ENDPOINT");
        let endpoint = endpoint.map(|url| url.trim_end_matches('/').to_owned());
        return of_role(RoleSource::Machine { endpoint });
    }
    if !is_given {
        if let Some(keys) = of_environment() {
            return Ok(keys);
        }
        let source = of_platform().ok_or_else(|| {
            Error::Usage(format!(
                "there are no keys for {url}: give s3_credentials_file, or AWS_ACCESS_KEY_ID and \
                 AWS_SECRET_ACCESS_KEY in the environment; on a machine with a role, say role=machine in blobs"
            ))
        })?;
        return of_role(source);
    }
    let first = BucketKey::in_file(&text_of(file)?).map_err(|fault| file.refuse(fault))?;
    let file = file.to_path_buf();
    Ok(BucketKeys::InFile { file, first })
}

/// The keys in the variables that are usual for them.
fn of_environment() -> Option<BucketKeys> {
    Some(BucketKeys::Fixed(BucketKey {
        id: variable("AWS_ACCESS_KEY_ID")?,
        secret: variable("AWS_SECRET_ACCESS_KEY")?,
        token: variable("AWS_SESSION_TOKEN"),
    }))
}

/// Where a platform says that a role has its keys, in the variables that it sets for that.
fn of_platform() -> Option<RoleSource> {
    let of_account = || {
        Some(RoleSource::WebIdentity {
            token_file: variable("AWS_WEB_IDENTITY_TOKEN_FILE")?,
            role: variable("AWS_ROLE_ARN")?,
            session: variable("AWS_ROLE_SESSION_NAME").unwrap_or_else(|| SESSION.to_owned()),
            endpoint: variable("AWS_ENDPOINT_URL_STS"),
        })
    };
    let of_container = || {
        let path = variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI")?;
        Some(RoleSource::Container { path })
    };
    let of_pod = || {
        Some(RoleSource::Pod {
            url: variable("AWS_CONTAINER_CREDENTIALS_FULL_URI")?,
            token_file: variable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE")?,
        })
    };
    of_account().or_else(of_container).or_else(of_pod)
}

fn of_role(source: RoleSource) -> Result<BucketKeys> {
    source.require_safe().map_err(|variable| {
        Error::Usage(format!(
            "{variable}: the keys of the role would not come encrypted; it must be https://, or on this machine"
        ))
    })?;
    Ok(BucketKeys::OfRole(source))
}

/// A variable of the environment; none where it is empty.
fn variable(name: &str) -> Option<String> {
    let given = env::var_os(name)?.into_string().ok()?;
    (!given.is_empty()).then_some(given)
}

/// The certificates that are trusted; none for the system's.
fn roots(settings: &Settings) -> Result<Vec<Vec<u8>>> {
    let file = &settings.s3_ca;
    if file.as_os_str().is_empty() {
        return Ok(Vec::new());
    }
    let text = small_file::read(file, CERTIFICATE_BYTES_MAX).map_err(|fault| file.refuse(fault))?;
    let found: std::result::Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    match found {
        Ok(found) if !found.is_empty() => Ok(found.iter().map(|root| root.to_vec()).collect()),
        _ => Err(file.refuse("it must be certificates, PEM")),
    }
}
