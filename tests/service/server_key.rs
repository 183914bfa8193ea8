//! A server key that was lost or exchanged is told, never replaced in silence.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::daemon::{Daemon, serve, siteconf};

/// What the service says that does not start on this folder.
#[track_caller]
fn refusal(data: &Path) -> String {
    let mut process = serve(data).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(process.stdout.take().unwrap()).lines();
    if let Some(line) = said.next() {
        process.kill().unwrap();
        process.wait().unwrap();
        panic!("it started: {line:?}");
    }
    let output = process.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    String::from_utf8(output.stderr).unwrap()
}

/// What a check finds.
fn findings(data: &Path) -> Value {
    let check = ["debug", "check", "--json"];
    let output = siteconf(data).args(check).output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let found = report["findings"].clone();
    assert_eq!(output.status.success(), found == json!([]), "{output:?}");
    found
}

/// Starts the service and ends it.
fn restart(daemon: &mut Daemon) {
    daemon.kill_and_restart();
    daemon.kill();
}

fn told(fault: &str) -> String {
    format!(
        "siteconf: {fault}: with another key, tokens that are bound to an instance would be refused. \
         Restore the file from a backup; where it is lost for good, start once with \
         --new-server-key, and reset the instance of those tokens\n"
    )
}

#[test]
fn a_lost_or_another_server_key_is_refused_until_it_is_restored_or_given_up() {
    let mut daemon = Daemon::start();
    daemon.kill();
    let data = daemon.data();
    let file = data.join("secrets/server-key");
    assert_eq!(findings(&data), json!([]));
    let key = fs::read(&file).unwrap();

    let missing = format!(
        "{} is missing, and the store has been in use",
        file.display()
    );
    let another = format!("{} is not the key of this store", file.display());
    fs::remove_file(&file).unwrap();
    assert_eq!(refusal(&data), told(&missing));
    assert!(!file.exists());
    assert_eq!(findings(&data), json!([missing]));
    fs::write(&file, "0".repeat(64)).unwrap();
    assert_eq!(refusal(&data), told(&another));
    assert_eq!(findings(&data), json!([another]));
    fs::write(&file, "damaged").unwrap();
    let damaged = format!("{} is damaged", file.display());
    assert_eq!(refusal(&data), told(&damaged));
    assert_eq!(findings(&data), json!([damaged]));
    fs::write(&file, &key).unwrap();
    restart(&mut daemon);
    assert_eq!(findings(&data), json!([]));

    // A store that knows no key yet, as one of before it was kept.
    let forget = || {
        let db = Connection::open(data.join("store.db")).unwrap();
        let forgotten = db.execute("DELETE FROM record WHERE key = 'server-key'", []);
        assert_eq!(forgotten.unwrap(), 1);
    };
    forget();
    fs::remove_file(&file).unwrap();
    assert_eq!(refusal(&data), told(&missing));
    assert_eq!(findings(&data), json!([missing]));
    fs::write(&file, &key).unwrap();
    restart(&mut daemon);
    // It is known again from that start on.
    forget();
    restart(&mut daemon);

    for rest in [None, Some(""), Some("junk"), Some("\u{e4}")] {
        match rest {
            None => fs::remove_file(&file).unwrap(),
            Some(rest) => fs::write(&file, rest).unwrap(),
        }
        daemon.kill_and_restart_with(&["--new-server-key"]);
        daemon.kill();
        assert_ne!(fs::read(&file).unwrap(), key, "{rest:?}");
        assert_eq!(findings(&data), json!([]), "{rest:?}");
        restart(&mut daemon);
    }
    fs::write(&file, &key).unwrap();
    assert_eq!(refusal(&data), told(&another));
}

/// Backs up, and gives the exit code and what was said on standard error.
#[track_caller]
fn back_up(data: &Path, target: &Path) -> (Option<i32>, String) {
    let output = siteconf(data).arg("backup").arg(target).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    (output.status.code(), said)
}

/// The server key that comes out of a backup.
#[track_caller]
fn restored_key(backup: &Path) -> Option<Vec<u8>> {
    let room = tempfile::tempdir().unwrap();
    let new = room.path().join("new");
    let restored = siteconf(&new).arg("restore").arg(backup).output().unwrap();
    assert!(restored.status.success(), "{restored:?}");
    fs::read(new.join("secrets/server-key")).ok()
}

#[test]
fn a_backup_tells_of_a_lost_key_and_keeps_the_one_that_it_has() {
    let mut daemon = Daemon::start();
    daemon.kill();
    let data = daemon.data();
    let room = tempfile::tempdir().unwrap();
    let file = data.join("secrets/server-key");
    let key = fs::read(&file).unwrap();
    let faults = [
        (None, "is missing, and the store has been in use"),
        (Some(String::new()), "is damaged"),
        (Some("junk".to_owned()), "is damaged"),
        (Some("0".repeat(64)), "is not the key of this store"),
    ];
    let told = |fault: &str, kept: &str| {
        let said = format!(
            "siteconf: {} {fault}: {kept}\n\
             siteconf: the store is damaged: 1 things are not in the backup as they should be; see \
             \"siteconf debug check --deep\"\n",
            file.display()
        );
        (Some(1), said)
    };
    for name in ["backup", "backup.tar"] {
        let target = room.path().join(name);
        assert_eq!(back_up(&data, &target), (Some(0), String::new()));
        for (number, (content, fault)) in faults.iter().enumerate() {
            match content {
                None => fs::remove_file(&file).unwrap(),
                Some(content) => fs::write(&file, content).unwrap(),
            }
            fs::remove_file(data.join("last-backup")).unwrap();
            let kept = "the one in the backup there stays, from which it can be restored";
            assert_eq!(back_up(&data, &target), told(fault, kept), "{name}");
            assert_eq!(
                restored_key(&target).as_ref(),
                Some(&key),
                "{name}: {fault}"
            );
            let fresh = room.path().join(format!("{number} {name}"));
            assert_eq!(back_up(&data, &fresh), told(fault, "the backup has none"));
            assert_eq!(restored_key(&fresh), None, "{name}: {fault}");
            assert!(!data.join("last-backup").exists());
            // The folder without a key takes it when it is there again.
            fs::write(&file, &key).unwrap();
            for target in [&target, &fresh] {
                assert_eq!(back_up(&data, target), (Some(0), String::new()));
                assert_eq!(restored_key(target).as_ref(), Some(&key), "{name}: {fault}");
            }
        }
    }
    // One that is given up: what is there has another.
    fs::write(&file, "").unwrap();
    daemon.kill_and_restart_with(&["--new-server-key"]);
    daemon.kill();
    let refused = "siteconf: the backup there has another server key than this store: it is of another store, \
                   or of the time before --new-server-key; name another place\n";
    let targets = ["backup", "backup.tar"].map(|name| room.path().join(name));
    let assert_refused = || {
        for target in &targets {
            assert_eq!(back_up(&data, target), (Some(1), refused.to_owned()));
            assert_eq!(restored_key(target).as_ref(), Some(&key));
        }
    };
    assert_refused();
    // Also where the new one is lost in turn.
    fs::remove_file(&file).unwrap();
    assert_refused();
}
