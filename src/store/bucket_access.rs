//! How a bucket for large files is reached: where it is, and what requests to it are signed with, which is not shown.

use std::fmt;
use std::net::Ipv4Addr;
use std::path::PathBuf;

use super::bucket_url::{BucketUrl, is_this_machine};

/// The one part of a file of keys that is read; what stands before any part belongs to it.
const PROFILE: &str = "[default]";

/// How a bucket is reached. Its `Debug` leaves out the keys.
#[derive(Clone)]
pub struct BucketAccess {
    /// Where it is.
    pub url: BucketUrl,
    /// What requests are signed with.
    pub keys: BucketKeys,
    /// The certificates that are trusted, DER; none for the system's.
    pub roots: Vec<Vec<u8>>,
    /// How many days what no row names any more stays there, for backups of the database that name it.
    pub trash_days: i32,
}

/// What requests to a bucket are signed with. Its `Debug` leaves out the keys.
#[derive(Clone, PartialEq, Eq)]
pub enum BucketKeys {
    /// The same as long as the process runs.
    Fixed(BucketKey),
    /// Those in a file, which is read anew when it has changed.
    InFile {
        /// The file.
        file: PathBuf,
        /// What was in it at the start.
        first: BucketKey,
    },
    /// Those of a role, which count for a time. Others are asked for five minutes before their end, till which they
    /// are used if none are given.
    OfRole(RoleSource),
}

/// A key for a bucket, with its id. Its `Debug` leaves both out.
#[derive(Clone, PartialEq, Eq)]
pub struct BucketKey {
    /// The id of the key.
    pub id: String,
    /// The key.
    pub secret: String,
    /// The token of a key that counts for a time.
    pub token: Option<String>,
}

/// Who gives the keys of a role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RoleSource {
    /// A token service (STS), in exchange for a token that the platform keeps in a file: service accounts of
    /// Kubernetes.
    WebIdentity {
        /// The file of the token, which is read each time.
        token_file: String,
        /// The role, as in `arn:aws:iam::1:role/name`.
        role: String,
        /// What the service notes as the session's name.
        session: String,
        /// The URL of the service; none for Amazon's of the bucket's region.
        endpoint: Option<String>,
    },
    /// A service beside the container, at a path of an address that is the same for all: ECS.
    Container {
        /// The path, as in `/v2/credentials/<uuid>`.
        path: String,
    },
    /// A service beside the container that wants a token: EKS Pod Identity.
    Pod {
        /// The URL of the service.
        url: String,
        /// The file of the token, which is read each time.
        token_file: String,
    },
    /// The metadata service of the machine: EC2.
    Machine {
        /// The URL of the service; none for the address that is the same for all.
        endpoint: Option<String>,
    },
}

impl BucketKey {
    /// The key in the text of a file that is written as `~/.aws/credentials`.
    ///
    /// # Errors
    /// A sentence about the file, of which it shows nothing.
    pub fn in_file(text: &str) -> Result<Self, &'static str> {
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
        match (id, secret) {
            (Some(id), Some(secret)) => Ok(Self { id, secret, token }),
            _ => Err(
                "it must have the lines \"aws_access_key_id = …\" and \"aws_secret_access_key = …\", under \
                 [default] or under nothing",
            ),
        }
    }
}

impl RoleSource {
    /// Says whether keys would come over a network unencrypted.
    ///
    /// # Errors
    /// The variable of the environment that names such a service.
    pub fn require_safe(&self) -> Result<(), &'static str> {
        let (variable, url) = match self {
            Self::WebIdentity { endpoint, .. } => ("AWS_ENDPOINT_URL_STS", endpoint.as_deref()),
            Self::Container { .. } => return Ok(()),
            Self::Pod { url, .. } => ("AWS_CONTAINER_CREDENTIALS_FULL_URI", Some(url.as_str())),
            Self::Machine { endpoint } => {
                ("AWS_EC2_METADATA_SERVICE_ENDPOINT", endpoint.as_deref())
            }
        };
        if url.is_none_or(is_safe) {
            Ok(())
        } else {
            Err(variable)
        }
    }
}

/// True for a URL that is encrypted, or whose host is this machine or beside it, on no network.
fn is_safe(url: &str) -> bool {
    let Some(rest) = url.strip_prefix("http://") else {
        return url.starts_with("https://");
    };
    let authority = rest.split('/').next().unwrap_or_default();
    if authority.contains('@') {
        return false;
    }
    let host = match authority.strip_prefix('[') {
        Some(inside) => inside.split(']').next(),
        None => authority.split(':').next(),
    };
    host.is_some_and(|host| {
        let is_link_local = |address: Ipv4Addr| address.is_link_local();
        is_this_machine(host)
            || host.parse().is_ok_and(is_link_local)
            || host.starts_with("fd00:ec2::")
    })
}

impl fmt::Debug for BucketAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BucketAccess({})", self.url)
    }
}

impl fmt::Debug for BucketKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(_) => f.write_str("Fixed"),
            Self::InFile { file, .. } => write!(f, "InFile({})", file.display()),
            Self::OfRole(source) => write!(f, "OfRole({source:?})"),
        }
    }
}

impl fmt::Debug for BucketKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BucketKey")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_of_the_default_part_is_read() {
        let key = |token: Option<&str>| {
            Ok(BucketKey {
                id: "a".to_owned(),
                secret: "b=".to_owned(),
                token: token.map(str::to_owned),
            })
        };
        let lines = "aws_access_key_id = a\n aws_secret_access_key=b=\n";
        assert_eq!(BucketKey::in_file(lines), key(None));
        let file = format!(
            "[other]\naws_access_key_id = x\n# aws_session_token = y\n[default]\n{lines}region = r\n\
             aws_session_token = t\n[last]\naws_secret_access_key = z\n"
        );
        assert_eq!(BucketKey::in_file(&file), key(Some("t")));
        for none in [
            "",
            "aws_access_key_id = a\naws_secret_access_key =\n",
            "[other]\naws_access_key_id = a\naws_secret_access_key = b\n",
        ] {
            let said = "it must have the lines \"aws_access_key_id = …\" and \"aws_secret_access_key = …\", under \
                        [default] or under nothing";
            assert_eq!(BucketKey::in_file(none), Err(said));
        }
    }

    #[test]
    fn keys_come_over_no_network_in_the_clear() {
        for safe in [
            "https://sts.example",
            "http://127.0.0.1:80/keys",
            "http://[::1]/keys",
            "http://localhost:8080",
            "http://169.254.170.23/v1/credentials",
            "http://[fd00:ec2::23]/v1/credentials",
        ] {
            assert!(is_safe(safe), "{safe}");
        }
        for other in [
            "http://sts.example",
            "http://10.0.0.1/keys",
            "http://169.254.170.23.example/",
            "http://127.0.0.1@example/",
            "http://127.0.0.1:80@example/",
            "ftp://127.0.0.1/",
            "",
        ] {
            assert!(!is_safe(other), "{other}");
        }
    }
}
