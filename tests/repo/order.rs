//! What a save is seen to have done, while it is in the store and its caller does not know it yet.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};

use siteconf::repo::{Error, Missing};
use siteconf::store::memory::MemoryStore;
use siteconf::store::record_cache::RecordCache;
use siteconf::store::{Batch, Result, Staging, Store, Version};

use crate::fixture::{Scene, branch, version};
use crate::forwarded::forward_reads;

type Hold = (SyncSender<()>, Receiver<()>);

/// A store that, when told to, says that a commit is done only some time after it is.
#[derive(Debug, Default)]
struct Late {
    store: MemoryStore,
    /// For the next commit that writes a snapshot: who is told that it is done, and who lets go.
    hold: Arc<Mutex<Option<Hold>>>,
}

impl Store for Late {
    forward_reads!();

    fn commit(&self, batch: Batch) -> Result<Version> {
        let saves = batch
            .writes
            .iter()
            .any(|write| write.key.starts_with("snapshot/"));
        let hold = self.hold.lock().unwrap().take_if(|_| saves);
        let outcome = self.store.commit(batch);
        if let Some((done, go)) = hold {
            done.send(()).unwrap();
            // Who failed does not let go.
            let _gone = go.recv();
        }
        outcome
    }
    fn stage(&self) -> Result<Box<dyn Staging>> {
        self.store.stage()
    }
}

/// The versions of the history, those of the commits, and what the head and the newest snapshot hold:
/// in the order in which a reader asks.
fn seen(scene: &Scene) -> (Vec<u64>, usize, Option<u64>, u64) {
    let open = || scene.project.branch(&branch("main")).unwrap();
    let history = open().history(None, None).unwrap();
    let versions = history.iter().map(|snapshot| snapshot.version.number());
    let commits = open().commits().map(siteconf::repo::Result::unwrap).count();
    let snapshot = match open().snapshot(version(3)) {
        Ok(snapshot) => Some(snapshot.totals().files),
        Err(Error::NotFound {
            what: Missing::Snapshot,
        }) => None,
        Err(error) => panic!("{error}"),
    };
    (versions.collect(), commits, snapshot, open().totals().files)
}

#[test]
fn no_reader_sees_a_save_in_the_history_and_then_the_head_without_it() {
    let late = Late::default();
    let hold = Arc::clone(&late.hold);
    let scene = Scene::on(RecordCache::new(late));
    scene.save("a", "1");
    scene.save("b", "2");
    let before = (vec![2, 1], 3, None, 2);
    assert_eq!(seen(&scene), before);
    let (done, is_done) = sync_channel(0);
    let (go, may_go) = sync_channel(0);
    *hold.lock().unwrap() = Some((done, may_go));
    std::thread::scope(|scope| {
        let go = go;
        let save = scope.spawn(|| scene.save("c", "3"));
        is_done.recv().unwrap();
        assert_eq!(seen(&scene), before);
        let page = scene.project.branch(&branch("main")).unwrap();
        let page = page.history(Some(version(9)), Some(1)).unwrap();
        assert_eq!(page[0].version, version(2));
        go.send(()).unwrap();
        save.join().unwrap();
    });
    assert_eq!(seen(&scene), (vec![3, 2, 1], 4, Some(2), 3));
}
