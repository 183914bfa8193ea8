//! What requests to a bucket are signed with: keys that are given, or those of a role.

use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey as Key};

use crate::store::bucket_access::{BucketKeys, RoleSource};

/// The same bucket with what requests are signed with.
pub(super) fn with_keys(builder: AmazonS3Builder, keys: &BucketKeys) -> AmazonS3Builder {
    let source = match keys {
        BucketKeys::Fixed { id, secret, token } => {
            let builder = builder
                .with_access_key_id(id)
                .with_secret_access_key(secret);
            return match token {
                Some(token) => builder.with_token(token),
                None => builder,
            };
        }
        BucketKeys::OfRole(source) => source,
    };
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
        let keys = BucketKeys::OfRole(RoleSource::Container { path });
        let client = super::super::client::Client::new(&[], false).unwrap();
        let builder = AmazonS3Builder::new()
            .with_bucket_name("shop")
            .with_http_connector(client);
        let shown = format!("{:?}", with_keys(builder, &keys).build().unwrap());
        let asked = "url: \"http://169.254.170.2/v2/credentials/1\"";
        assert!(shown.contains(asked), "{shown}");
    }
}
