//! Commands that keep a store, killed at a call of the system, or with one that fails: collections, backups,
//! restores, what is deleted and comes back, moves from an older system, and upgrades. Whatever happens, the
//! store shows what it showed before or what the whole command brings about, and the command run once more
//! brings that about.

mod commands;
mod scene;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use rand::RngExt;
use rand::rngs::StdRng;

use crate::calls::FAULTS;
use crate::folders::copy_of;
use crate::rounds::Rounds;
use crate::tracer;

pub(crate) use commands::{ALL, Laid, Upkeep, command};
pub(crate) use scene::Scene;

/// Commands at once: a collection waits for most of its time.
const AT_ONCE: usize = 8;

/// A command that meets faults.
struct Lane {
    scene: Scene,
    /// How many of these calls a thread of it makes at most.
    counts: BTreeMap<&'static str, u64>,
}

impl Lane {
    fn new(upkeep: &'static Upkeep, laid: &Laid) -> Self {
        let all = FAULTS.map(|(calls, _)| calls).join(",");
        let mut trace = String::new();
        let scene = Scene::new(upkeep, laid, |root| {
            let ended = traced(root, upkeep.words, &["-e", &format!("trace={all}")]);
            assert!(ended.status.success(), "{:?}: {ended:?}", upkeep.words);
            trace = fs::read_to_string(root.join("trace")).unwrap();
        });
        let count = |(calls, _)| (calls, most_of_a_thread(&trace, calls));
        let counts = FAULTS.into_iter().map(count).collect();
        Self { scene, counts }
    }

    /// One fault; true if it came.
    fn round(&self, random: &mut StdRng) -> bool {
        let (calls, how) = FAULTS[random.random_range(0..FAULTS.len())];
        let when = random.random_range(1..=self.counts[calls].max(1));
        let inject = format!("inject={calls}:{how}:when={when}");
        let words = self.scene.upkeep.words;
        let folder = copy_of(self.scene.template.path());
        let root = folder.path();
        let trace = format!("trace={calls}");
        let ended = traced(root, words, &["-e", &trace, "-e", &inject]);
        let case = format!("{words:?} with {inject}");
        let said = String::from_utf8_lossy(&ended.stderr);
        assert!(!said.contains("panic"), "{case}: {said}");
        let has_succeeded = ended.status.success();
        if self.scene.upkeep.tells_what_it_lacks(&said) {
            assert!(!has_succeeded, "{case}: {said}");
        } else {
            self.scene
                .check(root, has_succeeded, &format!("{case}: {said}"));
        }
        let trace = fs::read_to_string(root.join("trace")).unwrap();
        trace.contains("(INJECTED)") || trace.contains("+++ killed by SIGKILL")
    }
}

/// Runs a command behind `strace` with these flags, which writes to the file `trace`.
fn traced(root: &Path, words: &[&str], flags: &[&str]) -> Output {
    let command = command(root, words);
    let mut strace = Command::new("strace");
    strace.args(["-f", "--seccomp-bpf", "-o"]);
    strace.arg(root.join("trace"));
    strace.args(flags).arg(command.get_program());
    let strace = strace.args(command.get_args()).stdin(Stdio::null());
    strace.output().unwrap()
}

/// How many of these calls there are in a trace, of the thread that makes most of them.
fn most_of_a_thread(trace: &str, calls: &str) -> u64 {
    let mut counts = BTreeMap::new();
    for line in trace.lines() {
        let call = line.split_once(' ').and_then(|(thread, call)| {
            let name = call.trim_start().split_once('(')?.0;
            calls.split(',').any(|one| one == name).then_some(thread)
        });
        if let Some(thread) = call {
            *counts.entry(thread).or_default() += 1;
        }
    }
    counts.into_values().max().unwrap_or(0)
}

#[test]
#[expect(clippy::print_stderr, reason = "the figures of a long run")]
fn a_command_that_is_cut_off_leaves_the_store_as_it_was_or_as_it_should_be() {
    if !tracer::is_there() {
        return;
    }
    let rounds = Rounds::or(24);
    let laid = Laid::default();
    let lanes: Vec<_> = thread::scope(|scope| {
        let made = ALL.each_ref().map(|upkeep| {
            let laid = &laid;
            scope.spawn(move || Lane::new(upkeep, laid))
        });
        made.into_iter().map(|lane| lane.join().unwrap()).collect()
    });
    let (taken, met) = (AtomicU64::new(0), AtomicU64::new(0));
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let round = taken.fetch_add(1, Ordering::Relaxed);
                    if round >= rounds.count {
                        break;
                    }
                    let lane = &lanes[usize::try_from(round).unwrap() % lanes.len()];
                    let is_met = lane.round(&mut rounds.random(round));
                    met.fetch_add(u64::from(is_met), Ordering::Relaxed);
                }
            });
        }
    });
    let (count, met) = (rounds.count, met.into_inner());
    eprintln!("{met} of {count} commands met their fault");
    assert!(met * 2 > count, "{met} of {count}");
}
