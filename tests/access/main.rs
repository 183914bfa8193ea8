//! Accounts, sessions, tokens and rights through their public face, over a clock that the tests own, and
//! over the in-memory engine where nothing needs a disk.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails where it cannot go on"
)]

mod accounts;
mod audit;
mod decisions;
mod deleted;
mod durability;
mod fingerprints;
#[path = "../support/forwarded.rs"]
mod forwarded;
mod lost_rights;
mod moved_branches;
mod overtaken;
mod owners;
#[path = "../support/rounds.rs"]
#[allow(dead_code, reason = "nothing here is left to chance")]
mod rounds;
mod scopes;
mod sessions;
mod settled;
mod time;
mod tokens;

use std::sync::Arc;
use std::time::{Duration, Instant};

use siteconf::access::{
    Accounts, Caller, Error, Gate, NewToken, ProjectSelector, Result, Role, SessionLifetimes,
    TokenHolder, TokenView, Visit,
};
use siteconf::base::clock::{ManualClock, Timestamp};
use siteconf::base::repo_id::RepoId;
use siteconf::base::secret::{Secret, ServerKey};
use siteconf::repo::{Project, Projects};
use siteconf::store::Store;
use siteconf::store::memory::MemoryStore;

const PASSWORD: &str = "correct horse";

/// A service with nobody in it.
#[derive(Clone)]
struct World {
    clock: Arc<ManualClock>,
    projects: Projects,
    accounts: Accounts,
    gate: Gate,
}

impl World {
    fn new() -> Self {
        Self::over(Arc::new(MemoryStore::default()), ServerKey::generate())
    }

    /// What a store holds, served under a key.
    fn over(store: Arc<dyn Store>, key: ServerKey) -> Self {
        let clock = Arc::new(ManualClock::new(Timestamp::parse("2026-11-01").unwrap()));
        let projects = siteconf::access::projects(store, clock.clone());
        Self {
            clock,
            accounts: Accounts::new(&projects),
            gate: Gate::new(projects.clone(), key, SessionLifetimes::default()),
            projects,
        }
    }

    /// Makes an account and logs it in.
    fn user(&self, name: &str, roles: &[&str]) -> Caller {
        let roles: Vec<Role> = roles.iter().map(|role| role.parse().unwrap()).collect();
        self.accounts.create(name, PASSWORD, &roles).unwrap();
        self.again(name)
    }

    /// Logs an account in.
    fn again(&self, name: &str) -> Caller {
        let (cookie, _) = self.gate.login(name, PASSWORD, &Visit::default()).unwrap();
        self.gate.session(&cookie).unwrap()
    }

    /// What a caller sees of its tokens.
    fn tokens(&self, caller: &Caller) -> Vec<TokenView> {
        let listed = (0..10).find_map(|_| {
            let began = Instant::now();
            let listed = self.gate.tokens(caller).unwrap();
            // It waits for what is on its way, for a second at most: what took so long says nothing.
            (began.elapsed() < Duration::from_secs(1)).then_some(listed)
        });
        let listed = listed.expect("once it takes less than a second");
        listed
            .iter()
            .map(|token| self.gate.shown_token(token))
            .collect()
    }

    /// Makes a project of the caller's, past the gate.
    fn project(&self, owner: &Caller, repo_id: &str) -> Project {
        let owner = owner.account().number();
        self.projects
            .create_project(&id(repo_id), owner, "the test")
            .unwrap()
    }

    /// Makes a token without an expiry or a fingerprint.
    fn make_token(&self, caller: &Caller, repos: &[&str]) -> Result<(Secret, TokenView)> {
        self.gate.create_token(caller, named("erp", repos))
    }

    /// Makes a token and shows it.
    fn holder(&self, caller: &Caller, repos: &[&str]) -> TokenHolder {
        let (secret, _) = self.make_token(caller, repos).unwrap();
        self.gate.token(&secret, None, None).unwrap()
    }

    /// What the token's holder is told about a project: its repo id, or the refusal.
    fn told(&self, holder: &TokenHolder, selector: &ProjectSelector) -> String {
        match self.gate.open_by_token(holder, selector) {
            Ok(project) => project.repo_id().to_string(),
            Err(refused) => refused.to_string(),
        }
    }
}

/// Waits until what was put before under names with this prefix is written, for as long as a busy machine needs.
fn flushed(projects: &Projects, prefix: &str) {
    let background = projects.background();
    background.flush_within(prefix, Duration::from_secs(30));
}

fn id(text: &str) -> RepoId {
    RepoId::parse(text).unwrap()
}

fn by_id(text: &str) -> ProjectSelector {
    ProjectSelector::Id(id(text))
}

fn named(name: &str, repos: &[&str]) -> NewToken {
    NewToken {
        name: name.to_owned(),
        repos: texts(repos),
        ..NewToken::default()
    }
}

fn texts(all: &[&str]) -> Vec<String> {
    all.iter().map(|text| (*text).to_owned()).collect()
}

/// The text that a refused caller reads.
fn refusal<T: std::fmt::Debug>(outcome: Result<T>) -> String {
    outcome.unwrap_err().to_string()
}

fn is_invalid<T: std::fmt::Debug>(outcome: &Result<T>) -> bool {
    matches!(outcome, Err(Error::Invalid { .. }))
}
