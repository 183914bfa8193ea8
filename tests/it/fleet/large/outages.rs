//! A bucket that fails in part, or for a time: what is lost for that, and what only takes longer.

use std::thread;

use super::{AWAY, Two, noise};
use crate::fleet::Fleet;
use crate::harness::bucket::{Fault, TestBucket};
use crate::harness::{Connection, soon};

/// Bytes that are read from a bucket at once.
const PIECE_BYTES: usize = 256 << 10;

/// An answer of the other daemon, of which the beginning has come.
struct Begun {
    connection: Connection,
    beginning: Vec<u8>,
}

impl Begun {
    fn of(two: &Two, target: &str) -> Self {
        let asked = two.reader.request("GET", target);
        let mut connection = two.other.connect();
        connection.send(&asked.header("Connection", "close").to_bytes());
        let beginning = connection.bytes(1 << 20);
        Self {
            connection,
            beginning,
        }
    }

    /// The bytes behind its head, once all have come.
    fn whole(mut self) -> Vec<u8> {
        let mut answer = self.beginning;
        answer.extend(self.connection.rest());
        let end = answer.windows(4).position(|four| four == b"\r\n\r\n");
        answer.split_off(end.unwrap() + 4)
    }
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
    // So often, and not for so long: who stands still meanwhile would ask once.
    let slow_down = |times| bucket.fault(Fault::SlowsDown, Some(times));
    let bytes = noise(1, 20 << 20);
    let (before, behind) = bytes.split_at(9 << 20);
    let mut upload = two.begin(1, bytes.len());
    let wanted = b"HTTP/1.1 100 Continue\r\n\r\n";
    assert_eq!(upload.bytes(wanted.len()), wanted);
    upload.send(before);
    soon(|| bucket.uploads() == 1);
    slow_down(4);
    upload.send(behind);
    upload.answer().expect_status(201);
    assert_eq!(bucket.faults_done(), 4);

    // The other one knows of it then.
    two.save("after.txt", b"after");
    let begun = Begun::of(&two, &two.project.raw("slow-1.bin"));
    slow_down(6);
    assert!(begun.whole() == bytes);
    assert_eq!(bucket.faults_done(), 10);
}

#[test]
fn an_answer_that_has_begun_waits_for_a_bucket_that_is_away_for_a_moment() {
    let two = Two::of(Fleet::with(Some(TestBucket::alone())));
    let bucket = two.fleet.bucket();
    let bytes = noise(1, 20 << 20);
    two.save("large.bin", &bytes);
    let targets = [
        two.project.raw("large.bin"),
        two.project.read("/files/large.bin?ref=main"),
        two.project.read("/archive.tar"),
        two.project.read("/archive.tar.gz"),
        two.project.read("/archive.zip"),
    ];
    let begun = targets.each_ref().map(|target| Begun::of(&two, target));
    bucket.fault(Fault::Away, None);
    let interrupted = thread::scope(|scope| {
        let all = begun.map(|begun| scope.spawn(move || begun.whole()));
        // That is told when a read was repeated for as long as any is.
        two.other
            .logged("the bucket of large files does not answer, or fails");
        bucket.fault(Fault::Nothing, None);
        all.map(|one| one.join().unwrap())
    });
    two.other.logged("the bucket of large files answers again");
    assert!(interrupted[0] == bytes);
    for (target, interrupted) in targets.iter().zip(&interrupted) {
        assert!(Begun::of(&two, target).whole() == *interrupted, "{target}");
    }
    let log = two.other.log();
    for cut in ["a large file cannot be read", "an answer was cut short"] {
        assert!(!log.contains(cut), "{log}");
    }
}
