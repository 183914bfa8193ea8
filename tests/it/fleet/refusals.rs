//! What a daemon refuses for the state of its database: clients, probes, `status` and the log are told.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::Fleet;
use super::away::until;
use super::commands::{assert_refused, run};
use crate::harness::{Answer, Daemon, Place, Project, User, own_folder, soon};

/// Ends all connections of daemons, at the server.
const END_CONNECTIONS: &str = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE application_name = 'siteconf' AND datname = current_database()";

const NOT_USABLE: &str =
    "the database of the service cannot be used; the log of the service says why";
const NOT_READY: &str =
    "not ready: the database does not answer, or cannot be used; the log says why";

/// The exit code of `status`, why it says that changes are refused, and what is to be done.
pub(super) fn status(daemon: &Daemon) -> (Option<i32>, Value, Value) {
    let ran = daemon.command(&["status", "--json"], "");
    let mut shown: Value =
        serde_json::from_slice(&ran.stdout).unwrap_or_else(|_| panic!("{ran:?}"));
    (
        ran.status.code(),
        shown["writes_refused"].take(),
        shown["findings"].take(),
    )
}

/// The errors in the log of a daemon, without those that a machine tells of that has stood still for some seconds.
pub(super) fn errors(daemon: &Daemon) -> Vec<String> {
    const OF_A_PAUSE: [&str; 2] = [
        "the database has committed nothing for 3 seconds",
        "the database does not answer; requests are refused until it does",
    ];
    let log = daemon.log();
    let errors = log.lines().filter(|line| {
        line.contains("ERROR") && !OF_A_PAUSE.iter().any(|pause| line.contains(pause))
    });
    errors.map(str::to_owned).collect()
}

/// Of a fleet in which all is well.
fn well() -> (Option<i32>, Value, Value) {
    (Some(0), Value::Null, json!([]))
}

/// Waits until `status` has exit code 1, and finds that the daemon refuses so much and nothing else; this is why
/// changes are refused, if they are.
#[track_caller]
pub(super) fn assert_found(daemon: &Daemon, refuses: &str, changes_refused: &Value) {
    soon(|| status(daemon).0 == Some(1));
    let (code, refused, findings) = status(daemon);
    assert_eq!(
        (code, &refused, findings),
        (Some(1), changes_refused, finding(refuses))
    );
}

/// What `status` finds of a daemon that refuses so much.
pub(super) fn finding(refuses: &str) -> Value {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    json!([format!(
        "the daemon on {} refuses {refuses}",
        host.trim_end()
    )])
}

/// The same of one that refuses changes.
#[track_caller]
fn assert_refuses(daemon: &Daemon, refuses: &str) {
    assert_found(daemon, refuses, &json!(refuses));
    let text = String::from_utf8(daemon.command(&["status"], "").stdout).unwrap();
    assert!(text.contains("\nchanges          refused\n"), "{text}");
}

#[test]
fn a_database_that_went_back_is_told_of_until_a_restart() {
    let fleet = Fleet::new();
    let mut daemon = fleet.daemon(&[]);
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    project.save("main", "a.xml", "<a/>");
    let reader = daemon.reader(&project);
    reader.get(&project.raw("a.xml")).expect_status(200);
    assert_eq!(status(&daemon), well());

    let lose = "DELETE FROM siteconf.change WHERE version > 1";
    daemon.database().unwrap().ask(lose);
    let gone =
        "the database of the service no longer has what it had; the service must be restarted";
    // Beside a machine that stands still it may be told before that the database does not answer.
    soon(|| reader.get(&project.raw("a.xml")).text().contains(gone));
    reader.get(&project.raw("a.xml")).assert_error(503, gone);
    let refused = project.user.put(&project.file("main", "a.xml"), b"<b/>");
    refused.assert_error(503, gone);
    assert_eq!(refused.header("Retry-After"), Some("60"));
    daemon.anonymous().get("/readyz").assert_error(
        503,
        "not ready: everything is refused until the service is restarted: the database no longer has \
         changes that it had; see that it is the right one",
    );
    daemon.anonymous().get("/livez").expect_status(200);
    assert_refuses(
        &daemon,
        "everything: the database no longer has changes that it had; see that it is the right one, and \
         restart the daemon",
    );
    daemon.logged("everything is refused");
    let told = errors(&daemon);
    assert!(
        told.len() == 1 && told[0].contains("everything is refused"),
        "{told:?}"
    );

    daemon.stop();
    daemon.restart();
    daemon.anonymous().get("/readyz").expect_status(200);
    reader
        .at(daemon.address())
        .get(&project.raw("a.xml"))
        .assert_bytes(200, b"<a/>");
}

