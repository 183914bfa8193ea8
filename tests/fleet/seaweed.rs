//! An S3 server of the field, `SeaweedFS`, as a process: what daemons do with it, and without it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::bucket::{KEY_ID, SECRET_KEY, TestBucket};
use crate::client::Client;
use crate::cluster::{Cluster, until};
use crate::daemon::{Daemon, PROJECT, file, read, serve_at, siteconf_at};
use crate::left_out::leave_out;
use crate::store::{init_at, log_in, make_project, ran, save, settled, token};

/// A server of its own. It ends with the test.
struct Seaweed {
    folder: PathBuf,
    process: Child,
    /// Where it is reached.
    endpoint: String,
}

impl Seaweed {
    fn start(folder: &Path, port: Option<&str>) -> Self {
        let log = folder.join("seaweed.log");
        let data = folder.join("seaweed");
        fs::create_dir_all(&data).unwrap();
        let mut command = Command::new(program().expect("it was looked for"));
        command
            .args([
                "mini",
                "-bucket=blobs",
                "-ip=127.0.0.1",
                "-ip.bind=127.0.0.1",
            ])
            .args([
                "-admin.ui=false",
                "-webdav=false",
                "-master.telemetry=false",
            ])
            .args(["-s3.port.iceberg=0", "-s3.port.lance=0"])
            .arg(format!("-dir={}", data.display()))
            .args(port.map(|port| format!("-s3.port={port}")))
            .env("AWS_ACCESS_KEY_ID", KEY_ID)
            .env("AWS_SECRET_ACCESS_KEY", SECRET_KEY)
            .stdin(Stdio::null())
            .stdout(fs::File::create(&log).unwrap())
            .stderr(Stdio::null());
        let mut process = command.spawn().unwrap();
        let mut endpoint = None;
        until(|| {
            assert!(process.try_wait().unwrap().is_none());
            let said = fs::read_to_string(&log).unwrap();
            let mut lines = said.lines().map(str::trim);
            let found = lines.find_map(|line| line.strip_prefix("S3 Endpoint:"));
            endpoint = found.map(|found| found.trim().to_owned());
            said.contains("Press Ctrl+C") && endpoint.is_some()
        });
        Self {
            folder: folder.to_owned(),
            process,
            endpoint: endpoint.unwrap(),
        }
    }

    /// What it keeps, in bytes.
    fn bytes(&self) -> u64 {
        let files = walkdir::WalkDir::new(self.folder.join("seaweed")).into_iter();
        let files = files.filter_map(|entry| entry.ok()?.metadata().ok());
        files.filter(fs::Metadata::is_file).map(|of| of.len()).sum()
    }

    /// What it answers to a request of this method.
    fn asked(&self, method: &str, path: &str) -> String {
        let output = Command::new("curl")
            .args(["--silent", "--show-error", "--fail-with-body", "-X", method])
            .args(["--aws-sigv4", "aws:amz:us-east-1:s3", "--user"])
            .arg(format!("{KEY_ID}:{SECRET_KEY}"))
            .arg(format!("{}/blobs{path}", self.endpoint))
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Starts it again on what it has, where it was.
    fn restart(&mut self) {
        let port = self.endpoint.rsplit(':').next().unwrap().to_owned();
        let again = Self::start(&self.folder, Some(&port));
        assert_eq!(again.endpoint, self.endpoint);
        *self = again;
    }
}

impl Drop for Seaweed {
    fn drop(&mut self) {
        // It may have ended.
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

/// The program, where `tests/fleet/install` has put it. Where it is not, this says so.
#[expect(
    clippy::disallowed_methods,
    reason = "the settings are the suite's own"
)]
pub(crate) fn program() -> Option<PathBuf> {
    let named = |name| std::env::var(name).ok().map(PathBuf::from);
    let cache = named("XDG_CACHE_HOME").or_else(|| Some(named("HOME")?.join(".cache")));
    let folder = named("SITECONF_SEAWEEDFS").or_else(|| Some(cache?.join("siteconf-seaweedfs")));
    let program = folder.map(|folder| folder.join("bin/weed"));
    let found = program.filter(|program| program.exists());
    if found.is_none() {
        leave_out("SeaweedFS is not on this machine; tests/fleet/install fetches it");
    }
    found
}

/// Has one test at a time start servers of it: each looks for ports that are free, and takes them later.
pub(crate) fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// True if a program is here. Where it is not, this says so.
pub(crate) fn is_here(program: &str) -> bool {
    let found = Command::new("sh")
        .args(["-c", &format!("command -v {program}")])
        .output()
        .is_ok_and(|output| output.status.success());
    if !found {
        leave_out(&format!(
            "{program} is not on this machine; .ci/run installs it"
        ));
    }
    found
}

/// Bytes of which no two pieces are the same.
fn noise(length: usize) -> Vec<u8> {
    let mut state = length as u64 | 1;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[3]
    };
    std::iter::repeat_with(next).take(length).collect()
}

