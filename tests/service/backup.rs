//! Backups of the running service, with kills of it and of the backup, and what comes of them elsewhere.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rand::RngExt;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::client::Client;
use crate::daemon::{Daemon, PROJECT, read, siteconf};
use crate::rounds::Rounds;
use crate::writers::{Change, assert_states, save};

const WRITERS: usize = 8;

/// What was acknowledged: the changes by the snapshot that each took.
type Acknowledged = Mutex<BTreeMap<u64, Change>>;

#[test]
fn what_was_acknowledged_before_a_backup_is_in_it() {
    let rounds = Rounds::or(4);
    let room = tempfile::tempdir().unwrap();
    let mut daemon = Daemon::start();
    let mut admin = daemon.admin();
    Daemon::make_project(&mut admin);
    let acknowledged = Acknowledged::default();
    // Something that lasts, so that kills meet all stages of a backup.
    let planted = room.path().join("planted");
    fs::create_dir(&planted).unwrap();
    crate::planted::plant(&planted, 400);
    let import = daemon
        .command(&["import", PROJECT, "main"])
        .arg(&planted)
        .output();
    assert!(import.unwrap().status.success());
    let target = room.path().join("backup");
    let mut duration = Duration::from_millis(300);
    // The saves that the last whole backup in the folder must hold.
    let mut promised = 0;
    for round in 0..rounds.count {
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            for writer in 0..WRITERS {
                let (stop, acknowledged, client) = (&stop, &acknowledged, admin.another());
                scope.spawn(move || write(client, writer, round, stop, acknowledged));
            }
            wait_for_saves(&acknowledged, 20, &stop);
            let before = acknowledged.lock().unwrap().len();
            let began = Instant::now();
            let mut backup = back_up(&daemon, &target);
            // Any place in its course.
            let moment = duration.mul_f64(rounds.random(round).random());
            match round % 4 {
                1 => {
                    thread::sleep(moment);
                    backup.kill().unwrap();
                }
                3 => {
                    thread::sleep(moment);
                    daemon.kill();
                }
                _ => {}
            }
            let done = backup.wait_with_output().unwrap();
            stop.store(true, Ordering::Relaxed);
            if done.status.success() {
                promised = before;
                duration = began.elapsed();
            } else {
                assert_eq!(round % 4, 1, "{done:?}");
            }
        });
        if round % 4 == 3 {
            daemon.kill_and_restart();
            admin = daemon.again(&admin.credential);
        }
        assert_restored(&daemon, &target, &acknowledged, promised);
    }
}

