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
    let damaged = format!("{} is damaged; restore it from a backup", file.display());
    assert_eq!(refusal(&data), format!("siteconf: {damaged}\n"));
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

    fs::remove_file(&file).unwrap();
    daemon.kill_and_restart_with(&["--new-server-key"]);
    daemon.kill();
    assert_ne!(fs::read(&file).unwrap(), key);
    assert_eq!(findings(&data), json!([]));
    restart(&mut daemon);
    fs::write(&file, &key).unwrap();
    assert_eq!(refusal(&data), told(&another));
}
