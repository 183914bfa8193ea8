//! Tokens: made, shown, changed, revoked, expired (contract section 6).

use crate::overtaken::pair;
use crate::{World, by_id, is_invalid, named, refusal, texts};
use siteconf::access::{
    Caller, Error, Expiry, NewToken, ProjectSelector, Result, Role, TokenChange, TokenState,
    TokenView, Tokens,
};
use siteconf::base::actor::Actor;
use siteconf::base::clock::Timestamp;
use siteconf::base::limits::{TOKEN_NAME_BYTES_MAX, TOKEN_REPOS_MAX, TOKENS_PER_ACCOUNT_MAX};
use siteconf::base::secret::Secret;
use siteconf::store::Scan;

fn at(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap()
}

fn until(text: &str) -> TokenChange {
    TokenChange {
        expires_at: Some(Expiry::At(at(text))),
        ..TokenChange::default()
    }
}

#[test]
fn a_token_is_shown_whole_but_for_its_secret() {
    let world = World::new();
    let eve = world.user("eve", &[]);
    world.project(&eve, "acme.erp");
    world.project(&eve, "acme/shop.erp");
    let new = NewToken {
        expires_at: Some(at("2027-01-31")),
        fingerprint_required: true,
        ..named("shop", &["acme/shop.erp", "acme.erp", "acme/shop.erp"])
    };
    let (secret, made) = world.gate.create_token(&eve, new).unwrap();
    let expected = TokenView {
        id: "1".to_owned(),
        name: "shop".to_owned(),
        owner: "eve".to_owned(),
        repos: texts(&["acme/shop.erp", "acme.erp"]),
        expires_at: Some(at("2027-01-31")),
        fingerprint_required: true,
        fingerprint_bound: false,
        suffix: secret.reveal()[58..].to_owned(),
        created_at: at("2026-11-01"),
        last_used_at: None,
        earlier_until: None,
        state: TokenState::Active,
    };
    assert_eq!(made, expected);
    assert_eq!(world.tokens(&eve), std::slice::from_ref(&expected));

    let holder = world.gate.token(&secret, Some(b"erp-1"), None).unwrap();
    let used = TokenView {
        fingerprint_bound: true,
        last_used_at: Some(at("2026-11-01")),
        ..expected
    };
    assert_eq!(holder.token(), used);
    assert_eq!(holder.owner().name(), "eve");
    assert_eq!(world.tokens(&eve), [used]);
    for record in world.projects.store().scan(Scan::prefix("")).unwrap() {
        let text = format!("{} {}", record.key, String::from_utf8_lossy(&record.value));
        assert!(!text.contains(secret.reveal()), "{text}");
        assert!(!text.contains("erp-1"), "{text}");
    }
}

#[test]
fn what_breaks_a_rule_is_refused_and_makes_nothing() {
    let world = World::new();
    let (eve, adam) = (world.user("eve", &[]), world.user("adam", &[]));
    world.project(&eve, "acme.erp");
    world.project(&adam, "theirs.erp");
    let long = "x".repeat(TOKEN_NAME_BYTES_MAX + 1);
    for name in ["", " ", "a\nb", "\u{1b}[2J", &long] {
        let made = world.gate.create_token(&eve, named(name, &["*"]));
        assert!(is_invalid(&made), "{name:?}: {made:?}");
    }
    let many = vec!["acme.erp"; usize::try_from(TOKEN_REPOS_MAX + 1).unwrap()];
    for repos in [
        &["*", "acme.erp"][..],
        &["acme.erp", "*"],
        &["*", "*"],
        &["absent.erp"],
        &["acme"],
        &["1"],
        &[""],
        &["acme.erp", "absent.erp"],
        &many,
    ] {
        let made = world.make_token(&eve, repos);
        assert!(is_invalid(&made), "{repos:?}: {made:?}");
    }
    let made = world.make_token(&eve, &["acme.erp", "theirs.erp"]);
    assert!(matches!(made, Err(Error::Forbidden(_))), "{made:?}");
    assert_eq!(world.tokens(&eve), []);
    assert_eq!(
        refusal(world.make_token(&eve, &["absent.erp"])),
        "malformed repos: there is no project \"absent.erp\""
    );
}

