//! A model of an old system, and its tree on the disk.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use md5::Digest as _;
use serde_json::{Value, json};

use crate::daemon::Daemon;

/// Files by their paths.
pub(crate) type State = BTreeMap<String, String>;

/// A branch and its old snapshots.
#[derive(Clone, Debug, Default)]
pub(crate) struct Branch {
    pub(crate) snapshots: Vec<Snapshot>,
    pub(crate) head: State,
}

#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    pub(crate) state: State,
    pub(crate) created_at: String,
    pub(crate) created_by: String,
    /// The path that was saved next.
    pub(crate) path: String,
}

#[derive(Clone, Debug)]
pub(crate) struct Token {
    pub(crate) value: String,
    pub(crate) line: Value,
}

/// The old system.
#[derive(Clone, Debug, Default)]
pub(crate) struct Model {
    /// By owner, project and branch.
    pub(crate) branches: BTreeMap<(String, String, String), Branch>,
    pub(crate) tokens: Vec<Token>,
}

/// A place in the tree: project and branch.
pub(crate) fn place(owner: &str, project: &str, branch: &str) -> (String, String, String) {
    (owner.to_owned(), project.to_owned(), branch.to_owned())
}

impl Model {
    /// So many of everything, shared out evenly.
    pub(crate) fn new(
        owners: &[&str],
        projects: usize,
        branches: usize,
        snapshots: usize,
        tokens: usize,
    ) -> Self {
        let mut model = Self::default();
        let names = ["main", "test", "feature/x", "ветка"];
        for number in 0..branches {
            let project = number % projects;
            let owner = owners[project % owners.len()];
            let mut branch = Branch::default();
            for file in 0..6 {
                let path = format!("conf/{file}/цены {file}.xml");
                branch.head.insert(path, format!("<{number} {file}/>\n"));
            }
            let more = usize::from(number < snapshots % branches);
            for save in 0..snapshots / branches + more {
                branch.save(save, &format!("conf/{}/new.xml", save % 4));
            }
            let name = names[number / projects];
            let project = format!("acme/shop{project}.erp");
            model.branches.insert(place(owner, &project, name), branch);
        }
        for number in 0..tokens {
            model.tokens.push(token(number, projects, owners));
        }
        model
    }

    /// Writes the tree and the file of tokens.
    pub(crate) fn write(&self, tree: &Path, tokens: &Path) {
        for ((owner, project, name), branch) in &self.branches {
            let project = tree.join("user").join(owner).join(project);
            let name = name.replace('/', "%2F");
            lay(&project.join(&name), &branch.head);
            for (index, snapshot) in branch.snapshots.iter().enumerate() {
                let version = format!("v{:04}", index + 1);
                let history = project.join(".snapshots").join(&name);
                lay(&history.join(&version), &snapshot.state);
                let notes = json!({
                    "created_at": snapshot.created_at,
                    "created_by": snapshot.created_by,
                });
                let file = history.join(version).with_extension("json");
                fs::write(file, notes.to_string()).unwrap();
            }
        }
        let lines = self.tokens.iter().fold(String::new(), |mut lines, token| {
            writeln!(lines, "{}", token.line).unwrap();
            lines
        });
        fs::write(tokens, lines).unwrap();
    }
}

impl Branch {
    /// The old system takes a snapshot and saves a file.
    pub(crate) fn save(&mut self, number: usize, path: &str) {
        let state = self.head.clone();
        self.snapshots.push(Snapshot {
            state,
            created_at: format!("2025-03-{:02}T04:05:06.789Z", number % 28 + 1),
            created_by: ["ann", "Ёж", "cron"][number % 3].to_owned(),
            path: path.to_owned(),
        });
        self.head
            .insert(path.to_owned(), format!("<new {number}/>"));
    }
}

fn token(number: usize, projects: usize, owners: &[&str]) -> Token {
    let project = number % projects;
    let owner = owners[project % owners.len()];
    let value = hex::encode(sha2::Sha256::digest(format!("token {number}")));
    let mut line = json!({
        "owner": owner,
        "name": format!("client {number}"),
        "created_at": "2024-05-06T07:08:09Z",
        "repos": [format!("acme/shop{project}.erp")],
    });
    if number.is_multiple_of(2) {
        line["value"] = json!(value);
    } else {
        line["sha256"] = json!(hex::encode(sha2::Sha256::digest(&value)));
        line["suffix"] = json!(value[58..]);
    }
    match number % 5 {
        1 => line["expires_at"] = json!("2099-01-31"),
        2 => {
            line["expires_at"] = json!("2020-01-31");
            line["state"] = json!("expired");
        }
        3 => {
            line["fingerprint_required"] = json!(true);
            line["fingerprint"] = json!(format!("till-{number}"));
        }
        _ => {}
    }
    Token { value, line }
}

