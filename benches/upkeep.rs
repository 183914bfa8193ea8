//! What a collection and a backup cost those who save and read meanwhile. In turns: some seconds alone, then
//! for as long as the command runs. A line a bar.
//!
//! `cargo bench --bench upkeep`, with another number of rounds behind `--`; it takes some three minutes.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    clippy::disallowed_methods,
    missing_docs,
    reason = "a benchmark that fails shall fail, and it prints"
)]

#[path = "common/asked.rs"]
mod asked;
#[path = "../tests/service/client.rs"]
#[allow(dead_code, reason = "the tests use more of it")]
mod client;
#[path = "common/process.rs"]
mod process;
#[path = "common/verdict.rs"]
mod verdict;

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use client::Client;
use process::{Daemon, PROJECT, changed, read, siteconf};
use rand::{Rng, RngExt};
use serde_json::{Value, json};
use verdict::verdict;

const ROUNDS: usize = 5;
const ALONE: Duration = Duration::from_secs(5);
const WRITERS: usize = 4;
const READERS: usize = 8;
/// Pause of a client between two requests, where its rate is not what is measured.
const PAUSE: Duration = Duration::from_millis(20);
/// What each round adds, and takes away again before a collection.
const FILES: usize = 20_000;
const FILE_BYTES: usize = 4096;
const LARGE_FILES: usize = 20;
const LARGE_BYTES: usize = 1 << 20;
/// How many times as late the 99th percentile may be beside a collection.
const LATER_BAR: f64 = 1.5;
/// How many times as fast saves may be without a backup: it slows them by less than a third.
const SLOWED_BAR: f64 = 1.5;

fn main() {
    if !asked::is_meant("upkeep") {
        return;
    }
    let rounds = asked::number().unwrap_or(ROUNDS);
    let root = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let daemon = Daemon::start(&root.path().join("data"), &["--access-log", "off"]);
    let people = People::arrive(&daemon);
    collections(&daemon, &people, root.path(), rounds);
    backups(&daemon, &people, root.path(), rounds);
}

/// Paced clients beside collections that have a round's files to remove.
fn collections(daemon: &Daemon, people: &People, root: &Path, rounds: usize) {
    let (mut alone, mut beside) = (Taken::default(), Taken::default());
    let mut took = Vec::new();
    for _ in 0..rounds {
        fill(daemon, root);
        let empty = root.join("empty");
        fs::create_dir_all(&empty).unwrap();
        let empty = empty.to_str().unwrap();
        let import = ["import", PROJECT, "archive", empty];
        command(
            daemon,
            &[&import[..], &["--mirror", "--allow-empty"]].concat(),
        );
        // The one snapshot that stays is the last.
        save(&mut people.admin.another(), "archive", 0, took.len());
        command(daemon, &["prune", "--keep-snapshots", "1"]);
        alone.add(people.work_for(ALONE, PAUSE));
        let (taken, seconds, report) = people.work_beside(daemon, &["gc", "--json"], PAUSE);
        let report: Value = serde_json::from_str(&report).unwrap();
        assert!(
            report["removed_objects"].as_u64().unwrap() >= FILES as u64,
            "{report}"
        );
        beside.add(taken);
        took.push(seconds);
    }
    println!("a collection of {FILES} files takes {:.2} s", median(took));
    for (what, alone, beside) in [
        ("a save", &mut alone.saves, &mut beside.saves),
        ("a read", &mut alone.reads, &mut beside.reads),
    ] {
        let (without, with) = (percentile(alone, 99), percentile(beside, 99));
        println!(
            "{what} of {} alone and {} beside a collection: p50 {:.2} and {:.2} ms, p99 {without:.2} and {with:.2} ms",
            alone.len(),
            beside.len(),
            percentile(alone, 50),
            percentile(beside, 50)
        );
        let what = format!("{what} beside a collection, p99 to that without");
        verdict(&what, with / without, LATER_BAR, "times");
    }
}

/// Writers without a pause beside whole backups of a round's files.
fn backups(daemon: &Daemon, people: &People, root: &Path, rounds: usize) {
    fill(daemon, root);
    let (mut slowed, mut took) = (Vec::new(), Vec::new());
    for round in 0..rounds {
        let alone = people.work_for(ALONE, Duration::ZERO);
        let without = alone.saves.len() as f64 / ALONE.as_secs_f64();
        let target = root.join(format!("backup-{round}"));
        let backup = ["backup", target.to_str().unwrap()];
        let (beside, seconds, _) = people.work_beside(daemon, &backup, Duration::ZERO);
        let with = beside.saves.len() as f64 / seconds;
        println!("saves a second: {without:.0} alone, {with:.0} beside a backup of {seconds:.2} s");
        slowed.push(without / with);
        took.push(seconds);
        fs::remove_dir_all(target).unwrap();
    }
    println!("a backup takes {:.2} s", median(took));
    verdict(
        "saves without a backup to those beside one",
        median(slowed),
        SLOWED_BAR,
        "times",
    );
}

/// Who saves, and who reads.
struct People {
    admin: Client,
    reader: Client,
}