#[test]
fn a_token_that_is_unknown_revoked_or_disabled_does_not_count() {
    let world = World::new();
    let eve = world.user("eve", &[]);
    let (secret, made) = world.make_token(&eve, &["*"]).unwrap();
    let shown = |secret: &Secret| world.gate.token(secret, None, None).map(|_| ());
    shown(&secret).unwrap();
    assert_eq!(
        refusal(shown(&Secret::generate())),
        "no valid credential was shown"
    );

    world.accounts.set_enabled("eve", false).unwrap();
    assert_eq!(refusal(shown(&secret)), "no valid credential was shown");
    world.accounts.set_enabled("eve", true).unwrap();
    shown(&secret).unwrap();

    let eve = world.again("eve");
    world.gate.revoke_token(&eve, &made.id).unwrap();
    assert_eq!(refusal(shown(&secret)), "no valid credential was shown");
    assert_eq!(world.tokens(&eve), []);
    assert_eq!(
        refusal(world.gate.revoke_token(&eve, &made.id)),
        "the account has no such token"
    );
    let (_, next) = world.make_token(&eve, &["*"]).unwrap();
    assert_eq!(next.id, "2", "a number was given twice");
}

#[test]
fn an_expired_token_stays_listed_and_expired_until_its_owner_says_otherwise() {
    let world = World::new();
    let eve = world.user("eve", &[]);
    let (secret, made) = world.make_token(&eve, &["*"]).unwrap();
    let counts = || world.gate.token(&secret, None, None).is_ok();
    let state = || world.tokens(&eve)[0].state;

    let view = world
        .gate
        .change_token(&eve, &made.id, &until("2026-11-02"));
    assert_eq!(view.unwrap().expires_at, Some(at("2026-11-02")));
    world.clock.set(at("2026-11-01T23:59:59.999Z"));
    assert!(counts());
    assert_eq!(state(), TokenState::Active);
    world.clock.set(at("2026-11-02"));
    assert_eq!(state(), TokenState::Expired);
    assert_eq!(
        refusal(world.gate.token(&secret, None, None)),
        "no valid credential was shown"
    );

    world.clock.set(at("2026-11-01"));
    assert!(!counts(), "a clock set back revived it");
    assert_eq!(state(), TokenState::Expired);
    let renamed = TokenChange {
        name: Some("old".to_owned()),
        ..TokenChange::default()
    };
    world.gate.change_token(&eve, &made.id, &renamed).unwrap();
    assert!(!counts(), "a new name revived it");

    world
        .gate
        .change_token(&eve, &made.id, &until("2026-11-03"))
        .unwrap();
    assert!(counts());
    let never = TokenChange {
        expires_at: Some(Expiry::Never),
        ..TokenChange::default()
    };
    let view = world.gate.change_token(&eve, &made.id, &never).unwrap();
    assert_eq!(view.expires_at, None);
    world.clock.set(at("2999-01-01"));
    assert!(counts());

    let born_expired = NewToken {
        expires_at: Some(at("2000-01-01")),
        ..named("past", &["*"])
    };
    let (secret, made) = world.gate.create_token(&eve, born_expired).unwrap();
    assert_eq!(made.state, TokenState::Expired);
    assert_eq!(
        refusal(world.gate.token(&secret, None, None)),
        "no valid credential was shown"
    );
}

#[test]
fn a_change_touches_only_what_it_names() {
    let world = World::new();
    let (eve, adam) = (world.user("eve", &[]), world.user("adam", &[]));
    world.project(&eve, "acme.erp");
    world.project(&adam, "theirs.erp");
    let new = NewToken {
        expires_at: Some(at("2027-01-31")),
        ..named("shop", &["*"])
    };
    let (_, made) = world.gate.create_token(&eve, new).unwrap();
    let change = |change: TokenChange| world.gate.change_token(&eve, &made.id, &change);
    assert_eq!(change(TokenChange::default()).unwrap(), made);

    let repos = |repos: &[&str]| TokenChange {
        repos: Some(texts(repos)),
        ..TokenChange::default()
    };
    let narrowed = TokenView {
        repos: texts(&["acme.erp"]),
        ..made.clone()
    };
    assert_eq!(change(repos(&["acme.erp"])).unwrap(), narrowed);
    assert!(is_invalid(&change(repos(&["acme.erp", "*"]))));
    assert!(is_invalid(&change(repos(&["absent.erp"]))));
    assert!(matches!(
        change(repos(&["theirs.erp"])),
        Err(Error::Forbidden(_))
    ));
    let nameless = TokenChange {
        name: Some(String::new()),
        ..repos(&[])
    };
    assert!(is_invalid(&change(nameless)));
    assert_eq!(world.tokens(&eve), std::slice::from_ref(&narrowed));
    let emptied = TokenView {
        repos: Vec::new(),
        ..narrowed
    };
    assert_eq!(change(repos(&[])).unwrap(), emptied);
}

