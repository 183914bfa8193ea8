//! Projects that come to an account while it is removed: of the two, one is refused.

use std::sync::{Arc, Barrier};
use std::thread;

use siteconf::access::Error;
use siteconf::base::repo_id::RepoId;
use siteconf::base::secret::ServerKey;
use siteconf::repo::{Deleted, ProjectWriter};
use siteconf::store::memory::MemoryStore;
use siteconf::store::record_cache::RecordCache;
use siteconf::store::sqlite::SqliteStore;

use crate::overtaken::{pair, root};
use crate::rounds::Rounds;
use crate::{World, id};

const GONE: &str = "the account that would own the project is not there any more";

/// An account and an identifier for a project, with its number in the service.
struct Eve {
    name: String,
    number: u64,
    repo_id: RepoId,
}

/// A way on which a project comes to an account: what is done before, and its coming, true if it did.
type Way = (&'static str, fn(&World, &Eve), fn(&World, &Eve) -> bool);

const WAYS: [Way; 3] = [
    ("made", |_, _| {}, made),
    ("given", roots, given),
    ("restored", deleted, restored),
];

impl Eve {
    /// Makes an account that owns nothing.
    fn new(world: &World, name: &str) -> Self {
        let made = world.accounts.create_migrated(name, name, None, &[]);
        Self {
            name: name.to_owned(),
            number: made.unwrap().number(),
            repo_id: id(&format!("{name}.erp")),
        }
    }
}

/// Makes a project of another account.
fn roots(world: &World, eve: &Eve) {
    let root = world.accounts.by_name("root").unwrap().number();
    let made = world.projects.create_project(&eve.repo_id, root, "root");
    made.unwrap();
}

/// Makes a project of the account and deletes it.
fn deleted(world: &World, eve: &Eve) {
    let made = world
        .projects
        .create_project(&eve.repo_id, eve.number, "eve");
    let writer = ProjectWriter::new(made.unwrap(), "eve");
    writer.delete_project().unwrap();
}

fn made(world: &World, eve: &Eve) -> bool {
    came(
        world
            .projects
            .create_project(&eve.repo_id, eve.number, "eve"),
    )
}

fn given(world: &World, eve: &Eve) -> bool {
    let project = world.projects.project(&eve.repo_id).unwrap();
    came(ProjectWriter::new(project, "root").transfer_project(eve.number, &eve.name))
}

fn restored(world: &World, eve: &Eve) -> bool {
    let is_hers = |deleted: &Deleted| deleted.owner() == eve.number;
    let deleted = world.projects.deleted(is_hers).unwrap();
    let (number, _) = deleted[0].id().numbers();
    let actor = "eve".into();
    came(world.projects.restore_project(number, None, &actor))
}

fn came<T>(outcome: siteconf::repo::Result<T>) -> bool {
    match outcome {
        Ok(_) => true,
        Err(refused) => {
            assert_eq!(refused.to_string(), GONE);
            false
        }
    }
}

#[test]
fn an_account_to_which_a_project_comes_meanwhile_is_not_removed() {
    for (what, before, come) in &WAYS[..2] {
        let (world, store, other) = pair();
        root(&world);
        let eve = Eve::new(&world, "eve");
        before(&world, &eve);
        let (come, repo_id) = (*come, eve.repo_id.clone());
        store.next(move || assert!(come(&other, &eve)));
        let Err(Error::OwnsProjects { projects, .. }) = world.accounts.remove("eve") else {
            panic!("{what}: the account is removed");
        };
        assert_eq!(projects, ["eve.erp"]);
        let project = world.projects.project(&repo_id).unwrap();
        assert_eq!(world.gate.owner_name(&project).unwrap(), "eve");
    }
}

#[test]
fn a_project_does_not_come_to_an_account_that_is_removed_meanwhile() {
    for (what, before, come) in &WAYS[..2] {
        let (world, store, other) = pair();
        root(&world);
        let eve = Eve::new(&world, "eve");
        before(&world, &eve);
        store.next(move || assert_eq!(other.accounts.remove("eve").unwrap(), 0));
        assert!(!come(&world, &eve), "{what}");
        assert_eq!(
            owners(&world),
            if *what == "made" { vec![] } else { vec![1] }
        );
    }
}

#[test]
fn who_has_no_account_is_given_no_project() {
    let world = World::new();
    root(&world);
    let nobody = Eve {
        name: "eve".to_owned(),
        number: 7,
        repo_id: id("eve.erp"),
    };
    assert!(!made(&world, &nobody));
    roots(&world, &nobody);
    assert!(!given(&world, &nobody));
    assert_eq!(owners(&world), [1]);
}

fn owners(world: &World) -> Vec<u64> {
    let projects = world.projects.all().unwrap();
    projects
        .iter()
        .map(siteconf::repo::Project::owner)
        .collect()
}

/// One process, in which both are done at once.
#[test]
fn no_project_is_without_an_owner_in_one_process() {
    let world = World::over(Arc::new(MemoryStore::default()), ServerKey::generate());
    let other = World::over(world.projects.store().clone(), ServerKey::generate());
    race("one", &world, &other);
    let folder = tempfile::tempdir().unwrap();
    let store = RecordCache::new(SqliteStore::open_locked(folder.path()).unwrap());
    let world = World::over(Arc::new(store), ServerKey::generate());
    let other = World::over(world.projects.store().clone(), ServerKey::generate());
    race("one", &world, &other);
}

/// A command beside the service, each with what it keeps of the records in memory.
#[test]
fn no_project_is_without_an_owner_beside_another_process() {
    let folder = tempfile::tempdir().unwrap();
    let daemon = RecordCache::new(SqliteStore::open_locked(folder.path()).unwrap());
    let daemon = World::over(Arc::new(daemon), ServerKey::generate());
    let beside = RecordCache::new(SqliteStore::open_beside(folder.path()).unwrap());
    let beside = World::over(Arc::new(beside), ServerKey::generate());
    race("daemon", &daemon, &beside);
    race("command", &beside, &daemon);
}

/// Removes an account in the one, while in the other a project comes to it on each way, again and again:
/// one of the two is done, and every project has an owner.
fn race(by: &str, removing: &World, bringing: &World) {
    if removing.accounts.is_empty().unwrap() {
        root(removing);
    }
    let rounds = Rounds::or(10);
    for (what, before, come) in &WAYS {
        for round in 0..rounds.count {
            let eve = Eve::new(removing, &format!("eve-{what}-{by}-{round}"));
            before(removing, &eve);
            // Both know what there is.
            removing.projects.all().unwrap();
            bringing.projects.all().unwrap();
            let start = Barrier::new(2);
            let (is_removed, has_come) = thread::scope(|scope| {
                let removal = scope.spawn(|| {
                    start.wait();
                    removing.accounts.remove(&eve.name)
                });
                start.wait();
                let has_come = come(bringing, &eve);
                let is_removed = match removal.join().unwrap() {
                    Ok(_) => true,
                    Err(Error::OwnsProjects { .. }) => false,
                    Err(failed) => panic!("{failed}"),
                };
                (is_removed, has_come)
            });
            assert_ne!(is_removed, has_come, "{what}, round {round}");
        }
    }
}
