//! Clients of all kinds, each with something of its own that nobody else changes.

mod files;
mod import;
mod rollbacks;
mod tokens;

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::thread;
use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use serde_json::Value;

use crate::client::{Answer, Client};
use crate::told::{Named, State, Told};

pub(crate) use files::{Batches, Files};
pub(crate) use import::{Imports, Killer, success_of};
pub(crate) use rollbacks::Rollbacks;
pub(crate) use tokens::{Bindings, Tokens};

/// What one client does.
pub(crate) trait Work: Send + Sync {
    /// Makes one change, and notes what will be there before it asks, and that it was told so after it.
    ///
    /// # Errors
    /// When no answer came.
    fn step(&mut self, client: &mut Client, told: &mut Told, random: &mut StdRng)
    -> io::Result<()>;

    /// What there is of it. Panics where it cannot be read, or holds what nobody wrote.
    fn found(&self, client: &mut Client) -> State;

    /// True if each of its changes makes one snapshot of the branch `main`.
    fn saves_to_main(&self) -> bool {
        false
    }
}

/// One client, with what it was told.
pub(crate) struct Hand {
    pub(crate) work: Box<dyn Work>,
    /// True for what takes a process of its own, and so many times as long.
    pub(crate) is_import: bool,
    pub(crate) told: Told,
}

impl Hand {
    /// One of each kind, and two that save files.
    pub(crate) fn all(imports: Imports) -> Vec<Self> {
        let works: [Box<dyn Work>; 7] = [
            Box::new(Files("one")),
            Box::new(Files("two")),
            Box::new(Batches),
            Box::new(Rollbacks::default()),
            Box::new(Tokens::default()),
            Box::new(Bindings::default()),
            // The last one.
            Box::new(imports),
        ];
        let works_count = works.len();
        let hands = works.into_iter().enumerate().map(|(at, work)| Self {
            work,
            is_import: at + 1 == works_count,
            told: Told::default(),
        });
        hands.collect()
    }

    /// How many snapshots of the branch `main` it has made since it was last looked at, when this is found.
    pub(crate) fn snapshots_made(&self, found: &State) -> u64 {
        let is_whole = self.told.is_waiting() && found == self.told.last();
        let made = self.told.answers() + u64::from(is_whole);
        if self.work.saves_to_main() { made } else { 0 }
    }

    /// Makes changes until no answer comes any more, or all is over; reports each.
    pub(crate) fn work_on(
        &mut self,
        mut client: Client,
        mut random: StdRng,
        report: &Sender<()>,
        is_over: &AtomicBool,
    ) {
        while !is_over.load(Ordering::Relaxed) {
            let answered = self.work.step(&mut client, &mut self.told, &mut random);
            if answered.is_err() {
                return;
            }
            // Who counts may have enough.
            let _counted = report.send(());
            if self.told.is_waiting() {
                // What became of the last change is to be looked at before the next.
                return;
            }
        }
    }
}

/// Holds the history of a branch, as it is listed, against snapshots that were named: each of them is
/// there, and none is missing or twice. Gives how many there are.
pub(crate) fn check_history<'a>(listed: &Value, named: impl IntoIterator<Item = &'a Named>) -> u64 {
    let operations: Vec<_> = listed.as_array().unwrap().iter().rev().collect();
    for (at, entry) in operations.iter().enumerate() {
        assert_eq!(entry["version"], format!("v{:04}", at + 1));
    }
    for Named {
        version, operation, ..
    } in named
    {
        let at = usize::try_from(*version).unwrap() - 1;
        let found = operations.get(at).map(|entry| &entry["operation"]);
        let found = found.unwrap_or_else(|| panic!("v{version:04} is not there"));
        assert_eq!(found, operation, "v{version:04}");
    }
    operations.len() as u64
}

/// How many a kind of work has of something.
const FEW: u64 = 3;

/// Sends a change, and notes how it was answered.
///
/// # Errors
/// When no answer came.
fn change(
    client: &mut Client,
    told: &mut Told,
    after: State,
    (method, target, kind, body): (&str, &str, &str, &[u8]),
) -> io::Result<Option<Answer>> {
    told.ask(after);
    let answer = client.attempt(method, target, kind, body)?;
    if answer.status < 300 {
        told.answered(answer.header("x-request-id").unwrap());
        return Ok(Some(answer));
    }
    // Who could not ask has changed nothing; but a read that binds a token may fail after that.
    let is_away = String::from_utf8_lossy(&answer.body).contains("does not answer; try again");
    let was_not_asked = is_away && method != "GET";
    let has_failed = matches!(answer.status, 500 | 503) && !was_not_asked;
    told.refused(answer.status, has_failed);
    Ok(None)
}

/// Notes the snapshot that an answer names.
fn note_snapshot(told: &mut Told, answer: Option<&Answer>, operation: &'static str) {
    let Some(answer) = answer else { return };
    if let Some(version) = answer.json()["snapshot"].as_str() {
        told.snapshots.push(Named {
            answer: answer.header("x-request-id").unwrap().to_owned(),
            version: version.strip_prefix('v').unwrap().parse().unwrap(),
            operation,
        });
    }
}

/// Texts that no other change wrote; one of four is too large for the database.
fn text(random: &mut StdRng) -> String {
    use rand::RngExt;
    let line = format!("{:016x}\n", random.random::<u64>());
    line.repeat(if random.random_ratio(1, 4) { 4_200 } else { 1 })
}

/// What is answered to who looks. Where a daemon is held up for seconds its database counts as away: it is asked again.
fn look(client: &mut Client, target: &str) -> Answer {
    let patience = Instant::now() + Duration::from_mins(1);
    loop {
        let answer = client.get(target);
        if answer.status != 503 || Instant::now() > patience {
            return answer;
        }
        thread::sleep(Duration::from_millis(50));
    }
}

/// What is in a file, `None` without one.
fn read(client: &mut Client, target: &str) -> Option<String> {
    let answer = look(client, target);
    match answer.status {
        200 => Some(String::from_utf8(answer.body).unwrap()),
        404 => None,
        _ => panic!("{target}: {answer:?}"),
    }
}
