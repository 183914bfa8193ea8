//! What `debug` shows of a sound store, and how it refuses.

use std::fs;
use std::process::ExitCode;

use serde_json::{Value, json};

use crate::base::digest::{BodyDigests, sha256};
use crate::cli::tests::{Desk, lay};
use crate::object::audit_pack::AuditPack;
use crate::object::key;
use crate::store::sqlite::SqliteStore;
use crate::store::{Batch, Expect, Store as _};

#[test]
fn debug_shows_what_is_stored() {
    let desk = Desk::with_project();
    let refs = desk.json(&["debug", "refs", "--json"]);
    let manifest = refs[0]["manifest"].as_str().unwrap();
    assert_eq!(
        refs,
        json!([{
            "project": 1, "repo_id": "acme/shop.erp", "branch": "main", "manifest": manifest,
            "snapshots": 1, "files": 2, "bytes": 8,
        }])
    );
    let shown = desk.done(&["debug", "manifest", "acme/shop.erp:main"]);
    assert!(
        shown.starts_with(&format!(
            "manifest {manifest}: 2 files, 1 directories, 8 bytes\n/  node "
        )),
        "{shown}"
    );
    assert!(shown.contains("\n  conf/  node "), "{shown}");
    let object = desk.done(&["debug", "object", &manifest[..9]]);
    assert!(
        object.starts_with(&format!(
            "id        {manifest}\nkind      manifest\nsize      57\nroot "
        )),
        "{object}"
    );
    let md5 = |text: &str| BodyDigests::of(text.as_bytes()).md5;
    let lines = format!("a.xml|4|{}\nconf/b.xml|4|{}\n", md5("<a/>"), md5("<b/>"));
    assert_eq!(
        desk.done(&["debug", "digest", "acme/shop.erp:main"]),
        format!("{lines}sha256 {}\n", sha256(lines.as_bytes()))
    );
    let stats = desk.json(&["debug", "stats", "--json"]);
    assert_eq!(
        [&stats["projects"], &stats["branches"], &stats["snapshots"]],
        [&json!(1), &json!(1), &json!(1)]
    );
    assert_eq!(stats["objects"]["blob"], json!({"count": 2, "bytes": 8}));
    assert_eq!(stats["head_bytes"], 8);
    assert!(stats["node_bytes"]["largest"].as_u64() > Some(100));
    assert_eq!(stats["tree"], json!({"levels": 1, "nodes_to_a_file": 2}));
    let objects = stats["objects"].as_object().unwrap().values();
    let objects: u64 = objects.map(|held| held["count"].as_u64().unwrap()).sum();
    for deep in [false, true] {
        let flags = if deep { &["--deep"][..] } else { &[] };
        assert_eq!(
            desk.json(&[&["debug", "check", "--json"], flags].concat()),
            json!({"deep": deep, "objects": objects, "states": 2, "files": 0, "findings": [], "remarks": []})
        );
    }
}

#[test]
fn damage_is_named_and_the_rest_goes_on() {
    let desk = Desk::new();
    desk.done(&["user", "add", "ann"]);
    let large = "x".repeat(100_000);
    lay(&desk.path("in"), &[("a.xml", "<a/>"), ("large", &large)]);
    desk.import(&["--owner", "ann"]);
    let blob = BodyDigests::of(large.as_bytes()).blob.to_string();
    let file = desk.path("data/blobs").join(&blob[..2]).join(&blob[2..]);
    fs::write(&file, "y".repeat(100_000)).unwrap();

    // The bytes themselves are only looked at when that is asked for.
    desk.done(&["debug", "check"]);
    let ran = desk.run(&["debug", "check", "--deep"]);
    assert_eq!(ran.code, ExitCode::from(1));
    assert!(
        ran.out.starts_with(&format!(
            "blob {blob} is damaged: its file holds other bytes\n"
        )),
        "{ran:?}"
    );
    assert!(ran.out.ends_with("; 1 finding\n"), "{ran:?}");
    let ran = desk.run(&["debug", "object", &blob[..8]]);
    assert_eq!(ran.code, ExitCode::from(1));
    assert!(
        ran.err
            .ends_with("is damaged: its file holds other bytes\n"),
        "{ran:?}"
    );
    let ran = desk.run(&["debug", "object", &blob, "--raw"]);
    assert_eq!(ran.code, ExitCode::from(1));
    let named = format!("siteconf: blob {blob} is damaged: its file holds other bytes\n");
    assert_eq!((ran.out, ran.err), ("y".repeat(100_000), named));
    fs::remove_file(&file).unwrap();
    let ran = desk.run(&["debug", "check"]);
    assert!(
        ran.out.contains(&format!(
            "blob {blob} is damaged: its file cannot be opened"
        )),
        "{ran:?}"
    );
    assert!(
        desk.done(&["debug", "digest", "acme/shop.erp:main"])
            .contains("large|100000|")
    );
}

