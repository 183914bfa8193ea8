//! Thousands of clients that wait for a change of one branch: what memory the daemon takes, how soon a
//! save reaches them all, how others fare meanwhile, and what waiting costs beside polling. A line a bar.
//!
//! `cargo bench --bench watch`, with another number of clients behind `--`. It takes some eight minutes;
//! the clients share the machine with the daemon.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    clippy::disallowed_methods,
    missing_docs,
    reason = "a benchmark that fails shall fail, and it prints"
)]

#[path = "../common/asked.rs"]
mod asked;
#[path = "../../tests/service/client.rs"]
#[allow(dead_code, reason = "the tests use more of it")]
mod client;
mod crowd;
#[path = "../common/process.rs"]
mod process;
mod project;
#[path = "../common/verdict.rs"]
mod verdict;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crowd::{Crowd, Habit};
use process::Daemon;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::runtime::Builder;
use tokio::task::spawn_blocking;
use verdict::verdict;

const CLIENTS: usize = 10_000;
/// Most resident memory of the daemon, in MiB.
const MEMORY_MIB_BAR: f64 = 256.0;
/// Longest time from a save's request to the last client's answer, in seconds.
const REACHED_S_BAR: f64 = 1.0;
/// Longest time of the 99th percentile of other requests meanwhile, in milliseconds.
const OTHERS_MS_BAR: f64 = 20.0;
/// How many times less a watch costs than polls.
const CHEAPER_BAR: f64 = 20.0;
const RUNS: usize = 5;
/// Pause between two requests of somebody else.
const PAUSE: Duration = Duration::from_millis(5);
/// Pause between two saves.
const SAVE_PAUSE: Duration = Duration::from_secs(2);
/// In which all connections are made: faster, a busy machine drops some before they are accepted.
const ARRIVAL: Duration = Duration::from_secs(15);
/// How long costs are taken.
const COST_OVER: Duration = Duration::from_mins(1);
const POLL_EVERY: Duration = Duration::from_secs(5);

fn main() {
    if !asked::is_meant("watch") {
        return;
    }
    let clients = asked::number().unwrap_or(CLIENTS);
    raise_open_files(clients);
    let root = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let daemon = start(&root.path().join("data"), clients);
    let mut admin = daemon.admin();
    project::make_project(&mut admin);
    let reader = daemon.reader();
    let (token, session) = (&reader.credential, &admin.credential);
    let crowd = Crowd::new(daemon.address(), token, session, clients);
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    println!(
        "{clients} clients; memory before: {:.0} MiB",
        daemon.memory_mib()
    );

    for (what, habit) in [
        ("wait=30", Habit::Wait { seconds: 30 }),
        ("streams of events", Habit::Listen),
    ] {
        let (reached, others) = runtime.block_on(saves(&daemon, &crowd, habit, &admin, &reader));
        let slowest = percentile(reached.clone(), 100);
        let reached = percentile(reached, 50);
        verdict(
            &format!("{what}: a save reaches all, median of {RUNS}"),
            reached,
            REACHED_S_BAR,
            "s",
        );
        println!("  the slowest {slowest:.3} s");
        let p99 = percentile(others.clone(), 99);
        verdict(
            &format!("{what}: other requests meanwhile, p99"),
            p99,
            OTHERS_MS_BAR,
            "ms",
        );
        let (count, p50) = (others.len(), percentile(others, 50));
        println!("  of {count} requests, p50 {p50:.2} ms");
    }

    let cost = |habit| runtime.block_on(cost(&daemon, &crowd, habit));
    let polls = cost(Habit::Poll { every: POLL_EVERY });
    println!(
        "polls every 5 s: {:.1} ms of a core a second",
        polls * 1000.0
    );
    for (what, habit) in [
        ("wait=30", Habit::Wait { seconds: 30 }),
        ("wait=60", Habit::Wait { seconds: 60 }),
        ("streams of events", Habit::Listen),
    ] {
        let taken = cost(habit);
        let times = polls / taken;
        let verdict = if times >= CHEAPER_BAR {
            "held"
        } else {
            "MISSED"
        };
        println!(
            "{what}: {:.1} ms, {times:.1} times less, bar {CHEAPER_BAR}: {verdict}",
            taken * 1000.0
        );
    }
}

