//! Changes under way while their maker loses the right to them: none is made.

use std::iter;
use std::sync::{Arc, mpsc};

use bytes::Bytes;
use siteconf::access::{Accounts, Caller, Result, Right, Role, TokenChange, Tokens};
use siteconf::base::actor::Actor;
use siteconf::base::file_path::FilePath;
use siteconf::base::repo_id::RepoId;
use siteconf::repo::audit::Filter;
use siteconf::repo::{Check, Condition, DeletedId, ProjectWriter, Rule};
use siteconf::store::record_cache::RecordCache;
use siteconf::store::sqlite::SqliteStore;

use crate::overtaken::{Overtaken, branch, pair, pair_over, root};
use crate::{PASSWORD, World, id, named, texts};

const NO_ROLE: &str = "no right allows this";
const LOGGED_OUT: &str = "no valid credential was shown";
const ROOT: &str = "ROLE_SITEBUILDER_EDITOR__ROOT";
const PUBLIC: &str = "ROLE_SITEBUILDER_EDITOR__PUBLIC";
const ACME: &str = "ROLE_SITEBUILDER_USER__acme";
/// A role that no change needs.
const OTHERS: &str = "ROLE_SITEBUILDER_USER__other";

/// A change that eve makes.
struct Change {
    what: &'static str,
    /// The role without which she may not make it; `None` where it takes an account, no more.
    role: Option<&'static str>,
    before: Before,
    make: Make,
}

/// Makes what is to be changed, under a name that nothing else has, and gives what names it.
type Before = fn(&World, &Caller, &str) -> String;
type Make = fn(&World, &Caller, &str) -> Result<()>;

impl Change {
    const fn new(
        what: &'static str,
        role: Option<&'static str>,
        before: Before,
        make: Make,
    ) -> Self {
        Self {
            what,
            role,
            before,
            make,
        }
    }
}

/// All of them.
fn changes() -> impl Iterator<Item = &'static Change> {
    let others = OF_ACCOUNTS.iter().chain(&OF_TOKENS);
    OF_PROJECTS.iter().chain(others)
}

static OF_PROJECTS: [Change; 9] = [
    Change::new(
        "make a project",
        Some(PUBLIC),
        |_, _, name| format!("public/{name}.erp"),
        |world, eve, it| world.gate.create_project(eve, &id(it)).map(drop),
    ),
    Change::new("rename a project", Some(PUBLIC), public_project, rename),
    Change::new(
        "give a project away",
        Some(ROOT),
        own_project,
        |world, eve, it| world.gate.transfer_project(eve, &id(it), "root").map(drop),
    ),
    Change::new("set rules", Some(PUBLIC), public_project, set_rules),
    Change::new(
        "pass over rules",
        Some(ROOT),
        project_with_rules,
        |world, eve, it| {
            let writer = world.gate.open_to_change(eve, &id(it), Right::Write)?;
            let writer = world.gate.pass_over_rules(eve, writer)?;
            let (main, path) = (branch("main"), FilePath::parse("a.json").unwrap());
            let file = world.projects.new_file(Bytes::from_static(b"{"))?;
            Ok(writer.save(&main, &path, file, Condition::None).map(drop)?)
        },
    ),
    Change::new("delete a project", Some(PUBLIC), public_project, delete),
    Change::new(
        "restore a project",
        Some(PUBLIC),
        |world, eve, name| deleted_project(world, eve, &format!("public/{name}")),
        restore,
    ),
    Change::new(
        "restore a project under another name",
        Some(PUBLIC),
        deleted_project,
        |world, eve, it| {
            let name = format!("public/{it}.erp");
            world.gate.restore(eve, it, Some(&name)).map(drop)
        },
    ),
    Change::new(
        "restore a branch",
        Some(PUBLIC),
        |world, eve, name| deleted_branch(world, eve, &format!("public/{name}")),
        restore,
    ),
];

