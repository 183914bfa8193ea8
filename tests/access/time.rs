//! What expires, when the machine's clock does not go as it should (`objects-layout.md`, "Time").

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use siteconf::access::{Error, NewToken, Refused, TokenState, Visit};
use siteconf::base::actor::Actor;
use siteconf::base::clock::{Clock, Timestamp};
use siteconf::base::secret::{Secret, ServerKey};
use siteconf::store::memory::MemoryStore;
use siteconf::store::{Batch, Result, Staging, Store, StoreError, Version};

use crate::forwarded::forward_reads;
use crate::{PASSWORD, World, flushed};

const DAY_S: u64 = 24 * 3600;

fn at(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap()
}

impl World {
    /// What the service does every minute.
    fn tick(&self) {
        self.projects.steady_clock().tick();
        flushed(&self.projects, "clock");
    }

    /// The service, started again with its clock at this point.
    fn restarted(&self, clock: &str) -> Self {
        let world = Self::over(Arc::clone(self.projects.store()), ServerKey::generate());
        world.clock.set(at(clock));
        world
    }

    /// A token that expires at this point.
    fn token_until(&self, name: &str, end: Option<&str>) -> Secret {
        let new = NewToken {
            name: name.to_owned(),
            repos: vec!["*".to_owned()],
            expires_at: end.map(at),
            ..NewToken::default()
        };
        let owner = self.again("eve");
        self.gate.create_token(&owner, new).unwrap().0
    }

    fn counts(&self, token: &Secret) -> bool {
        let counts = self.gate.token(token, None, None).is_ok();
        flushed(&self.projects, "token/");
        counts
    }

    /// The states of eve's tokens as they are listed.
    fn listed(&self) -> Vec<TokenState> {
        let tokens = self.tokens(&self.again("eve"));
        tokens.iter().map(|token| token.state).collect()
    }

    fn log_in(&self) -> Secret {
        self.gate
            .login("eve", PASSWORD, &Visit::default())
            .unwrap()
            .0
    }

    fn knows(&self, cookie: &Secret) -> bool {
        let knows = self.gate.session(cookie).is_ok();
        // Its last use, or its end, is written soon.
        flushed(&self.projects, "session/");
        knows
    }
}

fn world() -> World {
    let world = World::new();
    world.accounts.create("eve", PASSWORD, &[]).unwrap();
    world
}

/// The levels and texts that are logged meanwhile.
fn logged(work: impl FnOnce()) -> Vec<String> {
    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);
    impl io::Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let lines = Lines::default();
    let written = lines.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_writer(move || written.clone())
        .with_ansi(false)
        .without_time()
        .with_target(false)
        .finish();
    tracing::subscriber::with_default(subscriber, work);
    let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
    text.lines().map(|line| line.trim().to_owned()).collect()
}

#[test]
fn what_expired_stays_so_when_the_clock_goes_back_and_the_service_starts_anew() {
    let world = world();
    let expired = world.token_until("expired", Some("2026-11-02"));
    let later = world.token_until("later", Some("2026-11-04"));
    // Nobody uses it after its end: only the mark knows.
    world.clock.advance_s(DAY_S);
    world.tick();
    let states = [TokenState::Expired, TokenState::Active];
    assert_eq!(world.listed(), states);
    let told = logged(|| {
        world.clock.set(at("2026-10-30"));
        for _ in 0..3 {
            world.tick();
        }
    });
    assert_eq!(
        told,
        [
            "WARN the clock has gone back; sessions and tokens expire by the time that was expected; if \
             the clock is right, start once with --trust-clock clock=2026-10-30T00:00:00.000Z \
             expected=2026-11-02T00:00:00.000Z"
        ]
    );
    assert_eq!(world.listed(), states);
    assert!(!world.counts(&expired) && world.counts(&later));

    let world = world.restarted("2026-10-30");
    assert_eq!(world.listed(), states);
    assert!(!world.counts(&expired) && world.counts(&later));
    // Time passes all the same.
    world.clock.advance_s(2 * DAY_S);
    assert!(!world.counts(&later));
    world.tick();
    assert!(!world.restarted("2026-10-01").counts(&later));
}

/// A machine that does something else between any two readings of its clocks, for so many milliseconds.
#[derive(Debug, Default)]
struct Busy {
    for_ms: AtomicI64,
    uptime: AtomicI64,
}

