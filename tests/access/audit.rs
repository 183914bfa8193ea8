//! What the audit log tells of accounts, sessions and tokens: one record each, in the commit of its
//! effect; and of refusals, no more than somebody may read.

use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use siteconf::access::{
    Accounts, Caller, Error, Expiry, Gate, NewToken, Refusal, Refused, Role, SessionLifetimes,
    TokenChange, Visit,
};
use siteconf::base::actor::Actor;
use siteconf::base::clock::{ManualClock, Timestamp};
use siteconf::base::limits::{
    AUDIT_DETAIL_BYTES_MAX, REFUSALS_AUDITED_DAY_MAX, REFUSALS_AUDITED_MINUTE_MAX,
};
use siteconf::base::secret::ServerKey;
use siteconf::repo::Projects;
use siteconf::repo::audit::{Action, Entry, Filter};
use siteconf::store::memory::MemoryStore;
use siteconf::store::{Batch, Record, Result, Scan, Staging, Store, StoreError, Version};

use crate::forwarded::forward_reads;
use crate::{PASSWORD, World, flushed, id, named, texts};

/// A store that notes of every commit how many records it writes and how many it appends.
#[derive(Debug, Default)]
struct Watched {
    store: MemoryStore,
    commits: Mutex<Vec<(usize, usize)>>,
    full: Mutex<bool>,
}

impl Store for Watched {
    forward_reads!();

    fn commit(&self, batch: Batch) -> Result<Version> {
        if *self.full.lock().unwrap() && !batch.uses_reserve {
            return Err(StoreError::Full);
        }
        let passed = (batch.writes.len(), batch.appends.len());
        self.commits.lock().unwrap().push(passed);
        self.store.commit(batch)
    }
    fn stage(&self) -> Result<Box<dyn Staging>> {
        self.store.stage()
    }
}

/// The record as it lies there, without its time.
fn told(entry: &Entry) -> String {
    let text = serde_json::to_string(&*entry.record).unwrap();
    text.replace(&format!("\"at\":{},", entry.record.at.ms()), "")
}

/// What an act adds to the log.
fn added(projects: &Projects, act: impl FnOnce()) -> Vec<String> {
    let before = projects.audit_after(None, None).unwrap().entries.len();
    act();
    let after = projects.audit_after(None, None).unwrap().entries;
    after[before..].iter().map(told).collect()
}

fn address() -> IpAddr {
    "2001:db8::7".parse().unwrap()
}

