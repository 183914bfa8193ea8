//! Without the database.

use std::sync::mpsc;
use std::thread::ScopedJoinHandle;
use std::time::{Duration, Instant};

use serde_json::json;
use time::OffsetDateTime;

use super::Fleet;
use crate::harness::server::Database;
use crate::harness::{Answer, Daemon, Place, Project, READ, User, own_folder, soon};
use crate::proxy::Cut;

pub(super) const AWAY: &str = "the database of the service does not answer; try again";
/// Longer than what memory has counts without the database, which is 20 ms, with what the proxy was carrying.
const STALE_MAX: Duration = Duration::from_millis(500);
/// Less than the three seconds that one takes who waits for the database. On a busy machine some answers take longer
/// than this that wait for nothing, where hundreds connect at once; most do not.
const PROMPT: Duration = Duration::from_secs(2);

#[test]
fn a_service_without_its_database_says_so_and_is_well_when_it_is_back() {
    let fleet = Fleet::new();
    let (place, proxy) = fleet.place_by_proxy();
    let mut daemon = Daemon::start_at(place, own_folder(), &[]);
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    project.save("main", "a.xml", "<a/>");
    let reader = daemon.reader(&project);
    reader.get(&project.raw("a.xml")).expect_status(200);
    daemon.anonymous().get("/readyz").expect_status(200);

    proxy.cut(Cut::All);
    let cut = Instant::now();
    // Memory has the file and the token, but nobody knows whether the token still counts.
    let refused_read = loop {
        let asked = cut.elapsed();
        let answer = reader.get(&project.raw("a.xml"));
        if answer.status == 503 {
            break answer;
        }
        answer.assert_bytes(200, b"<a/>");
        assert!(asked < STALE_MAX, "{asked:?} after the cut");
    };
    // Of a save that is under way while the connections are lost it would not be known whether it was made.
    let refused_save = project.user.put(&project.file("main", "a.xml"), b"<b/>");
    for refused in [refused_read, refused_save] {
        refused.assert_error(503, AWAY);
        assert_eq!(refused.header("Retry-After"), Some("1"));
    }
    let refused = until(|| daemon.anonymous().get("/readyz"), 503);
    refused.assert_error(
        503,
        "not ready: the database does not answer, or cannot be used; the log says why",
    );
    daemon.anonymous().get("/livez").expect_status(200);
    // Each connection is tried several times a second, and each reason is told once; once more only where a connection
    // was made a moment before the cut, and noted a moment after it.
    let told = "the database cannot be reached";
    daemon.logged(told);
    let log = daemon.log();
    let mut told: Vec<_> = log
        .lines()
        .filter_map(|line| line.split_once(told))
        .map(|(_, reason)| reason)
        .collect();
    told.sort_unstable();
    let times = told.chunk_by(PartialEq::eq).map(<[_]>::len).max();
    assert!(matches!(times, Some(1 | 2)), "{log}");

    proxy.cut(Cut::Never);
    until(|| daemon.anonymous().get("/readyz"), 200);
    reader.get(&project.raw("a.xml")).assert_bytes(200, b"<a/>");
    project.save("main", "a.xml", "<c/>");
    reader.get(&project.raw("a.xml")).assert_bytes(200, b"<c/>");

    // A stop does not wait for it for ever.
    proxy.cut(Cut::All);
    let began = Instant::now();
    let stopped = daemon.stop();
    assert!(stopped.success(), "{stopped:?} {}", daemon.log());
    assert!(began.elapsed() < Duration::from_secs(30));
}

/// Adds the time that an answer takes.
fn timed(times: &mut Vec<Duration>, ask: impl FnOnce() -> Answer) -> Answer {
    let began = Instant::now();
    let answer = ask();
    times.push(began.elapsed());
    answer
}

/// Half of them at least took no longer than an answer that waits for nothing.
#[track_caller]
fn assert_prompt(mut times: Vec<Duration>) {
    times.sort_unstable();
    assert!(times[times.len() / 2] < PROMPT, "{times:?}");
}

