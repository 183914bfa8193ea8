//! The clients, and how each is started.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::matrix::Seen;
use crate::stage::Stage;

/// How long a client may take, in seconds, before it counts as hanging.
const PATIENCE_S: &str = "180";

/// A client that can be installed.
#[derive(Debug)]
pub(crate) struct Client {
    /// Its column in the table.
    pub(crate) name: &'static str,
    /// The rows of the matrix that it must see pass.
    rows: &'static [u8],
    /// A command that succeeds where the client is installed.
    probe: fn() -> Command,
    /// The command that runs it.
    start: fn() -> Command,
}

/// All of them. The first goes through the proxies too.
pub(crate) static CLIENTS: [Client; 7] = [
    Client {
        name: "python-gitlab 8.6",
        rows: PYTHON_ROWS,
        probe: || python_probe("8.6.0"),
        start: || python("8.6.0"),
    },
    Client {
        name: "python-gitlab 3.12",
        rows: PYTHON_ROWS,
        probe: || python_probe("3.12.0"),
        start: || python("3.12.0"),
    },
    Client {
        name: "gitbeaker 43.8",
        rows: &[
            1, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 14, 15, 16, 17, 18, 20, 21, 23, 24, 25, 26,
        ],
        probe: || {
            let package = installed("gitbeaker/node_modules/@gitbeaker/rest/package.json");
            let mut node = Command::new("node");
            node.arg("--eval").arg(format!(
                "process.exit(require({package:?}).version === '43.8.0' ? 0 : 1)"
            ));
            node
        },
        start: || {
            let mut node = Command::new("node");
            node.arg(source("gitbeaker/client.cjs"))
                .env("NODE_PATH", installed("gitbeaker/node_modules"));
            node
        },
    },
    Client {
        name: "gitlab (Rust) 0.1905",
        rows: &[
            1, 3, 5, 6, 7, 8, 9, 10, 12, 13, 14, 17, 18, 20, 23, 24, 25, 26,
        ],
        probe: || {
            let mut test = Command::new("test");
            test.arg("-d").arg(installed("rust-gitlab/debug"));
            test
        },
        start: || {
            let mut cargo = Command::new(env!("CARGO"));
            cargo
                .args(["run", "--quiet", "--locked", "--manifest-path"])
                .arg(source("rust-gitlab/Cargo.toml"))
                .arg("--target-dir")
                .arg(installed("rust-gitlab"));
            cargo
        },
    },
    Client {
        name: "go-gitlab",
        rows: &[
            1, 3, 4, 5, 6, 7, 8, 11, 12, 14, 16, 17, 18, 19, 20, 23, 24, 25, 26,
        ],
        probe: || {
            let mut go = go();
            go.args(["list", "github.com/xanzy/go-gitlab"]);
            go
        },
        start: || {
            let mut go = go();
            go.arg("run").arg(source("go-gitlab/client.go"));
            go
        },
    },
    Client {
        name: "ruby-gitlab",
        rows: &[
            1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 13, 14, 15, 17, 18, 19, 20, 22, 23, 24, 25, 26,
        ],
        probe: || {
            let mut ruby = Command::new("ruby");
            ruby.args(["-e", "require 'gitlab'"]);
            ruby
        },
        start: || {
            let mut ruby = Command::new("ruby");
            ruby.arg(source("ruby-gitlab/client.rb"));
            ruby
        },
    },
    Client {
        name: "GitLab::API::v4 (Perl)",
        rows: &[1, 2, 3, 4, 5, 6, 7, 8, 12, 14, 16, 17, 18, 23, 24, 25, 26],
        probe: || {
            let mut perl = Command::new("perl");
            perl.args(["-MGitLab::API::v4", "-e1"]);
            perl
        },
        start: || {
            let mut perl = Command::new("perl");
            perl.arg(source("perl-gitlab/client.pl"));
            perl
        },
    },
];

const PYTHON_ROWS: &[u8] = &[
    1, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 23, 24, 25, 26,
];