#[test]
fn a_project_or_branch_without_its_record_is_named() {
    let desk = Desk::with_project();
    desk.done(&["branch", "create", "acme/shop.erp", "test"]);
    desk.done(&["branch", "delete", "acme/shop.erp", "test"]);
    let store = SqliteStore::open_beside(&desk.path("data")).unwrap();
    for (key, findings) in [
        (key::deleted_branch(1, 2), &[][..]),
        (
            key::project(1),
            &[
                "project 1: its record is gone, and record \"branch-name/00000001/main\" belongs to it",
            ],
        ),
        (
            key::branch(1, 1),
            &[
                "branch 1: its record is gone, and record \"branch-name/00000001/main\" belongs to it",
                "project 1: its record is gone, and record \"branch-name/00000001/main\" belongs to it",
            ],
        ),
        (
            key::branch_name(1, "main"),
            &[
                "branch 1: its record is gone, and record \"snapshot/00000001/00000001\" belongs to it",
                "project 1: its record is gone, and record \"project-id/acme/shop.erp\" belongs to it",
            ],
        ),
    ] {
        let mut batch = Batch::default();
        batch.delete(key.clone(), Expect::Anything);
        store.commit(batch).unwrap();
        let ran = desk.run(&["debug", "check", "--json"]);
        let report: Value = serde_json::from_str(&ran.out).unwrap();
        assert_eq!(report["findings"], json!(findings), "{key}");
    }
}

/// The record of a deletion goes last.
#[test]
fn what_is_being_forgotten_has_lost_nothing() {
    let desk = Desk::with_project();
    desk.done(&["branch", "create", "acme/shop.erp", "test"]);
    desk.done(&["branch", "delete", "acme/shop.erp", "test"]);
    desk.done(&["project", "delete", "acme/shop.erp"]);
    desk.done(&["debug", "check"]);
    let store = SqliteStore::open_beside(&desk.path("data")).unwrap();
    for key in [
        key::branch_name(1, "main"),
        key::snapshot(1, 1),
        key::branch(1, 1),
    ] {
        let mut batch = Batch::default();
        let kept = store.record(&key::deleted_project(1)).unwrap().unwrap();
        let mut kept: Value = serde_json::from_slice(&kept.value).unwrap();
        kept["forgetting"] = json!(true);
        batch.write(key::deleted_project(1), Expect::Anything, &kept);
        batch.delete(key, Expect::Anything);
        store.commit(batch).unwrap();
        desk.done(&["debug", "check"]);
    }
    drop(store);
    desk.done(&["gc", "--keep-deleted-days", "0"]);
    desk.done(&["debug", "check"]);
}

#[test]
fn a_pack_of_the_audit_log_is_checked_down_to_its_records() {
    let desk = Desk::new();
    desk.done(&["user", "add", "ann"]);
    let store = SqliteStore::open_beside(&desk.path("data")).unwrap();
    let value = br#"{"at":7,"by":"eve","action":"login"}"#.as_slice();
    let other = br#"{"at":8,"by":"eve","action":"none"}"#.as_slice();
    let sound = AuditPack::new([(3, value), (5, value)].into_iter());
    let (sound, _) = sound.unwrap();
    let (unknown, _) = AuditPack::new([(3, value), (5, other)].into_iter()).unwrap();
    let shown = |pack: &AuditPack| serde_json::to_value(pack).unwrap();
    let (mut later, mut fewer) = (shown(&sound), shown(&sound));
    later["newest"] = json!(9);
    fewer["count"] = json!(1);
    for (first, pack, fault) in [
        (3, shown(&sound), None),
        (
            2,
            shown(&sound),
            Some("it holds other numbers or times than it says"),
        ),
        (
            3,
            later,
            Some("it holds other numbers or times than it says"),
        ),
        (
            3,
            fewer,
            Some("at byte 78: it says another last record, or another number"),
        ),
        (3, shown(&unknown), Some("5: unknown variant `none`")),
        (3, json!({}), Some("missing field `last`")),
    ] {
        let key = key::audit_pack(first);
        let mut batch = Batch::default();
        batch.write(key.clone(), Expect::Anything, &pack);
        store.commit(batch).unwrap();
        let ran = desk.run(&["debug", "check"]);
        match fault {
            None => assert!(ran.out.ends_with(" 0 findings\n"), "{ran:?}"),
            Some(fault) => {
                let told = format!("record \"{key}\" is damaged: {fault}");
                assert!(ran.out.starts_with(&told), "{told}: {ran:?}");
                assert!(ran.out.ends_with(" 1 finding\n"), "{ran:?}");
            }
        }
        let mut batch = Batch::default();
        batch.delete(key, Expect::Anything);
        store.commit(batch).unwrap();
    }
}

