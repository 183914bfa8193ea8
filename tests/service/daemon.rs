//! The real binary on a folder of its own.

use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Output, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::client::{Client, segment};

#[path = "../support/tested.rs"]
#[allow(dead_code, reason = "not all suites ask for its version")]
pub(crate) mod tested;

const ADMIN: &str = "/site-builder/api";
const READ: &str = "/site-builder/api/erp-config";
/// The project of every test, and the one branch in it.
pub(crate) const PROJECT: &str = "acme/shop.erp";

/// A folder, and the daemon that runs on it.
#[derive(Debug)]
pub(crate) struct Daemon {
    folder: tempfile::TempDir,
    process: Child,
    /// Kept open, so that the daemon may print.
    output: BufReader<ChildStdout>,
    address: SocketAddr,
}

impl Daemon {
    /// Starts on an empty folder.
    pub(crate) fn start() -> Self {
        Self::start_on(tempfile::tempdir().unwrap())
    }

    /// Starts on an empty folder with more flags, and with no more memory than this.
    pub(crate) fn start_within(memory_kib: u64, flags: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut daemon = serve(&folder.path().join("data"));
        daemon.args(flags);
        let limited = within(&format!("-d {memory_kib}"), &daemon);
        Self::start_as(folder, limited)
    }

    /// Starts on a folder that may hold what an earlier one left.
    pub(crate) fn start_on(folder: tempfile::TempDir) -> Self {
        let command = serve(&folder.path().join("data"));
        Self::start_as(folder, command)
    }

    /// Starts with this command, made by [`serve`] on the folder.
    pub(crate) fn start_as(folder: tempfile::TempDir, command: Command) -> Self {
        let (process, output, address) = launch(command);
        Self {
            folder,
            process,
            output,
            address,
        }
    }

    /// The most memory that was resident at any time, in KiB.
    pub(crate) fn peak_resident_kib(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let digits = line.unwrap().trim().trim_end_matches(" kB");
        digits.parse().unwrap()
    }

    /// The id of the process.
    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    /// Where it is reached.
    pub(crate) fn base(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The data folder.
    pub(crate) fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// The flags that name its store.
    pub(crate) fn store_flags(&self) -> Vec<OsString> {
        vec!["--data".into(), self.data().into()]
    }

    /// Kills it where it stands, and starts it again.
    pub(crate) fn kill_and_restart(&mut self) {
        self.kill_and_restart_with(&[]);
    }

    /// The same, with more flags.
    pub(crate) fn kill_and_restart_with(&mut self, flags: &[&str]) {
        let mut command = serve(&self.data());
        command.args(flags);
        self.kill_and_restart_as(command);
    }

    /// The same, with this command, made by [`serve`] on the folder.
    pub(crate) fn kill_and_restart_as(&mut self, command: Command) {
        self.kill();
        (self.process, self.output, self.address) = launch(command);
    }

    /// Asks it to stop, and waits until it has.
    pub(crate) fn stop(&mut self) -> ExitStatus {
        let id = i32::try_from(self.process.id()).unwrap();
        kill_process(Pid::from_raw(id).unwrap(), Signal::TERM).unwrap();
        self.process.wait().unwrap()
    }

    pub(crate) fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Prepares a command beside it.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = siteconf_at(&self.store_flags());
        command.args(arguments);
        command
    }

    /// Imports a folder into the branch `main`.
    pub(crate) fn import(&self, folder: &Path) -> Output {
        let output = self
            .command(&["import", PROJECT, "main"])
            .arg(folder)
            .output();
        let output = output.unwrap();
        assert!(output.status.success(), "{output:?}");
        output
    }

    /// Logs in the account of the first start.
    pub(crate) fn admin(&self) -> Client {
        let password = fs::read_to_string(self.data().join("secrets/initial-password")).unwrap();
        self.admin_with(password.trim_end())
    }

    /// Logs in the first account, which has this password.
    pub(crate) fn admin_with(&self, password: &str) -> Client {
        login(self.address, password)
    }

