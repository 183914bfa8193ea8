//! Nobody who reads the log can stop the service; and what it says at the start.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::client::Client;
use crate::daemon::{Daemon, serve, within};

/// More than fits into the queue of the log, with paths as long as the log shows them.
const REQUESTS: u64 = 6000;

/// The daemon with its usual log, written there.
fn logging_to(log: impl Into<Stdio>) -> Daemon {
    let folder = tempfile::tempdir().unwrap();
    let mut command = serve(&folder.path().join("data"));
    command.args(["--log", "info"]).stderr(log);
    Daemon::start_as(folder, command)
}

#[track_caller]
fn answers(daemon: &Daemon) -> Client {
    let mut anybody = daemon.again("");
    for _ in 0..20 {
        assert_eq!(
            anybody.get("/site-builder/api/erp-config/health").status,
            200
        );
    }
    anybody
}

#[test]
fn a_full_disk_or_a_reader_that_left_stops_no_request() {
    let full = File::options().write(true).open("/dev/full").unwrap();
    let mut daemon = logging_to(full);
    answers(&daemon);
    assert!(daemon.stop().success());

    let (reader, writer) = io::pipe().unwrap();
    drop(reader);
    let mut daemon = logging_to(writer);
    answers(&daemon);
    assert!(daemon.stop().success());
}

#[test]
fn a_reader_that_stalls_stops_no_request_and_is_told_what_it_missed() {
    let (reader, writer) = io::pipe().unwrap();
    let mut daemon = logging_to(writer);
    let mut anybody = answers(&daemon);
    let long = format!("/{}", "x".repeat(1100));
    for _ in 0..REQUESTS {
        assert_eq!(anybody.get(&long).status, 404);
    }

    // It reads on, and learns what it missed while the service runs.
    let mut lines = BufReader::new(reader).lines().map(|line| {
        let line = line.unwrap();
        let line: Value = serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: {line}"));
        line
    });
    let is_request = |line: &Value| line["message"] == "request";
    let mut shown = 0;
    let told = lines.by_ref().find(|line| {
        shown += u64::from(is_request(line));
        line["message"] == "lines of the log were lost"
    });
    let missed = told.unwrap()["lines"].as_u64().unwrap();
    assert!(
        missed > 0 && shown + missed == REQUESTS + 20,
        "{shown} {missed}"
    );

    let rest = thread::spawn(move || lines.for_each(drop));
    assert!(daemon.stop().success());
    rest.join().unwrap();
}

/// The service waits a second for that: where its thread is kept from its core for so long, what is left is lost.
#[test]
fn the_end_of_the_log_is_written_before_the_process_ends() {
    let is_told = || {
        let (reader, writer) = io::pipe().unwrap();
        let mut daemon = logging_to(writer);
        answers(&daemon);
        assert!(daemon.stop().success());
        let last = BufReader::new(reader).lines().map(Result::unwrap).last();
        last.is_some_and(|line| line.contains("\"message\":\"stopped\""))
    };
    assert!((0..5).any(|_| is_told()), "it is lost each time");
}

#[test]
fn too_few_open_files_for_so_many_connections_are_told_at_the_start() {
    for (connections, expected) in [("100", 0), ("1000", 1)] {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let mut daemon = serve(&folder.path().join("data"));
        daemon.args(["--log", "info", "--connections-max", connections]);
        let mut limited = within("-n 700", &daemon);
        limited.stderr(File::create(&log).unwrap());
        let mut daemon = Daemon::start_as(folder, limited);
        // What came before this line is written by then. At its end the service gives the rest a second alone.
        let patience = Instant::now() + Duration::from_mins(1);
        let told = loop {
            let told = fs::read_to_string(&log).unwrap();
            if told.contains("\"message\":\"serving\"") {
                break told;
            }
            assert!(Instant::now() < patience, "{told}");
            thread::yield_now();
        };
        assert!(daemon.stop().success());
        let warnings = told.lines().filter(|line| line.contains("open files"));
        let warnings: Vec<Value> = warnings
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(warnings.len(), expected, "{told}");
        for warning in warnings {
            let named = ["level", "message", "allowed", "needed"].map(|name| &warning[name]);
            let message = "the system allows fewer open files than connections_max needs: raise its \
                hard limit (LimitNOFILE= of the unit, ulimit -Hn) or lower connections_max";
            assert_eq!(json!(named), json!(["WARN", message, 700, 1512]));
        }
    }
}
