//! The daemon as a process: its memory, its time, and who talks to it. Of the benchmarks that measure these;
//! they have `client` of the tests beside it.
#![allow(dead_code, reason = "each benchmark uses its part")]

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use serde_json::json;

use crate::client::{Client, segment};

pub(crate) const PROJECT: &str = "bench/shop.erp";
/// In which Linux tells times to programs, on all machines.
const TICKS_A_SECOND: u64 = 100;

/// A running daemon. Dropped, it is killed.
pub(crate) struct Daemon {
    data: PathBuf,
    flags: Vec<String>,
    process: Child,
    /// Kept open, so that the daemon may print.
    _output: BufReader<ChildStdout>,
    address: SocketAddr,
}

impl Daemon {
    /// Starts it, with these flags of `serve` and a port of the system's.
    pub(crate) fn start(data: &Path, flags: &[&str]) -> Self {
        let flags = flags.iter().map(|&flag| flag.to_owned()).collect();
        Self::start_with(data.to_owned(), flags)
    }

    fn start_with(data: PathBuf, flags: Vec<String>) -> Self {
        let serve = ["--log", "error", "serve", "--listen", "127.0.0.1:0"];
        let mut process = siteconf(&data)
            .args(serve)
            .args(&flags)
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
            data,
            flags,
            process,
            _output: output,
            address,
        }
    }

    pub(crate) fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Starts again after a kill.
    pub(crate) fn restart(&mut self) {
        *self = Self::start_with(self.data.clone(), self.flags.clone());
    }

    pub(crate) fn data(&self) -> &Path {
        &self.data
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// The most memory that was resident so far, in MiB.
    pub(crate) fn memory_mib(&self) -> f64 {
        peak_mib(self.process.id()).unwrap()
    }

    /// The processor's time that it took so far, with that of threads that have ended.
    pub(crate) fn cpu(&self) -> Duration {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.process.id())).unwrap();
        // The second field is a name in brackets, of whatever; the 14th and 15th are the times.
        let (_, fields) = stat.rsplit_once(") ").unwrap();
        let ticks = fields.split(' ').skip(11).take(2);
        let ticks: u64 = ticks.map(|ticks| ticks.parse::<u64>().unwrap()).sum();
        Duration::from_millis(ticks * 1000 / TICKS_A_SECOND)
    }

    /// Logs in the account of the first start.
    pub(crate) fn admin(&self) -> Client {
        let password = fs::read_to_string(self.data.join("secrets/initial-password")).unwrap();
        let body = json!({ "username": "admin", "password": password.trim_end() });
        let answer = Client::new(self.address, "").post("/user/login", &body);
        assert_eq!(answer.status, 200);
        let cookie = answer.header("set-cookie").unwrap();
        let cookie = cookie.split(';').next().unwrap();
        Client::new(self.address, &format!("Cookie: {cookie}\r\n"))
    }

    /// The holder of a fresh token.
    pub(crate) fn reader(&self) -> Client {
        let token = siteconf(&self.data)
            .args(["token", "create", "--user", "admin"])
            .args(["--name", "bench", "--all"])
            .output()
            .unwrap();
        let token = String::from_utf8(token.stdout).unwrap();
        let credential = format!("PRIVATE-TOKEN: {}\r\n", token.trim());
        Client::new(self.address, &credential)
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

/// The command line, of this data folder.
pub(crate) fn siteconf(data: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_siteconf"));
    command.arg("--data").arg(data).stdin(Stdio::null());
    command
}

/// The most memory that was ever resident, in MiB; `None` when the process has ended.
pub(crate) fn peak_mib(id: u32) -> Option<f64> {
    let status = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let mut lines = status.lines();
    let peak = lines.find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: f64 = peak.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib / 1024.0)
}

/// A target of the Read API below the project.
pub(crate) fn read(rest: &str) -> String {
    let project = segment(PROJECT);
    format!("/site-builder/api/erp-config/projects/{project}/repository{rest}")
}

/// A target of the Admin API below the project.
pub(crate) fn changed(rest: &str) -> String {
    format!("/site-builder/api/projects/{}{rest}", segment(PROJECT))
}
