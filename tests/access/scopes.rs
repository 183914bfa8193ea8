//! What a token opens, and what its holder is told (contract section 5, the order of checks).

use crate::{World, by_id, id, refusal, texts};
use siteconf::access::{ProjectSelector, Right, TokenChange, TokenHolder, Tokens};
use siteconf::base::actor::Actor;
use siteconf::base::limits::TOKEN_REPOS_MAX;
use siteconf::base::secret::Secret;
use siteconf::repo::ProjectWriter;

impl World {
    fn delete(&self, owner: &siteconf::access::Caller, repo_id: &str) {
        let writer = self.gate.open_to_change(owner, &id(repo_id), Right::Delete);
        writer.unwrap().delete_project().unwrap();
    }

    fn names_by(&self, holder: &TokenHolder) -> Vec<String> {
        let projects = self.gate.projects_by_token(holder, |_| true).unwrap();
        projects.iter().map(|p| p.repo_id().to_string()).collect()
    }
}

#[test]
fn an_allowlist_opens_what_it_names_and_refuses_all_else_alike() {
    let world = World::new();
    let (eve, adam) = (world.user("eve", &[]), world.user("adam", &[]));
    let named = world.project(&eve, "proj.erp").number();
    let own = world.project(&eve, "proj2.erp").number();
    let theirs = world.project(&adam, "theirs.erp").number();
    let holder = world.holder(&eve, &["proj.erp"]);
    for (selector, told) in [
        (by_id("proj.erp"), "proj.erp"),
        (ProjectSelector::Number(named), "proj.erp"),
        (by_id("proj2.erp"), "no right allows this"),
        (ProjectSelector::Number(own), "no right allows this"),
        (by_id("Proj.erp"), "no right allows this"),
        (by_id("theirs.erp"), "no right allows this"),
        (ProjectSelector::Number(theirs), "no right allows this"),
        (by_id("absent.erp"), "no right allows this"),
        (ProjectSelector::Number(0), "no right allows this"),
        (ProjectSelector::Number(u64::MAX), "no right allows this"),
        (ProjectSelector::Unknown, "no right allows this"),
    ] {
        assert_eq!(world.told(&holder, &selector), told, "{selector:?}");
    }
    assert_eq!(world.names_by(&holder), ["proj.erp"]);
}

#[test]
fn an_empty_allowlist_opens_nothing() {
    let world = World::new();
    let eve = world.user("eve", &[]);
    world.project(&eve, "acme.erp");
    let holder = world.holder(&eve, &[]);
    assert_eq!(
        world.told(&holder, &by_id("acme.erp")),
        "no right allows this"
    );
    assert_eq!(
        world.told(&holder, &by_id("absent.erp")),
        "no right allows this"
    );
    assert_eq!(world.names_by(&holder), [""; 0]);
}

#[test]
fn the_wildcard_opens_all_of_its_owner_and_nothing_of_others() {
    let world = World::new();
    // Even with a role that opens everything, a wildcard covers the owner's projects only.
    let eve = world.user("eve", &["ROLE_SITEBUILDER_EDITOR__ROOT"]);
    let adam = world.user("adam", &[]);
    let first = world.project(&eve, "first.erp").number();
    let theirs = world.project(&adam, "theirs.erp").number();
    let holder = world.holder(&eve, &["*"]);
    world.project(&eve, "later.erp");
    world.project(&eve, "public/later.erp");
    for (selector, told) in [
        (by_id("first.erp"), "first.erp"),
        (ProjectSelector::Number(first), "first.erp"),
        (by_id("later.erp"), "later.erp"),
        (by_id("public/later.erp"), "public/later.erp"),
        (by_id("theirs.erp"), "no right allows this"),
        (ProjectSelector::Number(theirs), "no right allows this"),
        (by_id("absent.erp"), "there is no such project"),
        (
            ProjectSelector::Number(u64::MAX),
            "there is no such project",
        ),
        (ProjectSelector::Unknown, "there is no such project"),
    ] {
        assert_eq!(world.told(&holder, &selector), told, "{selector:?}");
    }
    assert_eq!(
        world.names_by(&holder),
        ["first.erp", "later.erp", "public/later.erp"]
    );
}

