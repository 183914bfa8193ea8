//! The bucket for large files that the settings name, with its keys and what it is trusted by.

use std::env;

use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;

use super::settings::{Settings, text_of};
use super::{Error, Result};
use crate::store::bucket_access::{BucketAccess, BucketKeys, RoleSource};
use crate::store::bucket_url::BucketUrl;

/// What a token service notes as the name of a session unless the environment says another.
const SESSION: &str = "siteconf";
/// The one part of a file of keys that is read; what stands before any part belongs to it.
const PROFILE: &str = "[default]";

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
    let text = text_of(file, "a file of keys")?;
    in_file(&text).ok_or_else(|| {
        file.refuse(
            "it must have the lines \"aws_access_key_id = …\" and \"aws_secret_access_key = …\", under \
             [default] or under nothing",
        )
    })
}

/// The keys in the variables that are usual for them.
fn of_environment() -> Option<BucketKeys> {
    Some(BucketKeys::Fixed {
        id: variable("AWS_ACCESS_KEY_ID")?,
        secret: variable("AWS_SECRET_ACCESS_KEY")?,
        token: variable("AWS_SESSION_TOKEN"),
    })
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

/// The keys in the text of a file.
fn in_file(text: &str) -> Option<BucketKeys> {
    let (mut id, mut secret, mut token) = (None, None, None);
    let mut is_ours = true;
    for line in text.lines().map(str::trim) {
        if line.starts_with('[') {
            is_ours = line == PROFILE;
        }
        let Some((name, value)) = line.split_once('=').filter(|_| is_ours) else {
            continue;
        };
        let value = Some(value.trim().to_owned()).filter(|value| !value.is_empty());
        match name.trim() {
            "aws_access_key_id" => id = value,
            "aws_secret_access_key" => secret = value,
            "aws_session_token" => token = value,
            _ => {}
        }
    }
    Some(BucketKeys::Fixed {
        id: id?,
        secret: secret?,
        token,
    })
}

/// The certificates that are trusted; none for the system's.
fn roots(settings: &Settings) -> Result<Vec<Vec<u8>>> {
    let file = &settings.s3_ca;
    if file.as_os_str().is_empty() {
        return Ok(Vec::new());
    }
    let text = text_of(file, "a file of certificates")?;
    let found: std::result::Result<Vec<_>, _> =
        CertificateDer::pem_slice_iter(text.as_bytes()).collect();
    match found {
        Ok(found) if !found.is_empty() => Ok(found.iter().map(|root| root.to_vec()).collect()),
        _ => Err(file.refuse("it must be certificates, PEM")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_keys_of_the_default_part_are_read() {
        let keys = |token: Option<&str>| {
            Some(BucketKeys::Fixed {
                id: "a".to_owned(),
                secret: "b=".to_owned(),
                token: token.map(str::to_owned),
            })
        };
        let lines = "aws_access_key_id = a\n aws_secret_access_key=b=\n";
        assert_eq!(in_file(lines), keys(None));
        let file = format!(
            "[other]\naws_access_key_id = x\n# aws_session_token = y\n[default]\n{lines}region = r\n\
             aws_session_token = t\n[last]\naws_secret_access_key = z\n"
        );
        assert_eq!(in_file(&file), keys(Some("t")));
        for none in [
            "",
            "aws_access_key_id = a\naws_secret_access_key =\n",
            "[other]\naws_access_key_id = a\naws_secret_access_key = b\n",
        ] {
            assert_eq!(in_file(none), None);
        }
    }
}
