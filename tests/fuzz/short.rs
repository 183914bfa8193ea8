//! The short form: the corpus, and so many inputs that are made of it.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::PathBuf;

use super::mutate::like_one_of;
use super::rounds::Rounds;
use super::targets::TARGETS;

/// Runs a target over its corpus, then over so many more inputs, unless told otherwise.
#[expect(clippy::print_stderr, reason = "cargo shows it of a test that fails")]
fn run(name: &str, usual: u64) {
    let (_, target) = TARGETS.iter().find(|(known, _)| *known == name).unwrap();
    let rounds = Rounds::or(usual);
    let corpus = corpus(name);
    let mut random = rounds.random(0);
    let made = (0..rounds.count).map(|_| like_one_of(&corpus, &mut random));
    for input in corpus.iter().cloned().chain(made) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| target(&input))) {
            let shown = input.escape_ascii();
            eprintln!("the input, for a file in tests/fuzz/corpus/{name}:\n{shown}");
            resume_unwind(panic);
        }
    }
}

fn corpus(name: &str) -> Vec<Vec<u8>> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/corpus");
    let files = fs::read_dir(folder.join(name)).unwrap();
    let mut files: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    files.sort();
    files.iter().map(|file| fs::read(file).unwrap()).collect()
}

#[test]
fn branch() {
    run("branch", 20_000);
}

#[test]
fn dates() {
    run("dates", 20_000);
}

#[test]
fn headers() {
    run("headers", 1000);
}

#[test]
fn json() {
    run("json", 500);
}

#[test]
fn manifest() {
    run("manifest", 20_000);
}

#[test]
fn node() {
    run("node", 20_000);
}

#[test]
fn path() {
    run("path", 20_000);
}

#[test]
fn query() {
    run("query", 500);
}

#[test]
fn record() {
    run("record", 20_000);
}

#[test]
fn request() {
    run("request", 1000);
}
