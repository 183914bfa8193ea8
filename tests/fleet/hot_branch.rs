//! Many daemons that save to one branch at once: each gets its part.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

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
    let saves = [const { AtomicU64::new(0) }; DAEMONS];
    let refusals = AtomicU64::new(0);
    let all = || {
        saves
            .iter()
            .map(|count| count.load(Ordering::Relaxed))
            .sum::<u64>()
    };
    let began = Instant::now();
    thread::scope(|scope| {
        for daemon in 0..DAEMONS {
            for client in 0..CLIENTS {
                let (store, saves, refusals, all) = (&store, &saves[daemon], &refusals, &all);
                scope.spawn(move || {
                    let mut admin = store.admin_at(daemon);
                    let target = file(&format!("{daemon}/{client}.txt"));
                    while all() < rounds.count {
                        let text = saves.load(Ordering::Relaxed).to_string();
                        let kind = "application/octet-stream";
                        let saved = admin.attempt("PUT", &target, kind, text.as_bytes());
                        let counts = match saved.unwrap().status {
                            200 | 201 => saves,
                            503 => refusals,
                            other => panic!("{other}"),
                        };
                        counts.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
        }
    });
    let took = began.elapsed();
    let saves = saves.map(AtomicU64::into_inner);
    let refusals = refusals.into_inner();
    eprintln!("{saves:?} in {took:?}, {refusals} refused");
    let least = *saves.iter().min().expect("there are some");
    assert!(least * 100 >= rounds.count * PART_MIN, "{saves:?}");
    // A machine that stands still for seconds has the database out of reach for a moment.
    let asked = saves.iter().sum::<u64>() + refusals;
    assert!(refusals * 50 <= asked, "{refusals} of {asked} refused");
}
