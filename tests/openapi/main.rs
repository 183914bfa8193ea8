//! schemathesis against the daemon, by the document that the daemon serves: requests of every operation
//! as the document allows and forbids them, and every answer held against it. What it is to find and
//! what it may do is in `schemathesis.toml`, what it leaves out in `hooks.py`.
//!
//! `install` puts the tools into a folder outside the checkout. On a machine without one its test
//! says that it was left out; with `CI=true` that is a failure.
//!
//! And clients that generators make of the document, used as programs would use them (`generated`).
#![cfg(test)]

mod generated;
#[path = "../it/harness/mod.rs"]
#[allow(dead_code, unused_imports, reason = "the other suite uses the rest")]
mod harness;
#[path = "../support/left_out.rs"]
mod left_out;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use serde_json::{Value, json};

use harness::{Daemon, Project, User, cookie_of};
use left_out::leave_out;

const DOCUMENT: &str = "/site-builder/api/openapi.json";
/// Where the Read API is mounted once more.
const SECOND_MOUNT: &str = "/site-builder/api/erp-config/api/v4/";
/// Answers that go on for ten minutes.
const STREAMS: &str = "/events";
/// How long the run may take, in seconds, before it counts as hanging.
const PATIENCE_S: &str = "600";
/// The credentials that the document shows as an example.
const OPERATOR: (&str, &str) = ("operator", "correct horse battery staple");
/// The project that the document shows as an example, without its type.
const PROJECT: &str = "shop";
/// Changes after which there is all that the test made.
const CHANGES: &str = "^(createProject|createBranch|createToken|changeToken|rotateToken|restoreDeleted\
    |saveFile|saveBatch|rollback|login|logout)$";
/// A rollback may take the files away that this deletes.
const BEFORE_CHANGES: &str = "^deleteFile$";
/// Operations after which the project is still there under its name.
const SMALL_REMOVALS: &str = "^(deleteBranch|revokeToken|endSession|setRules)$";
const RENAMES: &str = "^(changeProject|renameBranch)$";
/// What the role for everything may see and change.
const ADMINISTRATION: &str = "^(getService|listAccounts|createAccount|getAccount|changeAccount\
    |setAccountPassword|addRole)$";
const ADMINISTRATIVE_REMOVALS: &str = "^(removeRole|removeAccount)$";
/// What the accounts have that are administered.
const SPARE_ROLE: &str = "ROLE_SITEBUILDER_USER__acme";
/// Without requests that follow from none before them, which were made already.
const SEQUENCES: &str = "examples,coverage,stateful";

/// It guesses more names, passwords and tokens than anybody may.
const GUESSES: [&str; 10] = [
    "--logins-minute-account-max",
    "0",
    "--wrong-logins-minute-max",
    "0",
    "--wrong-logins-minute-address-max",
    "0",
    "--wrong-logins-minute-account-max",
    "0",
    "--wrong-tokens-minute-address-max",
    "0",
];

#[test]
fn the_service_is_as_its_document_says() {
    let Some(schemathesis) = tool("schemathesis/bin/schemathesis") else {
        return;
    };
    // It uses one core, so reads and changes have a service each.
    let schemathesis = &schemathesis;
    let runs = thread::scope(|scope| {
        [make_reads, make_changes]
            .map(|requests| scope.spawn(move || on_stage(schemathesis, requests)))
            .map(|run| run.join().expect("it has said what is wrong"))
    });
    let [(document, reads), (_, changes)] = runs;
    let unreached = unreached(&document, &(reads + &changes));
    assert!(unreached.is_empty(), "never done: {unreached:#?}");
}

