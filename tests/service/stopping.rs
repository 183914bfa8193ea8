//! Stops, whatever hangs, and saves that can never succeed.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use rustix::process::{Pid, Signal, kill_process};

use crate::client::Client;
use crate::daemon::{Daemon, file, serve, serve_at};
use crate::terminal::Terminal;

const BYTES: &str = "application/octet-stream";

/// A daemon whose log is read here.
struct Logged {
    process: Child,
    address: SocketAddr,
    log: BufReader<ChildStderr>,
}

impl Logged {
    fn start(store: &tempfile::TempDir, flags: &[&str]) -> Self {
        Self::spawn(serve(&store.path().join("data")), flags)
    }

    fn spawn(mut command: Command, flags: &[&str]) -> Self {
        let mut process = command
            .args(["--log", "info"])
            .args(flags)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let address = line
            .trim_end()
            .strip_prefix("listening on http://")
            .unwrap();
        Self {
            address: address.parse().unwrap(),
            log: BufReader::new(process.stderr.take().unwrap()),
            process,
        }
    }

    fn signal(&self, signal: Signal) {
        let id = Pid::from_raw(self.process.id().try_into().unwrap()).unwrap();
        kill_process(id, signal).unwrap();
    }

    /// Reads the log up to a line with this text.
    fn wait_for(&mut self, text: &str) {
        let found = self
            .log
            .by_ref()
            .lines()
            .find(|line| line.as_ref().unwrap().contains(text));
        assert!(found.is_some(), "the log ended without \"{text}\"");
    }

    /// How it ended, and the rest of its log.
    fn end(mut self) -> (ExitStatus, String) {
        let status = self.process.wait().unwrap();
        let mut rest = String::new();
        self.log.read_to_string(&mut rest).unwrap();
        (status, rest)
    }

    /// Begins to save a file: returns when the daemon has asked for the bytes, and has got them.
    fn begin_save(&self, credential: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).unwrap();
        let target = file("held");
        let head = format!(
            "PUT {target} HTTP/1.1\r\nHost: {}\r\n{credential}Content-Length: 1\r\n\
             Expect: 100-continue\r\n\r\n",
            self.address
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut told = [0; 25];
        stream.read_exact(&mut told).unwrap();
        assert_eq!(&told, b"HTTP/1.1 100 Continue\r\n\r\n");
        stream.write_all(b"x").unwrap();
        stream
    }
}

