//! The commands as a user meets them, and folders of the format before.

use std::cell::Cell;
use std::fs;
use std::io::Read;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use siteconf::base::clock::{Clock as _, DAY_S, SystemClock};
use siteconf::object::key;
use siteconf::repo::Condition;
use siteconf::store::{Batch, Expect};
use tempfile::TempDir;

use crate::scene::{Process, assert_sound, branch, number};

pub(crate) fn command(root: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_siteconf"));
    command.arg("--data").arg(root).args(arguments);
    command
}

fn siteconf(root: &Path, arguments: &[&str]) -> Output {
    command(root, arguments).output().unwrap()
}

/// What a command prints that succeeds.
#[track_caller]
pub(crate) fn text(root: &Path, arguments: &[&str]) -> String {
    let output = siteconf(root, arguments);
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[track_caller]
fn json_of(root: &Path, arguments: &[&str]) -> Value {
    serde_json::from_str(&text(root, arguments)).unwrap()
}

/// A branch of so many saves of one file.
fn saved(root: &Path, saves: u32) {
    let daemon = Process::daemon(root);
    let project = daemon.create();
    for number in 0..saves {
        let content = blake3::hash(&number.to_le_bytes()).to_hex().repeat(20);
        daemon
            .save(&project, "main", "a.xml", content.as_bytes())
            .unwrap();
    }
    assert_eq!(
        project.branch(&branch("main")).unwrap().snapshot_count(),
        u64::from(saves)
    );
}

#[test]
fn pruning_and_collecting_say_what_they_would_do_and_what_they_did() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    saved(root, 10);
    assert_eq!(json_of(root, &["prune", "--json"]), json!([]));
    let would = json_of(
        root,
        &["prune", "--keep-snapshots", "4", "--dry-run", "--json"],
    );
    // Five blobs of 1,280 bytes, and the nodes and manifests of six states, the first without files.
    let bytes = would[0]["frees_bytes_max"].as_u64().unwrap();
    assert!(bytes > 5 * 1280, "{would}");
    assert_eq!(
        would,
        json!([{"repo_id": "acme/shop.erp", "branch": "main", "snapshots": 6, "frees_bytes_max": bytes}])
    );
    let keep = |flags: &[&str]| {
        let told = text(
            root,
            &[&["project", "keep", "acme/shop.erp"], flags].concat(),
        );
        (told, json_of(root, &["prune", "--json"]))
    };
    // What is young stays, however many they are.
    let both = [
        "prune",
        "--keep-snapshots",
        "1",
        "--keep-days",
        "30",
        "--json",
    ];
    assert_eq!(json_of(root, &both), json!([]));
    let (told, pruned) = keep(&["--snapshots", "4", "--days", "30"]);
    assert_eq!(
        (told.as_str(), pruned),
        ("acme/shop.erp keeps 4 snapshots and 30 days\n", json!([]))
    );
    let (told, pruned) = keep(&["--as-service"]);
    assert_eq!(
        (told.as_str(), pruned),
        ("acme/shop.erp keeps what the settings say\n", json!([]))
    );
    let (told, pruned) = keep(&["--snapshots", "4"]);
    assert_eq!(
        (told.as_str(), pruned),
        (
            "acme/shop.erp keeps 4 snapshots\n",
            json!([{"repo_id": "acme/shop.erp", "branch": "main", "snapshots": 6}])
        )
    );
    let would = json_of(root, &["gc", "--dry-run", "--json"]);
    assert_eq!(would["unreachable"]["bytes"], bytes);
    let stats = json_of(root, &["debug", "stats", "--json"]);
    for name in ["live", "old", "unreachable"] {
        assert_eq!(stats[name], would[name], "{name}");
    }
    let stored = ["live", "old", "unreachable"].map(|name| would[name]["bytes"].as_u64().unwrap());
    assert_eq!(stats["stored_bytes"], stored.iter().sum::<u64>());
    let done = json_of(root, &["gc", "--json"]);
    assert_eq!(done["removed_objects"], would["unreachable"]["objects"]);
    assert_eq!(done["removed_bytes"], bytes);
    assert_eq!(
        (&done["shrinks"], &done["free_bytes"]),
        (&json!(true), &json!(0))
    );
    assert_eq!(
        text(root, &["gc"]),
        "0 objects of 0 bytes removed, 0 of them files; 0 bytes of the database given back\n"
    );
    assert_sound(root);
}