#[test]
fn without_the_database_nobody_waits_for_a_thread_and_then_all_are_refused_at_once() {
    /// More than there are threads that wait.
    const READERS: usize = 700;
    let fleet = Fleet::new();
    let (place, proxy) = fleet.place_by_proxy();
    let daemon = Daemon::start_at(place, own_folder(), &["--metrics-listen", "127.0.0.1:0"]);
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    project.save("main", "a.xml", "<a/>");
    let reader = daemon.reader(&project);
    reader.get(&project.raw("a.xml")).expect_status(200);
    let askers = [
        (&project.user, project.file("main", "a.xml")),
        (&reader, project.raw("a.xml")),
    ];

    proxy.cut(Cut::All);
    std::thread::scope(|scope| {
        let waiting: Vec<_> = (0..READERS)
            .map(|number| {
                let (user, target) = &askers[number % 2];
                // The first of them may have met what a look before the cut has proven.
                scope.spawn(|| until(|| user.get(target), 503))
            })
            .collect();
        // All that needs no database goes on meanwhile. Who stands still may come to ask when all have been refused.
        let mut times = [const { Vec::new() }; 3];
        loop {
            let [live, metrics, health] = &mut times;
            timed(live, || daemon.anonymous().get("/livez")).expect_status(200);
            timed(metrics, || daemon.watcher().get("/metrics")).expect_status(200);
            let health = timed(health, || daemon.anonymous().get(&format!("{READ}/health")));
            assert!([200, 503].contains(&health.status), "{health:?}");
            if waiting.iter().all(ScopedJoinHandle::is_finished) {
                break;
            }
        }
        // Each by itself.
        times.into_iter().for_each(assert_prompt);
    });
    for (user, target) in &askers {
        let [mut read, mut write] = [const { Vec::new() }; 2];
        for _ in 0..20 {
            timed(&mut read, || user.get(target)).assert_error(503, AWAY);
            let save = || user.put(&project.file("main", "b.xml"), b"<b/>");
            timed(&mut write, save).expect_status(503);
        }
        [read, write].into_iter().for_each(assert_prompt);
    }
    proxy.cut(Cut::Never);
    until(|| reader.get(&project.raw("a.xml")), 200);
    project.save("main", "b.xml", "<b/>");
}

/// Has a table locked, as `VACUUM FULL` does, while something is done, two minutes at most.
fn while_locked(database: &Database, table: &str, act: impl FnOnce()) {
    let lock = format!(
        "BEGIN;
         LOCK TABLE siteconf.{table} IN ACCESS EXCLUSIVE MODE;
         DO $$ BEGIN
             WHILE EXISTS (SELECT FROM pg_tables WHERE tablename = 'held')
                 AND clock_timestamp() < now() + interval '2 minutes'
             LOOP PERFORM pg_sleep(0.01); END LOOP;
         END $$;
         COMMIT"
    );
    let locked = format!(
        "SELECT count(*) FROM pg_locks WHERE granted AND mode = 'AccessExclusiveLock'
         AND relation = 'siteconf.{table}'::regclass"
    );
    database.ask("CREATE TABLE public.held ()");
    std::thread::scope(|scope| {
        let holds = scope.spawn(|| database.ask(&lock));
        soon(|| database.ask(&locked) == ["1"]);
        act();
        database.ask("DROP TABLE public.held");
        holds.join().unwrap();
    });
}

/// The holder of a token that was used, and expires within seconds.
fn expiring_reader(daemon: &Daemon, project: &Project) -> User {
    // One that has expired before it was used proves nothing.
    let mut issued = (0..5).map(|number| {
        let ends = OffsetDateTime::now_utc() + Duration::from_secs(8);
        let ends = u64::try_from(ends.unix_timestamp_nanos() / 1_000_000).unwrap();
        let name = format!("short {number}");
        let token = json!({ "name": name, "repos": ["*"], "expires_at": ends });
        let token = project.user.issue(&token);
        daemon.token(token["tokenString"].as_str().unwrap())
    });
    let is_used = |holder: &User| holder.get(&project.raw("a.xml")).status == 200;
    issued.find(is_used).expect("one is used in time")
}

#[test]
fn what_is_in_memory_is_served_while_a_table_is_locked_and_the_log_says_why_the_rest_is_not() {
    let fleet = Fleet::new();
    let Place::Database { database, .. } = &fleet.place else {
        unreachable!("it lies in a database");
    };
    let daemon = fleet.daemon(&[]);
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    project.save("main", "a.xml", "<a/>");
    let reader = daemon.reader(&project);
    reader.get(&project.raw("a.xml")).expect_status(200);
    let save = || project.user.put(&project.file("main", "a.xml"), b"<b/>");
    let expiring = expiring_reader(&daemon, &project);
    while_locked(database, "record", || {
        // With the second goes the time at which the token was used.
        for _ in 0..2 {
            save().assert_error(503, "the service cannot write at the moment; try again");
        }
        soon(|| {
            daemon
                .log()
                .contains("canceling statement due to lock timeout")
        });
        let target = project.raw("a.xml");
        soon(|| expiring.get(&target).status == 401);
        let [mut read, mut refused] = [const { Vec::new() }; 2];
        for _ in 0..9 {
            timed(&mut read, || reader.get(&target)).assert_bytes(200, b"<a/>");
            // That it has expired is to be noted each time, which nobody waits for.
            timed(&mut refused, || expiring.get(&target)).expect_status(401);
        }
        [read, refused].into_iter().for_each(assert_prompt);
    });
    save().expect_status(200);
    // Another one within the minute is told, too.
    let told = || {
        let is_told = |line: &&str| line.contains("canceling statement due to lock timeout");
        daemon.log().lines().filter(is_told).count()
    };
    let before = told();
    while_locked(database, "done", || {
        save().assert_error(503, "the service cannot write at the moment; try again");
        soon(|| told() > before);
    });
    let log = daemon.log();
    assert!(!log.contains("request failed"), "{log}");
}