#[test]
fn a_full_disk_of_the_database_is_told_of_until_there_is_room() {
    let fleet = Fleet::new();
    let daemon = fleet.daemon(&[]);
    let database = daemon.database().unwrap();
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    let save = |text: &[u8]| project.user.put(&project.file("main", "a.xml"), text);
    save(b"<a/>").expect_status(201);
    database.ask(
        "CREATE FUNCTION public.full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100';
        END $$;
        CREATE TRIGGER full_disk BEFORE INSERT ON siteconf.object
            FOR EACH STATEMENT EXECUTE FUNCTION public.full_disk()",
    );
    save(b"<b/>").assert_error(507, "no space left for this change");
    daemon.anonymous().get("/readyz").assert_error(
        503,
        "not ready: writes are refused: the disk is full, or less is free than disk_free_min",
    );
    assert_refuses(&daemon, "changes: the disk of the database is full");
    database.ask("DROP TRIGGER full_disk ON siteconf.object");
    save(b"<b/>").expect_status(200);
    daemon.anonymous().get("/readyz").expect_status(200);
    soon(|| status(&daemon) == well());
}

#[test]
fn reads_go_on_where_a_full_disk_has_no_room_for_a_sign_of_life_either() {
    /// A sign of life is tried once a second, and without one all is refused after three.
    const TRIED: u32 = 4;
    let fleet = Fleet::new();
    let daemon = fleet.daemon(&[]);
    let database = daemon.database().unwrap();
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    let save = |text: &[u8]| project.user.put(&project.file("main", "a.xml"), text);
    save(b"<a/>").expect_status(201);
    let reader = daemon.reader(&project);
    reader.get(&project.raw("a.xml")).expect_status(200);
    // What a sequence has given stays given, whatever becomes of the statement.
    database.ask(
        "CREATE SEQUENCE public.tried;
        CREATE FUNCTION public.full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            IF TG_RELID = 'siteconf.daemon'::regclass THEN PERFORM nextval('public.tried'); END IF;
            RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100';
        END $$;
        CREATE TRIGGER full_disk BEFORE INSERT ON siteconf.object
            FOR EACH STATEMENT EXECUTE FUNCTION public.full_disk();
        CREATE TRIGGER full_disk BEFORE INSERT OR UPDATE ON siteconf.daemon
            FOR EACH STATEMENT EXECUTE FUNCTION public.full_disk()",
    );
    let tried =
        || database.ask("SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM public.tried");
    soon(|| {
        // A pause may have it refused for a moment; without what is tested it would stay refused.
        until(|| reader.get(&project.raw("a.xml")), 200).assert_bytes(200, b"<a/>");
        tried()[0].parse::<u32>().unwrap() >= TRIED
    });
    save(b"<b/>").assert_error(507, "no space left for this change");
    daemon.anonymous().get("/readyz").assert_error(
        503,
        "not ready: writes are refused: the disk is full, or less is free than disk_free_min",
    );
    database.ask(
        "DROP TRIGGER full_disk ON siteconf.daemon; DROP TRIGGER full_disk ON siteconf.object",
    );
    save(b"<b/>").expect_status(200);
    soon(|| status(&daemon) == well());
}

