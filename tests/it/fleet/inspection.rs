//! `status` and `debug` on a store in PostgreSQL: beside daemons, as their role, and where it is damaged.

use serde_json::{Value, json};

use super::Fleet;
use super::commands::run;
use super::large::noise;
use crate::harness::bucket::Fault;
use crate::harness::server::Database;
use crate::harness::{Daemon, Project, tested};

/// A fleet with one daemon, and files in rows and in the bucket.
struct Scene {
    fleet: Fleet,
    daemon: Daemon,
}

impl Scene {
    fn set() -> Self {
        let fleet = Fleet::with_bucket();
        let daemon = fleet.daemon(&[]);
        let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
        project.save("main", "a.xml", "<a/>");
        project.save("main", "a.xml", "<b/>");
        project.save("main", "large.bin", noise(1, 700_000));
        Self { fleet, daemon }
    }

    fn database(&self) -> &Database {
        self.daemon.database().expect("it lies in one")
    }

    /// Runs a command with `--json`: its exit code, and what it says.
    fn json(&self, words: &[&str]) -> (Option<i32>, Value) {
        let ran = self.daemon.command(&[words, &["--json"]].concat(), "");
        let shown = serde_json::from_slice(&ran.stdout);
        (
            ran.status.code(),
            shown.unwrap_or_else(|_| panic!("{ran:?}")),
        )
    }

    /// What a command writes on standard output and on standard error, and its exit code.
    fn text(&self, words: &[&str]) -> (Option<i32>, String, String) {
        let ran = self.daemon.command(words, "");
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (ran.status.code(), text(ran.stdout), text(ran.stderr))
    }

    /// The exit code and the findings of `debug check`.
    fn check(&self, deep: bool) -> (Option<i32>, Value) {
        let flags = if deep { &["--deep"][..] } else { &[] };
        let (code, report) = self.json(&[&["debug", "check"], flags].concat());
        (code, report["findings"].clone())
    }

    /// The id of an object, as digits.
    fn object(&self, which: &str) -> String {
        let sql = format!("SELECT encode(id, 'hex') FROM siteconf.object WHERE {which}");
        let found = self.database().ask(&sql);
        assert_eq!(found.len(), 1, "{which}: {found:?}");
        found[0].clone()
    }
}

const SOUND: &str = "[]";

#[test]
fn the_status_tells_of_daemons_schema_and_room() {
    let scene = Scene::set();
    let other = scene.fleet.daemon(&[]);
    let daemons = || {
        scene.json(&["status"]).1["daemons"]
            .as_array()
            .unwrap()
            .len()
    };
    crate::harness::soon(|| daemons() == 2);
    let (code, mut shown) = scene.json(&["status", "--weigh"]);
    assert_eq!(code, Some(0), "{shown}");
    for daemon in shown["daemons"].as_array_mut().unwrap() {
        assert_eq!(daemon["version"], tested::build());
        assert!(daemon["host"].is_string() && daemon["began"].is_string());
        *daemon = json!("seen");
    }
    assert!(shown["bytes"]["database"].take().as_u64() > Some(100_000));
    assert!(shown["bytes"]["objects"].take().as_u64() > Some(700_000));
    assert!(shown["weights"].take()["live"]["bytes"].as_u64() > Some(700_000));
    // What its `initdb` does by itself differs.
    let checksums = scene.database().ask("SHOW data_checksums");
    assert_eq!(shown["page_checksums"].take(), checksums == ["on"]);
    let url = scene.database().url_of_daemon();
    assert_eq!(
        shown,
        json!({
            "data": url, "version": tested::build(), "format": null,
            "schema": { "step": 12, "writer_min": 4 },
            "service": { "running": true, "pid": null, "version": null },
            "daemons": ["seen", "seen"],
            "standby": { "wanted": 0, "following": 0 },
            "projects": 1, "branches": 1, "accounts": 2, "tokens": 0,
            "bytes": {
                "database": null, "unused": null, "log": null, "objects": null, "files": 700_000,
            },
            "page_checksums": null, "free_bytes": null, "last_backup": null,
            "last_collection": null, "weights": null, "writes_refused": null, "findings": [],
        })
    );
    drop(other);
    let (code, text, err) = scene.text(&["status"]);
    assert_eq!((code, err.as_str()), (Some(0), ""));
    for line in [
        format!("data             {url}\n"),
        "\nchanges          accepted\nstandby          commits wait for none\n".to_owned(),
        "\nlarge files      not counted without --weigh\nlast collection  none\n".to_owned(),
    ] {
        assert!(text.contains(&line), "{line}: {text}");
    }
    assert!(
        !text.contains("unknown") && !text.contains("disk"),
        "{text}"
    );

    // Without the bucket, and without the right to see a table.
    scene.fleet.bucket().fault(Fault::Denies, None);
    let denied = "REVOKE SELECT ON siteconf.daemon FROM daemon";
    scene.database().ask(denied);
    let (code, shown) = scene.json(&["status"]);
    assert_eq!(code, Some(1));
    assert_eq!(shown["daemons"], Value::Null);
    assert_eq!(
        shown["findings"],
        json!([
            "whether the service runs cannot be told: the database cannot be used: permission denied for \
             table daemon (42501)",
            "large files cannot be had: the bucket of large files cannot be used: access is denied \
             (AccessDenied); see that the keys are right, and may list, read, write and delete there",
        ])
    );
}

