//! Requests under way while another takes away what they were judged by: what came first stands.

use std::fmt;
use std::sync::{Arc, Mutex};

use siteconf::access::Role;
use siteconf::base::secret::ServerKey;
use siteconf::store::memory::MemoryStore;
use siteconf::store::{Batch, Result, Staging, Store, Version};

use crate::forwarded::forward_reads;
use crate::{PASSWORD, World, id, refusal};

const NEW_PASSWORD: &str = "battery staple";

type Act = Box<dyn FnOnce() + Send>;

/// A store that lets something else happen just before the next commit.
#[derive(Default)]
pub(crate) struct Overtaken {
    store: Arc<MemoryStore>,
    first: Mutex<Option<Act>>,
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
    let store = Arc::new(Overtaken::default());
    let other = World::over(store.store.clone(), ServerKey::generate());
    let world = World::over(store.clone(), ServerKey::generate());
    (world, store, other)
}

impl Overtaken {
    pub(crate) fn next(&self, act: impl FnOnce() + Send + 'static) {
        *self.first.lock().unwrap() = Some(Box::new(act));
    }
}

pub(crate) fn root(world: &World) -> siteconf::access::Caller {
    world
        .accounts
        .create("root", PASSWORD, &[Role::Root])
        .unwrap();
    world.again("root")
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
        ("disabled and enabled", |world| {
            world.accounts.set_enabled("eve", false).unwrap();
            world.accounts.set_enabled("eve", true).unwrap();
        }),
        ("logged out", |world| {
            let eve = world.again("eve");
            for session in world.gate.own_sessions(&eve).unwrap() {
                world.gate.end_own_session(&eve, &session.id).unwrap();
            }
        }),
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
            assert_eq!(refusal(changed), "401 Unauthorized", "{what}");
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
    assert_eq!(refusal(renamed), "403 Forbidden");
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
    assert_eq!(refusal(given), "404 Project Not Found");
    let project = world.projects.project(&id("mine.erp")).unwrap();
    assert_eq!(world.gate.owner_name(&project).unwrap(), "eve");
}
