//! `siteconf migrate`: a database of an earlier release gets the schema of this one, wholly or not at all.

use std::process::{Child, Command, Output, Stdio};
use std::thread;

use super::commands::{assert_refused, run};
use super::{Fleet, hold_after};
use crate::harness::server::{Database, ask, try_ask};
use crate::harness::{Daemon, Place, Project, own_folder, soon};

const STEP: &str = "SELECT schema FROM siteconf.format";
const HAS_STEPS: &str = "SELECT count(*) FROM information_schema.columns
    WHERE table_schema = 'siteconf' AND table_name = 'format' AND column_name = 'schema'";
const IS_HELD: &str = "SELECT 1 FROM pg_stat_activity
    WHERE datname = current_database() AND state = 'active' AND application_name = 'siteconf'
    AND query LIKE '%ALTER TABLE%'";
/// Whoever of siteconf is connected, with what is locked: also one that was killed, until the server has found it.
const IS_CONNECTED: &str = "SELECT 1 FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = 'siteconf'";
/// Holds the table of changes, as `pg_dump` does, until it is ended.
const HOLD_CHANGES: &str = "BEGIN; LOCK siteconf.change IN ACCESS SHARE MODE; SELECT pg_sleep(60)";
const HAS_CHANGES: &str = "SELECT pid FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event = 'PgSleep'";
/// Ends it, and waits until it is gone, with what it holds.
const END_HOLDERS: &str = "SELECT pg_terminate_backend(pid, 30000) FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event = 'PgSleep'";

/// The step that this version needs.
fn current() -> i32 {
    Database::new().ask(STEP)[0].parse().unwrap()
}

fn migrate(url: &str) -> Output {
    run(&["migrate", "--store", url])
}

