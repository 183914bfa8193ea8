//! What becomes of a project while the folder is read that is imported into it.

use crate::base::repo_id::RepoId;
use crate::cli::import::Target;
use crate::cli::open_store::OpenStore;
use crate::cli::tests::Desk;
use crate::repo::ProjectWriter;
use crate::store::engine::{Engine, Purpose, StoreAddress};

/// The project of a desk.
const SHOP: &str = "acme/shop.erp";

fn id(text: &str) -> RepoId {
    RepoId::parse(text).unwrap()
}

/// The project of a desk, for who changes it beside an import.
fn shop(opened: &OpenStore) -> ProjectWriter {
    ProjectWriter::new(opened.project(&id(SHOP)).unwrap(), "another")
}

/// The store of a desk, as an import has it.
fn opened(desk: &Desk) -> OpenStore {
    let data = StoreAddress::Folder(desk.path("data"));
    OpenStore::of(Engine::open(&data, None, Purpose::Change).unwrap())
}

#[test]
fn a_project_that_another_makes_meanwhile_is_taken_as_found() {
    let desk = Desk::new();
    for name in ["ann", "bob"] {
        desk.account(name, &[]);
    }
    let opened = opened(&desk);
    for (owner, refused) in [("ann", false), ("bob", true)] {
        let repo_id = id(&format!("acme/{owner}.erp"));
        let target = Target::find(&repo_id, Some("ann"), &opened).unwrap();
        let number = opened.accounts.by_name(owner).unwrap().number();
        let made = opened.projects.create_project(&repo_id, number, "another");
        let now = opened.projects.clock().now();
        let taken = target.project(&repo_id, now, &opened.actor, &opened);
        if refused {
            assert_eq!(
                taken.unwrap_err().to_string(),
                "project acme/bob.erp is there already and is not owned by ann"
            );
        } else {
            let (taken, is_made) = taken.unwrap();
            assert_eq!((taken.number(), is_made), (made.unwrap().number(), false));
        }
    }
}

#[test]
fn a_project_that_loses_its_name_meanwhile_is_not_imported_into() {
    type Act = fn(&OpenStore);
    let rename: Act = |opened| drop(shop(opened).rename_project(&id("acme/old.erp")).unwrap());
    let delete: Act = |opened| shop(opened).delete_project().unwrap();
    let create: Act = |opened| {
        let ann = opened.accounts.by_name("ann").unwrap().number();
        let made = opened.projects.create_project(&id(SHOP), ann, "another");
        made.unwrap();
    };
    for (what, acts, refused) in [
        ("nothing", &[][..], false),
        ("renamed", &[rename][..], true),
        ("deleted", &[delete][..], true),
        ("renamed, and the name taken", &[rename, create][..], true),
        ("deleted, and the name taken", &[delete, create][..], true),
    ] {
        let desk = Desk::with_project();
        let opened = opened(&desk);
        let target = Target::find(&id(SHOP), None, &opened).unwrap();
        for act in acts {
            act(&opened);
        }
        let now = opened.projects.clock().now();
        let taken = target.project(&id(SHOP), now, &opened.actor, &opened);
        if refused {
            assert_eq!(
                taken.unwrap_err().to_string(),
                "project acme/shop.erp was renamed or deleted meanwhile; nothing was saved",
                "{what}"
            );
        } else {
            let (taken, is_made) = taken.unwrap();
            assert_eq!((taken.repo_id(), is_made), (&id(SHOP), false));
        }
    }
}

#[test]
fn a_project_that_is_given_away_meanwhile_is_not_imported_into_for_its_owner() {
    for owner in [None, Some("ann")] {
        let desk = Desk::with_project();
        desk.account("bob", &[]);
        let opened = opened(&desk);
        let target = Target::find(&id(SHOP), owner, &opened).unwrap();
        let bob = opened.accounts.by_name("bob").unwrap().number();
        shop(&opened).transfer_project(bob, "bob").unwrap();
        let now = opened.projects.clock().now();
        let taken = target.project(&id(SHOP), now, &opened.actor, &opened);
        if owner.is_some() {
            assert_eq!(
                taken.unwrap_err().to_string(),
                "project acme/shop.erp is there already and is not owned by ann"
            );
        } else {
            assert_eq!(taken.unwrap().0.owner(), bob);
        }
    }
}
