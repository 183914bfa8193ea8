//! Wrong logins by the hundred: what they leave in memory.

use std::thread;

use serde_json::json;

use crate::client::Client;
use crate::daemon::Daemon;

/// The memory of a small machine.
const MEMORY_KIB: u64 = 512 << 10;
const RESIDENT_KIB_MAX: u64 = 128 << 10;
/// Nobody who fails is kept from failing again.
const EVERY_PASSWORD_IS_HASHED: [&str; 10] = [
    "--wrong-logins-minute-max",
    "0",
    "--wrong-logins-minute-address-max",
    "0",
    "--wrong-logins-minute-account-max",
    "0",
    "--logins-waiting-address-max",
    "64",
    // A quarter is kept for who has logged in there.
    "--logins-waiting-max",
    "96",
];
const AT_ONCE: usize = 64;
const EACH: usize = 8;

#[test]
fn wrong_logins_by_the_hundred_stay_within_the_memory_of_two() {
    let daemon = Daemon::start_within(MEMORY_KIB, &EVERY_PASSWORD_IS_HASHED);
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            let mut client = daemon.again("");
            scope.spawn(move || wrong_logins(&mut client));
        }
    });
    let peak = daemon.peak_resident_kib();
    assert!(peak < RESIDENT_KIB_MAX, "{peak} KiB were resident");
    daemon.admin();
}

fn wrong_logins(client: &mut Client) {
    let wrong = json!({ "username": "admin", "password": "not the password" });
    for _ in 0..EACH {
        assert_eq!(client.post("/user/login", &wrong).status, 401);
    }
}
