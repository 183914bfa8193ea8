//! The same tree as git sees it.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// What `git ls-tree -r -t` says of a folder that is added as it stands, sorted:
/// `<mode> <type> <id>\t<path>` a line.
#[track_caller]
pub(crate) fn listing_of_folder(folder: &Path) -> Vec<String> {
    let repository = tempfile::tempdir().expect("a folder of our own");
    let git = |arguments: &[&str]| {
        let output = Command::new("git")
            .arg("--git-dir")
            .arg(repository.path())
            .arg("--work-tree")
            .arg(folder)
            .args(["-c", "core.autocrlf=false", "-c", "core.excludesFile="])
            .args(arguments)
            .output()
            .expect("git is on the machine");
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).expect("names are UTF-8")
    };
    git(&["init", "--quiet"]);
    git(&["add", "--all", "--force"]);
    let root = git(&["write-tree"]);
    let listed = git(&["ls-tree", "-r", "-t", "-z", "--full-tree", root.trim()]);
    let mut lines: Vec<_> = listed.split_terminator('\0').map(str::to_owned).collect();
    lines.sort();
    lines
}

/// A recursive listing of the service in the same form.
#[track_caller]
pub(crate) fn listing_of_tree(tree: &Value) -> Vec<String> {
    let line = |entry: &Value| {
        let text = |field: &str| entry[field].as_str().expect("a string").to_owned();
        let (mode, kind) = (text("mode"), text("type"));
        format!("{mode} {kind} {}\t{}", text("id"), text("path"))
    };
    let mut lines: Vec<_> = tree.as_array().expect("a list").iter().map(line).collect();
    lines.sort();
    lines
}