impl Drop for Logged {
    fn drop(&mut self) {
        // It may have ended.
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

/// A store with a project and a branch that has one snapshot, and the credential of its owner.
fn store() -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let mut daemon = Daemon::start();
    let mut admin = daemon.admin();
    Daemon::make_project(&mut admin);
    for number in 0..3 {
        let saved = admin.attempt("PUT", &file(&format!("{number}")), BYTES, b"x");
        assert_eq!(saved.unwrap().status, 201);
    }
    daemon.kill();
    std::fs::rename(daemon.data(), folder.path().join("data")).unwrap();
    (folder, admin.credential)
}

fn database(store: &tempfile::TempDir) -> Connection {
    Connection::open(store.path().join("data/store.db")).unwrap()
}

#[test]
fn signals_stop_it_and_a_hangup_reloads_it() {
    let (store, _) = store();
    for signal in [Signal::TERM, Signal::INT] {
        assert_told(|| {
            let mut daemon = Logged::start(&store, &[]);
            for _ in 0..2 {
                daemon.signal(Signal::HUP);
                daemon.wait_for("\"reloaded\"");
            }
            let answer = Client::new(daemon.address, "").get("/site-builder/api/erp-config/health");
            assert_eq!(answer.status, 200, "{answer:?}");
            daemon.signal(signal);
            let (status, log) = daemon.end();
            assert_eq!(status.code(), Some(0), "{log}");
            log.contains("\"stopped\"")
        });
    }
}

/// Asserts that an attempt gives true. It may be spoilt: the service waits a second for the end of its log, and where
/// the thread that writes it is kept from its core for so long, the last lines are lost.
#[track_caller]
fn assert_told(attempt: impl Fn() -> bool) {
    assert!((0..5).any(|_| attempt()), "it is not told");
}

#[test]
fn what_nobody_can_write_down_is_no_failure_of_the_service() {
    let (store, _) = store();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full");
    let mut process = serve(&store.path().join("data"))
        .args(["--log", "info"])
        .stdout(full.unwrap())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut log = BufReader::new(process.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("\"serving\"") {
        line.clear();
        assert_ne!(log.read_line(&mut line).unwrap(), 0);
    }
    let id = Pid::from_raw(process.id().try_into().unwrap()).unwrap();
    kill_process(id, Signal::TERM).unwrap();
    assert_eq!(process.wait().unwrap().code(), Some(0));
}

/// A start that waits for a database which says nothing.
#[test]
fn a_start_that_is_to_stop_ends_as_a_service_that_is() {
    for signal in [Signal::TERM, Signal::INT] {
        let database = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = database.local_addr().unwrap();
        let store = format!("postgres://siteconf@{address}/siteconf");
        let mut process = serve_at(&["--store".into(), store.into()])
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let _held = database.accept().unwrap();
        let id = Pid::from_raw(process.id().try_into().unwrap()).unwrap();
        kill_process(id, signal).unwrap();
        assert_eq!(process.wait().unwrap().code(), Some(0), "{signal:?}");
    }
}

/// In a terminal of its own, whose window is then closed.
#[test]
fn a_closed_terminal_stops_it_unless_it_is_to_be_outlived() {
    for (before, is_outlived) in [("", false), ("trap '' HUP; ", true)] {
        let (store, _) = store();
        let plain = serve(&store.path().join("data"));
        let words: Vec<_> = std::iter::once(plain.get_program())
            .chain(plain.get_args())
            .map(|word| word.to_str().unwrap())
            .collect();
        let log = tempfile::NamedTempFile::new().unwrap();
        let line = format!(
            "{before}echo $$; exec {} --log info 2>{}",
            words.join(" "),
            log.path().display()
        );
        // Who runs the tests may outlive their own terminal, which their children then do, too.
        let mut shell = Command::new("env");
        shell.args(["--default-signal=HUP", "sh", "-c", &line]);
        let mut terminal = Terminal::run(shell);
        let id: i32 = terminal.wait_for("\n").trim().parse().unwrap();
        let listening = terminal.wait_for("\n");
        assert!(listening.starts_with("listening on http://"), "{listening}");
        let mut process = terminal.close();
        let told = || std::fs::read_to_string(log.path()).unwrap();
        if is_outlived {
            until(|| told().contains("reloaded").then_some(()), told);
            kill_process(Pid::from_raw(id).unwrap(), Signal::TERM).unwrap();
        }
        // So a stop ends; the hangup itself would end it by a signal.
        let ended = until(|| process.try_wait().unwrap(), told);
        assert_eq!(ended.code(), Some(0), "{}", told());
    }
}

/// Waits for something; where it never comes, this is told.
#[track_caller]
fn until<T>(mut look: impl FnMut() -> Option<T>, told: impl Fn() -> String) -> T {
    let end = Instant::now() + Duration::from_secs(30);
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < end, "{}", told());
        std::thread::yield_now();
    }
}

/// The number of the last snapshot in a branch record, too small by one flipped bit.
#[test]
fn a_branch_that_contradicts_its_snapshots_refuses_saves_and_the_stop_is_quick() {
    let (store, owner) = store();
    let flipped = database(&store).execute(
        "UPDATE record SET value = CAST(replace(CAST(value AS TEXT), '\"snapshots\":3', '\"snapshots\":1') AS BLOB)
         WHERE key = 'branch/00000001/00000001' AND instr(value, '\"snapshots\":3') > 0",
        [],
    );
    assert_eq!(flipped.unwrap(), 1);
    let mut daemon = Logged::start(&store, &[]);
    let mut client = Client::new(daemon.address, &owner);
    for _ in 0..2 {
        let refused = client.attempt("PUT", &file("new"), BYTES, b"x").unwrap();
        assert_eq!(
            (refused.status, refused.json()["message"].as_str()),
            (500, Some("internal error; see the log under X-Request-Id"))
        );
    }
    daemon.wait_for("branch/00000001/00000001");
    daemon.signal(Signal::TERM);
    let (status, log) = daemon.end();
    assert_eq!(status.code(), Some(0), "{log}");
}