static OF_ACCOUNTS: [Change; 7] = [
    Change::new(
        "make an account",
        Some(ROOT),
        |_, _, name| name.to_owned(),
        |world, eve, it| {
            let made = accounts(world, eve)?.create(it, PASSWORD, &[Role::Root]);
            made.map(drop)
        },
    ),
    Change::new("set a password", Some(ROOT), account, |world, eve, it| {
        world.gate.set_password_of(eve, it, PASSWORD)
    }),
    Change::new(
        "disable an account",
        Some(ROOT),
        account,
        |world, eve, it| world.gate.set_account_enabled(eve, it, false),
    ),
    Change::new(
        "rename an account",
        Some(ROOT),
        account,
        |world, eve, it| accounts(world, eve)?.rename(it, &format!("{it}.2")),
    ),
    Change::new("give a role", Some(ROOT), account, |world, eve, it| {
        accounts(world, eve)?.add_role(it, &Role::Root).map(drop)
    }),
    Change::new("take a role", Some(ROOT), account, |world, eve, it| {
        accounts(world, eve)?
            .remove_role(it, &Role::Auditor)
            .map(drop)
    }),
    Change::new(
        "remove an account",
        Some(ROOT),
        account,
        |world, eve, it| world.gate.remove_account(eve, it),
    ),
];

static OF_TOKENS: [Change; 5] = [
    Change::new(
        "make a token",
        Some(ACME),
        acme_project,
        |world, eve, it| world.make_token(eve, &[it]).map(drop),
    ),
    Change::new(
        "change a token",
        Some(ACME),
        |world, eve, name| {
            format!(
                "{} {}",
                acme_project(world, eve, name),
                token(world, eve, name)
            )
        },
        |world, eve, it| {
            let (repo_id, token) = it.split_once(' ').unwrap();
            let change = TokenChange {
                repos: Some(texts(&[repo_id])),
                ..TokenChange::default()
            };
            world.gate.change_token(eve, token, &change).map(drop)
        },
    ),
    Change::new("rotate a token", None, token, |world, eve, it| {
        world.gate.rotate_token(eve, it, 0).map(drop)
    }),
    Change::new("revoke a token", None, token, |world, eve, it| {
        world.gate.revoke_token(eve, it)
    }),
    Change::new(
        "revoke another's token",
        Some(ROOT),
        |world, _, name| token_of(world, "adam", name),
        |world, eve, it| world.gate.revoke_token(eve, it),
    ),
];

/// A project of another that a role opens.
fn acme_project(world: &World, _: &Caller, name: &str) -> String {
    let (repo_id, adam) = (format!("acme/{name}.erp"), world.accounts.by_name("adam"));
    let made = world
        .projects
        .create_project(&id(&repo_id), adam.unwrap().number(), "adam");
    made.unwrap().repo_id().to_string()
}

fn token(world: &World, _: &Caller, name: &str) -> String {
    token_of(world, "eve", name)
}

fn token_of(world: &World, owner: &str, name: &str) -> String {
    let (tokens, owner) = (Tokens::new(&world.projects), world.accounts.by_name(owner));
    let made = tokens.create(&owner.unwrap(), named(name, &[]), &Actor::service());
    made.unwrap().1.id
}

/// An account that nobody logs in to.
fn account(world: &World, _: &Caller, name: &str) -> String {
    let made = world
        .accounts
        .create_migrated(name, name, None, &[Role::Auditor]);
    made.unwrap().name().to_owned()
}

/// The accounts, as eve changes them.
fn accounts(world: &World, eve: &Caller) -> Result<Accounts> {
    world.gate.accounts(eve)
}

fn own_project(world: &World, eve: &Caller, name: &str) -> String {
    let repo_id = format!("{name}.erp");
    world.project(eve, &repo_id);
    repo_id
}

fn public_project(world: &World, eve: &Caller, name: &str) -> String {
    own_project(world, eve, &format!("public/{name}"))
}

fn project_with_rules(world: &World, eve: &Caller, name: &str) -> String {
    let it = own_project(world, eve, name);
    let writer = past_gate(world, &id(&it));
    writer.create_branch(&branch("main"), None).unwrap();
    set_rules(world, eve, &it).unwrap();
    it
}

fn deleted_project(world: &World, eve: &Caller, name: &str) -> String {
    let repo_id = id(&own_project(world, eve, name));
    past_gate(world, &repo_id).delete_project().unwrap();
    deleted(world, &repo_id).to_string()
}

fn deleted_branch(world: &World, eve: &Caller, name: &str) -> String {
    let repo_id = id(&own_project(world, eve, name));
    let (writer, main) = (past_gate(world, &repo_id), branch("main"));
    writer.create_branch(&main, None).unwrap();
    writer.delete_branch(&main, &Condition::None).unwrap();
    deleted(world, &repo_id).to_string()
}

/// What is deleted under this identifier.
fn deleted(world: &World, repo_id: &RepoId) -> DeletedId {
    let there = world.projects.deleted(|it| it.repo_id() == repo_id);
    there.unwrap()[0].id()
}