/// A store whose second state lacks a file, has another, and has one with other bytes.
fn changed() -> Desk {
    let desk = Desk::with_project();
    lay(
        &desk.path("in"),
        &[("conf/b.xml", "<b>2</b>"), ("c.xml", "<c/>")],
    );
    fs::remove_file(desk.path("in/a.xml")).unwrap();
    desk.import(&["--mirror"]);
    desk
}

fn digests(text: &str) -> BodyDigests {
    BodyDigests::of(text.as_bytes())
}

/// A file of this text as it is shown.
fn file(text: &str) -> Value {
    let BodyDigests {
        blob,
        size,
        md5,
        git,
        ..
    } = digests(text);
    json!({"mode": "100644", "size": size, "md5": md5, "git": git, "blob": blob})
}

#[test]
fn a_diff_names_each_file_that_differs() {
    let desk = changed();
    assert_eq!(
        desk.json(&[
            "debug",
            "diff",
            "acme/shop.erp:main@v0002",
            "acme/shop.erp:main",
            "--json"
        ]),
        json!([
            {"path": "a.xml", "change": "deleted", "old": file("<a/>"), "new": null},
            {"path": "c.xml", "change": "added", "old": null, "new": file("<c/>")},
            {"path": "conf/b.xml", "change": "modified", "old": file("<b/>"), "new": file("<b>2</b>")},
        ])
    );
    let shown = desk.done(&[
        "debug",
        "diff",
        "acme/shop.erp:main@v0002",
        "acme/shop.erp:main",
    ]);
    assert!(shown.starts_with("CHANGE    OLD "), "{shown}");
    assert_eq!(shown.lines().count(), 4, "{shown}");
}

#[test]
fn a_history_has_every_snapshot() {
    let desk = changed();
    let mut history = desk.json(&["debug", "history", "acme/shop.erp:main", "--json"]);
    for snapshot in history.as_array_mut().unwrap() {
        for field in ["created_at", "reached_at", "manifest"] {
            assert!(snapshot[field].take().is_string(), "{field}");
        }
    }
    let snapshot = |version: &str, files: u64, bytes: u64, reached_by: &str| {
        json!({
            "version": version, "created_at": null, "created_by": "command line",
            "operation": "import", "path": null, "message": null, "reached_at": null,
            "reached_by": reached_by, "files": files, "bytes": bytes, "manifest": null,
        })
    };
    assert_eq!(
        history,
        json!([
            snapshot("v0002", 2, 8, "command line"),
            snapshot("v0001", 0, 0, "command line"),
        ])
    );
    let shown = desk.done(&["debug", "history", "acme/shop.erp:main"]);
    assert!(shown.starts_with("VERSION  CREATED "), "{shown}");
    assert!(shown.contains("\nv0002    2"), "{shown}");
}

#[test]
fn a_digest_is_shown_with_its_lines() {
    let desk = changed();
    let lines = [("c.xml", "<c/>"), ("conf/b.xml", "<b>2</b>")]
        .map(|(path, text)| format!("{path}|{}|{}", text.len(), digests(text).md5));
    let all = format!("{}\n{}\n", lines[0], lines[1]);
    assert_eq!(
        desk.json(&["debug", "digest", "acme/shop.erp:main", "--json"]),
        json!({"lines": lines, "sha256": sha256(all.as_bytes())})
    );
}

#[test]
fn a_tree_is_shown_down_to_its_blobs() {
    let desk = changed();
    let refs = desk.json(&["debug", "refs", "--json"]);
    let manifest = refs[0]["manifest"].as_str().unwrap();
    let tree = desk.json(&["debug", "manifest", "acme/shop.erp:main", "--json"]);
    let totals = json!({"files": 2, "directories": 1, "bytes": 12});
    assert_eq!(
        [&tree["manifest"], &tree["totals"]],
        [&json!(manifest), &totals]
    );
    let [root, conf] = tree["nodes"].as_array().unwrap().as_slice() else {
        panic!("{tree}");
    };
    let [root_id, conf_id] = [root, conf].map(|node| node["node"].as_str().unwrap());
    assert_eq!(
        *conf,
        json!({"node": conf_id, "folder": "conf/", "depth": 1, "level": 0, "items": 1, "bytes": 89})
    );
    let object = |id: &str| desk.json(&["debug", "object", id, "--json"]);
    assert_eq!(
        object(manifest),
        json!({
            "id": manifest, "kind": "manifest", "size": 57, "root": root_id, "totals": totals,
            "findings": [],
        })
    );
    let with = |name: &str, kind: &str, mut value: Value| {
        value["name"] = json!(name);
        value["type"] = json!(kind);
        value
    };
    let below = json!({
        "node": conf_id, "totals": {"files": 1, "directories": 0, "bytes": 8},
    });
    assert_eq!(
        object(root_id),
        json!({
            "id": root_id, "kind": "node", "size": root["bytes"], "level": 0, "findings": [],
            "items": [with("c.xml", "file", file("<c/>")), with("conf", "directory", below)],
        })
    );
    let BodyDigests {
        blob,
        md5,
        git,
        sha256,
        ..
    } = digests("<c/>");
    assert_eq!(
        object(&blob.to_string()),
        json!({
            "id": blob, "kind": "blob", "size": 4, "lies_in": "row", "sha256": sha256, "md5": md5,
            "git": git, "findings": [],
        })
    );
    assert_eq!(
        desk.done(&["debug", "object", &blob.to_string()[..12], "--raw"]),
        "<c/>"
    );
}

