//! A server that takes connections and says nothing, as one does that hangs.

use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::net::UnixListener;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use crate::cluster::{Cluster, until};
use crate::daemon::{Daemon, file, serve_at, siteconf_at};
use crate::store::{Store, save, settled};

/// Beyond it a person thinks that nothing works.
const PATIENCE: Duration = Duration::from_secs(20);

#[test]
fn a_host_that_hangs_keeps_nobody_from_the_next() {
    let mut cluster = Cluster::start();
    let store = Store::make(&cluster, 1, &[]);
    let mut admin = store.admin_at(0);
    cluster.add_standby();
    cluster.fail_over();
    let socket = cluster.folder().join("one/.s.PGSQL.5432");
    let _gone_with_the_server = fs::remove_file(&socket);
    let _hangs = UnixListener::bind(&socket).unwrap();

    let put = |admin: &mut crate::client::Client| {
        let saved = admin.attempt("PUT", &file("a.txt"), "application/octet-stream", b"a");
        [200, 201].contains(&saved.unwrap().status)
    };
    let began = Instant::now();
    cluster.end_connections();
    until(|| put(&mut admin));
    assert!(began.elapsed() < PATIENCE, "{:?}", began.elapsed());
    // Nothing tells a process that has just begun which of them hang.
    let more = two_that_hang(&cluster);
    let [(three, _hangs_too), (four, _hangs_as_well)] = &more;
    let mut flags = store.flags.clone();
    let url = flags[1].to_str().unwrap();
    flags[1] = url.replace('@', &format!("@{three},{four},")).into();
    // One that is held up for seconds may find that nothing answers: then once more.
    let mut told = Vec::new();
    let is_well = (0..3).any(|_| {
        let began = Instant::now();
        told.push(siteconf_at(&flags).arg("status").output().unwrap());
        assert!(began.elapsed() < PATIENCE, "{:?}", began.elapsed());
        told.last().is_some_and(|told| told.status.success())
    });
    assert!(is_well, "{told:?}");
    let began = Instant::now();
    let another = Daemon::start_as(tempfile::tempdir().unwrap(), serve_at(&store.flags));
    let mut admin = another.again(&admin.credential);
    until(|| put(&mut admin));
    assert!(began.elapsed() < PATIENCE, "{:?}", began.elapsed());
}

/// Two hosts that hang, as they stand in an address.
fn two_that_hang(cluster: &Cluster) -> [(String, UnixListener); 2] {
    ["three", "four"].map(|name| {
        let folder = cluster.folder().join(name);
        fs::create_dir(&folder).unwrap();
        let hangs = UnixListener::bind(folder.join(".s.PGSQL.5432")).unwrap();
        (folder.to_str().unwrap().replace('/', "%2F"), hangs)
    })
}

#[test]
fn hosts_that_hang_keep_nobody_from_reading_where_the_primary_takes_no_changes() {
    let cluster = Cluster::start();
    let [(three, _hangs), (four, _hangs_too)] = &two_that_hang(&cluster);
    let store = Store::make_at(&cluster, 1, &[], &|database| {
        let url = cluster.url_of_primary(database);
        let (hosts, database) = url.rsplit_once('/').unwrap();
        format!("{hosts},{three},{four}/{database}")
    });
    let mut admin = store.admin_at(0);
    save(&mut admin, "a.txt", b"a");
    assert_eq!(settled(|| admin.get(&file("a.txt"))).body, b"a");
    cluster.ask(
        "postgres",
        "ALTER SYSTEM SET default_transaction_read_only = on",
    );
    cluster.ask("postgres", "SELECT pg_reload_conf()");
    until(|| cluster.ask("postgres", "SHOW default_transaction_read_only") == ["on"]);
    cluster.end_connections();
    // Over a new connection: memory may have the rest for a moment.
    until(|| {
        let refused = admin.attempt("PUT", &file("a.txt"), "application/octet-stream", b"b");
        String::from_utf8_lossy(&refused.unwrap().body).contains("takes no changes")
    });
    until(|| admin.get(&file("a.txt")).status == 200);
}

