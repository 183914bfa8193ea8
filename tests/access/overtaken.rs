//! Requests under way while another takes away what they were judged by: what came first stands.

use std::fmt;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use siteconf::access::{Caller, Error, Right, Role, Visit};
use siteconf::base::branch_name::BranchName;
use siteconf::base::file_path::FilePath;
use siteconf::base::secret::ServerKey;
use siteconf::base::snapshot_version::SnapshotVersion;
use siteconf::repo::audit::Action;
use siteconf::repo::{self, Condition, ProjectWriter};
use siteconf::store::memory::MemoryStore;
use siteconf::store::{Batch, Result, Staging, Store, Version};

use crate::forwarded::forward_reads;
use crate::{PASSWORD, World, id, refusal};

pub(crate) const NEW_PASSWORD: &str = "battery staple";

type First = Box<dyn FnOnce() + Send>;

/// A store that lets something else happen just before the next commit.
pub(crate) struct Overtaken {
    store: Arc<dyn Store>,
    first: Mutex<Option<First>>,
}

impl fmt::Debug for Overtaken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Overtaken")
    }
}

impl Store for Overtaken {
    forward_reads!();

    fn commit(&self, batch: Batch) -> Result<Version> {
        let first = self.first.lock().unwrap().take();
        if let Some(first) = first {
            first();
        }
        self.store.commit(batch)
    }
    fn stage(&self) -> Result<Box<dyn Staging>> {
        self.store.stage()
    }
}

/// A service, the store below it, and another service over the same records.
pub(crate) fn pair() -> (World, Arc<Overtaken>, World) {
    pair_over(Arc::new(MemoryStore::default()))
}

/// The same over these records.
pub(crate) fn pair_over(records: Arc<dyn Store>) -> (World, Arc<Overtaken>, World) {
    let other = World::over(Arc::clone(&records), ServerKey::generate());
    let store = Arc::new(Overtaken {
        store: records,
        first: Mutex::default(),
    });
    let world = World::over(store.clone(), ServerKey::generate());
    (world, store, other)
}

impl Overtaken {
    pub(crate) fn next(&self, act: impl FnOnce() + Send + 'static) {
        *self.first.lock().unwrap() = Some(Box::new(act));
    }
}

pub(crate) fn root(world: &World) -> Caller {
    world
        .accounts
        .create("root", PASSWORD, &[Role::Root])
        .unwrap();
    world.again("root")
}

pub(crate) fn new_password(world: &World) {
    world.accounts.set_password("eve", NEW_PASSWORD).unwrap();
}

pub(crate) fn disable_and_enable(world: &World) {
    world.accounts.set_enabled("eve", false).unwrap();
    world.accounts.set_enabled("eve", true).unwrap();
}

pub(crate) fn end_sessions(world: &World) {
    let eve = world.again("eve");
    for session in world.gate.own_sessions(&eve).unwrap() {
        world.gate.end_own_session(&eve, &session.id).unwrap();
    }
}

#[test]
fn a_change_of_the_own_password_undoes_no_reset_no_disabling_and_no_logout() {
    type Overtake = fn(&World);
    let reset = "reset by ROOT";
    let overtakes: [(&str, Overtake); 6] = [
        (reset, |world| {
            world.accounts.set_password("eve", "reset by ROOT").unwrap();
        }),
        ("disabled", |world| {
            world.accounts.set_enabled("eve", false).unwrap();
        }),
        ("disabled and enabled", disable_and_enable),
        ("logged out", end_sessions),
        ("removed, and the name taken", |world| {
            world.accounts.remove("eve").unwrap();
            world.accounts.create("eve", PASSWORD, &[]).unwrap();
        }),
        ("renamed", |world| {
            world.accounts.rename("eve", "adam").unwrap();
        }),
    ];
    for (what, overtake) in overtakes {
        for in_commit in [false, true] {
            let (world, store, other) = pair();
            let eve = world.user("eve", &[]);
            if in_commit {
                store.next(move || overtake(&other));
            } else {
                overtake(&other);
            }
            let changed = world.gate.change_own_password(&eve, PASSWORD, NEW_PASSWORD);
            assert_eq!(refusal(changed), "no valid credential was shown", "{what}");
            let name = if what == "renamed" { "adam" } else { "eve" };
            let present = if what == reset { what } else { PASSWORD };
            assert!(
                world.accounts.has_password(name, present).unwrap(),
                "{what}"
            );
            let enabled = world.accounts.by_name(name).unwrap().is_enabled();
            assert_eq!(enabled, what != "disabled");
        }
    }
}

/// How many logins the audit log tells of.
fn logins(world: &World) -> usize {
    let log = world.projects.audit_after(None, None).unwrap();
    let entries = log.entries.iter();
    entries
        .filter(|entry| entry.record.action == Action::Login)
        .count()
}

