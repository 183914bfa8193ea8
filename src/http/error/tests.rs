//! Statuses and texts.

use std::sync::Arc;

use super::*;
use crate::repo::StoreError;

fn store(error: StoreError) -> Error {
    Error::Repo(repo::Error::Store(Arc::new(error)))
}

fn assert_answers(errors: Vec<(Error, u16, &str, &str)>) {
    for (error, status, read, admin) in errors {
        assert_eq!(error.status().as_u16(), status, "{error:?}");
        assert_eq!(error.message(ApiFlavor::Read), read, "{error:?}");
        assert_eq!(error.message(ApiFlavor::Admin), admin, "{error:?}");
    }
}

#[test]
fn refusals_of_the_gate_have_their_statuses_and_texts() {
    let gate = Error::Access;
    assert_answers(vec![
        (
            Error::no_credential(),
            401,
            "401 Unauthorized",
            "Not logged in",
        ),
        (
            gate(access::Error::WrongLogin(Refusal::default())),
            401,
            "Invalid username or password",
            "Invalid username or password",
        ),
        (
            gate(access::Error::FingerprintMismatch(Refusal::default())),
            401,
            "FINGERPRINT_MISMATCH",
            "FINGERPRINT_MISMATCH",
        ),
        (
            gate(access::Error::Forbidden(Refusal::default())),
            403,
            "403 Forbidden",
            "your roles do not allow this",
        ),
        (
            Error::from(repo::Error::Forbidden {
                actor: "eve".to_owned(),
            }),
            403,
            "403 Forbidden",
            "your roles do not allow this",
        ),
        (
            Error::from(repo::Error::LoggedOut {
                actor: "eve".to_owned(),
            }),
            401,
            "401 Unauthorized",
            "Not logged in",
        ),
        (
            gate(access::Error::NoSuchProject),
            404,
            "404 Project Not Found",
            "Project not found",
        ),
        (
            gate(access::Error::NoSuchToken),
            404,
            "404 Token Not Found",
            "Token not found",
        ),
        (
            gate(access::Error::NoSuchSession),
            404,
            "Session not found",
            "Session not found",
        ),
        (
            Error::TooMany {
                refusal: Refusal::new("too many logins at once"),
                retry_after_s: 2,
            },
            429,
            "too many logins at once; try again in 2 s",
            "too many logins at once; try again in 2 s",
        ),
    ]);
}

#[test]
fn what_is_not_there_is_named_in_the_words_of_its_api() {
    let missing = |what| Error::Repo(repo::Error::NotFound { what });
    let tree = missing(Missing::Revision).revision_as("404 Tree Not Found");
    let folder = "404 invalid revision or path Not Found";
    assert_answers(vec![
        (
            Error::NoRoute,
            404,
            "404 Not Found",
            "there is no such route",
        ),
        (
            missing(Missing::Branch),
            404,
            "404 Branch Not Found",
            "Branch not found",
        ),
        (
            missing(Missing::File),
            404,
            "404 File Not Found",
            "File not found",
        ),
        (missing(Missing::Folder), 404, folder, "Folder not found"),
        (
            missing(Missing::Snapshot),
            404,
            "404 Commit Not Found",
            "Snapshot not found",
        ),
        (tree, 404, "404 Tree Not Found", "404 Tree Not Found"),
    ]);
}

