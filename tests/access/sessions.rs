//! Logins and sessions (contract section 7).

use bytes::Bytes;

use crate::overtaken::{NEW_PASSWORD, branch, disable_and_enable, new_password, pair};
use crate::{PASSWORD, World, flushed, id, refusal, texts};
use siteconf::access::{Caller, Result, Right, Role, Visit};
use siteconf::base::file_path::FilePath;
use siteconf::base::limits::SESSIONS_PER_ACCOUNT_MAX;
use siteconf::base::secret::Secret;
use siteconf::repo::{Check, Condition, Rule};
use siteconf::store::Scan;

impl World {
    fn login(&self, name: &str) -> Secret {
        self.gate
            .login(name, PASSWORD, &Visit::default())
            .unwrap()
            .0
    }

    fn is_in(&self, cookie: &Secret) -> bool {
        let found = self.gate.session(cookie);
        // Its last use, or its end, is written soon.
        flushed(&self.projects, "session/");
        match found {
            Ok(_) => true,
            Err(refused) => {
                assert_eq!(refused.to_string(), "no valid credential was shown");
                false
            }
        }
    }

    fn session_records(&self) -> usize {
        let scan = |prefix| self.projects.store().scan(Scan::prefix(prefix));
        let (sessions, index) = (scan("session/").unwrap(), scan("account-session/").unwrap());
        assert_eq!(sessions.len(), index.len());
        sessions.len()
    }
}

#[test]
fn a_login_says_the_same_for_unknown_wrong_and_disabled() {
    let world = World::new();
    world.user("eve", &[]);
    world.user("off", &[]);
    world.accounts.set_enabled("off", false).unwrap();
    for (name, password) in [
        ("eve", "wrong horse"),
        ("eve", "correct horse "),
        ("eve", ""),
        ("Eve", PASSWORD),
        ("nobody", PASSWORD),
        ("", PASSWORD),
        ("../eve", PASSWORD),
        ("off", PASSWORD),
        ("off", "wrong horse"),
    ] {
        let refused = refusal(world.gate.login(name, password, &Visit::default()));
        assert_eq!(refused, "Invalid username or password", "{name}");
    }
    let (cookie, logged_in) = world
        .gate
        .login("eve", PASSWORD, &Visit::default())
        .unwrap();
    assert_eq!(logged_in.account().name(), "eve");
    let caller = world.gate.session(&cookie).unwrap();
    assert_eq!(caller.account().number(), logged_in.account().number());
    assert_eq!(caller.session_ends_at(), logged_in.session_ends_at());
}

#[test]
fn every_login_has_its_own_secret_which_no_record_holds() {
    let world = World::new();
    world.user("eve", &[]);
    let (first, second) = (world.login("eve"), world.login("eve"));
    assert_ne!(first.reveal(), second.reveal());
    assert!(!world.is_in(&Secret::generate()));

    world.gate.logout(&first, None).unwrap();
    assert!(!world.is_in(&first));
    assert!(world.is_in(&second));
    world.gate.logout(&first, None).unwrap();
    world.gate.logout(&Secret::generate(), None).unwrap();

    for record in world.projects.store().scan(Scan::prefix("")).unwrap() {
        let text = format!("{} {}", record.key, String::from_utf8_lossy(&record.value));
        assert!(!text.contains(second.reveal()), "{text}");
        assert!(!text.contains(PASSWORD), "{text}");
    }
}

#[test]
fn an_idle_session_ends_after_an_hour_and_a_busy_one_after_twelve() {
    let world = World::new();
    world.user("eve", &[]);
    let (idle, busy) = (world.login("eve"), world.login("eve"));
    for _ in 0..3 {
        world.clock.advance_s(20 * 60 - 1);
        assert!(world.is_in(&busy));
    }
    world.clock.advance_s(2);
    assert!(world.is_in(&idle), "one second before the hour has passed");
    assert!(world.is_in(&busy));
    world.clock.advance_s(3600);
    assert!(!world.is_in(&idle));
    assert!(!world.is_in(&busy));

    let busy = world.login("eve");
    for minute in 0..12 * 60 {
        assert!(world.is_in(&busy), "after {minute} minutes");
        world.clock.advance_s(60);
    }
    assert!(!world.is_in(&busy));
}