#[test]
fn a_login_that_is_overtaken_opens_nothing_and_is_not_told_as_one() {
    type Overtake = fn(&World);
    let overtakes: [(&str, Overtake); 4] = [
        ("disabled", |world| {
            world.accounts.set_enabled("eve", false).unwrap();
        }),
        ("disabled and enabled", disable_and_enable),
        ("removed", |world| {
            world.accounts.remove("eve").unwrap();
        }),
        ("given another password", new_password),
    ];
    for (what, overtake) in overtakes {
        let (world, store, other) = pair();
        world.user("eve", &[]);
        let before = logins(&world);
        store.next(move || overtake(&other));
        let login = world.gate.login("eve", PASSWORD, &Visit::default());
        assert_eq!(refusal(login), "Invalid username or password", "{what}");
        assert_eq!(logins(&world), before, "{what}");
        let sessions = world.projects.store().is_empty_under("session/");
        assert!(sessions.unwrap(), "{what}");
    }
}

#[test]
fn a_login_stands_beside_another_one_and_beside_a_new_role() {
    let (world, store, other) = pair();
    world.user("eve", &[]);
    let login = || world.gate.login("eve", PASSWORD, &Visit::default());
    let beside = other.clone();
    store.next(move || drop(beside.again("eve")));
    let (first, _) = login().unwrap();
    store.next(move || assert!(other.accounts.add_role("eve", &Role::Auditor).unwrap()));
    let (second, _) = login().unwrap();
    for cookie in [&first, &second] {
        let eve = world.gate.session(cookie).unwrap();
        assert_eq!(world.gate.own_sessions(&eve).unwrap().len(), 4);
    }
    assert_eq!(logins(&world), 4);
}

#[test]
fn who_lost_a_project_while_renaming_it_does_not_rename_it() {
    let (world, store, other) = pair();
    let root = root(&world);
    let eve = world.user("eve", &[]);
    world.user("adam", &[]);
    world.project(&eve, "shop.erp");
    let (shop, mine) = (id("shop.erp"), id("mine.erp"));
    let by_root = root.clone();
    store.next(move || {
        let given = other
            .gate
            .transfer_project(&by_root, &id("shop.erp"), "adam");
        given.unwrap();
    });
    let renamed = world.gate.rename_project(&eve, &shop, &mine);
    assert_eq!(refusal(renamed), "no right allows this");
    let project = world.projects.project(&shop).unwrap();
    assert_eq!(world.gate.owner_name(&project).unwrap(), "adam");
    // Whoever may do it in any case does.
    let other = World::over(store.store.clone(), ServerKey::generate());
    let by_root = root.clone();
    store.next(move || {
        let given = other
            .gate
            .transfer_project(&by_root, &id("shop.erp"), "eve");
        given.unwrap();
    });
    let renamed = world.gate.rename_project(&root, &shop, &mine).unwrap();
    assert_eq!(renamed.repo_id(), &mine);
    assert_eq!(world.gate.owner_name(&renamed).unwrap(), "eve");
}

#[test]
fn a_project_that_has_another_name_by_now_is_not_the_one_that_was_asked_for() {
    let (world, store, other) = pair();
    let root = root(&world);
    let eve = world.user("eve", &[]);
    world.project(&eve, "shop.erp");
    store.next(move || {
        let renamed = other
            .gate
            .rename_project(&eve, &id("shop.erp"), &id("mine.erp"));
        renamed.unwrap();
    });
    let given = world.gate.transfer_project(&root, &id("shop.erp"), "root");
    assert_eq!(refusal(given), "there is no such project");
    let project = world.projects.project(&id("mine.erp")).unwrap();
    assert_eq!(world.gate.owner_name(&project).unwrap(), "eve");
}

/// A change of a branch, and the right to it.
type Act = (
    &'static str,
    Right,
    fn(&World, &ProjectWriter) -> repo::Result<()>,
);

static ACTS: [Act; 5] = [
    ("save", Right::Write, |world, writer| {
        let file = world.projects.new_file(Bytes::from_static(b"new"))?;
        let path = FilePath::parse("a.txt").unwrap();
        let saved = writer.save(&branch("main"), &path, file, Condition::None);
        saved.map(drop)
    }),
    ("roll back", Right::Rollback, |_, writer| {
        let to = SnapshotVersion::parse("v0001").unwrap();
        writer
            .rollback(&branch("main"), to, &[], &Condition::None)
            .map(drop)
    }),
    ("make a branch", Right::Write, |_, writer| {
        writer.create_branch(&branch("new"), None).map(drop)
    }),
    ("rename a branch", Right::Delete, |_, writer| {
        let renamed = writer.rename_branch(&branch("main"), &branch("new"), &Condition::None);
        renamed.map(drop)
    }),
    ("delete a branch", Right::Delete, |_, writer| {
        writer.delete_branch(&branch("main"), &Condition::None)
    }),
];

