//! What reading tokens and what they open takes of the store, and of what memory keeps for those who poll.

use std::sync::Arc;

use siteconf::access::{
    Accounts, Caller, Error, Gate, NewToken, SessionLifetimes, TokenChange, Visit, projects,
};
use siteconf::base::clock::SystemClock;
use siteconf::base::repo_id::RepoId;
use siteconf::base::secret::{Secret, ServerKey};
use siteconf::repo::Projects;
use siteconf::store::Store;
use siteconf::store::memory::MemoryStore;
use siteconf::store::record_cache::RecordCache;

use crate::common::Counting;

const PASSWORD: &str = "correct horse";
const OWNERS: usize = 4;

/// A service with nothing in memory over what a store holds.
struct Served {
    counts: Arc<RecordCache<Counting<MemoryStore>>>,
    projects: Projects,
    gate: Gate,
}

impl Served {
    fn over(store: Arc<Counting<MemoryStore>>) -> Self {
        let counts = Arc::new(RecordCache::over(store));
        let store = Arc::clone(&counts) as Arc<dyn Store>;
        let projects = projects(store, Arc::new(SystemClock));
        let lifetimes = SessionLifetimes::default();
        Self {
            gate: Gate::new(projects.clone(), ServerKey::generate(), lifetimes),
            counts,
            projects,
        }
    }

    /// The caller of this name, who is logged in.
    fn caller(&self, name: &str) -> Caller {
        let (cookie, _) = self.gate.login(name, PASSWORD, &Visit::default()).unwrap();
        self.gate.session(&cookie).unwrap()
    }

    fn kept(&self, cache: &str) -> u64 {
        let uses = self.counts.cache_uses();
        uses.iter().find(|it| it.name == cache).unwrap().entries
    }
}

/// Some accounts of which the first may do everything, each with ten projects, a token for two of them, and one for
/// all.
fn filled() -> (Arc<Counting<MemoryStore>>, Vec<Secret>) {
    let store = Arc::new(Counting::new(MemoryStore::default()));
    let served = Served::over(Arc::clone(&store));
    let accounts = Accounts::new(&served.projects);
    let mut secrets = Vec::new();
    for owner in 0..OWNERS {
        let name = format!("owner-{owner}");
        let roles = if owner == 0 {
            vec!["ROLE_SITEBUILDER_EDITOR__ROOT".parse().unwrap()]
        } else {
            Vec::new()
        };
        let number = accounts.create(&name, PASSWORD, &roles).unwrap().number();
        let ids: Vec<_> = (0..10).map(|n| format!("{name}/{n}.erp")).collect();
        for id in &ids {
            let id = RepoId::parse(id).unwrap();
            served
                .projects
                .create_project(&id, number, "the test")
                .unwrap();
        }
        let caller = served.caller(&name);
        for repos in [ids[3..5].to_vec(), vec!["*".to_owned()]] {
            let name = "erp".to_owned();
            let new = NewToken {
                name,
                repos,
                ..NewToken::default()
            };
            secrets.push(served.gate.create_token(&caller, new).unwrap().0);
        }
    }
    drop(served);
    (store, secrets)
}

#[test]
fn a_list_of_projects_by_an_allowlist_reads_those_alone() {
    let (store, secrets) = filled();
    let served = Served::over(store);
    let counts = served.counts.inner();
    let holders = [&secrets[0], &secrets[1]].map(|it| served.gate.token(it, None, None).unwrap());
    let listed = holders.map(|holder| {
        counts.take();
        let found = served.gate.projects_by_token(&holder, |_| true).unwrap();
        (found.len(), counts.take().records)
    });
    assert_eq!(listed, [(2, 2), (10, 10 * OWNERS as u64)]);
}

#[test]
fn lists_of_the_tokens_of_all_leave_what_memory_keeps() {
    let (store, _) = filled();
    let served = Served::over(store);
    let root = served.caller("owner-0");
    let id = RepoId::parse("owner-1/3.erp").unwrap();
    let list = || {
        let all = served.gate.all_tokens(&root).unwrap();
        assert_eq!(all.read_at_most().unwrap(), 2 * OWNERS as u64);
        let of_project = served.gate.tokens_for(&root, &id).unwrap();
        let lengths = [all, of_project].map(|it| it.list().unwrap().len());
        assert_eq!(lengths, [2 * OWNERS, 2]);
    };
    // The accounts and the projects are what everybody needs.
    served.gate.census().unwrap();
    let before = served.kept("record_folders");
    list();
    assert_eq!(served.kept("record_folders"), before);
    // A list of one's own is what somebody may look at again.
    served.gate.tokens(&root).unwrap();
    assert_eq!(served.kept("record_folders"), before + 1);
}

#[test]
fn an_id_that_no_token_has_leaves_nothing_in_memory() {
    let (store, _) = filled();
    let served = Served::over(store);
    let root = served.caller("owner-0");
    served.gate.revoke_token(&root, "3").unwrap();
    let before = served.kept("records");
    let counts = served.counts.inner();
    let unknown = [3, 2 * OWNERS + 1].map(|number| number.to_string());
    for id in &unknown {
        counts.take();
        let changed = served.gate.change_token(&root, id, &TokenChange::default());
        assert!(matches!(changed, Err(Error::NoSuchToken)));
        assert!(counts.take().record_reads <= 2);
    }
    // Of each that the caller itself has none.
    assert!(served.kept("records") <= before + 2);
    let of_another = served
        .gate
        .change_token(&root, "5", &TokenChange::default());
    assert!(matches!(of_another, Err(Error::Forbidden(_))));
}

/// The name of a login may be long, and of slashes alone, each of which is a folder to the cache of records.
#[test]
fn a_login_by_what_is_no_name_of_an_account_reads_nothing() {
    let (store, _) = filled();
    let served = Served::over(store);
    let counts = served.counts.inner();
    counts.take();
    for name in ["/".repeat(8000), "owner-0/".to_owned(), String::new()] {
        assert!(served.gate.known_account(&name).unwrap().is_none());
    }
    assert_eq!(counts.take().record_reads, 0);
    assert!(served.gate.known_account("owner-0").unwrap().is_some());
    assert!(counts.take().record_reads > 0);
}