impl Clock for Busy {
    fn now(&self) -> Timestamp {
        Timestamp::from_ms(at("2026-11-01").ms() + self.uptime_ms())
    }

    fn uptime_ms(&self) -> i64 {
        let passed = self.for_ms.load(Ordering::Relaxed);
        self.uptime.fetch_add(passed, Ordering::Relaxed) + passed
    }
}

#[test]
fn what_passes_while_the_clocks_are_read_makes_nothing_expire_early() {
    let clock = Arc::new(Busy::default());
    let projects = siteconf::access::projects(Arc::new(MemoryStore::default()), clock.clone());
    let steady = projects.steady_clock();
    assert_eq!(steady.now(), clock.now());
    clock.for_ms.store(100, Ordering::Relaxed);
    for _ in 0..3 {
        assert!(steady.now() <= clock.now());
    }
    clock.for_ms.store(0, Ordering::Relaxed);
    assert_eq!(steady.now(), clock.now());
}

#[test]
fn no_session_is_extended_when_the_clock_goes_back() {
    let world = world();
    let (idle, busy) = (world.log_in(), world.log_in());
    world.clock.set(at("2026-10-30"));
    for _ in 0..23 {
        world.clock.advance_s(1800);
        assert!(world.knows(&busy));
    }
    assert!(!world.knows(&idle));
    world.clock.advance_s(1800);
    assert!(!world.knows(&busy), "twelve hours have passed");

    let idle = world.log_in();
    world.clock.advance_s(20 * 3600);
    world.tick();
    let world = world.restarted("2026-10-25");
    assert!(!world.knows(&idle));
    let fresh = world.log_in();
    assert!(world.knows(&fresh));
    world.clock.advance_s(3600);
    assert!(!world.knows(&fresh));
}

#[test]
fn a_clock_that_jumps_ahead_refuses_while_it_does_and_ends_nothing_for_good() {
    let world = world();
    let (token, endless) = (
        world.token_until("token", Some("2030-01-01")),
        world.token_until("endless", None),
    );
    let here = world.log_in();
    let mut wrong = None;
    let told = logged(|| {
        world.tick();
        world.clock.set(at("2036-11-01"));
        for _ in 0..3 {
            world.tick();
        }
        assert!(!world.counts(&token) && world.counts(&endless));
        assert!(!world.knows(&here));
        assert_eq!(world.listed(), [TokenState::Expired, TokenState::Active]);
        wrong = Some(world.log_in());
        world.clock.set(at("2026-11-01T00:00:30Z"));
        world.tick();
    });
    assert_eq!(
        told,
        [
            "WARN the clock has jumped ahead by more than a day; if it is wrong, put it right within a \
             day: then what it says has expired does so for good clock=2036-11-01T00:00:00.000Z \
             expected=2026-11-01T00:00:00.000Z",
            "INFO the clock is as expected again clock=2026-11-01T00:00:30.000Z",
        ]
    );
    for world in [&world, &world.restarted("2026-11-01T00:01:00Z")] {
        assert!(world.counts(&token) && world.counts(&endless));
        assert!(world.knows(&here));
        assert_eq!(world.listed(), [TokenState::Active; 2]);
        // It would count for ten years.
        assert!(!world.knows(wrong.as_ref().unwrap()));
        let listed = world.tokens(&world.again("eve"));
        let used = listed[1].last_used_at.unwrap();
        assert!(used < at("2026-11-02"), "{used}");
    }
}

#[test]
fn a_clock_that_runs_on_for_a_day_after_its_jump_is_believed() {
    let world = world();
    let token = world.token_until("token", Some("2027-01-01"));
    world.tick();
    let told = logged(|| {
        world.clock.set(at("2028-01-01"));
        world.tick();
        world.clock.advance_s(DAY_S - 1);
        world.tick();
        world.clock.set(at("2026-11-02"));
        assert!(world.counts(&token), "it was not a day");
        world.tick();
        world.clock.set(at("2028-01-01"));
        world.tick();
        world.clock.advance_s(DAY_S);
        world.tick();
        world.tick();
    });
    let levels: Vec<_> = told.iter().map(|line| &line[..4]).collect();
    assert_eq!(levels, ["WARN", "INFO", "WARN", "INFO"], "{told:?}");
    world.clock.set(at("2026-11-03"));
    assert!(!world.counts(&token));
    assert!(!world.restarted("2026-11-03").counts(&token));
}