#[test]
fn a_password_in_the_url_is_not_shown_by_what_looks_into_a_store() {
    let scene = Scene::set();
    let url = scene
        .database()
        .url
        .replace("siteconf@", "siteconf:hush-hush@");
    for words in [&["status"][..], &["debug", "check"], &["debug", "refs"]] {
        let ran = run(&[words, &["--store", &url]].concat());
        let said = format!("{ran:?}");
        assert!(!said.contains("hush-hush"), "{said}");
    }
}

#[test]
fn debug_shows_a_sound_store_beside_its_daemons() {
    let scene = Scene::set();
    let (code, refs) = scene.json(&["debug", "refs"]);
    let manifest = refs[0]["manifest"].as_str().unwrap();
    assert_eq!(
        (code, &refs),
        (
            Some(0),
            &json!([{
                "project": 1, "repo_id": "acme/shop.erp", "branch": "main", "manifest": manifest,
                "snapshots": 3, "files": 2, "bytes": 700_004,
            }])
        )
    );
    let (code, stats) = scene.json(&["debug", "stats"]);
    assert_eq!(code, Some(0));
    assert_eq!(
        [
            &stats["projects"],
            &stats["branches"],
            &stats["snapshots"],
            &stats["large_blobs"]
        ],
        [1, 1, 3, 1]
    );
    assert_eq!(
        stats["objects"]["blob"],
        json!({"count": 3, "bytes": 700_008})
    );
    let objects = stats["objects"].as_object().unwrap().values();
    let objects: u64 = objects.map(|held| held["count"].as_u64().unwrap()).sum();
    for deep in [false, true] {
        let flags = if deep { &["--deep"][..] } else { &[] };
        let (code, report) = scene.json(&[&["debug", "check"], flags].concat());
        assert_eq!(
            (code, report),
            (
                Some(0),
                json!({
                    "deep": deep, "objects": objects, "states": 4, "files": 1, "findings": [],
                    "remarks": [],
                })
            )
        );
    }
    let (_, history) = scene.json(&["debug", "history", "acme/shop.erp:main"]);
    let versions = history
        .as_array()
        .unwrap()
        .iter()
        .map(|row| &row["version"]);
    let versions: Vec<_> = versions.collect();
    assert_eq!(versions, ["v0003", "v0002", "v0001"]);
    let (_, diff) = scene.json(&[
        "debug",
        "diff",
        "acme/shop.erp:main@v0002",
        "acme/shop.erp:main",
    ]);
    assert_eq!(diff.as_array().unwrap().len(), 2, "{diff}");
    let (code, object) = scene.json(&["debug", "object", &scene.object("place IS NOT NULL")]);
    assert_eq!((code, &object["findings"]), (Some(0), &json!([])));
    assert_eq!(
        [&object["size"], &object["lies_in"]],
        [&json!(700_000), &json!("file")]
    );

    // A file that nobody committed is no fault.
    scene.fleet.bucket().plant("2026-11-20/planted");
    let (code, text, _) = scene.text(&["debug", "check"]);
    assert_eq!(code, Some(0));
    assert!(
        text.starts_with(
            "remark: no row names the file 2026-11-20/planted in the bucket: an upload"
        ),
        "{text}"
    );
}

#[test]
fn damaged_rows_are_named_and_the_rest_goes_on() {
    let scene = Scene::set();
    let flipped = scene.object("bytes = '<a/>'");
    let missing = scene.object("bytes = '<b/>'");
    scene.database().ask(&format!(
        "UPDATE siteconf.object SET bytes = set_byte(bytes, 1, 99) WHERE id = '\\x{flipped}';
         DELETE FROM siteconf.object WHERE id = '\\x{missing}'"
    ));
    // The bytes themselves are only looked at when that is asked for.
    let lacks = format!("object {missing} is missing");
    assert_eq!(scene.check(false), (Some(1), json!([lacks])));
    let holds = format!("blob {flipped} is damaged: its row holds other bytes");
    assert_eq!(scene.check(true), (Some(1), json!([holds, lacks])));
    let (code, _, err) = scene.text(&["debug", "object", &flipped]);
    assert_eq!((code, err), (Some(1), format!("siteconf: {holds}\n")));
    scene.database().ask(&format!(
        "UPDATE siteconf.object SET size = 5 WHERE id = '\\x{flipped}'"
    ));
    let size = format!("blob {flipped} is damaged: its row says another size");
    assert_eq!(scene.check(false), (Some(1), json!([size, lacks])));
}

