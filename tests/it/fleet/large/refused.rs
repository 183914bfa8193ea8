//! A bucket that refuses what it is asked, and what is told of it.

use serde_json::Value;

use super::{AWAY, Two, noise, until};
use crate::fleet::Fleet;
use crate::fleet::refusals::{assert_found, errors, status};
use crate::harness::bucket::{Fault, TestBucket};
use crate::harness::{Project, soon};

const FULL: &str = "the bucket of the service's large files is full, or its quota is used up; reading, \
                    deleting and small files go on, and so does this when there is room";

const DENIED: &str = "the bucket of the service's large files refuses what the service writes, whose keys need \
                      s3:PutObject there; reading, deleting and small files go on";

#[test]
fn a_bucket_that_refuses_what_it_is_asked_is_told_of_until_it_does_it_again() {
    let two = Two::set();
    let ready = || two.other.anonymous().get("/readyz");
    for (number, fault) in (1..).zip([Fault::Denies, Fault::Fails]) {
        // One that was read is kept in memory.
        let path = format!("{number}.bin");
        let bytes = noise(number, 700_000);
        two.save(&path, &bytes);
        // What is refused, and that it fails.
        let told = || {
            let fails = "the bucket of large files does not answer";
            errors(&two.other).len() + two.other.log().matches(fails).count()
        };
        // The log is in order: from then on it has all that was told before.
        two.raw(&format!("absent-{number}")).expect_status(404);
        two.other.logged(&format!("absent-{number}"));
        let before = told();
        two.fleet.bucket().fault(fault, None);
        until(ready, 503).assert_error(
            503,
            "not ready: the bucket of large files does not answer, or cannot be used; the log says why",
        );
        for _ in 0..2 {
            two.raw(&path).assert_error(503, AWAY);
        }
        // One of what looks at it, and one of what reads.
        soon(|| told() > before);
        let told = told() - before;
        assert!((1..=2).contains(&told), "{}", two.other.log());
        two.fleet.bucket().fault(Fault::Nothing, None);
        until(ready, 200);
        two.raw(&path).assert_bytes(200, &bytes);
    }
}

#[test]
fn a_bucket_without_room_is_told_of_until_an_upload_succeeds() {
    // It removes nothing of others either.
    let two = Two::of(Fleet::with(Some(TestBucket::alone())));
    let bucket = two.fleet.bucket();
    let bytes = noise(1, 700_000);
    two.save("large.bin", &bytes);
    let ready = || two.one.anonymous().get("/readyz");
    for fault in [Fault::Quota, Fault::Full] {
        bucket.fault(fault, None);
        for seed in 2..5 {
            for size in [100_000, 9 << 20] {
                two.put(seed, size).assert_error(507, FULL);
            }
        }
        ready().assert_error(
            503,
            "not ready: large files are refused: their bucket is full, or its quota is used up",
        );
        two.save("small.txt", b"small");
    }
    two.raw("large.bin").assert_bytes(200, &bytes);
    two.other.anonymous().get("/readyz").expect_status(200);
    // Each cause by itself, however often it is met.
    let log = || two.one.log();
    for (action, code) in [
        ("sending a file failed", "QuotaExceeded"),
        ("sending a file failed", "XMinioStorageFull"),
        ("beginning an upload failed", "QuotaExceeded"),
        ("beginning an upload failed", "XMinioStorageFull"),
        ("giving an upload up failed", "XMinioStorageFull"),
    ] {
        let is_of = |line: &&str| line.contains(action) && line.contains(code);
        soon(|| log().lines().filter(is_of).count() == 1);
    }
    // Behind the last of these.
    soon(|| log().contains("until it is swept"));
    assert_eq!(errors(&two.one).len(), 5, "{}", log());
    assert_eq!(log().matches("until it is swept").count(), 1, "{}", log());

    // Small ones are taken.
    assert_found(
        &two.one,
        "large files: their bucket is full, or its quota is used up",
        &Value::Null,
    );
    bucket.fault(Fault::Nothing, None);
    two.project.save("main", "new.bin", noise(2, 100_000));
    ready().expect_status(200);
    soon(|| status(&two.one).0 == Some(0));
}

