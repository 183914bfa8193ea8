//! The N-th call of the system that fails, in a save, a large upload, a rollback, the first use of a token,
//! an import and a start: no panic, nothing acknowledged that is not there, nothing refused that is.

use std::fs;
use std::io::{BufRead, BufReader};
use std::iter;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use rand::rngs::StdRng;
use rustix::process::{Pid, Signal, kill_process};

use crate::client::Client;
use crate::daemon::{Daemon, serve};
use crate::load::{Batches, Bindings, Files, Imports, Rollbacks, Tokens, Work};
use crate::rounds::Rounds;
use crate::told::{State, Told};
use crate::tracer::{self, Tracer};

/// Calls that fail, and how. `write` is that of sockets and the log, too: it can only be the last one.
pub(crate) const FAULTS: [(&str, &str); 15] = [
    (WRITES, "error=EIO"),
    (WRITES, "error=ENOSPC"),
    (WRITES, "error=EDQUOT"),
    (SYNCS, "error=EIO"),
    (SYNCS, "error=ENOSPC"),
    (SYNCS, "error=EDQUOT"),
    (NAMES, "error=EROFS"),
    (NAMES, "error=EIO"),
    (NAMES, "error=ENOSPC"),
    (NAMES, "error=EDQUOT"),
    ("openat", "error=EMFILE"),
    ("pread64", "error=EIO"),
    ("write,writev,pwrite64", "signal=KILL"),
    (SYNCS, "signal=KILL"),
    (NAMES, "signal=KILL"),
];
const WRITES: &str = "pwrite64,ftruncate,fallocate";
const SYNCS: &str = "fsync,fdatasync";
const NAMES: &str = "openat,rename,renameat,renameat2,linkat,unlink,unlinkat,mkdir";

/// A fault whose turn comes again and again, each time one call later.
#[derive(Clone, Copy, Debug)]
struct Series {
    calls: &'static str,
    how: &'static str,
    when: u64,
    /// How often in a row nothing failed, since there were not so many calls.
    misses: u32,
}

impl Series {
    fn inject(&self) -> [String; 4] {
        let Self {
            calls, how, when, ..
        } = self;
        let inject = format!("inject={calls}:{how}:when={when}");
        ["-e".into(), format!("trace={calls}"), "-e".into(), inject]
    }

    fn kills(&self) -> bool {
        self.how.contains("KILL")
    }

    /// Notes whether the fault came, and goes on to the next call, or begins again.
    fn next(&mut self, is_met: bool) {
        self.when += 1;
        self.misses = if is_met { 0 } else { self.misses + 1 };
        if self.misses == 2 {
            (self.when, self.misses) = (1, 0);
        }
    }
}

/// What fails.
enum Operation {
    /// A change that the service is asked for.
    Change(Box<dyn Work>),
    Import(Box<Imports>),
    Start(Files),
}

impl Operation {
    fn work(&mut self) -> &mut dyn Work {
        match self {
            Self::Change(work) => &mut **work,
            Self::Import(work) => &mut **work,
            Self::Start(work) => work,
        }
    }
}

/// A service, and the operation that meets faults.
struct Lane {
    daemon: Daemon,
    admin: Client,
    operation: Operation,
    told: Told,
    scratch: tempfile::TempDir,
}