#[test]
#[expect(clippy::too_many_lines, reason = "one list of all changes")]
fn each_change_leaves_one_record_in_the_commit_of_its_effect() {
    let store = Arc::new(Watched::default());
    let clock = Arc::new(ManualClock::new(Timestamp::parse("2026-11-01").unwrap()));
    let projects = siteconf::access::projects(store.clone(), clock);
    let conf = Actor::command_line("conf".to_owned());
    let accounts = Accounts::new(&projects).acting(conf).leaving_no_root();
    let lifetimes = SessionLifetimes::default();
    let gate = Gate::new(projects.clone(), ServerKey::generate(), lifetimes);
    let role: Role = "ROLE_SITEBUILDER_USER__acme".parse().unwrap();
    let visit = Visit {
        from: Some(address()),
        old_session: None,
    };
    let one = |what: &str, act: &mut dyn FnMut(), expected: &str| {
        let before = store.commits.lock().unwrap().len();
        let told = added(&projects, act);
        assert_eq!(told, [expected], "{what}");
        let commits = store.commits.lock().unwrap();
        let with_effect: Vec<_> = commits[before..].iter().collect();
        let [(writes, 1)] = with_effect[..] else {
            panic!("{what}: {with_effect:?}");
        };
        assert!(*writes > 0, "{what} changed nothing");
    };
    let command = r#""by":"command line (conf)","action""#;
    let eve = r#""by":"eve","from":"2001:db8::7","action""#;

    one(
        "an account",
        &mut || drop(accounts.create("eve", PASSWORD, std::slice::from_ref(&role))),
        &format!(r#"{{{command}:"account-created","account":"eve","detail":"{role}"}}"#),
    );
    let mut caller = None::<Caller>;
    one(
        "a login",
        &mut || {
            let (cookie, _) = gate.login("eve", PASSWORD, &visit).unwrap();
            caller = Some(gate.session(&cookie).unwrap().at(address()));
        },
        &format!(r#"{{{eve}:"login"}}"#),
    );
    let caller = caller.unwrap();
    let mut cookie = None;
    one(
        "another login",
        &mut || cookie = Some(gate.login("eve", PASSWORD, &visit).unwrap().0),
        &format!(r#"{{{eve}:"login"}}"#),
    );
    let old = cookie.unwrap();
    let mut cookie = None;
    one(
        "a login of a browser that had a session",
        &mut || {
            let old_session = Some(&old);
            let visit = Visit {
                old_session,
                ..visit
            };
            cookie = Some(gate.login("eve", PASSWORD, &visit).unwrap().0);
        },
        &format!(r#"{{{eve}:"login","sessions":1}}"#),
    );
    assert!(gate.session(&old).is_err());
    let cookie = cookie.unwrap();
    one(
        "a logout",
        &mut || gate.logout(&cookie, Some(address())).unwrap(),
        &format!(r#"{{{eve}:"logout"}}"#),
    );
    let again = added(&projects, || {
        gate.logout(&cookie, Some(address())).unwrap();
    });
    assert!(again.is_empty(), "{again:?}");

    one(
        "a project",
        &mut || drop(gate.create_project(&caller, &id("acme/shop.erp")).unwrap()),
        &format!(r#"{{{eve}:"project-created","project":[1,"acme/shop.erp"]}}"#),
    );
    let new = NewToken {
        fingerprint_required: true,
        ..named("erp client", &["acme/shop.erp"])
    };
    let mut made = None;
    // The end of a secret is known only when it is made.
    let token = added(&projects, || {
        made = Some(gate.create_token(&caller, new).unwrap());
    });
    let (secret, view) = made.unwrap();
    let own = format!(r#""account":"eve","token":[1,"{}"]"#, view.suffix);
    assert_eq!(
        token,
        [format!(
            r#"{{{eve}:"token-created",{own},"detail":"\"erp client\" for acme/shop.erp"}}"#
        )]
    );
    one(
        "a first use",
        &mut || drop(gate.token(&secret, Some(b"erp-1"), Some(address()))),
        &format!(r#"{{{eve}:"token-bound",{own}}}"#),
    );
    let change = TokenChange {
        name: Some("other".to_owned()),
        repos: Some(texts(&["*"])),
        added_repos: Vec::new(),
        expires_at: Some(Expiry::Never),
        fingerprint_required: None,
        reset_fingerprint: true,
    };
    one(
        "a change of a token",
        &mut || drop(gate.change_token(&caller, &view.id, &change).unwrap()),
        &format!(
            r#"{{{eve}:"token-changed",{own},"detail":"name, repos, expires_at, reset_fingerprint"}}"#
        ),
    );
    one(
        "a revocation",
        &mut || gate.revoke_token(&caller, &view.id).unwrap(),
        &format!(r#"{{{eve}:"token-revoked",{own}}}"#),
    );

    one(
        "a role",
        &mut || assert!(accounts.add_role("eve", &Role::Root).unwrap()),
        &format!(
            r#"{{{command}:"role-added","account":"eve","detail":"{}"}}"#,
            Role::Root
        ),
    );
    one(
        "a role less",
        &mut || assert!(accounts.remove_role("eve", &role).unwrap()),
        &format!(r#"{{{command}:"role-removed","account":"eve","detail":"{role}"}}"#),
    );
    one(
        "a password",
        &mut || accounts.set_password("eve", "battery staple").unwrap(),
        &format!(r#"{{{command}:"password-set","account":"eve","sessions":1}}"#),
    );
    assert!(gate.session(&old).is_err());
    one(
        "a shut account",
        &mut || accounts.set_enabled("eve", false).unwrap(),
        &format!(r#"{{{command}:"account-disabled","account":"eve"}}"#),
    );
    one(
        "an opened account",
        &mut || accounts.set_enabled("eve", true).unwrap(),
        &format!(r#"{{{command}:"account-enabled","account":"eve"}}"#),
    );

    // No secret is told anywhere.
    let log = store.scan(Scan::prefix("audit/")).unwrap();
    for secret in [secret.reveal(), PASSWORD, "battery", old.reveal()] {
        let holds = |record: &Arc<Record>| find(&record.value, secret);
        assert!(!log.iter().any(holds), "{secret}");
    }
}

fn find(bytes: &Bytes, text: &str) -> bool {
    bytes
        .windows(text.len())
        .any(|window| window == text.as_bytes())
}

#[test]
fn the_log_is_for_those_who_may_see_everything() {
    let world = World::new();
    for (name, role, may) in [
        ("root", "ROLE_SITEBUILDER_EDITOR__ROOT", true),
        ("auditor", "ROLE_SITEBUILDER_EDITOR__READONLY", true),
        ("editor", "ROLE_SITEBUILDER_EDITOR__PUBLIC", false),
        ("user", "ROLE_SITEBUILDER_USER", false),
        ("group", "ROLE_SITEBUILDER_USER__acme", false),
    ] {
        let caller = world.user(name, &[role]);
        let read = world.gate.audit_page(&caller, &Filter::default(), None, 1);
        match read {
            Ok(page) => assert!(may && page.entries.len() == 1, "{name}"),
            Err(Error::Forbidden(_)) => assert!(!may, "{name}"),
            Err(other) => panic!("{name}: {other}"),
        }
    }
}

/// How many refusals of a kind are told of one account in a minute.
const OF_ACCOUNT_MINUTE_MAX: i64 = REFUSALS_AUDITED_MINUTE_MAX / 4;
/// How many accounts are told of so at once.
const ACCOUNTS_MAX: usize = 50;

/// Refusals in the log, after what waits is written.
fn refusals(projects: &Projects) -> Vec<String> {
    flushed(projects, "audit/");
    let log = projects.audit_after(None, None).unwrap().entries;
    let refused = |entry: &&Entry| entry.record.detail.is_some();
    log.iter().filter(refused).map(told).collect()
}

#[test]
fn refusals_are_told_in_the_background_so_many_a_minute_and_counted() {
    let world = World::new();
    let refusal = Refusal {
        token: Some((7, "abcdef".to_owned())),
        ..Refusal::of("eve", "expired token")
    };
    let note = |what| {
        let gate = &world.gate;
        gate.note_refusal(what, &refusal, address(), "GET /x");
    };
    let record = |action: &str, more: &str| {
        let detail = r#""detail":"expired token: GET /x""#;
        format!(
            r#"{{"by":"eve","from":"2001:db8::7","action":"{action}","token":[7,"abcdef"],{detail}{more}}}"#
        )
    };
    let most = usize::try_from(OF_ACCOUNT_MINUTE_MAX).unwrap();
    (0..most + 5).for_each(|_| note(Refused::Token));
    note(Refused::Right);
    let mut expected = vec![record("token-refused", ""); most];
    expected.push(record("forbidden", ""));
    let mut told = refusals(&world.projects);
    // Those of one bundle are in the order of their names.
    told.sort_by_key(|record| record.contains("forbidden"));
    assert_eq!(told, expected);

    world.clock.advance_s(12);
    note(Refused::Token);
    note(Refused::Token);
    assert_eq!(
        refusals(&world.projects)[most + 1..],
        [record("token-refused", r#","left_out":5"#)]
    );
}

#[test]
fn refusals_without_a_pause_are_told_so_many_a_day() {
    let world = World::new();
    let nobody = Refusal::new("unknown account");
    let note = |what| {
        let gate = &world.gate;
        gate.note_refusal(what, &nobody, address(), "POST /login");
    };
    let mut log = Vec::<Entry>::new();
    let mut told = || {
        flushed(&world.projects, "audit/");
        let place = log.last().map(|last| last.id);
        let chunk = world.projects.audit_after(place, None).unwrap();
        log.extend(chunk.entries);
        log.clone()
    };
    let mut noted = 0;
    let mut day = || {
        for _ in 0..24 * 60 {
            // More than a minute has room for.
            (0..=REFUSALS_AUDITED_MINUTE_MAX).for_each(|_| note(Refused::Login));
            noted += u64::try_from(REFUSALS_AUDITED_MINUTE_MAX).unwrap() + 1;
            world.clock.advance_s(60);
            told();
        }
        told().len()
    };
    let most = usize::try_from(REFUSALS_AUDITED_DAY_MAX).unwrap();
    // On the first day, also what there was room for at its beginning.
    let first = day();
    assert!((most..=2 * most).contains(&first), "{first}");
    let second = day() - first;
    assert!((most - 1..=most).contains(&second), "{second}");

    // Another kind has its own share, and the next of this one counts those that were not told.
    world.clock.advance_s(90);
    note(Refused::Token);
    note(Refused::Login);
    let log = told();
    let counted: u64 = log.iter().filter_map(|entry| entry.record.left_out).sum();
    assert_eq!(log.len() as u64 + counted, noted + 2);
}

/// Every entry, after what waits is written.
fn whole_log(projects: &Projects) -> Vec<Entry> {
    flushed(projects, "audit/");
    let (mut log, mut place) = (Vec::new(), None);
    loop {
        let chunk = projects.audit_after(place, None).unwrap();
        log.extend(chunk.entries);
        place = chunk.place;
        if chunk.is_last {
            return log;
        }
    }
}

/// Has a wrong password of this account noted, so many times.
fn guess(world: &World, name: &str, times: usize) {
    let refusal = Refusal::of(name, "wrong password");
    for _ in 0..times {
        let gate = &world.gate;
        gate.note_refusal(Refused::Login, &refusal, address(), "POST /user/login");
    }
}

/// How many entries are of refusals of this account.
fn told_of(log: &[Entry], name: &str) -> usize {
    log.iter().filter(|entry| entry.record.by == name).count()
}

#[test]
fn refusals_without_a_pause_of_ten_accounts_hide_none_of_another() {
    let world = World::new();
    let known: Vec<_> = (0..10).map(|number| format!("known-{number}")).collect();
    // Longer than there is room for in a day.
    for _ in 0..30 {
        world.clock.advance_s(60);
        for name in &known {
            guess(&world, name, 10);
        }
        flushed(&world.projects, "audit/");
    }
    guess(&world, "eve", 1);
    let log = whole_log(&world.projects);
    let of_account = usize::try_from(REFUSALS_AUDITED_DAY_MAX / 10).unwrap();
    for name in &known {
        let told = told_of(&log, name);
        assert!(
            (of_account..of_account + 5).contains(&told),
            "{name}: {told}"
        );
    }
    assert_eq!(log.last().unwrap().record.by, "eve");
    let counted: u64 = log.iter().filter_map(|entry| entry.record.left_out).sum();
    assert_eq!(log.len() as u64 + counted, 30 * 10 * 10 + 1);
}

#[test]
fn beyond_so_many_accounts_the_others_have_one_share_together_and_all_are_counted() {
    let world = World::new();
    for number in 0..200 {
        guess(&world, &format!("known-{number}"), 8);
    }
    let log = whole_log(&world.projects);
    let each = usize::try_from(OF_ACCOUNT_MINUTE_MAX).unwrap();
    let together = usize::try_from(REFUSALS_AUDITED_MINUTE_MAX).unwrap();
    assert_eq!(log.len(), ACCOUNTS_MAX * each + together);
    for (number, told) in [
        (0, each),
        (ACCOUNTS_MAX - 1, each),
        (ACCOUNTS_MAX, 8),
        (199, 0),
    ] {
        assert_eq!(told_of(&log, &format!("known-{number}")), told, "{number}");
    }

    // Shares that nobody took of for long are for others.
    world.clock.advance_s(24 * 3600);
    guess(&world, "eve", 8);
    guess(&world, "ann", 1);
    let log = whole_log(&world.projects);
    assert_eq!(
        (told_of(&log, "eve"), told_of(&log, "ann")),
        (each, 1),
        "{}",
        log.len()
    );
    let counted: u64 = log.iter().filter_map(|entry| entry.record.left_out).sum();
    assert_eq!(log.len() as u64 + counted, 200 * 8 + 8 + 1);
}

#[test]
fn a_refusal_that_finds_no_room_is_counted_and_fails_nobody() {
    let store = Arc::new(Watched::default());
    let world = World::over(store.clone(), ServerKey::generate());
    let nobody = Refusal::new("unknown account");
    let note = || {
        let long = "/".repeat(9999);
        world
            .gate
            .note_refusal(Refused::Login, &nobody, address(), long);
    };
    *store.full.lock().unwrap() = true;
    note();
    note();
    assert!(refusals(&world.projects).is_empty());
    *store.full.lock().unwrap() = false;
    note();
    flushed(&world.projects, "audit/");
    let log = world.projects.audit_after(None, None).unwrap().entries;
    let [entry] = &log[..] else {
        panic!("{log:?}");
    };
    assert_eq!(entry.record.action, Action::LoginRefused);
    assert_eq!(entry.record.by, "unknown account");
    assert_eq!(entry.record.left_out, Some(2));
    let detail = entry.record.detail.as_ref().unwrap();
    assert_eq!(detail.len(), AUDIT_DETAIL_BYTES_MAX);
}
