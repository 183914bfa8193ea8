//! Logins and sessions (contract section 7).

use crate::{PASSWORD, World, flushed, id, refusal};
use siteconf::access::{Role, Visit};
use siteconf::base::limits::SESSIONS_PER_ACCOUNT_MAX;
use siteconf::base::secret::Secret;
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
