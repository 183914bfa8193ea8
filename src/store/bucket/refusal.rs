//! What the refusal of a bucket means for whoever asked. The client of S3 tells of an answer in words alone.

use std::sync::atomic::Ordering;

use object_store::Error;

use super::{Bucket, unfit};
use crate::store::remote::tls;
use crate::store::{LargeBodies, StoreError};

/// How much of what a server says is shown, in characters.
const SAID_MAX: usize = 200;

impl Bucket {
    /// The store's error for a request that failed, whose cause the log has: each once a minute, for whoever asks asks
    /// again.
    pub(super) fn failed(&self, action: &str, error: &Error) -> StoreError {
        self.tell(action, error, "");
        StoreError::BucketAway
    }

    /// The same for a request that brings something, for which there may be no room, or no right where others may read.
    pub(super) fn upload_failed(&self, action: &str, error: &Error) -> StoreError {
        if lacks_room(error) {
            self.tell(action, error, "");
            self.refused_uploads.note(LargeBodies::Full);
            StoreError::BucketFull
        } else if code_of(error).as_deref() == Some("AccessDenied") {
            let advice = ": the bucket refuses writes to these keys, which need s3:PutObject there";
            self.tell(action, error, advice);
            self.refused_uploads.note(LargeBodies::Denied);
            StoreError::BucketDenied
        } else {
            self.failed(action, error)
        }
    }

    /// Tells the log of a request that failed.
    fn tell(&self, action: &str, error: &Error, advice: &str) {
        let cause = format!("{action}: {}", code_of(error).unwrap_or_default());
        // That it is away was told once.
        if self.away_until.load(Ordering::Acquire) == 0 && self.in_vain.is_due(&cause) {
            tracing::error!(%error, "{action} failed{advice}");
        }
    }

    /// The error for a bucket that was looked at in vain: what somebody has to set right, or that it is away.
    pub(super) fn unfit_or_away(&self, error: &Error) -> StoreError {
        if let Some(fault) = tls::fault(error, "s3_ca") {
            return unfit(format!("its certificate {fault}"));
        }
        let code = code_of(error).unwrap_or_default();
        if is_elsewhere(error) {
            // A redirect comes without its text.
            let said = message_of(error).map_or(String::new(), |said| format!(" ({said})"));
            return unfit(format!(
                "it is of another region, or elsewhere{said}; see that region and endpoint in blobs are \
                 right"
            ));
        }
        match error {
            _ if code == "RequestTimeTooSkewed" => unfit(format!(
                "the clock of this machine differs too much from its own ({code}); set both by NTP"
            )),
            Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => unfit(format!(
                "access is denied ({code}); see that the keys are right, and may list, read, write and \
                 delete there"
            )),
            // Of a name that is about to be.
            Error::NotFound { .. } => no_such_bucket(),
            error => self.failed("asking the bucket", error),
        }
    }
}

/// The error for a bucket that is not there.
pub(super) fn no_such_bucket() -> StoreError {
    unfit("there is no such bucket; make it, or see that blobs is right")
}

/// The name that the server has given its refusal, as in `AccessDenied`, else the status of its answer; none where it
/// gave no answer.
fn code_of(error: &Error) -> Option<String> {
    let said = error.to_string();
    between(&said, "<Code>", "</").or_else(|| between(&said, "status code: ", ":"))
}

/// What the server says of its refusal.
fn message_of(error: &Error) -> Option<String> {
    between(&error.to_string(), "<Message>", "</")
}

/// True if the server says that the bucket is not there where it was asked, or that the request was signed for another
/// region. What it sends elsewhere for a moment alone (307) is not meant.
fn is_elsewhere(error: &Error) -> bool {
    let said = error.to_string();
    let code = code_of(error).unwrap_or_default();
    ["AuthorizationHeaderMalformed", "PermanentRedirect"].contains(&&*code)
        || ["301", "308"].iter().any(|status| code.starts_with(status))
        || said.contains("Received redirect without LOCATION")
}

/// True if nothing more is taken for want of room: the server is full, or a quota is used up. Servers differ in how they
/// say so.
pub(super) fn lacks_room(error: &Error) -> bool {
    let said = error.to_string();
    let has = |from, word| between(&said, from, "</").is_some_and(|found| found.contains(word));
    said.contains("status code: 507")
        || has("<Code>", "StorageFull")
        || has("<Code>", "QuotaExceeded")
        || has("<Message>", " quota ")
}

fn between(said: &str, from: &str, to: &str) -> Option<String> {
    let (_, rest) = said.split_once(from)?;
    let (found, _) = rest.split_once(to)?;
    Some(found.trim().chars().take(SAID_MAX).collect())
}