#[test]
fn nothing_is_old_by_a_mark_that_a_wrong_clock_left_and_the_right_one_can_be_trusted() {
    let world = world();
    world.tick();
    world.clock.set(at("2028-11-01"));
    world.tick();
    world.clock.advance_s(DAY_S);
    world.tick();
    let world = world.restarted("2026-11-02");
    let token = world.token_until("token", Some("2027-11-01"));
    let steady = world.projects.steady_clock();
    assert!(!world.counts(&token));
    assert_eq!(steady.believed(), at("2026-11-02"));
    assert_eq!(steady.ahead_s(), 731 * DAY_S);
    world.tick();
    assert_eq!(
        world
            .restarted("2026-11-02")
            .projects
            .steady_clock()
            .ahead_s(),
        731 * DAY_S
    );

    steady.trust_clock(&Actor::from("conf")).unwrap();
    world.clock.advance_s(DAY_S);
    for world in [&world, &world.restarted("2026-11-03")] {
        assert!(world.counts(&token));
        assert_eq!(world.projects.steady_clock().ahead_s(), 0);
    }
}

#[test]
fn what_is_removed_by_its_age_is_as_old_as_the_service_has_seen_it_become() {
    let world = world();
    let ago = |world: &World, days: u64| world.projects.steady_clock().ago(days * DAY_S);
    world.tick();
    let begun = world.clock.now();
    // Twice the clock skips time, each for so long that it is believed.
    for year in ["2027", "2031"] {
        let before = world.clock.now();
        world.clock.set(at(&format!("{year}-01-01")));
        world.tick();
        assert_eq!(ago(&world, 0), before, "it is doubted");
        world.clock.advance_s(DAY_S);
        world.tick();
        world.clock.advance_s(3 * DAY_S);
        world.tick();
    }
    let restarted = world.restarted("2031-01-05");
    for world in [&world, &restarted] {
        assert_eq!(ago(world, 0), at("2031-01-05"));
        assert_eq!(ago(world, 3), at("2031-01-02"));
        assert_eq!(ago(world, 4), at("2031-01-01"));
        assert_eq!(ago(world, 5), at("2027-01-04"));
        assert_eq!(ago(world, 8), at("2027-01-01"));
        assert_eq!(ago(world, 10), begun.minus_s(2 * DAY_S));
    }
    // Put right, by whoever sees it, it counts as it did before.
    let right = world.restarted("2026-12-01");
    assert_eq!(ago(&right, 3), at("2026-11-28"));
    right
        .projects
        .steady_clock()
        .trust_clock(&Actor::from("conf"))
        .unwrap();
    assert_eq!(ago(&right, 3), at("2026-11-28"));
    right.clock.set(at("2026-12-02"));
    assert_eq!(ago(&right.restarted("2026-12-02"), 30), at("2026-11-02"));
}

/// As a machine that is off at weekends: what is of long ago goes all the same.
#[test]
fn of_many_skips_the_last_count_and_the_record_stays_small() {
    let world = world();
    for _ in 0..80 {
        world.tick();
        world.clock.set(world.clock.now().plus_s(3 * DAY_S));
        world.tick();
        world.clock.advance_s(4 * DAY_S);
        world.tick();
    }
    let steady = world.projects.steady_clock();
    let now = world.clock.now();
    assert_eq!(steady.ago(8 * DAY_S), now.minus_s(11 * DAY_S));
    let record = world
        .projects
        .store()
        .record("clock-skipped")
        .unwrap()
        .unwrap();
    let record: serde_json::Value = serde_json::from_slice(&record.value).unwrap();
    assert_eq!(record["times"].as_array().unwrap().len(), 64);
    assert_eq!(steady.ago(300 * DAY_S), now.minus_s((300 + 64 * 3) * DAY_S));
}

