//! The binary, of today or of an earlier time, and a client of its service.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// A binary and a data folder.
#[derive(Debug)]
pub(crate) struct Siteconf {
    binary: PathBuf,
    pub(crate) data: PathBuf,
}

impl Siteconf {
    /// The one that is tested.
    pub(crate) fn on(data: &Path) -> Self {
        Self::with(env!("CARGO_BIN_EXE_siteconf"), data)
    }

    /// Another one.
    pub(crate) fn with(binary: impl Into<PathBuf>, data: &Path) -> Self {
        Self {
            binary: binary.into(),
            data: data.to_owned(),
        }
    }

    /// Prepares a command.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.binary);
        command.arg("--data").arg(&self.data).args(arguments);
        command.stdin(Stdio::null());
        command
    }

    /// Runs a command to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Runs a command that must succeed; what it prints.
    #[track_caller]
    pub(crate) fn done(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// The same for one that prints JSON.
    #[track_caller]
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.done(arguments)).unwrap()
    }

    /// Runs a command that is refused: its exit code, and the message.
    #[track_caller]
    pub(crate) fn refused(&self, arguments: &[&str]) -> (i32, String) {
        let output = self.run(arguments);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.stdout, b"", "{arguments:?}");
        (output.status.code().unwrap(), said)
    }

    /// Starts the service.
    #[track_caller]
    pub(crate) fn serve(&self) -> Service {
        let mut command = self.command(&["--log", "error", "serve", "--listen", "127.0.0.1:0"]);
        let mut process = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut output = BufReader::new(process.stdout.take().unwrap());
        let mut lines = output.by_ref().lines().map(Result::unwrap);
        let address =
            lines.find_map(|line| line.strip_prefix("listening on http://").map(str::to_owned));
        let Some(address) = address else {
            panic!("the service ended: {}", process.wait().unwrap());
        };
        Service {
            process,
            _output: output,
            address: address.parse().unwrap(),
        }
    }
}

/// A running service. Dropped, it is killed.
#[derive(Debug)]
pub(crate) struct Service {
    process: Child,
    /// Kept open, so that it may print.
    _output: BufReader<ChildStdout>,
    address: SocketAddr,
}

impl Drop for Service {
    fn drop(&mut self) {
        // It may have ended already.
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

/// An answer: its status, its headers in one text, its body.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: Vec<u8>,
}

impl Service {
    /// Asks it to stop, and waits until it has.
    pub(crate) fn stop(mut self) {
        let id = i32::try_from(self.process.id()).unwrap();
        kill_process(Pid::from_raw(id).unwrap(), Signal::TERM).unwrap();
        assert!(self.process.wait().unwrap().success());
    }

    /// Sends a request with more header lines, and waits for the whole answer.
    #[track_caller]
    pub(crate) fn ask(
        &self,
        method: &str,
        target: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Answer {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_mins(1)))
            .unwrap();
        let mut head = format!("{method} {target} HTTP/1.0\r\nHost: siteconf.test\r\n");
        for (name, value) in headers {
            write!(head, "{name}: {value}\r\n").unwrap();
        }
        write!(head, "Content-Length: {}\r\n\r\n", body.len()).unwrap();
        stream.write_all(&[head.as_bytes(), body].concat()).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let end = answer.windows(4).position(|four| four == b"\r\n\r\n");
        let end = end.expect("an answer has a head");
        let head = String::from_utf8(answer[..end].to_vec()).unwrap();
        Answer {
            status: head[9..12].parse().unwrap(),
            head,
            body: answer[end + 4..].to_vec(),
        }
    }

    /// Sends JSON.
    #[track_caller]
    pub(crate) fn post(&self, target: &str, credential: (&str, &str), body: &Value) -> Answer {
        let headers = [("Content-Type", "application/json"), credential];
        self.ask("POST", target, &headers, body.to_string().as_bytes())
    }

    /// Logs in; the cookie, or the status of the refusal.
    #[track_caller]
    pub(crate) fn log_in(&self, name: &str, password: &str) -> Result<String, u16> {
        let body = serde_json::json!({ "username": name, "password": password });
        let answer = self.post("/user/login", ("Accept", "*/*"), &body);
        let mut lines = answer.head.lines();
        let cookie = lines.find_map(|line| {
            let (key, value) = line.split_once(": ")?;
            key.eq_ignore_ascii_case("set-cookie").then_some(value)
        });
        match cookie.and_then(|cookie| cookie.split(';').next()) {
            Some(cookie) => Ok(cookie.to_owned()),
            None => Err(answer.status),
        }
    }
}
