//! `strace`, which records calls of the system, and makes some of them fail.

use std::fs;
use std::io::{self, BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::thread;

use rustix::process::{Pid, Signal, kill_process};

use crate::left_out::leave_out;

/// True if it can be run. Where it is missing a test is left out, and says so.
pub(crate) fn is_there() -> bool {
    let is_there = Command::new("strace").arg("-V").output().is_ok();
    if !is_there {
        leave_out("what needs strace, which is missing");
    }
    is_there
}

/// A tracer of a process that runs already.
pub(crate) struct Tracer(Child);

impl Tracer {
    /// Begins to trace the process of this id, as the command says.
    pub(crate) fn attach(mut strace: Command, id: u32) -> Self {
        // Of a thread that was in a call when it was attached to, the call after the first one was seen to get through.
        let stopped = Stopped::new(id);
        strace.arg("-p").arg(id.to_string()).stderr(Stdio::piped());
        let mut process = strace.spawn().unwrap();
        let mut told = String::new();
        let mut stderr = BufReader::new(process.stderr.take().unwrap());
        stderr.read_line(&mut told).unwrap();
        assert!(told.contains("attached"), "{told}");
        // It tells of each new thread, and ends where nobody takes that.
        thread::spawn(move || io::copy(&mut stderr, &mut io::sink()));
        drop(stopped);
        Self(process)
    }

    /// Lets it go on, by `TERM`, or where it is dead, by `KILL`.
    pub(crate) fn detach(mut self, signal: Signal) {
        let id = Pid::from_raw(i32::try_from(self.0.id()).unwrap()).unwrap();
        kill_process(id, signal).unwrap();
        self.0.wait().unwrap();
    }
}

/// A process that does nothing until this is dropped.
struct Stopped(Pid);

impl Stopped {
    /// Returns when none of its threads is in a call of the system any more that cannot be begun again.
    fn new(id: u32) -> Self {
        let pid = Pid::from_raw(i32::try_from(id).unwrap()).unwrap();
        kill_process(pid, Signal::STOP).unwrap();
        let threads = || fs::read_dir(format!("/proc/{id}/task")).unwrap().flatten();
        // The state follows the name, which ends in a bracket.
        let has_stopped = |thread: &fs::DirEntry| {
            fs::read_to_string(thread.path().join("stat")).is_ok_and(|stat| {
                stat.rsplit_once(") ")
                    .is_some_and(|(_, rest)| rest.starts_with('T'))
            })
        };
        while !threads().all(|thread| has_stopped(&thread)) {
            thread::yield_now();
        }
        Self(pid)
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        kill_process(self.0, Signal::CONT).unwrap();
    }
}
