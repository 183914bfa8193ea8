//! The target that the variable `FUZZ_TARGET` names, under libFuzzer.
#![no_main]

#[path = "../targets/mod.rs"]
mod targets;

use std::sync::LazyLock;

use targets::{TARGETS, Target};

static TARGET: LazyLock<Target> = LazyLock::new(|| {
    let name = std::env::var("FUZZ_TARGET").expect("FUZZ_TARGET names a target");
    let known = TARGETS.into_iter().find(|(known, _)| *known == name);
    known.expect("FUZZ_TARGET names a target")
});

libfuzzer_sys::fuzz_target!(|input: &[u8]| (TARGET.1)(input));