#[test]
fn a_database_that_is_set_to_take_no_changes_is_read_on_and_told_of_until_it_does() {
    /// One comes a second, and without one all is refused after three.
    const SIGNS: usize = 6;
    let fleet = Fleet::new();
    let daemon = fleet.daemon(&[]);
    let database = daemon.database().unwrap();
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    let save = || project.user.put(&project.file("main", "a.xml"), b"<a/>");
    save().expect_status(201);
    let reader = daemon.reader(&project);
    let read = || reader.get(&project.raw("a.xml"));
    read().expect_status(200);
    let set = |how: &str| {
        let name = &database.name;
        database.ask(&format!(
            "BEGIN READ WRITE; ALTER DATABASE {name} {how}; COMMIT"
        ));
    };
    set("SET default_transaction_read_only = on");
    // It counts for sessions that begin later.
    database.ask(END_CONNECTIONS);
    let told = "the database of the service takes no changes: its setting default_transaction_read_only is on; \
                reading goes on, and so does this when that ends";
    soon(|| save().text().contains(told));
    let sign = "SELECT query_start::text FROM pg_stat_activity WHERE application_name = 'siteconf'
                AND datname = current_database() AND query LIKE '%pg_logical_emit_message(%'";
    let mut signs = BTreeSet::new();
    soon(|| {
        // A pause may have it refused for a moment; without what is tested it would stay refused.
        until(read, 200).assert_bytes(200, b"<a/>");
        signs.extend(database.ask(sign));
        signs.len() >= SIGNS
    });
    let is_told = |answer: Answer, told: &str| {
        answer.status == 503 && answer.json() == json!({ "message": told })
    };
    soon(|| is_told(save(), told));
    let why = "the database takes none, as its setting default_transaction_read_only says";
    let not_ready = format!("not ready: writes are refused: {why}");
    soon(|| is_told(daemon.anonymous().get("/readyz"), &not_ready));
    let found = format!("changes are refused until default_transaction_read_only is off: {why}");
    soon(|| status(&daemon) == (Some(1), json!(why), json!([found])));
    soon(|| daemon.log().contains("in a read-only transaction (25006)"));

    // Those who connected meanwhile would keep it.
    set("RESET default_transaction_read_only");
    until(save, 200);
    until(|| daemon.anonymous().get("/readyz"), 200);
    soon(|| status(&daemon) == well());
}

#[test]
fn a_change_that_the_server_undoes_for_another_is_tried_once_more_and_told_of() {
    let fleet = Fleet::new();
    let daemon = fleet.daemon(&[]);
    let database = daemon.database().unwrap();
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    // What a sequence has given stays given, whatever becomes of the statement.
    database.ask(
        "CREATE SEQUENCE public.tried;
        CREATE FUNCTION public.undo() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            CASE nextval('public.tried')
                WHEN 1 THEN RAISE EXCEPTION 'not in this order' USING ERRCODE = '40001';
                WHEN 3 THEN RAISE EXCEPTION 'one waits for the other' USING ERRCODE = '40P01';
                ELSE RETURN NULL;
            END CASE;
        END $$;
        CREATE TRIGGER undo BEFORE INSERT ON siteconf.object
            FOR EACH STATEMENT EXECUTE FUNCTION public.undo()",
    );
    for (path, cause) in [
        ("a.xml", "not in this order"),
        ("b.xml", "one waits for the other"),
    ] {
        project.save("main", path, "<a/>");
        soon(|| {
            let log = daemon.log();
            let mut told = log
                .lines()
                .filter(|line| line.contains("a commit is repeated"));
            told.any(|line| line.contains(cause))
        });
    }
    assert_eq!(project.versions("main").len(), 2);
    assert_eq!(database.ask("SELECT last_value FROM public.tried"), ["4"]);
}

