//! What clients ask again and again takes of the store, and of the places for what takes longer.

use std::sync::{Arc, Condvar, Mutex};
use std::thread;

use serde_json::Value;
use siteconf::base::id::ObjectId;
use siteconf::http::Limits;
use siteconf::store::memory::MemoryStore;
use siteconf::store::{Batch, Record, Result, Scan, Staging, Store, StoredObject, Version, Writes};

use crate::common::Counting;
use crate::common::counting::Passed;
use crate::service::{Answer, OF_PROJECT, Service};

/// The newest commit that is told, the first of a list.
fn newest(answer: &Answer) -> &Value {
    answer.json.get(0).unwrap_or(&answer.json)
}

#[test]
fn commits_that_are_asked_for_again_are_read_once_until_a_branch_changes() {
    let store = Arc::new(Counting::new(MemoryStore::default()));
    let service = Service::over(&store, &Limits::default());
    let read = |target: &str| -> (Answer, Passed) {
        store.take();
        let answer = service.get(target);
        assert_eq!(answer.status, 200, "{answer:?}");
        (answer, store.take())
    };
    for (target, text) in [
        ("/commits/main", "second"),
        ("/commits?path=conf/a.xml&per_page=1", "third"),
    ] {
        let target = format!("{OF_PROJECT}/repository{target}");
        let (first, passed) = read(&target);
        assert!(passed.records_at_most > 0, "nothing was scanned");
        let (again, passed) = read(&target);
        assert_eq!(again, first);
        let objects = passed.blob_reads + passed.node_reads + passed.manifest_reads;
        assert_eq!((objects, passed.records_at_most), (0, 0), "{target}");
        service.save("conf/a.xml", text);
        let (after, _) = read(&target);
        assert_eq!(newest(&after)["title"], "save conf/a.xml");
        assert_ne!(newest(&after)["id"], newest(&first)["id"]);
    }
}

#[test]
fn commits_of_a_path_are_looked_for_only_in_what_came_since_they_were_looked_for() {
    let store = Arc::new(Counting::new(MemoryStore::default()));
    let service = Service::over(&store, &Limits::default());
    for number in 0..600 {
        service.save("c.xml", &number.to_string());
    }
    let target = format!("{OF_PROJECT}/repository/commits?path=conf/a.xml&per_page=1");
    let read = || -> (Answer, Passed) {
        store.take();
        let answer = service.get(&target);
        assert_eq!(answer.status, 200, "{answer:?}");
        (answer, store.take())
    };
    let (first, passed) = read();
    assert!(passed.records > 600, "{passed:?}");
    service.save("c.xml", "last");
    let (again, passed) = read();
    assert_eq!(again, first);
    assert!(passed.records < 50, "{passed:?}");
}

/// A store whose scans wait while it is held.
#[derive(Debug, Default)]
struct Holding {
    store: MemoryStore,
    scans: Mutex<Scans>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Scans {
    are_held: bool,
    waiting: usize,
}

impl Holding {
    fn hold(&self, are_held: bool) {
        self.scans.lock().unwrap().are_held = are_held;
        self.changed.notify_all();
    }

    fn wait_until_one_waits(&self) {
        let scans = self.scans.lock().unwrap();
        let none_waits = |scans: &mut Scans| scans.waiting == 0;
        drop(self.changed.wait_while(scans, none_waits).unwrap());
    }
}

impl Store for Holding {
    fn object(&self, id: ObjectId) -> Result<Option<StoredObject>> {
        self.store.object(id)
    }
    fn ids_with_prefix(&self, prefix: &[u8], limit: usize) -> Result<Vec<ObjectId>> {
        self.store.ids_with_prefix(prefix, limit)
    }
    fn record(&self, key: &str) -> Result<Option<Arc<Record>>> {
        self.store.record(key)
    }
    fn scan(&self, scan: Scan<'_>) -> Result<Vec<Arc<Record>>> {
        let mut scans = self.scans.lock().unwrap();
        scans.waiting += 1;
        self.changed.notify_all();
        let are_held = |scans: &mut Scans| scans.are_held;
        let mut scans = self.changed.wait_while(scans, are_held).unwrap();
        scans.waiting -= 1;
        drop(scans);
        self.store.scan(scan)
    }
    fn last_version(&self) -> Result<Version> {
        self.store.last_version()
    }
    fn external_writes(&self) -> Result<Version> {
        self.store.external_writes()
    }
    fn commit(&self, batch: Batch) -> Result<Version> {
        self.store.commit(batch)
    }
    fn stage(&self) -> Result<Box<dyn Staging>> {
        self.store.stage()
    }
    fn writes(&self) -> Writes {
        self.store.writes()
    }
}

#[test]
fn what_clients_ask_before_they_begin_waits_for_none_who_read_for_longer() {
    let store = Arc::new(Holding::default());
    // One place for those.
    let limits = Limits {
        threads_max: 1,
        thread_wait_s_max: 1,
        ..Limits::default()
    };
    let service = Service::over(&store, &limits);
    let at_once = [
        "/user",
        "/version",
        "/personal_access_tokens/self",
        OF_PROJECT,
    ];
    let ask = || at_once.map(|target| service.get(target).status);
    // The project is kept once somebody has asked for it.
    assert_eq!(ask(), [200; 4]);
    store.hold(true);
    let (held, asked, other) = thread::scope(|scope| {
        let held = scope.spawn(|| service.get("/projects"));
        store.wait_until_one_waits();
        let (asked, other) = (ask(), service.get("/projects"));
        store.hold(false);
        (held.join().unwrap(), asked, other)
    });
    assert_eq!(asked, [200; 4]);
    // It waited for the place that the first one had.
    assert_eq!((held.status, other.status), (200, 503));
}
