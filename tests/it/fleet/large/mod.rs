//! Files above the size of a row, in a bucket.

mod outages;
mod refused;

use std::path::Path;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use super::Fleet;
use crate::harness::bucket::{Fault, TestBucket};
use crate::harness::{Answer, Connection, Daemon, Project, User, git_blob_id};

const AWAY: &str = "the bucket of the service's large files does not answer; try again";

/// Bytes without a pattern that a piece could share with another.
pub(super) fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    bytes.truncate(length);
    bytes
}

struct Two {
    fleet: Fleet,
    one: Daemon,
    /// Seen through the first.
    project: Project,
    other: Daemon,
    /// A token, at the other.
    reader: User,
}

impl Two {
    fn set() -> Self {
        Self::of(Fleet::with_bucket())
    }

    fn of(fleet: Fleet) -> Self {
        Self::with(fleet, &[])
    }

    fn with(fleet: Fleet, flags: &[&str]) -> Self {
        let (one, other) = (fleet.daemon(flags), fleet.daemon(flags));
        let project = Project::with_main(&one.user("alice", &[]), "acme/shop");
        let reader = one.reader(&project).at(other.address());
        Self {
            fleet,
            one,
            project,
            other,
            reader,
        }
    }

    /// Saves through the one, and waits until the other knows.
    fn save(&self, path: &str, bytes: &[u8]) {
        self.project.save("main", path, bytes);
        let there = self
            .project
            .seen_by(&self.project.user.at(self.other.address()));
        let newest = self.project.short_id("main");
        crate::harness::soon(|| there.short_id("main") == newest);
    }

    /// Has the one take another file, of so many bytes.
    fn put(&self, seed: u64, size: usize) -> Answer {
        let target = self.project.file("main", "new.bin");
        self.project.user.put(&target, &noise(seed, size))
    }

    /// Announces an upload of so many bytes.
    fn begin(&self, number: u32, bytes: usize) -> Connection {
        let target = self.project.file("main", &format!("slow-{number}.bin"));
        let request = self.project.user.request("PUT", &target);
        let request = request.header("Content-Length", &bytes.to_string());
        let mut connection = self.one.connect();
        connection.send(&request.header("Expect", "100-continue").to_bytes());
        connection
    }

    /// Sends the first part of an upload that is taken, more than a block.
    fn send_some(&self, number: u32, bytes: usize) -> Connection {
        let mut connection = self.begin(number, bytes);
        let wanted = b"HTTP/1.1 100 Continue\r\n\r\n";
        assert_eq!(connection.bytes(wanted.len()), wanted);
        connection.send(&noise(1, (1 << 20) + 1));
        connection
    }

    fn raw(&self, path: &str) -> Answer {
        self.reader.get(&self.project.raw(path))
    }
}

#[test]
fn what_is_uploaded_through_one_is_read_through_the_other_in_every_form() {
    let mut two = Two::set();
    let sizes = [65_537, 262_144, 262_145, 8 << 20, (8 << 20) + 1, 20 << 20];
    for (number, size) in (1..).zip(sizes) {
        let path = format!("{size}.bin");
        let bytes = noise(number, size);
        two.save(&path, &bytes);
        two.raw(&path).assert_bytes(200, &bytes);
        for (from, to) in [(0, 0), (1, 65_535), (65_000, 65_536), (size - 9, size - 1)] {
            let range = format!("bytes={from}-{to}");
            let asked = two.reader.request("GET", &two.project.raw(&path));
            let answer = asked.header("Range", &range).send();
            answer.assert_bytes(206, &bytes[from..=to]);
        }
        let head = two.reader.head(&two.project.raw(&path)).expect_status(200);
        assert_eq!(head.header("Content-Length"), Some(&*size.to_string()));
        if size < 1 << 20 {
            let object = two.project.read(&format!("/files/{path}?ref=main"));
            let told = two.reader.get(&object).expect_status(200).json();
            assert_eq!(told["size"], size);
            let content = told["content"].as_str().unwrap();
            assert!(BASE64_STANDARD.decode(content).unwrap() == bytes);
        }
    }
    assert_eq!(two.fleet.bucket().files().len(), sizes.len());
    // The same bytes again are another place that no row names.
    let bytes = noise(1, sizes[0]);
    two.save("again.bin", &bytes);
    two.raw("again.bin").assert_bytes(200, &bytes);
    assert_eq!(two.fleet.bucket().files().len(), sizes.len() + 1);

    two.one.kill();
    two.other.kill();
    two.one.restart();
    let reader = two.reader.at(two.one.address());
    let last = sizes[sizes.len() - 1];
    let path = two.project.raw(&format!("{last}.bin"));
    reader.get(&path).assert_bytes(200, &noise(6, last));
}