/// What each says of itself.
fn readiness(daemons: &[Daemon; 2]) -> [u16; 2] {
    daemons
        .each_ref()
        .map(|daemon| daemon.again("").get("/readyz").status)
}

#[test]
fn two_daemons_keep_large_files_in_it_and_are_well_again_after_it_was_killed() {
    if program().is_none() || !is_here("curl") {
        return;
    }
    let _turn = turn();
    let folder = tempfile::tempdir().unwrap();
    let mut seaweed = Seaweed::start(folder.path(), None);
    let cluster = Cluster::start();
    cluster.ask("postgres", "CREATE DATABASE large");
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    TestBucket::write_keys(at("keys").as_ref());
    let blobs = format!("s3://blobs/large?endpoint={}", seaweed.endpoint);
    let flags = [
        ["--store", &cluster.url("large")],
        ["--server-key-file", &at("key")],
        ["--blobs", &blobs],
        ["--s3-credentials-file", &at("keys")],
    ];
    let flags: Vec<_> = flags.concat().into_iter().map(Into::into).collect();
    let password = init_at(&flags);
    // As daemons leave them that are killed, long ago and just now.
    for day in ["2020-01-01", "2099-12-31"] {
        seaweed.asked("POST", &format!("/large/{day}/left?uploads="));
    }
    cluster.ask(
        "large",
        "UPDATE siteconf.sweep SET at = now() - interval '25 hours'",
    );
    let daemons =
        [(); 2].map(|()| Daemon::start_as(tempfile::tempdir().unwrap(), serve_at(&flags)));
    let mut one = log_in(daemons[0].again(""), &password);
    make_project(&mut one);
    let mut reader = daemons[1].again(&token(&mut one));
    let raw = |path: &str| read(&format!("/files/{path}/raw?ref=main"));

    until(|| !seaweed.asked("GET", "?uploads=").contains("2020-01-01"));
    assert!(seaweed.asked("GET", "?uploads=").contains("2099-12-31"));

    // One request, one part and a little, and several parts.
    let sizes = [65_537, 8 << 20, (8 << 20) + 1, 40 << 20];
    for size in sizes {
        let (path, bytes) = (format!("{size}.bin"), noise(size));
        save(&mut one, &path, &bytes);
        until(|| reader.get(&raw(&path)).status == 200);
        assert!(settled(|| reader.get(&raw(&path))).body == bytes, "{size}");
        let range = format!("Range: bytes={}-{}\r\n", size - 60_000, size - 1);
        let mut part = daemons[1].again(&format!("{}{range}", reader.credential));
        let answer = settled(|| part.get(&raw(&path)));
        assert_eq!(answer.status, 206);
        assert!(answer.body == bytes[size - 60_000..], "{size}");
    }

    let unread = noise(1_000_000);
    save(&mut one, "unread.bin", &unread);

    // Killed while it takes a file, which is sent on when it is back.
    let bytes = noise(60 << 20);
    let before = seaweed.bytes();
    let kind = "application/octet-stream";
    let send = |mut client: Client, path: &str| {
        let answer = client.attempt("PUT", &file(path), kind, &bytes);
        answer.map(|answer| answer.status)
    };
    std::thread::scope(|scope| {
        let another = one.another();
        let upload = scope.spawn(|| send(another, "late.bin"));
        until(|| upload.is_finished() || seaweed.bytes() > before + (8 << 20));
        seaweed.kill();
        save(&mut one, "small.txt", b"small");
        until(|| readiness(&daemons) == [503; 2]);
        // What was read is kept in memory in part.
        assert_eq!(reader.get(&raw("unread.bin")).status, 503);
        seaweed.restart();
        // It may no longer know of what was sent; and who is refused before all was sent may not read why.
        if let Ok(status) = upload.join().unwrap() {
            assert!([201, 503].contains(&status), "{status}");
        }
    });
    until(|| readiness(&daemons) == [200; 2]);
    // It may be ready before it takes anything.
    until(|| send(one.another(), "more.bin").is_ok_and(|status| [200, 201].contains(&status)));
    for (path, size) in [("unread.bin", 1_000_000), ("more.bin", 60 << 20)] {
        // It may answer before it finds what it has; an answer that has begun is cut off then.
        until(|| {
            let answer = reader.attempt("GET", &raw(path), "", b"");
            answer.is_ok_and(|answer| answer.status == 200)
        });
        let found = settled(|| reader.get(&raw(path))).body;
        assert!(found == noise(size), "{path}");
    }
    let printed = ran(siteconf_at(&flags).args(["cat", PROJECT, "main", "41943040.bin"]));
    assert!(printed.stdout == noise(40 << 20));
}
