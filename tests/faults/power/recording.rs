//! A service under a mixed load with kills, a stop, collections and restarts, all of it traced.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::{iter, thread};

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::disk::Disk;
use super::journal::Journal;
use super::trace::Recorder;
use super::tree::Tree;
use crate::client::Client;
use crate::daemon::{Daemon, serve, siteconf};
use crate::folders::scratch;
use crate::load::{Hand, Imports};
use crate::told::Named;

/// Answers after which a daemon is killed or stopped.
const ANSWERS: [usize; 2] = [10, 30];

/// Syncs of a first start.
pub(super) const SYNCS_OF_FIRST_START: u32 = 30;
/// Syncs of another.
const SYNCS_OF_START: u32 = 10;

/// How a daemon ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Kill,
    Stop,
}

/// A service, and all that is known of what it did.
pub(super) struct Recording {
    daemon: Daemon,
    recorder: Recorder,
    pub(super) journal: Journal,
    pub(super) admin: Client,
    pub(super) hands: Vec<Hand>,
    /// From this place of the journal on there is the project on which the hands work.
    pub(super) ready: usize,
    /// Snapshots that were named before the journal began.
    pub(super) named_before: Vec<Named>,
}

/// Starts a service that is killed at one of so many syncs, rather at an early one, or when it listens.
fn kill_on_start(data: &Path, recorder: &Recorder, syncs: u32, random: &mut StdRng) {
    let most = random.random_range(1..=syncs);
    let when = random.random_range(1..=most);
    is_killed_at(when, data, recorder);
}

/// Starts a service that is killed at its sync of this number, or when it listens; false if it came to that.
pub(super) fn is_killed_at(sync: u32, data: &Path, recorder: &Recorder) -> bool {
    let mut process = recorder.kill_at_sync(&serve(data), sync).spawn().unwrap();
    let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
    let listens = lines.any(|line| line.unwrap().contains("listening on"));
    process.kill().unwrap();
    process.wait().unwrap();
    !listens
}

impl Recording {
    /// Of a first start, and no more.
    pub(super) fn of_first_start(random: &mut StdRng) -> Self {
        let mut recording = Self::start(random);
        recording.daemon.kill();
        recording.note();
        recording.ready = usize::MAX;
        recording
    }

    /// Of a service from its first start on.
    pub(super) fn new(random: &mut StdRng) -> Self {
        let mut recording = Self::start(random);
        Daemon::make_project(&mut recording.admin);
        let ready = recording.answer();
        recording.run(random);
        recording.ready = recording.journal.place_of(&ready);
        recording
    }

    /// A service whose first start was killed once.
    fn start(random: &mut StdRng) -> Self {
        let (folder, mut recorder) = (scratch(), Recorder::new());
        let mut journal = Journal::new(Tree::new());
        let data = folder.path().join("data");
        kill_on_start(&data, &recorder, SYNCS_OF_FIRST_START, random);
        journal.take(&mut recorder, folder.path());
        let command = recorder.trace(&serve(&data));
        let daemon = Daemon::start_as(folder, command);
        let admin = daemon.admin();
        let mut imports = Imports::new(daemon.store_flags());
        let behind = recorder.clone();
        imports.behind = Box::new(iter::repeat_with(move || behind.behind()));
        Self {
            journal,
            hands: Hand::all(imports),
            daemon,
            recorder,
            admin,
            ready: 0,
            named_before: Vec::new(),
        }
    }

    /// Goes on from what is left by a power cut behind all that was recorded, with another journal.
    pub(super) fn go_on(&mut self, random: &mut StdRng) {
        let mut disk = Disk::new(&self.journal);
        disk.run_to(self.journal.end);
        let tree = disk.cut(random).tree;
        let data = self.daemon.data();
        fs::remove_dir_all(&data).unwrap();
        tree.write_to(data.parent().unwrap());
        self.journal = Journal::new(tree);
        self.ready = 0;
        self.restart(random);
        for hand in &mut self.hands {
            let found = hand.work.found(&mut self.admin);
            hand.told.check(&found, |_| true).unwrap();
            self.named_before.append(&mut hand.told.snapshots);
            hand.told.go_on_from(found);
        }
        self.run(random);
    }

    fn run(&mut self, random: &mut StdRng) {
        let collected = random.random_range(0..3);
        for (at, end) in [End::Kill, End::Stop, End::Kill].into_iter().enumerate() {
            if at > 0 {
                self.restart(random);
                self.read();
            }
            self.load(end, at == collected, random);
            self.note();
        }
    }

    /// Takes into the journal what was done until the daemon ended.
    fn note(&mut self) {
        let data = self.daemon.data();
        self.journal
            .take(&mut self.recorder, data.parent().unwrap());
    }

    /// Starts the service again, at times after a start that was killed.
    fn restart(&mut self, random: &mut StdRng) {
        let data = self.daemon.data();
        if random.random_bool(0.5) {
            kill_on_start(&data, &self.recorder, SYNCS_OF_START, random);
            self.note();
        }
        let command = self.recorder.trace(&serve(&data));
        self.daemon.kill_and_restart_as(command);
        self.admin = self.daemon.again(&self.admin.credential);
    }

    /// The id of an answer that is given now.
    fn answer(&mut self) -> String {
        let answer = self.admin.get("/livez");
        answer.header("x-request-id").unwrap().to_owned()
    }

    /// Looks what is there after a restart: once it was read it stays.
    fn read(&mut self) {
        let mut found = Vec::new();
        for hand in &self.hands {
            found.push(hand.work.found(&mut self.admin));
        }
        let id = self.answer();
        for (hand, found) in self.hands.iter_mut().zip(found) {
            hand.told.check(&found, |_| true).unwrap();
            assert_eq!(hand.told.refusals, [0; 0], "nothing was in the way");
            hand.told.was_read(&found, &id);
        }
    }

    /// Has all hands work until there were enough answers, and the daemon ends.
    fn load(&mut self, end: End, collects: bool, random: &mut StdRng) {
        let enough = random.random_range(ANSWERS[0]..=ANSWERS[1]);
        let mut collection = siteconf(&self.daemon.data());
        collection.args(["gc", "--keep-deleted-days", "0"]);
        let mut collection = collects.then(|| self.recorder.trace(&collection));
        let (report, reports) = mpsc::channel();
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            let is_over = &is_over;
            for hand in &mut self.hands {
                let (client, report) = (self.admin.another(), report.clone());
                let random = StdRng::from_rng(random);
                scope.spawn(move || hand.work_on(client, random, &report, is_over));
            }
            if let Some(mut collection) = collection.take() {
                scope.spawn(move || {
                    let ended = collection.stderr(Stdio::piped()).output().unwrap();
                    assert!(ended.status.success(), "{ended:?}");
                });
            }
            drop(report);
            let _counted = reports.iter().take(enough).count();
            if end == End::Kill {
                self.daemon.kill();
            }
            is_over.store(true, Ordering::Relaxed);
            for () in &reports {}
        });
        if end == End::Stop {
            assert!(self.daemon.stop().success());
        }
    }
}
