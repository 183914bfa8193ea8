//! What was deleted: who sees it and restores it, cell by cell, and what tokens open meanwhile.

use siteconf::access::{Caller, NewToken, Restored, Right};
use siteconf::base::branch_name::BranchName;
use siteconf::repo::{self, Condition, ProjectWriter};

use crate::{World, by_id, id, named, refusal, texts};

const ABSENT: &str = "Deleted project or branch not found";
const NO_ROLE: &str = "no right allows this";

/// Deletes a project, past the gate.
fn delete(world: &World, repo_id: &str) {
    let project = world.projects.project(&id(repo_id)).unwrap();
    ProjectWriter::new(project, "somebody")
        .delete_project()
        .unwrap();
}

/// What a caller is told of a restore: the name, or the refusal.
fn restored(world: &World, caller: &Caller, what: &str, name: Option<&str>) -> String {
    match world.gate.restore(caller, what, name) {
        Ok(Restored::Project(project)) => project.repo_id().to_string(),
        Ok(Restored::Branch(branch)) => branch.name().to_string(),
        Err(refused) => refused.to_string(),
    }
}

/// The ids that a caller is shown.
fn shown(world: &World, caller: &Caller, accessible: bool) -> Vec<String> {
    let all = |_| Ok::<_, repo::Error>(());
    let listed = world.gate.deleted(caller, accessible, all).unwrap();
    listed
        .iter()
        .map(|deleted| deleted.id().to_string())
        .collect()
}

#[test]
fn the_owner_and_root_see_what_is_deleted_and_restore_it_and_nobody_else_does() {
    let world = World::new();
    let ann = world.user("ann", &[]);
    let paul = world.user("paul", &["ROLE_SITEBUILDER_EDITOR__PUBLIC"]);
    let peter = world.user("peter", &["ROLE_SITEBUILDER_EDITOR__PUBLIC"]);
    let others = [
        world.user("bob", &[]),
        world.user("carl", &["ROLE_SITEBUILDER_USER__acme"]),
        world.user("audit", &["ROLE_SITEBUILDER_EDITOR__READONLY"]),
        peter,
    ];
    let root = world.user("root", &["ROLE_SITEBUILDER_EDITOR__ROOT"]);
    for (owner, repo_id) in [
        (&ann, "acme/shop.erp"),
        (&ann, "mine.erp"),
        (&paul, "public/a.erp"),
    ] {
        let project = world.project(owner, repo_id);
        let writer = ProjectWriter::new(project, "somebody");
        let main = BranchName::parse("main").unwrap();
        writer.create_branch(&main, None).unwrap();
        writer.delete_branch(&main, &Condition::None).unwrap();
    }
    delete(&world, "acme/shop.erp");
    delete(&world, "public/a.erp");
    let all = ["branch-2-2", "project-1", "project-3"];
    for (caller, own, accessible) in [
        (
            &ann,
            &["branch-2-2", "project-1"][..],
            &["branch-2-2", "project-1"][..],
        ),
        (&paul, &["project-3"], &["project-3"]),
        (&root, &[], &all),
    ] {
        let sorted = |accessible| {
            let mut ids = shown(&world, caller, accessible);
            ids.sort();
            ids
        };
        assert_eq!(
            (sorted(false), sorted(true)),
            (texts(own), texts(accessible))
        );
    }
    for caller in &others {
        assert_eq!(shown(&world, caller, true), [""; 0]);
        for what in all {
            let told = restored(&world, caller, what, None);
            assert_eq!(told, ABSENT, "{} {what}", caller.account().name());
        }
    }
    assert_eq!(restored(&world, &ann, "project-3", None), ABSENT);
    assert_eq!(restored(&world, &ann, "project-1", None), "acme/shop.erp");
    assert_eq!(restored(&world, &root, "branch-2-2", None), "main");
    assert_eq!(restored(&world, &root, "project-3", None), "public/a.erp");
    // What is there again is its owner's, and nothing is to be restored.
    let project = world.projects.project(&id("public/a.erp")).unwrap();
    assert_eq!(world.gate.owner_name(&project).unwrap(), "paul");
    // Their branches are there to be restored now, and paul's role is not for ever.
    assert_eq!(shown(&world, &paul, false), ["branch-3-3"]);
    let role = "ROLE_SITEBUILDER_EDITOR__PUBLIC".parse().unwrap();
    world.accounts.remove_role("paul", &role).unwrap();
    let paul = world.again("paul");
    assert_eq!(shown(&world, &paul, true), [""; 0]);
    assert_eq!(restored(&world, &paul, "branch-3-3", None), ABSENT);
}