/// The branch digest, by the specification's words.
pub(crate) fn digest(state: &State) -> String {
    let mut lines = String::new();
    for (path, content) in state {
        let md5 = hex::encode(md5::Md5::digest(content));
        writeln!(lines, "{path}|{}|{md5}", content.len()).unwrap();
    }
    hex::encode(sha2::Sha256::digest(lines))
}

/// Writes files, and removes what else is there.
pub(crate) fn lay(folder: &Path, state: &State) {
    if folder.exists() {
        fs::remove_dir_all(folder).unwrap();
    }
    fs::create_dir_all(folder).unwrap();
    for (path, content) in state {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
}

/// An old system's disk beside a service.
pub(crate) struct Scene {
    pub(crate) daemon: Daemon,
    folder: tempfile::TempDir,
}

impl Scene {
    pub(crate) fn start(model: &Model) -> Self {
        let scene = Self {
            daemon: Daemon::start(),
            folder: tempfile::tempdir().unwrap(),
        };
        scene.write(model);
        scene
    }

    pub(crate) fn write(&self, model: &Model) {
        model.write(&self.tree(), &self.tokens());
    }

    pub(crate) fn tree(&self) -> PathBuf {
        self.folder.path().join("tree")
    }

    pub(crate) fn tokens(&self) -> PathBuf {
        self.folder.path().join("tokens.jsonl")
    }

    /// The command line of a move with these flags.
    pub(crate) fn command(&self, flags: &[&str]) -> std::process::Command {
        let mut command = self.daemon.command(&["migrate-tree"]);
        command.arg(self.tree()).arg("--tokens").arg(self.tokens());
        command.args(flags);
        command
    }

    /// Moves with these flags: the exit code, the result, and the rest.
    pub(crate) fn run(&self, flags: &[&str]) -> (i32, String, String) {
        let Output {
            status,
            stdout,
            stderr,
        } = self.command(flags).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        // Which temporary folder it is is no part of what is compared.
        let told = text(stderr).replace(&self.folder.path().display().to_string(), "");
        (status.code().unwrap(), text(stdout), told)
    }

    /// Moves, which must succeed; the report.
    #[track_caller]
    pub(crate) fn moved(&self) -> Value {
        let (code, out, told) = self.run(&["--json"]);
        assert_eq!((code, told.as_str()), (0, ""), "{out}");
        serde_json::from_str(&out).unwrap()
    }

    /// Runs a command that must succeed.
    #[track_caller]
    pub(crate) fn done(&self, words: &[&str]) {
        let output = self.daemon.command(words).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }

    /// Gives a branch another name: deletes it, and restores it under that.
    #[track_caller]
    pub(crate) fn rename_branch(&self, project: &str, branch: &str, name: &str) {
        self.done(&["branch", "delete", project, branch]);
        self.done(&["branch", "restore", project, branch, "--as", name]);
    }

    /// The versions of a branch, from the oldest on.
    #[track_caller]
    pub(crate) fn versions(&self, branch: &str) -> Vec<String> {
        let history = self.json(&["debug", "history", branch]);
        let version = |snapshot: &Value| snapshot["version"].as_str().unwrap().to_owned();
        history
            .as_array()
            .unwrap()
            .iter()
            .rev()
            .map(version)
            .collect()
    }

    /// Compares with the tree, which must find nothing.
    #[track_caller]
    pub(crate) fn verified(&self) {
        let (code, _, told) = self.run(&["--verify"]);
        assert_eq!((code, told.as_str()), (0, ""));
    }

    /// What a command prints as JSON.
    #[track_caller]
    pub(crate) fn json(&self, words: &[&str]) -> Value {
        let output = self.daemon.command(words).arg("--json").output().unwrap();
        assert!(output.status.success(), "{output:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

/// The counts of a report, in the order accounts, projects, branches, snapshots, tokens.
pub(crate) fn counts(report: &Value, done: &str) -> [u64; 5] {
    ["accounts", "projects", "branches", "snapshots", "tokens"]
        .map(|kind| report[done][kind].as_u64().unwrap())
}
