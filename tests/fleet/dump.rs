//! `pg_dump` as a backup: of a store that is in use, restored into another database.

use std::process::Command;
use std::thread;

use crate::cluster::Cluster;
use crate::daemon::{Daemon, file, serve_at, siteconf_at};
use crate::server::programs;
use crate::store::Store;

const BYTES: &str = "application/octet-stream";

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
        let answer = admin.attempt("PUT", &file("count.txt"), BYTES, number.as_bytes());
        assert!([200, 201].contains(&answer.unwrap().status));
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
    let found = String::from_utf8(admin.get(&file("count.txt")).body).unwrap();
    let found: u32 = found.parse().unwrap();
    assert!(
        (before..=after).contains(&found),
        "{before} {found} {after}"
    );
    let answer = admin.attempt("PUT", &file("count.txt"), BYTES, b"more");
    assert_eq!(answer.unwrap().status, 200);
    assert_eq!(admin.get(&file("count.txt")).body, b"more");
    for arguments in [&["debug", "check", "--deep"][..], &["gc"]] {
        let mut run = siteconf_at(&flags);
        run.args(arguments);
        succeed(run);
    }
}

#[track_caller]
fn succeed(mut run: Command) {
    let output = run.output().unwrap();
    assert!(output.status.success(), "{output:?}");
}