#[test]
fn an_id_must_be_the_start_of_one_object() {
    let desk = Desk::new();
    desk.done(&["user", "add", "ann"]);
    // Two texts whose ids begin alike are soon found.
    let mut seen = std::collections::HashMap::new();
    let id = |text: &str| BodyDigests::of(text.as_bytes()).blob.to_string();
    let (one, two) = (0..)
        .find_map(|number: u32| {
            let text = number.to_string();
            seen.insert(id(&text)[..5].to_owned(), text.clone())
                .map(|other| (other, text))
        })
        .unwrap();
    lay(&desk.path("in"), &[("one", &one), ("two", &two)]);
    desk.import(&["--owner", "ann"]);
    let mut ids = [id(&one), id(&two)];
    ids.sort();
    let start = &ids[0][..5];
    assert_eq!(
        desk.refused(2, &["debug", "object", start]),
        format!(
            "siteconf: 2 objects begin with {start}; add digits:\n  {}\n  {}\n",
            ids[0], ids[1]
        )
    );
    for id in &ids {
        let alike = ids[0]
            .bytes()
            .zip(ids[1].bytes())
            .take_while(|(a, b)| a == b);
        let digits = alike.count() + 1;
        let shown = desk.done(&["debug", "object", &id[..digits]]);
        assert!(
            shown.starts_with(&format!("id        {id}\nkind      blob\n")),
            "{shown}"
        );
    }
    let absent = "0".repeat(64);
    assert_eq!(
        desk.refused(1, &["debug", "object", &absent]),
        format!("siteconf: no object begins with {absent}\n")
    );
}

#[test]
fn bad_input_is_a_clear_refusal() {
    let desk = Desk::with_project();
    let odd = format!("{}0", "ab".repeat(32));
    for (words, said) in [
        (
            &["object", "abc"][..],
            "\"abc\" must be 4 to 64 lower-case hexadecimal digits",
        ),
        (
            &["object", "ABCD"],
            "\"ABCD\" must be 4 to 64 lower-case hexadecimal digits",
        ),
        (&["object", "xyz9"], "\"xyz9\" must be"),
        (&["object", &odd], "must be 4 to 64"),
        (&["object", "abcd", "--raw", "--json"], "--json"),
        (&["manifest", "acme/shop.erp"], "must be REPO_ID:REVISION"),
        (&["manifest", "acme/shop.erp:"], "must be REPO_ID:REVISION"),
        (&["digest", "acme:main"], "malformed project"),
        (&["history", "acme/shop.erp"], "must be REPO_ID:BRANCH"),
        (&["history", "acme/shop.erp:a..b"], "malformed branch"),
        (&["diff", "acme/shop.erp:main"], "REPO_ID:REVISION"),
        (
            &["diff", "acme/shop.erp:main", "x"],
            "\"x\" must be REPO_ID:REVISION",
        ),
        (&["check", "--fast"], "--fast"),
    ] {
        let refused = desk.refused(2, &[&["debug"], words].concat());
        assert!(refused.contains(said), "{words:?}: {refused}");
    }
    for words in [
        &["history", "acme/shop.erp:other"][..],
        &["history", "acme/other.erp:main"],
        &["manifest", "acme/shop.erp:other"],
        &["manifest", "acme/shop.erp:main@v0009"],
        &["digest", "acme/other.erp:main"],
        &["diff", "acme/shop.erp:main", "acme/shop.erp:other"],
    ] {
        let refused = desk.refused(1, &[&["debug"], words].concat());
        assert!(refused.starts_with("siteconf: "), "{words:?}: {refused}");
        assert_eq!(refused.lines().count(), 1, "{words:?}: {refused}");
    }
}