#[test]
fn another_store_in_place_of_the_one_that_was_there_is_not_used() {
    let fleet = Fleet::new();
    let mut daemon = fleet.daemon(&[]);
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    project.save("main", "a.xml", "<a/>");
    let reader = daemon.reader(&project);
    let read =
        |reader: &User, daemon: &Daemon| reader.at(daemon.address()).get(&project.raw("a.xml"));
    read(&reader, &daemon).expect_status(200);
    let database = daemon.database().unwrap();
    database.ask("UPDATE siteconf.format SET store_id = gen_random_uuid()");
    database.ask(END_CONNECTIONS);
    until(|| read(&reader, &daemon), 503);
    let save = project.user.put(&project.file("main", "a.xml"), b"<b/>");
    save.expect_status(503);
    daemon.anonymous().get("/readyz").expect_status(503);
    let told = "it holds another store than before; see that its address is right, and restart the service";
    soon(|| daemon.log().contains(told));
    daemon.stop();
    daemon.restart();
    read(&reader, &daemon).assert_bytes(200, b"<a/>");
}

#[test]
fn what_is_wrong_with_the_database_is_not_told_of_the_bucket() {
    let fleet = Fleet::with_bucket();
    let daemon = fleet.daemon(&[]);
    let database = daemon.database().unwrap();
    // What rows name places is asked for every five seconds.
    database.ask("REVOKE SELECT ON siteconf.object FROM daemon");
    let told = daemon.logged("what lies in the bucket is not looked after");
    let why = "the database cannot be used: permission denied for table object (42501)";
    assert_eq!(told["error"], why, "{told}");
    let log = daemon.log();
    assert!(!log.contains("large files cannot be kept"), "{log}");
}

#[test]
fn what_keeps_a_start_from_reading_is_told_with_the_address() {
    let fleet = Fleet::new();
    let daemon = fleet.daemon(&[]);
    let database = daemon.database().unwrap();
    // It finds what it looks for when it connects, and not what it needs next.
    database.ask("REVOKE SELECT ON siteconf.record FROM daemon");
    let refused = daemon.command(&["serve", "--listen", "127.0.0.1:0"], "");
    let url = database.url_of_daemon();
    assert_refused(
        &refused,
        1,
        &format!("{url}: the database cannot be used: permission denied for table record (42501)"),
    );
}

#[test]
fn a_daemon_that_gets_no_more_connections_is_not_ready_until_it_does() {
    let fleet = Fleet::new();
    let daemon = fleet.daemon(&[]);
    let database = daemon.database().unwrap();
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    let save = || project.user.put(&project.file("main", "a.xml"), b"<a/>");
    save().expect_status(201);
    let name = database.ask("SELECT current_database()")[0].clone();
    // Those that look and beat are made again at once, the one that writes when there is something to write.
    database.ask(&format!("ALTER DATABASE \"{name}\" CONNECTION LIMIT 2"));
    database.ask(END_CONNECTIONS);
    until(save, 503);
    // The ended ones count until they are gone: it may have been one that looks which got no place, for a moment.
    let save_and_look = || {
        drop(save());
        daemon.anonymous().get("/readyz")
    };
    until(save_and_look, 503).assert_error(503, NOT_READY);
    soon(|| daemon.log().contains("too many connections for database"));
    database.ask(&format!("ALTER DATABASE \"{name}\" CONNECTION LIMIT -1"));
    until(save, 200);
    daemon.anonymous().get("/readyz").expect_status(200);
}

