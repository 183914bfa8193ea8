//! A pull that goes on while a test does something else.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

/// How long a test waits for what comes soon or never: it fails where it would hang.
const PATIENCE: Duration = Duration::from_mins(1);

/// A pull that runs, and what it says.
pub(crate) struct Running {
    child: Child,
    out: Receiver<String>,
    err: Receiver<String>,
}

impl Running {
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        Self {
            out: lines(child.stdout.take().unwrap()),
            err: lines(child.stderr.take().unwrap()),
            child,
        }
    }

    /// The next line of its results; it comes when there is one.
    #[track_caller]
    pub(crate) fn line(&mut self) -> String {
        next(&self.out)
    }

    /// The next line of its complaints.
    #[track_caller]
    pub(crate) fn complaint(&mut self) -> String {
        next(&self.err)
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// How it ended, and what it had still to complain of.
    #[track_caller]
    pub(crate) fn end(mut self) -> (Option<i32>, String) {
        let mut rest = Vec::new();
        // What it says ends with it.
        loop {
            match self.err.recv_timeout(PATIENCE) {
                Ok(line) => rest.push(line),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("it goes on after {rest:?}"),
            }
        }
        let code = self.child.wait().unwrap().code();
        (code, rest.join("\n"))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// What comes next.
#[track_caller]
pub(crate) fn next<T>(from: &Receiver<T>) -> T {
    from.recv_timeout(PATIENCE)
        .expect("it comes within a minute")
}

fn lines(pipe: impl Read + Send + 'static) -> Receiver<String> {
    let (tell, told) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(pipe).lines() {
            // Nobody may listen any more.
            let _heard = tell.send(line.unwrap());
        }
    });
    told
}