/// Makes requests of a service of their own; answers its document and its log.
fn on_stage(schemathesis: &Path, requests: fn(&Stage<'_>)) -> (Value, String) {
    let stage = Stage::set(schemathesis);
    requests(&stage);
    let mut daemon = stage.daemon;
    let document = daemon.anonymous().get(DOCUMENT).json();
    // Its end writes the rest of the log.
    assert!(daemon.stop().success());
    (document, daemon.log())
}

fn make_reads(stage: &Stage<'_>) {
    stage.run(&stage.alice, &["--include-method", "GET"]);
    let roles = ["ROLE_SITEBUILDER_EDITOR__READONLY"];
    let auditor = stage.daemon.user("auditor", &roles);
    stage.run(&auditor, &["--include-operation-id", "listAudit"]);
}

/// Each takes away more of what there is to find.
fn make_changes(stage: &Stage<'_>) {
    let (daemon, alice) = (&stage.daemon, &stage.alice);
    for each in [BEFORE_CHANGES, CHANGES, SMALL_REMOVALS, RENAMES] {
        stage.run(alice, &["--include-operation-id-regex", each]);
    }
    // A success ends the session, after which there are refusals alone.
    let password = ["--include-operation-id", "changePassword"];
    let (name, word) = OPERATOR;
    let cookie = cookie_of(&daemon.login(name, word).expect_status(200));
    let operator = User::new(daemon.address(), Some(("Cookie", &cookie)));
    stage.run(&operator, &[password, ["--phases", "examples"]].concat());
    stage.run(
        alice,
        &["--include-tag", "Admin API", "--phases", SEQUENCES],
    );
    // It may take anybody's account away.
    let root = daemon.session("admin");
    for each in [ADMINISTRATION, ADMINISTRATIVE_REMOVALS] {
        stage.run(&root, &["--include-operation-id-regex", each]);
    }
}

/// A service with what the requests of `schemathesis.toml` name.
struct Stage<'a> {
    schemathesis: &'a Path,
    daemon: Daemon,
    alice: User,
    token: String,
    spare_session: String,
}

impl<'a> Stage<'a> {
    fn set(schemathesis: &'a Path) -> Self {
        let daemon = Daemon::start_with(&GUESSES);
        let alice = set_stage(&daemon);
        Self {
            schemathesis,
            token: reading_token(&daemon),
            spare_session: spare_session(&daemon),
            alice,
            daemon,
        }
    }

