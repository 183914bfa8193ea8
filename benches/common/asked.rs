//! What a benchmark with a `main` of its own is asked for on its command line.
#![allow(dead_code, unreachable_pub, reason = "each benchmark uses its part")]

use std::env;
use std::str::FromStr;

/// True for `cargo bench`, unless it names another one: `cargo test --benches` only wants to know that it starts, and
/// gives no `--bench`.
pub fn is_meant(name: &str) -> bool {
    let (flags, words): (Vec<_>, Vec<_>) = given().partition(|it| it.starts_with('-'));
    let mut names = words.iter().filter(|word| word.parse::<u64>().is_err());
    flags.iter().any(|flag| flag == "--bench") && names.all(|word| name.contains(word.as_str()))
}

/// The number that was given, if one was.
pub fn number<T: FromStr>() -> Option<T> {
    given().find_map(|it| it.parse().ok())
}

/// True if this flag was given.
pub fn has(flag: &str) -> bool {
    given().any(|it| it == flag)
}

fn given() -> impl Iterator<Item = String> {
    env::args().skip(1)
}