fn begin(url: &str) -> Child {
    Command::new(env!("CARGO_BIN_EXE_siteconf"))
        .args(["migrate", "--store", url])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Says that a migration has done this, and that is all.
#[track_caller]
fn assert_said(output: &Output, last: &str) {
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(said.lines().last(), Some(last), "{said}");
    assert!(output.stderr.is_empty(), "{output:?}");
}

fn brought_on(url: &str) -> String {
    format!("{url} has schema {} now; it had 1", current())
}

/// Serves the store of a database, which must not be.
fn serve(url: &str, key_file: &str) -> Output {
    let key = ["--server-key-file", key_file];
    run(&[
        &["serve", "--listen", "127.0.0.1:0", "--store", url],
        &key[..],
    ]
    .concat())
}

/// A database of the first step with all that this one holds.
fn earlier(database: &Database) -> Database {
    let first = Database::of_first_step();
    for rows in [
        "SELECT format('INSERT INTO siteconf.object (id, kind, size, sha256, bytes) VALUES \
            (%L, %s, %s, %L, %L);', id, kind, size, sha256, bytes) FROM siteconf.object",
        "SELECT format('INSERT INTO siteconf.record (key, version, value) VALUES (%L, %s, %L);', \
            key, version, value) FROM siteconf.record",
        "SELECT format('INSERT INTO siteconf.change (version, key) VALUES (%s, %L);', version, key)
            FROM siteconf.change WHERE version > 0",
    ] {
        first.ask(&database.ask(rows).concat());
    }
    first
}

/// All that the first step has of records, changes and objects.
fn contents(database: &Database) -> Vec<Vec<String>> {
    let objects = "(SELECT id, kind, size, sha256, bytes, place, outboard FROM siteconf.object)";
    [
        "siteconf.record",
        "(SELECT version, key FROM siteconf.change)",
        objects,
    ]
    .map(|table| database.ask(&format!("SELECT t::text FROM {table} t ORDER BY 1")))
    .to_vec()
}

#[test]
fn a_store_of_an_earlier_release_is_served_once_it_is_brought_on_and_has_all_that_it_had() {
    let (fleet, current) = (Fleet::new(), current());
    let mut daemon = fleet.daemon(&[]);
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    for text in ["<a/>", "<b/>"] {
        project.save("main", "a.xml", text);
    }
    let reader = daemon.reader(&project);
    let (short_id, versions) = (project.short_id("main"), project.versions("main"));
    daemon.stop();

    let mut place = fleet.place.clone();
    let Place::Database {
        url,
        database,
        key_file,
        ..
    } = &mut place
    else {
        unreachable!("it lies in a database");
    };
    let first = earlier(database);
    *url = first.url.clone();
    let (url, key) = (url.clone(), key_file.to_str().unwrap().to_owned());
    let refused = format!(
        "{url}: the database cannot be used: it has schema 1, and this program needs {current}; \
         \"siteconf migrate\" brings it on"
    );
    assert_refused(&serve(&url, &key), 1, &refused);
    assert_refused(&run(&["user", "list", "--store", &url]), 1, &refused);
    let init = ["init", "--store", &url, "--server-key-file", &key];
    assert_refused(&run(&init), 1, &refused);
    let had = contents(&first);
    let again = run(&[&init[..], &["--if-absent"]].concat());
    assert!(again.status.success(), "{again:?}");
    assert_eq!(contents(&first), had);
    assert_eq!(first.ask(HAS_STEPS), ["0"]);

    assert_said(&migrate(&url), &brought_on(&url));
    assert_eq!(first.ask(STEP), [current.to_string()]);
    let has = contents(&first);
    // And one record more, of the audit log.
    for (had, has) in had.iter().zip(&has) {
        assert!(had.iter().all(|row| has.contains(row)));
    }
    assert_eq!(has[0].len(), had[0].len() + 1);
    let told = run(&["audit", "--store", &url]);
    let told = String::from_utf8(told.stdout).unwrap();
    let last = told.lines().last().unwrap();
    assert!(
        last.contains("upgrade") && last.contains("from schema 1 to"),
        "{told}"
    );

    let nothing = format!("{url} has schema {current}, which this version needs: nothing to do");
    assert_said(&migrate(&url), &nothing);
    assert_eq!(contents(&first), has);

    let daemon = Daemon::start_at(place.clone(), own_folder(), &[]);
    let project = project.seen_by(&daemon.session("alice"));
    let raw = reader.at(daemon.address()).get(&project.raw("a.xml"));
    raw.assert_bytes(200, b"<b/>");
    assert_eq!(
        (project.short_id("main"), project.versions("main")),
        (short_id, versions)
    );
    project.save("main", "a.xml", "<c/>");
}

#[test]
fn a_schema_of_a_newer_release_is_served_as_long_as_it_lets_us_write() {
    let (fleet, current) = (Fleet::new(), current());
    let Place::Database {
        url,
        database,
        key_file,
        ..
    } = &fleet.place
    else {
        unreachable!("it lies in a database");
    };
    database.ask(&format!(
        "UPDATE siteconf.format SET schema = 99, writer_min = {current}"
    ));
    assert_said(
        &migrate(url),
        &format!("{url} has schema 99, which a newer version made: nothing to do"),
    );
    let mut daemon = fleet.daemon(&[]);
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    project.save("main", "a.xml", "<a/>");
    daemon.stop();

    database.ask(&format!(
        "UPDATE siteconf.format SET writer_min = {current} + 1"
    ));
    let newer = format!(
        "{url}: the database cannot be used: it has schema 99, and this program knows {current}; install \
         a newer siteconf"
    );
    let key = key_file.to_str().unwrap();
    assert_refused(&serve(url, key), 1, &newer);
    assert_refused(&run(&["user", "list", "--store", url]), 1, &newer);

    database.ask(&format!(
        "UPDATE siteconf.format SET schema = {current}, writer_min = 1, state = 'copying'"
    ));
    let copying = format!(
        "{url}: the database cannot be used: a copy into it has not come to its end; run \"siteconf copy\" \
         again"
    );
    assert_refused(&serve(url, key), 1, &copying);
}

#[test]
fn beside_a_migration_another_is_refused_and_one_that_is_killed_has_changed_nothing() {
    let database = Database::of_first_step();
    let url = database.url.as_str();
    let had = contents(&database);
    database.ask(&hold_after("ALTER TABLE"));
    let mut first = begin(url);
    soon(|| !database.ask(IS_HELD).is_empty());
    let beside =
        format!("{url}: another \"siteconf migrate\" is running; try again when it has ended");
    assert_refused(&migrate(url), 1, &beside);
    first.kill().unwrap();
    first.wait().unwrap();
    database.ask("DELETE FROM public.held");
    soon(|| database.ask(IS_CONNECTED).is_empty());
    assert_eq!(database.ask(HAS_STEPS), ["0"]);
    assert_eq!(contents(&database), had);

    database.ask("INSERT INTO public.held VALUES (1)");
    let second = begin(url);
    soon(|| !database.ask(IS_HELD).is_empty());
    database.ask("DELETE FROM public.held");
    assert_said(&second.wait_with_output().unwrap(), &brought_on(url));
    assert_eq!(database.ask(STEP), [current().to_string()]);
}

#[test]
fn a_migration_that_stops_tells_the_steps_that_it_took_and_the_next_leaves_word_of_them() {
    let database = Database::of_first_step();
    let url = database.url.as_str();
    thread::scope(|scope| {
        // It is ended while it sleeps.
        scope.spawn(|| drop(try_ask(url, HOLD_CHANGES)));
        soon(|| !database.ask(HAS_CHANGES).is_empty());
        let stopped = migrate(url);
        database.ask(END_HOLDERS);
        assert_eq!(stopped.status.code(), Some(1), "{stopped:?}");
        let reached: i32 = database.ask(STEP)[0].parse().unwrap();
        assert!(1 < reached && reached < current(), "{reached}");
        let said = String::from_utf8(stopped.stdout).unwrap();
        let mut lines = said.lines();
        for step in 2..=reached {
            let line = lines.next().unwrap();
            assert!(line.starts_with(&format!("step {step}: ")), "{said}");
        }
        let has = format!("{url} has schema {reached} now; it had 1");
        assert_eq!(lines.collect::<Vec<_>>(), [has]);
        let why = String::from_utf8(stopped.stderr).unwrap();
        let what = format!("held a table for 3 seconds that step {} of", reached + 1);
        assert!(why.contains(&what), "{why}");

        let last = format!("{url} has schema {} now; it had {reached}", current());
        assert_said(&migrate(url), &last);
    });
    let told = run(&["audit", "--store", url]);
    let told = String::from_utf8(told.stdout).unwrap();
    let all = format!("from schema 1 to {}", current());
    // Below the heads of the columns.
    let told: Vec<_> = told.lines().skip(1).collect();
    assert!(told.len() == 1 && told[0].contains(&all), "{told:?}");
}

#[test]
fn what_is_missing_to_leave_word_of_a_migration_is_told_before_it() {
    let database = Database::of_first_step();
    let blobs = [
        "--blobs",
        "s3://shop?region=eu-central-1",
        "--s3-credentials-file",
        "/absent",
    ];
    let output = run(&[&["migrate", "--store", &database.url], &blobs[..]].concat());
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert_eq!(database.ask(HAS_STEPS), ["0"]);
}

#[test]
fn who_may_not_change_the_tables_is_told_who_may() {
    let database = Database::of_first_step();
    let role = format!("reader_of_{}", database.name);
    database.ask(&format!(
        "CREATE ROLE {role} LOGIN;
         GRANT USAGE ON SCHEMA siteconf TO {role};
         GRANT ALL ON ALL TABLES IN SCHEMA siteconf TO {role}"
    ));
    let url = database.url.replace("siteconf@", &format!("{role}@"));
    let refused = format!(
        "{url}: the database cannot be used: this role may not take step 2 of the schema (permission \
         denied to set role \"siteconf\"); run \"siteconf migrate\" as the role that made the store"
    );
    assert_refused(&migrate(&url), 1, &refused);
    assert_eq!(database.ask(HAS_STEPS), ["0"]);
    ask(
        &database.url,
        &format!("DROP OWNED BY {role}; DROP ROLE {role}"),
    );
}

#[test]
fn what_a_superuser_brings_on_is_the_owners() {
    let database = Database::of_first_step();
    let owner = format!("owner_of_{}", database.name);
    database.ask(&format!(
        "CREATE ROLE {owner};
         ALTER SCHEMA siteconf OWNER TO {owner};
         CREATE ROLE daemon_of_{owner};
         GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA siteconf TO daemon_of_{owner}"
    ));
    assert_said(&migrate(&database.url), &brought_on(&database.url));
    let of_others = format!(
        "SELECT relname::text FROM pg_class
         WHERE relnamespace = 'siteconf'::regnamespace AND relowner <> '{owner}'::regrole
         UNION ALL SELECT proname::text FROM pg_proc
         WHERE pronamespace = 'siteconf'::regnamespace AND proowner <> '{owner}'::regrole"
    );
    assert_eq!(database.ask(&of_others), [""; 0]);
    // Whom it let call what there was calls what has come, too.
    let may_not = format!(
        "SELECT proname::text FROM pg_proc WHERE pronamespace = 'siteconf'::regnamespace
         AND NOT has_function_privilege('daemon_of_{owner}', oid, 'EXECUTE')"
    );
    assert_eq!(database.ask(&may_not), [""; 0]);
    ask(
        &database.url,
        &format!("DROP OWNED BY {owner}, daemon_of_{owner}; DROP ROLE {owner}, daemon_of_{owner}"),
    );
}

#[test]
fn only_a_database_with_a_store_is_migrated() {
    let database = Database::without_store();
    let url = &database.url;
    let none =
        format!("{url}: the database cannot be used: it has no store; \"siteconf init\" makes one");
    assert_refused(&migrate(url), 1, &none);
    let folder = own_folder();
    let data = folder.path().to_str().unwrap();
    let of_folder = format!(
        "\"siteconf migrate\" is for a store in PostgreSQL; \"siteconf upgrade --data {data}\" is for this \
         folder"
    );
    assert_refused(&run(&["migrate", "--data", data]), 1, &of_folder);
}
