//! The daemon under a mixed load, killed at any moment: what was acknowledged is there, and nothing is
//! there by halves.

use std::ops::AddAssign;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rand::RngExt;
use rand::rngs::StdRng;

use crate::client::Client;
use crate::daemon::{Daemon, on_branch, serve};
use crate::folders::scratch;
use crate::load::{Hand, Imports, Killer, check_history};
use crate::rounds::Rounds;
use crate::spin::spin;

/// Daemons at once, each on a folder of its own.
const LANES: u64 = 4;
/// Kills in one folder, so that what is in it stays little.
const KILLS_A_FOLDER: u64 = 40;
/// Longest wait between the last counted answer and the kill, in microseconds.
const PAUSE_US_MAX: u64 = 3_000;
/// Longest wait between the start of a daemon and its kill, where it is killed on its start.
const START_US_MAX: u64 = 15_000;

/// What was done.
#[derive(Clone, Copy, Debug, Default)]
struct Figures {
    kills: u64,
    /// Of these, on the start.
    on_start: u64,
    answers: u64,
    /// Changes without an answer that are there.
    whole: u64,
    /// Changes without an answer that are not.
    absent: u64,
}

impl AddAssign for Figures {
    fn add_assign(&mut self, other: Self) {
        self.kills += other.kills;
        self.on_start += other.on_start;
        self.answers += other.answers;
        self.whole += other.whole;
        self.absent += other.absent;
    }
}

/// A folder with its daemon, and all who work on it.
struct Lane {
    daemon: Daemon,
    admin: Client,
    hands: Vec<Hand>,
    imports: Killer,
    /// Snapshots of the branch `main`.
    count: u64,
}

impl Lane {
    /// Where file systems keep nothing on a disk a kill meets more of what is computed, elsewhere more
    /// of what is written.
    fn start(number: u64) -> Self {
        let folder = if number.is_multiple_of(2) {
            scratch()
        } else {
            tempfile::tempdir().unwrap()
        };
        let daemon = Daemon::start_on(folder);
        let mut admin = daemon.admin();
        Daemon::make_project(&mut admin);
        let imports = Imports::new(daemon.store_flags());
        let killer = imports.killer();
        Self {
            hands: Hand::all(imports),
            daemon,
            admin,
            imports: killer,
            count: 0,
        }
    }

    /// Has all work until the daemon is killed; gives how many answers there were.
    fn load_and_kill(&mut self, random: &mut StdRng) -> u64 {
        let enough = random.random_range(1..=40);
        let pause = Duration::from_micros(random.random_range(0..PAUSE_US_MAX));
        let import_goes_too = random.random_bool(0.5);
        let (report, reports) = mpsc::channel();
        // Imports go on without a daemon.
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            let is_over = &is_over;
            let imports = random.random_ratio(1, 3);
            for hand in &mut self.hands {
                if hand.is_import && !imports {
                    continue;
                }
                let (client, report) = (self.admin.another(), report.clone());
                let random = rand::SeedableRng::from_rng(random);
                scope.spawn(move || hand.work_on(client, random, &report, is_over));
            }
            drop(report);
            let counted = reports.iter().take(enough).count() as u64;
            spin(pause);
            self.daemon.kill();
            is_over.store(true, Ordering::Relaxed);
            if import_goes_too {
                self.imports.kill();
            }
            counted + reports.iter().count() as u64
        })
    }

    /// Holds all that is there against what was told.
    fn check(&mut self, figures: &mut Figures) {
        let mut snapshots = Vec::new();
        let mut made = 0;
        for hand in &mut self.hands {
            let found = hand.work.found(&mut self.admin);
            if let Err(fault) = hand.told.check(&found, |_| true) {
                panic!("{fault}");
            }
            assert_eq!(hand.told.refusals, [0; 0], "nothing was in the way");
            made += hand.snapshots_made(&found);
            if hand.told.is_waiting() {
                let is_whole = found == *hand.told.last();
                figures.whole += u64::from(is_whole);
                figures.absent += u64::from(!is_whole);
            }
            snapshots.append(&mut hand.told.snapshots);
            hand.told.go_on_from(found);
        }
        let listed = self.admin.get(&on_branch("/history")).json();
        let count = check_history(&listed, &snapshots);
        assert_eq!(count, self.count + made, "each change has one snapshot");
        self.count = count;
    }

    fn check_deeply(&self) {
        let check = self.daemon.command(&["debug", "check", "--deep"]).output();
        let check = check.unwrap();
        assert!(check.status.success(), "{check:?}");
    }
}

/// Starts a daemon and kills it on the way.
fn kill_on_start(mut command: Command, random: &mut StdRng) {
    let mut process = command.spawn().unwrap();
    thread::sleep(Duration::from_micros(random.random_range(0..START_US_MAX)));
    process.kill().unwrap();
    process.wait().unwrap();
}

/// Kills daemons until there were enough.
fn run(rounds: Rounds, number: u64, kills: &AtomicU64) -> Figures {
    let mut figures = Figures::default();
    let mut random = rounds.random(number);
    while kills.load(Ordering::Relaxed) < rounds.count {
        let mut lane = Lane::start(number);
        for _ in 0..KILLS_A_FOLDER {
            if kills.fetch_add(1, Ordering::Relaxed) >= rounds.count {
                break;
            }
            figures.kills += 1;
            figures.answers += lane.load_and_kill(&mut random);
            while random.random_ratio(1, 4) && kills.fetch_add(1, Ordering::Relaxed) < rounds.count
            {
                kill_on_start(serve(&lane.daemon.data()), &mut random);
                figures.kills += 1;
                figures.on_start += 1;
            }
            lane.daemon.kill_and_restart();
            lane.admin = lane.daemon.again(&lane.admin.credential);
            lane.check(&mut figures);
        }
        lane.check_deeply();
    }
    figures
}

#[test]
#[expect(clippy::print_stderr, reason = "the figures of a long run")]
fn what_was_acknowledged_survives_kills_under_a_mixed_load() {
    let rounds = Rounds::or(120);
    let kills = AtomicU64::new(0);
    let mut figures = Figures::default();
    thread::scope(|scope| {
        let kills = &kills;
        let lanes: Vec<_> = (0..LANES)
            .map(|number| scope.spawn(move || run(rounds, number, kills)))
            .collect();
        for lane in lanes {
            figures += lane.join().unwrap();
        }
    });
    eprintln!("{figures:?}");
    assert_eq!(figures.kills, rounds.count);
    // Kills that met nothing would show nothing.
    assert!(figures.answers > rounds.count * 4, "{figures:?}");
    assert!(figures.absent > 0 && figures.whole > 0, "{figures:?}");
}
