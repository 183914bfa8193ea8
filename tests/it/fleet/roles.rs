//! The role of daemons, which may read and call functions. Every daemon of these tests has it, see `Place`.

use tokio_postgres::error::SqlState;

use super::Fleet;
use super::commands::{assert_refused, run};
use crate::harness::server::{DAEMON_ROLE, Database, try_ask};
use crate::harness::{Place, Project, own_folder, soon};

#[test]
fn the_role_of_daemons_can_write_beside_no_function() {
    let fleet = Fleet::new();
    let daemon = fleet.daemon(&[]);
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    project.save("main", "a.xml", "<a/>");
    let Place::Database { database, url, .. } = &fleet.place else {
        unreachable!("it lies in a database");
    };
    assert!(url.contains(&format!("//{DAEMON_ROLE}@")), "{url}");
    let role = "SELECT DISTINCT usename::text FROM pg_stat_activity
                WHERE datname = current_database() AND application_name = 'siteconf'";
    // The server learns a moment later that the owner's connection has ended, over which the store was made.
    soon(|| database.ask(role) == [DAEMON_ROLE]);

    let tables = database.ask(
        "SELECT relname::text FROM pg_class WHERE relnamespace = 'siteconf'::regnamespace AND relkind = 'r'",
    );
    assert!(tables.len() >= 7, "{tables:?}");
    let mut wishes = vec![
        "UPDATE siteconf.record SET value = ''".to_owned(),
        "CREATE TABLE siteconf.another ()".to_owned(),
        "DROP FUNCTION siteconf.prune_v1".to_owned(),
        format!("SET ROLE {}", "siteconf"),
    ];
    for table in tables {
        wishes.push(format!("INSERT INTO siteconf.{table} DEFAULT VALUES"));
        wishes.push(format!("DELETE FROM siteconf.{table}"));
        wishes.push(format!("TRUNCATE siteconf.{table}"));
        wishes.push(format!(
            "BEGIN; LOCK siteconf.{table} IN ROW EXCLUSIVE MODE"
        ));
    }
    for wish in wishes {
        let refused = try_ask(url, &wish).unwrap_err();
        // Insufficient privilege.
        assert_eq!(
            refused.code().map(SqlState::code),
            Some("42501"),
            "{wish}: {refused:?}"
        );
    }
    project.save("main", "a.xml", "<b/>");

    // What changes something runs as the owner, looks for names nowhere else, and is not for everybody.
    let open = "SELECT proname::text FROM pg_proc WHERE pronamespace = 'siteconf'::regnamespace
                AND provolatile = 'v' AND (NOT prosecdef OR proacl IS NULL OR proacl::text ~ '[{,]='
                OR NOT proconfig @> '{\"search_path=pg_catalog, pg_temp\"}')";
    assert_eq!(database.ask(open), [""; 0]);
}

#[test]
fn a_store_gets_the_role_later_and_a_role_that_is_none_is_named() {
    let (database, folder) = (Database::without_store(), own_folder());
    let key = folder.path().join("key");
    let key = ["--server-key-file", key.to_str().unwrap()];
    let url = database.url.as_str();
    let store = ["--store", url];
    let made = run(&[&["init"][..], &store, &key].concat());
    assert!(made.status.success(), "{made:?}");
    let by_daemon = database
        .url
        .replace("//siteconf@", &format!("//{DAEMON_ROLE}@"));
    let list = run(&["user", "list", "--store", &by_daemon]);
    assert_refused(
        &list,
        1,
        &format!(
            "{by_daemon}: the database cannot be used: permission denied for schema siteconf (42501)"
        ),
    );
    let grant = |role| run(&[&["migrate", "--daemon-role", role][..], &store].concat());
    let granted = grant(DAEMON_ROLE);
    assert!(granted.status.success(), "{granted:?}");
    let said = String::from_utf8(granted.stdout).unwrap();
    assert!(
        said.ends_with(&format!("\nthe role \"{DAEMON_ROLE}\" may serve it\n")),
        "{said}"
    );
    assert!(
        run(&["user", "list", "--store", &by_daemon])
            .status
            .success()
    );
    let no = "no\"body; DROP SCHEMA siteconf";
    let refused = grant(no);
    let last = String::from_utf8_lossy(&refused.stderr)
        .lines()
        .last()
        .unwrap()
        .to_owned();
    assert_eq!(
        last,
        format!(
            "siteconf: {url}: the database cannot be used: it has no role \"{no}\"; CREATE ROLE makes one, \
             with LOGIN"
        )
    );
    assert_eq!(refused.status.code(), Some(1));

    let name = &database.name;
    database.ask(&format!("REVOKE CONNECT ON DATABASE {name} FROM PUBLIC"));
    assert_refused(
        &run(&["user", "list", "--store", &by_daemon]),
        1,
        &format!(
            "{by_daemon}: the database cannot be used: permission denied for database \"{name}\" (42501)"
        ),
    );
}
