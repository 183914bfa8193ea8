//! How many rounds a harness runs, and with which random numbers: the one place that asks the environment
//! for either. `tests/README.md` lists the harnesses.

use std::env::{self, VarError};
use std::thread;

use rand::SeedableRng;
use rand::rngs::StdRng;

/// What a harness runs with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rounds {
    /// How many there are: kills, faults, states or histories.
    pub(crate) count: u64,
    /// Decides all that is left to chance.
    pub(crate) seed: u64,
}

impl Rounds {
    /// Those of `SITECONF_ROUNDS` and `SITECONF_SEED`; without the first the usual number, without the
    /// second any seed, and with `CI=true` always the same: what fails there is the change. Prints, for
    /// who sees the test fail, the line that runs the same again.
    #[expect(clippy::print_stderr, reason = "cargo shows it of a test that fails")]
    pub(crate) fn or(usual: u64) -> Self {
        let rounds = Self {
            count: number("SITECONF_ROUNDS").unwrap_or(usual),
            seed: number("SITECONF_SEED")
                .unwrap_or_else(|| if is_ci() { 1 } else { rand::random() }),
        };
        let Self { count, seed } = rounds;
        // Run by one thread, tests have no names.
        let test = thread::current().name().unwrap_or_default().to_owned();
        let test = if test == "main" { "" } else { &test };
        eprintln!(
            "again: SITECONF_ROUNDS={count} SITECONF_SEED={seed} cargo test --locked --test {} {test}",
            env!("CARGO_CRATE_NAME"),
        );
        rounds
    }

    /// The random numbers of one part of a harness, a round or a thread; those of another are others.
    pub(crate) fn random(&self, part: u64) -> StdRng {
        StdRng::seed_from_u64(
            self.seed
                .wrapping_add(part.wrapping_mul(0x9E37_79B9_7F4A_7C15)),
        )
    }
}

fn is_ci() -> bool {
    env::var_os("CI").is_some_and(|ci| ci == "true")
}

#[expect(
    clippy::disallowed_methods,
    reason = "how long a test runs is no setting of the service"
)]
fn number(name: &str) -> Option<u64> {
    match env::var(name) {
        Ok(text) => Some(
            text.parse()
                .unwrap_or_else(|_| panic!("{name} is a number")),
        ),
        Err(VarError::NotPresent) => None,
        Err(VarError::NotUnicode(_)) => panic!("{name} is a number"),
    }
}
