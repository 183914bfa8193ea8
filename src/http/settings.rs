//! What the operator decides about this layer.

use super::request::base_url::Network;
use crate::base::limits::{ARCHIVE_BYTES_MAX_DEFAULT, FILE_BYTES_MAX_DEFAULT};

/// What the operator decides about this layer.
#[derive(Clone, Debug)]
pub struct HttpSettings {
    /// True to serve the Read API at `/api/v4` too, for clients that drop the path of their base URL.
    pub root_mount: bool,
    /// The address under which clients reach the service, as `https://conf.example`, when it is not
    /// the one they send as `Host`. With `https` the session cookie is `Secure`.
    pub external_url: Option<String>,
    /// Proxies that are believed what they tell of the client's request (`Forwarded`, `X-Forwarded-*`).
    pub trusted_proxies: Vec<Network>,
    /// Largest file that is taken, in bytes.
    pub file_bytes_max: u64,
    /// Largest sum of the files of an archive, in bytes.
    pub archive_bytes_max: u64,
}

impl Default for HttpSettings {
    fn default() -> Self {
        Self {
            root_mount: false,
            external_url: None,
            trusted_proxies: Vec::new(),
            file_bytes_max: FILE_BYTES_MAX_DEFAULT,
            archive_bytes_max: ARCHIVE_BYTES_MAX_DEFAULT,
        }
    }
}
