//! Random operations by people of different rights, on both APIs: each answer, and in the end each state, is
//! what a small model of the service says.

mod changes;
mod reads;
mod reference;
mod run;

use std::thread;

use crate::harness::Daemon;
use crate::rounds::Rounds;
use run::{People, Run};

/// Runs that go on at once, on one service: what belongs to one must never be seen in another.
const LANES: usize = 4;
const STEPS: u32 = 50;

#[test]
fn whatever_anybody_does_the_service_is_as_the_model() {
    let rounds = Rounds::or(200);
    let daemon = Daemon::start_with(&[
        "--trusted-proxies",
        "127.0.0.1",
        "--access-log",
        "off",
        // Each run makes one.
        "--projects-account-max",
        "1000000",
    ]);
    let people = People::arrive(&daemon);
    thread::scope(|scope| {
        for lane in 0..LANES {
            let people = &people;
            scope.spawn(move || {
                for number in (0..rounds.count).skip(lane).step_by(LANES) {
                    let mut run = Run::begin(people, number, rounds.random(number));
                    for _ in 0..STEPS {
                        run.step();
                    }
                    run.compare_everything();
                }
            });
        }
    });
}