/// Starts a backup beside the service.
pub(crate) fn back_up(daemon: &Daemon, target: &Path) -> Child {
    let mut command = daemon.command(&["backup"]);
    command
        .arg(target)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// Saves until it is told to stop, or the service is gone.
fn write(
    mut client: Client,
    writer: usize,
    round: u64,
    stop: &AtomicBool,
    acknowledged: &Acknowledged,
) {
    for number in 0_usize.. {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let path = format!("{writer}/{}.xml", number % 7);
        let content = format!("{round}/{writer}/{number}\n");
        // Some are too large for the database.
        let content = content.repeat(if number % 4 == 3 { 9_000 } else { 1 });
        let Some(version) = save(&mut client, &path, content.as_bytes()) else {
            return;
        };
        let change = Change {
            operation: "save",
            path,
            content: Some(content.into_bytes()),
        };
        acknowledged.lock().unwrap().insert(version, change);
    }
}

/// Waits until so many more were acknowledged.
#[track_caller]
fn wait_for_saves(acknowledged: &Acknowledged, more: usize, stop: &AtomicBool) {
    let count = || acknowledged.lock().unwrap().len();
    let before = count();
    let patience = Instant::now() + Duration::from_mins(1);
    while count() < before + more {
        if Instant::now() > patience {
            // Those that have not failed end, for they are waited for.
            stop.store(true, Ordering::Relaxed);
            panic!("nothing more is saved");
        }
        thread::yield_now();
    }
}

/// Restores the last whole backup elsewhere, and asserts that it holds the first so many acknowledged
/// saves, and every state that it holds as the service has it.
fn assert_restored(daemon: &Daemon, target: &Path, acknowledged: &Acknowledged, promised: usize) {
    if promised == 0 {
        return;
    }
    let elsewhere = tempfile::tempdir().unwrap();
    let data = elsewhere.path().join("data");
    let restored = siteconf(&data).arg("restore").arg(target).output().unwrap();
    assert!(restored.status.success(), "{restored:?}");
    let check = siteconf(&data)
        .args(["debug", "check", "--deep"])
        .output()
        .unwrap();
    assert!(check.status.success(), "{check:?}");

    let all = history(siteconf(&daemon.data()));
    let there = history(siteconf(&data));
    let count = there.len();
    assert!(count >= promised, "{count} of {promised}");
    assert_eq!(
        there,
        all[all.len() - count..],
        "the history is another one"
    );
    let digest = |data: &Path, revision: &str| {
        let target = format!("{PROJECT}:{revision}");
        let done = siteconf(data)
            .args(["debug", "digest", &target])
            .output()
            .unwrap();
        assert!(done.status.success(), "{done:?}");
        done.stdout
    };
    // The state that it holds is the one of a commit, and so are those before it.
    let mut then = "main".to_owned();
    if count < all.len() {
        then = format!("main@v{:04}", count + 1);
    }
    let head = digest(&daemon.data(), &then);
    assert!(digest(&data, "main") == head);
    for version in [1, count / 2, count] {
        let revision = format!("main@v{version:04}");
        assert!(
            digest(&data, &revision) == digest(&daemon.data(), &revision),
            "{revision}"
        );
    }

    let restored = Daemon::start_on(elsewhere);
    let mut there = restored.admin();
    let head = String::from_utf8(head).unwrap();
    let (_, sha256) = head.trim_end().rsplit_once("sha256 ").unwrap();
    assert_eq!(short_id(&restored, &mut there), sha256[..8]);
    let acknowledged = acknowledged.lock().unwrap();
    let count = u64::try_from(count).unwrap();
    // Those that were acknowledged last before it began, and some others.
    let first = acknowledged.iter().take(promised);
    let chosen = first
        .rev()
        .enumerate()
        .filter(|(place, _)| *place < 30 || place % 50 == 0);
    let chosen: BTreeMap<_, _> = chosen
        .map(|(_, (version, change))| (*version, change.clone()))
        .collect();
    assert!(chosen.keys().all(|version| *version <= count));
    assert_states(&mut there, &chosen, count);
}

fn history(mut command: Command) -> Vec<Value> {
    let target = format!("{PROJECT}:main");
    let done = command
        .args(["debug", "history", &target, "--json"])
        .output()
        .unwrap();
    assert!(done.status.success(), "{done:?}");
    serde_json::from_slice(&done.stdout).unwrap()
}

/// What clients see of the branch: the identifier of its commit.
fn short_id(daemon: &Daemon, admin: &mut Client) -> String {
    let branches = daemon.reader(admin).get(&read("/branches")).json();
    let short_id = branches[0]["commit"]["short_id"].as_str();
    short_id.unwrap_or_else(|| panic!("{branches}")).to_owned()
}

/// A service with a project, and room beside it.
pub(crate) fn small_service() -> (Daemon, tempfile::TempDir) {
    let daemon = Daemon::start();
    let mut admin = daemon.admin();
    Daemon::make_project(&mut admin);
    for number in 0..5 {
        let content = format!("{number}\n").repeat(40_000);
        save(&mut admin, &format!("{number}.xml"), content.as_bytes()).unwrap();
    }
    (daemon, tempfile::tempdir().unwrap())
}

pub(crate) fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_backup_goes_through_a_pipe_and_its_time_is_noted() {
    let (daemon, room) = small_service();
    let new = room.path().join("new");
    assert_eq!(
        fs::metadata(daemon.data().join("last-backup"))
            .ok()
            .map(|note| note.len()),
        None
    );
    let mut backup = daemon.command(&["backup", "-"]);
    let mut backup = backup
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let restored = siteconf(&new)
        .args(["restore", "-"])
        .stdin(backup.stdout.take().unwrap())
        .output()
        .unwrap();
    let backup = backup.wait_with_output().unwrap();
    assert!(
        backup.status.success() && restored.status.success(),
        "{backup:?} {restored:?}"
    );
    let note = fs::read_to_string(daemon.data().join("last-backup")).unwrap();
    let at = note.trim_end();
    assert!(said(&backup).starts_with(&format!(
        "siteconf: backed up to standard output: the state of {at}, "
    )));
    let out = String::from_utf8(restored.stdout).unwrap();
    assert!(
        out.starts_with(&format!(
            "restored to {}: the state of {at}, ",
            new.display()
        )),
        "{out}"
    );
    for secret in ["server-key", "initial-password"] {
        let path = new.join("secrets").join(secret);
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o7777,
            0o600
        );
        let original = daemon.data().join("secrets").join(secret);
        assert_eq!(fs::read(path).unwrap(), fs::read(original).unwrap());
    }
    // Who reads leaves: nothing is noted, and it failed.
    fs::remove_file(daemon.data().join("last-backup")).unwrap();
    let mut left = daemon.command(&["backup", "-"]);
    let mut left = left
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = [0; 512];
    let mut out = left.stdout.take().unwrap();
    out.read_exact(&mut first).unwrap();
    drop(out);
    let left = left.wait_with_output().unwrap();
    assert_eq!(left.status.code(), Some(1));
    assert_eq!(
        said(&left),
        "siteconf: writing standard output: whoever reads it has gone\n"
    );
    assert!(!daemon.data().join("last-backup").exists());
}

