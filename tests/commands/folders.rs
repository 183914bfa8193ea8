//! Data folders that are none, or somebody else's.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::geteuid;
use serde_json::{Value, json};

use crate::daemon::copy_program;
use crate::left_out::leave_out;
use crate::mounted::Mounted;
use crate::stage::{Stage, command, refused};

const NOBODY: u32 = 65_534;

#[test]
fn a_folder_without_a_store_is_told_and_left_as_it_is() {
    let stage = Stage::with_nothing();
    stage.lay("other", &[("x", "")]);
    fs::create_dir(stage.path("empty")).unwrap();
    fs::write(stage.path("file"), "").unwrap();
    let advice = "name the folder of the store with --data or SITECONF_DATA";
    let init = |name: &str| {
        format!(
            "{advice}, or, if there is none yet, have it made with \"siteconf init --data {}\"",
            stage.shown(name)
        )
    };
    for (name, said) in [
        (
            "absent",
            format!("there is no such folder; {}", init("absent")),
        ),
        (
            "absent/deep",
            format!("there is no such folder; {}", init("absent/deep")),
        ),
        ("empty", format!("the folder is empty; {}", init("empty"))),
        (
            "other",
            format!("the folder holds no store (\"x\" is in it); {advice}"),
        ),
        ("file", format!("it is no folder; {advice}")),
    ] {
        for words in [
            &["user", "list"][..],
            &["user", "add", "ann"],
            &["status"],
            &["project", "list"],
            &["gc"],
            &["debug", "check"],
            &["backup", "/dev/null"],
        ] {
            let said = format!("siteconf: {}: {said}", stage.shown(name));
            refused(&mut command(&stage.path(name), words), 1, &said);
        }
    }
    for (name, words) in [("other", "init"), ("other", "serve")] {
        let said = format!(
            "siteconf: {}: the folder is not empty and holds no store (\"x\" is in it); name an empty folder",
            stage.shown(name)
        );
        refused(&mut command(&stage.path(name), &[words]), 1, &said);
    }
    for words in ["init", "serve"] {
        let said = format!(
            "siteconf: {}: it is no folder; {advice}",
            stage.shown("file")
        );
        refused(&mut command(&stage.path("file"), &[words]), 1, &said);
    }
    assert!(!stage.path("absent").exists());
    for (name, count) in [("empty", 0), ("other", 1)] {
        assert_eq!(fs::read_dir(stage.path(name)).unwrap().count(), count);
    }
    // What was advised works.
    refused_no_more(&stage.path("absent"));
}

fn refused_no_more(data: &Path) {
    assert!(command(data, &["init"]).output().unwrap().status.success());
    assert!(
        command(data, &["user", "list"])
            .output()
            .unwrap()
            .status
            .success()
    );
}

#[test]
fn a_store_that_is_damaged_is_told_with_its_file() {
    let stage = Stage::new();
    fs::write(
        stage.path("data/store.db"),
        "no database at all, ".repeat(1000),
    )
    .unwrap();
    let said = format!(
        "siteconf: {}: database: file is not a database: store.db is damaged; see what is left with \
         \"siteconf debug check\", and restore the folder from a backup",
        stage.shown("data")
    );
    for words in [&["user", "list"][..], &["serve", "--listen", "127.0.0.1:0"]] {
        stage.refused(words, 1, &said);
    }
    for name in ["store.db", "store.db-wal", "store.db-shm"] {
        // The log may be gone.
        drop(fs::remove_file(stage.path("data").join(name)));
    }
    let said = format!(
        "siteconf: {}: store.db is missing although FORMAT says that a store is here; restore it from a \
         backup",
        stage.shown("data")
    );
    for words in [&["user", "list"][..], &["serve", "--listen", "127.0.0.1:0"]] {
        stage.refused(words, 1, &said);
    }
}

#[test]
fn a_store_that_has_lost_its_format_is_told_and_left_as_it_is() {
    let stage = Stage::new();
    let format = stage.path("data/FORMAT");
    let kept = fs::read(&format).unwrap();
    fs::remove_file(&format).unwrap();
    let said = format!(
        "siteconf: {}: FORMAT is missing although store.db is there; put it back with the number that it had, from a \
         copy of the folder or as objects-layout.md (\"Data folder\") shows it, or restore the store from a backup",
        stage.shown("data")
    );
    for words in [
        &["status"][..],
        &["user", "list"],
        &["user", "add", "bob"],
        &["gc"],
        &["init"],
        &["serve", "--listen", "127.0.0.1:0"],
    ] {
        stage.refused(words, 1, &said);
    }
    assert!(!format.exists());
    // What was advised works.
    fs::write(&format, kept).unwrap();
    stage.done(&["user", "add", "bob"]);
}