#[test]
fn a_use_that_is_still_to_be_noted_keeps_a_session() {
    let world = World::new();
    world.user("eve", &[]);
    let cookie = world.login("eve");
    for _ in 0..3 {
        // The second use is read before the first one is written, which takes a fifth of a second.
        world.clock.advance_s(3600 - 60);
        assert!(world.is_in(&cookie));
        world.clock.advance_s(60);
        assert!(world.is_in(&cookie));
    }
}

#[test]
fn a_session_that_was_found_expired_stays_so_when_the_clock_is_set_back() {
    let world = World::new();
    world.user("eve", &[]);
    let cookie = world.login("eve");
    world.clock.advance_s(3600);
    assert!(!world.is_in(&cookie));
    world
        .clock
        .set(siteconf::base::clock::Timestamp::parse("2026-11-01").unwrap());
    assert!(!world.is_in(&cookie));
}

#[test]
fn the_last_use_is_written_once_a_minute() {
    let world = World::new();
    world.user("eve", &[]);
    let cookie = world.login("eve");
    let version = || world.projects.store().last_version().unwrap();
    let before = version();
    world.clock.advance_s(59);
    assert!(world.is_in(&cookie));
    assert_eq!(version(), before);
    world.clock.advance_s(1);
    assert!(world.is_in(&cookie));
    assert!(world.is_in(&cookie));
    assert_eq!(version(), before + 1);
}

#[test]
fn a_new_password_and_a_disabled_account_end_all_sessions_for_good() {
    let world = World::new();
    world.user("eve", &[]);
    world.user("adam", &[]);
    let (eve, adam) = (world.login("eve"), world.login("adam"));
    let others = 2;

    world
        .accounts
        .set_password("eve", "battery staple")
        .unwrap();
    assert!(!world.is_in(&eve));
    assert!(world.is_in(&adam));
    assert_eq!(world.session_records(), others);
    assert_eq!(
        refusal(world.gate.login("eve", PASSWORD, &Visit::default())),
        "Invalid username or password"
    );
    let (eve, _) = world
        .gate
        .login("eve", "battery staple", &Visit::default())
        .unwrap();

    world.accounts.set_enabled("eve", false).unwrap();
    assert!(!world.is_in(&eve));
    world.accounts.set_enabled("eve", true).unwrap();
    assert!(!world.is_in(&eve), "enabling revived a session");
    assert_eq!(world.session_records(), others);
}

#[test]
fn a_role_counts_from_the_next_request_on() {
    let world = World::new();
    let adam = world.user("adam", &[]);
    world.project(&adam, "acme.erp");
    world.user("eve", &[]);
    let cookie = world.login("eve");
    let opens = || {
        let caller = world.gate.session(&cookie).unwrap();
        world.gate.open(&caller, &id("acme.erp")).is_ok()
    };
    assert!(!opens());
    world.accounts.add_role("eve", &Role::Auditor).unwrap();
    assert!(opens());
    world.accounts.remove_role("eve", &Role::Auditor).unwrap();
    assert!(!opens());
}

#[test]
fn the_oldest_session_gives_way() {
    let world = World::new();
    world.accounts.create("eve", PASSWORD, &[]).unwrap();
    let cookies: Vec<Secret> = (0..=SESSIONS_PER_ACCOUNT_MAX)
        .map(|_| {
            world.clock.advance_s(1);
            world.login("eve")
        })
        .collect();
    let alive: Vec<bool> = cookies.iter().map(|cookie| world.is_in(cookie)).collect();
    assert!(!alive[0]);
    assert!(alive[1..].iter().all(|alive| *alive), "{alive:?}");
    assert_eq!(world.session_records() as u64, SESSIONS_PER_ACCOUNT_MAX);
}

