//! The daemon as a process: its memory, its time, and what it holds.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::client::{Client, segment};

const PROJECT: &str = "bench/shop.erp";
/// In which Linux tells times to programs, on all machines.
const TICKS_A_SECOND: u64 = 100;
const BYTES: &str = "application/octet-stream";

/// A running daemon. Dropped, it is killed.
pub(crate) struct Daemon {
    data: PathBuf,
    process: Child,
    /// Kept open, so that the daemon may print.
    _output: BufReader<ChildStdout>,
    address: SocketAddr,
}

impl Daemon {
    /// Starts it with room for so many clients, all of one address and with one token, and for a few more.
    pub(crate) fn start(data: &Path, clients: usize) -> Self {
        let (waiting, connections) = (clients.to_string(), (clients + 100).to_string());
        let mut process = siteconf(data)
            .args(["--log", "error", "serve", "--listen", "127.0.0.1:0"])
            .args([
                "--connections-max",
                &connections,
                "--connections-address-max",
                "0",
            ])
            .args([
                "--waiting-max",
                &waiting,
                "--waiting-credential-max",
                &waiting,
            ])
            .args(["--waiting-address-max", "0"])
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

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// The most memory that was resident so far, in MiB.
    pub(crate) fn memory_mib(&self) -> f64 {
        let status = self.told("status");
        let mut lines = status.lines();
        let peak = lines.find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        let kib: f64 = peak
            .trim()
            .strip_suffix("kB")
            .unwrap()
            .trim()
            .parse()
            .unwrap();
        kib / 1024.0
    }

    /// The processor's time that it took so far, with that of threads that have ended.
    pub(crate) fn cpu(&self) -> Duration {
        let stat = self.told("stat");
        // The second field is a name in brackets, of whatever; the 14th and 15th are the times.
        let (_, fields) = stat.rsplit_once(") ").unwrap();
        let ticks = fields.split(' ').skip(11).take(2);
        let ticks: u64 = ticks.map(|ticks| ticks.parse::<u64>().unwrap()).sum();
        Duration::from_millis(ticks * 1000 / TICKS_A_SECOND)
    }

    fn told(&self, file: &str) -> String {
        fs::read_to_string(format!("/proc/{}/{file}", self.process.id())).unwrap()
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
        Client::new(
            self.address,
            &format!("PRIVATE-TOKEN: {}\r\n", token.trim()),
        )
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // It may be dead already.
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

fn siteconf(data: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_siteconf"));
    command.arg("--data").arg(data).stdin(Stdio::null());
    command
}

/// A project with a branch that is waited for, and one that others read.
pub(crate) fn make_project(admin: &mut Client) {
    let made = admin.post(
        "/site-builder/api/projects",
        &json!({ "name": "bench/shop", "type": "erp" }),
    );
    assert_eq!(made.status, 201);
    for name in ["main", "other"] {
        let made = admin.post(&changed("/branches"), &json!({ "name": name }));
        assert_eq!(made.status, 201);
    }
    put(admin, "other", "other.xml", b"<other/>");
    put(admin, "main", "a.xml", b"<a/>");
}

/// Saves another content at each time.
pub(crate) fn save(admin: &mut Client, at: Instant) {
    put(
        admin,
        "main",
        "a.xml",
        format!("<a at=\"{at:?}\"/>").as_bytes(),
    );
}

fn put(admin: &mut Client, branch: &str, path: &str, body: &[u8]) {
    let target = changed(&format!("/branches/{branch}/files/{path}"));
    let saved = admin.attempt("PUT", &target, BYTES, body).unwrap();
    assert!(matches!(saved.status, 200 | 201), "{saved:?}");
}

/// A target of the Read API below the project.
pub(crate) fn read(rest: &str) -> String {
    let project = segment(PROJECT);
    format!("/site-builder/api/erp-config/projects/{project}/repository{rest}")
}

/// The target of a stream of events.
pub(crate) fn events() -> String {
    changed("/branches/main/events")
}

/// A target of the Admin API below the project.
fn changed(rest: &str) -> String {
    format!("/site-builder/api/projects/{}{rest}", segment(PROJECT))
}
