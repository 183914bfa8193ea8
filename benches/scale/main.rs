//! The release daemon with a branch of a million files: what an import beside it takes, what memory
//! both processes take, and how soon the daemon is ready after a kill. A line a bar.
//!
//! `cargo bench --bench scale`, with another number of files behind `--`. It needs about 6 KiB of disk
//! a file while it runs.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    missing_docs,
    reason = "a benchmark that fails shall fail, and it prints"
)]

#[path = "../common/asked.rs"]
mod asked;
#[path = "../../tests/service/client.rs"]
#[allow(dead_code, reason = "the tests use more of it")]
mod client;
mod folder;
mod import;
#[path = "../common/process.rs"]
mod process;
#[path = "../common/verdict.rs"]
mod verdict;

use std::fs;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use client::{Client, segment};
use process::Daemon;
use verdict::verdict;

const HEALTH: &str = "/site-builder/api/erp-config/health";
const FILES: u64 = 1_000_000;
/// Most resident memory of either process, in MiB.
const MEMORY_MIB_BAR: f64 = 256.0;
/// Longest time from the start of the process to the first answer of the health check.
const READY_BAR: Duration = Duration::from_secs(1);
const KILLS: usize = 3;
const WRITERS: usize = 4;
/// How long saves run before each kill.
const SAVING: Duration = Duration::from_secs(2);

fn main() {
    if !asked::is_meant("scale") {
        return;
    }
    let files = asked::number().unwrap_or(FILES);
    // Beside the build: /tmp may be in memory, where a sync costs nothing.
    let root = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let folder = root.path().join("files");
    let expected = folder::make(&folder, files);
    let mut daemon = Daemon::start(&root.path().join("data"), &[]);

    let imported = import::import(&daemon, &folder);
    let rate = files as f64 / imported.took.as_secs_f64();
    let took = imported.took.as_secs_f64();
    println!("import of {files} files: {took:.1} s, {rate:.0} files/s");
    memory(
        "resident memory of the import, at most",
        imported.memory_mib,
    );

    let admin = daemon.admin();
    let mut reader = daemon.reader();
    list(&mut reader, &expected);
    memory(
        "resident memory of the daemon that listed it, at most",
        daemon.memory_mib(),
    );

    let mut slowest = Duration::ZERO;
    let (mut saves, mut log_bytes) = (0, u64::MAX);
    for round in 0..KILLS {
        let saved = save_until_killed(&mut daemon, &admin, round);
        // Bytes of the log that is not yet copied into the database, and of what was.
        let log = fs::metadata(daemon.data().join("store.db-wal"));
        log_bytes = log_bytes.min(log.map_or(0, |log| log.len()));
        let began = Instant::now();
        daemon.restart();
        let answer = Client::new(daemon.address(), "").get(HEALTH);
        let ready = began.elapsed();
        assert_eq!(answer.status, 200);
        slowest = slowest.max(ready);
        assert_saved(&mut daemon.again(&admin), round, &saved);
        saves += saved.iter().sum::<u64>();
    }
    assert!(log_bytes > 0, "a kill leaves a log that is not copied");
    let what = format!(
        "ready after kill -9 under {saves} saves, {log_bytes} bytes of log, slowest of {KILLS}"
    );
    verdict(&what, slowest.as_secs_f64(), READY_BAR.as_secs_f64(), "s");
}

fn memory(what: &str, mib: f64) {
    verdict(what, mib, MEMORY_MIB_BAR, "MiB");
}

/// Lists the branch in every way.
fn list(reader: &mut Client, expected: &folder::Expected) {
    let mut get = |rest: &str| {
        let began = Instant::now();
        let answer = reader.get(&process::read(rest));
        assert_eq!(answer.status, 200, "{rest}");
        let (bytes, took) = (answer.body.len(), began.elapsed().as_secs_f64());
        println!("GET {rest}: {bytes} bytes in {took:.3} s");
        answer
    };
    let branches = get("/branches").json();
    let commit = branches[0]["commit"]["id"].as_str().unwrap();
    assert_eq!(*commit, expected.digest[..40], "the digest");
    let page = get("/tree?recursive=1&per_page=100");
    assert_eq!(
        page.header("x-total"),
        Some(expected.entries.to_string().as_str())
    );
    let part = get(&format!("/tree?path={}", segment(&expected.folder))).json();
    assert_eq!(part.as_array().unwrap().len(), expected.files_in_folder);
    let whole = get("/tree?recursive=1");
    let entries = whole
        .body
        .windows(7)
        .filter(|at| at == b"\"path\":")
        .count();
    assert_eq!(entries, expected.entries);
}

/// Saves from several writers until the daemon is killed under them. Gives how many saves each was
/// told of.
fn save_until_killed(daemon: &mut Daemon, admin: &Client, round: usize) -> Vec<u64> {
    let told: Vec<AtomicU64> = (0..WRITERS).map(|_| AtomicU64::new(0)).collect();
    let killed = AtomicBool::new(false);
    thread::scope(|scope| {
        for (writer, told) in told.iter().enumerate() {
            let (mut client, killed) = (daemon.again(admin), &killed);
            scope.spawn(move || {
                for turn in 0_u64.. {
                    let (target, body) = saved(round, writer, turn);
                    match client.attempt("PUT", &target, "application/octet-stream", &body) {
                        Ok(answer) => {
                            assert_eq!(answer.status, 201, "{answer:?}");
                            told.store(turn + 1, Ordering::SeqCst);
                        }
                        // The kill may be a moment old.
                        Err(_) => thread::yield_now(),
                    }
                    if killed.load(Ordering::SeqCst) {
                        break;
                    }
                }
            });
        }
        thread::sleep(SAVING);
        daemon.kill();
        killed.store(true, Ordering::SeqCst);
    });
    told.into_iter().map(AtomicU64::into_inner).collect()
}

/// A save that a writer makes: its target and its body.
fn saved(round: usize, writer: usize, turn: u64) -> (String, Vec<u8>) {
    let path = format!("region-{:03}/new-{round}-{writer}/{turn:06}.xml", turn % 90);
    (
        process::changed(&format!("/branches/main/files/{}", segment(&path))),
        format!("{path}\n").repeat(20).into_bytes(),
    )
}

/// Asserts that the last saves that each writer was told of are there.
fn assert_saved(client: &mut Client, round: usize, told: &[u64]) {
    for (writer, &count) in told.iter().enumerate() {
        assert!(count > 0, "writer {writer} was never told of a save");
        for turn in count.saturating_sub(50)..count {
            let (target, body) = saved(round, writer, turn);
            let answer = client.get(&target);
            assert_eq!(
                (answer.status, answer.body == body),
                (200, true),
                "{target}"
            );
        }
    }
}