/// How long each request took, in milliseconds.
#[derive(Default)]
struct Taken {
    saves: Vec<f64>,
    reads: Vec<f64>,
}

impl Taken {
    fn add(&mut self, other: Self) {
        self.saves.extend(other.saves);
        self.reads.extend(other.reads);
    }
}

impl People {
    /// Makes the project, with a branch that is worked on and one that is filled and emptied.
    fn arrive(daemon: &Daemon) -> Self {
        let mut admin = daemon.admin();
        let project = json!({ "name": "bench/shop", "type": "erp" });
        let made = admin.post("/site-builder/api/projects", &project);
        assert_eq!(made.status, 201, "{made:?}");
        for name in ["main", "archive"] {
            let made = admin.post(&changed("/branches"), &json!({ "name": name }));
            assert_eq!(made.status, 201, "{made:?}");
        }
        let reader = daemon.reader();
        let people = Self { admin, reader };
        for writer in 0..WRITERS {
            save(&mut people.admin.another(), "main", writer, 0);
        }
        people
    }

    fn work_for(&self, time: Duration, pause: Duration) -> Taken {
        let end = Instant::now() + time;
        self.work(pause, || Instant::now() < end)
    }

    /// Works until the command has ended, and tells how many seconds it took and what it printed.
    fn work_beside(
        &self,
        daemon: &Daemon,
        arguments: &[&str],
        pause: Duration,
    ) -> (Taken, f64, String) {
        let began = Instant::now();
        let process = siteconf(daemon.data())
            .args(arguments)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        thread::scope(|scope| {
            let ended = scope.spawn(move || {
                let output = process.wait_with_output().unwrap();
                assert!(output.status.success());
                let took = began.elapsed().as_secs_f64();
                (took, String::from_utf8(output.stdout).unwrap())
            });
            let taken = self.work(pause, || !ended.is_finished());
            let (took, printed) = ended.join().unwrap();
            (taken, took, printed)
        })
    }

    fn work(&self, pause: Duration, goes_on: impl Fn() -> bool + Sync) -> Taken {
        let goes_on = &goes_on;
        let timed = move |mut ask: Box<dyn FnMut(usize) + Send>| {
            move || {
                let mut took = Vec::new();
                while goes_on() {
                    let began = Instant::now();
                    ask(took.len());
                    took.push(began.elapsed().as_secs_f64() * 1e3);
                    thread::sleep(pause);
                }
                took
            }
        };
        thread::scope(|scope| {
            let writers: Vec<_> = (0..WRITERS)
                .map(|writer| {
                    let mut admin = self.admin.another();
                    let salt = rand::rng().random::<u32>() as usize;
                    scope.spawn(timed(Box::new(move |turn| {
                        save(&mut admin, "main", writer, salt + turn);
                    })))
                })
                .collect();
            let readers: Vec<_> = (0..READERS)
                .map(|number| {
                    let mut reader = self.reader.another();
                    let target = format!("/files/{}.xml/raw?ref=main", number % WRITERS);
                    scope.spawn(timed(Box::new(move |_| {
                        assert_eq!(reader.get(&read(&target)).status, 200);
                    })))
                })
                .collect();
            let all = |threads: Vec<thread::ScopedJoinHandle<'_, Vec<f64>>>| {
                let taken = threads.into_iter().map(|thread| thread.join().unwrap());
                taken.flatten().collect()
            };
            Taken {
                saves: all(writers),
                reads: all(readers),
            }
        })
    }
}

/// Saves a content that was not there before.
fn save(admin: &mut Client, branch: &str, writer: usize, number: usize) {
    let target = changed(&format!("/branches/{branch}/files/{writer}.xml"));
    let body = format!("<config number=\"{number}\"/>\n").repeat(100);
    let kind = "application/octet-stream";
    let saved = admin.attempt("PUT", &target, kind, body.as_bytes());
    assert!(matches!(saved.unwrap().status, 200 | 201));
}

/// Brings files into the other branch that were not there before, some of them large.
fn fill(daemon: &Daemon, root: &Path) {
    let folder = root.join("files");
    let mut random = rand::rng();
    let mut body = vec![0; LARGE_BYTES];
    for number in 0..FILES {
        let folder = folder.join(format!("{}", number / 100));
        fs::create_dir_all(&folder).unwrap();
        let body = if number < LARGE_FILES {
            &mut body
        } else {
            &mut body[..FILE_BYTES]
        };
        random.fill_bytes(body);
        fs::write(folder.join(format!("{number}.bin")), body).unwrap();
    }
    command(
        daemon,
        &["import", PROJECT, "archive", folder.to_str().unwrap()],
    );
    fs::remove_dir_all(folder).unwrap();
}

fn command(daemon: &Daemon, arguments: &[&str]) {
    let output = siteconf(daemon.data()).args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {output:?}");
}

fn percentile(values: &mut [f64], percent: usize) -> f64 {
    values.sort_by(f64::total_cmp);
    values[(values.len() * percent / 100).min(values.len() - 1)]
}

fn median(mut values: Vec<f64>) -> f64 {
    percentile(&mut values, 50)
}