#[test]
fn a_stop_ends_after_its_limit_whatever_a_save_waits_for() {
    assert_told(|| {
        let (store, owner) = store();
        let daemon = Logged::start(&store, &["--shutdown-s", "1"]);
        let other = database(&store);
        // Saves of the daemon wait ten seconds for it.
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        let _held = daemon.begin_save(&owner);
        let asked = Instant::now();
        daemon.signal(Signal::TERM);
        let (status, log) = daemon.end();
        assert_eq!(status.code(), Some(1), "{log}");
        assert!(
            asked.elapsed() < Duration::from_secs(9),
            "{:?}",
            asked.elapsed()
        );
        log.contains("the time for a stop is over")
    });
}

#[test]
fn a_second_signal_ends_at_once_whatever_hangs() {
    for second in [Signal::TERM, Signal::INT] {
        let (store, owner) = store();
        let mut daemon = Logged::start(&store, &[]);
        let other = database(&store);
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        let _held = daemon.begin_save(&owner);
        let asked = Instant::now();
        daemon.signal(Signal::TERM);
        daemon.wait_for("stopping; a second signal ends at once");
        daemon.signal(second);
        let (status, log) = daemon.end();
        assert_eq!(status.code(), Some(1), "{log}");
        assert!(
            asked.elapsed() < Duration::from_secs(9),
            "{:?}",
            asked.elapsed()
        );
    }
}

/// The wait would last for longer than any test: the second signal ends it.
#[test]
fn who_comes_while_a_stop_takes_requests_is_answered_and_told_of_it() {
    for second in [Signal::TERM, Signal::INT] {
        let (store, _) = store();
        let mut daemon = Logged::start(&store, &["--drain-s", "3600"]);
        let ask = |daemon: &Logged, target: &str| {
            let mut stream = TcpStream::connect(daemon.address).unwrap();
            let request = format!("GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n");
            stream.write_all(request.as_bytes()).unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            answer
        };
        daemon.signal(Signal::TERM);
        daemon.wait_for("requests are taken for a while; a second signal ends that");
        let live = ask(&daemon, "/livez");
        assert!(live.starts_with("HTTP/1.1 200 OK\r\n"), "{live}");
        assert!(live.contains("\r\nConnection: close\r\n"), "{live}");
        let ready = ask(&daemon, "/readyz");
        assert!(ready.starts_with("HTTP/1.1 503 "), "{ready}");
        assert!(
            ready.contains("not ready: the service is stopping"),
            "{ready}"
        );
        daemon.signal(second);
        let (status, log) = daemon.end();
        assert_eq!(status.code(), Some(0), "{log}");
    }
}

#[test]
fn a_stop_takes_requests_no_longer_than_it_is_to() {
    let (store, _) = store();
    let mut daemon = Logged::start(&store, &["--drain-s", "1"]);
    daemon.signal(Signal::TERM);
    daemon.wait_for("requests are taken for a while");
    daemon.wait_for("stopping; a second signal ends at once");
    let (status, log) = daemon.end();
    assert_eq!(status.code(), Some(0), "{log}");
}

#[test]
fn a_stop_waits_for_nobody_who_has_asked_for_nothing() {
    let (store, _) = store();
    let daemon = Logged::start(&store, &[]);
    let silent = TcpStream::connect(daemon.address).unwrap();
    // Connections are taken in their order: when this one is answered, that one is known.
    let mut rests = TcpStream::connect(daemon.address).unwrap();
    rests
        .write_all(b"GET /site-builder/api/erp-config/health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .unwrap();
    let mut status = [0; 15];
    rests.read_exact(&mut status).unwrap();
    assert_eq!(&status, b"HTTP/1.1 200 OK");
    let asked = Instant::now();
    daemon.signal(Signal::TERM);
    let mut rest = Vec::new();
    for mut each in [silent, rests] {
        each.read_to_end(&mut rest).unwrap();
    }
    let (status, log) = daemon.end();
    assert!(status.success(), "{log}");
    assert!(
        asked.elapsed() < Duration::from_secs(9),
        "{:?}",
        asked.elapsed()
    );
}
