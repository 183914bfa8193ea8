//! A primary that its synchronous standby no longer follows, as one is whose place the standby has taken: it
//! would go on to answer reads.

use std::time::{Duration, Instant};

use crate::cluster::{Cluster, until};
use crate::daemon::file;
use crate::store::Store;

#[test]
fn what_a_primary_without_its_standby_tells_is_refused_after_3_seconds() {
    let mut cluster = Cluster::start();
    let mut store = Store::make(&cluster, 2, &[]);
    let mut admin = store.admin_at(0);
    let kind = "application/octet-stream";
    let put = |admin: &mut crate::client::Client| {
        let saved = admin.attempt("PUT", &file("a.txt"), kind, b"a");
        saved.unwrap().status
    };
    assert_eq!(put(&mut admin), 201);
    cluster.add_standby();
    let mut readers = [0, 1].map(|daemon| store.admin_at(daemon));
    for turn in 0..2 {
        let cut = Instant::now();
        cluster.cut_standby_off();
        for reader in &mut readers {
            until(|| reader.get(&file("a.txt")).status == 503);
        }
        // With the time that a sign of life may have been under way.
        let took = cut.elapsed();
        assert!(
            took > Duration::from_secs(2) && took < Duration::from_secs(6),
            "{took:?}"
        );
        assert_eq!(readers[0].get("/readyz").status, 503);
        assert_eq!(put(&mut admin), 503);
        cluster.join_standby();
        for reader in &mut readers {
            until(|| reader.get(&file("a.txt")).status == 200);
        }
        until(|| [200, 201].contains(&put(&mut admin)));
        assert_eq!(
            store.ask(&cluster, "SELECT count(*) FROM siteconf.daemon"),
            ["2"],
            "{turn}"
        );
    }

    // Nobody has to remove the row of one that was killed.
    let aged = "UPDATE siteconf.daemon SET at = at - interval '2 minutes'";
    store.daemons[0].kill();
    store.ask(&cluster, aged);
    until(|| store.ask(&cluster, "SELECT count(*) FROM siteconf.daemon") == ["1"]);
}