    /// Runs schemathesis as this user on the Admin API.
    fn run(&self, user: &User, arguments: &[&str]) {
        let output = self
            .command(user)
            .args(arguments)
            .output()
            .expect("timeout is on the machine");
        assert!(
            output.status.success(),
            "{}: {}\n{}",
            output.status,
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
    }

    /// schemathesis on the daemon's own document, as this user on the Admin API.
    fn command(&self, user: &User) -> Command {
        let daemon = &self.daemon;
        let session = user.credential().split_once('=').expect("name=value").1;
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/openapi");
        let mut command = Command::new("timeout");
        command
            .arg(PATIENCE_S)
            .arg(self.schemathesis)
            .arg("--config-file")
            .arg(folder.join("schemathesis.toml"))
            .args(["--no-color", "run"])
            .arg(format!("http://{}{DOCUMENT}", daemon.address()))
            // `hooks.py` leaves out requests that wait for long.
            .args(["--checks", "all", "--max-response-time", "20"])
            // It writes what it has learnt into the folder where it runs.
            .current_dir(daemon.data().parent().expect("a folder of our own"))
            .env("SCHEMATHESIS_HOOKS", folder.join("hooks.py"))
            // Python would lay the compiled hooks beside them.
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("SITECONF_SESSION", session)
            .env("SITECONF_SPARE_SESSION", &self.spare_session)
            .env("SITECONF_TOKEN", &self.token)
            .env("PYTHONHASHSEED", "0")
            .env("NO_PROXY", "127.0.0.1");
        command
    }
}

/// The operations of the document that no request of the log has done, each with the statuses that its
/// requests were answered with: a run that is only ever refused would say little.
fn unreached(document: &Value, log: &str) -> Vec<String> {
    let answers: Vec<(String, String, u64)> = log
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter_map(|entry| {
            let text = |field: &str| entry[field].as_str().map(str::to_owned);
            Some((text("method")?, text("path")?, entry["status"].as_u64()?))
        })
        .collect();
    let paths = document["paths"].as_object().expect("an object").iter();
    paths
        .filter(|(path, _)| !path.starts_with(SECOND_MOUNT) && !path.ends_with(STREAMS))
        .flat_map(|(path, item)| {
            let operations = item.as_object().expect("an object").iter();
            operations.map(move |(method, operation)| (method.to_uppercase(), path, operation))
        })
        .filter_map(|(method, template, operation)| {
            let mut statuses = BTreeMap::<u64, usize>::new();
            let own = answers
                .iter()
                .filter(|(by, path, _)| *by == method && matches(template, path));
            own.for_each(|(_, _, status)| *statuses.entry(*status).or_default() += 1);
            let documented = operation["responses"].as_object().expect("an object");
            // A tag is never there.
            let wanted = if documented.keys().any(|status| status.starts_with('2')) {
                200..300
            } else {
                404..405
            };
            let is_done = statuses.keys().any(|status| wanted.contains(status));
            (!is_done).then(|| format!("{method} {template}: {statuses:?}"))
        })
        .collect()
}

/// True for a path that a template of the document names.
fn matches(template: &str, path: &str) -> bool {
    let (template, path) = (template.split('/'), path.split('/'));
    template.clone().count() == path.clone().count()
        && template
            .zip(path)
            .all(|(wanted, segment)| wanted.starts_with('{') || wanted == segment)
}

/// Makes what `schemathesis.toml` names, and answers whose it is.
fn set_stage(daemon: &Daemon) -> User {
    let (name, password) = OPERATOR;
    daemon.run(
        &["user", "add", name, "--password-stdin"],
        &format!("{password}\n"),
    );
    let alice = daemon.user("alice", &[]);
    for number in 1..=9 {
        daemon.add_account(&format!("spare-{number}"), &[SPARE_ROLE]);
    }
    Project::create(&alice, "renamed").add_branch("renamed");
    let project = Project::create(&alice, PROJECT);
    for branch in ["main", "next"] {
        project.add_branch(branch);
        for text in ["<settings/>", "<settings currency=\"EUR\"/>"] {
            project.save(branch, "settings.xml", text);
            project.save(branch, "config/prices.xml", text);
            // Of more than a row of the database, and no text.
            project.save(
                branch,
                "данные/прайс лист.bin",
                text.as_bytes().repeat(9000),
            );
            project.save(branch, "данные/прайс лист.bin", b"\0".repeat(100_000));
        }
    }
    for number in 1..=9 {
        project.save("next", &format!("spare/{number}"), "");
    }
    for _ in 0..3 {
        alice.issue(&json!({ "name": "spare", "repos": [project.id] }));
    }
    alice
}

/// The id of a session of alice that nobody uses.
fn spare_session(daemon: &Daemon) -> String {
    let sessions = daemon.session("alice").get("/user/sessions").json();
    let sessions = sessions.as_array().expect("a list");
    let current = sessions.iter().find(|session| session["current"] == true);
    let id = current.expect("the one that asks")["id"].as_str();
    id.expect("a text").to_owned()
}

/// A token of somebody else, whom nothing that is done as alice can touch.
fn reading_token(daemon: &Daemon) -> String {
    let bob = daemon.user("bob", &["ROLE_SITEBUILDER_EDITOR__READONLY"]);
    let token = bob.issue(&json!({ "name": "reader", "repos": [format!("{PROJECT}.erp")] }));
    token["tokenString"].as_str().expect("a token").to_owned()
}

/// A program that `install` got; `None`, and a word about it, on a machine without it.
fn tool(path: &str) -> Option<PathBuf> {
    let program = installed(path);
    if program.is_file() {
        return Some(program);
    }
    leave_out(&format!(
        "{path} is not on this machine; tests/openapi/install gets it"
    ));
    None
}

/// A file that `install` made.
fn installed(path: &str) -> PathBuf {
    let folder = setting("SITECONF_CLIENTS").map_or_else(
        || {
            let cache = setting("XDG_CACHE_HOME").map(PathBuf::from);
            let home = || Path::new(&setting("HOME").unwrap_or_default()).join(".cache");
            cache.unwrap_or_else(home).join("siteconf-clients")
        },
        PathBuf::from,
    );
    folder.join(path)
}

/// A variable of the environment.
#[expect(
    clippy::disallowed_methods,
    reason = "these settings are the suite's own"
)]
fn setting(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