#[test]
fn failures_of_the_store_tell_nothing_of_it() {
    let folder = StoreError::Folder {
        path: "/secret".into(),
        reason: "secret".into(),
    };
    let reason = || "secret".to_owned();
    let unfit = StoreError::Unfit { reason: reason() };
    let unfit_bucket = StoreError::UnfitBucket { reason: reason() };
    let conflict = StoreError::Conflict {
        key: "secret".into(),
    };
    let (read, admin) = (
        "500 Internal Server Error",
        "internal error; see the log under X-Request-Id",
    );
    let later = "the service cannot write at the moment; try again";
    let away = "the database of the service does not answer; try again";
    let made =
        "the change was made, but what came of it cannot be read now; look before you repeat it";
    let gone =
        "the database of the service no longer has what it had; the service must be restarted";
    let unusable = "the database of the service cannot be used; the log of the service says why";
    let denied = "the bucket of the service's large files refuses what the service writes, whose keys need \
                  s3:PutObject there; reading, deleting and small files go on";
    let no_bucket =
        "the bucket of the service's large files cannot be used; the log of the service says why";
    let in_doubt = "the database of the service failed at the end of this change, which may have \
                    been made; look before you repeat it";
    let stopped = "the service has stopped writing after a failed write; it goes on reading, and \
                   must be restarted";
    let moved = "the data folder of the service is not at its place any more; it \
                 must be put back, or the service restarted with the new one";
    let full = "no space left for this change";
    let little = "too little room is free on the disk of the service (disk_free_min); reading and \
                  deleting go on, and so does this when there is more";
    let full_bucket = "the bucket of the service's large files is full, or its quota is used up; reading, \
                       deleting and small files go on, and so does this when there is room";
    let read_only = "the database of the service takes no changes: its setting \
                     default_transaction_read_only is on; reading goes on, and so does this when that ends";
    let missing_branch = Error::Repo(repo::Error::missing(Missing::Branch));
    let searched = "the search takes longer; it goes on when it is asked for again";
    assert_answers(vec![
        (
            Error::Repo(repo::Error::Unfinished),
            503,
            searched,
            searched,
        ),
        (store(folder), 500, read, admin),
        (Error::Crashed, 500, read, admin),
        (store(conflict), 503, later, later),
        (store(StoreError::Stopped), 503, stopped, stopped),
        (store(StoreError::Moved), 503, moved, moved),
        (store(StoreError::Busy), 503, later, later),
        (store(StoreError::LockInTheWay), 503, later, later),
        (store(StoreError::Unavailable), 503, away, away),
        (
            store(StoreError::Unavailable).after_change(),
            503,
            made,
            made,
        ),
        (store(StoreError::Full).after_change(), 507, full, full),
        (missing_branch.after_change(), 503, made, made),
        (store(StoreError::WentBack), 503, gone, gone),
        (store(unfit), 503, unusable, unusable),
        (
            store(StoreError::DatabaseReadOnly),
            503,
            read_only,
            read_only,
        ),
        (store(unfit_bucket), 503, no_bucket, no_bucket),
        (store(StoreError::InDoubt), 503, in_doubt, in_doubt),
        (store(StoreError::Full), 507, full, full),
        (store(StoreError::LittleRoom), 507, little, little),
        (store(StoreError::BucketFull), 507, full_bucket, full_bucket),
        (store(StoreError::BucketDenied), 503, denied, denied),
    ]);
}

#[test]
fn who_may_have_made_a_change_is_not_told_when_to_make_it_again() {
    let retry_after_s = |error| store(error).retry_after_s();
    assert_eq!(retry_after_s(StoreError::Unavailable), Some(1));
    assert_eq!(retry_after_s(StoreError::WentBack), Some(60));
    assert_eq!(retry_after_s(StoreError::InDoubt), None);
    assert_eq!(retry_after_s(StoreError::Made), None);
}

#[test]
fn what_the_store_tells_the_log_itself_is_told_with_no_request() {
    let fails = |error| store(error).is_failure();
    for told in [
        StoreError::Full,
        StoreError::LittleRoom,
        StoreError::Moved,
        StoreError::Stopped,
        StoreError::Unavailable,
    ] {
        assert!(!fails(told));
    }
    for untold in [StoreError::Busy, StoreError::InDoubt, StoreError::ReadOnly] {
        assert!(fails(untold));
    }
}

#[test]
fn a_precondition_and_a_taken_name_keep_the_statuses_of_the_contract() {
    let taken = repo::Error::Exists { what: "branch" };
    assert_eq!(
        Error::Repo(repo::Error::file_precondition(None, None)).status(),
        412
    );
    assert_eq!(Error::Repo(taken).status(), 400);
    assert_eq!(
        allow(&[Method::GET, Method::PUT]),
        "GET, HEAD, PUT, OPTIONS"
    );
}

#[test]
fn who_lost_a_right_on_the_way_is_named_in_the_audit_log() {
    let refused = Error::from(repo::Error::Forbidden {
        actor: "eve".to_owned(),
    });
    let refusal = Refusal::of("eve", "no role allows it");
    assert_eq!(refused.refusal(), Some(refusal));
}