#[test]
fn what_is_deleted_is_gathered_only_as_far_as_is_allowed() {
    let world = World::new();
    let ann = world.user("ann", &[]);
    for repo_id in ["a.erp", "b.erp", "c.erp"] {
        world.project(&ann, repo_id);
        delete(&world, repo_id);
    }
    let mut asked = Vec::new();
    let listed = world.gate.deleted(&ann, false, |count| {
        asked.push(count);
        if count > 2 {
            return Err(repo::Error::invalid("no room"));
        }
        Ok(())
    });
    assert_eq!(listed.unwrap_err().to_string(), "no room");
    assert_eq!(asked, [1, 2, 3]);
}

#[test]
fn another_name_must_be_one_that_the_caller_could_make_a_project_under() {
    let world = World::new();
    let ann = world.user("ann", &[]);
    let root = world.user("root", &["ROLE_SITEBUILDER_EDITOR__ROOT"]);
    world.project(&ann, "mine.erp");
    delete(&world, "mine.erp");
    for (name, told) in [
        ("public/mine.erp", NO_ROLE),
        (
            "mine",
            "it must be a name, a dot and a type, as in acme/shop.erp",
        ),
    ] {
        assert!(
            restored(&world, &ann, "project-1", Some(name)).contains(told),
            "{name}"
        );
    }
    for unknown in ["", "project-2", "project-01", "branch-1-1", "1"] {
        assert_eq!(restored(&world, &ann, unknown, None), ABSENT, "{unknown}");
    }
    let there = restored(&world, &root, "project-1", Some("public/mine.erp"));
    assert_eq!(there, "public/mine.erp");
    assert!(
        world
            .gate
            .open_to_change(&ann, &id("public/mine.erp"), Right::Write)
            .is_err()
    );
}

#[test]
fn a_token_follows_its_project_and_not_the_name() {
    let world = World::new();
    let ann = world.user("ann", &[]);
    world.project(&ann, "shop.erp");
    let new = NewToken {
        fingerprint_required: true,
        ..named("erp", &["shop.erp"])
    };
    let (secret, _) = world.gate.create_token(&ann, new).unwrap();
    let opens = |instance: &[u8], selector: &str| {
        let holder = world.gate.token(&secret, Some(instance), None);
        match holder.and_then(|holder| world.gate.open_by_token(&holder, &by_id(selector))) {
            Ok(project) => project.number().to_string(),
            Err(refused) => refused.to_string(),
        }
    };
    assert_eq!(opens(b"first", "shop.erp"), "1");
    delete(&world, "shop.erp");
    assert_eq!(opens(b"first", "shop.erp"), "there is no such project");
    world.project(&ann, "shop.erp");
    assert_eq!(opens(b"first", "shop.erp"), "no right allows this");
    let listed = || world.tokens(&ann).remove(0).repos;
    assert!(listed().is_empty(), "the other project is not covered");
    let taken = world.gate.restore(&ann, "project-1", None);
    assert_eq!(refusal(taken), "a project of this name exists already");
    assert_eq!(
        restored(&world, &ann, "project-1", Some("old.erp")),
        "old.erp"
    );
    assert_eq!(opens(b"first", "old.erp"), "1");
    assert_eq!(opens(b"first", "shop.erp"), "no right allows this");
    assert_eq!(
        opens(b"second", "old.erp"),
        "the token is not bound to this instance"
    );
    assert_eq!(listed(), ["old.erp"]);
}

#[test]
fn a_wildcard_covers_what_came_back() {
    let world = World::new();
    let ann = world.user("ann", &[]);
    world.project(&ann, "shop.erp");
    let holder = world.holder(&ann, &["*"]);
    delete(&world, "shop.erp");
    assert_eq!(
        world.told(&holder, &by_id("shop.erp")),
        "there is no such project"
    );
    assert!(
        world
            .gate
            .projects_by_token(&holder, |_| true)
            .unwrap()
            .is_empty()
    );
    assert_eq!(restored(&world, &ann, "project-1", None), "shop.erp");
    assert_eq!(world.told(&holder, &by_id("shop.erp")), "shop.erp");
}
