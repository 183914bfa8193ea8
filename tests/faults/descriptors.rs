//! A moment without file descriptors: what cannot be opened is refused with 503 at most, and when there are some
//! again, everything is taken without a restart.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::client::Client;
use crate::daemon::{Daemon, file};
use crate::tracer::{self, Tracer};

/// Bytes of a file that lies outside of the database, and that one thread alone hashes.
const LARGE_BYTES: usize = 70_000;

/// A service, and where it is told of calls that failed.
struct Scene {
    daemon: Daemon,
    admin: Client,
    scratch: tempfile::TempDir,
    saves: usize,
}

impl Scene {
    fn start() -> Self {
        let daemon = Daemon::start();
        let mut admin = daemon.admin();
        Daemon::make_project(&mut admin);
        Self {
            daemon,
            admin,
            scratch: tempfile::tempdir().unwrap(),
            saves: 0,
        }
    }

    /// Saves a new file of so many bytes; the status of the answer.
    fn save(&mut self, bytes: usize) -> u16 {
        self.saves += 1;
        let target = file(&format!("{}.xml", self.saves));
        let body = vec![b'a' + u8::try_from(self.saves).unwrap(); bytes];
        let answer = self.admin.attempt("PUT", &target, "", &body);
        answer.unwrap().status
    }

    /// Has these not be opened.
    fn take_descriptors(&self, places: &[&str], error: &str) -> Tracer {
        let mut strace = Command::new("strace");
        strace.arg("-f").arg("-o").arg(self.trace());
        strace.args(["-e", "trace=openat", "-e"]);
        strace.arg(format!("inject=openat:error={error}"));
        for place in places {
            strace.arg("-P").arg(self.daemon.data().join(place));
        }
        strace.stdin(Stdio::null());
        Tracer::attach(strace, self.daemon.id())
    }

    /// Saves a large file while these cannot be opened; the status of the answer.
    fn save_without(&mut self, places: &[&str], error: &str) -> u16 {
        let tracer = self.take_descriptors(places, error);
        let status = self.save(LARGE_BYTES);
        assert!(self.is_met(), "nothing was in its way: {status}");
        tracer.detach(Signal::TERM);
        status
    }

    fn trace(&self) -> PathBuf {
        self.scratch.path().join("trace")
    }

    fn is_met(&self) -> bool {
        let trace = fs::read_to_string(self.trace());
        trace.is_ok_and(|trace| trace.contains("(INJECTED)"))
    }

    fn mark(&self) -> PathBuf {
        self.daemon.data().join("high-water")
    }

    /// Saves, and waits until the mark is raised for it.
    fn save_and_await_mark(&mut self) {
        let before = fs::read(self.mark()).unwrap();
        assert_eq!(self.save(1), 201);
        wait_for("the mark to be raised", || {
            fs::read(self.mark()).is_ok_and(|mark| mark != before)
        });
    }
}

#[track_caller]
fn wait_for(what: &str, is_so: impl Fn() -> bool) {
    let since = Instant::now();
    while !is_so() {
        assert!(
            since.elapsed() < Duration::from_secs(20),
            "waited for {what}"
        );
        thread::sleep(Duration::from_millis(10));
    }
}

/// Puts another file of the same content in the place of a file.
fn replace(path: &Path) {
    let copy = path.with_extension("copy");
    fs::copy(path, &copy).unwrap();
    fs::rename(copy, path).unwrap();
}

#[test]
fn a_mark_that_cannot_be_opened_stops_nothing() {
    if !tracer::is_there() {
        return;
    }
    let mut scene = Scene::start();
    scene.save_and_await_mark();
    let tracer = scene.take_descriptors(&["high-water"], "EMFILE");
    // It is open.
    scene.save_and_await_mark();
    assert!(!scene.is_met());
    tracer.detach(Signal::TERM);

    let gone: fn(&Path) = |path| fs::remove_file(path).unwrap();
    for (change, error) in [(replace as fn(&Path), "EMFILE"), (gone, "ENFILE")] {
        let tracer = scene.take_descriptors(&["high-water", "high-water.new"], error);
        change(&scene.mark());
        assert_eq!(scene.save(1), 201, "{error}");
        wait_for("the mark to be opened", || scene.is_met());
        tracer.detach(Signal::TERM);
        assert_eq!(scene.save(1), 201, "{error}");
        wait_for("the mark to be made", || scene.mark().exists());
        scene.save_and_await_mark();
    }
}

#[test]
fn an_upload_that_cannot_open_a_folder_is_refused_and_stops_nothing() {
    if !tracer::is_there() {
        return;
    }
    let mut scene = Scene::start();
    let fans: Vec<String> = (0..256).map(|fan| format!("blobs/{fan:02x}")).collect();
    let fans: Vec<&str> = fans.iter().map(String::as_str).collect();
    for places in [&["incoming"][..], &fans] {
        for error in ["EMFILE", "ENFILE", "ENOMEM"] {
            let case = format!("{error} at {}", places[0]);
            assert_eq!(scene.save_without(places, error), 503, "{case}");
            assert_eq!(scene.save(LARGE_BYTES), 201, "{case}");
            assert!(!scene.daemon.data().join("STOPPED").exists(), "{case}");
        }
    }
}
