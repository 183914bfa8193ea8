//! Uploads in parts that were neither completed nor given up, as a daemon leaves them that is killed. A server keeps
//! their parts, and no list of names tells of them.

use std::time::Duration;

use http_body_util::{BodyExt, Limited};
use object_store::client::{HttpRequest, HttpRequestBody};
use object_store::multipart::MultipartStore;
use object_store::path::Path;
use object_store::signer::{SignedUrlOptions, Signer};
use serde::Deserialize;

use super::client::{OfList, is_silence, unexpected};
use super::refusal::{STATUS, is_no_upload, is_passing};
use super::{Bucket, is_day};
use crate::store::Result;

/// How long a request for a list counts; it is sent at once.
const SIGNED_FOR: Duration = Duration::from_mins(1);
/// Longest list that is read, in bytes. Servers give 1,000 uploads at once, of some 300 bytes each.
const LIST_BYTES_MAX: usize = 4 << 20;

/// What a server answers to `ListMultipartUploads`, as far as it is needed.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct List {
    #[serde(default)]
    is_truncated: bool,
    #[serde(default)]
    next_key_marker: String,
    #[serde(default)]
    next_upload_id_marker: String,
    #[serde(default, rename = "Upload")]
    uploads: Vec<Unfinished>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Unfinished {
    key: String,
    upload_id: String,
}

/// The name and the upload behind which a list goes on; both empty for its beginning.
type Marker = (String, String);

impl Bucket {
    /// Gives up the unfinished uploads to places of days before this one. Gives how many these were. A server that
    /// does not list them is no error; the log is told.
    pub(in crate::store) async fn give_up_before(&self, oldest: &str) -> Result<u64> {
        let mut given_up = 0;
        let mut after = Marker::default();
        loop {
            let list = match self.listed(|| self.unfinished(&after)).await {
                Ok(list) => list,
                Err(error) if is_silence(&error) || is_passing(&error) => {
                    return Err(self.failed("listing uploads", &error));
                }
                Err(error) => {
                    tracing::warn!(
                        %error,
                        "uploads that a killed daemon has left cannot be listed, and stay in the bucket; allow \
                         s3:ListBucketMultipartUploads, or give the bucket a rule that ends them"
                    );
                    return Ok(given_up);
                }
            };
            for upload in &list.uploads {
                if self.is_place_before(&upload.key, oldest) {
                    self.give_up(upload).await?;
                    given_up += 1;
                }
            }
            let next = (list.next_key_marker, list.next_upload_id_marker);
            // One that does not go on would go on for ever.
            if !list.is_truncated || next == after {
                return Ok(given_up);
            }
            after = next;
        }
    }

    async fn give_up(&self, upload: &Unfinished) -> Result<()> {
        let path = Path::from(upload.key.as_str());
        let abort = || self.store.abort_multipart(&path, &upload.upload_id);
        match self.asked(None, abort).await {
            Err(error) if !is_no_upload(&error) => Err(self.failed("giving an upload up", &error)),
            _ => Ok(()),
        }
    }

    /// True for a name that is a place of ours, of a day before this one.
    fn is_place_before(&self, key: &str, oldest: &str) -> bool {
        let place = match self.prefix.as_str() {
            "" => Some(key),
            prefix => key.strip_prefix(prefix).and_then(|k| k.strip_prefix('/')),
        };
        place
            .and_then(|place| place.split_once('/'))
            .is_some_and(|(day, name)| is_day(day) && day < oldest && !name.contains('/'))
    }

    /// Some of the unfinished uploads to names of the prefix.
    async fn unfinished(&self, after: &Marker) -> object_store::Result<List> {
        let mut query = vec![("uploads", String::new())];
        if !self.prefix.is_empty() {
            query.push(("prefix", format!("{}/", self.prefix)));
        }
        if *after != Marker::default() {
            query.push(("key-marker", after.0.clone()));
            query.push(("upload-id-marker", after.1.clone()));
        }
        // The crate has no such request, but signs any.
        let options = SignedUrlOptions::new().with_query(query);
        let mut request = HttpRequest::new(HttpRequestBody::empty());
        request.extensions_mut().insert(OfList);
        let method = request.method().clone();
        let address = self
            .store
            .signed_url_opts(method, &Path::default(), SIGNED_FOR, &options)
            .await?;
        *request.uri_mut() = address.as_str().parse().map_err(unexpected)?;
        let (head, body) = self
            .client
            .send(request)
            .await
            .map_err(unexpected)?
            .into_parts();
        if !head.status.is_success() {
            return Err(unexpected(format!(
                "it answers with {STATUS}{}:",
                head.status
            )));
        }
        let text = Limited::new(body, LIST_BYTES_MAX).collect().await;
        let text = text.map_err(unexpected)?.to_bytes();
        quick_xml::de::from_reader(&text[..]).map_err(unexpected)
    }
}
