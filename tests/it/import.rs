//! A real tree: imported beside the running daemon, read back through the Read API byte for byte, and
//! digested by the shell.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::harness::{Daemon, Project, User};

/// The digest of specification section 9 as the tools of a shell compute it, of a folder's regular
/// files but those named in a list.
const SHELL_DIGEST: &str = r#"
set -euo pipefail
export LC_ALL=C
cd "$1"
paths=$(mktemp)
trap 'rm -f "$paths"' EXIT
find . -type f -printf '%P\n' | { grep -vxFf "$2" || true; } | sort > "$paths"
paste -d'|' "$paths" \
    <(xargs -r -d '\n' stat -c %s -- < "$paths") \
    <(xargs -r -d '\n' md5sum -- < "$paths" | cut -c1-32) |
    sha256sum | cut -c1-8
"#;

/// Imports a folder into `main`, and answers the paths that were skipped.
#[track_caller]
fn import(daemon: &Daemon, project: &Project, folder: &Path) -> Vec<String> {
    let folder = folder.to_str().unwrap();
    // Not everybody may read all of it.
    let flags = ["--skip-unreadable", "--verbose"];
    let words = [&["import", &project.id, "main", folder], &flags[..]].concat();
    let output = daemon.command(&words, "");
    let named = String::from_utf8(output.stderr).expect("names are shown as UTF-8");
    assert_eq!(output.status.code(), Some(0), "{named}");
    named
        .lines()
        .filter_map(|line| line.strip_prefix("skipped ")?.split_once(": "))
        .map(|(path, _)| {
            let below = path.strip_prefix(folder).unwrap_or(path);
            below.trim_start_matches('/').to_owned()
        })
        .collect()
}

#[track_caller]
fn shell_digest(folder: &Path, skipped: &[String]) -> String {
    let list = tempfile::NamedTempFile::new().unwrap();
    fs::write(list.path(), skipped.join("\n")).unwrap();
    let output = Command::new("bash")
        .args(["-c", SHELL_DIGEST, "bash"])
        .args([folder, list.path()])
        .output()
        .expect("bash is on the machine");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Asserts that the Read API answers every file of the branch as it lies in the folder, and that
/// nothing of the folder is missing but what was skipped.
#[track_caller]
fn assert_read_back(reader: &User, project: &Project, folder: &Path, skipped: &[String]) {
    let tree = reader.get(&project.read("/tree?recursive=1")).json();
    let is_file = |entry: &&Value| entry["type"] == "blob";
    let files = tree.as_array().unwrap().iter().filter(is_file);
    let mut count = 0;
    for entry in files {
        let path = entry["path"].as_str().unwrap();
        let answer = reader.get(&project.raw(path));
        answer.assert_bytes(200, &fs::read(folder.join(path)).unwrap());
        count += 1;
    }
    let on_disk = walkdir::WalkDir::new(folder)
        .into_iter()
        .map(Result::unwrap)
        .filter(|entry| entry.file_type().is_file())
        .filter(|entry| {
            let path = entry.path().strip_prefix(folder).unwrap();
            path.to_str()
                .is_none_or(|path| !skipped.iter().any(|s| s == path))
        });
    assert_eq!(count, on_disk.count());
}

#[test]
fn the_machines_own_configuration_comes_back_as_it_is() {
    let daemon = Daemon::start();
    let project = Project::with_main(&daemon.user("alice", &[]), "machine/etc");
    let etc = Path::new("/etc");
    let skipped = import(&daemon, &project, etc);
    let reader = daemon.reader(&project);
    assert_read_back(&reader, &project, etc, &skipped);
    assert_eq!(project.short_id("main"), shell_digest(etc, &skipped));
    let history = project.user.get(&project.on("main", "/history")).json();
    assert_eq!(history.as_array().unwrap().len(), 1);
    assert_eq!(history[0]["operation"], "import");
}
