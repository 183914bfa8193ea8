//! Commands on a store in PostgreSQL: what makes one, what is refused, and what is not offered yet.

use std::process::{Command, Output};

use super::Fleet;
use crate::harness::server::Database;
use crate::harness::{Daemon, Project, own_folder};

/// Runs a command; it must fail with this code and say this alone.
#[track_caller]
pub(super) fn assert_refused(output: &Output, code: i32, said: &str) {
    let err = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<_> = err
        .lines()
        .filter(|line| line.starts_with("siteconf: "))
        .collect();
    assert_eq!(lines, [format!("siteconf: {said}")], "{output:?}");
    assert_eq!(output.status.code(), Some(code), "{output:?}");
    assert!(output.stdout.is_empty(), "{output:?}");
}

/// A daemon that starts where it should not is ended after some time.
pub(super) fn run(arguments: &[&str]) -> Output {
    Command::new("timeout")
        .args(["60", env!("CARGO_BIN_EXE_siteconf")])
        .args(arguments)
        .output()
        .unwrap()
}

#[test]
fn a_store_is_made_once_and_served_only_once_it_is_made() {
    let (database, folder) = (Database::without_store(), own_folder());
    let url = database.url.as_str();
    let key_file = folder.path().join("key");
    let key = key_file.to_str().unwrap();
    let serve = ["serve", "--listen", "127.0.0.1:0", "--store", url];
    let init = ["init", "--store", url];
    let with_key = ["--server-key-file", key];
    assert_refused(
        &run(&[&serve[..], &with_key].concat()),
        1,
        &format!(
            "{url}: the database cannot be used: it has no store; \"siteconf init\" makes one"
        ),
    );
    let no_key = "server_key_file is not set: a store in PostgreSQL needs a file of its server key, which \
                  \"siteconf init\" makes, and each daemon the same one";
    assert_refused(&run(&init), 2, no_key);
    assert_eq!(database.ask("SELECT to_regclass('siteconf.format')"), [""]);

    let made = run(&[&init[..], &with_key].concat());
    assert!(made.status.success(), "{made:?}");
    let said = String::from_utf8(made.stdout).unwrap();
    let password = said.strip_prefix("user admin, password ").unwrap();
    assert_eq!(password.lines().count(), 1, "{said}");
    let again = run(&[&init[..], &with_key].concat());
    assert_refused(&again, 1, &format!("{url}: there is a store here already"));
    let all = "SELECT md5(string_agg(r::text, '' ORDER BY key)) FROM siteconf.record r";
    let before = database.ask(all);
    let if_absent = run(&[&init[..], &with_key, &["--if-absent"]].concat());
    assert!(
        if_absent.status.success() && if_absent.stdout.is_empty(),
        "{if_absent:?}"
    );
    assert_eq!(database.ask(all), before);
    assert_refused(&run(&serve), 2, no_key);

    // Another key than the store's serves nobody.
    let other = folder.path().join("other");
    std::fs::write(&other, format!("{:064x}\n", 7)).unwrap();
    let other = other.to_str().unwrap();
    let refused = run(&[&serve[..], &["--server-key-file", other]].concat());
    let said = String::from_utf8_lossy(&refused.stderr);
    let fault = format!("{other} is not the key of this store");
    assert!(said.contains(&fault), "{said}");
    assert_eq!(refused.status.code(), Some(1));

    database.ask("UPDATE siteconf.format SET format = 7");
    let format = format!(
        "{url}: the database cannot be used: it has format 7, and this program reads format 2"
    );
    assert_refused(&run(&[&serve[..], &with_key].concat()), 1, &format);
    assert_refused(&run(&[&init[..], &with_key].concat()), 1, &format);
}

#[test]
fn of_two_who_make_a_store_at_once_one_has() {
    for _ in 0..5 {
        let (database, folder) = (Database::without_store(), own_folder());
        let keys = ["one", "other"].map(|name| folder.path().join(name));
        let wishes = keys.each_ref().map(|key| {
            let key = key.to_str().unwrap();
            ["--store", database.url.as_str(), "--server-key-file", key]
        });
        let made = std::thread::scope(|scope| {
            let inits =
                wishes.map(|wish| scope.spawn(move || run(&[&["init"], &wish[..]].concat())));
            inits.map(|init| init.join().unwrap())
        });
        let has_made = made.each_ref().map(|made| made.status.success());
        assert!(has_made[0] != has_made[1], "{made:?}");
        let [winner, loser] = if has_made[0] { [0, 1] } else { [1, 0] };
        assert_eq!(made[loser].status.code(), Some(1), "{made:?}");
        assert!(made[loser].stdout.is_empty(), "{made:?}");
        let proof = "SELECT convert_from(value, 'UTF8') FROM siteconf.record
                     WHERE key = convert_to('server-key', 'UTF8')";
        let [kept] = &database.ask(proof)[..] else {
            panic!("there is one key");
        };
        let key = std::fs::read_to_string(&keys[winner]).unwrap();
        let key = siteconf::base::secret::ServerKey::parse(&key).unwrap();
        assert!(kept.contains(&key.proof()), "{kept}");
    }
}

