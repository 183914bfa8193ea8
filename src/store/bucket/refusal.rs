//! What the refusal of a bucket means for whoever asked. The client of S3 tells of an answer in words alone.

use object_store::Error;

use super::client::is_silence;
use super::{Bucket, unfit};
use crate::store::remote::tls;
use crate::store::{LargeBodies, StoreError};

/// How much of what a server says is shown, in characters.
const SAID_MAX: usize = 200;
/// What the status of an answer says that another try may do: the server fails, or asks for patience. Without room
/// (507) it does not in a moment.
const PASSING: [&str; 6] = ["408", "429", "500", "502", "503", "504"];
/// Behind this the crate tells the status of an answer, with a colon at its end.
pub(super) const STATUS: &str = "status code: ";
/// How the crate tells of a failure in the body of an answer whose status is a good one.
const FAILURE_INSIDE: &str = "Server returned error response";

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
        if !self.gate.is_away() && self.in_vain.is_due(&cause) {
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
            _ if ["ExpiredToken", "InvalidToken"].contains(&&*code) => unfit(format!(
                "the keys have ended ({code}); give others with their token, and start again unless they are in a file"
            )),
            Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => unfit(format!(
                "access is denied ({code}); see that the keys are right, and may list, read, write and \
                 delete there"
            )),
            _ if code == "NoSuchBucket" => {
                unfit("there is no such bucket; make it, or see that blobs is right")
            }
            Error::NotFound { .. } => unfit(format!(
                "what answers there does not know it ({code}); see that endpoint in blobs is right, and what \
                 stands before the server"
            )),
            error => self.failed("asking the bucket", error),
        }
    }
}

/// True if the bucket itself says that nothing lies at this name. What stands before it, and knows of no bucket, may
/// say that a page is not found.
pub(super) fn is_not_there(error: &Error) -> bool {
    code_of(error).as_deref() == Some("NoSuchKey")
}

/// True if the bucket says that there is no such upload, as where it has ended.
pub(super) fn is_no_upload(error: &Error) -> bool {
    code_of(error).as_deref() == Some("NoSuchUpload")
}

/// True if the bucket says that what lies there ends before the bytes that were asked for.
pub(super) fn is_beyond_end(error: &Error) -> bool {
    status_of(error).as_deref() == Some("416")
}

/// True if another try may do in a moment: no answer has come, or one that says so.
pub(super) fn is_passing(error: &Error) -> bool {
    let is_silent = is_silence(error) && tls::fault(error, "s3_ca").is_none();
    let status = status_of(error).unwrap_or_default();
    is_silent || PASSING.contains(&&*status) || error.to_string().contains(FAILURE_INSIDE)
}

/// The name that the server has given its refusal, as in `AccessDenied`, else the status of its answer; none where it
/// gave no answer.
fn code_of(error: &Error) -> Option<String> {
    let said = error.to_string();
    between(&said, "<Code>", "</").or_else(|| between(&said, STATUS, ":"))
}

/// The number of the status with which the server has answered.
fn status_of(error: &Error) -> Option<String> {
    between(&error.to_string(), STATUS, " ")
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

/// True if nothing more is taken for want of room: the server is full, or a quota is used up. Servers differ in how
/// they say so.
pub(super) fn lacks_room(error: &Error) -> bool {
    let said = error.to_string();
    let has = |from, word| between(&said, from, "</").is_some_and(|found| found.contains(word));
    status_of(error).as_deref() == Some("507")
        || has("<Code>", "StorageFull")
        || has("<Code>", "QuotaExceeded")
        || has("<Message>", " quota ")
}

fn between(said: &str, from: &str, to: &str) -> Option<String> {
    let (_, rest) = said.split_once(from)?;
    let (found, _) = rest.split_once(to)?;
    Some(found.trim().chars().take(SAID_MAX).collect())
}

#[cfg(test)]
mod tests {
    use super::super::client::{silence, unexpected};
    use super::*;

    /// As the crate tells of it.
    fn answered(status: &str, body: &str) -> Error {
        unexpected(format!(
            "Error performing GET http://127.0.0.1/blobs/a in 1ms - Server returned non-2xx status code: \
             {status}: {body}"
        ))
    }

    #[test]
    fn the_bucket_alone_says_what_it_does_not_have() {
        let lost = answered("404 Not Found", "<Error><Code>NoSuchKey</Code></Error>");
        assert!(is_not_there(&lost) && !is_passing(&lost));
        let short = answered("416 Range Not Satisfiable", "<Code>InvalidRange</Code>");
        assert!(is_beyond_end(&short) && !is_not_there(&short) && !is_passing(&short));
        for error in [
            answered("404 Not Found", "<html>404 page not found</html>"),
            answered("404 Not Found", "<Code>NoSuchBucket</Code>"),
            answered("503 Service Unavailable", ""),
            unexpected("Failed to read token file '/token': No such file or directory"),
            unexpected("Invalid AssumeRoleWithWebIdentity response: missing field"),
            silence("late"),
        ] {
            assert!(!is_not_there(&error) && !is_beyond_end(&error), "{error}");
        }
    }

    #[test]
    fn another_try_may_do_where_nobody_has_decided_anything() {
        for error in [
            answered("503 Service Unavailable", "<Code>SlowDown</Code>"),
            answered("429 Too Many Requests", ""),
            unexpected("Server returned error response: <Code>InternalError</Code>"),
            silence("late"),
        ] {
            assert!(is_passing(&error), "{error}");
        }
        for error in [
            answered("507 Insufficient Storage", "<Code>XMinioStorageFull</Code>"),
            answered("403 Forbidden", "<Code>AccessDenied</Code>"),
            unexpected("Received redirect without LOCATION"),
        ] {
            assert!(!is_passing(&error), "{error}");
        }
    }
}
