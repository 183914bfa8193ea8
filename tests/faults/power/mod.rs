//! Power cuts: the calls of a service are recorded, and replayed onto a disk that loses what was not
//! synced. A service that starts on what is left has all that was acknowledged before the cut, by the
//! recorded history, and nothing by halves; `debug check --deep` finds nothing.
//!
//! The model is stricter than the file systems that are known:
//!
//! - A sync (`fsync`, `fdatasync`) of a file keeps its bytes and its length, not its name; one of a folder
//!   keeps the names in it. It covers the calls that were over before it began, of any process.
//! - Of all else any part may be there, in any order: a power cut keeps nothing of it, or all, the first
//!   calls, any of them, those of some files, or some sectors of 512 or 4096 bytes of any. Where a sector
//!   of a longer file is lost there may be zeros. A sector is whole, and the ones beside it stay as they
//!   were.
//! - A rename is whole within a folder. Between two folders the file may for a while be in both, and is
//!   never in none.
//! - A kill loses nothing that was written before it.
//! - `store.db-shm`, which SQLite shares between processes and makes anew after a start of the machine, is
//!   gone, or holds anything.
//! - An answer is given from the moment on at which its bytes go to the socket.
//!
//! After each end of a service the model is held against the real folder, byte by byte.

mod beside;
mod call;
mod commands;
mod disk;
mod journal;
mod recording;
mod trace;
mod tree;

use std::ffi::OsString;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::process::ExitCode;
use std::thread;

use rand::RngExt;
use rand::rngs::StdRng;

use self::disk::{Disk, Left};
use self::journal::Journal;
use self::recording::Recording;
use crate::daemon::{Daemon, on_branch};
use crate::folders::scratch;
use crate::load::check_history;
use crate::rounds::Rounds;
use crate::tracer;

/// Power cuts in a recording of a first start, of a service, and of one that has gone on after one of them.
const CUTS: [u64; 3] = [50, 200, 200];
/// Threads, with a service each.
const LANES: u64 = 3;

impl Recording {
    /// Cuts the power so many times; gives how often something was lost.
    fn cut(&self, count: u64, rounds: &Rounds, part: u64) -> u64 {
        thread::scope(|scope| {
            let lanes: Vec<_> = (0..LANES)
                .map(|lane| {
                    let mut random = rounds.random(part * LANES + lane);
                    let count = (count + lane) / LANES;
                    scope.spawn(move || {
                        cut_often(&self.journal, count, &mut random, |place, left, random| {
                            self.check(place, left, random);
                        })
                    })
                })
                .collect();
            lanes.into_iter().map(|lane| lane.join().unwrap()).sum()
        })
    }

    /// Starts a service on what is left. Panics where something is missing, or there by halves.
    fn check(&self, place: usize, left: &Left, random: &mut StdRng) {
        let folder = scratch();
        left.tree.write_to(folder.path());
        let data = folder.path().join("data");
        write_index(&data, random);
        let mut daemon = Daemon::start_on(folder);
        if place < self.ready {
            daemon.admin();
        } else {
            let mut admin = daemon.again(&self.admin.credential);
            let was_given = |id: &str| self.journal.was_given(id, place);
            for hand in &self.hands {
                let found = hand.work.found(&mut admin);
                if let Err(fault) = hand.told.check(&found, was_given) {
                    panic!("{fault}");
                }
            }
            let told = self.hands.iter().flat_map(|hand| &hand.told.snapshots);
            let told = told.filter(|named| was_given(&named.answer));
            let listed = admin.get(&on_branch("/history")).json();
            check_history(&listed, self.named_before.iter().chain(told));
        }
        daemon.kill();
        assert_eq!(finding(&data), None);
    }
}

/// Cuts the power so many times behind what a journal tells, and holds what is left against what must be
/// there; gives how often something was lost.
#[expect(clippy::print_stderr, reason = "cargo shows it of a test that fails")]
fn cut_often(
    journal: &Journal,
    count: u64,
    random: &mut StdRng,
    check: impl Fn(usize, &Left, &mut StdRng),
) -> u64 {
    let mut places: Vec<_> = (0..count).map(|_| journal.place(random)).collect();
    places.sort_unstable();
    let (mut disk, mut lossy) = (Disk::new(journal), 0);
    for place in places {
        disk.run_to(place);
        let left = disk.cut(random);
        let checked = catch_unwind(AssertUnwindSafe(|| check(place, &left, random)));
        if let Err(fault) = checked {
            eprintln!("{}", shown(journal, place, &left));
            resume_unwind(fault);
        }
        lossy += u64::from(left.unsynced.iter().any(|(_, is_kept)| !is_kept));
    }
    lossy
}

/// What is known of a power cut.
fn shown(journal: &Journal, place: usize, left: &Left) -> String {
    let lines = left.unsynced.iter().map(|(op, is_kept)| {
        let fate = if *is_kept { "kept" } else { "lost" };
        format!("{fate}: {}", journal.shown(*op))
    });
    let lines: Vec<_> = lines.collect();
    let (end, fate) = (journal.end, left.fate);
    format!("cut at {place} of {end}, {fate:?}:\n{}", lines.join("\n"))
}

/// Leaves an index of the log that is none, where there is a database.
fn write_index(data: &Path, random: &mut StdRng) {
    if !data.join("store.db").exists() {
        return;
    }
    let path = data.join("store.db-shm");
    match random.random_range(0..3) {
        0 => {}
        1 => fs::write(path, vec![0; 32 << 10]).unwrap(),
        _ => fs::write(path, random.random::<[u8; 32]>().repeat(1 << 10)).unwrap(),
    }
}

/// What `debug check --deep` says, if it finds something.
fn finding(data: &Path) -> Option<String> {
    let words = [
        "siteconf", "--log", "off", "debug", "check", "--deep", "--data",
    ];
    let words = words.map(OsString::from).into_iter();
    let words = words.chain([data.as_os_str().to_owned()]);
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let code = siteconf::cli::run(words, &mut out, &mut err);
    out.append(&mut err);
    (code != ExitCode::SUCCESS).then(|| String::from_utf8(out).unwrap())
}

#[test]
#[expect(clippy::print_stderr, reason = "the figures of a long run")]
fn what_was_acknowledged_survives_power_cuts() {
    if !tracer::is_there() {
        return;
    }
    let rounds = Rounds::or(120);
    let mut random = rounds.random(u64::MAX);
    let mut recording = Recording::of_first_start(&mut random);
    let (mut left, mut lossy) = (rounds.count, 0);
    for part in 0.. {
        let cuts = left.min(CUTS[part % CUTS.len()]);
        lossy += recording.cut(cuts, &rounds, part as u64);
        left -= cuts;
        if left == 0 {
            let count = rounds.count;
            eprintln!(
                "{count} power cuts in {} recordings, {lossy} lost something",
                part + 1
            );
            break;
        }
        match (part + 1) % CUTS.len() {
            0 => recording = Recording::of_first_start(&mut random),
            1 => recording = Recording::new(&mut random),
            _ => recording.go_on(&mut random),
        }
    }
    // Cuts that take nothing would show nothing.
    assert!(lossy * 2 > rounds.count, "{lossy} of {}", rounds.count);
}