    /// A user with this credential, a header line.
    pub(crate) fn again(&self, credential: &str) -> Client {
        Client::new(self.address, credential)
    }

    /// Makes the project and its branch `main`.
    pub(crate) fn make_project(admin: &mut Client) {
        let project = json!({ "name": "acme/shop", "type": "erp" });
        assert_eq!(
            admin.post(&format!("{ADMIN}/projects"), &project).status,
            201
        );
        let branches = format!("{ADMIN}/projects/{}/branches", segment(PROJECT));
        assert_eq!(
            admin.post(&branches, &json!({ "name": "main" })).status,
            201
        );
    }

    /// The holder of a fresh token.
    pub(crate) fn reader(&self, admin: &mut Client) -> Client {
        let token = json!({ "name": "reader", "repos": [PROJECT] });
        let token = admin.post(&format!("{ADMIN}/tokens"), &token).json();
        let token = token["tokenString"].as_str().unwrap();
        self.again(&format!("PRIVATE-TOKEN: {token}\r\n"))
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // It may be dead already.
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

/// The first account, which has this password, logged in at a daemon.
pub(crate) fn login(address: SocketAddr, password: &str) -> Client {
    let body = json!({ "username": "admin", "password": password });
    let answer = Client::new(address, "").post("/user/login", &body);
    assert_eq!(answer.status, 200, "{answer:?}");
    let cookie = answer.header("set-cookie").unwrap();
    let cookie = cookie.split(';').next().unwrap();
    Client::new(address, &format!("Cookie: {cookie}\r\n"))
}

/// Copies the program to where another user may run it. Another process does: of a file that this one has open to
/// write, every process that another test starts just then has a copy, and what somebody may write is not run.
pub(crate) fn copy_program(to: &Path) {
    let copied = Command::new("cp")
        .arg(env!("CARGO_BIN_EXE_siteconf"))
        .arg(to)
        .status();
    assert!(copied.unwrap().success());
}

/// The binary on a data folder.
pub(crate) fn siteconf(data: &Path) -> Command {
    siteconf_at(&["--data".into(), data.into()])
}

/// The tested program on a store that these flags name.
pub(crate) fn siteconf_at(store: &[OsString]) -> Command {
    let mut command = Command::new(tested::binary());
    command.args(store);
    command
}

/// The service on a data folder, as it will be started; it listens where there is room.
pub(crate) fn serve(data: &Path) -> Command {
    serve_at(&["--data".into(), data.into()])
}

/// The same on a store that these flags name.
pub(crate) fn serve_at(store: &[OsString]) -> Command {
    let mut command = siteconf_at(store);
    command
        .args(["--log", "error", "serve", "--listen", "127.0.0.1:0"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    command
}

/// The same command, made by [`serve`], within a limit as `ulimit` takes it.
pub(crate) fn within(limit: &str, daemon: &Command) -> Command {
    let mut limited = Command::new("sh");
    limited
        .args(["-c", &format!("ulimit {limit} && exec \"$@\""), "sh"])
        .arg(daemon.get_program())
        .args(daemon.get_args())
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    limited
}

fn launch(mut command: Command) -> (Child, BufReader<ChildStdout>, SocketAddr) {
    let mut process = command.spawn().unwrap();
    let mut output = BufReader::new(process.stdout.take().unwrap());
    let mut lines = output.by_ref().lines().map(Result::unwrap);
    let address =
        lines.find_map(|line| line.strip_prefix("listening on http://").map(str::to_owned));
    let Some(address) = address else {
        panic!("the daemon ended: {}", process.wait().unwrap());
    };
    (process, output, address.parse().unwrap())
}

/// A target of the Admin API below the branch.
pub(crate) fn on_branch(rest: &str) -> String {
    format!("{ADMIN}/projects/{}/branches/main{rest}", segment(PROJECT))
}

/// The target of a file of the branch.
pub(crate) fn file(path: &str) -> String {
    on_branch(&format!("/files/{}", segment(path)))
}

/// A target of the Read API below the project.
pub(crate) fn read(rest: &str) -> String {
    format!("{READ}/projects/{}/repository{rest}", segment(PROJECT))
}
