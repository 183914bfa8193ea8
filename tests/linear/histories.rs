//! Daemons under histories, several at once, that are killed at any moment: one on a folder, or three over a
//! database.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::ops::AddAssign;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::check::{Event, Model, check};
use crate::command;
use crate::gate::Gate;
use crate::hand::Hand;
use crate::model::{Answer, Branch, Call, PATHS, State, Wish};
use crate::rounds::Rounds;
use crate::scene::Scene;
use crate::served::Served;
use crate::spin::spin;

/// Stores at once.
const FAIR_SHARDS: u64 = 2;
/// Histories of one store at once.
const AT_ONCE: u64 = 4;
/// Clients of a history, and how often each asks.
const CLIENTS: u64 = 8;
const STEPS: u64 = 5;
/// Commands of a history.
const COMMANDS: u64 = 2;
/// Rounds of one store: an account has 1,000 tokens at most.
const ROUNDS_A_STORE: u64 = 25;
/// Longest wait between the last counted answer and a kill, in microseconds.
const PAUSE_US_MAX: u64 = 3_000;

type History = Vec<Event<Call>>;

/// What was done.
#[derive(Clone, Copy, Debug, Default)]
struct Figures {
    histories: u64,
    calls: u64,
    kills: u64,
    /// Calls without an answer.
    cut_off: u64,
    /// Refusals of changes whose condition did not hold.
    unmet: u64,
    /// Refusals of tokens.
    unknown: u64,
    other_instance: u64,
}

impl AddAssign for Figures {
    fn add_assign(&mut self, other: Self) {
        self.histories += other.histories;
        self.calls += other.calls;
        self.kills += other.kills;
        self.cut_off += other.cut_off;
        self.unmet += other.unmet;
        self.unknown += other.unknown;
        self.other_instance += other.other_instance;
    }
}

impl Figures {
    fn count(&mut self, history: &History) {
        let answered = |answer: &Answer| {
            let is_it = |event: &&Event<Call>| event.call.answer.as_ref() == Some(answer);
            history.iter().filter(is_it).count() as u64
        };
        self.histories += 1;
        self.calls += history.len() as u64;
        self.cut_off += history.iter().filter(|event| !event.is_answered).count() as u64;
        self.unmet += answered(&Answer::Unmet);
        self.unknown += answered(&Answer::UnknownToken);
        self.other_instance += answered(&Answer::WrongInstance);
    }
}

/// Runs some histories at once, with kills, and holds each against the model.
fn round(served: &mut Served, gate: &Gate, count: u64, mut random: StdRng) -> Figures {
    let mut figures = Figures::default();
    let store = served.flags();
    // Among few changes what another process has written is longest unnoticed.
    let changing = if random.random_ratio(1, 4) { 0.05 } else { 0.5 };
    let scenes: Vec<_> = (0..count).map(|_| Scene::make(gate, changing)).collect();
    let mut histories: Vec<_> = scenes
        .iter()
        .map(|scene| begin(scene, &mut random))
        .collect();
    let kills: Vec<_> = (0..random.random_range(0..=2))
        .map(|_| {
            let enough = random.random_range(1..=count * CLIENTS * STEPS / 2);
            (
                enough,
                Duration::from_micros(random.random_range(0..PAUSE_US_MAX)),
            )
        })
        .collect();
    let is_killed_at_last = random.random();
    thread::scope(|scope| {
        let (report, reports) = mpsc::channel();
        let (store, random) = (&store, &mut random);
        let mut parts = Vec::new();
        for (at, scene) in scenes.iter().enumerate() {
            let own = random.fork();
            parts.push((at, scope.spawn(move || commands(scene, store, own))));
            for _ in 0..CLIENTS {
                let (own, report) = (random.fork(), report.clone());
                parts.push((at, scope.spawn(move || calls(scene, own, &report))));
            }
        }
        drop(report);
        for (enough, pause) in kills {
            if wait_for(&reports, enough) {
                spin(pause);
                served.kill_and_restart(gate, random.random_range(0..served.daemons()));
                figures.kills += 1;
            }
        }
        for (at, part) in parts {
            histories[at].extend(part.join().unwrap());
        }
    });
    if is_killed_at_last {
        served.kill_and_restart(gate, random.random_range(0..served.daemons()));
        figures.kills += 1;
    }
    for (scene, mut history) in scenes.iter().zip(histories) {
        history.extend(look_at_all(scene, random.fork()));
        figures.count(&history);
        hold(scene, history);
    }
    figures
}

/// Lets each command that was refused see what the daemon had committed and not answered yet: another process
/// reads a change from the database before the daemon's clients read it from memory.
fn look_ahead(history: &mut History) {
    for at in 0..history.len() {
        let Event { call, until, .. } = &history[at];
        let is_refused = call.answer.as_ref().is_some_and(Answer::is_refusal);
        if let Some(ended) = until.filter(|_| call.is_beside && is_refused) {
            let under_way = history.iter().filter(|other| {
                !other.call.is_beside && !Branch::only_reads(&other.call) && other.sent <= ended
            });
            let last = under_way.filter_map(|other| other.until).max();
            history[at].until = last.max(Some(ended));
        }
    }
}

