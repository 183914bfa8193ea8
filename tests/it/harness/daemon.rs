//! The real binary on a folder of its own.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read as _, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, ExitStatus, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::tested::binary;
use super::{Answer, Connection, Place, Project, User};

/// A running daemon. Dropping it kills the process and removes the folder.
#[derive(Debug)]
pub(crate) struct Daemon {
    folder: TempDir,
    place: Place,
    process: Child,
    /// Kept open: a daemon must be able to print.
    output: BufReader<ChildStdout>,
    address: SocketAddr,
    /// Where it shows its metrics, if it does.
    metrics: Option<SocketAddr>,
}

impl Daemon {
    /// Starts on an empty store.
    pub(crate) fn start() -> Self {
        Self::start_with(&[])
    }

    /// Starts on an empty store with more flags.
    pub(crate) fn start_with(flags: &[&str]) -> Self {
        let folder = own_folder();
        let place = Place::chosen(folder.path());
        Self::start_at(place, folder, flags)
    }

    /// Starts on the store at this place, with a folder for its log.
    pub(crate) fn start_at(place: Place, folder: TempDir, flags: &[&str]) -> Self {
        let (process, output, address, metrics) = launch(&folder, &place, flags);
        Self {
            folder,
            place,
            process,
            output,
            address,
            metrics,
        }
    }

    /// The address it listens on.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Whoever asks for its metrics; it was started with `--metrics-listen`.
    pub(crate) fn watcher(&self) -> User {
        User::new(self.metrics.expect("it shows metrics"), None)
    }

    /// The flags that name its store to a command.
    pub(crate) fn store_flags(&self) -> Vec<OsString> {
        self.place.flags()
    }

    /// The data folder.
    pub(crate) fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// The database in which its store lies, if it lies in one.
    #[cfg(feature = "fleet")]
    pub(crate) fn database(&self) -> Option<&super::server::Database> {
        match &self.place {
            Place::Folder(_) => None,
            Place::Database { database, .. } => Some(database),
        }
    }

    /// How many large files are on their way into its store.
    pub(crate) fn uploads_under_way(&self) -> usize {
        match &self.place {
            Place::Folder(data) => fs::read_dir(data.join("incoming"))
                .expect("a folder of uploads")
                .count(),
            // The bucket knows of the parts of those that are larger than one.
            #[cfg(feature = "fleet")]
            Place::Database { .. } => 0,
        }
    }

