//! Daemons under a mixed load over one database, while they and the database are killed at any moment: what
//! was acknowledged is there, nothing is there by halves, and nothing was done twice.

use std::ops::AddAssign;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::json;

use crate::cluster::Cluster;
use crate::daemon::on_branch;
use crate::load::{Hand, Imports, Killer, check_history};
use crate::rounds::Rounds;
use crate::spin::spin;
use crate::store::{Store, make, settled};

/// How many daemons serve each of the databases that are there at once, each on a server of its own.
const FAIR_SHARDS: [usize; 3] = [2, 4, 2];
/// Rounds in one store: an account has 1,000 tokens at most.
const ROUNDS_A_STORE: u64 = 25;
/// One round of so many has the standby take the primary's place.
const ROUNDS_A_FAILOVER: u64 = 10;
/// Longest wait between the last counted answer and a fault, in microseconds.
const PAUSE_US_MAX: u64 = 3_000;
/// How long changes may be refused when the primary was killed: as README says, and at most, for the machine of the
/// test may stand still meanwhile.
const FAILOVER_USUAL: Duration = Duration::from_secs(5);
const FAILOVER_MAX: Duration = Duration::from_secs(45);
/// Answers that are waited for after a fault, and for how long: none comes where all clients wait for the end.
const ANSWERS_AFTER: usize = 10;
const SILENCE_MAX: Duration = Duration::from_secs(5);

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// The daemon of this number is killed.
    Daemon(usize),
    /// All processes of the server are.
    Server,
    /// One process of the server is, and it restarts by itself.
    Backend,
    /// The server ends the connections of all daemons.
    Connections,
    /// The primary is killed with all its processes, and the standby takes its place.
    Failover,
}

impl Fault {
    /// One of those that meet so many daemons.
    fn any(random: &mut StdRng, daemons: usize) -> Self {
        match random.random_range(0..10) {
            0..4 => Self::Daemon(random.random_range(0..daemons)),
            4..6 => Self::Server,
            6 => Self::Backend,
            _ => Self::Connections,
        }
    }
}

/// What was done.
#[derive(Clone, Copy, Debug, Default)]
struct Figures {
    rounds: u64,
    daemons_killed: u64,
    servers_killed: u64,
    connections_ended: u64,
    failovers: u64,
    /// Those that took longer than [`FAILOVER_USUAL`].
    slow_failovers: u64,
    answers: u64,
    /// Changes that were answered 503.
    refused: u64,
    /// Changes without an answer that says what became of them, and that are there.
    whole: u64,
    /// Those that are not.
    absent: u64,
}

impl AddAssign for Figures {
    fn add_assign(&mut self, other: Self) {
        self.rounds += other.rounds;
        self.daemons_killed += other.daemons_killed;
        self.servers_killed += other.servers_killed;
        self.connections_ended += other.connections_ended;
        self.failovers += other.failovers;
        self.slow_failovers += other.slow_failovers;
        self.answers += other.answers;
        self.refused += other.refused;
        self.whole += other.whole;
        self.absent += other.absent;
    }
}

/// A store with all who work on it.
struct Lane {
    store: Store,
    hands: Vec<Hand>,
    imports: Killer,
    /// Snapshots of the branch `main`.
    count: u64,
}

impl Lane {
    fn start(cluster: &Cluster, daemons: usize) -> Self {
        let store = Store::make(cluster, daemons, &[]);
        let branches = on_branch("").replace("/main", "");
        let beside = json!({ "name": "beside" });
        make(&mut store.admin_at(0), &branches, &beside);
        let imports = Imports::new(store.flags.clone());
        let killer = imports.killer();
        Self {
            hands: Hand::all(imports),
            store,
            imports: killer,
            count: 0,
        }
    }

    /// Has all work through any of the daemons while some faults come, the first ones while others work on.
    fn load(
        &mut self,
        cluster: &mut Cluster,
        faults: &[Fault],
        random: &mut StdRng,
        figures: &mut Figures,
    ) {
        let (report, reports) = mpsc::channel();
        let is_over = AtomicBool::new(false);
        let mut killed = Vec::new();
        thread::scope(|scope| {
            let is_over = &is_over;
            let imports = random.random_ratio(1, 3);
            for hand in &mut self.hands {
                if hand.is_import && !imports {
                    continue;
                }
                let (client, report) = (self.store.admin(random), report.clone());
                let random = StdRng::from_rng(random);
                scope.spawn(move || hand.work_on(client, random, &report, is_over));
            }
            drop(report);
            for fault in faults {
                let enough = random.random_range(1..=25);
                figures.answers += wait_for(&reports, enough);
                spin(Duration::from_micros(random.random_range(0..PAUSE_US_MAX)));
                match fault {
                    Fault::Daemon(daemon) if killed.contains(daemon) => {}
                    Fault::Daemon(daemon) => {
                        self.store.daemons[*daemon].kill();
                        killed.push(*daemon);
                        figures.daemons_killed += 1;
                    }
                    Fault::Failover => {
                        let began = Instant::now();
                        cluster.fail_over();
                        save_again(&self.store, began);
                        figures.failovers += 1;
                        figures.slow_failovers += u64::from(began.elapsed() > FAILOVER_USUAL);
                    }
                    fault => meet(*fault, cluster, figures),
                }
            }
            figures.answers += wait_for(&reports, ANSWERS_AFTER);
            is_over.store(true, Ordering::Relaxed);
            if random.random_bool(0.5) {
                self.imports.kill();
            }
            figures.answers += reports.iter().count() as u64;
        });
        // A server that was met last may not have come back: no daemon starts without it.
        cluster.ask("postgres", "SELECT 1");
        for daemon in killed {
            let serve = self.store.serve();
            self.store.daemons[daemon].kill_and_restart_as(serve);
        }
    }