#[test]
fn a_login_just_before_the_end_of_all_sessions_leaves_no_record() {
    type End = (&'static str, fn(&World, &Caller), usize);
    let ends: [End; 4] = [
        ("a new password", |world, _| new_password(world), 0),
        (
            "disabled",
            |world, _| world.accounts.set_enabled("eve", false).unwrap(),
            0,
        ),
        (
            "removed",
            |world, _| assert_eq!(world.accounts.remove("eve").unwrap(), 0),
            0,
        ),
        // It opens a session in place of all others.
        (
            "an own new password",
            |world, eve| {
                let changed = world.gate.change_own_password(eve, PASSWORD, NEW_PASSWORD);
                changed.unwrap();
            },
            1,
        ),
    ];
    for (what, end, left) in ends {
        let (world, store, other) = pair();
        let eve = world.user("eve", &[]);
        store.next(move || drop(other.login("eve")));
        end(&world, &eve);
        flushed(&world.projects, "session/");
        assert_eq!(world.session_records(), left, "{what}");
    }
}

/// What a session may have under way.
const CHANGES: [fn(&World, &Caller) -> Result<()>; 3] = [
    |world, eve| {
        let writer = world
            .gate
            .open_to_change(eve, &id("shop.erp"), Right::Write)?;
        let (main, path) = (branch("main"), FilePath::parse("a.txt").unwrap());
        let file = world.projects.new_file(Bytes::from_static(b"new"))?;
        Ok(writer.save(&main, &path, file, Condition::None).map(drop)?)
    },
    |world, eve| {
        let accounts = world.gate.accounts(eve)?;
        accounts.create("adam", PASSWORD, &[]).map(drop)
    },
    |world, eve| {
        let rule = Rule {
            patterns: texts(&["*.json"]),
            check: Check::Json,
            schema: None,
        };
        let any = Condition::None;
        world.gate.set_rules(eve, &id("shop.erp"), &[rule], &any)
    },
];

/// Makes a change while this happens to its session, before it or in its commit: what came of it, and how many of the
/// changes are made then.
fn changed_while(
    change: fn(&World, &Caller) -> Result<()>,
    happen: fn(&World, &Secret),
    in_commit: bool,
) -> (Result<()>, usize) {
    let (world, store, other) = pair();
    let roles = [Role::Root];
    let migrated = world.accounts.create_migrated("root", "root", None, &roles);
    migrated.unwrap();
    world.accounts.create("eve", PASSWORD, &roles).unwrap();
    let cookie = world.login("eve");
    let eve = world.gate.session(&cookie).unwrap();
    let project = world.project(&eve, "shop.erp");
    let writer = world
        .gate
        .open_to_change(&eve, project.repo_id(), Right::Write);
    writer
        .unwrap()
        .create_branch(&branch("main"), None)
        .unwrap();
    if in_commit {
        store.next(move || happen(&other, &cookie));
    } else {
        happen(&other, &cookie);
    }
    let outcome = change(&world, &eve);
    let project = world.projects.project(&id("shop.erp")).unwrap();
    let is_saved = project.branch(&branch("main")).unwrap().snapshot_count() > 0;
    let is_made = world.accounts.by_name("adam").is_ok();
    let made = [is_saved, is_made, project.has_rules()];
    (outcome, made.into_iter().filter(|is_made| *is_made).count())
}

#[test]
fn what_a_session_has_under_way_ends_with_it() {
    type End = (&'static str, fn(&World, &Secret));
    let ends: [End; 4] = [
        ("a new password", |world, _| new_password(world)),
        ("disabled and enabled", |world, _| disable_and_enable(world)),
        ("a logout", |world, cookie| {
            world.gate.logout(cookie, None).unwrap();
        }),
        ("another login in this browser", |world, cookie| {
            let visit = Visit {
                old_session: Some(cookie),
                ..Visit::default()
            };
            world.gate.login("eve", PASSWORD, &visit).unwrap();
        }),
    ];
    for (what, end) in ends {
        for (at, change) in CHANGES.into_iter().enumerate() {
            for in_commit in [false, true] {
                let (outcome, made) = changed_while(change, end, in_commit);
                let case = format!("{what}, {at}, in the commit: {in_commit}");
                assert_eq!(refusal(outcome), "no valid credential was shown", "{case}");
                assert_eq!(made, 0, "{case}");
            }
        }
    }
}

#[test]
fn what_a_session_has_under_way_is_made_whatever_becomes_of_others_and_however_it_is_used() {
    let others: [fn(&World, &Secret); 2] = [
        |world, _| {
            let other = world.login("eve");
            world.gate.logout(&other, None).unwrap();
        },
        |world, cookie| {
            world.clock.advance_s(120);
            assert!(world.is_in(cookie));
        },
    ];
    for happen in others {
        for change in CHANGES {
            for in_commit in [false, true] {
                let (outcome, made) = changed_while(change, happen, in_commit);
                outcome.unwrap();
                assert_eq!(made, 1);
            }
        }
    }
}