impl Client {
    /// True if it can be run here.
    pub(crate) fn is_installed(&self) -> bool {
        let output = (self.probe)().output();
        output.is_ok_and(|output| output.status.success())
    }

    /// Runs it against the daemon and answers what it saw.
    pub(crate) fn run(&self, stage: &Stage) -> Seen {
        self.run_against(&stage.base(), None, stage)
    }

    /// Runs it against an address of https, which its column is named after.
    pub(crate) fn run_over_tls(&self, base: &str, how: &str, stage: &Stage) -> Seen {
        let name = format!("{} {how}", self.name);
        self.run_as(name, base, None, stage)
    }

    /// Runs it against a proxy, which decodes paths or does not.
    pub(crate) fn run_through(&self, base: &str, decoding: bool, stage: &Stage) -> Seen {
        let proxy = if decoding { "decoding" } else { "passing" };
        self.run_against(base, Some(proxy), stage)
    }

    fn run_against(&self, base: &str, proxy: Option<&str>, stage: &Stage) -> Seen {
        let name = match proxy {
            None => self.name.to_owned(),
            Some(proxy) => format!("{} behind {proxy} nginx", self.name),
        };
        self.run_as(name, base, proxy, stage)
    }

    fn run_as(&self, name: String, base: &str, proxy: Option<&str>, stage: &Stage) -> Seen {
        let client = (self.start)();
        // The clients know no bound of their own.
        let mut command = Command::new("timeout");
        command.arg(PATIENCE_S).arg(client.get_program());
        command.args(client.get_args());
        for (key, value) in client.get_envs() {
            command.env(key, value.unwrap_or_default());
        }
        let output = command
            .env("SITECONF_BASE", base)
            .env("SITECONF_TRUTH", stage.truth_file())
            .env("SITECONF_PROXY", proxy.unwrap_or_default())
            .env("REQUESTS_CA_BUNDLE", stage.certificate())
            .env("LANG", "C.UTF-8")
            .env("NO_PROXY", "127.0.0.1")
            .env("no_proxy", "127.0.0.1")
            .output()
            .expect("timeout is on the machine");
        self.seen(name, &output)
    }

    /// What a client's output says. Its rows must be all that it is to see, and nothing else.
    fn seen(&self, name: String, output: &Output) -> Seen {
        let mut seen = Seen::new(name, self.rows);
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            let row = line
                .strip_prefix("row ")
                .and_then(|rest| rest.split_once(' '))
                .and_then(|(row, outcome)| Some((row.parse().ok()?, outcome)));
            match row {
                Some((row, "ok")) => seen.passed(row),
                Some((row, outcome)) => seen.failed(row, outcome),
                None => seen.fault(line),
            }
        }
        if !output.status.success() || seen.faults().next().is_some() {
            let said = String::from_utf8_lossy(&output.stderr);
            if !output.status.success() {
                seen.fault(&format!("it ended with {}", output.status));
            }
            if !said.is_empty() {
                seen.fault(&format!("it said: {said}"));
            }
        }
        seen
    }
}

/// A variable of the environment.
#[expect(
    clippy::disallowed_methods,
    reason = "these settings are the suite's own"
)]
pub(crate) fn setting(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn python_probe(version: &str) -> Command {
    let mut python = Command::new(interpreter(version));
    python.arg("-c").arg(format!(
        "import gitlab; assert gitlab.__version__ == '{version}'"
    ));
    python
}

fn python(version: &str) -> Command {
    let mut python = Command::new(interpreter(version));
    python.arg(source("python-gitlab/client.py"));
    python
}

fn interpreter(version: &str) -> PathBuf {
    installed(&format!("python-gitlab-{version}/bin/python"))
}

/// Go with Debian's sources, which know no modules.
fn go() -> Command {
    let mut go = Command::new("go");
    go.env("GO111MODULE", "off")
        .env("GOPATH", "/usr/share/gocode")
        .env("GOCACHE", installed("go-build"));
    go
}

/// A file of this folder.
fn source(path: &str) -> PathBuf {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients");
    tests.join(path)
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
