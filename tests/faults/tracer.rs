//! `strace`, which records calls of the system, and makes some of them fail.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

/// True if it can be run. Where it is missing a test is left out, and says so.
#[expect(clippy::print_stderr, reason = "a skipped test must be seen")]
pub(crate) fn is_there() -> bool {
    let is_there = Command::new("strace").arg("-V").output().is_ok();
    if !is_there {
        let is_ci = std::env::var_os("CI").is_some_and(|ci| ci == "true");
        assert!(!is_ci, "strace is missing");
        eprintln!("LEFT OUT: what needs strace, which is missing");
    }
    is_there
}

/// A tracer of a process that runs already.
pub(crate) struct Tracer(Child);

impl Tracer {
    /// Begins to trace the process of this id, as the command says.
    pub(crate) fn attach(mut strace: Command, id: u32) -> Self {
        strace.arg("-p").arg(id.to_string()).stderr(Stdio::piped());
        let mut process = strace.spawn().unwrap();
        let mut told = String::new();
        let stderr = process.stderr.take().unwrap();
        BufReader::new(stderr).read_line(&mut told).unwrap();
        assert!(told.contains("attached"), "{told}");
        Self(process)
    }

    /// Lets it go on, by `TERM`, or where it is dead, by `KILL`.
    pub(crate) fn detach(mut self, signal: Signal) {
        let id = Pid::from_raw(i32::try_from(self.0.id()).unwrap()).unwrap();
        kill_process(id, signal).unwrap();
        self.0.wait().unwrap();
    }
}
