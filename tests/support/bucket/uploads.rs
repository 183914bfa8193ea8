//! The unfinished uploads of a bucket: the server in the process keeps them, and does not list them.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Mutex;

use hyper::Uri;
use percent_encoding::percent_decode_str;

/// How many are listed at once. Servers give a thousand; this way a list of some has an end and a beginning.
const LISTED_AT_ONCE: usize = 2;

/// Names with the ids of the uploads to them.
#[derive(Debug, Default)]
pub(super) struct Uploads(Mutex<BTreeSet<(String, String)>>);

impl Uploads {
    /// Notes what a request to begin or to end an upload has done that was answered well, with this body.
    pub(super) fn note(&self, address: &Uri, answer: &str) {
        let name = address.path().strip_prefix("/blobs/").unwrap_or_default();
        let mut all = self.0.lock().unwrap();
        if let Some(id) = param(address, "uploadId") {
            all.retain(|(_, of)| *of != id);
        } else if param(address, "uploads").is_some() {
            let (_, rest) = answer.split_once("<UploadId>").unwrap();
            let (id, _) = rest.split_once('<').unwrap();
            all.insert((name.to_owned(), id.to_owned()));
        }
    }

    /// The list that is asked for.
    pub(super) fn listed(&self, address: &Uri) -> String {
        let param = |name| param(address, name).unwrap_or_default();
        let (prefix, after) = (
            param("prefix"),
            (param("key-marker"), param("upload-id-marker")),
        );
        let all = self.0.lock().unwrap();
        let mut rest = all.iter().filter(|(name, id)| {
            name.starts_with(&prefix) && (name.as_str(), id.as_str()) > (&after.0, &after.1)
        });
        let mut list = String::from("<ListMultipartUploadsResult><Bucket>blobs</Bucket>");
        let mut last = None;
        for (name, id) in rest.by_ref().take(LISTED_AT_ONCE) {
            write!(
                list,
                "<Upload><Key>{name}</Key><UploadId>{id}</UploadId></Upload>"
            )
            .unwrap();
            last = Some((name, id));
        }
        let is_truncated = rest.next().is_some();
        if let Some((name, id)) = last.filter(|_| is_truncated) {
            write!(
                list,
                "<NextKeyMarker>{name}</NextKeyMarker><NextUploadIdMarker>{id}</NextUploadIdMarker>"
            )
            .unwrap();
        }
        write!(
            list,
            "<IsTruncated>{is_truncated}</IsTruncated></ListMultipartUploadsResult>"
        )
        .unwrap();
        list
    }

    /// Has the uploads to names of a prefix be of another day.
    pub(super) fn date(&self, prefix: &str, day: &str) {
        let mut all = self.0.lock().unwrap();
        let dated = std::mem::take(&mut *all).into_iter().map(|(name, id)| {
            let parts: Vec<_> = name.split('/').collect();
            match parts[..] {
                [first, _, last] if first == prefix => (format!("{first}/{day}/{last}"), id),
                _ => (name, id),
            }
        });
        *all = dated.collect();
    }

    /// How many there are to names of a prefix.
    pub(super) fn count(&self, prefix: &str) -> usize {
        let is_of = |(name, _): &&(String, String)| name.split('/').next() == Some(prefix);
        self.0.lock().unwrap().iter().filter(is_of).count()
    }
}

/// What a parameter of an address says.
pub(super) fn param(address: &Uri, name: &str) -> Option<String> {
    let mut params = address.query().unwrap_or_default().split('&');
    let value = params.find_map(|param| {
        let (found, value) = param.split_once('=').unwrap_or((param, ""));
        (found == name).then_some(value)
    })?;
    Some(
        percent_decode_str(value)
            .decode_utf8()
            .unwrap()
            .into_owned(),
    )
}