#[test]
fn what_was_deleted_long_ago_is_forgotten_first() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    saved(root, 3);
    let daemon = Process::daemon(root);
    let project = daemon.project();
    for name in ["one", "two"] {
        project.create_branch(&branch(name), Some("main")).unwrap();
        daemon
            .save(&project, name, "b.xml", name.as_bytes())
            .unwrap();
        project
            .delete_branch(&branch(name), &Condition::None)
            .unwrap();
    }
    let kept = json_of(root, &["gc", "--json"]);
    assert_eq!(kept["forgotten_branches"], 0);
    assert_eq!(kept["removed_objects"], 0);
    // As after days in which nothing served.
    let mark = SystemClock.now().minus_s(3 * DAY_S);
    let mut batch = Batch::default();
    batch.write(
        key::CLOCK.to_owned(),
        Expect::Anything,
        &json!({ "mark": mark }),
    );
    daemon.projects.store().commit(batch).unwrap();
    let now = ["--keep-deleted-days", "0"];
    let would = json_of(root, &[&["gc", "--dry-run", "--json"][..], &now].concat());
    assert_eq!(
        (&would["forgotten"], &would["unreachable"]["objects"]),
        (&json!(2), &json!(0))
    );
    let done = json_of(root, &[&["gc", "--json"][..], &now].concat());
    assert_eq!(done["forgotten_branches"], 2);
    assert_eq!(done["forgotten_projects"], 0);
    // Of each a blob, the root and the manifest.
    assert_eq!(done["removed_objects"], 6);
    text(root, &["project", "delete", "acme/shop.erp"]);
    let would = text(root, &[&["gc", "--dry-run"][..], &now].concat());
    assert!(
        would.starts_with("1 deleted projects and branches would be forgotten"),
        "{would}"
    );
    let done = text(root, &[&["gc"][..], &now].concat());
    assert!(
        done.starts_with("1 deleted projects and 0 deleted branches forgotten\n"),
        "{done}"
    );
    assert_eq!(number(root, "SELECT count(*) FROM object"), 0);
    let told = text(root, &["audit", "--json"]);
    let count = |action: &str| told.matches(&format!("\"action\":\"{action}\"")).count();
    assert_eq!(
        (count("branch-forgotten"), count("project-forgotten")),
        (2, 1)
    );
    assert_sound(root);
}

#[test]
fn one_beside_a_backup_or_another_waits_until_that_has_ended() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    saved(root, 1);
    let process = Process::beside(root);
    let folder = process.store().data_folder();
    for (number, is_interrupted) in [false, false, true].into_iter().enumerate() {
        let held = match number {
            0 => folder.lock_for_collection(),
            _ => folder.lock_for_backup(),
        };
        text(root, &["branch", "create", "acme/shop.erp", "gone"]);
        text(root, &["branch", "delete", "acme/shop.erp", "gone"]);
        let mut gc = command(root, &["gc", "--keep-deleted-days", "0"]);
        let gc = gc.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut gc = gc.unwrap();
        let waits_for = match number {
            0 => "a collection",
            _ => "a backup",
        };
        assert_eq!(first_said(&mut gc), waiting(waits_for, 60));
        // What it does before it takes its turn.
        assert_eq!(number_of_forgotten(root), number + 1);
        let held = held.unwrap();
        if is_interrupted {
            let id = i32::try_from(gc.id()).unwrap();
            kill_process(Pid::from_raw(id).unwrap(), Signal::INT).unwrap();
        } else {
            drop(held);
        }
        let ended = gc.wait_with_output().unwrap();
        let said = String::from_utf8(ended.stderr).unwrap();
        let (code, expected) = if is_interrupted {
            (
                130,
                "siteconf: interrupted; nothing half is left; before that, of what was deleted 0 projects and 1 branch \
                 were forgotten\n",
            )
        } else {
            (0, "")
        };
        assert_eq!((ended.status.code(), said.as_str()), (Some(code), expected));
    }
}

