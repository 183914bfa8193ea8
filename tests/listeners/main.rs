//! Where the service listens, and who stands before it: TLS, a Unix socket, systemd, and the files that
//! `siteconf example` prints, run by the programs that they are for. A program that is not on the machine
//! is left out loudly; with `CI=true` that is a failure.
#![cfg(test)]

mod accepts;
mod alarms;
mod certificates;
mod examples;
#[path = "../support/free_address.rs"]
mod free_address;
mod handshakes;
#[path = "../support/left_out.rs"]
mod left_out;
mod notices;
mod pair;
mod proxies;
mod renewal;
mod service;
mod socket;
mod tls;

use std::process::Command;

use left_out::leave_out;

/// True if a program is here. Where it is not, this says so.
fn is_here(program: &str) -> bool {
    let found = Command::new("sh")
        .args(["-c", &format!("command -v {program}")])
        .output()
        .is_ok_and(|output| output.status.success());
    if !found {
        leave_out(&format!(
            "{program} is not on this machine; .ci/run installs it"
        ));
    }
    found
}