#[test]
fn of_projects_that_are_added_at_once_none_is_lost() {
    let world = World::new();
    let eve = world.user("eve", &[]);
    let (_, made) = world.make_token(&eve, &[]).unwrap();
    let ids: Vec<_> = (0..40).map(|number| format!("p{number}.erp")).collect();
    for id in &ids {
        world.project(&eve, id);
    }
    let (tokens, actor) = (Tokens::new(&world.projects), Actor::from("eve"));
    let (tokens, actor, made, eve) = (&tokens, &actor, &made, &eve);
    std::thread::scope(|scope| {
        for part in ids.chunks(10) {
            scope.spawn(move || {
                for id in part {
                    let change = TokenChange {
                        added_repos: vec![id.clone()],
                        ..TokenChange::default()
                    };
                    tokens
                        .change(eve.account(), &made.id, &change, actor)
                        .unwrap();
                }
            });
        }
    });
    let mut covered = tokens.by_id(eve.account(), &made.id).unwrap().repos;
    covered.sort();
    let mut expected = ids;
    expected.sort();
    assert_eq!(covered, expected);
}

#[test]
fn anothers_token_is_refused_and_an_id_of_none_is_unknown() {
    let world = World::new();
    let (eve, adam) = (world.user("eve", &[]), world.user("adam", &[]));
    let root = world.user("root", &["ROLE_SITEBUILDER_EDITOR__ROOT"]);
    let (secret, made) = world.make_token(&eve, &["*"]).unwrap();
    let id = made.id.as_str();
    assert_eq!(world.tokens(&root), []);
    let acts = |caller: &Caller, id: &str| {
        let changed = world.gate.change_token(caller, id, &TokenChange::default());
        let rotated = world.gate.rotate_token(caller, id, 0);
        [refusal(changed), refusal(rotated.map(|(_, token)| token))]
    };
    for caller in [&adam, &root] {
        assert_eq!(acts(caller, id), ["no right allows this"; 2]);
    }
    assert_eq!(
        refusal(world.gate.revoke_token(&adam, id)),
        "no right allows this"
    );
    for id in ["01", "+1", " 1", "", "x", "99", "18446744073709551616"] {
        for caller in [&adam, &root] {
            assert_eq!(
                acts(caller, id),
                ["the account has no such token"; 2],
                "{id}"
            );
            let revoked = world.gate.revoke_token(caller, id);
            assert_eq!(refusal(revoked), "the account has no such token", "{id}");
        }
    }
    for id in ["01", "+1"] {
        let revoked = world.gate.revoke_token(&eve, id);
        assert_eq!(refusal(revoked), "the account has no such token", "{id}");
    }
    world.gate.token(&secret, None, None).unwrap();
    // The role for everything revokes it, and does no more.
    world.gate.revoke_token(&root, id).unwrap();
    assert!(world.gate.token(&secret, None, None).is_err());
}

#[test]
fn last_uses_are_written_once_in_ten_minutes_and_not_all_at_once() {
    let world = World::new();
    let eve = world.user("eve", &[]);
    let tokens = [(); 2].map(|()| world.make_token(&eve, &["*"]).unwrap());
    let used = || {
        tokens.each_ref().map(|(secret, made)| {
            world.gate.token(secret, None, None).unwrap();
            let listed = world.tokens(&eve);
            let token = listed.iter().find(|token| token.id == made.id).unwrap();
            token.last_used_at.unwrap().to_string()
        })
    };
    let first = "2026-11-01T00:00:00.000Z".to_owned();
    assert_eq!(used(), [first.clone(), first.clone()]);
    world.clock.advance_s(597);
    assert_eq!(used(), [first.clone(), first.clone()]);
    world.clock.advance_s(1);
    let second = "2026-11-01T00:09:58.000Z".to_owned();
    assert_eq!(used(), [first, second.clone()]);
    world.clock.advance_s(1);
    assert_eq!(used(), ["2026-11-01T00:09:59.000Z".to_owned(), second]);
}

#[test]
fn an_owner_who_may_read_no_longer_takes_the_right_from_the_token() {
    let world = World::new();
    let adam = world.user("adam", &[]);
    let project = world.project(&adam, "acme.erp");
    let eve = world.user("eve", &["ROLE_SITEBUILDER_USER__acme"]);
    let (secret, _) = world.make_token(&eve, &["acme.erp"]).unwrap();
    let told = |selector: &ProjectSelector| {
        let holder = world.gate.token(&secret, None, None).unwrap();
        world.told(&holder, selector)
    };
    assert_eq!(told(&by_id("acme.erp")), "acme.erp");
    let role: Role = "ROLE_SITEBUILDER_USER__acme".parse().unwrap();
    world.accounts.remove_role("eve", &role).unwrap();
    assert_eq!(told(&by_id("acme.erp")), "no right allows this");
    assert_eq!(
        told(&ProjectSelector::Number(project.number())),
        "no right allows this"
    );
    world.accounts.add_role("eve", &Role::Auditor).unwrap();
    assert_eq!(told(&by_id("acme.erp")), "acme.erp");
}

