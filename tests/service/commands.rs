//! The commands of every day, beside a running service: what they change, a client sees at once.

use std::fs;
use std::io::Write;
use std::process::{Child, Command, Output, Stdio};

use serde_json::{Value, json};

use crate::client::{Client, segment};
use crate::daemon::{Daemon, PROJECT, read, siteconf, tested};

/// Runs a command that must succeed and say nothing but its result.
#[track_caller]
fn done(daemon: &Daemon, words: &[&str]) -> String {
    output(daemon.command(words).output().unwrap())
}

#[track_caller]
fn output(output: Output) -> String {
    assert!(output.status.success(), "{output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    String::from_utf8(output.stdout).unwrap()
}

/// Starts to save a file with what is written to the command.
fn start_put(daemon: &Daemon, path: &str) -> Child {
    daemon
        .command(&["put", PROJECT, "main", path, "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Saves a file with these bytes.
#[track_caller]
fn put(daemon: &Daemon, path: &str, bytes: &[u8]) -> String {
    let mut process = start_put(daemon, path);
    process.stdin.take().unwrap().write_all(bytes).unwrap();
    output(process.wait_with_output().unwrap())
}

fn raw(client: &mut Client, path: &str) -> (u16, Vec<u8>) {
    let answer = client.get(&read(&format!("/files/{}/raw?ref=main", segment(path))));
    (answer.status, answer.body)
}

#[test]
fn what_a_command_changes_a_client_sees_at_once() {
    let daemon = Daemon::start();
    let mut admin = daemon.admin();
    done(&daemon, &["project", "create", PROJECT, "--owner", "admin"]);
    done(&daemon, &["branch", "create", PROJECT, "main"]);
    let mut client = daemon.reader(&mut admin);
    assert_eq!(raw(&mut client, "a.xml").0, 404);
    put(&daemon, "a.xml", b"one");
    assert_eq!(raw(&mut client, "a.xml"), (200, b"one".to_vec()));
    put(&daemon, "a.xml", b"two");
    assert_eq!(raw(&mut client, "a.xml"), (200, b"two".to_vec()));
    done(&daemon, &["rollback", PROJECT, "main", "v2"]);
    assert_eq!(raw(&mut client, "a.xml"), (200, b"one".to_vec()));
    // What a client saves, a command sees.
    let saved = admin.attempt("PUT", &crate::daemon::file("b.xml"), "", b"client");
    assert_eq!(saved.unwrap().status, 201);
    assert_eq!(done(&daemon, &["ls", PROJECT]), "a.xml\nb.xml\n");
    assert_eq!(done(&daemon, &["cat", PROJECT, "main", "b.xml"]), "client");
    done(&daemon, &["rm", PROJECT, "main", "a.xml"]);
    assert_eq!(raw(&mut client, "a.xml").0, 404);
    let history: Value =
        serde_json::from_str(&done(&daemon, &["history", PROJECT, "main", "--json"])).unwrap();
    let done_by: Vec<_> = history
        .as_array()
        .unwrap()
        .iter()
        .map(|state| &state["operation"])
        .collect();
    assert_eq!(
        json!(done_by),
        json!(["delete", "save", "rollback", "save", "save", null])
    );
}

#[test]
fn a_file_is_not_saved_where_the_project_loses_its_name_while_it_is_read() {
    const OLD: &str = "acme/old.erp";
    let daemon = Daemon::start();
    let make = || {
        done(&daemon, &["project", "create", PROJECT, "--owner", "admin"]);
        done(&daemon, &["branch", "create", PROJECT, "main"]);
    };
    make();
    // More than a pipe holds: once it is written, the command has opened the project.
    let body = vec![b'x'; 1 << 20];
    for is_taken in [false, true] {
        let mut process = start_put(&daemon, "a.xml");
        let mut input = process.stdin.take().unwrap();
        input.write_all(&body).unwrap();
        done(&daemon, &["project", "rename", PROJECT, OLD]);
        if is_taken {
            make();
        }
        drop(input);
        let refused = process.wait_with_output().unwrap();
        assert_eq!(refused.status.code(), Some(1), "{refused:?}");
        assert_eq!(
            String::from_utf8_lossy(&refused.stderr),
            "siteconf: project acme/shop.erp was renamed or deleted meanwhile; nothing was saved\n"
        );
        assert_eq!(done(&daemon, &["ls", OLD]), "");
        if is_taken {
            assert_eq!(done(&daemon, &["ls", PROJECT]), "");
        } else {
            done(&daemon, &["project", "rename", OLD, PROJECT]);
        }
    }
}

#[test]
fn a_project_that_is_renamed_keeps_its_tokens_and_its_history() {
    let daemon = Daemon::start();
    let mut admin = daemon.admin();
    Daemon::make_project(&mut admin);
    let mut client = daemon.reader(&mut admin);
    put(&daemon, "a.xml", b"one");
    let id: Value =
        serde_json::from_str(&done(&daemon, &["project", "show", PROJECT, "--json"])).unwrap();
    done(&daemon, &["project", "rename", PROJECT, "acme/store.erp"]);
    // What a token does not list it does not learn about: whether anybody has the name that was left.
    assert_eq!(raw(&mut client, "a.xml").0, 403);
    let under = |id: &str| {
        let path = read("/files/a.xml/raw?ref=main");
        path.replace(&segment(PROJECT), &segment(id))
    };
    for name in ["acme/store.erp", &id["id"].to_string()] {
        let answer = client.get(&under(name));
        assert_eq!(
            (answer.status, &answer.body[..]),
            (200, &b"one"[..]),
            "{name}"
        );
    }
    assert_eq!(
        done(&daemon, &["cat", "acme/store.erp", "main", "a.xml"]),
        "one"
    );
    // The name that was left is free, and what is made under it is another project.
    done(&daemon, &["project", "create", PROJECT, "--owner", "admin"]);
    assert_eq!(raw(&mut client, "a.xml").0, 403);
    let taken = daemon
        .command(&["project", "rename", "acme/store.erp", PROJECT])
        .output()
        .unwrap();
    assert_eq!(
        (
            taken.status.code(),
            String::from_utf8_lossy(&taken.stderr).as_ref()
        ),
        (
            Some(1),
            "siteconf: there is a project acme/shop.erp already; rename that one first, or take another \
             name\n"
        )
    );

    // A token reads what its owner may read.
    done(&daemon, &["user", "add", "ann"]);
    done(&daemon, &["project", "transfer", "acme/store.erp", "ann"]);
    let shown: Value = serde_json::from_str(&done(
        &daemon,
        &["project", "show", "acme/store.erp", "--json"],
    ))
    .unwrap();
    assert_eq!(shown["owner"], "ann");
    assert_eq!(client.get(&under("acme/store.erp")).status, 200);
}

#[test]
fn the_status_tells_of_a_service_of_another_build() {
    let daemon = Daemon::start();
    let text = done(&daemon, &["status"]);
    assert!(!text.contains("another build"), "{text}");
    // As one of another build has it.
    let lock = daemon.data().join("LOCK");
    let own = fs::read_to_string(&lock).unwrap();
    let (first, rest) = own.split_once('\n').unwrap();
    assert_eq!(first, format!("version {}", tested::build()));
    fs::write(&lock, format!("version 0.0.9\n{rest}")).unwrap();
    let text = done(&daemon, &["status"]);
    let told = ", version 0.0.9: another build than this command\nchanges ";
    assert!(text.contains(told), "{text}");
}

#[test]
fn the_status_tells_whether_the_service_runs_and_what_is_damaged() {
    let mut daemon = Daemon::start();
    Daemon::make_project(&mut daemon.admin());
    put(&daemon, "large", &vec![7; 700_000]);
    let status = |daemon: &Daemon| {
        let ran = daemon.command(&["status", "--json", "--weigh"]).output();
        let ran = ran.unwrap();
        let shown: Value = serde_json::from_slice(&ran.stdout).unwrap();
        (ran.status.code(), shown)
    };
    let (code, mut shown) = status(&daemon);
    assert_eq!(code, Some(0), "{shown}");
    assert!(shown["service"]["pid"].take().is_u64(), "{shown}");
    for size in ["database", "unused", "log", "objects"] {
        assert!(shown["bytes"][size].take().is_u64(), "{size}: {shown}");
    }
    assert!(shown["free_bytes"].take().is_u64(), "{shown}");
    assert!(shown["weights"].take()["live"]["bytes"].as_u64().unwrap() > 700_000);
    assert_eq!(
        shown,
        json!({
            "data": daemon.data().display().to_string(), "version": tested::build(),
            "format": "3", "schema": null,
            "service": { "running": true, "pid": null, "version": tested::build() },
            "daemons": null, "standby": null, "page_checksums": null,
            "projects": 1, "branches": 1, "accounts": 1, "tokens": 0,
            "bytes": {
                "database": null, "unused": null, "log": null, "objects": null, "files": 700_000,
            },
            "free_bytes": null, "last_backup": null, "last_collection": null, "weights": null,
            "writes_refused": null, "findings": [],
        })
    );
    let text = done(&daemon, &["status"]);
    assert!(
        text.contains("service          running, process id "),
        "{text}"
    );
    assert!(text.contains("\nchanges          accepted\n"), "{text}");

    daemon.stop();
    let (code, shown) = status(&daemon);
    assert_eq!(
        (code, &shown["service"]),
        (
            Some(0),
            &json!({ "running": false, "pid": null, "version": null })
        )
    );

    let stopped = daemon.data().join("STOPPED");
    for (text, told) in [
        (
            "no room: a commit failed\n",
            "there is room on the disk: a commit failed",
        ),
        (
            "",
            "there is room on the disk: there was none even to note why",
        ),
        (
            "busy: a commit failed\n",
            "others that use the store have ended: a commit failed",
        ),
    ] {
        fs::write(&stopped, text).unwrap();
        let (_, shown) = status(&daemon);
        let findings = shown["findings"].to_string();
        let told = format!("changes are refused until {told}");
        assert!(findings.contains(&told), "{told}: {findings}");
    }
    fs::write(&stopped, "a commit failed: disk I/O error\n").unwrap();
    fs::remove_file(daemon.data().join("secrets/server-key")).unwrap();
    let (code, shown) = status(&daemon);
    let findings = shown["findings"].to_string();
    assert_eq!(code, Some(1), "{findings}");
    for finding in [
        "changes are refused until the service is restarted: a commit failed: disk I/O error",
        "is missing, and the store has been in use",
    ] {
        assert!(findings.contains(finding), "{finding}: {findings}");
    }
    let database = daemon.data().join("store.db");
    let mut bytes = fs::read(&database).unwrap();
    bytes[..16].fill(0);
    fs::write(&database, bytes).unwrap();
    let (code, shown) = status(&daemon);
    assert_eq!(code, Some(1));
    assert_eq!(
        [&shown["projects"], &shown["writes_refused"]],
        [&Value::Null, &json!("a commit failed: disk I/O error")]
    );
    let findings = shown["findings"].to_string();
    for finding in [
        "changes are refused until the service is restarted: a commit failed: disk I/O error",
        "projects cannot be told: database: file is not a database",
    ] {
        assert!(findings.contains(finding), "{finding}: {findings}");
    }
}

#[test]
fn a_store_is_made_without_serving_it_and_once() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let init_with = |flags: &[&str]| {
        let mut init: Command = siteconf(&data);
        init.arg("init").args(flags);
        init.stdin(Stdio::null()).output().unwrap()
    };
    let init = || init_with(&[]);
    let said = output(init_with(&["--if-absent"]));
    let password = data.join("secrets/initial-password");
    assert!(said.contains(&password.display().to_string()), "{said}");
    assert!(!said.contains(fs::read_to_string(&password).unwrap().trim()));
    let again = init();
    assert_eq!(
        (
            again.status.code(),
            String::from_utf8_lossy(&again.stderr).into_owned()
        ),
        (
            Some(1),
            format!(
                "siteconf: {0}: there is a store here already; \"siteconf status --data {0}\" shows it\n",
                data.display()
            )
        )
    );
    let kept = fs::read(&password).unwrap();
    assert_eq!(output(init_with(&["--if-absent"])), "");
    assert_eq!(fs::read(&password).unwrap(), kept);
    // Another folder's content is left alone.
    let other = folder.path().join("other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("x"), "").unwrap();
    let refused = siteconf(&other).arg("init").output().unwrap();
    assert_eq!(refused.status.code(), Some(1));
    assert_eq!(fs::read_dir(&other).unwrap().count(), 1);

    let daemon = Daemon::start_on(folder);
    daemon.admin();
}