impl Lane {
    fn start(operation: impl FnOnce(PathBuf) -> Operation) -> Self {
        let daemon = Daemon::start();
        let mut admin = daemon.admin();
        Daemon::make_project(&mut admin);
        Self {
            operation: operation(daemon.data()),
            daemon,
            admin,
            told: Told::default(),
            scratch: tempfile::tempdir().unwrap(),
        }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    /// `strace` with this fault, which tells of it in a file.
    fn strace(&self, series: &Series) -> Command {
        let mut strace = Command::new("strace");
        strace
            .arg("-f")
            .arg("-o")
            .arg(self.at("trace"))
            .args(series.inject());
        strace.stdin(Stdio::null());
        strace
    }

    /// True if the fault came.
    fn is_met(&self, series: &Series) -> bool {
        if series.kills() {
            // Who is killed has no time to tell.
            return self.told.is_waiting() && self.told.refusals.is_empty();
        }
        let trace = fs::read_to_string(self.at("trace")).unwrap();
        trace.contains("(INJECTED)")
    }

    fn restart(&mut self) {
        let log = self.at("log");
        let log = log.to_str().unwrap();
        self.daemon.kill_and_restart_with(&["--log-file", log]);
        self.admin = self.daemon.again(&self.admin.credential);
    }

    /// One fault; true if it came.
    fn round(&mut self, series: &Series, random: &mut StdRng) -> bool {
        let (strace, id) = (self.strace(series), self.daemon.id());
        let (admin, told) = (&mut self.admin, &mut self.told);
        let mut ends_service = series.kills();
        match &mut self.operation {
            Operation::Change(work) => {
                let tracer = Tracer::attach(strace, id);
                let _answered = work.step(&mut admin.another(), told, random);
                let is_killed = series.kills() && told.is_waiting();
                tracer.detach(if is_killed {
                    Signal::KILL
                } else {
                    Signal::TERM
                });
            }
            Operation::Import(work) => {
                work.behind = Box::new(iter::once(strace));
                work.step(admin, told, random).unwrap();
                ends_service = false;
            }
            Operation::Start(work) => {
                work.step(admin, told, random).unwrap();
                self.daemon.kill();
                start_and_kill(strace, &self.daemon.data());
                ends_service = true;
            }
        }
        let is_met = self.is_met(series);
        if !ends_service {
            self.check(series, "before a restart");
        }
        self.restart();
        let found = self.check(series, "after a restart");
        self.told.go_on_from(found);
        let log = fs::read_to_string(self.at("log")).unwrap_or_default();
        assert!(!log.contains("panic"), "{series:?}: {log}");
        is_met
    }

    fn check(&mut self, series: &Series, when: &str) -> State {
        let found = self.operation.work().found(&mut self.admin);
        if let Err(fault) = self.told.check(&found, |_| true) {
            let refusals = &self.told.refusals;
            let trace = fs::read_to_string(self.at("trace")).unwrap();
            panic!("{series:?}, {when}: {fault}; refused with {refusals:?}\n{trace}");
        }
        found
    }
}

/// Starts a service behind a tracer, and kills it when it listens.
fn start_and_kill(mut strace: Command, data: &Path) {
    let daemon = serve(data);
    strace.arg(daemon.get_program()).args(daemon.get_args());
    let strace = strace.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut process = strace.spawn().unwrap();
    let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
    if lines.any(|line| line.unwrap().contains("listening on")) {
        let id = process.id();
        // The fault may have killed it since: then there is no child any more.
        let children = fs::read_to_string(format!("/proc/{id}/task/{id}/children"));
        let children = children.unwrap_or_default();
        if !children.is_empty() {
            let traced = Pid::from_raw(children.trim().parse().unwrap()).unwrap();
            let _may_have_ended = kill_process(traced, Signal::KILL);
        }
    }
    let ended = process.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(!said.contains("panic"), "{said}");
}

#[test]
#[expect(clippy::print_stderr, reason = "the figures of a long run")]
fn a_call_that_fails_makes_nobody_lie() {
    if !tracer::is_there() {
        return;
    }
    let rounds = Rounds::or(72);
    let (taken, met) = (AtomicU64::new(0), AtomicU64::new(0));
    let operations: [fn(PathBuf) -> Operation; 7] = [
        |_| Operation::Change(Box::new(Files("files"))),
        |_| Operation::Change(Box::new(Batches)),
        |_| Operation::Change(Box::new(Rollbacks::default())),
        |_| Operation::Change(Box::new(Tokens::default())),
        |_| Operation::Change(Box::new(Bindings::default())),
        |data| Operation::Import(Box::new(Imports::new(vec!["--data".into(), data.into()]))),
        |_| Operation::Start(Files("files")),
    ];
    thread::scope(|scope| {
        for (part, operation) in (0..).zip(operations) {
            let (taken, met) = (&taken, &met);
            scope.spawn(move || {
                let (mut lane, mut random) = (Lane::start(operation), rounds.random(part));
                let mut series = FAULTS.map(|(calls, how)| Series {
                    calls,
                    how,
                    when: 1,
                    misses: 0,
                });
                // Not all begin with the same fault: a short run has few of each.
                series.rotate_left(2 * usize::try_from(part).unwrap() % FAULTS.len());
                for at in (0..FAULTS.len()).cycle() {
                    if taken.fetch_add(1, Ordering::Relaxed) >= rounds.count {
                        break;
                    }
                    let is_met = lane.round(&series[at], &mut random);
                    met.fetch_add(u64::from(is_met), Ordering::Relaxed);
                    series[at].next(is_met);
                }
                let check = lane.daemon.command(&["debug", "check", "--deep"]).output();
                let check = check.unwrap();
                assert!(check.status.success(), "{check:?}");
            });
        }
    });
    let (count, met) = (rounds.count, met.into_inner());
    eprintln!("{met} of {count} cases met their call");
    assert!(met * 2 > count, "{met} of {count}");
}
