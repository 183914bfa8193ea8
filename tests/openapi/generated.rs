//! Clients made of the document by openapi-python-client and by @hey-api/openapi-ts. Each is generated
//! without a warning, checked by its compiler where it has one, and used against the daemon.

use std::fs;
use std::process::Command;

use crate::harness::{Daemon, User};
use crate::{DOCUMENT, PATIENCE_S, PROJECT, installed, reading_token, set_stage, tool};

/// Where the programs that use the clients lie.
const HERE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/openapi");

#[test]
fn openapi_python_client_makes_a_client() {
    let Some(generator) = tool("openapi-python-client/bin/openapi-python-client") else {
        return;
    };
    let stage = Stage::set();
    stage.run(
        Command::new("timeout")
            .arg(PATIENCE_S)
            .arg(generator)
            .args(["generate", "--path", "document.json", "--config"])
            .arg(format!("{HERE}/python-client/config.yml"))
            .args(["--meta", "none", "--output-path", "generated"])
            .arg("--fail-on-warning"),
    );
    stage.run(
        Command::new("timeout")
            .arg(PATIENCE_S)
            .arg(installed("openapi-python-client/bin/python"))
            .arg(format!("{HERE}/python-client/client.py"))
            .env("PYTHONPATH", stage.folder.path()),
    );
}

#[test]
fn openapi_ts_makes_a_client() {
    let Some(generator) = tool("openapi-ts/node_modules/.bin/openapi-ts") else {
        return;
    };
    let stage = Stage::set();
    for file in ["client.ts", "tsconfig.json"] {
        let from = format!("{HERE}/openapi-ts/{file}");
        fs::copy(from, stage.folder.path().join(file)).expect("a file of this folder");
    }
    stage.run(
        Command::new("timeout")
            .arg(PATIENCE_S)
            .arg(generator)
            .args(["--input", "./document.json", "--output", "./generated"])
            .args(["--client", "@hey-api/client-fetch", "--no-log-file"]),
    );
    stage.run(
        Command::new("timeout")
            .arg(PATIENCE_S)
            .arg(installed("openapi-ts/node_modules/.bin/tsc")),
    );
    stage.run(Command::new("timeout").args([PATIENCE_S, "node", "built/client.js"]));
}

/// A daemon with something to read, and a folder with its document.
struct Stage {
    daemon: Daemon,
    alice: User,
    token: String,
    folder: tempfile::TempDir,
}

impl Stage {
    fn set() -> Self {
        let daemon = Daemon::start();
        let alice = set_stage(&daemon);
        let token = reading_token(&daemon);
        let folder = tempfile::tempdir().expect("a folder of our own");
        let document = daemon.anonymous().get(DOCUMENT).expect_status(200).body;
        fs::write(folder.path().join("document.json"), document).expect("room for a document");
        Self {
            daemon,
            alice,
            token,
            folder,
        }
    }

    /// Runs a program in the folder, with what a client must know in its environment.
    #[track_caller]
    fn run(&self, command: &mut Command) {
        let session = self.alice.credential().split_once('=').expect("name=value");
        let output = command
            .current_dir(self.folder.path())
            .env("SITECONF_URL", format!("http://{}", self.daemon.address()))
            .env("SITECONF_PROJECT", format!("{PROJECT}.erp"))
            .env("SITECONF_TOKEN", &self.token)
            .env("SITECONF_SESSION", session.1)
            .env("NO_PROXY", "127.0.0.1")
            .output()
            .expect("timeout is on the machine");
        assert!(
            output.status.success(),
            "{command:?}: {}\n{}\n{}",
            output.status,
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
    }
}