#[test]
fn a_store_that_was_half_made_is_not_served_and_is_finished() {
    let (database, folder) = (Database::new(), own_folder());
    let key_file = folder.path().join("key");
    let wishes = [
        "--store",
        database.url.as_str(),
        "--server-key-file",
        key_file.to_str().unwrap(),
    ];
    let serve = [&["serve", "--listen", "127.0.0.1:0"], &wishes[..]].concat();
    assert_refused(
        &run(&serve),
        1,
        &format!(
            "{}: the store has no account yet: \"siteconf init\" makes the first",
            database.url
        ),
    );
    // All that is there would be what nothing needs, where records are still to be restored.
    let none =
        "the store has no account, so it is not made or not restored whole; nothing was removed";
    assert_refused(&run(&[&["gc"], &wishes[..]].concat()), 1, none);
    assert!(!key_file.exists());
    assert!(run(&[&["init"], &wishes[..]].concat()).status.success());
    assert!(key_file.exists());
}

#[test]
fn a_database_that_does_not_answer_is_named() {
    let folder = own_folder();
    let key = folder.path().join("key");
    let url = "postgres://siteconf@127.0.0.1:1/none";
    for command in ["serve", "init", "user"] {
        let mut arguments = vec![command, "--store", url];
        if command == "user" {
            arguments.push("list");
        } else {
            arguments.extend(["--server-key-file", key.to_str().unwrap()]);
        }
        let refused = run(&arguments);
        let said = String::from_utf8_lossy(&refused.stderr);
        let line = said.lines().find(|line| line.starts_with("siteconf: "));
        let start = format!("siteconf: {url}: ");
        assert!(line.is_some_and(|line| line.starts_with(&start)), "{said}");
        assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    }
}

#[test]
fn what_fails_in_a_store_that_was_opened_is_named_too() {
    let fleet = Fleet::new();
    let daemon = fleet.daemon(&[]);
    Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    let database = daemon.database().expect("it lies in one");
    database.ask("REVOKE SELECT ON siteconf.record FROM daemon");
    let said = format!(
        "{}: the database cannot be used: permission denied for table record (42501)",
        database.url_of_daemon()
    );
    for command in [
        &["user", "list"][..],
        &["gc"],
        &["prune"],
        &["debug", "refs"],
        &["project", "show", "acme/shop.erp"],
        &["put", "acme/shop.erp", "main", "b.xml"],
        &["token", "list"],
    ] {
        assert_refused(&daemon.command(command, ""), 1, &said);
    }
}

#[test]
fn what_only_a_folder_offers_is_refused_with_what_to_use_instead() {
    let fleet = Fleet::new();
    let daemon = fleet.daemon(&[]);
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    project.save("main", "a.xml", "<a/>");
    let backup = fleet.folder.path().join("backup.tar");
    let backup = backup.to_str().unwrap();
    for (command, begins) in [
        (&["backup", backup][..], "\"siteconf backup\""),
        (&["restore", backup], "\"siteconf restore\""),
        (&["gc", "--compact"], "\"siteconf gc --compact\""),
        (&["upgrade"], "\"siteconf upgrade\""),
    ] {
        let refused = daemon.command(command, "");
        let said = String::from_utf8_lossy(&refused.stderr);
        let start = format!("siteconf: {begins} is not offered for a store in PostgreSQL yet: ");
        assert!(said.starts_with(&start), "{command:?}: {said}");
        assert_eq!(said.lines().count(), 1, "{said}");
        assert_eq!(refused.status.code(), Some(1), "{command:?}");
        assert!(refused.stdout.is_empty(), "{refused:?}");
    }
    assert!(!fleet.folder.path().join("backup.tar").exists());
    let compact = daemon.command(&["gc", "--compact"], "");
    let said = String::from_utf8_lossy(&compact.stderr);
    let shrinks = "at VACUUM FULL siteconf.object, siteconf.record\n";
    assert!(said.ends_with(shrinks), "{said}");
    for command in [
        &["status"][..],
        &["debug", "check"],
        &["debug", "digest", "acme/shop.erp:main"],
        &["debug", "manifest", "acme/shop.erp:main"],
        &["user", "list"],
        &["project", "show", "acme/shop.erp"],
        &["history", "acme/shop.erp", "main"],
        &["cat", "acme/shop.erp", "main", "a.xml"],
    ] {
        daemon.run(command, "");
    }
}

#[test]
fn commands_change_what_the_daemon_serves_and_it_sees_it_at_once() {
    let daemon: Daemon = Fleet::new().daemon(&[]);
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    project.save("main", "a.xml", "<a/>");
    let reader = daemon.reader(&project);
    daemon.run(&["put", "acme/shop.erp", "main", "a.xml"], "<b/>");
    reader.get(&project.raw("a.xml")).assert_bytes(200, b"<b/>");
    daemon.run(&["user", "disable", "alice"], "");
    reader.get(&project.raw("a.xml")).expect_status(401);
}
