//! The table of specification section 5.4, cell by cell: as a decision over grants, and through the
//! gate.

use crate::{World, by_id, id};
use siteconf::access::{Error, Permissions, Right, Role, VirtualPath, decide, grants};
use siteconf::base::repo_id::RepoId;

const NONE: &[&str] = &[];
const USER: &[&str] = &["ROLE_SITEBUILDER_USER"];
const GROUP: &[&str] = &["ROLE_SITEBUILDER_USER__acme"];
const ONE: &[&str] = &["ROLE_SITEBUILDER_USER__acme/shop.erp"];
const PUBLIC_GROUP: &[&str] = &["ROLE_SITEBUILDER_USER__public"];
const EDITOR: &[&str] = &["ROLE_SITEBUILDER_EDITOR__PUBLIC"];
const AUDITOR: &[&str] = &["ROLE_SITEBUILDER_EDITOR__READONLY"];
const ROOT: &[&str] = &["ROLE_SITEBUILDER_EDITOR__ROOT"];
const AUDITOR_IN_GROUP: &[&str] = &[
    "ROLE_SITEBUILDER_USER__acme",
    "ROLE_SITEBUILDER_EDITOR__READONLY",
];

/// Whose a project is.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Of {
    Me,
    Other,
}
use Of::{Me, Other};

/// The roles, the project's owner, the project, and what is allowed: Read, List, Write, Delete,
/// rollBack, Metadata.
const CELLS: &[(&[&str], Of, &str, &str)] = &[
    // One's own folder, whatever the role.
    (NONE, Me, "mine.erp", "RLWDB-"),
    (USER, Me, "mine.erp", "RLWDB-"),
    (GROUP, Me, "mine.erp", "RLWDB-"),
    (ONE, Me, "mine.erp", "RLWDB-"),
    (EDITOR, Me, "mine.erp", "RLWDB-"),
    (AUDITOR, Me, "mine.erp", "RLWDB-"),
    (ROOT, Me, "mine.erp", "RLWDBM"),
    // Another's.
    (NONE, Other, "theirs.erp", "------"),
    (USER, Other, "theirs.erp", "------"),
    (GROUP, Other, "theirs.erp", "------"),
    (ONE, Other, "theirs.erp", "------"),
    (EDITOR, Other, "theirs.erp", "------"),
    (AUDITOR, Other, "theirs.erp", "RL----"),
    (ROOT, Other, "theirs.erp", "RLWDBM"),
    // A group's: `.type`, `prefix/…`, and what only looks alike.
    (GROUP, Other, "acme.erp", "RLWDB-"),
    (GROUP, Other, "acme.web", "RLWDB-"),
    (GROUP, Other, "acme/shop.erp", "RLWDB-"),
    (GROUP, Other, "acme/shop/north.erp", "RLWDB-"),
    (GROUP, Other, "acmefoo.erp", "------"),
    (GROUP, Other, "acmefoo/shop.erp", "------"),
    (GROUP, Other, "acme.x.erp", "------"),
    (GROUP, Other, "Acme.erp", "------"),
    (GROUP, Other, "x/acme.erp", "------"),
    (USER, Other, "acme.erp", "------"),
    (EDITOR, Other, "acme.erp", "------"),
    (AUDITOR, Other, "acme.erp", "RL----"),
    (AUDITOR_IN_GROUP, Other, "acme.erp", "RLWDB-"),
    (AUDITOR_IN_GROUP, Other, "theirs.erp", "RL----"),
    // Equal: one project.
    (ONE, Other, "acme/shop.erp", "RLWDB-"),
    (ONE, Other, "acme/shop.web", "------"),
    (ONE, Other, "acme/shop.erp2", "------"),
    (ONE, Other, "acme.erp", "------"),
    // Public: whoever made it, the folder's role decides.
    (NONE, Other, "public/acme.erp", "RL----"),
    (NONE, Me, "public/acme.erp", "RL----"),
    (USER, Other, "public/acme.erp", "RL----"),
    (GROUP, Other, "public/acme.erp", "RL----"),
    (ONE, Other, "public/acme.erp", "RL----"),
    (PUBLIC_GROUP, Other, "public/acme.erp", "RL----"),
    (EDITOR, Other, "public/acme.erp", "RLWDB-"),
    (EDITOR, Me, "public/acme.erp", "RLWDB-"),
    (AUDITOR, Other, "public/acme.erp", "RL----"),
    (ROOT, Other, "public/acme.erp", "RLWDBM"),
    (NONE, Other, "publicity.erp", "------"),
    (EDITOR, Other, "publicity.erp", "------"),
];

fn cell(allowed: [bool; 6]) -> String {
    let letters = "RLWDBM".chars().zip(allowed);
    letters
        .map(|(letter, yes)| if yes { letter } else { '-' })
        .collect()
}