#[test]
fn damaged_records_and_tables_are_named() {
    let scene = Scene::set();
    let ask = |sql: &str| drop(scene.database().ask(sql));
    assert_eq!(scene.check(true).1.to_string(), SOUND);
    // A key whose version no change has written, and a value of which a byte is another.
    let snapshot = |number: u32| format!("snapshot/00000001/{number:08x}");
    let [moved, broken] = [1, 2].map(snapshot);
    let keys = scene.database().ask(
        "SELECT convert_from(key, 'UTF8') FROM siteconf.record
         WHERE key >= 'snapshot/' AND key < 'snapshot0' ORDER BY key",
    );
    assert_eq!(keys[..2], [moved.clone(), broken.clone()]);
    ask(&format!(
        "UPDATE siteconf.record SET version = 1 WHERE key = '{moved}';
         UPDATE siteconf.record SET value = set_byte(value, 0, get_byte(value, 0) # 1) WHERE key = '{broken}'"
    ));
    let (code, findings) = scene.check(false);
    let unknown =
        format!("record \"{moved}\" is damaged: no change that is known has written its version 1");
    let unread = format!("record \"{broken}\" is damaged: expected value at line 1 column 1");
    let few = "branch 1: its snapshots are not all up to the 3 it counts";
    assert_eq!((code, &findings), (Some(1), &json!([few, unknown, unread])));
    let (code, _, err) = scene.text(&["debug", "history", "acme/shop.erp:main"]);
    assert_eq!((code, err), (Some(1), format!("siteconf: {unread}\n")));

    ask(
        "DELETE FROM siteconf.change WHERE version IN (3, 4); DROP INDEX siteconf.done_at_idx;
         ALTER FUNCTION siteconf.pin_v1 SECURITY INVOKER",
    );
    let (code, findings) = scene.check(true);
    assert_eq!(code, Some(1));
    for finding in [
        "database: changes 3 to 4 are not there",
        "database: index done_at_idx is missing, or is not as siteconf made it",
        "database: function pin_v1 is missing, or is not as siteconf made it",
    ] {
        let mut all = findings.as_array().unwrap().iter();
        assert!(all.any(|found| *found == finding), "{finding}: {findings}");
    }
}

#[test]
fn large_files_that_are_damaged_or_lost_are_named() {
    let scene = Scene::set();
    let bucket = scene.fleet.bucket();
    let blob = scene.object("place IS NOT NULL");
    let file = bucket.files().remove(0);
    let whole = std::fs::read(&file).unwrap();
    let mut wrong = whole.clone();
    wrong[600_000] ^= 1;
    std::fs::write(&file, &wrong).unwrap();
    assert_eq!(scene.check(false), (Some(0), json!([])));
    let fault = |what: &str| (Some(1), json!([format!("blob {blob} is damaged: {what}")]));
    assert_eq!(scene.check(true), fault("its file holds other bytes"));
    std::fs::write(&file, &whole[..600_000]).unwrap();
    let short = fault("its file in the bucket has 600000 bytes, and not 700000");
    assert_eq!(scene.check(false), short);
    assert_eq!(scene.check(true), short);
    std::fs::remove_file(&file).unwrap();
    let lost = fault("its file is not in the bucket");
    assert_eq!(scene.check(false), lost);
    assert_eq!(scene.check(true), lost);
    std::fs::write(&file, &whole).unwrap();
    assert_eq!(scene.check(true), (Some(0), json!([])));

    // That the bucket does not answer is one finding, and says nothing of the files.
    bucket.fault(Fault::Away, None);
    let away = "large files cannot be looked at: the bucket of large files does not answer";
    assert_eq!(scene.check(true), (Some(1), json!([away])));
}

#[test]
fn a_check_and_a_collection_keep_apart() {
    use siteconf::store::collection::{Collectable as _, Pace};
    use siteconf::store::inspection::Inspectable as _;
    let scene = Scene::set();
    // A check beside a collection goes on, and says what that may mean.
    let collecting = scene.database().open();
    let collection = collecting.begin_collection(Pace::new(0)).unwrap();
    let (code, report) = scene.json(&["debug", "check"]);
    assert_eq!((code, &report["findings"]), (Some(0), &json!([])));
    assert_eq!(
        report["remarks"],
        json!([
            "beside this check a collection may run (a collection is running; try again when it has ended): \
             what it removes with states that are pruned meanwhile is told as missing"
        ])
    );
    drop(collection);
    drop(collecting);

    let looking = scene.database().open();
    // What a collection gives back late goes with its connection.
    let mut held = None;
    crate::harness::soon(|| {
        held = looking.hold_off_collections().ok();
        held.is_some()
    });
    let also = looking.hold_off_collections().unwrap();
    let (code, _, err) = scene.text(&["gc"]);
    let url = scene.database().url_of_daemon();
    let said = format!(
        "siteconf: {url}: \"siteconf debug check\" is running; try again when it has ended\n"
    );
    assert_eq!((code, err), (Some(1), said));
    drop((held, also));
    // The server learns a moment later that a connection has ended.
    crate::harness::soon(|| scene.text(&["gc"]).0 == Some(0));
}
