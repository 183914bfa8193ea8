//! The same with git: one changed file added and committed, as durable as a save.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::common::{Layout, body, median};

/// What `git add` and `git commit` of one file take in a working tree of so many, the median of some
/// runs; nothing where git is not there, which is told.
pub(crate) fn commit(files: u64, runs: usize) -> Option<Duration> {
    if Command::new("git").arg("--version").output().is_err() {
        eprintln!("git is not installed: its line is left out");
        return None;
    }
    let root = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let tree = root.path();
    git(tree, &["init", "--quiet"]);
    for number in 0..files {
        write(tree, number, b"<config/>");
    }
    git(tree, &["add", "--all"]);
    git(tree, &["commit", "--quiet", "--message", "all"]);
    let mut turn = 0_u64;
    Some(median(runs, || {
        turn += 1;
        let number = turn.wrapping_mul(2_654_435_761) % files;
        let path = write(tree, number, &body(turn, 1024));
        git(tree, &["add", &path]);
        git(tree, &["commit", "--quiet", "--message", "one"]);
    }))
}

fn write(tree: &Path, number: u64, bytes: &[u8]) -> String {
    let path = Layout::Spread.path(number).to_string();
    let place = tree.join(&path);
    fs::create_dir_all(place.parent().unwrap()).unwrap();
    fs::write(place, bytes).unwrap();
    path
}

fn git(tree: &Path, args: &[&str]) {
    let settings = [
        "core.fsync=all",
        "gc.auto=0",
        "maintenance.auto=false",
        "user.name=bench",
        "user.email=bench@localhost",
        "commit.gpgsign=false",
    ];
    let done = Command::new("git")
        .arg("-C")
        .arg(tree)
        .args(settings.iter().flat_map(|setting| ["-c", setting]))
        .args(args)
        .stdout(Stdio::null())
        .status()
        .unwrap();
    assert!(done.success(), "git {args:?}");
}