#[test]
fn who_lost_the_right_after_a_change_began_changes_no_branch() {
    type Overtake = fn(&World);
    let (no_role, logged_out) = ("no role allows it", "ended session");
    let overtakes: [(&str, &str, Overtake); 8] = [
        ("given to another", no_role, |world| {
            let root = world.again("root");
            let given = world
                .gate
                .transfer_project(&root, &id("acme/shop.erp"), "adam");
            given.unwrap();
        }),
        ("renamed, out of the role", no_role, |world| {
            let adam = world.again("adam");
            let renamed = world
                .gate
                .rename_project(&adam, &id("acme/shop.erp"), &id("mine.erp"));
            renamed.unwrap();
        }),
        ("the role taken away", no_role, |world| {
            let role = ROLE.parse().unwrap();
            assert!(world.accounts.remove_role("eve", &role).unwrap());
        }),
        ("disabled", logged_out, |world| {
            world.accounts.set_enabled("eve", false).unwrap();
        }),
        ("removed", logged_out, |world| {
            world.accounts.remove("eve").unwrap();
        }),
        ("disabled and enabled", logged_out, disable_and_enable),
        ("given another password", logged_out, new_password),
        ("logged out", logged_out, end_sessions),
    ];
    let begin = |overtake: &str| {
        let (world, store, other) = pair();
        root(&world);
        let adam = world.user("adam", &[]);
        let is_own = overtake == "given to another";
        let eve = world.user("eve", if is_own { &[] } else { &[ROLE] });
        let project = world.project(if is_own { &eve } else { &adam }, "acme/shop.erp");
        let first = ProjectWriter::new(project, "the test");
        first.create_branch(&branch("main"), None).unwrap();
        let (_, _, save) = ACTS[0];
        save(&world, &first).unwrap();
        save(&world, &first).unwrap();
        let writers = ACTS.map(|(_, right, _)| {
            let opened = world.gate.open_to_change(&eve, &id("acme/shop.erp"), right);
            opened.unwrap()
        });
        (world, store, other, writers)
    };
    let refuse = |world: &World, writer: &ProjectWriter, act: &Act, reason: &str, case: &str| {
        let before = state(world, writer);
        let refused = Error::from(act.2(world, writer).unwrap_err());
        // The log names who it was.
        let refusal = refused.refusal().unwrap();
        let told = (refusal.account.as_deref(), refusal.reason);
        let case = format!("{}, {case}", act.0);
        assert_eq!(told, (Some("eve"), reason), "{case}");
        assert_eq!(state(world, writer), before, "{case}");
    };
    for (overtake, reason, overtaking) in overtakes {
        let (world, _, other, writers) = begin(overtake);
        overtaking(&other);
        for (act, writer) in ACTS.iter().zip(&writers) {
            refuse(&world, writer, act, reason, overtake);
        }
        for at in [0, 4] {
            let (world, store, other, writers) = begin(overtake);
            store.next(move || overtaking(&other));
            let case = format!("{overtake}, in the commit");
            refuse(&world, &writers[at], &ACTS[at], reason, &case);
        }
    }
}

const ROLE: &str = "ROLE_SITEBUILDER_USER__acme";

pub(crate) fn branch(name: &str) -> BranchName {
    BranchName::parse(name).unwrap()
}

/// The branches of a project, with the ids of their states.
fn state(world: &World, project: &repo::Project) -> Vec<(String, String)> {
    let project = world.projects.project_by_number(project.number()).unwrap();
    let branches = project.branches().unwrap();
    let each = branches.iter().map(|branch| {
        let head = branch.head().manifest().to_string();
        (branch.name().to_string(), head)
    });
    each.collect()
}

#[test]
fn of_two_who_take_the_role_for_everything_from_each_other_one_has_it_no_longer() {
    let (world, store, other) = pair();
    let role = ["ROLE_SITEBUILDER_EDITOR__ROOT"];
    let (eve, adam) = (world.user("eve", &role), world.user("adam", &role));
    let takes = |world: &World, caller: &Caller, from: &str| {
        world.gate.accounts(caller)?.remove_role(from, &Role::Root)
    };
    store.next(move || assert!(takes(&other, &adam, "eve").unwrap()));
    // Not that nobody would be left who has it.
    assert_eq!(refusal(takes(&world, &eve, "adam")), "no right allows this");
}

#[test]
fn what_is_done_to_a_branch_is_told_of_the_project_as_it_is_called_then() {
    let (world, store, other) = pair();
    let root = root(&world);
    let project = world.project(&root, "shop.erp");
    let writer = ProjectWriter::new(project, "the test");
    let rename = |to: &'static str| {
        let (other, root) = (
            World::over(store.store.clone(), ServerKey::generate()),
            root.clone(),
        );
        store.next(move || {
            let shop = other.projects.all().unwrap().remove(0);
            let renamed = other.gate.rename_project(&root, shop.repo_id(), &id(to));
            renamed.unwrap();
        });
    };
    drop(other);
    let any = Condition::None;
    rename("made.erp");
    writer.create_branch(&branch("main"), None).unwrap();
    rename("renamed.erp");
    writer
        .rename_branch(&branch("main"), &branch("new"), &any)
        .unwrap();
    rename("deleted.erp");
    writer.delete_branch(&branch("new"), &any).unwrap();
    let told: Vec<_> = world
        .projects
        .audit_after(None, None)
        .unwrap()
        .entries
        .into_iter()
        .filter(|entry| entry.record.branch.is_some())
        .map(|entry| entry.record.project.clone().unwrap().1)
        .collect();
    assert_eq!(told, ["made.erp", "renamed.erp", "deleted.erp"]);
}
