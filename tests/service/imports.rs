//! Imports by the binary itself: ended by a signal, beside what it may not read, on a terminal.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;

use rustix::process::{Pid, Signal, geteuid, kill_process};
use serde_json::{Value, json};

use crate::daemon::{Daemon, PROJECT, copy_program, on_branch, siteconf};
use crate::planted;
use crate::terminal::{Ended, Terminal};

/// A user who owns nothing.
const NOBODY: u32 = 65_534;

fn said(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// What a command that must succeed prints.
#[track_caller]
fn done(mut command: Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(said(&output), "");
    String::from_utf8(output.stdout).unwrap()
}

/// How many names a folder holds.
fn count(folder: &Path) -> usize {
    fs::read_dir(folder).unwrap().count()
}

/// The size of the largest file in a folder from which files go meanwhile.
fn largest(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
    let sizes = entries.filter_map(|entry| Some(entry.metadata().ok()?.len()));
    sizes.max().unwrap_or_default()
}

/// Every file of a folder that is no folder itself.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = walkdir::WalkDir::new(folder)
        .into_iter()
        .map(Result::unwrap);
    let files = entries.filter(|entry| entry.file_type().is_file());
    files.map(|entry| entry.path().to_owned()).collect()
}

#[test]
fn an_import_that_a_signal_ends_saves_nothing_and_says_so() {
    let daemon = Daemon::start();
    let mut admin = daemon.admin();
    Daemon::make_project(&mut admin);
    let folder = tempfile::tempdir().unwrap();
    planted::plant(folder.path(), 1_500);
    daemon.import(folder.path());
    let before = admin.get(&on_branch("/history")).json();
    let blobs = files(&daemon.data().join("blobs"));
    // New files that come first, and one that is read for as long as it takes: its blocks are sparse.
    for number in 0..300 {
        let name = format!("0 new {number}");
        fs::write(folder.path().join(&name), name.repeat(20_000)).unwrap();
    }
    let large = fs::File::create(folder.path().join("zz large")).unwrap();
    large.set_len(16 << 30).unwrap();
    let incoming = daemon.data().join("incoming");
    for (signal, code, words) in [
        (Signal::INT, 130, ["import", PROJECT, "main", "--mirror"]),
        (
            Signal::TERM,
            143,
            ["import", "acme/new.erp", "main", "--owner=admin"],
        ),
    ] {
        let mut import = daemon.command(&words);
        let import = import
            .arg(folder.path())
            .args(["--file-bytes-max", "20G"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut import = import.spawn().unwrap();
        // The large file is under way.
        while largest(&incoming) < 32 << 20 {
            assert!(import.try_wait().unwrap().is_none());
            thread::yield_now();
        }
        kill_process(Pid::from_child(&import), signal).unwrap();
        let ended = import.wait_with_output().unwrap();
        assert_eq!(ended.status.code(), Some(code), "{ended:?}");
        assert_eq!(said(&ended), "siteconf: interrupted; nothing was saved\n");
        assert_eq!(String::from_utf8_lossy(&ended.stdout), "");
        assert_eq!(count(&incoming), 0);
    }
    assert_eq!(admin.get(&on_branch("/history")).json(), before);
    let listed = done(daemon.command(&["project", "list", "--json"]));
    let listed: Value = serde_json::from_str(&listed).unwrap();
    let projects = listed.as_array().unwrap().iter();
    let projects: Vec<_> = projects.map(|project| &project["repo_id"]).collect();
    assert_eq!(projects, [&json!(PROJECT)]);
    // What was written by then is no damage, and goes.
    done(daemon.command(&["debug", "check"]));
    assert!(files(&daemon.data().join("blobs")).len() > blobs.len());
    done(daemon.command(&["gc"]));
    let mut left = files(&daemon.data().join("blobs"));
    let mut blobs = blobs;
    left.sort();
    blobs.sort();
    assert_eq!(left, blobs);

    // It is as if it had never been.
    fs::remove_file(folder.path().join("zz large")).unwrap();
    let output = daemon.import(folder.path());
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(
        told.contains(": 300 added, 0 changed, 0 removed\n"),
        "{told}"
    );
}

#[test]
fn what_cannot_be_read_ends_an_import_unless_it_is_left_out() {
    let room = tempfile::tempdir().unwrap();
    let at = |name: &str| room.path().join(name);
    let mode = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    let is_root = geteuid().is_root();
    // The folder of the test and the binary in reach of everybody.
    mode(room.path(), 0o777);
    let program = at("siteconf");
    copy_program(&program);
    let command = |words: &[&str]| {
        let mut command = Command::new(&program);
        command.arg("--data").arg(at("data")).args(words);
        // Who is root may read everything.
        if is_root {
            command.uid(NOBODY).gid(NOBODY);
        }
        command.stdin(Stdio::null());
        command
    };
    done(command(&["init"]));
    for name in ["closed/x", "no", "yes"] {
        let place = at("in").join(name);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::write(place, name).unwrap();
    }
    mode(&at("in/no"), 0);
    mode(&at("in/closed"), 0);
    let dir = at("in").display().to_string();
    let import = ["import", "acme/shop.erp", "main", &dir, "--owner", "admin"];
    for more in [&[][..], &["--dry-run"], &["--mirror", "--json"]] {
        let refused = command(&[&import[..], more].concat()).output().unwrap();
        assert_eq!(refused.status.code(), Some(1), "{refused:?}");
        assert_eq!(
            said(&refused),
            format!(
                "cannot take {dir}/closed: Permission denied (os error 13)\n\
                 cannot take {dir}/no: Permission denied (os error 13)\n\
                 siteconf: 2 unreadable: nothing was saved; --skip-unreadable leaves them out\n"
            )
        );
        assert_eq!(refused.stdout, b"");
    }
    assert_eq!(done(command(&["project", "list", "--json"])), "[]\n");
    for name in ["data/blobs", "data/incoming"] {
        assert_eq!(files(&at(name)), [""; 0].map(PathBuf::from), "{name}");
    }

    let accepted = [&import[..], &["--skip-unreadable", "--json"]].concat();
    let accepted = command(&accepted).output().unwrap();
    assert_eq!(accepted.status.code(), Some(0), "{accepted:?}");
    assert_eq!(
        said(&accepted),
        format!(
            "skipped {dir}/closed: Permission denied (os error 13)\n\
             skipped {dir}/no: Permission denied (os error 13)\n\
             skipped: 2 unreadable\n"
        )
    );
    let mut report: Value = serde_json::from_slice(&accepted.stdout).unwrap();
    assert!(report["short_id"].take().is_string());
    assert_eq!(
        report,
        json!({
            "project": "acme/shop.erp", "branch": "main", "dry_run": false, "project_made": true,
            "branch_made": true, "files": 1, "bytes": 3, "added": 1, "changed": 0, "removed": 0,
            "skipped": {
                "symbolic_links": 0, "special_files": 0, "impossible_names": 0, "too_large": 0,
                "unreadable": 2, "excluded": 0,
            },
            "snapshot": "v0001", "short_id": null,
        })
    );
    // What is excluded need not be readable.
    let excluding = ["--exclude", "no", "--exclude", "/closed/", "--json"];
    let excluding = command(&[&import[..], &excluding].concat())
        .output()
        .unwrap();
    assert_eq!(excluding.status.code(), Some(0), "{excluding:?}");
    assert_eq!(said(&excluding), "skipped: 2 excluded\n");
    mode(&at("in/closed"), 0o755);
}

/// Who looks on sees one line, which goes before the last word.
#[test]
fn an_import_on_a_terminal_shows_how_far_it_is() {
    let room = tempfile::tempdir().unwrap();
    let data = room.path().join("data");
    let command = |words: &[&str]| {
        let mut command = siteconf(&data);
        command.args(words);
        command
    };
    done(command(&["init"]));
    let folder = room.path().join("in");
    fs::create_dir(&folder).unwrap();
    for name in ["a", "b", "c"] {
        fs::write(folder.join(name), name).unwrap();
    }
    let folder = folder.display().to_string();
    let import = ["import", PROJECT, "main", &folder, "--owner", "admin"];
    let Ended { code, shown, .. } = Terminal::run(command(&import)).end();
    assert_eq!(code, Some(0), "{shown:?}");
    let lines: Vec<_> = shown.split("\r\x1b[K").collect();
    // On a slow machine there are more of either in between.
    assert_eq!(lines[..2], ["", "1 file found"], "{shown:?}");
    assert!(
        lines.contains(&"0 of 3 files, 0 of 1 MiB read"),
        "{shown:?}"
    );
    let last = lines.last().unwrap();
    let id = &last.split("now ").nth(1).unwrap()[..8];
    assert_eq!(
        *last,
        format!(
            "project acme/shop.erp made, owned by admin\n\
             branch main made\n\
             3 files, 3 bytes imported into acme/shop.erp:main, now {id}: 3 added, 0 changed, 0 removed\n\
             undo: siteconf rollback acme/shop.erp main v0001\n"
        )
    );
}
