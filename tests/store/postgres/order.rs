//! The order of the versions: who has read all up to one of them never misses what comes after.

use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use crate::server::Database;

const WRITERS: u32 = 16;
const COMMITS: u32 = 20;
const LOCK: &str = "PERFORM pg_advisory_xact_lock(1936290915, 1);";
const LAST: &str = "SELECT g.epoch, (SELECT max(c.version) FROM siteconf.change c) \
                    INTO epoch, before FROM siteconf.gc g;";

/// What a follower saw beside many writers: the versions that it had passed when they appeared, and
/// those that it found missing between others.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    missed: usize,
    gaps: usize,
}

/// Lets writers commit that pause in their transactions, and follows them.
fn follow(database: &Database) -> Seen {
    let running = AtomicU32::new(WRITERS);
    let mut followed: Vec<u64> = vec![0];
    let mut gaps = 0;
    thread::scope(|scope| {
        for writer in 0..WRITERS {
            let running = &running;
            scope.spawn(move || {
                let commits = (0..COMMITS).map(|serial| {
                    format!(
                        "BEGIN; SELECT siteconf.commit_v2('\\x{writer:02x}', {serial}, false, 0, 1, \
                         '{{}}', '{{}}', '{{}}', '{{}}', '{{}}', '{{}}', '{{}}', '{{}}', '{{}}', '{{}}', \
                         '{{}}', '{{}}', '{{}}', '{{}}', '{{}}', '{{1}}', \
                         ARRAY['\\x61{writer:02x}'::bytea], ARRAY['\\x31'::bytea], '{{f}}'); \
                         COMMIT;"
                    )
                });
                database.ask(&commits.collect::<String>());
                running.fetch_sub(1, Ordering::AcqRel);
            });
        }
        loop {
            let is_last = running.load(Ordering::Acquire) == 0;
            let last = followed[followed.len() - 1];
            let new = database.ask(&format!(
                "SELECT version FROM siteconf.change WHERE version > {last} ORDER BY version"
            ));
            for version in new.iter().map(|version| version.parse().unwrap()) {
                gaps += usize::from(version != followed[followed.len() - 1] + 1);
                followed.push(version);
            }
            if is_last {
                break;
            }
        }
    });
    let all = database.ask("SELECT version FROM siteconf.change");
    assert_eq!(all.len(), (WRITERS * COMMITS + 1) as usize);
    Seen {
        missed: all.len() - followed.len(),
        gaps,
    }
}

/// Changes the function that commits.
pub(super) fn edit(database: &Database, edits: &[(&str, &str)]) {
    edit_function(database, "commit_v2", edits);
}

/// Changes a function.
pub(super) fn edit_function(database: &Database, name: &str, edits: &[(&str, &str)]) {
    let text = format!("SELECT pg_get_functiondef('siteconf.{name}'::regproc)");
    let mut text = database.ask(&text).remove(0);
    for (old, new) in edits {
        assert!(text.contains(old), "{old}");
        text = text.replace(old, new);
    }
    database.ask(&text);
}

/// A pause after the version is known, before it is seen.
const PAUSE: (&str, &str) = (
    "IF kinds <> nothing THEN",
    "PERFORM pg_sleep(random() * 0.003); IF kinds <> nothing THEN",
);

#[test]
fn a_follower_misses_no_version_and_finds_no_gap() {
    let database = Database::new();
    edit(&database, &[PAUSE]);
    assert_eq!(follow(&database), Seen { missed: 0, gaps: 0 });
}

/// That the test above would find it.
#[test]
fn a_follower_of_a_sequence_misses_some() {
    let next = "SELECT g.epoch, nextval('siteconf.planted') INTO epoch, before FROM siteconf.gc g;";
    let mut seen = Vec::new();
    // One that is held up until the writers are done sees all of it at once: then once more.
    let some_are_missed = (0..10).any(|_| {
        let database = Database::new();
        database.ask("CREATE SEQUENCE siteconf.planted MINVALUE 0");
        edit(&database, &[PAUSE, (LOCK, ""), (LAST, next)]);
        seen.push(follow(&database));
        seen.last().is_some_and(|it| it.missed > 0 && it.gaps > 0)
    });
    assert!(some_are_missed, "{seen:?}");
}