fn past_gate(world: &World, repo_id: &RepoId) -> ProjectWriter {
    ProjectWriter::new(world.projects.project(repo_id).unwrap(), "somebody")
}

fn rename(world: &World, eve: &Caller, it: &str) -> Result<()> {
    let new = id(&it.replace(".erp", "-2.erp"));
    world.gate.rename_project(eve, &id(it), &new).map(drop)
}

fn set_rules(world: &World, eve: &Caller, it: &str) -> Result<()> {
    let rule = Rule {
        patterns: texts(&["*.json"]),
        check: Check::Json,
        schema: None,
    };
    let any = Condition::None;
    world.gate.set_rules(eve, &id(it), &[rule], &any)
}

fn delete(world: &World, eve: &Caller, it: &str) -> Result<()> {
    let writer = world.gate.open_to_change(eve, &id(it), Right::Delete)?;
    Ok(writer.delete_project()?)
}

fn restore(world: &World, eve: &Caller, it: &str) -> Result<()> {
    world.gate.restore(eve, it, None).map(drop)
}

/// Calls with a service over each engine, the store below it, and another service over the same records. There are
/// root, adam and eve.
fn on_each_engine(check: impl Fn(&World, &Overtaken, &World)) {
    let folder = tempfile::tempdir().unwrap();
    let sqlite = RecordCache::new(SqliteStore::open_locked(folder.path()).unwrap());
    for (world, store, other) in [pair(), pair_over(Arc::new(sqlite))] {
        root(&world);
        for name in ["adam", "eve"] {
            world.accounts.create(name, PASSWORD, &[]).unwrap();
        }
        check(&world, &store, &other);
    }
}

/// Eve, logged in with this role alone.
fn eve(world: &World, role: Option<&str>) -> Caller {
    world.accounts.set_enabled("eve", true).unwrap();
    for held in world.accounts.by_name("eve").unwrap().roles() {
        world.accounts.remove_role("eve", held).unwrap();
    }
    if let Some(role) = role {
        give(world, role);
    }
    world.again("eve")
}

fn give(world: &World, role: &str) {
    let role = role.parse().unwrap();
    assert!(world.accounts.add_role("eve", &role).unwrap());
}

/// Takes this role from eve; without one, disables her.
fn lose(world: &World, role: Option<&str>) {
    match role {
        Some(role) => {
            let role = role.parse().unwrap();
            assert!(world.accounts.remove_role("eve", &role).unwrap());
        }
        None => world.accounts.set_enabled("eve", false).unwrap(),
    }
}

/// The place of the last change in the audit log, where each has one entry.
fn last_change(world: &World) -> u64 {
    let page = world.projects.audit_page(&Filter::default(), None, 1);
    page.unwrap().entries[0].id
}

/// Makes a change that others overtake just before its commit: what came of it, and the last change of theirs.
fn overtaken(
    change: impl FnOnce() -> Result<()>,
    store: &Overtaken,
    other: &World,
    overtake: impl FnOnce(&World) + Send + 'static,
) -> (Result<()>, u64) {
    let (other, (tell, told)) = (other.clone(), mpsc::channel());
    store.next(move || {
        overtake(&other);
        tell.send(last_change(&other)).unwrap();
    });
    let outcome = change();
    let last = told.try_recv().expect("the change was to be committed");
    (outcome, last)
}

#[test]
fn who_loses_the_right_to_a_change_under_way_does_not_make_it() {
    on_each_engine(|world, store, other| {
        let mut names = (0..).map(|number| format!("c{number}"));
        for change in changes() {
            let losses = iter::once(None).chain(change.role.map(Some));
            for (lost, in_commit) in losses.flat_map(|lost| [(lost, false), (lost, true)]) {
                let eve = eve(world, change.role);
                let it = (change.before)(world, &eve, &names.next().unwrap());
                let make = || (change.make)(world, &eve, &it);
                let (outcome, last) = if in_commit {
                    overtaken(make, store, other, move |other| lose(other, lost))
                } else {
                    lose(other, lost);
                    (make(), last_change(other))
                };
                let case = format!("{}, {lost:?}, in the commit: {in_commit}", change.what);
                let refusal = if lost.is_some() { NO_ROLE } else { LOGGED_OUT };
                assert_eq!(told(outcome), refusal, "{case}");
                assert_eq!(last_change(world), last, "{case}");
            }
        }
    });
}

