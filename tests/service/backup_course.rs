//! How a backup ends that is interrupted, is not the owner's, or meets a collection.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;

use rusqlite::Connection;
use rustix::process::{Pid, Signal, geteuid, kill_process};
use siteconf::store::sqlite::Folder;

use crate::backup::{back_up, said, small_service};
use crate::daemon::{Daemon, copy_program, siteconf};
use crate::left_out::leave_out;
use crate::rounds::Rounds;
use crate::terminal::{Ended, Terminal};
use crate::writers::save;

/// Saves of each writer in a round.
const SAVES: usize = 30;
/// A user who owns nothing here.
const NOBODY: u32 = 65_534;

fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

/// The files below a path, with their contents.
fn contents(path: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let entries = walkdir::WalkDir::new(path).sort_by_file_name().into_iter();
    entries
        .filter_map(Result::ok)
        .filter(|entry| entry.file_type().is_file())
        .map(|entry| (entry.path().to_owned(), fs::read(entry.path()).unwrap()))
        .collect()
}

#[test]
fn ctrl_c_ends_a_backup_and_leaves_the_one_before() {
    let (daemon, room) = small_service();
    let mut admin = daemon.admin();
    let mut number = 0_u64;
    // As many bytes as take a while, and are new.
    let mut add = || {
        number += 1;
        let mut content = vec![0; 12 << 20];
        blake3::Hasher::new()
            .update(&number.to_le_bytes())
            .finalize_xof()
            .fill(&mut content);
        save(&mut admin, &format!("large/{number}.xml"), &content).unwrap();
    };
    for name in ["backup", "backup.tar"] {
        let target = room.path().join(name);
        let begun = match name {
            "backup" => target.join("UNFINISHED"),
            _ => room.path().join("backup.tar.new"),
        };
        for (asks, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
            let (before, ended) = loop {
                add();
                let before = contents(&target);
                let mut backup = back_up(&daemon, &target);
                let mut is_over = || backup.try_wait().unwrap().is_some();
                while !begun.exists() && !is_over() {
                    thread::yield_now();
                }
                // Of one that has been waited for there is no process any more.
                if !is_over() {
                    signal(&backup, asks);
                }
                let ended = backup.wait_with_output().unwrap();
                // One that was quicker than the signal shows nothing.
                if !ended.status.success() {
                    break (before, ended);
                }
            };
            assert_eq!(ended.status.code(), Some(code), "{ended:?}");
            assert_eq!(
                said(&ended),
                "siteconf: interrupted; nothing half is left\n"
            );
            assert!(contents(&target) == before, "{name}");
            assert_eq!(target.exists(), !before.is_empty());
            assert!(!begun.exists());
            if before.is_empty() {
                let whole = daemon.command(&["backup"]).arg(&target).output().unwrap();
                assert!(whole.status.success(), "{whole:?}");
            }
        }
        let verified = daemon.command(&["backup", "verify"]).arg(&target).output();
        assert!(verified.unwrap().status.success());
    }
}

#[test]
fn ctrl_c_ends_a_backup_that_waits_for_a_collection() {
    let (daemon, room) = small_service();
    let collecting = Folder::open(&daemon.data()).unwrap().lock_for_collection();
    let target = room.path().join("backup");
    let mut backup = back_up(&daemon, &target);
    let mut told = BufReader::new(backup.stderr.take().unwrap());
    let mut waits = String::new();
    told.read_line(&mut waits).unwrap();
    assert_eq!(
        waits,
        "siteconf: a collection is running; waiting for its end, 60 seconds at most\n"
    );
    signal(&backup, Signal::INT);
    let mut end = String::new();
    told.read_to_string(&mut end).unwrap();
    assert_eq!(end, "siteconf: interrupted; nothing half is left\n");
    assert_eq!(backup.wait().unwrap().code(), Some(130));
    assert!(!target.exists());
    drop(collecting);
}

#[test]
fn a_backup_by_another_user_than_the_owner_is_refused() {
    if !geteuid().is_root() {
        leave_out("only root becomes another user");
        return;
    }
    let (mut daemon, room) = small_service();
    assert!(daemon.stop().success());
    let data = daemon.data();
    let mode = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    // The folder of the test and the binary in reach of everybody.
    mode(data.parent().unwrap(), 0o755);
    mode(room.path(), 0o777);
    let program = room.path().join("siteconf");
    copy_program(&program);
    let target = room.path().join("backup");
    let backed_up_by = |user: u32| -> Output {
        let mut command = Command::new(&program);
        command.arg("--data").arg(&data).arg("backup").arg(&target);
        command.uid(user).gid(user).stdin(Stdio::null());
        command.output().unwrap()
    };
    let refused = |user: u32, place: &Path, reason: &str| {
        let refused = backed_up_by(user);
        assert_eq!(refused.status.code(), Some(1), "{refused:?}");
        let place = place.display();
        assert_eq!(said(&refused), format!("siteconf: {place}: {reason}\n"));
        assert!(!target.exists());
    };
    refused(
        NOBODY,
        &data.join("FORMAT"),
        "it cannot be read: Permission denied (os error 13); the folder belongs to root, and this is nobody",
    );
    for entry in walkdir::WalkDir::new(&data).contents_first(true) {
        let entry = entry.unwrap();
        let is_dir = entry.file_type().is_dir();
        mode(entry.path(), if is_dir { 0o755 } else { 0o644 });
    }
    refused(
        NOBODY,
        &data,
        "it belongs to the user root, and this is nobody: its owner could not read what is written now; \
         run the command as its owner: sudo -u 'root' siteconf …",
    );
    // As from the crontab of root.
    for entry in walkdir::WalkDir::new(&data) {
        chown(entry.unwrap().path(), Some(NOBODY), Some(NOBODY)).unwrap();
    }
    refused(
        0,
        &data,
        "it belongs to the user nobody, and this is root: its owner could not read what is written now; \
         run the command as its owner: sudo -u 'nobody' siteconf …",
    );
    let own = backed_up_by(NOBODY);
    assert!(own.status.success(), "{own:?}");
}