#[test]
fn a_body_of_unknown_length_has_gits_id() {
    let two = Two::set();
    let bytes = noise(7, 9 << 20);
    let request = two
        .project
        .user
        .request("PUT", &two.project.file("main", "a.bin"));
    let head = request.header("Transfer-Encoding", "chunked");
    let mut connection = two.one.connect();
    connection.send(&head.to_bytes());
    for part in bytes.chunks(1_000_000) {
        connection.send(format!("{:x}\r\n", part.len()).as_bytes());
        connection.send(part);
        connection.send(b"\r\n");
    }
    connection.send(b"0\r\n\r\n");
    assert!([200, 201].contains(&connection.answer().status));
    two.save("b.txt", b"b");
    two.raw("a.bin").assert_bytes(200, &bytes);
    let blob = format!("/blobs/{}/raw", git_blob_id(&bytes));
    two.reader
        .get(&two.project.read(&blob))
        .assert_bytes(200, &bytes);
}

#[test]
fn what_a_bucket_does_wrong_for_a_moment_nobody_sees() {
    let two = Two::set();
    let bucket = two.fleet.bucket();
    for (number, fault) in (1..).zip([Fault::Flips, Fault::Loses, Fault::Cuts, Fault::Fails]) {
        let path = format!("{number}.bin");
        let bytes = noise(number, 700_000);
        two.save(&path, &bytes);
        let before = bucket.faults_done();
        bucket.fault(fault, Some(3));
        two.raw(&path).assert_bytes(200, &bytes);
        assert!(bucket.faults_done() >= before + 3, "{fault:?}");
        bucket.fault(Fault::Nothing, None);
    }
    bucket.fault(Fault::Fails, Some(3));
    let bytes = noise(9, 9 << 20);
    two.save("upload.bin", &bytes);
    bucket.fault(Fault::Nothing, None);
    two.raw("upload.bin").assert_bytes(200, &bytes);
}

#[test]
fn what_a_bucket_has_damaged_or_lost_is_never_sent() {
    let two = Two::set();
    let bytes = noise(1, 700_000);
    let damages: [fn(&Path); 3] = [
        |file| {
            let mut bytes = std::fs::read(file).unwrap();
            bytes[5] ^= 1;
            std::fs::write(file, bytes).unwrap();
        },
        |file| {
            let file = std::fs::OpenOptions::new().write(true).open(file);
            file.unwrap().set_len(5).unwrap();
        },
        |file| std::fs::remove_file(file).unwrap(),
    ];
    for (number, damage) in (0_usize..).zip(damages) {
        let path = format!("{number}.bin");
        let bytes: Vec<_> = bytes
            .iter()
            .map(|byte| byte ^ u8::try_from(number).unwrap())
            .collect();
        let before = two.fleet.bucket().files();
        two.save(&path, &bytes);
        let mut new = two.fleet.bucket().files();
        new.retain(|file| !before.contains(file));
        assert_eq!(new.len(), 1);
        damage(&new[0]);
        two.raw(&path)
            .assert_error(500, "500 Internal Server Error");
    }
    // Of a flip behind the first piece the answer is cut off before it.
    let bytes = noise(2, 700_000);
    two.save("late.bin", &bytes);
    let damaged = |file: &std::path::PathBuf| std::fs::read(file).unwrap() == bytes;
    let file = two
        .fleet
        .bucket()
        .files()
        .into_iter()
        .find(damaged)
        .unwrap();
    let mut wrong = bytes.clone();
    wrong[300_000] ^= 1;
    std::fs::write(file, wrong).unwrap();
    let mut connection = two.other.connect();
    let request = two.reader.request("GET", &two.project.raw("late.bin"));
    connection.send(&request.to_bytes());
    connection.finish_sending();
    let sent = connection.rest();
    let head = sent.windows(4).position(|four| four == b"\r\n\r\n");
    let sent = head.map_or(&[][..], |end| &sent[end + 4..]);
    assert!(
        sent.len() <= 262_144 && bytes.starts_with(sent),
        "{}",
        sent.len()
    );
}

/// Also through another daemon, and at another path. A row keeps its place, which backups of the database name.
#[test]
fn what_a_bucket_has_lost_is_there_again_when_it_is_saved_again() {
    let two = Two::set();
    let cut: fn(&Path) = |file| {
        let file = std::fs::OpenOptions::new().write(true).open(file);
        file.unwrap().set_len(5).unwrap();
    };
    let remove: fn(&Path) = |file| std::fs::remove_file(file).unwrap();
    let there = two.project.user.at(two.other.address());
    let there = two.project.seen_by(&there);
    // In one request, and in parts.
    let all = [
        (700_000, cut),
        (700_000, remove),
        (9 << 20, cut),
        (9 << 20, remove),
    ];
    for (seed, (size, lose)) in (1..).zip(all) {
        let (path, bytes) = (format!("{seed}.bin"), noise(seed, size));
        let before = two.fleet.bucket().files();
        two.save(&path, &bytes);
        let mut new = two.fleet.bucket().files();
        new.retain(|file| !before.contains(file));
        assert_eq!(new.len(), 1);
        lose(&new[0]);
        let again = if seed % 2 == 0 { "again.bin" } else { &path };
        there.save("main", again, &bytes);
        assert_eq!(std::fs::read(&new[0]).unwrap(), bytes);
        two.raw(&path).assert_bytes(200, &bytes);
    }
}