#[test]
fn a_backup_waits_for_the_end_of_a_collection_as_long_as_it_is_told_to() {
    let root = tempfile::tempdir().unwrap();
    let target = tempfile::tempdir().unwrap();
    let target = target.path().join("backup").display().to_string();
    let root = root.path();
    saved(root, 1);
    let process = Process::beside(root);
    let held = process.store().data_folder().lock_for_collection().unwrap();
    let begin = |wait: &str| {
        let mut backup = command(root, &["backup", "--wait", wait, &target]);
        let backup = backup.stdout(Stdio::piped()).stderr(Stdio::piped());
        backup.spawn().unwrap()
    };
    let mut patient = begin("6h");
    assert_eq!(first_said(&mut patient), waiting("a collection", 21_600));

    let begun = Instant::now();
    let ended = begin("1s").wait_with_output().unwrap();
    assert!(begun.elapsed() >= Duration::from_secs(1));
    let said = String::from_utf8(ended.stderr).unwrap();
    // One that got no time before the second was over says nothing of waiting.
    let behind = said.strip_prefix(waiting("a collection", 1).as_str());
    assert_eq!(
        (ended.status.code(), behind.unwrap_or(&said)),
        (
            Some(1),
            format!(
                "siteconf: {}: a collection is running; try again when it has ended\n",
                root.display()
            )
            .as_str()
        )
    );

    let mut interrupted = begin("6h");
    first_said(&mut interrupted);
    kill_process(Pid::from_child(&interrupted), Signal::INT).unwrap();
    assert_eq!(interrupted.wait().unwrap().code(), Some(130));

    assert!(patient.try_wait().unwrap().is_none());
    drop(held);
    let ended = patient.wait_with_output().unwrap();
    assert!(
        ended.status.success() && ended.stderr.is_empty(),
        "{ended:?}"
    );
    text(root, &["backup", "verify", &target]);
}

/// What a command says that waits.
fn waiting(what: &str, longest_s: u64) -> String {
    format!("siteconf: {what} is running; waiting for its end, {longest_s} seconds at most\n")
}

/// The first line that a process says on standard error. What follows is left there.
fn first_said(process: &mut Child) -> String {
    let mut line = Vec::new();
    let stderr = process.stderr.as_mut().unwrap();
    while line.last() != Some(&b'\n') {
        let mut byte = [0];
        assert_eq!(stderr.read(&mut byte).unwrap(), 1, "{line:?}");
        line.push(byte[0]);
    }
    String::from_utf8(line).unwrap()
}

/// It cannot tell what the database would have done with the room.
#[test]
fn a_collection_that_is_ended_says_nothing_of_the_room() {
    for (flags, expected) in [
        (&["gc"][..], "objects of"),
        (&["gc", "--json"], "\"shrinks\": null"),
    ] {
        let (_root, ended) = interrupted(flags, |_| {});
        let [told, said] =
            [ended.stdout, ended.stderr].map(|text| String::from_utf8(text).unwrap());
        // Who looks whether it has begun may have been in its way.
        let waited = ["a collection", "a backup"].map(|what| waiting(what, 60));
        let mut behind = waited
            .iter()
            .filter_map(|waited| said.strip_prefix(waited.as_str()));
        assert_eq!(
            (ended.status.code(), behind.next().unwrap_or(&said)),
            (Some(130), "siteconf: interrupted; nothing half is left\n")
        );
        assert!(
            told.contains(expected) && !told.contains("does not shrink"),
            "{told}"
        );
    }
}

/// A store, and what a collection of it said that Ctrl-C ended once it held the folder. From then on it waits two
/// seconds for readers: where this test lost so many, all may be removed, and another store is taken. So it is where
/// the collection and the look for it were in each other's way, and it had not begun: then it tells no result.
fn interrupted(flags: &[&str], prepare: impl Fn(&Path)) -> (TempDir, Output) {
    for _ in 0..10 {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        saved(root, 10);
        text(root, &["prune", "--keep-snapshots", "1"]);
        prepare(root);
        let process = Process::beside(root);
        let begun = Instant::now();
        let mut gc = command(root, flags);
        let gc = gc.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut gc = gc.unwrap();
        let mut is_over = false;
        while !is_over && process.store().data_folder().lock_for_collection().is_ok() {
            is_over = gc.try_wait().unwrap().is_some();
        }
        if !is_over {
            kill_process(Pid::from_child(&gc), Signal::INT).unwrap();
        }
        let is_in_time = !is_over && begun.elapsed() < Duration::from_secs(2);
        let ended = gc.wait_with_output().unwrap();
        if is_in_time && !ended.stdout.is_empty() {
            return (folder, ended);
        }
    }
    panic!("no collection was met before it removed anything");
}

#[test]
fn a_collection_that_is_ended_compacts_nothing() {
    let pages = Cell::new(0);
    let (root, ended) = interrupted(&["gc", "--compact"], |root| {
        let db = Connection::open(root.join("store.db")).unwrap();
        db.execute_batch(
            "BEGIN; CREATE TABLE room AS SELECT zeroblob(100000); DROP TABLE room; COMMIT",
        )
        .unwrap();
        let free = number(root, "PRAGMA freelist_count");
        assert!(free > 20, "{free}");
        pages.set(number(root, "PRAGMA page_count"));
    });
    assert_eq!(ended.status.code(), Some(130), "{ended:?}");
    // Free ones may be used again by what a collection writes itself.
    let (before, after) = (pages.get(), number(root.path(), "PRAGMA page_count"));
    assert!(after >= before, "{before} pages, then {after}");
}