#[test]
fn a_backup_makes_no_more_than_its_own_folder() {
    let (daemon, room) = small_service();
    let above = room.path().join("mount");
    for name in ["backup", "backup.tar"] {
        let refused = back_up(&daemon, &above.join(name));
        let refused = refused.wait_with_output().unwrap();
        let expected = format!(
            "siteconf: there is no folder {}: a backup makes only the last one of its path; is the disk \
             mounted?\n",
            above.display()
        );
        assert_eq!((refused.status.code(), said(&refused)), (Some(1), expected));
    }
    assert!(!above.exists() && !daemon.data().join("last-backup").exists());
}

/// Who looks on sees one line, which goes before the last word.
#[test]
fn a_backup_on_a_terminal_shows_how_far_it_is() {
    let (daemon, room) = small_service();
    let target = room.path().join("backup");
    let mut backup = daemon.command(&["backup"]);
    backup.arg(&target);
    let Ended { code, shown, .. } = Terminal::run(backup).end();
    assert_eq!(code, Some(0), "{shown}");
    let mut lines = shown.split("\r\x1b[K");
    assert_eq!(lines.next(), Some(""), "{shown:?}");
    assert_eq!(lines.next(), Some("1 files, 0 MiB written"), "{shown:?}");
    let last = lines.last().unwrap();
    let said = format!("backed up to {}: the state of ", target.display());
    assert!(last.starts_with(&said) && last.ends_with('\n'), "{shown:?}");
}

#[test]
fn a_backup_beside_collections_restores_whole() {
    let rounds = Rounds::or(3);
    let (daemon, room) = small_service();
    let admin = daemon.admin();
    let target = room.path().join("backup");
    let db = Connection::open(daemon.data().join("store.db")).unwrap();
    let is_collecting = || {
        let scope = db.query_one("SELECT scope FROM collection", [], |row| row.get(0));
        scope.unwrap_or(0_i64) != 0
    };
    let mut removed = 0;
    for round in 0..rounds.count {
        let pruned = daemon.command(&["prune", "--keep-snapshots", "3"]).output();
        assert!(pruned.as_ref().unwrap().status.success(), "{pruned:?}");
        let collect = || {
            let mut gc = daemon.command(&["gc", "--json"]);
            gc.stdout(Stdio::piped()).stderr(Stdio::piped());
            gc.spawn().unwrap()
        };
        let (backup, gc) = thread::scope(|scope| {
            for writer in 0..3 {
                let mut client = admin.another();
                scope.spawn(move || {
                    for number in 0..SAVES {
                        // Contents that come again after they were collected, some of them large.
                        let content = format!("{writer} {number}\n");
                        let content = content.repeat(if number % 4 == 3 { 9_000 } else { 1 });
                        save(&mut client, &format!("{writer}.xml"), content.as_bytes()).unwrap();
                    }
                });
            }
            let (backup, gc) = if round % 2 == 0 {
                let mut gc = collect();
                while !is_collecting() && gc.try_wait().unwrap().is_none() {
                    thread::yield_now();
                }
                (back_up(&daemon, &target), gc)
            } else {
                (back_up(&daemon, &target), collect())
            };
            let ended = |child: Child| child.wait_with_output().unwrap();
            (ended(backup), ended(gc))
        });
        assert!(backup.status.success(), "{backup:?}");
        assert!(gc.status.success(), "{gc:?}");
        let told: serde_json::Value = serde_json::from_slice(&gc.stdout).unwrap();
        removed += told["removed_objects"].as_u64().unwrap();
        assert_sound(&daemon, &target);
    }
    assert!(removed > 0, "{removed}");
}

/// Restores a backup elsewhere, and asserts that nothing is missing there.
fn assert_sound(daemon: &Daemon, target: &Path) {
    let verified = daemon.command(&["backup", "verify"]).arg(target).output();
    assert!(verified.as_ref().unwrap().status.success(), "{verified:?}");
    let elsewhere = tempfile::tempdir().unwrap();
    let data = elsewhere.path().join("data");
    let restored = siteconf(&data).arg("restore").arg(target).output().unwrap();
    assert!(restored.status.success(), "{restored:?}");
    let checked = siteconf(&data).args(["debug", "check", "--deep"]).output();
    assert!(checked.as_ref().unwrap().status.success(), "{checked:?}");
}
