//! The service and collections beside it, killed at any moment: nothing that is needed is ever missing,
//! and no client sees an error from a collection.

use std::ops::Range;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rand::RngExt;
use serde_json::{Value, json};

use crate::client::Client;
use crate::daemon::{Daemon, PROJECT, file, on_branch};
use crate::rounds::Rounds;
use crate::scene::{Process, assert_nothing_left};

const WRITERS: usize = 3;
/// How long a collection that is not killed works beside the writers.
const BESIDE_WRITERS: Duration = Duration::from_secs(10);
/// Rounds after which a kill has met a collection, and another one has removed something.
const MOST_ROUNDS: u64 = 60;
/// What is deleted is kept for the time that is usual, so a store grows with each round.
const ROUNDS_A_STORE: u64 = 2;
const OCTETS: &str = "application/octet-stream";

/// Few contents, so that most saves bring back one that was removed; one of seven is large.
fn content(number: u64) -> Vec<u8> {
    let text = format!("content {number}\n");
    text.repeat(if number.is_multiple_of(7) { 6_000 } else { 1 })
        .into_bytes()
}

/// What a writer's own file may hold: what was acknowledged last, and what was sent after it.
#[derive(Clone, Copy, Default)]
struct Own {
    acknowledged: Option<u64>,
    sent: Option<u64>,
}

/// What became of the collections.
#[derive(Debug, Default)]
struct Met {
    killed: u32,
    removed: u64,
}

impl Met {
    fn is_all(&self) -> bool {
        self.killed > 0 && self.removed > 0
    }
}

/// Saves, and makes and deletes branches, until the daemon is gone or it is to stop.
fn write(client: &mut Client, writer: usize, mut seed: u64, own: &Mutex<Own>, stop: &AtomicBool) {
    let branches = on_branch("").replace("/main", "");
    for turn in 0_u64.. {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let number = (seed >> 33) % 30;
        let is_own = turn.is_multiple_of(3);
        let path = if is_own {
            format!("own/{writer}.xml")
        } else {
            format!("all/{}.xml", number % 5)
        };
        if is_own {
            own.lock().unwrap().sent = Some(number);
        }
        let Ok(answer) = client.attempt("PUT", &file(&path), OCTETS, &content(number)) else {
            return;
        };
        assert!(matches!(answer.status, 200 | 201), "{answer:?}");
        if is_own {
            own.lock().unwrap().acknowledged = Some(number);
        }
        if turn % 10 == 9 {
            let name = format!("short-{writer}-{turn}-{seed:x}");
            let body = json!({ "name": name, "from": "main" }).to_string();
            let made = client.attempt("POST", &branches, "application/json", body.as_bytes());
            let Ok(made) = made else { return };
            assert_eq!(made.status, 201, "{made:?}");
            let Ok(gone) = client.attempt("DELETE", &format!("{branches}/{name}"), "", b"") else {
                return;
            };
            assert!(matches!(gone.status, 200 | 204), "{gone:?}");
        }
    }
}

fn start(mut command: Command) -> Child {
    let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// Waits for a process, so long at most. True if it has ended.
fn ended_within(process: &mut Child, most: Duration) -> bool {
    let began = Instant::now();
    while process.try_wait().unwrap().is_none() {
        if began.elapsed() >= most {
            return false;
        }
        thread::yield_now();
    }
    true
}

#[test]
fn kills_of_the_service_and_of_collections_lose_nothing() {
    let rounds = Rounds::or(3);
    let folder = tempfile::tempdir().unwrap();
    for number in 0..200 {
        let at = folder.path().join(format!("{number}.xml"));
        std::fs::write(at, content(number % 30)).unwrap();
    }
    let mut met = Met::default();
    let mut next = 0;
    while next < rounds.count || (!met.is_all() && next < MOST_ROUNDS) {
        let mut end = next + ROUNDS_A_STORE;
        if next < rounds.count {
            end = end.min(rounds.count);
        }
        on_one_store(&rounds, next..end, folder.path(), &mut met);
        next = end;
    }
    assert!(met.is_all(), "{met:?}");
}

/// Rounds one after another on a store of their own.
fn on_one_store(rounds: &Rounds, of_store: Range<u64>, folder: &Path, met: &mut Met) {
    let mut daemon = Daemon::start();
    let mut admin = daemon.admin();
    Daemon::make_project(&mut admin);
    let own: [Mutex<Own>; WRITERS] = Default::default();
    for round in of_store {
        let mut random = rounds.random(round);
        let kills_service = round % 2 == 0;
        let kills_collection = round % 3 != 0;
        let until = Duration::from_millis(random.random_range(500..4_500));
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            for (writer, own) in own.iter().enumerate() {
                let mut client = admin.another();
                let seed = random.random();
                let stop = &stop;
                scope.spawn(move || write(&mut client, writer, seed, own, stop));
            }
            let mut import = daemon.command(&["import", PROJECT, "main"]);
            import.arg(folder);
            let import = start(import);
            let prune = daemon.command(&["prune", "--keep-snapshots", "5"]).output();
            assert!(prune.unwrap().status.success());
            let mut collection = start(daemon.command(&["gc", "--json"]));
            let ended = ended_within(&mut collection, until);
            if kills_service {
                daemon.kill();
            }
            if !ended && kills_collection {
                collection.kill().unwrap();
            } else if !ended_within(&mut collection, BESIDE_WRITERS) {
                // Beside writers that never rest it takes forty times as long.
                stop.store(true, Ordering::Relaxed);
            }
            let output = collection.wait_with_output().unwrap();
            if output.status.code().is_none() {
                met.killed += 1;
            } else {
                assert!(output.status.success(), "{output:?}");
                let done: Value = serde_json::from_slice(&output.stdout).unwrap();
                met.removed += done["removed_objects"].as_u64().unwrap();
            }
            // It needs no service.
            let output = import.wait_with_output().unwrap();
            assert!(output.status.success(), "round {round}: {output:?}");
            daemon.kill();
        });
        daemon.kill_and_restart();
        admin = daemon.again(&admin.credential);
        for (writer, own) in own.iter().enumerate() {
            let mut own = own.lock().unwrap();
            let found = admin.get(&file(&format!("own/{writer}.xml")));
            let may = [own.acknowledged, own.sent];
            let fits = may
                .into_iter()
                .flatten()
                .find(|number| content(*number) == found.body);
            assert!(
                fits.is_some() || own.acknowledged.is_none(),
                "round {round}: {found:?}"
            );
            // It is what the file holds until a save of the next round, if there is one.
            *own = Own {
                acknowledged: fits,
                sent: None,
            };
        }
        let check = daemon
            .command(&["debug", "check", "--deep"])
            .output()
            .unwrap();
        assert!(check.status.success(), "round {round}: {check:?}");
    }
    let data = daemon.data();
    assert!(daemon.stop().success());
    let store = Process::daemon(&data);
    store.projects.forget_deleted(0, &|| true).unwrap();
    assert_nothing_left(&store, &data);
}