#[test]
fn a_compaction_that_is_ended_changes_nothing_and_harms_nothing() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    saved(root, 300);
    text(root, &["prune", "--keep-snapshots", "1"]);
    let before = number(root, "PRAGMA page_count");
    let process = Process::beside(root);
    let alone = process.store().lock_out_service().unwrap();
    assert!(!process.store().compact(&alone, || true).unwrap());
    assert_eq!(number(root, "PRAGMA page_count"), before);
    // The store goes on, and so does another that is not ended.
    text(root, &["gc"]);
    assert!(process.store().compact(&alone, || false).unwrap());
    drop(alone);
    assert_sound(root);
}

/// How many branches were forgotten so far.
fn number_of_forgotten(root: &Path) -> usize {
    let told = text(root, &["audit", "--json"]);
    told.matches("\"action\":\"branch-forgotten\"").count()
}

#[test]
fn wrong_flags_are_refused() {
    let root = tempfile::tempdir().unwrap();
    saved(root.path(), 1);
    let wrong = siteconf(root.path(), &["gc", "--dry-run", "--compact"]);
    assert_eq!(wrong.status.code(), Some(2), "{wrong:?}");
    let wrong = siteconf(root.path(), &["project", "keep", "acme/shop.erp"]);
    assert_eq!(wrong.status.code(), Some(2), "{wrong:?}");
}

/// Makes of a closed folder one of format 2.
fn make_old(root: &Path) {
    let db = Connection::open(root.join("store.db")).unwrap();
    db.execute_batch(
        "DROP TABLE collection; DROP TABLE touched;
         PRAGMA journal_mode = DELETE; PRAGMA auto_vacuum = NONE; VACUUM; PRAGMA journal_mode = WAL;",
    )
    .unwrap();
    drop(db);
    fs::write(root.join("FORMAT"), "siteconf 2\n").unwrap();
}

#[test]
fn a_folder_of_format_2_shrinks_when_it_was_upgraded_and_compacted() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    saved(root, 300);
    make_old(root);
    let refused = siteconf(root, &["gc"]);
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    text(root, &["upgrade"]);
    let daemon = Process::daemon(root);
    text(root, &["prune", "--keep-snapshots", "1"]);
    let refused = siteconf(root, &["gc", "--compact"]);
    let told = String::from_utf8(refused.stderr).unwrap();
    assert!(
        told.contains("is in use by siteconf with process id"),
        "{told}"
    );
    let told = text(root, &["gc"]);
    assert!(
        told.contains("does not shrink") && told.contains("gc --compact"),
        "{told}"
    );
    drop(daemon);
    let before = number(root, "PRAGMA page_count");
    let done = json_of(root, &["gc", "--compact", "--json"]);
    let after = number(root, "PRAGMA page_count");
    assert!(after < before / 4, "{before} pages, then {after}");
    assert_eq!(done["given_back_bytes"], (before - after) * 4096);
    assert_eq!(number(root, "PRAGMA auto_vacuum"), 2);
    assert_eq!(json_of(root, &["gc", "--json"])["shrinks"], true);
    assert_sound(root);
}

#[test]
fn a_compaction_tells_all_that_the_database_has_lost() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    saved(root, 300);
    text(root, &["prune", "--keep-snapshots", "1"]);
    let before = number(root, "PRAGMA page_count");
    let done = json_of(root, &["gc", "--compact", "--json"]);
    let after = number(root, "PRAGMA page_count");
    assert!(after < before / 4, "{before} pages, then {after}");
    assert_eq!(done["given_back_bytes"], (before - after) * 4096);
}

/// It may be held: what it keeps would be removed.
#[test]
fn a_pin_that_cannot_be_opened_is_not_passed_over() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    saved(root, 1);
    symlink("pin-loop", root.join("incoming/pin-loop")).unwrap();
    let refused = siteconf(root, &["gc"]);
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    assert_eq!(
        String::from_utf8(refused.stderr).unwrap(),
        format!(
            "siteconf: {}: looking for imports: Too many levels of symbolic links (os error 40)\n",
            root.display()
        )
    );
}
