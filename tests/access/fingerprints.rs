//! The binding of a token to its first instance (specification sections 3 and 5.2).

use std::sync::{Arc, Barrier};

use crate::overtaken::pair;
use crate::{World, by_id, named};
use siteconf::access::{NewToken, TokenChange};
use siteconf::base::secret::{Secret, ServerKey};
use siteconf::store::record_cache::RecordCache;
use siteconf::store::sqlite::SqliteStore;

const MISMATCH: &str = "the token is not bound to this instance";

fn bound(name: &str) -> NewToken {
    NewToken {
        fingerprint_required: true,
        ..named(name, &["*"])
    }
}

impl World {
    /// What an instance is told that shows the token.
    pub(super) fn told_instance(&self, secret: &Secret, instance: Option<&[u8]>) -> String {
        match self.gate.token(secret, instance, None) {
            Ok(holder) => format!("bound: {}", holder.token().fingerprint_bound),
            Err(refused) => refused.to_string(),
        }
    }
}

#[test]
fn the_first_instance_is_the_only_one() {
    let world = World::new();
    let eve = world.user("eve", &[]);
    let (secret, _) = world.gate.create_token(&eve, bound("erp")).unwrap();
    let told = |instance: Option<&[u8]>| world.told_instance(&secret, instance);
    let longest = [b'x'; 255];
    for unfit in [
        None,
        Some(&b""[..]),
        Some(b" "),
        Some(b"erp 1"),
        Some(b"erp\t1"),
        Some("é".as_bytes()),
        Some(b"\x7f"),
        Some(&[b'x'; 256]),
    ] {
        assert_eq!(told(unfit), MISMATCH, "{unfit:?}");
    }
    assert_eq!(told(Some(&longest)), "bound: true");
    assert_eq!(told(Some(&longest)), "bound: true");
    for other in [None, Some(&longest[1..]), Some(b"erp-2"), Some(b"")] {
        assert_eq!(told(other), MISMATCH, "{other:?}");
    }
}

#[test]
fn a_token_without_the_flag_takes_any_instance_and_binds_none() {
    let world = World::new();
    let eve = world.user("eve", &[]);
    let (secret, _) = world.make_token(&eve, &["*"]).unwrap();
    for instance in [None, Some(&b"erp-1"[..]), Some(b"erp-2"), Some(b"\xff")] {
        assert_eq!(world.told_instance(&secret, instance), "bound: false");
    }
}

#[test]
fn a_reset_and_the_flag_turned_off_forget_the_instance() {
    let world = World::new();
    let eve = world.user("eve", &[]);
    let (secret, made) = world.gate.create_token(&eve, bound("erp")).unwrap();
    let told = |instance: &[u8]| world.told_instance(&secret, Some(instance));
    let change = |change: TokenChange| {
        let view = world.gate.change_token(&eve, &made.id, &change).unwrap();
        (view.fingerprint_required, view.fingerprint_bound)
    };
    let required = |required| TokenChange {
        fingerprint_required: Some(required),
        ..TokenChange::default()
    };
    let reset = TokenChange {
        reset_fingerprint: true,
        ..TokenChange::default()
    };

    assert_eq!(told(b"erp-1"), "bound: true");
    assert_eq!(change(required(true)), (true, true));
    assert_eq!(told(b"erp-2"), MISMATCH);
    assert_eq!(change(reset), (true, false));
    assert_eq!(told(b"erp-2"), "bound: true");
    assert_eq!(told(b"erp-1"), MISMATCH);

    assert_eq!(change(required(false)), (false, false));
    assert_eq!(told(b"erp-1"), "bound: false");
    assert_eq!(change(required(true)), (true, false));
    assert_eq!(told(b"erp-1"), "bound: true");
    assert_eq!(told(b"erp-2"), MISMATCH);
}

#[test]
fn unknown_expired_and_disabled_come_before_the_fingerprint() {
    let world = World::new();
    let eve = world.user("eve", &[]);
    let (secret, _) = world.gate.create_token(&eve, bound("erp")).unwrap();
    assert_eq!(world.told_instance(&secret, None), MISMATCH);
    world.accounts.set_enabled("eve", false).unwrap();
    assert_eq!(
        world.told_instance(&secret, None),
        "no valid credential was shown"
    );
}

