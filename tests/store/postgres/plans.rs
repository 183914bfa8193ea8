//! What a commit costs where the server believes that there are no rows: whoever maintains a database may have
//! its tables looked at while they are empty, and the plans that are made then stay until the next look.

use siteconf::store::{Batch, Expect, Store as _, StoreError};

use super::large::soon;
use super::snapshot::BACKENDS;
use crate::fixture::{blob, of_objects, of_write, push};
use crate::server::Database;

/// Rows of the objects and the records that were read, as far as the backends have told that have ended.
const READ: &str = "SELECT sum(idx_tup_read)::bigint FROM pg_stat_user_indexes
    WHERE relid IN ('siteconf.object'::regclass, 'siteconf.record'::regclass)";
/// The next look at the tables is the last one.
const LOOK_NO_MORE: &str = "ALTER TABLE siteconf.object SET (autovacuum_enabled = off);
    ALTER TABLE siteconf.record SET (autovacuum_enabled = off)";

/// How many rows a daemon reads for so many rounds of commits, on tables that are empty at its first one.
fn rows_read(rounds: u64) -> u64 {
    let database = Database::new();
    for statement in LOOK_NO_MORE.split(';') {
        database.ask(statement);
    }
    for table in ["object", "record", "change", "done"] {
        database.ask(&format!("VACUUM ANALYZE siteconf.{table}"));
    }
    let store = database.open();
    let mut count = Expect::Absent;
    for round in 0..rounds {
        // Of a new epoch whatever is needed is touched.
        database.ask("SELECT siteconf.raise_v1()");
        let mut batch = Batch {
            required: vec![blob("0 new").id],
            ..of_objects(vec![
                blob(&format!("{round} new")),
                blob(&format!("{} new", round / 2)),
            ])
        };
        let text = round.to_string();
        push(&mut batch, "count", count, Some(&text));
        push(
            &mut batch,
            &format!("one/{round}"),
            Expect::Absent,
            Some("1"),
        );
        count = Expect::Version(store.commit(batch).unwrap() - 1);
        // What was put goes again.
        let refused = store.commit(Batch {
            required: vec![blob("nothing").id],
            ..of_objects(vec![blob(&format!("{round} refused"))])
        });
        assert!(
            matches!(refused, Err(StoreError::Missing { .. })),
            "{refused:?}"
        );
        let refused = store.commit(of_write("count", Expect::Absent, Some("1")));
        assert!(
            matches!(refused, Err(StoreError::Conflict { .. })),
            "{refused:?}"
        );
    }
    drop(store);
    soon(|| database.ask(BACKENDS).is_empty());
    database.ask(READ)[0].parse().unwrap()
}

#[test]
fn a_commit_reads_the_rows_that_it_needs_also_where_there_were_none() {
    let [few, many] = [50, 200].map(rows_read);
    assert!(
        many < few * 5,
        "{few} rows, and {many} for four times as much"
    );
}
