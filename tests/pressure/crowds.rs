//! Crowds that ask for what memory knows, or that show nothing that counts: they leave the threads to others.

use std::num::NonZero;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use serde_json::json;

use crate::client::{Client, segment};
use crate::daemon::{Daemon, PROJECT, on_branch};
use crate::limited::{alone, start, threads, with_project};

/// Beside those of the network, of which there is one for each processor.
const THREADS_MAX: usize = 100;
/// The same where none is needed but to read the store, which few do at once.
const READERS_MAX: usize = 40;
const CLIENTS: usize = 200;
const ROUNDS: usize = 30;

/// Has each client of a crowd do so, by its number, round after round: the service never has so many threads.
#[track_caller]
fn assert_few_threads(
    daemon: &Daemon,
    first: &Client,
    threads_max: usize,
    round: impl Fn(&mut Client, usize) + Sync,
) {
    let has_ended = AtomicBool::new(false);
    let most = AtomicUsize::new(0);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !has_ended.load(Ordering::Relaxed) {
                most.fetch_max(threads(daemon), Ordering::Relaxed);
                thread::yield_now();
            }
        });
        let crowd = (0..CLIENTS).map(|number| {
            let (mut client, round) = (first.another(), &round);
            scope.spawn(move || {
                for turn in 0..ROUNDS {
                    round(&mut client, number * ROUNDS + turn);
                }
            })
        });
        let crowd: Vec<_> = crowd.collect();
        for client in crowd {
            client.join().unwrap();
        }
        has_ended.store(true, Ordering::Relaxed);
    });
    let most = most.into_inner();
    #[expect(clippy::print_stderr, reason = "cargo shows it where it is asked to")]
    {
        eprintln!("{most} threads at most");
    }
    let of_network = thread::available_parallelism().map_or(1, NonZero::get);
    assert!(most < of_network + threads_max, "{most} threads");
}

#[test]
fn what_is_in_memory_takes_no_threads() {
    let _alone = alone();
    let daemon = start(&["--wrong-logins-minute-max", "1"]);
    let mut first = daemon.admin().another();
    first.credential.clear();
    let document = "/site-builder/api/openapi.json";
    let tag = first.get(document).header("etag").unwrap().to_owned();
    let wrong = json!({ "username": "admin", "password": "not this one" });
    while first.post("/user/login", &wrong).status != 429 {}
    first.credential = format!("If-None-Match: {tag}\r\n");
    assert_few_threads(&daemon, &first, THREADS_MAX, |client, _| {
        assert_eq!(client.get(document).status, 304);
        assert_eq!(client.get("/readyz").status, 200);
        // One a minute is forgiven, and its password is looked at.
        let refused = client.post("/user/login", &wrong).status;
        assert!([429, 401].contains(&refused), "{refused}");
    });
}

#[test]
fn cookies_that_do_not_count_take_few_threads() {
    let _alone = alone();
    let (daemon, admin) = with_project(&[]);
    let project = format!("/site-builder/api/projects/{}", segment(PROJECT));
    let refused = [
        "/site-builder/api/projects".to_owned(),
        format!("{project}/events"),
        on_branch("/events"),
        on_branch("?wait=1"),
        on_branch("/tree"),
        "/user/session".to_owned(),
        "/user/sessions".to_owned(),
    ];
    // One that is known not to count, and others that nobody has shown before.
    for others in [0, 1] {
        assert_few_threads(&daemon, &admin, READERS_MAX, |client, number| {
            let number = others * number;
            client.credential = format!("Cookie: siteconf_session={number:064x}\r\n");
            for target in &refused {
                let answer = client.get(target);
                let told = (answer.status, answer.json());
                assert_eq!(told, (401, json!({ "message": "Not logged in" })));
            }
            assert_eq!(client.post("/user/logout", &json!({})).status, 204);
        });
    }
}