#[test]
fn ctrl_c_ends_a_restore_that_waits_for_input_and_leaves_nothing() {
    let room = tempfile::tempdir().unwrap();
    let new = room.path().join("new");
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let mut restore = siteconf(&new);
        let mut restore = restore
            .args(["restore", "-"])
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // By then it watches for signals.
        while !new.join("RESTORING").exists() {
            assert!(restore.try_wait().unwrap().is_none());
            thread::yield_now();
        }
        let id = i32::try_from(restore.id()).unwrap();
        kill_process(Pid::from_raw(id).unwrap(), signal).unwrap();
        let input = restore.stdin.take();
        let ended = restore.wait_with_output().unwrap();
        drop(input);
        assert_eq!(ended.status.code(), Some(code), "{ended:?}");
        assert_eq!(
            said(&ended),
            "siteconf: interrupted; nothing half is left\n"
        );
        assert!(!new.exists());
    }
}

#[test]
fn a_backup_of_a_damaged_store_goes_on_and_ends_with_1() {
    let (mut daemon, room) = small_service();
    assert!(daemon.stop().success());
    let blobs = daemon.data().join("blobs");
    let blob = walkdir::WalkDir::new(&blobs)
        .into_iter()
        .map(Result::unwrap)
        .find(|entry| entry.file_type().is_file())
        .unwrap();
    let id = blob
        .path()
        .strip_prefix(&blobs)
        .unwrap()
        .to_str()
        .unwrap()
        .replace('/', "");
    let mut bytes = fs::read(blob.path()).unwrap();
    bytes[0] ^= 1;
    fs::write(blob.path(), bytes).unwrap();
    let target = room.path().join("backup.tar");
    let done = daemon.command(&["backup"]).arg(&target).output().unwrap();
    assert_eq!(done.status.code(), Some(1), "{done:?}");
    assert_eq!(
        said(&done),
        format!(
            "siteconf: blob {id} is damaged: its file holds other bytes\n\
             siteconf: the store is damaged: 1 things are not in the backup as they should be; see \
             \"siteconf debug check --deep\"\n"
        )
    );
    assert!(!daemon.data().join("last-backup").exists());
    let verified = siteconf(room.path())
        .args(["backup", "verify"])
        .arg(&target)
        .output()
        .unwrap();
    assert!(verified.status.success(), "{verified:?}");
    let restored = siteconf(&room.path().join("new"))
        .arg("restore")
        .arg(&target)
        .output()
        .unwrap();
    assert!(restored.status.success(), "{restored:?}");
}
