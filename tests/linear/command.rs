//! Commands beside the daemon, one after the other, and what is recorded of them.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::process::{Child, Output, Stdio};
use std::thread;
use std::time::Duration;

use rand::RngExt;
use rand::rngs::StdRng;

use crate::check::Event;
use crate::daemon::siteconf_at;
use crate::model::{Answer, Call, Condition, PATHS, Wish, body};
use crate::requests::{tag, version};
use crate::scene::Scene;

/// After so long the daemon has noticed what another process has written (`src/http/contract.md`, "Waiting").
const UNNOTICED_MAX: Duration = Duration::from_millis(20);

/// Runs a command, which may be killed, on the store that these flags name.
pub(crate) fn run(scene: &Scene<'_>, store: &[OsString], random: &mut StdRng) -> Event<Call> {
    let path = random.random_range(0..PATHS.len());
    let token = scene.known().tokens.last().cloned();
    let wish = match token {
        Some(token) if random.random_ratio(1, 6) => Wish::RevokeToken(token.number),
        _ => Wish::Save(path, scene.new_content(), scene.condition(path, random)),
    };
    let kill_after = random
        .random_ratio(1, 4)
        .then(|| Duration::from_micros(random.random_range(0..60_000)));
    scene.gate.beside(|| {
        let sent = scene.gate.now();
        let mut child = start(scene, store, &wish);
        if let Some(pause) = kill_after {
            thread::sleep(pause);
            child.kill().unwrap();
        }
        let mut printed = [0; 1];
        let told = child.stdout.as_mut().unwrap().read(&mut printed).unwrap();
        let told_at = (told > 0).then(|| scene.gate.now());
        let output = child.wait_with_output().unwrap();
        let ended = scene.gate.now();
        let code = output.status.code();
        let answer = code.and_then(|_| answer(scene, &wish, &printed[..told], &output));
        // What is printed is committed. What one has written that was killed before may lie whole in the log,
        // where the next start of the daemon finds it.
        let noticed = told_at.map(|at| at + UNNOTICED_MAX);
        let ended = answer.is_some().then_some(ended);
        let until = noticed.into_iter().chain(ended).min();
        if answer.is_none() {
            // The next command would see what the daemon need not have noticed yet.
            thread::sleep(UNNOTICED_MAX);
        }
        Event {
            is_answered: answer.is_some(),
            call: Call {
                wish,
                answer,
                is_beside: true,
            },
            sent,
            until,
        }
    })
}

fn start(scene: &Scene<'_>, store: &[OsString], wish: &Wish) -> Child {
    let mut command = siteconf_at(store);
    let input = match wish {
        Wish::Save(path, content, condition) => {
            command.args(["put", &scene.id, "main", PATHS[*path], "--json"]);
            let expect = match condition {
                Condition::None => None,
                Condition::Is(content) => Some(tag(*content)),
                Condition::IsAbsent => Some("absent".to_owned()),
            };
            command.args(expect.map(|expect| format!("--expect={expect}")));
            body(*content)
        }
        Wish::RevokeToken(number) => {
            command.args(["token", "revoke", &scene.token(*number).id]);
            String::new()
        }
        _ => unreachable!("{wish:?} is no command"),
    };
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    match stdin.write_all(input.as_bytes()) {
        // It needs no bytes to see that its condition does not hold, and may have ended. What it says tells.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
        written => written.unwrap(),
    }
    child
}

/// What a command that ended by itself says; none where it does not tell what came of it.
fn answer(scene: &Scene<'_>, wish: &Wish, first: &[u8], output: &Output) -> Option<Answer> {
    let said = String::from_utf8_lossy(&output.stderr);
    // So it is where somebody is held up for seconds.
    let away = ["the database does not answer", "may have been made"];
    if scene.gate.outlives() && away.iter().any(|words| said.contains(words)) {
        return None;
    }
    Some(match wish {
        Wish::Save(..) if output.status.success() => {
            let told: serde_json::Value =
                serde_json::from_slice(&[first, &output.stdout].concat()).unwrap();
            let snapshot = version(&told["snapshot"]);
            scene.known().snapshots = snapshot;
            let commit = told["short_id"].as_str().unwrap().to_owned();
            Answer::Changed { snapshot, commit }
        }
        Wish::Save(..) if said.contains("is not as --expect demands") => Answer::Unmet,
        Wish::RevokeToken(_) if output.status.success() => Answer::Done,
        Wish::RevokeToken(_) if said.contains("there is no token") => Answer::NotThere,
        // Somebody was faster.
        Wish::RevokeToken(_) if said.contains("has no such token") => Answer::NotThere,
        _ => panic!("{wish:?}: {output:?}"),
    })
}