#[test]
fn an_account_has_no_more_tokens_than_allowed() {
    let world = World::new();
    let eve = world.user("eve", &[]);
    let (tokens, actor) = (Tokens::new(&world.projects), Actor::from("eve"));
    for _ in 0..TOKENS_PER_ACCOUNT_MAX {
        tokens
            .create(eve.account(), named("n", &[]), &actor)
            .unwrap();
    }
    let one_more = tokens.create(eve.account(), named("n", &[]), &actor);
    assert_eq!(
        refusal(one_more),
        "you have 1000 tokens, the most allowed: revoke one first"
    );
    tokens.revoke(eve.account(), "500", &actor).unwrap();
    let (_, made) = tokens
        .create(eve.account(), named("n", &[]), &actor)
        .unwrap();
    assert_eq!(made.id, "1001");
}

#[test]
fn a_rotated_token_has_another_value_and_the_old_one_its_grace() {
    let world = World::new();
    let eve = world.user("eve", &[]);
    world.project(&eve, "acme.erp");
    let tokens = Tokens::new(&world.projects);
    let new = NewToken {
        fingerprint_required: true,
        ..named("erp", &["acme.erp"])
    };
    let (first, made) = world.gate.create_token(&eve, new).unwrap();
    let holder = |secret: &Secret| world.gate.token(secret, Some(b"erp-1"), None);
    holder(&first).unwrap();
    let rotate = |grace_s| {
        let rotated = tokens.rotate(eve.account(), &made.id, grace_s, &Actor::service());
        rotated.unwrap()
    };
    let (second, view) = rotate(3600);
    assert_eq!(
        view,
        TokenView {
            suffix: second.suffix().to_owned(),
            fingerprint_bound: true,
            last_used_at: Some(at("2026-11-01")),
            earlier_until: Some(at("2026-11-01T01:00:00Z")),
            ..made.clone()
        }
    );
    assert!(holder(&first).is_ok() && holder(&second).is_ok());
    // The instance stays, too.
    let other = world.gate.token(&second, Some(b"erp-2"), None);
    assert!(
        matches!(other, Err(Error::FingerprintMismatch(_))),
        "{other:?}"
    );
    world.clock.advance_s(3600);
    assert_eq!(refusal(holder(&first)), "no valid credential was shown");
    assert!(holder(&second).is_ok());

    // Of three values only the last two are ever known, and none after a revocation.
    let (third, _) = rotate(3600);
    let (fourth, _) = rotate(3600);
    assert!(holder(&second).is_err());
    assert!(holder(&third).is_ok() && holder(&fourth).is_ok());
    let (fifth, view) = rotate(0);
    assert_eq!(view.earlier_until, None);
    assert!(holder(&fourth).is_err() && holder(&fifth).is_ok());
    let (sixth, _) = rotate(3600);
    tokens
        .revoke(eve.account(), &made.id, &Actor::service())
        .unwrap();
    assert!(holder(&fifth).is_err() && holder(&sixth).is_err());
    let leads = world.projects.store().scan(Scan::prefix("token-digest/"));
    assert_eq!(leads.unwrap().len(), 0);
    let gone = tokens.rotate(eve.account(), &made.id, 0, &Actor::service());
    assert!(matches!(gone, Err(Error::NoSuchToken)), "{gone:?}");
}

/// Makes a token with a value that its owner has already.
fn bring(world: &World, owner: &Caller, value: &Secret) -> Result<TokenView> {
    let (tokens, new) = (Tokens::new(&world.projects), named("old", &["*"]));
    tokens.create_with(owner.account(), new, value, &Actor::service())
}

#[test]
fn a_value_that_is_brought_along_counts_once() {
    let world = World::new();
    let eve = world.user("eve", &[]);
    let secret = Secret::parse("0f".repeat(32).as_bytes()).unwrap();
    let made = bring(&world, &eve, &secret).unwrap();
    assert_eq!(made.suffix, "0f0f0f");
    assert!(world.gate.token(&secret, None, None).is_ok());
    let again = bring(&world, &eve, &secret);
    assert_eq!(refusal(again), "there is a token with this value already");
}

#[test]
fn of_two_who_bring_one_value_at_once_one_is_told_that_it_is_there() {
    let (world, store, other) = pair();
    let (eve, secret) = (world.user("eve", &[]), Secret::generate());
    let (owner, value) = (eve.clone(), secret.clone());
    store.next(move || drop(bring(&other, &owner, &value).unwrap()));
    let second = bring(&world, &eve, &secret);
    assert_eq!(refusal(second), "there is a token with this value already");
    assert_eq!(world.tokens(&eve).len(), 1);
    assert!(world.gate.token(&secret, None, None).is_ok());
}