/// Whoever only looks changes nothing, and may be another: root sees what `nobody` keeps.
#[test]
fn another_users_folder_is_told_with_its_owner_and_what_that_one_runs() {
    if !geteuid().is_root() {
        leave_out("only root can be two users");
        return;
    }
    let stage = Stage::new();
    let data = stage.path("data");
    // Where everybody may run it.
    let program = stage.path("siteconf");
    copy_program(&program);
    let as_nobody = |words: &[&str]| {
        let told = stage.command(words);
        let mut command = Command::new(&program);
        command.args(told.get_args()).stdin(Stdio::null());
        command.uid(NOBODY).gid(NOBODY);
        command
    };
    // The folder of the test itself is root's alone.
    fs::set_permissions(stage.path(""), fs::Permissions::from_mode(0o755)).unwrap();
    let unreadable = format!(
        "siteconf: {}: it cannot be read: Permission denied (os error 13); the folder belongs to root, and \
         this is nobody",
        data.join("FORMAT").display()
    );
    for words in [&["user", "list"][..], &["user", "add", "bob"], &["serve"]] {
        refused(&mut as_nobody(words), 1, &unreadable);
    }
    for entry in walkdir::WalkDir::new(&data) {
        chown(entry.unwrap().path(), Some(NOBODY), Some(NOBODY)).unwrap();
    }
    let of_another = format!(
        "siteconf: {}: it belongs to the user nobody, and this is root: its owner could not read what is \
         written now; run the command as its owner: sudo -u 'nobody' siteconf …",
        data.display()
    );
    for words in [
        &["user", "add", "bob"][..],
        &["token", "revoke", "1"],
        &["gc"],
        &["serve"],
    ] {
        stage.refused(words, 1, &of_another);
    }
    for words in [
        &["user", "list"][..],
        &["user", "show", "ann"],
        &["user", "role", "list"],
        &["token", "list"],
        &["token", "show", "1"],
    ] {
        stage.done(words);
    }
    let made = as_nobody(&["user", "add", "bob"]).output().unwrap();
    assert!(made.status.success(), "{made:?}");
    // Who looks is not asked whether it could write, the owner is.
    status_refuses(&mut stage.command(&["status", "--json"]), None);
    fs::set_permissions(&data, fs::Permissions::from_mode(0o500)).unwrap();
    status_refuses(&mut stage.command(&["status", "--json"]), None);
    let why = format!(
        "{}: nothing can be written here: Permission denied (os error 13)",
        data.display()
    );
    status_refuses(&mut as_nobody(&["status", "--json"]), Some(&why));
}

/// Asserts what the status says of why changes are refused, which is a finding.
#[track_caller]
fn status_refuses(status: &mut Command, why: Option<&str>) {
    let ran = status.output().unwrap();
    let shown: Value = serde_json::from_slice(&ran.stdout).unwrap();
    let finding = why.map(|why| format!("changes are refused until that is put right: {why}"));
    assert_eq!(
        (
            ran.status.code(),
            &shown["writes_refused"],
            &shown["findings"]
        ),
        (
            Some(i32::from(why.is_some())),
            &json!(why),
            &json!(Vec::from_iter(finding))
        )
    );
}

#[test]
fn the_status_of_a_folder_that_takes_no_changes_says_so() {
    let stage = Stage::new();
    let data = stage.path("data");
    let status = || stage.command(&["status", "--json"]);
    status_refuses(&mut status(), None);
    let shown = stage.shown("data");
    for (part, mode) in [("", 0o777), ("secrets", 0o720)] {
        let path = data.join(part);
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let why = format!(
            "{}: others than its owner may write here (mode {mode:o}): look what they wrote, then take the \
             right from them: chmod -R go-w '{shown}'",
            path.display().to_string().trim_end_matches('/')
        );
        // As who changes something is told.
        stage.refused(&["user", "add", "bob"], 1, &format!("siteconf: {why}"));
        status_refuses(&mut status(), Some(&why));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
    }
    if let Some(_mounted) = Mounted::again(&data, &data) {
        let read_only = Command::new("mount")
            .args(["-o", "remount,bind,ro"])
            .arg(&data)
            .status();
        assert!(read_only.unwrap().success());
        let why =
            format!("{shown}: nothing can be written here: Read-only file system (os error 30)");
        stage.refused(&["user", "add", "bob"], 1, &format!("siteconf: {why}"));
        status_refuses(&mut status(), Some(&why));
    }
    status_refuses(&mut status(), None);
}