#[test]
fn without_the_bucket_large_files_wait_and_all_else_goes_on() {
    let two = Two::set();
    let bytes = noise(1, 700_000);
    two.save("large.bin", &bytes);
    two.save("small.txt", b"small");
    two.fleet.bucket().fault(Fault::Away, None);
    until(|| two.raw("large.bin"), 503).assert_error(503, AWAY);
    let asked = Instant::now();
    assert_eq!(two.raw("large.bin").header("Retry-After"), Some("1"));
    let object = two.project.read("/files/large.bin?ref=main");
    two.reader.get(&object).assert_error(503, AWAY);
    assert!(asked.elapsed() < Duration::from_secs(15));
    let put = |bytes: &[u8]| {
        two.project
            .user
            .put(&two.project.file("main", "new.bin"), bytes)
    };
    put(&noise(2, 100_000)).assert_error(503, AWAY);
    assert!([200, 201].contains(&put(b"small").status));
    two.raw("small.txt").assert_bytes(200, b"small");
    let ready = until(|| two.other.anonymous().get("/readyz"), 503);
    ready.assert_error(
        503,
        "not ready: the bucket of large files does not answer, or cannot be used; the log says why",
    );
    two.fleet.bucket().fault(Fault::Nothing, None);
    until(|| two.other.anonymous().get("/readyz"), 200);
    until(|| two.raw("large.bin"), 200).assert_bytes(200, &bytes);
    until(|| put(&noise(2, 100_000)), 200);
}

#[test]
fn an_upload_that_is_given_up_leaves_nothing() {
    let two = Two::of(Fleet::with(Some(TestBucket::alone())));
    let bucket = two.fleet.bucket();
    bucket.fault(Fault::RefusesParts, None);
    let put = |bytes: &[u8]| {
        two.project
            .user
            .put(&two.project.file("main", "a.bin"), bytes)
    };
    put(&noise(1, 20 << 20)).assert_error(503, AWAY);
    bucket.fault(Fault::Nothing, None);
    crate::harness::soon(|| bucket.parts_under_way() == 0);
    // One that is there as a whole, and whose save is refused.
    let request = two
        .project
        .user
        .request("PUT", &two.project.file("main", "a.bin"));
    let nobody_has = format!("\"{}\"", "0".repeat(64));
    let request = request
        .header("If-Match", &nobody_has)
        .body(&noise(1, 100_000));
    request.send().expect_status(412);
    crate::harness::soon(|| bucket.files().is_empty());
}

#[test]
fn slow_uploads_of_one_account_leave_memory_for_those_of_others() {
    let two = Two::set();
    let bob = two.one.user("bob", &[]);
    let bobs = Project::with_main(&bob, "bob/shop");
    // Each has a part and two blocks of the account's 64 MiB.
    let _slow: Vec<_> = (0..6)
        .map(|number| two.send_some(number, 100 << 20))
        .collect();
    crate::harness::soon(|| two.begin(6, 100 << 20).bytes(12) == b"HTTP/1.1 429");
    let refused = two.begin(6, 100 << 20).answer();
    refused.assert_error(429, "too many bytes of bodies at once; try again in 1 s");
    let fast = bob.put(&bobs.file("main", "fast.bin"), &noise(2, 200_000));
    fast.expect_status(201);
}

#[test]
fn many_slow_uploads_of_little_leave_memory_for_those_of_others() {
    // So long that nobody else's time is over first.
    let two = Two::with(Fleet::with_bucket(), &["--upload-grace-s", "300"]);
    let bob = two.one.user("bob", &[]);
    let bobs = Project::with_main(&bob, "bob/shop");
    let _slow: Vec<_> = (0..24)
        .map(|number| two.send_some(number, 2 << 20))
        .collect();
    let fast = bob.put(&bobs.file("main", "fast.bin"), &noise(2, 20 << 20));
    fast.expect_status(201);
}

/// The first answer of this status.
#[track_caller]
fn until(mut ask: impl FnMut() -> Answer, status: u16) -> Answer {
    let patience = Instant::now() + Duration::from_secs(30);
    loop {
        let answer = ask();
        if answer.status == status {
            return answer;
        }
        assert!(Instant::now() < patience, "{answer:?}");
    }
}
