//! What requests to a bucket are signed with: keys that are given, those of a file, or those of a role.

use std::sync::Arc;
use std::time::Duration;

use object_store::aws::{AmazonS3, AmazonS3Builder, AmazonS3ConfigKey as Key};
use object_store::{BackoffConfig, RetryConfig};

use super::file_keys::FileKeys;
use super::role_keys::RoleKeys;
use crate::store::bucket_access::{BucketKeys, RoleSource};
use crate::store::{Result, StoreError};

/// A request for the keys of a role is repeated so often, for so long.
const REPEATS_MAX: usize = 3;
const REPEATED_FOR: Duration = Duration::from_secs(8);

/// A bucket of which each request is signed with these and made once.
///
/// # Errors
/// [`StoreError::UnfitBucket`].
pub(super) fn signed(builder: AmazonS3Builder, keys: &BucketKeys) -> Result<AmazonS3> {
    let builder = match keys {
        BucketKeys::Fixed(key) => {
            let builder = builder
                .with_access_key_id(&key.id)
                .with_secret_access_key(&key.secret);
            match &key.token {
                Some(token) => builder.with_token(token),
                None => builder,
            }
        }
        BucketKeys::InFile { file, first } => {
            builder.with_credentials(Arc::new(FileKeys::new(file.clone(), first.clone())))
        }
        BucketKeys::OfRole(source) => {
            let asking = built(of_role(builder.clone(), source), REPEATS_MAX)?;
            let source = Arc::clone(asking.credentials());
            builder.with_credentials(Arc::new(RoleKeys::new(source)))
        }
    };
    built(builder, 0)
}

fn built(builder: AmazonS3Builder, repeats_max: usize) -> Result<AmazonS3> {
    let repeated = RetryConfig {
        backoff: BackoffConfig {
            init_backoff: Duration::from_millis(50),
            max_backoff: Duration::from_secs(1),
            base: 2.0,
        },
        max_retries: repeats_max,
        retry_timeout: REPEATED_FOR,
    };
    let store = builder.with_retry(repeated).build();
    store.map_err(|e| StoreError::UnfitBucket {
        reason: e.to_string(),
    })
}

/// The same bucket whose keys a role has.
fn of_role(builder: AmazonS3Builder, source: &RoleSource) -> AmazonS3Builder {
    match source {
        RoleSource::WebIdentity {
            token_file,
            role,
            session,
            endpoint,
        } => {
            let builder = builder
                .with_config(Key::WebIdentityTokenFile, token_file)
                .with_config(Key::RoleArn, role)
                .with_config(Key::RoleSessionName, session);
            match endpoint {
                Some(endpoint) => builder.with_config(Key::StsEndpoint, endpoint),
                None => builder,
            }
        }
        RoleSource::Container { path } => {
            builder.with_config(Key::ContainerCredentialsRelativeUri, path)
        }
        RoleSource::Pod { url, token_file } => builder
            .with_config(Key::ContainerCredentialsFullUri, url)
            .with_config(Key::ContainerAuthorizationTokenFile, token_file),
        RoleSource::Machine { endpoint } => match endpoint {
            Some(endpoint) => builder.with_metadata_endpoint(endpoint),
            None => builder,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_container_asks_the_address_that_all_of_them_have() {
        let path = "/v2/credentials/1".to_owned();
        let source = RoleSource::Container { path };
        let client = super::super::client::Client::new(&[], false).unwrap();
        let builder = AmazonS3Builder::new()
            .with_bucket_name("shop")
            .with_http_connector(client);
        let shown = format!("{:?}", of_role(builder, &source).build().unwrap());
        let asked = "url: \"http://169.254.170.2/v2/credentials/1\"";
        assert!(shown.contains(asked), "{shown}");
    }
}