    /// Everything it logged so far.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).expect("a log")
    }

    /// The first line of the log that contains a text. It comes a little after the answer to what it
    /// tells of: nobody waits for the log.
    pub(crate) fn logged(&self, text: &str) -> Value {
        let mut logged = None;
        soon(|| {
            let log = self.log();
            let mut whole = log
                .split_inclusive('\n')
                .filter(|line| line.ends_with('\n'));
            let line = whole.find(|line| line.contains(text));
            logged = line.map(|line| serde_json::from_str(line).expect("it is JSON"));
            logged.is_some()
        });
        logged.expect("it was found")
    }

    /// The memory that it has, in bytes.
    pub(crate) fn resident_bytes(&self) -> u64 {
        let status = format!("/proc/{}/status", self.process.id());
        let status = fs::read_to_string(status).expect("it runs");
        let line = status.lines().find(|line| line.starts_with("VmRSS:"));
        let kib = line.and_then(|line| line.split_whitespace().nth(1));
        1024 * kib.and_then(|kib| kib.parse::<u64>().ok()).expect("kB")
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        let id = i32::try_from(self.process.id()).expect("a process id");
        kill_process(Pid::from_raw(id).expect("not zero"), signal).expect("it runs");
    }

    /// Asks it to stop, and waits until it did.
    pub(crate) fn stop(&mut self) -> ExitStatus {
        self.signal(Signal::TERM);
        self.process.wait().expect("it ends")
    }

    /// Ends it at once, as a crash would.
    pub(crate) fn kill(&mut self) {
        self.process.kill().expect("it runs");
        self.process.wait().expect("it ends");
    }

    /// Starts again on the same folder; it must have ended.
    pub(crate) fn restart(&mut self) {
        self.restart_with(&[]);
    }

    /// The same with more flags.
    pub(crate) fn restart_with(&mut self, flags: &[&str]) {
        (self.process, self.output, self.address, self.metrics) =
            launch(&self.folder, &self.place, flags);
    }

    /// Kills it and starts it again with these flags, as the only one of its store. The one before would count as there
    /// for some seconds; its row is removed.
    pub(crate) fn replace_with(&mut self, flags: &[&str]) {
        self.kill();
        #[cfg(feature = "fleet")]
        if let Some(database) = self.database() {
            database.ask("DELETE FROM siteconf.daemon");
        }
        self.restart_with(flags);
    }

    /// Runs another command beside it.
    pub(crate) fn command(&self, arguments: &[&str], input: &str) -> Output {
        let mut process = Command::new(binary())
            .args(arguments)
            .args(self.store_flags())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary runs");
        let mut stdin = process.stdin.take().expect("it has an input");
        // A command that refuses its arguments ends without reading.
        drop(stdin.write_all(input.as_bytes()));
        drop(stdin);
        process.wait_with_output().expect("it ends")
    }

    /// Runs a command that must succeed.
    #[track_caller]
    pub(crate) fn run(&self, arguments: &[&str], input: &str) {
        let output = self.command(arguments, input);
        assert!(output.status.success(), "{arguments:?}: {output:?}");
    }

    /// Adds an account; its password is [`password_of`] its name.
    #[track_caller]
    pub(crate) fn add_account(&self, name: &str, roles: &[&str]) {
        let mut arguments = vec!["user", "add", name, "--password-stdin"];
        for role in roles {
            arguments.extend(["--role", role]);
        }
        self.run(&arguments, &format!("{}\n", password_of(name)));
    }

    /// Adds an account with these roles and logs it in.
    #[track_caller]
    pub(crate) fn user(&self, name: &str, roles: &[&str]) -> User {
        self.add_account(name, roles);
        self.session(name)
    }

    /// Logs in an account that exists.
    #[track_caller]
    pub(crate) fn session(&self, name: &str) -> User {
        let password = if name == "admin" {
            self.initial_password()
        } else {
            password_of(name)
        };
        let cookie = cookie_of(&self.login(name, &password).expect_status(200));
        User::new(self.address, Some(("Cookie", &cookie)))
    }

    /// Tries to log in.
    #[track_caller]
    pub(crate) fn login(&self, name: &str, password: &str) -> Answer {
        let body = json!({ "username": name, "password": password });
        self.anonymous().post("/user/login", &body)
    }

    /// The password that the first start chose for `admin`.
    pub(crate) fn initial_password(&self) -> String {
        self.place.first_password()
    }

    /// Somebody without a credential.
    pub(crate) fn anonymous(&self) -> User {
        User::new(self.address, None)
    }

    /// The holder of a token.
    pub(crate) fn token(&self, token: &str) -> User {
        User::new(self.address, Some(("PRIVATE-TOKEN", token)))
    }

    /// The holder of a fresh token of the project's owner that covers just the project.
    #[track_caller]
    pub(crate) fn reader(&self, project: &Project) -> User {
        let body = json!({ "name": "reader", "repos": [project.id] });
        let token = project.user.issue(&body);
        self.token(token["tokenString"].as_str().unwrap())
    }

    /// A connection to send bytes over.
    pub(crate) fn connect(&self) -> Connection {
        Connection::open(self.address)
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

/// Waits until something is so that a command beside the daemon has written: the daemon takes note
/// of it within 20 ms.
#[track_caller]
pub(crate) fn soon(mut is_so: impl FnMut() -> bool) {
    // Longer than it takes on the busiest machine, where others need the time that goes by.
    let patience = Instant::now() + Duration::from_secs(30);
    while !is_so() {
        assert!(Instant::now() < patience, "it never came to be so");
        thread::sleep(Duration::from_millis(5));
    }
}

/// The password of an account that a test added.
pub(crate) fn password_of(name: &str) -> String {
    format!("{name} has a password")
}

/// The `name=value` of the cookie that an answer sets.
#[track_caller]
pub(crate) fn cookie_of(answer: &Answer) -> String {
    let cookie = answer.header("Set-Cookie").expect("a cookie is set");
    cookie.split(';').next().expect("a name").to_owned()
}

/// A temporary folder.
pub(crate) fn own_folder() -> TempDir {
    tempfile::Builder::new()
        .prefix("siteconf-it-")
        .tempdir()
        .expect("a folder of our own")
}

/// Starts the binary and waits until it says where it listens.
fn launch(
    folder: &TempDir,
    place: &Place,
    flags: &[&str],
) -> (
    Child,
    BufReader<ChildStdout>,
    SocketAddr,
    Option<SocketAddr>,
) {
    let log = File::options()
        .append(true)
        .create(true)
        .open(folder.path().join("log"))
        .expect("a file for the log");
    let mut process = Command::new(binary())
        .args(["serve", "--listen", "127.0.0.1:0"])
        .args(place.flags())
        .args(flags)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(log)
        .spawn()
        .expect("the binary starts");
    let mut output = BufReader::new(process.stdout.take().expect("it has an output"));
    let mut metrics = None;
    let address = output
        .by_ref()
        .lines()
        .map_while(Result::ok)
        .find_map(|line| {
            if let Some(shown) = line.strip_prefix("metrics on http://") {
                let address = shown.strip_suffix("/metrics").expect("a path");
                metrics = Some(address.parse().expect("an address"));
            }
            let address = line.strip_prefix("listening on http://")?.parse();
            Some(address.expect("an address"))
        });
    let Some(address) = address else {
        drop(process.kill());
        let status = process.wait();
        let log = fs::read_to_string(folder.path().join("log"));
        panic!("it never listened: {status:?} {log:?}");
    };
    (process, output, address, metrics)
}