#[test]
fn the_status_of_an_older_copy_of_the_database_says_that_changes_are_refused() {
    let stage = Stage::new();
    let mark = stage.path("data/high-water");
    let marked = || {
        let text = fs::read_to_string(&mark).unwrap();
        u64::from_str_radix(&text[..16], 16).unwrap()
    };
    let files = ["data/store.db", "data/store.db-wal"].map(|name| stage.path(name));
    let older = files.each_ref().map(|file| fs::read(file).ok());
    let last = marked();
    stage.done(&["user", "add", "bob"]);
    status_refuses(&mut stage.command(&["status", "--json"]), None);
    for (file, bytes) in files.iter().zip(older) {
        match bytes {
            Some(bytes) => fs::write(file, bytes).unwrap(),
            // None was there.
            None => drop(fs::remove_file(file)),
        }
    }
    drop(fs::remove_file(stage.path("data/store.db-shm")));

    let why = format!(
        "{}: the database ends at version {last}, but version {} was acknowledged: its log was cut or \
         damaged, or an older copy took its place; restore a backup, or remove the file \"high-water\" to \
         go on without what is lost",
        stage.shown("data/store.db"),
        marked()
    );
    // As who changes something is told.
    for words in [&["gc"][..], &["user", "add", "eve"]] {
        stage.refused(words, 1, &format!("siteconf: {why}"));
    }
    status_refuses(&mut stage.command(&["status", "--json"]), Some(&why));
    assert_eq!(status_line(&stage, "changes"), "refused");

    // What was advised works, and the next change makes the mark anew.
    fs::remove_file(&mark).unwrap();
    status_refuses(&mut stage.command(&["status", "--json"]), None);
    stage.done(&["user", "add", "eve"]);
    assert_eq!(status_line(&stage, "changes"), "accepted");
}

#[test]
fn the_status_tells_a_mark_that_is_damaged_and_refuses_nothing_for_it() {
    let stage = Stage::new();
    fs::write(stage.path("data/high-water"), "0").unwrap();
    let ran = stage.command(&["status", "--json"]).output().unwrap();
    let shown: Value = serde_json::from_slice(&ran.stdout).unwrap();
    let finding = "the high-water mark is damaged: nothing tells whether the last commits are there; one \
                   that is damaged is made anew with the next change";
    assert_eq!(
        (
            ran.status.code(),
            &shown["writes_refused"],
            &shown["findings"]
        ),
        (Some(1), &Value::Null, &json!([finding]))
    );
    // The log of the command says nothing of it beside.
    assert_eq!(String::from_utf8(ran.stderr).unwrap(), "");
    assert_eq!(status_line(&stage, "changes"), "accepted");

    // So it is, also where something stands behind it. Whoever makes the change tells it in the log.
    let change = |words: &[&str]| {
        let ran = stage.command(words).output().unwrap();
        assert!(ran.status.success(), "{ran:?}");
    };
    change(&["user", "disable", "admin", "--force"]);
    stage.done(&["status"]);
    let mark = fs::read_to_string(stage.path("data/high-water")).unwrap();
    fs::write(stage.path("data/high-water"), mark.repeat(2)).unwrap();
    change(&["user", "enable", "admin"]);
    stage.done(&["status"]);
}

#[test]
fn the_status_of_a_database_that_cannot_be_read_does_not_say_that_changes_are_accepted() {
    let stage = Stage::new();
    let garbage = "no database at all, ".repeat(1000);
    fs::write(stage.path("data/store.db"), garbage).unwrap();
    let ran = stage.command(&["status", "--json"]).output().unwrap();
    let shown: Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!(
        (
            ran.status.code(),
            &shown["projects"],
            &shown["writes_refused"]
        ),
        (Some(1), &Value::Null, &Value::Null)
    );
    assert_eq!(status_line(&stage, "changes"), "unknown");
}

/// What the status shows on the first line of this name.
#[track_caller]
fn status_line(stage: &Stage, name: &str) -> String {
    let ran = stage.command(&["status"]).output().unwrap();
    let text = String::from_utf8(ran.stdout).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.unwrap().trim_start().to_owned()
}

#[test]
fn the_status_below_disk_free_min_says_that_saves_are_refused() {
    let stage = Stage::new();
    let words = ["status", "--disk-free-min", "8000000000000000000"];
    let ran = stage.command(&words).output().unwrap();
    let text = String::from_utf8(ran.stdout).unwrap();
    let line = |name: &str| {
        let mut lines = text.lines();
        let line = lines.find(|line| line.starts_with(name)).unwrap();
        line[name.len()..].trim_start().to_owned()
    };
    assert_eq!(ran.status.code(), Some(1), "{text}");
    assert_eq!(line("changes"), "refused");
    let (free, said) = line("to do")
        .split_once(' ')
        .map(|(a, b)| (a.to_owned(), b.to_owned()))
        .unwrap();
    assert!(free.parse::<u64>().is_ok(), "{free}");
    assert_eq!(
        said,
        "bytes are free on the disk, less than disk_free_min: saves are refused until there is more, or it \
         is set lower"
    );
}