#[test]
fn a_daemon_that_may_not_connect_any_more_reads_on_and_tells_why_nothing_is_saved() {
    let fleet = Fleet::new();
    let Place::Database { database, .. } = &fleet.place else {
        unreachable!("it lies in a database");
    };
    database.ask("CREATE ROLE shut_out LOGIN");
    let daemon = Daemon::start_at(fleet.place_of_role("shut_out"), own_folder(), &[]);
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    let save = || project.user.put(&project.file("main", "a.xml"), b"<a/>");
    save().expect_status(201);
    let look_up = |number: u32| {
        // Nobody knows yet that there is no such token.
        let unknown = daemon.token(&format!("{number:064x}"));
        unknown.get(&project.raw("a.xml")).expect_status(401);
    };
    // More than there are connections that read.
    (0..8).for_each(look_up);

    database.ask("ALTER ROLE shut_out NOLOGIN");
    for (last_asked, most) in [("siteconf.commit_v", "ALL"), ("FROM siteconf.record", "1")] {
        let ended = database.ask(&format!(
            "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE application_name = 'siteconf'
             AND datname = current_database() AND query LIKE '%{last_asked}%' LIMIT {most}"
        ));
        assert!(!ended.is_empty());
    }
    // Each of the connections has its turn, also the one that reads no more.
    (8..16).for_each(look_up);
    // Of the first it may not be known whether it was made.
    soon(|| save().text().contains(NOT_USABLE));
    save().assert_error(503, NOT_USABLE);
    soon(|| {
        let log = daemon.log();
        let mut told = log
            .lines()
            .filter(|line| line.contains("the database cannot be reached"));
        told.any(|line| line.contains("is not permitted to log in"))
    });
    let save_and_look = || {
        drop(save());
        daemon.anonymous().get("/readyz")
    };
    until(save_and_look, 503).assert_error(503, NOT_READY);
    (16..24).for_each(look_up);

    database.ask("ALTER ROLE shut_out LOGIN");
    until(save, 200);
    until(|| daemon.anonymous().get("/readyz"), 200);
    (24..32).for_each(look_up);
}

#[test]
fn a_right_that_the_role_of_daemons_lacks_is_told_until_it_is_given() {
    let fleet = Fleet::new();
    let daemon = fleet.daemon(&[]);
    let database = daemon.database().unwrap();
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    let save = |text: &[u8]| project.user.put(&project.file("main", "a.xml"), text);
    save(b"<a/>").expect_status(201);
    database.ask("REVOKE EXECUTE ON FUNCTION siteconf.commit_v2 FROM daemon");
    save(b"<b/>").assert_error(503, NOT_USABLE);
    daemon
        .anonymous()
        .get("/readyz")
        .assert_error(503, NOT_READY);
    let told = daemon.logged("the database refuses what it is asked");
    let why = "permission denied for function commit_v2 (42501)";
    assert_eq!(told["error"], why, "{told}");
    assert_refuses(
        &daemon,
        "changes: the role of the daemon lacks a right; its log says which",
    );
    database.ask("GRANT EXECUTE ON FUNCTION siteconf.commit_v2 TO daemon");
    save(b"<b/>").expect_status(200);
    daemon.anonymous().get("/readyz").expect_status(200);
    soon(|| status(&daemon) == well());
}

#[test]
fn no_daemon_gets_another_key_than_those_that_serve_beside_it() {
    let fleet = Fleet::new();
    let daemon = fleet.daemon(&[]);
    let seen = "SELECT host FROM siteconf.daemon";
    let database = daemon.database().unwrap();
    soon(|| !database.ask(seen).is_empty());
    let host = &database.ask(seen)[0];
    let folder = own_folder();
    let other = folder.path().join("other").to_str().unwrap().to_owned();
    let url = database.url_of_daemon();
    let serve = ["serve", "--listen", "127.0.0.1:0", "--store", &url];
    let with_key = [&serve[..], &["--server-key-file", &other]].concat();
    let refused = run(&[&with_key[..], &["--new-server-key"]].concat());
    assert_refused(
        &refused,
        1,
        &format!(
            "--new-server-key: daemons serve the store with the key that it has (seen in the last 10 \
             seconds: {host}); copy the key's file from one of them, or stop them all first"
        ),
    );
    assert_refused(
        &run(&with_key),
        1,
        &format!(
            "{other} is missing, and the store has been in use: with another key, tokens that are bound to \
             an instance would be refused. Copy the file from another daemon's machine, or restore it from \
             a backup; where it is lost for good, start once with --new-server-key, and reset the instance \
             of those tokens"
        ),
    );
    assert!(!std::path::Path::new(&other).exists());
}
