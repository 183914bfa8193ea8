//! The real binary, with listeners as a test wants them.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::pair::Pair;

/// How long a test waits for what must come.
const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) const HEALTH: &str = "/site-builder/api/erp-config/health";

/// A running service. Dropping it kills the process and removes the folder.
pub(crate) struct Service {
    folder: tempfile::TempDir,
    process: Child,
    _output: BufReader<ChildStdout>,
    /// What it said it listens on.
    places: Vec<String>,
    /// Where it said it shows its metrics, if it did.
    metrics: Option<String>,
}

impl Service {
    /// Starts with TLS by this pair beside the plain listener.
    pub(crate) fn with_tls(pair: &Pair, flags: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let [cert, key] = pair.write(folder.path()).map(shown);
        let tls = [
            "--tls-listen",
            "127.0.0.1:0",
            "--tls-cert",
            &cert,
            "--tls-key",
            &key,
        ];
        Self::start_in(folder, &[&tls, flags].concat(), &[])
    }

    /// Starts with these flags and variables.
    pub(crate) fn start(flags: &[&str], variables: &[(&str, &str)]) -> Self {
        Self::start_in(tempfile::tempdir().unwrap(), flags, variables)
    }

    /// The same on a folder; the log and the data are put there.
    pub(crate) fn start_in(
        folder: tempfile::TempDir,
        flags: &[&str],
        variables: &[(&str, &str)],
    ) -> Self {
        Self::start_while(folder, flags, variables, |_, _| {})
    }

    /// The same; something is done with the folder and the process as soon as there is one.
    pub(crate) fn start_while(
        folder: tempfile::TempDir,
        flags: &[&str],
        variables: &[(&str, &str)],
        meanwhile: impl FnOnce(&Path, Pid),
    ) -> Self {
        let log = File::create(folder.path().join("log")).unwrap();
        let mut command = command(folder.path());
        if !flags.contains(&"--listen") {
            command.args(["--listen", "127.0.0.1:0"]);
        }
        let mut process = command
            .args(flags)
            .envs(variables.iter().copied())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .unwrap();
        meanwhile(folder.path(), Pid::from_child(&process));
        let mut output = BufReader::new(process.stdout.take().unwrap());
        let without = flags.windows(2).any(|pair| pair == ["--listen", "none"]);
        let more = ["--tls-listen", "--unix-listen"].map(|flag| flags.contains(&flag));
        let count = usize::from(!without) + more.iter().filter(|more| **more).count();
        let (mut places, mut metrics) = (Vec::new(), None);
        while places.len() < count {
            let mut line = String::new();
            if output.read_line(&mut line).unwrap() == 0 {
                let log = fs::read_to_string(folder.path().join("log"));
                panic!("it ended: {:?} {log:?}", process.wait());
            }
            if let Some(place) = line.trim_end().strip_prefix("listening on ") {
                places.push(place.to_owned());
            }
            if let Some(place) = line.trim_end().strip_prefix("metrics on ") {
                metrics = Some(place.to_owned());
            }
        }
        Self {
            folder,
            process,
            _output: output,
            places,
            metrics,
        }
    }

    /// The text of its metrics; it was started with `--metrics-listen`.
    pub(crate) fn metrics(&self) -> String {
        let place = self.metrics.as_ref().unwrap();
        output_of(Command::new("curl").args(["--silent", "--fail", "--noproxy", "*", place]))
    }

    /// The address at which it shows them.
    pub(crate) fn metrics_address(&self) -> SocketAddr {
        let place = self.metrics.as_ref().unwrap();
        let place = place.strip_prefix("http://").unwrap();
        place.strip_suffix("/metrics").unwrap().parse().unwrap()
    }

    /// A file or folder beside its data.
    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The address of the plain listener.
    pub(crate) fn plain(&self) -> SocketAddr {
        self.place("http://")
    }

    /// The address of the TLS listener.
    pub(crate) fn tls(&self) -> SocketAddr {
        self.place("https://")
    }

    fn place(&self, scheme: &str) -> SocketAddr {
        let mut found = self
            .places
            .iter()
            .filter_map(|place| place.strip_prefix(scheme));
        found.next().unwrap().parse().unwrap()
    }

    pub(crate) fn password(&self) -> String {
        let file = self.at("data/secrets/initial-password");
        fs::read_to_string(file).unwrap().trim_end().to_owned()
    }

    pub(crate) fn id(&self) -> Pid {
        Pid::from_child(&self.process)
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(self.id(), signal).unwrap();
    }

    /// Stops it.
    pub(crate) fn stop(&mut self) -> ExitStatus {
        self.signal(Signal::TERM);
        self.process.wait().unwrap()
    }

    pub(crate) fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Runs a command beside it, which must succeed.
    pub(crate) fn run(&self, arguments: &[&str]) -> String {
        let output = Command::new(env!("CARGO_BIN_EXE_siteconf"))
            .arg("--data")
            .arg(self.at("data"))
            .args(arguments)
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.at("log")).unwrap()
    }

    /// Waits for so many lines of the log with a text, and gives the last of them.
    #[track_caller]
    pub(crate) fn logged(&self, text: &str, times: usize) -> Value {
        serde_json::from_str(&self.line(text, times)).unwrap()
    }

    /// The same, as it stands.
    #[track_caller]
    pub(crate) fn line(&self, text: &str, times: usize) -> String {
        let end = Instant::now() + PATIENCE;
        loop {
            let log = self.log();
            let whole = log.rsplit_once('\n').map_or("", |(lines, _)| lines);
            let found: Vec<_> = whole.lines().filter(|line| line.contains(text)).collect();
            if found.len() >= times {
                return found[times - 1].to_owned();
            }
            assert!(Instant::now() < end, "no \"{text}\" in {log}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // It may have ended.
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

/// The service with its data in a folder, as it will be started.
fn command(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_siteconf"));
    command.arg("serve").arg("--data").arg(folder.join("data"));
    command.stdin(Stdio::null());
    command
}

/// What the service says that does not start with these flags, and its exit code. One that starts is
/// ended, and has none.
pub(crate) fn refused(flags: &[&str]) -> (Option<i32>, String) {
    let folder = tempfile::tempdir().unwrap();
    let mut process = command(folder.path())
        .args(flags)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let end = Instant::now() + PATIENCE;
    while process.try_wait().unwrap().is_none() {
        if Instant::now() >= end {
            process.kill().unwrap();
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let Output { status, stderr, .. } = process.wait_with_output().unwrap();
    let said = String::from_utf8(stderr).unwrap();
    let said = said.lines().filter(|line| line.starts_with("siteconf: "));
    (status.code(), said.collect())
}

/// A path as a flag.
pub(crate) fn shown(path: PathBuf) -> String {
    path.into_os_string().into_string().unwrap()
}

/// Runs a program, which must succeed, and gives what it printed.
#[track_caller]
pub(crate) fn output_of(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}
