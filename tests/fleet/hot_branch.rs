//! Many daemons that save to one branch at once: each gets its part.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::cluster::Cluster;
use crate::daemon::file;
use crate::rounds::Rounds;
use crate::store::Store;

const DAEMONS: usize = 10;
/// Who saves through each.
const CLIENTS: usize = 2;
/// The least part of a daemon, in percent: a third of what would be just.
const PART_MIN: u64 = 3;

#[test]
#[expect(clippy::print_stderr, reason = "the figures of a long run")]
fn of_many_daemons_that_save_to_one_branch_none_is_left_behind() {
    let rounds = Rounds::or(600);
    let cluster = Cluster::start();
    let store = Store::make(&cluster, DAEMONS, &[]);
    // One that is held up for seconds is behind, and has the database out of reach for a moment: then once more.
    let is_fair = (0..3).any(|_| {
        let began = Instant::now();
        let (saves, refusals) = save_at_once(&store, rounds.count);
        let took = began.elapsed();
        eprintln!("{saves:?} in {took:?}, {refusals} refused");
        let least = *saves.iter().min().expect("there are some");
        let asked = saves.iter().sum::<u64>() + refusals;
        least * 100 >= rounds.count * PART_MIN && refusals * 50 <= asked
    });
    assert!(is_fair, "one was left behind, or many refused");
}

/// Has all clients save until so many saves were made. Gives those of each daemon, and how many were refused.
fn save_at_once(store: &Store, count: u64) -> ([u64; DAEMONS], u64) {
    let saves = [const { AtomicU64::new(0) }; DAEMONS];
    let refusals = AtomicU64::new(0);
    let all = || {
        saves
            .iter()
            .map(|count| count.load(Ordering::Relaxed))
            .sum::<u64>()
    };
    thread::scope(|scope| {
        for daemon in 0..DAEMONS {
            for client in 0..CLIENTS {
                let (saves, refusals, all) = (&saves[daemon], &refusals, &all);
                scope.spawn(move || {
                    let mut admin = store.admin_at(daemon);
                    let target = file(&format!("{daemon}/{client}.txt"));
                    while all() < count {
                        let text = saves.load(Ordering::Relaxed).to_string();
                        let kind = "application/octet-stream";
                        let saved = admin.attempt("PUT", &target, kind, text.as_bytes());
                        let counts = match saved.unwrap().status {
                            200 | 201 => saves,
                            503 => {
                                // As it is told to, or it would be refused all the time.
                                thread::sleep(Duration::from_secs(1));
                                refusals
                            }
                            other => panic!("{other}"),
                        };
                        counts.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
        }
    });
    (saves.map(AtomicU64::into_inner), refusals.into_inner())
}