#[test]
fn a_project_made_again_under_the_name_is_another() {
    let world = World::new();
    let eve = world.user("eve", &[]);
    let number = world.project(&eve, "acme.erp").number();
    let (listed, wildcard) = (
        world.holder(&eve, &["acme.erp"]),
        world.holder(&eve, &["*"]),
    );
    world.delete(&eve, "acme.erp");
    // What the token names, its holder may learn the end of.
    assert_eq!(
        world.told(&listed, &by_id("acme.erp")),
        "there is no such project"
    );
    assert_eq!(
        world.told(&listed, &ProjectSelector::Number(number)),
        "there is no such project"
    );
    let again = world.project(&eve, "acme.erp").number();
    assert_ne!(again, number);
    assert_eq!(
        world.told(&listed, &by_id("acme.erp")),
        "no right allows this"
    );
    assert_eq!(
        world.told(&listed, &ProjectSelector::Number(again)),
        "no right allows this"
    );
    assert_eq!(world.names_by(&listed), [""; 0]);
    assert_eq!(world.told(&wildcard, &by_id("acme.erp")), "acme.erp");
    assert_eq!(listed.token().repos, [""; 0]);
}

#[test]
fn the_name_that_a_project_had_is_refused_as_all_that_is_not_named() {
    let world = World::new();
    let (eve, adam) = (world.user("eve", &[]), world.user("adam", &[]));
    let number = world.project(&eve, "old.erp").number();
    let holder = world.holder(&eve, &["old.erp"]);
    let renamed = world
        .gate
        .rename_project(&eve, &id("old.erp"), &id("new.erp"));
    renamed.unwrap();
    assert_eq!(world.told(&holder, &by_id("new.erp")), "new.erp");
    assert_eq!(
        world.told(&holder, &by_id("old.erp")),
        "no right allows this"
    );
    world.project(&adam, "old.erp");
    assert_eq!(
        world.told(&holder, &by_id("old.erp")),
        "no right allows this"
    );
    // One that is gone is told by its number.
    world.delete(&eve, "new.erp");
    assert_eq!(
        world.told(&holder, &ProjectSelector::Number(number)),
        "there is no such project"
    );
}

#[test]
fn a_project_is_added_beside_those_that_a_token_covers() {
    let world = World::new();
    let (eve, adam) = (world.user("eve", &[]), world.user("adam", &[]));
    let gone = world.project(&eve, "gone.erp");
    world.project(&eve, "acme.erp");
    world.project(&adam, "theirs.erp");
    let (_, made) = world.make_token(&eve, &["gone.erp", "acme.erp"]).unwrap();
    let (tokens, actor) = (Tokens::new(&world.projects), Actor::from("eve"));
    let add = |repos: &[&str]| {
        let change = TokenChange {
            added_repos: texts(repos),
            ..TokenChange::default()
        };
        tokens.change(eve.account(), &made.id, &change, &actor)
    };
    // Another project of the name of one that was deleted is not what was allowed.
    ProjectWriter::new(gone, "eve").delete_project().unwrap();
    add(&["acme.erp"]).unwrap();
    let other = world.project(&eve, "gone.erp");
    let changed = add(&["acme.erp"]).unwrap();
    assert_eq!(changed.repos, texts(&["acme.erp"]));
    let holder = |secret: &Secret| world.gate.token(secret, None, None).unwrap();
    let (secret, _) = tokens.rotate(eve.account(), &made.id, 0, &actor).unwrap();
    let by_number = ProjectSelector::Number(other.number());
    assert_eq!(
        world.told(&holder(&secret), &by_number),
        "no right allows this"
    );
    let changed = add(&["gone.erp"]).unwrap();
    assert_eq!(changed.repos, texts(&["acme.erp", "gone.erp"]));
    assert_eq!(world.told(&holder(&secret), &by_number), "gone.erp");

    for (repos, refused) in [
        (
            &["absent.erp"][..],
            "malformed repos: there is no project \"absent.erp\"",
        ),
        (
            &["*"],
            "malformed repos: \"*\" covers all your projects and must stand alone",
        ),
        (&["theirs.erp"], "no right allows this"),
    ] {
        assert_eq!(refusal(add(repos)), refused);
    }
    let many: Vec<_> = (0..TOKEN_REPOS_MAX)
        .map(|number| format!("p{number}.erp"))
        .collect();
    for id in &many {
        world.project(&eve, id);
    }
    let many: Vec<_> = many.iter().map(String::as_str).collect();
    assert_eq!(
        refusal(add(&many)),
        "malformed repos: it must have at most 100 entries"
    );
    let (_, all) = world.make_token(&eve, &["*"]).unwrap();
    let change = TokenChange {
        added_repos: texts(&["acme.erp"]),
        ..TokenChange::default()
    };
    assert_eq!(
        refusal(tokens.change(eve.account(), &all.id, &change, &actor)),
        "malformed repos: \"*\" covers all your projects and must stand alone"
    );
}