/// A daemon with room for so many clients, all of one address and with one token, and for a few more.
fn start(data: &Path, clients: usize) -> Daemon {
    // One account's tokens may take three quarters of what there is.
    let waiting = (2 * clients).to_string();
    let connections = (clients + 100).to_string();
    let flags = [
        ("--connections-max", connections.as_str()),
        ("--connections-address-max", "0"),
        ("--waiting-max", &waiting),
        ("--waiting-credential-max", &waiting),
        ("--waiting-address-max", "0"),
    ];
    let flags: Vec<_> = flags
        .iter()
        .flat_map(|&(flag, value)| [flag, value])
        .collect();
    Daemon::start(data, &flags)
}

/// How long each save took to reach all, in seconds, and each request of somebody else meanwhile, in
/// milliseconds.
async fn saves(
    daemon: &Daemon,
    crowd: &Crowd,
    habit: Habit,
    admin: &client::Client,
    reader: &client::Client,
) -> (Vec<f64>, Vec<f64>) {
    crowd.begin(habit, ARRIVAL).await;
    verdict(
        "resident memory at most",
        daemon.memory_mib(),
        MEMORY_MIB_BAR,
        "MiB",
    );
    let stop = Arc::new(AtomicBool::new(false));
    let others = {
        let (mut reader, stop) = (reader.another(), Arc::clone(&stop));
        thread::spawn(move || ask_others(&mut reader, &stop))
    };
    let mut reached = Vec::new();
    for turn in 1..=RUNS {
        tokio::time::sleep(SAVE_PAUSE).await;
        let mut admin = admin.another();
        let began = Instant::now();
        let save = spawn_blocking(move || project::save(&mut admin, began));
        crowd.all_told(turn).await;
        reached.push(began.elapsed().as_secs_f64());
        save.await.unwrap();
    }
    stop.store(true, Ordering::SeqCst);
    verdict(
        "  after the saves",
        daemon.memory_mib(),
        MEMORY_MIB_BAR,
        "MiB",
    );
    (reached, others.join().unwrap())
}

/// What the clients cost the daemon while nothing happens, in cores: the median of five parts of a minute,
/// in each of which some clients begin anew.
async fn cost(daemon: &Daemon, crowd: &Crowd, habit: Habit) -> f64 {
    crowd.begin(habit, habit.round()).await;
    let runs = u32::try_from(RUNS).unwrap();
    let part = COST_OVER / runs;
    let mut costs = Vec::new();
    for _ in 0..RUNS {
        let (began, before) = (Instant::now(), daemon.cpu());
        tokio::time::sleep(part).await;
        let cores =
            daemon.cpu().saturating_sub(before).as_secs_f64() / began.elapsed().as_secs_f64();
        costs.push(cores);
    }
    percentile(costs, 50)
}

/// How long each request of somebody else took, in milliseconds.
fn ask_others(reader: &mut client::Client, stop: &AtomicBool) -> Vec<f64> {
    let mut took = Vec::new();
    while !stop.load(Ordering::SeqCst) {
        thread::sleep(PAUSE);
        let began = Instant::now();
        let answer = reader.get(&process::read("/files/other.xml/raw?ref=other"));
        took.push(began.elapsed().as_secs_f64() * 1000.0);
        assert_eq!(answer.status, 200);
    }
    took
}

fn percentile(mut values: Vec<f64>, percent: usize) -> f64 {
    values.sort_by(f64::total_cmp);
    values[(values.len() * percent / 100).min(values.len() - 1)]
}

/// Each client is an open file here, too.
fn raise_open_files(clients: usize) {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: maximum,
        maximum,
    };
    setrlimit(Resource::Nofile, raised).unwrap();
    let needed = u64::try_from(clients).unwrap() + 100;
    assert!(
        maximum.is_none_or(|most| most >= needed),
        "{clients} clients need {needed} open files"
    );
}