#[test]
fn a_token_whose_owner_is_disabled_while_it_is_bound_does_not_count() {
    let (world, store, other) = pair();
    let eve = world.user("eve", &[]);
    let (secret, _) = world.gate.create_token(&eve, bound("erp")).unwrap();
    store.next(move || other.accounts.set_enabled("eve", false).unwrap());
    assert_eq!(
        world.told_instance(&secret, Some(b"erp-1")),
        "no valid credential was shown"
    );
    world.accounts.set_enabled("eve", true).unwrap();
    let told = world.told_instance(&secret, Some(b"erp-2"));
    assert_eq!(told, "bound: true", "it was bound to none");
}

#[test]
fn a_token_whose_owner_loses_a_role_while_it_is_bound_opens_nothing_by_that() {
    let (world, store, other) = pair();
    let adam = world.user("adam", &[]);
    world.project(&adam, "acme.erp");
    let eve = world.user("eve", &["ROLE_SITEBUILDER_USER__acme"]);
    let new = NewToken {
        repos: vec!["acme.erp".to_owned()],
        ..bound("erp")
    };
    let (secret, _) = world.gate.create_token(&eve, new).unwrap();
    let role = "ROLE_SITEBUILDER_USER__acme".parse().unwrap();
    store.next(move || assert!(other.accounts.remove_role("eve", &role).unwrap()));
    let holder = world.gate.token(&secret, Some(b"erp-1"), None).unwrap();
    assert_eq!(
        world.told(&holder, &by_id("acme.erp")),
        "no right allows this"
    );
}

/// Lets 16 instances use a new token at once, and again one after the other.
fn race_for_the_binding(world: &World, rounds: u32) {
    let eve = world.user("eve", &[]);
    for round in 0..rounds {
        let (secret, _) = world.gate.create_token(&eve, bound("erp")).unwrap();
        let start = Barrier::new(16);
        let told: Vec<String> = std::thread::scope(|scope| {
            let uses: Vec<_> = (0..16)
                .map(|instance| {
                    let (world, secret, start) = (world, &secret, &start);
                    scope.spawn(move || {
                        let instance = format!("erp-{instance}");
                        start.wait();
                        world.told_instance(secret, Some(instance.as_bytes()))
                    })
                })
                .collect();
            uses.into_iter()
                .map(|thread| thread.join().unwrap())
                .collect()
        });
        let won: Vec<usize> = (0..16).filter(|i| told[*i] == "bound: true").collect();
        assert_eq!(won.len(), 1, "round {round}: {told:?}");
        for (instance, first) in told.iter().enumerate() {
            let again = format!("erp-{instance}");
            let again = world.told_instance(&secret, Some(again.as_bytes()));
            assert_eq!(again, *first, "round {round}");
        }
    }
}

#[test]
fn of_many_first_uses_at_once_exactly_one_wins() {
    race_for_the_binding(&World::new(), 20);
}

#[test]
fn of_many_first_uses_at_once_exactly_one_wins_on_the_disk_too() {
    let folder = tempfile::tempdir().unwrap();
    let store = RecordCache::new(SqliteStore::open_locked(folder.path()).unwrap());
    race_for_the_binding(&World::over(Arc::new(store), ServerKey::generate()), 5);
}

#[test]
fn two_tokens_of_one_instance_have_unlike_records() {
    let world = World::new();
    let eve = world.user("eve", &[]);
    for name in ["a", "b"] {
        let (secret, _) = world.gate.create_token(&eve, bound(name)).unwrap();
        assert_eq!(world.told_instance(&secret, Some(b"erp-1")), "bound: true");
    }
    let records = world
        .projects
        .store()
        .scan(siteconf::store::Scan::prefix("token/"));
    let kept: Vec<String> = records
        .unwrap()
        .iter()
        .map(|record| {
            let json: serde_json::Value = serde_json::from_slice(&record.value).unwrap();
            json["fingerprint"].as_str().unwrap().to_owned()
        })
        .collect();
    assert_eq!(kept.len(), 2);
    assert_ne!(kept[0], kept[1]);
}
