//! The daemon and the import beside it, as processes.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::client::{Client, segment};

pub(crate) const PROJECT: &str = "bench/shop.erp";
const HEALTH: &str = "/site-builder/api/erp-config/health";
/// How often the memory of a process is looked at that will be gone when it has ended.
const LOOK: Duration = Duration::from_millis(10);

/// A running daemon. Dropped, it is killed.
pub(crate) struct Daemon {
    data: PathBuf,
    process: Child,
    /// Kept open, so that the daemon may print.
    _output: BufReader<ChildStdout>,
    address: SocketAddr,
}

/// An import that ended.
pub(crate) struct Imported {
    pub(crate) took: Duration,
    pub(crate) memory_mib: u64,
}

impl Daemon {
    pub(crate) fn start(data: &Path) -> Self {
        let mut process = siteconf(
            data,
            &["--log", "error", "serve", "--listen", "127.0.0.1:0"],
        )
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
        let mut output = BufReader::new(process.stdout.take().unwrap());
        let address = loop {
            let mut line = String::new();
            assert!(output.read_line(&mut line).unwrap() > 0, "the daemon ended");
            if let Some(address) = line.strip_prefix("listening on http://") {
                break address.trim_end().parse().unwrap();
            }
        };
        Self {
            data: data.to_owned(),
            process,
            _output: output,
            address,
        }
    }

    /// Imports a folder into a new project, in a process of its own.
    pub(crate) fn import(&self, folder: &Path) -> Imported {
        let folder = folder.to_str().unwrap();
        let began = Instant::now();
        let mut import = siteconf(
            &self.data,
            &["import", PROJECT, "main", folder, "--owner", "admin"],
        )
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
        let mut memory_mib = 0;
        let status = loop {
            if let Some(status) = import.try_wait().unwrap() {
                break status;
            }
            memory_mib = memory_mib.max(peak_mib(import.id()).unwrap_or(0));
            thread::sleep(LOOK);
        };
        assert!(status.success(), "the import failed");
        Imported {
            took: began.elapsed(),
            memory_mib,
        }
    }

    /// Its peak so far.
    pub(crate) fn memory_mib(&self) -> u64 {
        peak_mib(self.process.id()).unwrap()
    }

    /// Bytes of the log that is not yet copied into the database, and of what was.
    pub(crate) fn log_bytes(&self) -> u64 {
        fs::metadata(self.data.join("store.db-wal")).map_or(0, |log| log.len())
    }

    pub(crate) fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Starts again after a kill. Gives the time to the first answer of the health check.
    pub(crate) fn restart(&mut self) -> Duration {
        let began = Instant::now();
        let daemon = Self::start(&self.data);
        let answer = Client::new(daemon.address, "").get(HEALTH);
        let ready = began.elapsed();
        assert_eq!(answer.status, 200);
        *self = daemon;
        ready
    }

    /// Logs in the account of the first start.
    pub(crate) fn admin(&self) -> Client {
        let password = fs::read_to_string(self.data.join("secrets/initial-password")).unwrap();
        let body = json!({ "username": "admin", "password": password.trim_end() });
        let answer = Client::new(self.address, "").post("/user/login", &body);
        assert_eq!(answer.status, 200);
        let cookie = answer
            .header("set-cookie")
            .unwrap()
            .split(';')
            .next()
            .unwrap();
        Client::new(self.address, &format!("Cookie: {cookie}\r\n"))
    }

    /// The holder of a fresh token.
    pub(crate) fn reader(&self) -> Client {
        let token = siteconf(
            &self.data,
            &[
                "token", "create", "--user", "admin", "--name", "bench", "--all",
            ],
        )
        .output()
        .unwrap();
        let token = String::from_utf8(token.stdout).unwrap();
        Client::new(
            self.address,
            &format!("PRIVATE-TOKEN: {}\r\n", token.trim()),
        )
    }

    /// The same user, of a daemon that was started again.
    pub(crate) fn again(&self, user: &Client) -> Client {
        Client::new(self.address, &user.credential)
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // It may be dead already.
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

fn siteconf(data: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_siteconf"));
    command
        .arg("--data")
        .arg(data)
        .args(arguments)
        .stdin(Stdio::null());
    command
}

/// The most memory that was ever resident, in MiB; `None` when the process has ended.
fn peak_mib(id: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib.div_ceil(1024))
}

/// A target of the Read API below the project.
pub(crate) fn read(rest: &str) -> String {
    let project = segment(PROJECT);
    format!("/site-builder/api/erp-config/projects/{project}/repository{rest}")
}

/// The target of a file of the branch in the Admin API.
pub(crate) fn file(path: &str) -> String {
    let (project, path) = (segment(PROJECT), segment(path));
    format!("/site-builder/api/projects/{project}/branches/main/files/{path}")
}
