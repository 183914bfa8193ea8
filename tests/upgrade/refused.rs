//! What is refused, with the whole message: writing in an older folder, an upgrade beside a service, and a
//! folder of a later version.

use std::fs::{self, File};
use std::io::Write;

use crate::fixture::{FORMATS, Fixture};

#[test]
fn what_writes_refuses_an_older_folder_and_names_the_command() {
    for format in FORMATS {
        let fixture = Fixture::of(format);
        let siteconf = fixture.siteconf();
        let before = fixture.bytes();
        let data = fixture.data();
        let message = format!(
            "siteconf: {0}: the folder has format {format}, and this version writes format 3; make a \
             backup, then run \"siteconf upgrade --data {0}\"\n",
            data.display()
        );
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().to_str().unwrap();
        for command in [
            &["--log", "error", "serve", "--listen", "127.0.0.1:0"][..],
            &["user", "add", "ivan"],
            &["user", "disable", "eva"],
            &["token", "revoke", "1"],
            &["token", "create", "--user", "eva", "--name", "x", "--all"],
            &["project", "create", "acme/new.erp", "--owner", "eva"],
            &["branch", "delete", "acme/shop.erp", "main"],
            &["put", "acme/shop.erp", "main", "a.xml", "/dev/null"],
            &["rm", "acme/shop.erp", "main", "config/prices.xml"],
            &["rollback", "acme/shop.erp", "main", "v0002"],
            &["import", "acme/shop.erp", "main", folder],
            &["migrate-tree", folder],
            &["prune"],
            &["gc"],
        ] {
            assert_eq!(
                siteconf.refused(command),
                (1, message.clone()),
                "{command:?}"
            );
        }
        assert!(fixture.bytes() == before);
    }
}

#[test]
fn what_reads_reads_an_older_folder_and_status_says_what_to_do() {
    for format in FORMATS {
        let fixture = Fixture::of(format);
        let siteconf = fixture.siteconf();
        let prices = ["cat", "acme/shop.erp", "main@v0002", "config/prices.xml"];
        assert_eq!(siteconf.done(&prices), "<prices currency=\"EUR\"/>\n");
        for command in [
            &["ls", "acme/shop.erp", "main", "-l", "-r"][..],
            &["history", "acme/shop.erp", "main"],
            &["diff", "acme/shop.erp", "main@v0002"],
            &["user", "show", "eva"],
            &["audit"],
            &["debug", "stats"],
            &["debug", "check", "--deep"],
            &["prune", "--dry-run", "--keep-snapshots", "1"],
            &["gc", "--dry-run"],
        ] {
            let output = siteconf.run(command);
            assert!(output.status.success(), "{command:?}: {output:?}");
            assert!(
                !output.stdout.is_empty() || command[0] == "audit",
                "{command:?}"
            );
        }
        let output = siteconf.run(&["status", "--json"]);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let status: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(status["format"], format.to_string());
        assert_eq!(status["projects"], 2);
        let data = fixture.data();
        let advice = format!(
            "the folder has format {format}, and this version writes format 3; make a backup, then \
             run \"siteconf upgrade --data {}\"",
            data.display()
        );
        assert_eq!(status["writes_refused"], advice);
        assert_eq!(status["findings"], serde_json::json!([advice]));
    }
}

#[test]
fn an_upgrade_waits_for_no_service() {
    let fixture = Fixture::of(1);
    let siteconf = fixture.siteconf();
    // As the service of then holds it.
    let mut lock = File::create(fixture.data().join("LOCK")).unwrap();
    lock.lock().unwrap();
    writeln!(lock, "siteconf with process id {}", std::process::id()).unwrap();
    let before = fixture.bytes();
    let output = siteconf.run(&["upgrade"]);
    let shown = String::from_utf8(output.stdout).unwrap();
    assert!(
        shown.ends_with("\nto do first      stop the service that runs on it\n"),
        "{shown}"
    );
    assert_eq!(
        String::from_utf8(output.stderr).unwrap(),
        format!(
            "siteconf: {} is in use by siteconf with process id {}; stop the service, then run the \
             upgrade again\n",
            fixture.data().display(),
            std::process::id()
        )
    );
    assert_eq!(output.status.code(), Some(1));
    let mut after = fixture.bytes();
    // A look at the database beside a service leaves its empty log.
    for name in ["store.db-wal", "store.db-shm"] {
        let left = after.remove(&fixture.data().join(name)).unwrap_or_default();
        assert!(name == "store.db-shm" || left.is_empty());
    }
    assert!(after == before);
    // Not by closing it: a process that another test is starting may have a copy for a moment.
    lock.unlock().unwrap();
    siteconf.done(&["upgrade"]);
}

#[test]
fn a_folder_of_a_later_version_is_refused_with_what_to_do() {
    let fixture = Fixture::of(2);
    let siteconf = fixture.siteconf();
    fs::write(fixture.data().join("FORMAT"), "siteconf 4\n").unwrap();
    let before = fixture.bytes();
    let message = format!(
        "siteconf: {}: the folder has format 4, and this version knows none after 3; use the version that \
         wrote it or a later one, or restore a backup of before its upgrade\n",
        fixture.data().display()
    );
    for command in [
        &["--log", "error", "serve", "--listen", "127.0.0.1:0"][..],
        &["init"],
        &["status"],
        &["project", "list"],
        &["gc"],
        &["backup", "/dev/null"],
        &["upgrade"],
        &["upgrade", "--dry-run", "--json"],
    ] {
        assert_eq!(
            siteconf.refused(command),
            (1, message.clone()),
            "{command:?}"
        );
    }
    assert!(fixture.bytes() == before);
}
