//! `siteconf pull` of 10,000 changed small files beside `curl --parallel` of the same addresses, in turns and
//! over loopback, and the requests of a pull for which nothing changed.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::unnecessary_debug_formatting,
    clippy::print_stdout,
    missing_docs,
    unreachable_pub,
    dead_code,
    reason = "a benchmark that fails shall fail, and it prints; it uses a part of what it shares"
)]

#[path = "../tests/service/client.rs"]
mod client;
mod common;
#[path = "../tests/service/daemon.rs"]
mod daemon;
#[path = "../tests/pull/relay.rs"]
mod relay;
#[path = "../tests/pull/scene.rs"]
mod scene;

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use common::{asked, at_least, at_most, body, ratio};
use relay::Relay;
use scene::{Files, Scene, read};

const FILES: u64 = 10_000;
const ROUNDS: u64 = 5;

/// The branch of a round: other bytes in each, 100 to 500 of them a file.
fn branch(round: u64) -> Files {
    (0..FILES)
        .map(|number| {
            let path = format!("shop-{:03}/file-{number:05}.xml", number / 100);
            let seed = round * FILES + number;
            let length = usize::try_from(100 + seed * 7 % 400).unwrap();
            (path, (body(seed, length).to_vec(), false))
        })
        .collect()
}

fn timed(command: &mut Command) -> Duration {
    let start = Instant::now();
    let output = command.output().unwrap();
    let took = start.elapsed();
    assert!(output.status.success(), "{output:?}");
    took
}

/// Fetches the files into a folder. Gives the time.
fn curl(scene: &Scene, files: &Files, to: &str) -> Duration {
    let token = fs::read_to_string(scene.at("token")).unwrap();
    let mut list = String::new();
    for path in files.keys() {
        let address =
            scene.daemon.base() + &daemon::read(&format!("/files/{}/raw", client::segment(path)));
        let target = scene.at(to).join(path);
        writeln!(
            list,
            "url = \"{address}?ref=main\"\noutput = \"{}\"",
            target.display()
        )
        .unwrap();
    }
    fs::write(scene.at("list"), list).unwrap();
    let mut command = Command::new("curl");
    command
        .args([
            "--parallel",
            "--silent",
            "--fail",
            "--create-dirs",
            "--noproxy",
            "*",
        ])
        .args(["--header", &format!("PRIVATE-TOKEN: {token}"), "--config"])
        .arg(scene.at("list"));
    timed(&mut command)
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn main() {
    if !asked::is_meant("pull") {
        return;
    }
    let mut scene = Scene::new();
    scene.save(&branch(0));
    timed(&mut scene.command(&scene.daemon.base(), &[]));
    let (mut pulls, mut curls) = (Vec::new(), Vec::new());
    for round in 1..=ROUNDS {
        let files = branch(round);
        scene.save(&files);
        let to: PathBuf = scene.at("curled");
        let mut measure = |pulls_now: bool| {
            if pulls_now {
                pulls.push(timed(&mut scene.command(&scene.daemon.base(), &[])));
            } else {
                curls.push(curl(&scene, &files, "curled"));
            }
        };
        // Each goes first every other time.
        measure(round % 2 == 0);
        measure(round % 2 == 1);
        assert!(
            read(&scene.dir()) == files && read(&to) == files,
            "other files than the branch's"
        );
        fs::remove_dir_all(to).unwrap();
    }
    let (pull, curl) = (median(pulls), median(curls));
    println!("{FILES} changed files: siteconf pull {pull:.2?}, curl --parallel {curl:.2?}");
    let what = "times as fast as curl --parallel, siteconf pull of 10,000 changed files";
    at_least(what, 0.5, ratio(curl, pull));
    // Through a relay that counts; the folder is its from the first pull on.
    let relay = Relay::to(&scene.daemon.base());
    timed(&mut scene.command(&relay.base(), &[]));
    relay.requests();
    let nothing = timed(&mut scene.command(&relay.base(), &[]));
    let requests = u32::try_from(relay.requests().len()).unwrap();
    println!("nothing changed: {nothing:.2?}");
    at_most("requests where nothing changed", 1.0, f64::from(requests));
}
