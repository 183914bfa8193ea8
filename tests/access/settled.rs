//! What takes rights away is answered when no process goes by what was there before.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use siteconf::access::{Role, TokenChange, Visit};
use siteconf::base::branch_name::BranchName;
use siteconf::base::secret::ServerKey;
use siteconf::repo::{Condition, ProjectWriter};
use siteconf::store::memory::MemoryStore;
use siteconf::store::{Batch, Result, Staging, Store, Version};

use crate::forwarded::forward_reads;
use crate::overtaken::root;
use crate::{PASSWORD, World, id};

type Act<'a> = Box<dyn Fn() + 'a>;

/// A store that counts the commits since all have noticed them.
#[derive(Debug, Default)]
struct Counting {
    store: MemoryStore,
    unnoticed: AtomicU32,
    settled: AtomicU32,
}

impl Store for Counting {
    forward_reads!();

    fn commit(&self, batch: Batch) -> Result<Version> {
        self.unnoticed.fetch_add(1, Ordering::Relaxed);
        self.store.commit(batch)
    }
    fn settle(&self) {
        self.unnoticed.store(0, Ordering::Relaxed);
        self.settled.fetch_add(1, Ordering::Relaxed);
    }
    fn stage(&self) -> Result<Box<dyn Staging>> {
        self.store.stage()
    }
}

#[test]
fn whatever_takes_rights_away_is_settled_before_its_answer() {
    let store = Arc::new(Counting::default());
    let world = World::over(store.clone(), ServerKey::generate());
    let (root, gate, accounts) = (root(&world), &world.gate, &world.accounts);
    let role = "ROLE_SITEBUILDER_EDITOR__PUBLIC";
    let eve = world.user("eve", &[role]);
    world.again("eve");
    let (cookie, _) = gate.login("eve", PASSWORD, &Visit::default()).unwrap();
    world.project(&eve, "shop.erp");
    world.project(&eve, "mine.erp");
    let both = ["shop.erp", "mine.erp"];
    let (_, token) = world.make_token(&eve, &both).unwrap();
    let writer = || ProjectWriter::new(world.projects.project(&id("shop.erp")).unwrap(), "eve");
    let branch = BranchName::parse("main").unwrap();
    writer().create_branch(&branch, None).unwrap();
    let narrowed = TokenChange {
        repos: Some(vec!["shop.erp".to_owned()]),
        ..TokenChange::default()
    };
    let role: Role = role.parse().unwrap();
    let acts: Vec<(&str, Act<'_>)> = vec![
        (
            "a token narrowed",
            Box::new(|| drop(gate.change_token(&eve, &token.id, &narrowed).unwrap())),
        ),
        (
            "a token rotated",
            Box::new(|| drop(gate.rotate_token(&eve, &token.id, 0).unwrap())),
        ),
        (
            "a token revoked",
            Box::new(|| gate.revoke_token(&eve, &token.id).unwrap()),
        ),
        ("a logout", Box::new(|| gate.logout(&cookie, None).unwrap())),
        (
            "a session ended",
            Box::new(|| {
                let sessions = gate.own_sessions(&eve).unwrap();
                let other = sessions.iter().find(|session| !session.is_present).unwrap();
                gate.end_own_session(&eve, &other.id).unwrap();
            }),
        ),
        (
            "a branch deleted",
            Box::new(|| writer().delete_branch(&branch, &Condition::None).unwrap()),
        ),
        (
            "a project renamed",
            Box::new(|| {
                let mine = world.projects.project(&id("mine.erp")).unwrap();
                let renamed = ProjectWriter::new(mine, "eve").rename_project(&id("ours.erp"));
                drop(renamed.unwrap());
            }),
        ),
        (
            "a project given away",
            Box::new(|| {
                for given in ["shop.erp", "ours.erp"] {
                    gate.transfer_project(&root, &id(given), "root").unwrap();
                }
            }),
        ),
        (
            "a project deleted",
            Box::new(|| writer().delete_project().unwrap()),
        ),
        (
            "a role taken",
            Box::new(|| assert!(accounts.remove_role("eve", &role).unwrap())),
        ),
        (
            "a role that somebody else may just have taken",
            Box::new(|| assert!(!accounts.remove_role("eve", &role).unwrap())),
        ),
        (
            "a password set",
            Box::new(|| accounts.set_password("eve", "battery staple").unwrap()),
        ),
        (
            "an account disabled",
            Box::new(|| accounts.set_enabled("eve", false).unwrap()),
        ),
        (
            "an account renamed",
            Box::new(|| accounts.rename("eve", "eva").unwrap()),
        ),
        (
            "an account removed",
            Box::new(|| assert_eq!(accounts.remove("eva").unwrap(), 0)),
        ),
    ];
    for (what, act) in acts {
        let settled = store.settled.load(Ordering::Relaxed);
        act();
        assert!(store.settled.load(Ordering::Relaxed) > settled, "{what}");
        assert_eq!(store.unnoticed.load(Ordering::Relaxed), 0, "{what}");
    }
}
