//! A disk that has no room when it is to sync: what is refused with 507 is never there after a restart, what
//! may be there is told to be in doubt, and the next save is taken once there is room.

use std::process::{Command, Stdio};

use rustix::process::Signal;

use crate::client::Client;
use crate::daemon::{Daemon, file};
use crate::tracer::{self, Tracer};

/// What has no room: the log, the database, what is written to see whether there is room, or all.
const PLACES: [&[&str]; 4] = [
    &["store.db-wal"],
    &["store.db"],
    &["store.db-wal", "incoming/room"],
    &["store.db-wal", "store.db", "incoming/room"],
];

/// A file that is changed again and again; `None` while it is not there.
type File = Option<String>;

/// A service, and what is known of a file.
struct Scene {
    daemon: Daemon,
    admin: Client,
    changes: u32,
    acknowledged: File,
    /// What the last change would have made of it, while that is in doubt.
    in_doubt: Option<File>,
    /// True once nothing is written until a restart.
    has_stopped: bool,
}

impl Scene {
    fn start() -> Self {
        let daemon = Daemon::start();
        let mut admin = daemon.admin();
        Daemon::make_project(&mut admin);
        Self {
            daemon,
            admin,
            changes: 0,
            acknowledged: None,
            in_doubt: None,
            has_stopped: false,
        }
    }

    /// Saves or deletes the file, and gives the status of the answer.
    fn change(&mut self) -> u16 {
        self.changes += 1;
        let target = file("a.xml");
        let deletes = self.acknowledged.is_some() && self.changes.is_multiple_of(3);
        let after = (!deletes).then(|| format!("{}\n", self.changes));
        let answered = match &after {
            Some(text) => self.admin.attempt("PUT", &target, "", text.as_bytes()),
            None => self.admin.attempt("DELETE", &target, "", b""),
        };
        let answer = answered.unwrap();
        let message = answer.json()["message"].as_str().map(str::to_owned);
        match (answer.status, message.as_deref()) {
            (200 | 201, None) => (self.acknowledged, self.in_doubt) = (after, None),
            (507, Some("no space left for this change")) => {}
            (503, Some(text)) if text.contains("may have been made") => self.in_doubt = Some(after),
            (503, Some(text)) if text.contains("must be restarted") => self.has_stopped = true,
            _ => panic!("{answer:?}"),
        }
        answer.status
    }

    fn found(&mut self) -> File {
        let answer = self.admin.get(&file("a.xml"));
        (answer.status == 200).then(|| String::from_utf8(answer.body).unwrap())
    }

    /// Has syncs of these files find no room.
    fn take_room(&self, places: &[&str], error: &str) -> Tracer {
        let mut strace = Command::new("strace");
        strace.args(["-f", "-o", "/dev/null", "-e", "trace=fsync,fdatasync", "-e"]);
        strace.arg(format!("inject=fsync,fdatasync:error={error}"));
        for place in places {
            strace.arg("-P").arg(self.daemon.data().join(place));
        }
        strace.stdin(Stdio::null());
        Tracer::attach(strace, self.daemon.id())
    }

    /// Starts the service again, and goes on from what is there.
    fn restart(&mut self) {
        self.daemon.kill_and_restart();
        self.admin = self.daemon.again(&self.admin.credential);
        let (found, may_be) = (
            self.found(),
            [Some(&self.acknowledged), self.in_doubt.as_ref()],
        );
        assert!(may_be.contains(&Some(&found)), "{found:?} of {may_be:?}");
        (self.acknowledged, self.in_doubt) = (found, None);
        self.has_stopped = false;
    }

    /// Makes changes while syncs of these files find no room, and one when there is room again. False where
    /// that one found that nothing is written until a restart: a thread that is in a sync when the tracer goes has
    /// it fail as a call that does not exist, and such a failure does not heal.
    fn heals_after(&mut self, places: &[&str], error: &str, statuses: &mut Vec<u16>) -> bool {
        let case = format!("{error} in {places:?}");
        assert!(self.change() < 300, "{case}");
        let tracer = self.take_room(places, error);
        for _ in 0..2 {
            statuses.push(self.change());
            assert_eq!(self.found(), self.acknowledged, "{case}");
        }
        tracer.detach(Signal::TERM);
        self.assert_heals(places, &case);
        if self.has_stopped {
            return true;
        }
        let status = self.change();
        assert!(status < 300 || self.has_stopped, "{case}: {status}");
        !self.has_stopped
    }

    /// Panics if a sync that is known to have found no room has stopped all writing. One of the database alone is
    /// not known from one that lost something: it comes when the log is copied, which may be at any time.
    fn assert_heals(&self, places: &[&str], case: &str) {
        assert!(!self.has_stopped || places == ["store.db"], "{case}");
    }
}

#[test]
fn what_a_sync_without_room_leaves_in_doubt_is_told_and_heals() {
    if !tracer::is_there() {
        return;
    }
    let mut scene = Scene::start();
    let mut statuses = Vec::new();
    for error in ["ENOSPC", "EDQUOT"] {
        for places in PLACES {
            let case = format!("{error} in {places:?}");
            let mut cut_short = 0;
            while !scene.heals_after(places, error, &mut statuses) {
                cut_short += 1;
                assert!(cut_short < 4, "{case}: there is room again");
                scene.restart();
            }
            scene.restart();

            // The first change of a start has a sync of its own before anything is written.
            assert!(scene.change() < 300, "{case}");
            let tracer = scene.take_room(places, error);
            statuses.push(scene.change());
            scene.assert_heals(places, &case);
            scene.daemon.kill();
            tracer.detach(Signal::KILL);
            scene.restart();
        }
    }
    assert!(
        statuses.contains(&507) && statuses.contains(&503),
        "{statuses:?}"
    );
}