#[test]
fn a_primary_that_takes_no_changes_any_more_is_left_for_the_one_that_has_its_place() {
    let mut cluster = Cluster::start();
    // It stands between the two, and is never the one.
    let [(three, _hangs), _] = &two_that_hang(&cluster);
    let store = Store::make_at(&cluster, 1, &[], &|database| {
        cluster
            .url(database)
            .replacen(',', &format!(",{three},"), 1)
    });
    let mut admin = store.admin_at(0);
    save(&mut admin, "a.txt", b"a");
    cluster.add_standby();
    // It goes on, and commits what changes nothing.
    for setting in [
        "synchronous_standby_names = ''",
        "default_transaction_read_only = on",
    ] {
        cluster.ask("postgres", &format!("ALTER SYSTEM SET {setting}"));
    }
    cluster.ask("postgres", "SELECT pg_reload_conf()");
    until(|| cluster.ask("postgres", "SHOW default_transaction_read_only") == ["on"]);
    cluster.replace();
    let (file, kind) = (file("a.txt"), "application/octet-stream");
    until(|| admin.attempt("PUT", &file, kind, b"b").unwrap().status == 200);
    until(|| admin.get(&file).body == b"b");
}

#[test]
fn changes_are_taken_again_soon_where_a_standby_takes_the_place_of_a_primary_that_hangs() {
    /// What README says. A machine that stands still meanwhile has another try.
    const REPLACED_WITHIN: Duration = Duration::from_secs(10);
    assert!((0..3).any(|_| {
        let took = replace_one_that_hangs();
        assert!(took < 3 * REPLACED_WITHIN, "{took:?}");
        took < REPLACED_WITHIN
    }));
}

/// How long it takes until changes are taken again through a standby.
fn replace_one_that_hangs() -> Duration {
    const WRITERS: usize = 4;
    let mut cluster = Cluster::start();
    let store = Store::make(&cluster, 1, &[]);
    cluster.add_standby();
    let (sender, saved) = mpsc::channel();
    let is_replaced = AtomicBool::new(false);
    thread::scope(|scope| {
        for writer in 0..WRITERS {
            let mut admin = store.admin_at(0);
            let (saved, is_replaced) = (sender.clone(), &is_replaced);
            // One of them has sent its commit when the server stops.
            scope.spawn(move || {
                let target = file(&format!("{writer}.txt"));
                for text in 0.. {
                    let is_last = is_replaced.load(Ordering::Acquire);
                    let text = text.to_string();
                    let kind = "application/octet-stream";
                    let answer = admin.attempt("PUT", &target, kind, text.as_bytes());
                    let is_saved = [200, 201].contains(&answer.unwrap().status);
                    saved.send(()).unwrap();
                    if is_last && is_saved {
                        break;
                    }
                }
            });
        }
        for _ in 0..10 * WRITERS {
            saved.recv().unwrap();
        }
        let began = Instant::now();
        cluster.hang();
        cluster.replace();
        is_replaced.store(true, Ordering::Release);
        drop(sender);
        while saved.recv().is_ok() {}
        began.elapsed()
    })
}

#[test]
fn a_command_ends_where_the_only_server_hangs() {
    let hangs = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let url = format!("postgres://siteconf@{}/x", hangs.local_addr().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let silent = "database: it has not answered within 2 seconds";
    for (command, told) in [
        ("init", silent),
        ("migrate", silent),
        ("status", "the database does not answer"),
    ] {
        let began = Instant::now();
        let mut run = siteconf_at(&["--store".into(), url.clone().into()]);
        let key = folder.path().join("server-key");
        let run = run.arg("--server-key-file").arg(key).arg(command);
        let ended = run.output().unwrap();
        assert_eq!(ended.status.code(), Some(1), "{ended:?}");
        let took = began.elapsed();
        assert!(took < PATIENCE, "{command}: {took:?}");
        let said = String::from_utf8(ended.stderr).unwrap();
        let last = said.lines().last().unwrap();
        assert_eq!(last, format!("siteconf: {url}: {told}"));
    }
}