    /// Holds all that is there against what was told.
    fn check(&mut self, cluster: &Cluster, random: &mut StdRng, figures: &mut Figures) {
        let mut snapshots = Vec::new();
        let mut made = 0;
        for hand in &mut self.hands {
            let mut admin = self.store.admin(random);
            let found = hand.work.found(&mut admin);
            if let Err(fault) = hand.told.check(&found, |_| true) {
                panic!("{fault}");
            }
            for status in &hand.told.refusals {
                // What is too large for the database is refused; an import has no status.
                assert!([0, 413, 503].contains(status), "{status}");
                figures.refused += u64::from(*status == 503);
            }
            made += hand.snapshots_made(&found);
            if hand.told.is_waiting() {
                let is_whole = found == *hand.told.last();
                figures.whole += u64::from(is_whole);
                figures.absent += u64::from(!is_whole);
            }
            snapshots.append(&mut hand.told.snapshots);
            hand.told.go_on_from(found);
        }
        let mut admin = self.store.admin(random);
        let listed = settled(|| admin.get(&on_branch("/history"))).json();
        let count = check_history(&listed, &snapshots);
        assert_eq!(count, self.count + made, "each change has one snapshot");
        self.count = count;
        let faults = "SELECT count(*) - 1 - max(version) FROM siteconf.change
            UNION ALL SELECT count(*) FROM siteconf.record
            LEFT JOIN (SELECT key, max(version) AS last FROM siteconf.change GROUP BY key) change USING (key)
            WHERE last IS DISTINCT FROM version";
        let faults = self.store.ask(cluster, faults);
        assert_eq!(faults, ["0", "0"], "gaps, and records of other versions");
    }
}

/// Saves to a branch of its own through each daemon, until that is taken.
fn save_again(store: &Store, began: Instant) {
    for daemon in 0..store.daemons.len() {
        let mut admin = store.admin_at(daemon);
        let target = beside("/files/a%2Exml");
        let mut save = || admin.attempt("PUT", &target, "application/octet-stream", b"text");
        while save().unwrap().status >= 300 {
            assert!(began.elapsed() < FAILOVER_MAX, "no change is taken");
        }
        assert!(began.elapsed() < FAILOVER_MAX, "{:?}", began.elapsed());
    }
}

/// A target below another branch than the one that all work on.
fn beside(rest: &str) -> String {
    on_branch(rest).replace("/main", "/beside")
}

/// Does this to the server.
fn meet(fault: Fault, cluster: &mut Cluster, figures: &mut Figures) {
    match fault {
        Fault::Daemon(_) | Fault::Failover => unreachable!("{fault:?} is not met alone"),
        Fault::Server => {
            cluster.kill();
            cluster.restart();
            figures.servers_killed += 1;
        }
        Fault::Backend => {
            cluster.kill_backend();
            figures.servers_killed += 1;
        }
        Fault::Connections => {
            cluster.end_connections();
            figures.connections_ended += 1;
        }
    }
}

/// Waits for so many answers; gives how many there were.
fn wait_for(reports: &Receiver<()>, enough: usize) -> u64 {
    let mut counted = 0;
    while counted < enough {
        match reports.recv_timeout(SILENCE_MAX) {
            Ok(()) => counted += 1,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
        }
    }
    counted as u64
}

/// Does rounds with so many daemons until there were enough.
fn run(rounds: Rounds, number: usize, daemons: usize, taken: &AtomicU64) -> Figures {
    let mut figures = Figures::default();
    let mut random = rounds.random(number as u64);
    let mut cluster = Cluster::start();
    loop {
        let mut lane = Lane::start(&cluster, daemons);
        for _ in 0..ROUNDS_A_STORE {
            let round = taken.fetch_add(1, Ordering::Relaxed);
            if round >= rounds.count {
                return figures;
            }
            figures.rounds += 1;
            let mut faults = vec![Fault::any(&mut random, daemons)];
            while random.random_ratio(1, 4) {
                faults.push(Fault::any(&mut random, daemons));
            }
            let fails_over = round % ROUNDS_A_FAILOVER == ROUNDS_A_FAILOVER - 1;
            if fails_over {
                cluster.add_standby();
                faults = vec![Fault::Failover];
            }
            lane.load(&mut cluster, &faults, &mut random, &mut figures);
            lane.check(&cluster, &mut random, &mut figures);
        }
    }
}

#[test]
#[expect(clippy::print_stderr, reason = "the figures of a long run")]
fn what_was_acknowledged_survives_kills_of_daemons_and_of_their_database() {
    let rounds = Rounds::or(20);
    let taken = AtomicU64::new(0);
    let mut figures = Figures::default();
    thread::scope(|scope| {
        let taken = &taken;
        let lanes: Vec<_> = FAIR_SHARDS
            .into_iter()
            .enumerate()
            .map(|(number, daemons)| scope.spawn(move || run(rounds, number, daemons, taken)))
            .collect();
        for lane in lanes {
            figures += lane.join().unwrap();
        }
    });
    eprintln!("{figures:?}");
    assert_eq!(figures.rounds, rounds.count);
    // Faults that met nothing would show nothing.
    assert_eq!(figures.failovers, rounds.count / ROUNDS_A_FAILOVER);
    // Of few, each may be one beside which the machine stood still.
    let slow_max = (figures.failovers / 2).max(2);
    assert!(figures.slow_failovers <= slow_max, "{figures:?}");
    assert!(figures.answers > rounds.count * 10, "{figures:?}");
    assert!(figures.absent > 0 && figures.whole > 0, "{figures:?}");
}
