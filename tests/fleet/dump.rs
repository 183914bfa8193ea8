//! `pg_dump` as a backup: of a store that is in use, restored into another database.

use std::process::Command;
use std::thread;

use crate::cluster::Cluster;
use crate::daemon::{Daemon, file, serve_at, siteconf_at};
use crate::server::programs;
use crate::store::{self, Store, ran, settled};

#[test]
fn what_was_dumped_beside_saves_is_restored_as_a_store() {
    let cluster = Cluster::start();
    let store = Store::make(&cluster, 1, &[]);
    let dump = tempfile::NamedTempFile::new().unwrap();
    let mut admin = store.admin_at(0);
    let mut saved = 0;
    let mut save = || {
        saved += 1;
        let number = saved.to_string();
        store::save(&mut admin, "count.txt", number.as_bytes());
        saved
    };
    let before = (0..40).map(|_| save()).max().unwrap();
    let after = thread::scope(|scope| {
        let mut run = Command::new(programs().join("pg_dump"));
        run.args(["--format=custom", "--file"]).arg(dump.path());
        run.arg(&store.flags[1]);
        let dumping = scope.spawn(|| succeed(run));
        let mut after = save();
        while !dumping.is_finished() {
            after = save();
        }
        after
    });

    cluster.ask("postgres", "CREATE DATABASE restored TEMPLATE template0");
    let mut flags = store.flags.clone();
    flags[1] = cluster.url("restored").into();
    let mut run = Command::new(programs().join("pg_restore"));
    run.arg("--dbname").arg(&flags[1]).arg(dump.path());
    succeed(run);
    let daemon = Daemon::start_as(tempfile::tempdir().unwrap(), serve_at(&flags));
    // The session was dumped, too.
    let mut admin = daemon.again(&admin.credential);
    let found = settled(|| admin.get(&file("count.txt"))).body;
    let found = String::from_utf8(found).unwrap();
    let found: u32 = found.parse().unwrap();
    assert!(
        (before..=after).contains(&found),
        "{before} {found} {after}"
    );
    store::save(&mut admin, "count.txt", b"more");
    let found = settled(|| admin.get(&file("count.txt"))).body;
    assert_eq!(found, b"more");
    for arguments in [&["debug", "check", "--deep"][..], &["gc"]] {
        let mut run = siteconf_at(&flags);
        run.args(arguments);
        succeed(run);
    }
}

#[track_caller]
fn succeed(mut run: Command) {
    let output = ran(&mut run);
    assert!(output.status.success(), "{output:?}");
}
