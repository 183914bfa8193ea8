//! `debug` and `export` where others write, and where nobody may.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use rustix::process::geteuid;
use serde_json::json;

use crate::client::{Client, segment};
use crate::daemon::{Daemon, PROJECT, copy_program};
use crate::damage::Store;

const BRANCHES: u32 = 300;

#[test]
fn a_check_beside_saves_and_deletions_of_branches_finds_nothing() {
    let daemon = Daemon::start();
    let mut admin = daemon.admin();
    Daemon::make_project(&mut admin);
    let branches = format!("/site-builder/api/projects/{}/branches", segment(PROJECT));
    let make = |client: &mut Client, name: &str| {
        let made = client.post(&branches, &json!({ "name": name, "from": "main" }));
        assert_eq!(made.status, 201, "{made:?}");
    };
    let save = |client: &mut Client, name: &str| {
        let target = format!("{branches}/{name}/files/x");
        let saved = client.attempt("PUT", &target, "", b"x").unwrap();
        assert!(matches!(saved.status, 200 | 201), "{saved:?}");
    };
    // So many that the last is saved to while the snapshots of the first are read.
    for number in 0..=BRANCHES {
        make(&mut admin, &number.to_string());
    }
    let last = BRANCHES.to_string();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let mut other = daemon.admin();
        let (done, make, save, last, branches) = (&done, &make, &save, &last, &branches);
        scope.spawn(move || {
            while !done.load(Ordering::Relaxed) {
                save(&mut admin, last);
            }
        });
        scope.spawn(move || {
            while !done.load(Ordering::Relaxed) {
                make(&mut other, "other");
                for _ in 0..5 {
                    save(&mut other, "other");
                }
                let deleted = other.attempt("DELETE", &format!("{branches}/other"), "", b"");
                assert_eq!(deleted.unwrap().status, 204);
            }
        });
        let checks: Vec<_> = (0..10)
            .map(|_| {
                let check = ["debug", "check"];
                daemon.command(&check).output().unwrap()
            })
            .collect();
        done.store(true, Ordering::Relaxed);
        for output in checks {
            assert!(output.status.success(), "{output:?}");
            let said = String::from_utf8(output.stdout).unwrap();
            assert!(said.ends_with("; 0 findings\n"), "{said}");
        }
    });
}

#[test]
fn what_may_only_be_read_is_checked_and_exported() {
    let store = Store::new();
    // A name that a URI has to escape.
    let folder = store.folder.path().join("a?b#c%20 d");
    fs::rename(store.data(), &folder).unwrap();
    // An empty log is none.
    fs::write(folder.join("store.db-wal"), "").unwrap();
    fs::remove_file(folder.join("store.db-shm")).unwrap_or(());
    let out = store.folder.path().join("out");
    fs::create_dir(&out).unwrap();
    let reader = Reader::of(&store, &folder, &out);
    let read = |words: &[&str]| {
        let output = reader.command(&folder).args(words).output().unwrap();
        assert!(output.status.success(), "{words:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let checked = read(&["debug", "check", "--deep"]);
    assert!(checked.ends_with("; 0 findings\n"), "{checked}");
    let exported = out.join("main");
    let said = read(&["export", PROJECT, "main", exported.to_str().unwrap()]);
    assert!(said.contains(" files exported to "), "{said}");
    assert_eq!(fs::read(exported.join("later/0")).unwrap(), b"later");
    assert!(!folder.join("store.db-shm").exists());

    // What would write says why it cannot.
    if let Some(user) = reader.user {
        for entry in walkdir::WalkDir::new(&folder) {
            chown(entry.unwrap().path(), Some(user), None).unwrap();
        }
    }
    for words in [&["user", "disable", "admin"][..], &["serve"]] {
        let output = reader.command(&folder).args(words).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        assert_eq!(
            String::from_utf8(output.stderr).unwrap(),
            format!(
                "siteconf: {}: nothing can be written here: Permission denied (os error 13)\n",
                folder.display()
            )
        );
    }

    // What a log holds must not be missed.
    fs::write(folder.join("store.db-wal"), "frames").unwrap();
    let output = reader.command(&folder).args(["debug", "refs"]).output();
    let said = String::from_utf8(output.unwrap().stderr).unwrap();
    assert!(
        said.contains("store.db: its log, store.db-wal, has to be copied into it"),
        "{said}"
    );
}

/// A user who may read a store, and write only into one folder.
struct Reader {
    program: PathBuf,
    /// Whose rights it takes; `None` for those that the test has.
    user: Option<u32>,
}

impl Reader {
    fn of(store: &Store, data: &Path, out: &Path) -> Self {
        let mode = |path: &Path, mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        for entry in walkdir::WalkDir::new(data).contents_first(true) {
            let entry = entry.unwrap();
            let is_dir = entry.file_type().is_dir();
            mode(entry.path(), if is_dir { 0o555 } else { 0o444 });
        }
        // Who is root may write everywhere.
        let user = geteuid().is_root().then_some(65_534);
        let mut program = PathBuf::from(env!("CARGO_BIN_EXE_siteconf"));
        if user.is_some() {
            mode(store.folder.path(), 0o755);
            mode(out, 0o777);
            let copied = store.folder.path().join("siteconf");
            copy_program(&copied);
            program = copied;
        }
        Self { program, user }
    }

    fn command(&self, data: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command.arg("--data").arg(data);
        if let Some(user) = self.user {
            command.uid(user);
        }
        command
    }
}
