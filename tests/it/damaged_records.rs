//! Records that were damaged on the disk: an error that the log names, or computed again; never told.

use serde_json::Value;

use crate::harness::{Daemon, Project, READ};

/// Changes records behind the back of a daemon that does not run.
fn damage(daemon: &Daemon, change: &str) -> usize {
    let db = rusqlite::Connection::open(daemon.data().join("store.db")).unwrap();
    db.execute(change, []).unwrap()
}

/// What the branch `main` is at, as a client reads it.
fn commit_of_main(daemon: &Daemon, project: &Project) -> Value {
    let reader = daemon.reader(&project.seen_by(&daemon.session("admin")));
    let path = format!("{READ}/projects/acme%2Fshop.erp/repository/branches/main");
    let answer = reader.get(&path);
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()["commit"]["id"].clone()
}

/// The findings of `debug check`.
fn findings(daemon: &Daemon, deep: bool) -> Vec<String> {
    let flags = if deep { &["--deep"][..] } else { &[] };
    let output = daemon.command(&[&["debug", "check", "--json"], flags].concat(), "");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let findings = report["findings"].as_array().unwrap().iter();
    findings
        .map(|text| text.as_str().unwrap().to_owned())
        .collect()
}

/// Puts another digest in the place of the first that is kept. Gives the key of its record.
fn swap_first_digest(daemon: &Daemon) -> String {
    let wrong = format!("{{\"sha256\":\"{}\"}}", "0".repeat(64));
    #[cfg(feature = "fleet")]
    if let Some(database) = daemon.database() {
        let changed = database.ask(&format!(
            "UPDATE siteconf.record SET value = '{wrong}' WHERE version =
                 (SELECT min(version) FROM siteconf.record WHERE key >= 'digest/' AND key < 'digest0')
             RETURNING convert_from(key, 'UTF8')"
        ));
        return changed.first().unwrap().clone();
    }
    let db = rusqlite::Connection::open(daemon.data().join("store.db")).unwrap();
    let (key, version): (String, u64) = db
        .query_one(
            "SELECT key, version FROM record WHERE key LIKE 'digest/%' ORDER BY version LIMIT 1",
            [],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .unwrap();
    let checksum = siteconf::base::digest::record_checksum(&key, version, wrong.as_bytes());
    let changed = db.execute(
        "UPDATE record SET value = ?2, checksum = ?3 WHERE key = ?1",
        rusqlite::params![key, wrong.as_bytes(), checksum],
    );
    assert_eq!(changed.unwrap(), 1);
    key
}

#[test]
fn a_damaged_digest_is_computed_again_and_healed() {
    let mut daemon = Daemon::start();
    let project = Project::with_main(&daemon.session("admin"), "acme/shop");
    project.save("main", "a.xml", "<a/>");
    let right = commit_of_main(&daemon, &project);
    daemon.stop();
    // Damaged as a disk does it, then as software might, with a checksum that fits.
    for (change, deep, found) in [
        (
            "UPDATE record SET value = CAST(replace(value, '\"sha256\":\"', '\"sha256\":\"0') AS BLOB)
             WHERE key = 'digest/' || (SELECT json_extract(CAST(value AS TEXT), '$.manifest')
                                       FROM record WHERE key LIKE 'branch/%')",
            false,
            1,
        ),
        (
            "UPDATE record SET checksum = NULL WHERE key LIKE 'commit/%'
             AND json_extract(CAST(value AS TEXT), '$.manifest') =
                 (SELECT json_extract(CAST(value AS TEXT), '$.manifest')
                  FROM record WHERE key LIKE 'branch/%')",
            false,
            1,
        ),
    ] {
        assert!(damage(&daemon, change) > 0, "{change}");
        let told = findings(&daemon, deep);
        assert_eq!(told.len(), found, "{told:?}");
        assert!(
            told[0].ends_with("its checksum is that of another value"),
            "{told:?}"
        );
        daemon.restart();
        assert_eq!(commit_of_main(&daemon, &project), right, "{change}");
        daemon.stop();
        assert_eq!(findings(&daemon, true), [""; 0], "{change}");
    }
}

#[test]
fn a_digest_of_another_state_is_found_by_a_deep_check() {
    let mut daemon = Daemon::start();
    let project = Project::with_main(&daemon.session("admin"), "acme/shop");
    for text in ["<a/>", "<b/>"] {
        project.save("main", "a.xml", text);
        commit_of_main(&daemon, &project);
    }
    daemon.stop();
    let key = swap_first_digest(&daemon);
    assert_eq!(findings(&daemon, false), [""; 0]);
    let told = findings(&daemon, true);
    assert_eq!(told.len(), 1, "{told:?}");
    let begins = format!("record \"{key}\" is damaged: the digest of manifest ");
    assert!(told[0].starts_with(&begins), "{told:?}");
}

#[test]
fn a_damaged_record_is_an_error_that_the_log_names() {
    let mut daemon = Daemon::start();
    let admin = daemon.session("admin");
    let project = Project::with_main(&admin, "acme/shop");
    project.save("main", "a.xml", "<a/>");
    daemon.stop();
    let flipped = "UPDATE record SET value = CAST(replace(value, '\"snapshots\":1', '\"snapshots\":0') AS BLOB)
                   WHERE key LIKE 'branch/%'";
    assert_eq!(damage(&daemon, flipped), 1);
    daemon.restart();
    let admin = daemon.session("admin");
    let answer = admin.get(&project.file("main", "a.xml"));
    assert_eq!(answer.status, 500);
    assert_eq!(
        answer.json(),
        serde_json::json!({ "message": "internal error; see the log under X-Request-Id" })
    );
    let told = daemon.logged("branch/00000001/00000001");
    assert_eq!(
        told["error"],
        "record \"branch/00000001/00000001\" is damaged: its checksum is that of another value"
    );
}