#[test]
fn every_cell_is_decided_as_the_specification_says() {
    let (me, other) = (7, 8);
    for (roles, of, repo_id, expected) in CELLS {
        let roles: Vec<Role> = roles.iter().map(|role| role.parse().unwrap()).collect();
        let repo_id = RepoId::parse(repo_id).unwrap();
        let path = VirtualPath::new(if *of == Me { me } else { other }, &repo_id);
        let may = |needed| decide(grants(me, &roles), &path, needed);
        let decided = cell([
            may(Permissions::READ),
            may(Permissions::LIST),
            may(Right::Write.needs()),
            may(Right::Delete.needs()),
            may(Right::Rollback.needs()),
            may(Permissions::METADATA),
        ]);
        assert_eq!(decided, *expected, "{roles:?} on {path}");
    }
}

#[test]
fn the_gate_opens_what_the_table_says_and_a_token_reads_no_more_than_its_owner() {
    for (roles, of, repo_id, expected) in CELLS {
        let world = World::new();
        let (me, other) = (world.user("me", roles), world.user("other", &[]));
        let owner = if *of == Me { &me } else { &other };
        let project = world.project(owner, repo_id);
        let what = format!("{roles:?}, {of:?}, {repo_id}");

        let opened = world.gate.open(&me, &id(repo_id));
        match &opened {
            Ok(opened) => assert_eq!(opened.number(), project.number(), "{what}"),
            Err(refused) => assert!(matches!(refused, Error::Forbidden(_)), "{what}: {refused}"),
        }
        let may_change = |action| match world.gate.open_to_change(&me, &id(repo_id), action) {
            Ok(writer) => writer.number() == project.number(),
            Err(Error::Forbidden(_)) => false,
            Err(failed) => panic!("{what}: {failed}"),
        };
        let reads = opened.is_ok();
        let metadata = expected.ends_with('M');
        let allowed = [
            reads,
            reads,
            may_change(Right::Write),
            may_change(Right::Delete),
            may_change(Right::Rollback),
            metadata,
        ];
        assert_eq!(cell(allowed), *expected, "{what}");

        let listed = world.gate.projects(&me, true, |_| true).unwrap();
        assert_eq!(listed.len(), usize::from(reads), "{what}");
        let own = world.gate.projects(&me, false, |_| true).unwrap();
        assert_eq!(own.len(), usize::from(*of == Me), "{what}");
        match world.make_token(&me, &[repo_id]) {
            Ok((secret, _)) => {
                assert!(reads, "{what}: a token for what its owner may not read");
                let holder = world.gate.token(&secret, None, None).unwrap();
                assert_eq!(world.told(&holder, &by_id(repo_id)), *repo_id);
            }
            Err(Error::Forbidden(_)) => assert!(!reads, "{what}"),
            Err(failed) => panic!("{what}: {failed}"),
        }
    }
}

#[test]
fn what_does_not_exist_is_not_found_whatever_the_role() {
    let world = World::new();
    let auditor = world.user("auditor", AUDITOR);
    let nobody = world.user("nobody", NONE);
    for caller in [&auditor, &nobody] {
        for absent in ["absent.erp", "public/absent.erp"] {
            let opened = world.gate.open(caller, &id(absent));
            assert!(matches!(opened, Err(Error::NoSuchProject)), "{opened:?}");
            let opened = world.gate.open_to_change(caller, &id(absent), Right::Write);
            assert!(matches!(opened, Err(Error::NoSuchProject)), "{absent}");
        }
    }
}

#[test]
fn a_project_belongs_to_who_makes_it_and_public_ones_need_the_editor() {
    let world = World::new();
    let (user, editor) = (world.user("user", USER), world.user("editor", EDITOR));
    let (auditor, root) = (world.user("auditor", AUDITOR), world.user("root", ROOT));

    let made = world
        .gate
        .create_project(&auditor, &id("acme.erp"))
        .unwrap();
    assert_eq!(made.owner(), auditor.account().number());
    assert_eq!(world.gate.owner_name(&made).unwrap(), "auditor");
    for refused in [&user, &auditor] {
        let made = world.gate.create_project(refused, &id("public/a.erp"));
        assert!(matches!(made, Err(Error::Forbidden(_))), "{made:?}");
    }
    for (allowed, name) in [(&editor, "public/a.erp"), (&root, "public/b.erp")] {
        let made = world.gate.create_project(allowed, &id(name)).unwrap();
        assert_eq!(made.owner(), allowed.account().number());
    }
    let taken = world.gate.create_project(&user, &id("acme.erp"));
    assert!(
        matches!(
            taken,
            Err(Error::Repo(siteconf::repo::Error::Exists { .. }))
        ),
        "{taken:?}"
    );

    let names = |accessible| -> Vec<(String, String)> {
        let projects = world.gate.projects(&user, accessible, |_| true).unwrap();
        let shown = projects.into_iter();
        shown
            .map(|(project, owner)| (project.repo_id().to_string(), owner))
            .collect()
    };
    assert_eq!(names(false), []);
    let public = [("public/a.erp", "editor"), ("public/b.erp", "root")];
    let public = public.map(|(name, owner)| (name.to_owned(), owner.to_owned()));
    assert_eq!(names(true), public);
}
