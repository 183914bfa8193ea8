//! `debug` on damaged stores: every fault is named, hides no other, and nothing is written.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Output;

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::daemon::{Daemon, PROJECT, file, siteconf};
use crate::planted::plant;

const FILES: u64 = 400;
/// After the import: enough for several pages of records.
pub(crate) const SAVES: u64 = 150;
const PAGE_BYTES: usize = 4096;

/// A store with some states of some hundred files, large ones among them, and no daemon.
pub(crate) struct Store {
    pub(crate) folder: tempfile::TempDir,
}

impl Store {
    pub(crate) fn new() -> Self {
        let daemon = Daemon::start();
        let mut admin = daemon.admin();
        Daemon::make_project(&mut admin);
        let tree = tempfile::tempdir().unwrap();
        plant(tree.path(), FILES);
        for large in ["large", "larger"] {
            fs::write(tree.path().join(large), large.repeat(20_000)).unwrap();
        }
        daemon.import(tree.path());
        for number in 0..SAVES {
            let target = file(&format!("later/{number}"));
            let saved = admin.attempt("PUT", &target, "application/octet-stream", b"later");
            assert_eq!(saved.unwrap().status, 201);
        }
        Self::left_by(daemon)
    }

    /// The store of a daemon that is killed.
    pub(crate) fn left_by(mut daemon: Daemon) -> Self {
        daemon.kill();
        let folder = tempfile::tempdir().unwrap();
        fs::rename(daemon.data(), folder.path().join("data")).unwrap();
        let store = Self { folder };
        store
            .db()
            .execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")
            .unwrap();
        store
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn db(&self) -> Connection {
        Connection::open(self.data().join("store.db")).unwrap()
    }

    /// The same store once more.
    pub(crate) fn copy(&self) -> Self {
        let folder = tempfile::tempdir().unwrap();
        copy(&self.data(), &folder.path().join("data"));
        Self { folder }
    }

    pub(crate) fn sql(&self, change: &str) {
        assert_eq!(self.db().execute(change, []).unwrap(), 1, "{change}");
    }

    pub(crate) fn debug(&self, words: &[&str]) -> Output {
        let output = siteconf(&self.data()).arg("debug").args(words).output();
        output.unwrap()
    }

    /// The root node of a revision of the branch.
    pub(crate) fn root(&self, revision: &str) -> String {
        let target = format!("{PROJECT}:{revision}");
        let tree = self.debug(&["manifest", &target, "--json"]);
        let tree: Value = serde_json::from_slice(&tree.stdout).unwrap();
        tree["nodes"][0]["node"].as_str().unwrap().to_owned()
    }

    /// Loses an object; gives what is to be said of it.
    pub(crate) fn lose(&self, id: &str) -> String {
        self.sql(&format!("DELETE FROM object WHERE id = x'{id}'"));
        let index = format!("DELETE FROM object_index WHERE id = x'{id}'");
        self.db().execute(&index, []).unwrap();
        format!("object {id} is missing")
    }

    /// What a check finds; whatever that is, it says so by its exit code.
    #[track_caller]
    pub(crate) fn check(&self, deep: bool) -> Report {
        let flags = if deep { &["--deep"][..] } else { &[] };
        let output = self.debug(&[&["check", "--json"], flags].concat());
        let report: Value =
            serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {output:?}"));
        let texts = |field: &str| -> Vec<String> {
            let texts = report[field].as_array().unwrap().iter();
            texts
                .map(|text| text.as_str().unwrap().to_owned())
                .collect()
        };
        let (findings, remarks) = (texts("findings"), texts("remarks"));
        let code = i32::from(!findings.is_empty());
        assert_eq!(output.status.code(), Some(code), "{output:?}");
        Report {
            objects: report["objects"].as_u64().unwrap(),
            states: report["states"].as_u64().unwrap(),
            findings,
            remarks,
        }
    }

    /// The id of a blob that satisfies this.
    fn blob(&self, which: &str) -> String {
        let sql = format!("SELECT lower(hex(id)) FROM object WHERE kind = 1 AND {which}");
        self.db().query_row(&sql, [], |row| row.get(0)).unwrap()
    }

    fn file(&self, id: &str) -> PathBuf {
        self.data().join("blobs").join(&id[..2]).join(&id[2..])
    }
}

#[derive(Debug)]
pub(crate) struct Report {
    objects: u64,
    pub(crate) states: u64,
    pub(crate) findings: Vec<String>,
    remarks: Vec<String>,
}

fn copy(from: &Path, to: &Path) {
    for entry in walkdir::WalkDir::new(from) {
        let entry = entry.unwrap();
        let target = to.join(entry.path().strip_prefix(from).unwrap());
        if entry.file_type().is_dir() {
            fs::create_dir(&target).unwrap();
        } else {
            fs::copy(entry.path(), &target).unwrap();
        }
    }
}

#[test]
fn a_sound_store_has_no_findings_beside_a_daemon_either() {
    let daemon = Daemon::start();
    let mut admin = daemon.admin();
    Daemon::make_project(&mut admin);
    let tree = tempfile::tempdir().unwrap();
    plant(tree.path(), 50);
    daemon.import(tree.path());
    let branch = format!("{PROJECT}:main");
    for words in [
        &["check"][..],
        &["check", "--deep"],
        &["stats"],
        &["refs"],
        &["history", &branch],
        &["manifest", &branch],
        &["digest", &branch],
        &["diff", &format!("{branch}@v0001"), &branch],
    ] {
        let words = [&["debug"], words].concat();
        let output = daemon.command(&words).output().unwrap();
        assert!(output.status.success(), "{words:?}: {output:?}");
        assert!(
            !output.stdout.is_empty() && output.stderr.is_empty(),
            "{output:?}"
        );
    }
}

#[test]
fn a_damaged_row_is_named_and_all_others_are_checked() {
    let whole = Store::new();
    let sound = whole.check(true);
    assert_eq!(sound.findings, [""; 0]);
    // The head, the empty branch, and what each save but the last made.
    assert_eq!(sound.states, SAVES + 2);
    let id = whole.blob("size BETWEEN 20 AND 100 LIMIT 1");
    for (change, fault, deep) in [
        (
            "kind = 9",
            "its row names kind 9, which does not exist",
            false,
        ),
        (
            "kind = -1",
            "its row names kind -1, which does not exist",
            false,
        ),
        ("size = -6", "its row says a negative size", false),
        ("size = size + 1", "its row says another size", false),
        (
            "bytes = substr(bytes, 2)",
            "its row says another size",
            false,
        ),
        ("sha256 = NULL", "its row has no SHA-256", false),
        (
            "sha256 = x'00'",
            "its row's SHA-256 has another length",
            false,
        ),
        (
            "bytes = NULL",
            "its file cannot be opened: No such file or directory (os error 2)",
            false,
        ),
        (
            "sha256 = zeroblob(32)",
            "its row's SHA-256 is not that of its bytes",
            true,
        ),
        ("bytes = zeroblob(size)", "its row holds other bytes", true),
        (
            "bytes = x'', size = 0",
            "a tree that names it says another length",
            false,
        ),
    ] {
        let store = whole.copy();
        store.sql(&format!("UPDATE object SET {change} WHERE id = x'{id}'"));
        let report = store.check(deep);
        assert_eq!(
            report.findings,
            [format!("blob {id} is damaged: {fault}")],
            "{change}"
        );
        assert!(report.objects >= sound.objects - 1, "{change}: {report:?}");
        if deep {
            assert_eq!(store.check(false).findings, [""; 0], "{change}");
        }
        let stats = store.debug(&["stats", "--json"]);
        assert!(
            serde_json::from_slice::<Value>(&stats.stdout).is_ok(),
            "{stats:?}"
        );
    }

    let store = whole.copy();
    store.sql(&format!(
        "UPDATE object SET id = x'abcd' WHERE id = x'{id}'"
    ));
    let findings = store.check(false).findings;
    assert_eq!(findings.len(), 2, "{findings:?}");
    assert_eq!(findings[0], format!("object {id} is missing"));
    assert!(
        findings[1].starts_with("objects: the id in row "),
        "{findings:?}"
    );
}

#[test]
fn files_that_are_missing_or_strange_are_findings_and_those_left_over_are_not() {
    let store = Store::new();
    let large = store.blob("bytes IS NULL AND size = 100000");
    let larger = store.blob("bytes IS NULL AND size = 120000");
    fs::remove_file(store.file(&large)).unwrap();
    File::options()
        .write(true)
        .open(store.file(&larger))
        .unwrap()
        .set_len(5)
        .unwrap();
    let orphan = format!("{}f", "0".repeat(63));
    fs::write(store.file(&orphan), "left").unwrap();
    let stray = store.data().join("blobs/00/notes.txt");
    fs::write(&stray, "").unwrap();
    let expected: BTreeSet<_> = [
        format!(
            "blob {large} is damaged: its file cannot be opened: No such file or directory (os error 2)"
        ),
        format!(
            "blob {larger} is damaged: its file cannot be opened: not a regular file of the right size"
        ),
        format!("{} is no blob's file", stray.display()),
    ]
    .into();
    for deep in [false, true] {
        let report = store.check(deep);
        assert_eq!(
            report.findings.into_iter().collect::<BTreeSet<_>>(),
            expected
        );
        let left = format!(
            "blob {orphan} has a file that no row names: an upload under way, or left by one that a \
             crash cut off"
        );
        assert_eq!(report.remarks, [left]);
    }
}

#[test]
fn a_damaged_node_is_named_and_the_rest_of_the_tree_is_shown() {
    let store = Store::new();
    let branch = format!("{PROJECT}:main");
    let tree = store.debug(&["manifest", &branch, "--json"]);
    let tree: Value = serde_json::from_slice(&tree.stdout).unwrap();
    let nodes = tree["nodes"].as_array().unwrap();
    // A folder that is one node and holds files alone.
    let folder = |node: &Value| node["folder"].as_str().unwrap().to_owned();
    let victim = nodes.iter().find(|node| {
        let own = folder(node);
        nodes
            .iter()
            .filter(|other| folder(other).starts_with(&own))
            .count()
            == 1
    });
    let victim = victim.unwrap();
    let id = victim["node"].as_str().unwrap();
    store.sql(&format!(
        "UPDATE object SET bytes = zeroblob(size) WHERE id = x'{id}'"
    ));
    let fault = format!("node {id} is damaged: its row holds other bytes");

    let shown = store.debug(&["manifest", &branch, "--json"]);
    assert_eq!(shown.status.code(), Some(1));
    let shown_tree: Value = serde_json::from_slice(&shown.stdout).unwrap();
    assert_eq!(shown_tree["nodes"].as_array().unwrap().len(), nodes.len());
    let digest = store.debug(&["digest", &branch]);
    let lines = String::from_utf8(digest.stdout).unwrap();
    assert!(!lines.contains("sha256 "), "no digest is made up");
    let items = victim["items"].as_u64().unwrap();
    let files = tree["totals"]["files"].as_u64().unwrap();
    assert_eq!(lines.lines().count() as u64, files - items);
    let diff = store.debug(&["diff", &format!("{branch}@v0001"), &branch, "--json"]);
    let changes: Value = serde_json::from_slice(&diff.stdout).unwrap();
    assert_eq!(changes.as_array().unwrap().len() as u64, files - items);
    for stderr in [&shown.stderr, &digest.stderr, &diff.stderr] {
        assert_eq!(
            String::from_utf8_lossy(stderr),
            format!("siteconf: {fault}\n")
        );
    }
    assert_eq!(digest.status.code(), Some(1));
    let raw = store.debug(&["object", id, "--raw"]);
    assert_eq!(raw.status.code(), Some(1));
    assert_eq!(
        String::from_utf8_lossy(&raw.stderr),
        format!("siteconf: {fault}\n")
    );
    let object = store.debug(&["object", id, "--json"]);
    let object_shown: Value = serde_json::from_slice(&object.stdout).unwrap();
    assert_eq!(object_shown["findings"], json!([fault]));
    let findings = store.check(false).findings;
    assert!(findings.contains(&fault), "{findings:?}");
}

/// The pages of a table or index: number, kind and cells.
fn pages(store: &Store, of: &str) -> Vec<(u64, String, u64)> {
    let db = store.db();
    let mut list = db
        .prepare(
            "SELECT pageno, pagetype, ncell FROM dbstat WHERE name = ?1 AND pagetype <> 'overflow'",
        )
        .unwrap();
    let pages = list.query_map([of], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
    pages.unwrap().map(Result::unwrap).collect()
}

#[test]
fn a_page_that_sqlite_calls_malformed_is_named_and_what_can_be_read_is() {
    let whole = Store::new();
    let sound = whole.check(false);
    // The rows of so few objects are known without the index, which has none of them yet.
    for table in ["object", "record", "sqlite_autoindex_record_1"] {
        each_page_is_damaged(&whole, &sound, table);
    }
    let enter = "INSERT INTO object_index SELECT id, seq FROM object;
        UPDATE indexed SET seq = (SELECT max(seq) FROM object);
        PRAGMA wal_checkpoint(TRUNCATE)";
    whole.db().execute_batch(enter).unwrap();
    for table in ["object", "object_index"] {
        each_page_is_damaged(&whole, &sound, table);
    }
}

/// Damages pages of a table or index, one in each copy of a store.
fn each_page_is_damaged(whole: &Store, sound: &Report, table: &str) {
    let pages = pages(whole, table);
    let leaves: Vec<_> = pages.iter().filter(|page| page.1 == "leaf").collect();
    assert!(leaves.len() > 1, "{table}: {pages:?}");
    let middle = leaves[leaves.len() / 2];
    let root = pages.iter().find(|page| page.1 == "internal").unwrap();
    for (number, kind, rows) in [leaves[0], middle, leaves[leaves.len() - 1], root] {
        let store = whole.copy();
        let path = store.data().join("store.db");
        let file = File::options().write(true).open(&path).unwrap();
        let zeros = [0; PAGE_BYTES];
        file.write_all_at(&zeros, (number - 1) * zeros.len() as u64)
            .unwrap();
        let before = fs::read(&path).unwrap();

        let place = format!("{kind} {number} of {table}");
        // An index is not needed to meet every row; what is not met by it is not found by id.
        let report = store.check(false);
        if table == "object" && kind == "leaf" {
            assert_eq!(report.objects, sound.objects - rows, "{place}: {report:?}");
        } else if table != "object" {
            assert_eq!(report.objects, sound.objects, "{place}: {report:?}");
        }
        if table == "sqlite_autoindex_record_1" {
            assert_eq!(report.states, sound.states, "{place}");
        }
        let deep = store.check(true);
        let malformed =
            |finding: &String| finding.contains("malformed") || finding.starts_with("database: ");
        assert!(deep.findings.iter().any(malformed), "{place}: {deep:?}");
        for words in [&["stats", "--json"][..], &["refs", "--json"]] {
            let output = store.debug(words);
            assert!(
                serde_json::from_slice::<Value>(&output.stdout).is_ok(),
                "{place}: {output:?}"
            );
            // Without the way to the snapshots these cannot be counted.
            if (table, &**kind) == ("sqlite_autoindex_record_1", "internal") && words[0] == "refs" {
                let said = String::from_utf8_lossy(&output.stderr);
                let told = "siteconf: records \"snapshot/00000001/…\": database: ";
                assert!(said.contains(told), "{place}: {said}");
            }
        }
        assert!(
            fs::read(&path).unwrap() == before,
            "{place}: something was written"
        );
    }
}