#[test]
fn whose_account_is_changed_otherwise_meanwhile_makes_the_change() {
    on_each_engine(|world, store, other| {
        for (number, change) in changes().enumerate() {
            let eve = eve(world, change.role);
            let it = (change.before)(world, &eve, &format!("c{number}"));
            let make = || (change.make)(world, &eve, &it);
            let (outcome, before) = overtaken(make, store, other, |other| give(other, OTHERS));
            assert_eq!(told(outcome), "done", "{}", change.what);
            assert!(last_change(world) > before, "{}", change.what);
        }
    });
}

#[test]
fn whose_project_becomes_anothers_meanwhile_changes_nothing_of_it() {
    type Overtake = fn(&World, &RepoId);
    let changes: [(&str, Before, Make, Overtake); 5] = [
        ("rename", own_project, rename, give_to_adam),
        ("rules", own_project, set_rules, give_to_adam),
        ("delete", own_project, delete, give_to_adam),
        ("branch", deleted_branch, restore, give_to_adam),
        ("project", deleted_project, restore, |world, repo_id| {
            let (number, _) = deleted(world, repo_id).numbers();
            let restored = world.projects.restore_project(number, None, &"root".into());
            restored.unwrap();
            give_to_adam(world, repo_id);
            past_gate(world, repo_id).delete_project().unwrap();
        }),
    ];
    on_each_engine(|world, store, other| {
        let eve = eve(world, None);
        for (what, before, make, overtake) in changes {
            let it = before(world, &eve, what);
            let repo_id = id(&format!("{what}.erp"));
            let make = || make(world, &eve, &it);
            let (outcome, last) = overtaken(make, store, other, move |it| overtake(it, &repo_id));
            // By its name and its owner it was judged who may delete it: there is no such project any more.
            let refusal = if what == "delete" {
                "Project not found"
            } else {
                NO_ROLE
            };
            assert_eq!(told(outcome), refusal, "{what}");
            assert_eq!(last_change(world), last, "{what}");
        }
    });
}

/// What came of a change.
fn told(outcome: Result<()>) -> String {
    outcome.map_or_else(|refused| refused.to_string(), |()| "done".to_owned())
}

fn give_to_adam(world: &World, repo_id: &RepoId) {
    let adam = world.accounts.by_name("adam").unwrap().number();
    let given = past_gate(world, repo_id).transfer_project(adam, "adam");
    given.unwrap();
}

#[test]
fn who_has_the_role_for_everything_changes_the_own_account_while_another_does() {
    on_each_engine(|world, store, other| {
        let first = eve(world, Some(ROOT));
        let give_up = || {
            accounts(world, &first)?
                .remove_role("eve", &Role::Root)
                .map(drop)
        };
        let (outcome, _) = overtaken(give_up, store, other, |other| give(other, OTHERS));
        assert_eq!(told(outcome), "done");
        let roles = world.accounts.by_name("eve").unwrap().roles().to_vec();
        assert_eq!(roles, [OTHERS.parse().unwrap()]);

        let second = eve(world, Some(ROOT));
        let give_back = || {
            accounts(world, &second)?
                .add_role("eve", &Role::Auditor)
                .map(drop)
        };
        let (outcome, last) = overtaken(give_back, store, other, |other| lose(other, Some(ROOT)));
        assert_eq!(told(outcome), NO_ROLE);
        assert_eq!(last_change(world), last);
    });
}

#[test]
fn no_token_is_left_of_an_account_that_is_removed_while_it_is_made() {
    on_each_engine(|world, store, other| {
        let eve = eve(world, None);
        let make = || world.make_token(&eve, &["*"]).map(drop);
        let (outcome, last) = overtaken(make, store, other, |other| {
            other.accounts.remove("eve").unwrap();
        });
        assert_eq!(told(outcome), LOGGED_OUT);
        assert_eq!(last_change(world), last);
        // Neither one that a command makes.
        let adam = world.accounts.by_name("adam").unwrap();
        let make = || {
            let tokens = Tokens::new(&world.projects);
            tokens
                .create(&adam, named("erp", &["*"]), &Actor::service())
                .map(drop)
        };
        let (outcome, last) = overtaken(make, store, other, |other| {
            other.accounts.remove("adam").unwrap();
        });
        assert_eq!(told(outcome), "there is no user \"adam\"");
        assert_eq!(last_change(world), last);
    });
}
