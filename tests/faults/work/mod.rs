//! Clients of all kinds, each with something of its own that nobody else changes.

mod files;
mod import;
mod rollbacks;
mod tokens;

use std::io;

use rand::rngs::StdRng;

use crate::client::{Answer, Client};
use crate::told::{State, Told};

pub(crate) use files::{Batches, Files};
pub(crate) use import::{Imports, Killer};
pub(crate) use rollbacks::Rollbacks;
pub(crate) use tokens::{Bindings, Tokens};

/// What one client does.
pub(crate) trait Work: Send {
    /// Makes one change, and notes what will be there before it asks, and that it was told so after it.
    ///
    /// # Errors
    /// When no answer came.
    fn step(&mut self, client: &mut Client, told: &mut Told, random: &mut StdRng)
    -> io::Result<()>;

    /// What there is of it. Panics where it cannot be read, or holds what nobody wrote.
    fn found(&self, client: &mut Client) -> State;
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
    told.refused(answer.status, matches!(answer.status, 500 | 503));
    Ok(None)
}

/// Notes the snapshot that an answer names.
fn note_snapshot(told: &mut Told, answer: Option<&Answer>, operation: &'static str) -> Option<u64> {
    let answer = answer?.json();
    let version = answer["snapshot"].as_str()?;
    let number = version.strip_prefix('v').unwrap().parse().unwrap();
    told.snapshots.push((number, operation));
    Some(number)
}

/// Texts that no other change wrote; one of four is too large for the database.
fn text(random: &mut StdRng) -> String {
    use rand::RngExt;
    let line = format!("{:016x}\n", random.random::<u64>());
    line.repeat(if random.random_ratio(1, 4) { 4_200 } else { 1 })
}

/// What is in a file, `None` without one.
fn read(client: &mut Client, target: &str) -> Option<String> {
    let answer = client.get(target);
    match answer.status {
        200 => Some(String::from_utf8(answer.body).unwrap()),
        404 => None,
        _ => panic!("{target}: {answer:?}"),
    }
}
