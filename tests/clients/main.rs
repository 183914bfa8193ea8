//! GitLab clients as they are, against the daemon as it is (contract section 5). A folder here is a
//! client: a program that prints `row N ok` for every capability of [`matrix`] that it has seen.
//! What cannot be installed is stood in for by the request lines it sends, in [`replay`].
//!
//! `install` puts the clients into a folder outside the checkout. On a machine without them the test
//! says what it left out; with `CI=true` that is a failure.
#![cfg(test)]

#[path = "../it/harness/mod.rs"]
#[allow(dead_code, unused_imports, reason = "the other suite uses the rest")]
mod harness;

#[path = "../support/free_address.rs"]
mod free_address;

#[path = "../support/left_out.rs"]
mod left_out;

#[path = "../listeners/pair.rs"]
#[allow(dead_code, reason = "the other suite uses the rest")]
mod pair;

mod client;
mod matrix;
mod needs;
mod nginx;
mod replay;
mod replayed;
mod stage;

use std::thread;

use client::{CLIENTS, Client};
use left_out::leave_out;
use matrix::Seen;
use nginx::Nginx;
use stage::Stage;

#[test]
fn clients_work_unchanged() {
    let stage = Stage::set();
    let (found, missing): (Vec<&Client>, Vec<&Client>) =
        CLIENTS.iter().partition(|client| client.is_installed());
    let mut left_out: Vec<_> = missing.iter().map(|client| client.name).collect();

    let mut seen: Vec<Seen> = thread::scope(|scope| {
        let started: Vec<_> = found
            .iter()
            .map(|client| scope.spawn(|| client.run(&stage)))
            .collect();
        let ended = started.into_iter().map(|run| run.join().expect("no fault"));
        ended.collect()
    });
    seen.extend(replay::run(&stage));

    let python = &CLIENTS[0];
    if python.is_installed() {
        seen.push(python.run_over_tls(&stage.tls_base(), "over TLS", &stage));
    }
    if !Nginx::is_installed() {
        left_out.push("nginx");
    } else if python.is_installed() {
        let nginx = Nginx::before(&stage);
        seen.push(python.run_through(&nginx.passing(), false, &stage));
        seen.push(python.run_through(&nginx.decoding(), true, &stage));
        seen.push(python.run_over_tls(&nginx.by_tls(), "behind nginx over TLS", &stage));
    }

    let faults: Vec<_> = seen.iter().flat_map(Seen::faults).collect();
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
    if left_out.is_empty() {
        matrix::hold_against_readme(&seen);
        return;
    }
    leave_out(&format!(
        "{}, not on this machine; tests/clients/install gets them",
        left_out.join(", ")
    ));
}