/// Holds a history against the model.
fn hold(scene: &Scene<'_>, mut history: History) {
    look_ahead(&mut history);
    let of_tokens = |event: &Event<Call>| event.call.wish.is_of_tokens();
    let (tokens, branch): (History, History) = history.into_iter().partition(of_tokens);
    for part in [branch, tokens] {
        let answers = part.iter().filter_map(|event| event.call.answer.as_ref());
        let outcome = check(&Branch::of(answers), &State::default(), &part);
        if let Err(fault) = outcome {
            let deaths = scene.gate.deaths();
            panic!(
                "{}: {fault:?}\n{}killed at {deaths:?}",
                scene.id,
                shown(&part)
            );
        }
    }
}

/// Makes a token that does not bind itself.
fn begin(scene: &Scene<'_>, random: &mut StdRng) -> History {
    let mut hand = Hand::of(scene, random.fork());
    // Of one that was in doubt the value is not known.
    for number in 1..10 {
        scene.known().tokens_made = number;
        hand.ask(Wish::MakeToken {
            number,
            name: 0,
            binds: false,
        });
        if !scene.known().tokens.is_empty() {
            break;
        }
    }
    hand.events
}

fn calls(scene: &Scene<'_>, random: StdRng, report: &Sender<()>) -> History {
    let mut hand = Hand::of(scene, random);
    for _ in 0..STEPS {
        hand.step();
        // Who counts may have enough.
        let _counted = report.send(());
    }
    hand.events
}

/// Runs commands, and looks after each, as soon as the daemon is to have noticed it.
fn commands(scene: &Scene<'_>, store: &[OsString], mut random: StdRng) -> History {
    let mut hand = Hand::of(scene, random.fork());
    for _ in 0..COMMANDS {
        let ran = command::run(scene, store, &mut random);
        let looks = if ran.call.wish.is_of_tokens() {
            Wish::ListTokens
        } else {
            Wish::ReadBranch
        };
        hand.events.push(ran);
        hand.ask(looks);
    }
    hand.events
}

/// Looks, when all have ended, at what there is.
fn look_at_all(scene: &Scene<'_>, random: StdRng) -> History {
    let mut hand = Hand::of(scene, random);
    hand.ask(Wish::ReadBranch);
    hand.ask(Wish::ListTokens);
    let (snapshots, tokens) = {
        let known = scene.known();
        (known.snapshots, known.tokens.clone())
    };
    for path in 0..PATHS.len() {
        hand.ask(Wish::Read(path));
        for version in 1..=snapshots {
            hand.ask(Wish::ReadSnapshot(version, path));
        }
    }
    for token in tokens {
        hand.ask_by_token(Wish::ReadTree, &token, Some(1));
    }
    hand.events
}

/// Waits for so many answers; false if there are no more.
fn wait_for(reports: &Receiver<()>, enough: u64) -> bool {
    (0..enough).all(|_| reports.recv().is_ok())
}

/// A line for each call, in the order in which they were sent.
fn shown(history: &History) -> String {
    let mut order: Vec<_> = (0..history.len()).collect();
    order.sort_by_key(|at| history[*at].sent);
    let mut text = String::new();
    for at in order {
        let Event {
            call, sent, until, ..
        } = &history[at];
        writeln!(
            text,
            "{at:3} {sent:?} to {until:?}: {:?}: {:?}",
            call.wish, call.answer
        )
        .unwrap();
    }
    text
}

/// Runs histories until there were enough, on stores that are made so.
fn run(rounds: Rounds, lane: u64, taken: &AtomicU64, make: fn() -> Served) -> Figures {
    let mut figures = Figures::default();
    let mut random = rounds.random(lane);
    loop {
        let mut served = make();
        let gate = served.gate();
        for _ in 0..ROUNDS_A_STORE {
            let before = taken.fetch_add(AT_ONCE, Ordering::Relaxed);
            let count = rounds.count.saturating_sub(before).min(AT_ONCE);
            if count == 0 {
                return figures;
            }
            figures += round(&mut served, &gate, count, random.fork());
        }
    }
}

/// Runs histories, and holds that enough clients met.
#[expect(clippy::print_stderr, reason = "the figures of a long run")]
fn hold_all(make: fn() -> Served) {
    let rounds = Rounds::or(20);
    let taken = AtomicU64::new(0);
    let mut figures = Figures::default();
    thread::scope(|scope| {
        let taken = &taken;
        let lanes: Vec<_> = (0..FAIR_SHARDS)
            .map(|lane| scope.spawn(move || run(rounds, lane, taken, make)))
            .collect();
        for lane in lanes {
            figures += lane.join().unwrap();
        }
    });
    eprintln!("{figures:?}");
    assert_eq!(figures.histories, rounds.count);
    // Histories in which nobody met anybody would show nothing.
    let few = rounds.count / 4;
    assert!(
        figures.unmet >= few && figures.unknown >= few,
        "{figures:?}"
    );
}

#[test]
fn the_answers_of_many_at_once_are_those_of_one_after_the_other() {
    hold_all(Served::from_a_folder);
}

#[cfg(feature = "fleet")]
#[test]
fn the_answers_of_several_daemons_are_those_of_one() {
    hold_all(Served::from_a_database);
}
