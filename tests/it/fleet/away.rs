//! Without the database.

use std::time::{Duration, Instant};

use super::Fleet;
use crate::harness::{Daemon, Place, Project, own_folder};
use crate::proxy::{Cut, Proxy};

#[test]
fn a_service_without_its_database_says_so_and_is_well_when_it_is_back() {
    let fleet = Fleet::new();
    let mut place = fleet.place.clone();
    let Place::Database { url, database, .. } = &mut place else {
        unreachable!("it lies in a database");
    };
    let proxy = Proxy::new(database.socket.clone());
    *url = database.url_at(proxy.port);
    let mut daemon = Daemon::start_at(place, own_folder(), &[]);
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    project.save("main", "a.xml", "<a/>");
    let reader = daemon.reader(&project);
    reader.get(&project.raw("a.xml")).expect_status(200);
    daemon.anonymous().get("/readyz").expect_status(200);

    proxy.cut(Cut::All);
    // Memory has the file and the token, but nobody knows whether the token still counts.
    std::thread::scope(|scope| {
        let read = scope.spawn(|| until(|| reader.get(&project.raw("a.xml")), 503));
        let save = || project.user.put(&project.file("main", "a.xml"), b"<b/>");
        for refused in [read.join().unwrap(), save()] {
            refused.assert_error(
                503,
                "the database of the service does not answer; try again",
            );
            assert_eq!(refused.header("Retry-After"), Some("1"));
        }
    });
    let refused = until(|| daemon.anonymous().get("/readyz"), 503);
    refused.assert_error(
        503,
        "not ready: the database does not answer, or cannot be used; the log says why",
    );
    daemon.anonymous().get("/livez").expect_status(200);

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

/// The first answer of this status.
#[track_caller]
fn until(mut ask: impl FnMut() -> crate::harness::Answer, status: u16) -> crate::harness::Answer {
    let patience = Instant::now() + Duration::from_secs(15);
    loop {
        let answer = ask();
        if answer.status == status {
            return answer;
        }
        assert!(Instant::now() < patience, "{answer:?}");
    }
}