#[test]
fn a_service_that_stood_still_for_a_month_goes_on_without_a_warning() {
    let world = world();
    let ended = world.token_until("ended", Some("2026-11-20"));
    let token = world.token_until("token", Some("2027-01-01"));
    let old = world.log_in();
    world.tick();
    let told = logged(|| {
        let world = world.restarted("2026-12-01");
        world.tick();
        assert!(!world.counts(&ended) && world.counts(&token));
        assert!(!world.knows(&old));
        let session = world.log_in();
        for _ in 0..3 {
            world.clock.advance_s(1800);
            world.tick();
            assert!(world.knows(&session) && world.counts(&token));
        }
        world.clock.advance_s(3600);
        assert!(!world.knows(&session));
    });
    assert_eq!(
        told,
        [
            "INFO the clock is more than a day ahead of the time that was last seen \
             clock=2026-12-01T00:00:00.000Z last_seen=2026-11-01T00:00:00.000Z"
        ]
    );
}

#[test]
fn a_request_writes_no_time() {
    let world = world();
    let (token, session) = (world.token_until("token", None), world.log_in());
    world.tick();
    assert!(world.counts(&token) && world.knows(&session));
    flushed(&world.projects, "");
    let version = || world.projects.store().last_version().unwrap();
    let before = version();
    for _ in 0..100 {
        assert!(world.counts(&token) && world.knows(&session));
    }
    flushed(&world.projects, "");
    assert_eq!(version(), before);
    world.tick();
    assert_eq!(version(), before + 1);
}

/// A store with a clock that all who serve it have in common.
#[derive(Debug, Default)]
struct Shared {
    store: MemoryStore,
    /// By how much the machine's clock is ahead of it, in milliseconds.
    ahead_ms: Mutex<Option<i64>>,
}

impl Store for Shared {
    forward_reads!();

    fn commit(&self, batch: Batch) -> Result<Version> {
        self.store.commit(batch)
    }
    fn stage(&self) -> Result<Box<dyn Staging>> {
        self.store.stage()
    }
    fn clock_ahead_ms(&self) -> Option<i64> {
        *self.ahead_ms.lock().unwrap()
    }
}

#[test]
fn a_machine_whose_clock_is_wrong_decides_for_no_other() {
    let store = Arc::new(Shared::default());
    let wrong = World::over(store.clone(), ServerKey::generate());
    wrong.accounts.create("eve", PASSWORD, &[]).unwrap();
    let mark = |world: &World| {
        world.tick();
        world.restarted("2026-10-01").projects.steady_clock().now()
    };
    wrong.clock.set(at("2026-11-01T20:00:00Z"));
    for ahead_ms in [None, Some(20 * 3_600_000), Some(-20 * 3_600_000)] {
        *store.ahead_ms.lock().unwrap() = ahead_ms;
        assert_eq!(mark(&wrong), at("2026-10-01"), "{ahead_ms:?}");
    }
    let right = wrong.restarted("2026-11-01");
    assert!(right.knows(&right.log_in()));
    *store.ahead_ms.lock().unwrap() = Some(-29_000);
    assert_eq!(mark(&right), at("2026-11-01"));
}

/// A store whose disk can be full, but for what may take the reserve.
#[derive(Debug, Default)]
struct Little {
    store: MemoryStore,
    is_full: AtomicBool,
}

impl Store for Little {
    forward_reads!();

    fn commit(&self, batch: Batch) -> Result<Version> {
        if self.is_full.load(Ordering::Relaxed) && !batch.uses_reserve {
            return Err(StoreError::Full);
        }
        self.store.commit(batch)
    }
    fn stage(&self) -> Result<Box<dyn Staging>> {
        self.store.stage()
    }
}

#[test]
fn what_has_expired_is_noted_on_a_full_disk_too() {
    let store = Arc::new(Little::default());
    let world = World::over(store.clone(), ServerKey::generate());
    world.accounts.create("eve", PASSWORD, &[]).unwrap();
    let token = world.token_until("short", Some("2026-11-01T12:00:00Z"));
    world.clock.set(at("2026-11-01T12:00:01Z"));
    store.is_full.store(true, Ordering::Relaxed);
    let Err(Error::Unauthenticated(refusal)) = world.gate.token(&token, None, None) else {
        panic!("it has expired");
    };
    // What is told of it may not take the reserve, and is written together with it.
    let from = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let gate = &world.gate;
    gate.note_refusal(Refused::Token, &refusal, from, "GET /");
    flushed(&world.projects, "");
    store.is_full.store(false, Ordering::Relaxed);
    let world = world.restarted("2026-11-01");
    assert!(!world.counts(&token));
    assert_eq!(world.listed(), [TokenState::Expired]);
}
