//! Power cuts in the commands that keep a store: those of `upkeep`, and what it expects of each. What a
//! command printed last is its word that it has come to its end.

use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use rand::RngExt;
use rand::rngs::StdRng;

use super::call::is_durable;
use super::disk::{Disk, Left};
use super::journal::Journal;
use super::trace::Recorder;
use super::tree::Tree;
use super::{cut_often, write_index};
use crate::folders::{copy_of, scratch};
use crate::load::success_of;
use crate::rounds::Rounds;
use crate::tracer;
use crate::upkeep::{ALL, Laid, Scene, Upkeep, command};

/// Cuts in one recording of a command.
const CUTS: u64 = 2;
/// Threads, with commands of their own. A collection waits most of its time.
const LANES: u64 = 4;
/// So many rounds of the harness make one: a cut takes longer here.
const ROUNDS: u64 = 12;

/// A command that came to its end, and all that it did.
struct Course {
    journal: Journal,
    /// From this place on it has said that it is done.
    done: usize,
}

impl Course {
    /// Runs a command on what lies below a folder.
    fn of(words: &[&str], root: &Path) -> Self {
        let mut recorder = Recorder::new();
        let mut journal = Journal::new(Tree::of(root, is_durable));
        let mut command = recorder.trace(&command(root, words));
        let process = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let process = process.spawn().unwrap();
        let id = process.id();
        let ended = process.wait_with_output().unwrap();
        assert!(ended.status.success(), "{words:?}: {ended:?}");
        journal.take(&mut recorder, root);
        let ended = journal.place_of(&success_of(id));
        Self {
            done: journal.printed.unwrap_or(ended),
            journal,
        }
    }

    /// What is below a folder after a power cut at a place.
    fn write(left: &Left, random: &mut StdRng) -> tempfile::TempDir {
        let folder = scratch();
        left.tree.write_to(folder.path());
        write_index(&folder.path().join("data"), random);
        folder
    }
}

/// A command, and one course of it.
struct Lane {
    scene: Scene,
    course: Course,
}

impl Lane {
    fn new(upkeep: &'static Upkeep, laid: &Laid) -> Self {
        let mut course = None;
        let scene = Scene::new(upkeep, laid, |root| {
            course = Some(Course::of(upkeep.words, root));
        });
        let course = course.unwrap();
        Self { scene, course }
    }

    /// Cuts the power so many times; gives how often something was lost.
    fn cut(&self, count: u64, random: &mut StdRng) -> u64 {
        let Course { journal, done } = &self.course;
        cut_often(journal, count, random, |place, left, random| {
            let folder = Course::write(left, random);
            let case = format!("{:?}", self.scene.words());
            self.scene.check(folder.path(), place >= *done, &case);
        })
    }

    /// Takes another course, of the command as it was, or on what a power cut left.
    fn go_on(&mut self, random: &mut StdRng) {
        let place = self.course.journal.place(random);
        let mut disk = Disk::new(&self.course.journal);
        disk.run_to(place);
        let mut folder = Course::write(&disk.cut(random), random);
        if random.random_bool(0.5) || self.scene.is_done(folder.path()) {
            folder = copy_of(self.scene.template.path());
        }
        self.scene.clear_the_way(folder.path());
        self.course = Course::of(self.scene.words(), folder.path());
    }
}

#[test]
#[expect(clippy::print_stderr, reason = "the figures of a long run")]
fn a_command_that_loses_power_leaves_the_store_as_it_was_or_as_it_should_be() {
    if !tracer::is_there() {
        return;
    }
    let rounds = Rounds::or(CUTS * ALL.len() as u64 * ROUNDS);
    let count = rounds.count.div_ceil(ROUNDS);
    let lossy = AtomicU64::new(0);
    let laid = Laid::default();
    thread::scope(|scope| {
        for part in 0..LANES {
            let (lossy, laid) = (&lossy, &laid);
            scope.spawn(move || {
                let mut random = rounds.random(part);
                let own = (0..).zip(&ALL).filter(|(at, _)| at % LANES == part);
                for (at, upkeep) in own {
                    let mut left = share_of(count, at);
                    let mut lane = (left > 0).then(|| Lane::new(upkeep, laid));
                    while let Some(lane) = &mut lane {
                        let lost = lane.cut(CUTS.min(left), &mut random);
                        lossy.fetch_add(lost, Ordering::Relaxed);
                        left = left.saturating_sub(CUTS);
                        if left == 0 {
                            break;
                        }
                        lane.go_on(&mut random);
                    }
                }
            });
        }
    });
    let lossy = lossy.into_inner();
    eprintln!("{count} power cuts in commands, {lossy} lost something");
    // Cuts that take nothing would show nothing, and of few all may by chance.
    assert!(count < 20 || lossy * 10 > count, "{lossy} of {count}");
}

/// How many of so many cuts the command at this place has.
fn share_of(count: u64, at: u64) -> u64 {
    let all = ALL.len() as u64;
    count / all + u64::from(at < count % all)
}
