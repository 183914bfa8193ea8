//! A first start that is killed at any of its steps is finished by the next one.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::thread;

use rusqlite::Connection;
use serde_json::Value;
use siteconf::base::clock::{Clock, SystemClock};

use crate::daemon::{Daemon, serve, siteconf};

#[test]
fn a_first_start_killed_at_any_step_is_finished_by_the_next() {
    // What a first start makes, in this order.
    let steps = [
        "data",
        "data/LOCK",
        "data/blobs",
        "data/blobs/40",
        "data/blobs/ff",
        "data/store.db",
        "data/FORMAT",
        "data/store.db-wal",
        "data/secrets/server-key.new",
        "data/secrets/server-key",
        "data/secrets/initial-password",
    ];
    for step in steps {
        let folder = tempfile::tempdir().unwrap();
        let made = folder.path().join(step);
        let mut process = serve(&folder.path().join("data")).spawn().unwrap();
        // A name that is there for a moment may be missed: then the start goes on to its end.
        while !made.exists() && !folder.path().join("data/secrets/initial-password").exists() {
            std::hint::spin_loop();
        }
        process.kill().unwrap();
        process.wait().unwrap();

        let daemon = Daemon::start_on(folder);
        let mut admin = daemon.admin();
        Daemon::make_project(&mut admin);
    }
}

#[test]
fn the_service_keeps_the_highest_time_that_it_has_seen() {
    let daemon = Daemon::start();
    let db = Connection::open(daemon.data().join("store.db")).unwrap();
    let kept = || {
        let sql = "SELECT value FROM record WHERE key = 'clock'";
        let value = db.query_row(sql, [], |row| row.get::<_, Vec<u8>>(0)).ok()?;
        let value: Value = serde_json::from_slice(&value).unwrap();
        Some(value["mark"].as_i64().unwrap())
    };
    let now = || SystemClock.now().ms();
    let started = now();
    let mark = loop {
        assert!(now() < started + 10_000, "it is written at the start");
        if let Some(mark) = kept() {
            break mark;
        }
        thread::yield_now();
    };
    assert!((started - 10_000..=now() + 1).contains(&mark), "{mark}");
}

#[test]
fn the_first_password_goes_to_its_file_and_into_no_journal() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let mut process = serve(&data).spawn().unwrap();
    let mut said = BufReader::new(process.stdout.take().unwrap());
    let mut lines = [String::new(), String::new(), String::new()];
    for line in &mut lines {
        said.read_line(line).unwrap();
    }
    process.kill().unwrap();
    process.wait().unwrap();
    let file = data.join("secrets/initial-password");
    assert_eq!(
        lines[0],
        format!("first start: user admin, password in {}\n", file.display())
    );
    let place = lines[1].trim_end().strip_prefix("listening on ").unwrap();
    assert!(place.starts_with("http://127.0.0.1:"), "{place}");
    assert_eq!(
        lines[2],
        format!("open {place}/site-builder/ in a browser\n")
    );
    assert_eq!(fs::read_to_string(file).unwrap().trim_end().len(), 32);
}

#[test]
fn who_listens_on_all_addresses_is_told_one_that_a_browser_goes_to() {
    let folder = tempfile::tempdir().unwrap();
    let mut process = siteconf(&folder.path().join("data"))
        .args(["--log", "error", "serve", "--listen", "0.0.0.0:0"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let said = BufReader::new(process.stdout.take().unwrap());
    let lines: Vec<_> = said.lines().take(3).map(Result::unwrap).collect();
    process.kill().unwrap();
    process.wait().unwrap();
    let port = lines[1].strip_prefix("listening on http://0.0.0.0:");
    let port = port.unwrap();
    assert_eq!(
        lines[2],
        format!("open http://localhost:{port}/site-builder/ in a browser")
    );
}

#[test]
fn a_first_start_goes_on_where_nothing_can_be_told() {
    let folder = tempfile::tempdir().unwrap();
    let full = File::options().write(true).open("/dev/full").unwrap();
    let mut process = siteconf(&folder.path().join("data"))
        .args(["--log", "info", "serve", "--listen", "127.0.0.1:0"])
        .stdout(full)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let log = BufReader::new(process.stderr.take().unwrap());
    let serves = log
        .lines()
        .map(Result::unwrap)
        .any(|line| line.contains("serving"));
    process.kill().unwrap();
    process.wait().unwrap();
    assert!(serves);
}
