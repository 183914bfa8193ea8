//! A bucket that fails in part, or for a time: what is lost for that, and what only takes longer.

use std::time::Duration;

use super::{AWAY, Two, noise};
use crate::fleet::Fleet;
use crate::harness::bucket::{Fault, TestBucket};
use crate::harness::soon;

/// Bytes that are read from a bucket at once.
const PIECE_BYTES: usize = 256 << 10;

/// What a file is answered with at the other daemon, where this is done once its beginning has come.
fn raw_with(two: &Two, path: &str, meanwhile: impl FnOnce()) -> Vec<u8> {
    let asked = two.reader.request("GET", &two.project.raw(path));
    let mut connection = two.other.connect();
    connection.send(&asked.header("Connection", "close").to_bytes());
    let mut answer = connection.bytes(1 << 20);
    meanwhile();
    answer.extend(connection.rest());
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n");
    answer.split_off(end.unwrap() + 4)
}

#[test]
fn a_file_that_hangs_in_the_bucket_keeps_nobody_from_the_others() {
    let two = Two::set();
    let bucket = two.fleet.bucket();
    two.save("hung.bin", &noise(1, 700_000));
    let file = bucket.files().remove(0);
    let bytes = noise(2, 40 * PIECE_BYTES);
    two.save("other.bin", &bytes);
    bucket.fault_of(Fault::Hangs, &file);
    // Each is in memory once it was read.
    let read_piece = |number: usize| {
        let part = number * PIECE_BYTES..(number + 1) * PIECE_BYTES;
        let asked = two.reader.request("GET", &two.project.raw("other.bin"));
        let range = format!("bytes={}-{}", part.start, part.end - 1);
        let answer = asked.header("Range", &range).send();
        answer.assert_bytes(206, &bytes[part]);
        two.other.anonymous().get("/readyz").expect_status(200);
    };
    let asked = two.reader.request("GET", &two.project.raw("hung.bin"));
    let mut hung = two.other.connect();
    hung.send(&asked.to_bytes());
    (0..20).for_each(read_piece);
    hung.answer().assert_error(503, AWAY);
    for number in 20..40 {
        two.raw("hung.bin").assert_error(503, AWAY);
        read_piece(number);
    }
}

#[test]
fn what_stands_before_the_bucket_and_finds_no_page_says_nothing_of_the_files() {
    let two = Two::set();
    let bytes = noise(1, 700_000);
    two.save("large.bin", &bytes);
    two.fleet.bucket().fault(Fault::FindsNoPage, None);
    two.raw("large.bin").assert_error(503, AWAY);
    two.other.logged("reading from the bucket failed");
    assert!(!two.other.log().contains("damaged"), "{}", two.other.log());
    two.fleet.bucket().fault(Fault::Nothing, None);
    two.raw("large.bin").assert_bytes(200, &bytes);
}

#[test]
fn a_bucket_that_asks_for_patience_costs_who_sends_and_who_reads_time_alone() {
    let two = Two::of(Fleet::with(Some(TestBucket::alone())));
    let bucket = two.fleet.bucket();
    let slow_down = || bucket.fault_for(Fault::SlowsDown, Duration::from_secs(2));
    let bytes = noise(1, 20 << 20);
    let (before, behind) = bytes.split_at(9 << 20);
    let mut upload = two.begin(1, bytes.len());
    let wanted = b"HTTP/1.1 100 Continue\r\n\r\n";
    assert_eq!(upload.bytes(wanted.len()), wanted);
    upload.send(before);
    soon(|| bucket.uploads() == 1);
    slow_down();
    upload.send(behind);
    upload.answer().expect_status(201);
    let refused = bucket.faults_done();
    assert!(refused > 1, "{refused}");

    // The other one knows of it then.
    two.save("after.txt", b"after");
    assert!(raw_with(&two, "slow-1.bin", slow_down) == bytes);
    assert!(bucket.faults_done() > refused + 1);
}

#[test]
fn an_answer_that_has_begun_waits_for_a_bucket_that_is_away_for_a_moment() {
    let two = Two::of(Fleet::with(Some(TestBucket::alone())));
    let bucket = two.fleet.bucket();
    let bytes = noise(1, 20 << 20);
    two.save("large.bin", &bytes);
    // Longer than one read is repeated.
    let go_away = || bucket.fault_for(Fault::Away, Duration::from_secs(7));
    assert!(raw_with(&two, "large.bin", go_away) == bytes);
    two.other.logged("the bucket of large files answers again");
    let log = two.other.log();
    assert!(!log.contains("a large file cannot be read"), "{log}");
}
