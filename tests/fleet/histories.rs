//! A standby takes the place of its primary, which goes on for a while: what is put then leaves no change, by which the
//! new primary would be found to lack it.

use std::ops::ControlFlow;

use siteconf::store::collection::{Collectable, Collection as _, Pace};
use siteconf::store::postgres::PostgresStore;
use siteconf::store::{Batch, Expect, Pin, Store as _, StoreError};

use crate::cluster::{Cluster, until};
use crate::fixture::{blob, of_objects, of_write};
use crate::proxy::Proxy;

type Marks = <PostgresStore as Collectable>::Marks;

const DATABASE: &str = "histories";
const UNNEEDED: &str = "needed by nothing";
const LOST: &str = "put at the one whose place was taken";

/// A batch that puts this ahead of another.
fn ahead(text: &str) -> Batch {
    Batch {
        ahead: true,
        ..of_objects(vec![blob(text)])
    }
}

#[test]
fn what_goes_by_what_was_done_before_is_refused_where_a_standby_has_taken_the_place_of_its_primary()
{
    let mut cluster = Cluster::start();
    cluster.ask("postgres", &format!("CREATE DATABASE {DATABASE}"));
    let proxy = Proxy::new(cluster.socket());
    let url = format!("postgres://siteconf@127.0.0.1:{}/{DATABASE}", proxy.port);
    PostgresStore::init(&url).unwrap();
    let store = PostgresStore::open(&url).unwrap();
    cluster.add_standby();
    store.commit(ahead(UNNEEDED)).unwrap();
    let pin = store.pin().unwrap();
    let collection = store.begin_collection(Pace::new(0)).unwrap();
    // From now on nobody waits for the standby.
    cluster.ask("postgres", "ALTER SYSTEM RESET synchronous_standby_names");
    cluster.ask("postgres", "SELECT pg_reload_conf()");
    until(|| cluster.ask("postgres", "SHOW synchronous_standby_names") == [""]);
    cluster.replace();
    let is_primary = "SELECT NOT pg_is_in_recovery()";
    until(|| cluster.ask("postgres", is_primary) == ["t"]);
    let lost = blob(LOST).id;
    store.commit(ahead(LOST)).unwrap();
    // Connections that there are stay: its row is at the one that has taken the place, and what is put is not.
    proxy.lead_to(cluster.socket());
    let late = store.pin().unwrap();
    cluster.kill_replaced();

    let naming = |pin: &dyn Pin| Batch {
        pins: pin.name().into_iter().collect(),
        ..of_write("head", Expect::Absent, Some(LOST))
    };
    for pin in [&*pin, &*late] {
        let refused = store.commit(naming(pin));
        assert!(matches!(refused, Err(StoreError::Unpinned)), "{refused:?}");
    }
    assert!(store.record("head").unwrap().is_none());
    assert_eq!(store.are_there(&[lost]).unwrap(), [false]);
    // Both are there: it is for the history alone that they are refused.
    assert_eq!(
        cluster.ask(DATABASE, "SELECT count(*) FROM siteconf.pin"),
        ["2"]
    );

    let swept = collection.sweep(&Marks::default(), |_, _| {}, |_| ControlFlow::Continue(()));
    let told = swept.failed.map(|failed| failed.to_string());
    assert_eq!(
        told.as_deref(),
        Some(
            "the database cannot be used: another server has taken its place since this began; begin again"
        )
    );
    drop(collection);
    let unneeded = [blob(UNNEEDED).id];
    assert_eq!(store.are_there(&unneeded).unwrap(), [true]);

    // Whoever begins again is served.
    drop((pin, late));
    // One has no connection any more: it is released over another, and nobody waits for that.
    until(|| cluster.ask(DATABASE, "SELECT count(*) FROM siteconf.pin") == ["0"]);
    let pin = store.pin().unwrap();
    store.commit(ahead(LOST)).unwrap();
    store.commit(naming(&*pin)).unwrap();
    let collection = store.begin_collection(Pace::new(0)).unwrap();
    let swept = collection.sweep(&Marks::default(), |_, _| {}, |_| ControlFlow::Continue(()));
    assert!(swept.failed.is_none(), "{swept:?}");
    assert_eq!(
        store.are_there(&[unneeded[0], lost]).unwrap(),
        [false, true]
    );
}
