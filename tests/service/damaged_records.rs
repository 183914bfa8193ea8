//! `debug` on records that are damaged: what is below them is read and checked all the same.

use std::process::Output;

use serde_json::Value;

use crate::daemon::{Daemon, PROJECT, file, siteconf};
use crate::damage::{SAVES, Store};

#[test]
fn a_damaged_record_is_named_and_all_others_are_read() {
    let store = Store::new();
    store.sql("UPDATE record SET value = x'7b' WHERE key = 'snapshot/00000001/00000002'");
    let named = "record \"snapshot/00000001/00000002\" is damaged: ";
    let findings = store.check(false).findings;
    assert_eq!(findings.len(), 2, "{findings:?}");
    assert_eq!(
        findings[0],
        format!(
            "branch 1: its snapshots are not all up to the {} it counts",
            SAVES + 1
        )
    );
    assert!(findings[1].starts_with(named), "{findings:?}");

    let output = store.debug(&["history", &format!("{PROJECT}:main"), "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let history: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(history.as_array().unwrap().len() as u64, SAVES);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.starts_with(&format!("siteconf: {named}")), "{said}");
}

#[test]
fn a_damaged_record_hides_nothing_of_what_is_below_it() {
    let whole = Store::new();
    let damage = "UPDATE record SET value = x'7b' WHERE key = ";
    let told = |output: &Output| {
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let rows: Value = serde_json::from_slice(&output.stdout).unwrap();
        let said = String::from_utf8(output.stderr.clone()).unwrap();
        (rows, said)
    };
    let history = format!("{PROJECT}:main");
    for (record, revision) in [
        ("project/00000001", "main"),
        ("branch/00000001/00000001", "main@v0002"),
    ] {
        let store = whole.copy();
        let lost = store.lose(&store.root(revision));
        store.sql(&format!("{damage}'{record}'"));
        let named = format!("record \"{record}\" is damaged: ");
        for deep in [false, true] {
            let findings = store.check(deep).findings;
            assert!(findings.contains(&lost), "{record}: {findings:?}");
            let mut all = findings.iter();
            assert!(all.any(|found| found.starts_with(&named)), "{findings:?}");
        }
        let (rows, said) = told(&store.debug(&["history", &history, "--json"]));
        assert_eq!(rows.as_array().unwrap().len() as u64, SAVES + 1);
        assert!(said.starts_with(&format!("siteconf: {named}")), "{said}");
        let (refs, _) = told(&store.debug(&["refs", "--json"]));
        assert_eq!(refs[0]["repo_id"], PROJECT);
        if record.starts_with("project/") {
            assert_eq!(refs[0]["branch"], "main");
        }

        // Without its names, too.
        store.sql("DELETE FROM record WHERE key = 'project-id/acme/shop.erp'");
        store.sql("DELETE FROM record WHERE key = 'branch-name/00000001/main'");
        let findings = store.check(false).findings;
        assert!(findings.contains(&lost), "{record}: {findings:?}");
        let output = store.debug(&["history", &history]);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.starts_with(&format!("siteconf: {named}")), "{said}");
        let end = "no record that can be read tells of a branch main in acme/shop.erp; it may be among what \
                   is damaged\n";
        assert!(said.ends_with(end), "{said}");
        let (refs, _) = told(&store.debug(&["refs", "--json"]));
        if record.starts_with("project/") {
            assert_eq!(refs[0]["repo_id"], "project 1");
        }
    }
}

/// A save of the bytes that are there takes a snapshot, and is not what last changed the branch.
#[test]
fn a_state_that_only_the_last_change_names_is_checked() {
    let daemon = Daemon::start();
    let mut admin = daemon.admin();
    Daemon::make_project(&mut admin);
    for body in [b"A", b"B", b"B"] {
        let saved = admin.attempt("PUT", &file("a"), "application/octet-stream", body);
        assert!([200, 201].contains(&saved.unwrap().status));
    }
    let store = Store::left_by(daemon);
    let root = store.root("main@v0002");
    let prune = ["prune", "--keep-snapshots", "1"];
    let pruned = siteconf(&store.data()).args(prune).output().unwrap();
    assert!(pruned.status.success(), "{pruned:?}");
    let sound = store.check(true);
    assert_eq!(sound.findings, [""; 0]);
    let stats = store.debug(&["stats", "--json"]);
    let stats: Value = serde_json::from_slice(&stats.stdout).unwrap();
    assert_eq!(stats["snapshots"], 1);
    let lost = store.lose(&root);
    assert_eq!(store.check(false).findings, [lost]);
    // The head, the snapshot of the same state, and the state before.
    assert_eq!(sound.states, 3);
}

/// Else the next branch would have the snapshots of another.
#[test]
fn a_counter_that_is_lost_is_told() {
    let whole = Store::new();
    for (counter, of) in [
        ("counter/account", "account/"),
        ("counter/project", ""),
        ("counter/branch", ""),
    ] {
        let store = whole.copy();
        store.sql(&format!("DELETE FROM record WHERE key = '{counter}'"));
        let findings = store.check(false).findings;
        assert_eq!(findings.len(), 1, "{findings:?}");
        let begins = format!("record \"{counter}\" says 0, and record \"{of}");
        let ends = "numbers would be given twice, so let nobody make anything in this store, and \
                    restore an earlier backup";
        assert!(findings[0].starts_with(&begins), "{findings:?}");
        assert!(findings[0].ends_with(ends), "{findings:?}");
    }
}
