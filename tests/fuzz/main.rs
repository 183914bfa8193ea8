//! Targets that take any bytes, and hold what is said of them: names, dates, objects and records, parts of
//! requests and whole ones. `cargo test` gives each its corpus and inputs that are made of it by chance;
//! `tests/fuzz/run` runs them under libFuzzer, which finds its way by what code an input reaches.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails where it cannot go on"
)]

mod mutate;
#[path = "../support/rounds.rs"]
mod rounds;
mod short;
mod targets;