#[test]
fn all_is_refused_while_the_table_of_changes_is_locked_and_nothing_for_that_of_daemons() {
    /// Without a sign of life all is refused after three seconds.
    const HELD_FOR: Duration = Duration::from_secs(7);
    let fleet = Fleet::new();
    let Place::Database { database, .. } = &fleet.place else {
        unreachable!("it lies in a database");
    };
    let daemon = fleet.daemon(&[]);
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    project.save("main", "a.xml", "<a/>");
    let reader = daemon.reader(&project);
    let read = || reader.get(&project.raw("a.xml"));
    read().expect_status(200);
    while_locked(database, "change", || {
        until(read, 503).assert_error(503, AWAY);
        let refused = until(|| daemon.anonymous().get("/readyz"), 503);
        refused.assert_error(
            503,
            "not ready: the database does not answer, or cannot be used; the log says why",
        );
        let holder = "SELECT pid FROM pg_locks WHERE granted AND mode = 'AccessExclusiveLock'
            AND relation = 'siteconf.change'::regclass";
        let locked = format!(
            "siteconf.change is locked by its process {}",
            database.ask(holder)[0]
        );
        soon(|| daemon.log().contains(&locked));
        let refused = daemon.command(&["status"], "");
        let said = String::from_utf8(refused.stderr).unwrap();
        assert!(said.contains(&locked), "{said}");
    });
    until(read, 200).assert_bytes(200, b"<a/>");
    while_locked(database, "daemon", || {
        let began = Instant::now();
        while began.elapsed() < HELD_FOR {
            // Else it would be refused as long as this is held.
            until(read, 200).assert_bytes(200, b"<a/>");
        }
        project.save("main", "a.xml", "<b/>");
        daemon.logged("canceling statement due to lock timeout");
    });
    read().assert_bytes(200, b"<b/>");
}

#[test]
fn readers_of_a_locked_table_keep_nobody_from_what_is_in_memory() {
    /// More than there are places to look something up.
    const COLD: usize = 64;
    let fleet = Fleet::new();
    let Place::Database { database, .. } = &fleet.place else {
        unreachable!("it lies in a database");
    };
    let daemon = fleet.daemon(&[]);
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    project.save("main", "a.xml", "<a/>");
    let reader = daemon.reader(&project);
    reader.get(&project.raw("a.xml")).expect_status(200);
    while_locked(database, "record", || {
        std::thread::scope(|scope| {
            let (sender, refused) = mpsc::channel();
            for number in 0..COLD {
                // Nobody knows yet that there is no such token.
                let unknown = daemon.token(&format!("{number:064x}"));
                let (refused, target) = (sender.clone(), project.raw("a.xml"));
                scope.spawn(move || {
                    // Who was refused asks again, while it is known that nothing is answered.
                    for _ in 0..2 {
                        unknown.get(&target).assert_error(503, AWAY);
                        // Nobody may want to know any more.
                        refused.send(()).ok();
                    }
                });
            }
            refused.recv().unwrap();
            let read = || {
                let began = Instant::now();
                reader.get(&project.raw("a.xml")).assert_bytes(200, b"<a/>");
                began.elapsed()
            };
            let mut took: Vec<_> = (0..20).map(|_| read()).collect();
            took.sort_unstable();
            // Until all have been told.
            drop(sender);
            while refused.recv().is_ok() {}
            assert!(took[10] < PROMPT, "{took:?}");
        });
    });
    let unknown = daemon.token(&"f".repeat(64));
    until(|| unknown.get(&project.raw("a.xml")), 401);
}

/// The first answer of this status.
#[track_caller]
pub(super) fn until(mut ask: impl FnMut() -> Answer, status: u16) -> Answer {
    let patience = Instant::now() + Duration::from_secs(15);
    loop {
        let answer = ask();
        if answer.status == status {
            return answer;
        }
        assert!(Instant::now() < patience, "{answer:?}");
    }
}
