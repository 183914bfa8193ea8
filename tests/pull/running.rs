//! A pull that goes on while a test does something else.

use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

/// A pull that runs, and what it says.
pub(crate) struct Running {
    pub(crate) child: Child,
    out: Lines<BufReader<ChildStdout>>,
    err: Lines<BufReader<ChildStderr>>,
}

impl Running {
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        Self {
            out: BufReader::new(child.stdout.take().unwrap()).lines(),
            err: BufReader::new(child.stderr.take().unwrap()).lines(),
            child,
        }
    }

    /// The next line of its results; it comes when there is one.
    pub(crate) fn line(&mut self) -> String {
        self.out.next().expect("it goes on").unwrap()
    }

    /// The next line of its complaints.
    pub(crate) fn complaint(&mut self) -> String {
        self.err.next().expect("it goes on").unwrap()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// How it ended, and what it had still to say.
    pub(crate) fn end(mut self) -> (Option<i32>, String) {
        let code = self.child.wait().unwrap().code();
        let rest: Vec<_> = self.err.by_ref().map(Result::unwrap).collect();
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
