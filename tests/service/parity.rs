//! A large tree, imported and read back, against git and the tools of a shell.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use serde_json::Value;

use crate::client::segment;
use crate::daemon::{Daemon, on_branch, read};
use crate::planted::plant;

const FILES: u64 = 5_500;
const READERS: usize = 4;

#[test]
fn a_large_tree_comes_back_to_the_byte_with_the_ids_of_git_and_the_digest_of_a_shell() {
    let folder = tempfile::tempdir().unwrap();
    plant(folder.path(), FILES);
    let (listed, short_id) = (git_listing(folder.path()), shell_digest(folder.path()));
    let oddities = add_oddities(folder.path());

    let daemon = Daemon::start();
    let mut admin = daemon.admin();
    Daemon::make_project(&mut admin);
    let output = daemon.import(folder.path());
    assert_eq!(skipped(&output.stderr, folder.path()), oddities);
    let mut reader = daemon.reader(&mut admin);
    let branches = reader.get(&read("/branches")).json();
    assert_eq!(branches[0]["commit"]["short_id"], short_id);
    let commit_id = branches[0]["commit"]["id"].as_str().unwrap();
    assert!(commit_id.len() == 40 && commit_id.starts_with(&short_id));

    let tree = reader.get(&read("/tree?recursive=true&ref=main")).json();
    let tree = tree.as_array().unwrap();
    assert_eq!(
        tree.iter().map(as_git_lists).collect::<BTreeSet<_>>(),
        listed
    );
    let paths: Vec<&str> = tree
        .iter()
        .filter(|entry| entry["type"] == "blob")
        .map(|entry| entry["path"].as_str().unwrap())
        .collect();
    assert_eq!(paths.len() as u64, FILES);

    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..READERS {
            let (next, paths, folder) = (&next, &paths, folder.path());
            let mut client = reader.another();
            scope.spawn(move || {
                while let Some(path) = paths.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let answer =
                        client.get(&read(&format!("/files/{}/raw?ref=main", segment(path))));
                    assert_eq!(answer.status, 200, "{path}: {answer:?}");
                    assert!(
                        answer.body == fs::read(folder.join(path)).unwrap(),
                        "{path}"
                    );
                }
                assert_eq!(client.opened, 1, "the connection stays open");
            });
        }
    });

    // The same folder again changes nothing, and takes no snapshot.
    daemon.import(folder.path());
    let branches = reader.get(&read("/branches")).json();
    assert_eq!(branches[0]["commit"]["id"], commit_id);
    assert_eq!(
        admin
            .get(&on_branch("/history"))
            .json()
            .as_array()
            .unwrap()
            .len(),
        1
    );

    let export = tempfile::tempdir().unwrap();
    let out = export.path().join("out");
    let mut command = daemon.command(&["export", crate::daemon::PROJECT, "main"]);
    let done = command.arg(&out).output().unwrap();
    assert!(done.status.success(), "{done:?}");
    assert_eq!(paths_and_modes(&out), paths_and_modes_of(tree));
    for path in &paths {
        let bytes = fs::read(out.join(path)).unwrap();
        assert!(
            bytes == fs::read(folder.path().join(path)).unwrap(),
            "{path}"
        );
    }
}

/// An entry of a tree as `git ls-tree` shows it.
fn as_git_lists(entry: &Value) -> String {
    let field = |name: &str| entry[name].as_str().unwrap();
    format!(
        "{} {} {}\t{}",
        field("mode"),
        field("type"),
        field("id"),
        field("path")
    )
}

/// The files of a listing with whether they are executable.
fn paths_and_modes_of(tree: &[Value]) -> BTreeSet<(String, bool)> {
    let files = tree.iter().filter(|entry| entry["type"] == "blob");
    files
        .map(|entry| {
            (
                entry["path"].as_str().unwrap().to_owned(),
                entry["mode"] == "100755",
            )
        })
        .collect()
}

/// The files of a folder with whether they are executable.
fn paths_and_modes(folder: &Path) -> BTreeSet<(String, bool)> {
    let entries = walkdir::WalkDir::new(folder)
        .into_iter()
        .map(Result::unwrap);
    let files = entries.filter(|entry| !entry.file_type().is_dir());
    files
        .map(|entry| {
            let path = entry.path().strip_prefix(folder).unwrap().to_str().unwrap();
            let mode = entry.metadata().unwrap().permissions().mode();
            (path.to_owned(), mode & 0o111 != 0)
        })
        .collect()
}

/// What git makes of a folder: mode, type, id and path of each file and folder.
fn git_listing(folder: &Path) -> BTreeSet<String> {
    let repository = tempfile::tempdir().unwrap();
    let git = |arguments: &[&str]| {
        let output = Command::new("git")
            .env("GIT_DIR", repository.path())
            .env("GIT_WORK_TREE", folder)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .current_dir(folder)
            .args(arguments)
            .output()
            .expect("git is on the machine");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    git(&["init", "-q"]);
    git(&["add", "-A", "-f", "."]);
    let tree = git(&["write-tree"]);
    let listing = git(&["ls-tree", "-r", "-t", "-z", tree.trim_end()]);
    listing.split_terminator('\0').map(str::to_owned).collect()
}

/// `short_id` as specification section 9 has it, of a folder's regular files, by the tools of a shell.
fn shell_digest(folder: &Path) -> String {
    // Sorted by the bytes of the paths, not of the lines that are hashed.
    let script = r#"
        set -euo pipefail
        export LC_ALL=C
        paths=$(mktemp)
        trap 'rm -f "$paths"' EXIT
        find . -type f -printf '%P\0' | sort -z > "$paths"
        paste -d '|' <(tr '\0' '\n' < "$paths") \
            <(xargs -0 stat -c %s -- < "$paths") \
            <(xargs -0 md5sum -z -- < "$paths" | tr '\0' '\n' | cut -c 1-32) |
            sha256sum | cut -c 1-8
    "#;
    let output = Command::new("bash")
        .args(["-c", script])
        .current_dir(folder)
        .output()
        .expect("bash is on the machine");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout)
        .unwrap()
        .trim_end()
        .to_owned()
}

/// Adds what no branch takes, and gives the names that an import must name.
fn add_oddities(folder: &Path) -> BTreeSet<String> {
    fs::create_dir(folder.join("empty folder")).unwrap();
    symlink("config0", folder.join("link to a folder")).unwrap();
    symlink("/etc/passwd", folder.join("link to a file")).unwrap();
    symlink("nowhere", folder.join("link to nothing")).unwrap();
    let pipe = Command::new("mkfifo").arg(folder.join("pipe")).status();
    assert!(pipe.unwrap().success());
    drop(std::os::unix::net::UnixListener::bind(folder.join("socket")).unwrap());
    fs::write(folder.join(OsStr::from_bytes(b"not \xff UTF-8")), "x").unwrap();
    fs::write(folder.join("back\\slash"), "x").unwrap();
    fs::create_dir(folder.join(".git")).unwrap();
    fs::write(folder.join(".git/config"), "x").unwrap();
    [
        "link to a folder",
        "link to a file",
        "link to nothing",
        "pipe",
        "socket",
        "not \u{fffd} UTF-8",
        "back\\slash",
        ".git",
    ]
    .map(str::to_owned)
    .into()
}

/// The paths below the folder that an import said it skipped.
fn skipped(log: &[u8], folder: &Path) -> BTreeSet<String> {
    let folder = format!("skipped {}/", folder.display());
    String::from_utf8_lossy(log)
        .lines()
        .filter_map(|line| line.strip_prefix(&folder)?.split_once(": "))
        .map(|(path, _)| path.to_owned())
        .collect()
}
