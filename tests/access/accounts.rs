//! The administration of accounts.

use crate::overtaken::{pair, root};
use crate::{PASSWORD, World, is_invalid, refusal};
use siteconf::access::{Accounts, Role, Tokens, Visit};
use siteconf::base::actor::Actor;
use siteconf::store::{Batch, Expect, Scan};

fn names(accounts: &Accounts) -> Vec<(u64, String)> {
    let all = accounts.list().unwrap();
    all.iter()
        .map(|account| (account.number(), account.name().to_owned()))
        .collect()
}

#[test]
fn accounts_are_made_once_and_listed_in_order() {
    let world = World::new();
    assert!(world.accounts.is_empty().unwrap());
    let roles = [Role::Root, Role::User, Role::Root];
    let admin = world.accounts.create("zoe", PASSWORD, &roles).unwrap();
    assert!(!world.accounts.is_empty().unwrap());
    assert_eq!(admin.roles(), [Role::Root, Role::User], "a role twice");
    assert!(admin.is_enabled());
    world.accounts.create("adam", PASSWORD, &[]).unwrap();

    let taken = world.accounts.create("zoe", PASSWORD, &[]);
    assert_eq!(refusal(taken), "the user name \"zoe\" is taken");
    assert_eq!(
        names(&world.accounts),
        [(1, "zoe".to_owned()), (2, "adam".to_owned())]
    );
    assert_eq!(
        refusal(world.accounts.by_name("eve")),
        "there is no user \"eve\""
    );
    for malformed in ["", "a b", "../a", "-a", "é", &"x".repeat(65)] {
        assert!(is_invalid(&world.accounts.create(malformed, PASSWORD, &[])));
    }
    assert!(is_invalid(&world.accounts.create("eve", "short", &[])));
    assert_eq!(world.accounts.list().unwrap().len(), 2);
}

#[test]
fn of_many_who_want_one_name_one_gets_it_and_no_number_is_given_twice() {
    let world = World::new();
    let made: usize = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..8)
            .map(|worker| {
                let accounts = world.accounts.clone();
                scope.spawn(move || {
                    let own = format!("worker{worker}");
                    accounts.create(&own, PASSWORD, &[]).unwrap();
                    usize::from(accounts.create("same", PASSWORD, &[]).is_ok())
                })
            })
            .collect();
        workers.into_iter().map(|w| w.join().unwrap()).sum()
    });
    assert_eq!(made, 1);
    let numbers: Vec<u64> = names(&world.accounts).iter().map(|(n, _)| *n).collect();
    assert_eq!(numbers, (1..=9).collect::<Vec<_>>());
}

#[test]
fn roles_come_and_go_one_by_one() {
    let world = World::new();
    world.accounts.create("eve", PASSWORD, &[]).unwrap();
    let roles = || world.accounts.by_name("eve").unwrap().roles().to_vec();
    for role in [Role::Auditor, Role::PublicEditor, Role::Auditor] {
        world.accounts.add_role("eve", &role).unwrap();
    }
    assert_eq!(roles(), [Role::Auditor, Role::PublicEditor]);
    world.accounts.remove_role("eve", &Role::Auditor).unwrap();
    // One that it does not have.
    world.accounts.remove_role("eve", &Role::Root).unwrap();
    assert_eq!(roles(), [Role::PublicEditor]);
    assert_eq!(
        refusal(world.accounts.add_role("adam", &Role::Root)),
        "there is no user \"adam\""
    );
}