#[test]
fn a_bucket_that_refuses_writes_is_told_of_with_the_permission_until_an_upload_succeeds() {
    let two = Two::of(Fleet::with(Some(TestBucket::alone())));
    let bucket = two.fleet.bucket();
    let bytes = noise(1, 700_000);
    two.save("large.bin", &bytes);
    let ready = || two.one.anonymous().get("/readyz");
    bucket.fault(Fault::DeniesWrites, None);
    for seed in 2..5 {
        for size in [100_000, 9 << 20] {
            two.put(seed, size).assert_error(503, DENIED);
        }
    }
    ready().assert_error(
        503,
        "not ready: large files are refused: their bucket refuses writes to the keys of the service, which need \
         s3:PutObject there",
    );
    two.save("small.txt", b"small");
    two.raw("large.bin").assert_bytes(200, &bytes);
    two.other.anonymous().get("/readyz").expect_status(200);

    soon(|| errors(&two.one).len() >= 2);
    let told = errors(&two.one);
    assert_eq!(told.len(), 2, "{told:?}");
    for (line, action) in told.iter().zip(["sending a file", "beginning an upload"]) {
        let said = format!(
            "{action} failed: the bucket refuses writes to these keys, which need s3:PutObject there"
        );
        assert!(
            line.contains(&said) && line.contains("AccessDenied"),
            "{line}"
        );
    }

    assert_found(
        &two.one,
        "large files: their bucket refuses writes to its keys, which need s3:PutObject there",
        &Value::Null,
    );
    let put_by_command = two.one.command(
        &["put", "acme/shop.erp", "main", "new.bin"],
        &"x".repeat(100_000),
    );
    let url = bucket.access().url;
    let said = format!(
        "siteconf: {url}: the bucket of large files refuses writes to these keys: they need s3:PutObject there\n"
    );
    let err = String::from_utf8_lossy(&put_by_command.stderr).into_owned();
    assert!(err.ends_with(&said), "{err}");
    assert_eq!(put_by_command.status.code(), Some(1));

    bucket.fault(Fault::Nothing, None);
    two.project.save("main", "new.bin", noise(2, 100_000));
    ready().expect_status(200);
    soon(|| status(&two.one).0 == Some(0));
}

#[test]
fn what_a_bucket_refuses_is_told_with_what_to_set_right() {
    let fleet = Fleet::with_bucket();
    let daemon = fleet.daemon(&[]);
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    project.save("main", "large.bin", noise(1, 100_000));
    for (fault, reason) in [
        (
            Fault::Skewed,
            "the clock of this machine differs too much from its own (RequestTimeTooSkewed); set both by NTP",
        ),
        (
            Fault::OtherRegion,
            "it is of another region, or elsewhere (the region 'us-east-1' is wrong; expecting \
             'eu-central-1'); see that region and endpoint in blobs are right",
        ),
        (
            Fault::Elsewhere,
            "it is of another region, or elsewhere; see that region and endpoint in blobs are right",
        ),
        (
            Fault::Denies,
            "access is denied (AccessDenied); see that the keys are right, and may list, read, write and \
             delete there",
        ),
        (
            Fault::EndsKeys,
            "the keys have ended (ExpiredToken); give others with their token, and start again unless they are in a \
             file",
        ),
        (
            Fault::FindsNoPage,
            "what answers there does not know it (404 Not Found); see that endpoint in blobs is right, and \
             what stands before the server",
        ),
    ] {
        fleet.bucket().fault(fault, None);
        let (_, _, findings) = status(&daemon);
        let finding = format!(
            "large files cannot be had: the bucket of large files cannot be used: {reason}"
        );
        assert_eq!(findings, serde_json::json!([finding]));
    }
}

#[test]
fn a_sweep_that_failed_is_told_and_keeps_nothing_whose_time_is_over() {
    let fleet = Fleet::with_bucket();
    // Else it may be the one who sweeps.
    let mut first = fleet.daemon(&[]);
    first.stop();
    let over = fleet.bucket().plant("2020-01-01/over");
    first.database().unwrap().ask(
        "UPDATE siteconf.sweep SET at = now() - interval '25 hours';
        INSERT INTO siteconf.trash VALUES ('2020-01-01/over', now() - interval '15 days')",
    );
    fleet.bucket().fault(Fault::DeniesLists, None);
    let daemon = fleet.daemon(&[]);
    let listed = daemon.logged("listing the bucket failed");
    assert!(listed["error"].as_str().unwrap().contains("AccessDenied"));
    daemon.logged("the bucket was not swept");
    assert!(!over.exists());
}