#[test]
fn a_renamed_account_keeps_what_is_its_own() {
    let world = World::new();
    let (eve, _) = (world.user("eve", &[]), world.user("adam", &[]));
    world.project(&eve, "acme.erp");
    let (token, _) = world.make_token(&eve, &["acme.erp"]).unwrap();
    let (cookie, _) = world
        .gate
        .login("eve", PASSWORD, &Visit::default())
        .unwrap();
    for (name, new) in [("eve", "adam"), ("eve", "a b"), ("nobody", "x")] {
        assert!(world.accounts.rename(name, new).is_err(), "{name} {new}");
    }
    world.accounts.rename("eve", "eva").unwrap();
    assert_eq!(world.gate.session(&cookie).unwrap().account().name(), "eva");
    assert_eq!(
        world.gate.token(&token, None, None).unwrap().owner().name(),
        "eva"
    );
    assert!(
        world
            .gate
            .login("eve", PASSWORD, &Visit::default())
            .is_err()
    );
    assert!(world.gate.login("eva", PASSWORD, &Visit::default()).is_ok());
    // The name is free again.
    world.user("eve", &[]);
}

#[test]
fn a_removed_account_leaves_nothing_that_counts() {
    let world = World::new();
    let eve = world.user("eve", &[]);
    let (token, made) = world.make_token(&eve, &["*"]).unwrap();
    let tokens = Tokens::new(&world.projects);
    let rotated = tokens.rotate(eve.account(), &made.id, 3600, &Actor::service());
    let (other, _) = rotated.unwrap();
    let (cookie, _) = world
        .gate
        .login("eve", PASSWORD, &Visit::default())
        .unwrap();
    assert_eq!(world.accounts.remove("eve").unwrap(), 1);
    assert!(world.gate.session(&cookie).is_err());
    assert!(world.gate.token(&token, None, None).is_err());
    assert!(world.gate.token(&other, None, None).is_err());
    assert!(world.accounts.remove("eve").is_err());
    let kept = world.projects.store().scan(Scan::prefix("")).unwrap();
    let kept: Vec<_> = kept.iter().map(|record| record.key.as_str()).collect();
    for prefix in ["account", "session", "token"] {
        assert!(!kept.iter().any(|key| key.starts_with(prefix)), "{kept:?}");
    }
    let again = world.user("eve", &[]);
    assert_eq!(again.account().number(), 2, "a number is never given twice");
}

#[test]
fn a_role_that_changes_nothing_is_no_change() {
    let world = World::new();
    world.user("eve", &[]);
    let log = || {
        world
            .projects
            .audit_after(None, None)
            .unwrap()
            .entries
            .len()
    };
    let role = "ROLE_SITEBUILDER_USER__acme".parse().unwrap();
    assert!(world.accounts.add_role("eve", &role).unwrap());
    let before = log();
    assert!(!world.accounts.add_role("eve", &role).unwrap());
    assert_eq!(log(), before);
    assert!(world.accounts.remove_role("eve", &role).unwrap());
    assert!(!world.accounts.remove_role("eve", &role).unwrap());
    assert_eq!(log(), before + 1);
}

#[test]
fn a_token_that_is_made_while_its_account_is_removed_goes_with_it() {
    let (world, store, other) = pair();
    root(&world);
    let eve = world.user("eve", &[]);
    store.next(move || drop(other.make_token(&eve, &["*"]).unwrap()));
    assert_eq!(world.accounts.remove("eve").unwrap(), 1);
    for prefix in ["token/", "token-digest/"] {
        assert!(
            world.projects.store().is_empty_under(prefix).unwrap(),
            "{prefix}"
        );
    }
}

/// As one does for who has read it just before the account was renamed.
#[test]
fn a_name_that_leads_to_an_account_of_another_name_is_that_of_nobody() {
    let world = World::new();
    world.user("eve", &[]);
    let number = world.accounts.by_name("eve").unwrap().number();
    let mut batch = Batch::default();
    batch.write("account-name/adam".to_owned(), Expect::Absent, &number);
    world.projects.store().commit(batch).unwrap();
    let told = "there is no user \"adam\"";
    assert_eq!(refusal(world.accounts.remove("adam")), told);
    assert_eq!(refusal(world.accounts.rename("adam", "carl")), told);
    assert!(world.accounts.by_name("eve").is_ok());
}
