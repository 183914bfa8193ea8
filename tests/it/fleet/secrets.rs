//! The password for the database is nowhere but in the file or the variable that holds it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use super::Fleet;
use super::away::until;
use crate::harness::bucket::{Fault, SECRET_KEY};
use crate::harness::server::Database;
use crate::harness::{Daemon, Place, Project, own_folder};

const PASSWORD: &str = "a-Very/Secret@Word";
/// As it stands in a URL.
const ENCODED: &str = "a-Very%2FSecret%40Word";

fn siteconf() -> Command {
    Command::new(env!("CARGO_BIN_EXE_siteconf"))
}

#[track_caller]
fn assert_hidden(output: &std::process::Output) {
    let all = [&output.stdout[..], &output.stderr].concat();
    let all = String::from_utf8_lossy(&all);
    for secret in [PASSWORD, ENCODED, "Secret"] {
        assert!(!all.contains(secret), "{all}");
    }
}

#[test]
fn a_url_is_printed_and_refused_without_its_password() {
    let url =
        format!("postgres://siteconf:{ENCODED}@127.0.0.1:1/none?options={ENCODED}&sslmode=disable");
    let run = |arguments: &[&str]| {
        let output = siteconf()
            .args(arguments)
            .env("SITECONF_STORE", &url)
            .output()
            .unwrap();
        assert_hidden(&output);
        output
    };
    let printed = run(&["config", "print"]);
    let printed = String::from_utf8(printed.stdout).unwrap();
    let line = "store = \"postgres://siteconf:***@127.0.0.1:1/none?sslmode=disable&options=***\" # SITECONF_STORE \
                in the environment\n";
    assert!(printed.contains(line), "{printed}");
    assert!(run(&["serve", "--help"]).status.success());
    let away = run(&["user", "list", "--log", "trace"]);
    assert_eq!(away.status.code(), Some(1));
    let both = run(&["user", "list", "--data", "/nowhere"]);
    assert_eq!(
        String::from_utf8_lossy(&both.stderr),
        "siteconf: data = \"/nowhere\" (--data): the store lies in PostgreSQL, says store (SITECONF_STORE \
         in the environment); give one of the two\n"
    );
    for (wrong, why) in [
        (
            format!("mysql://siteconf:{ENCODED}@127.0.0.1/none"),
            "it must be of the form postgres://[user@]host[:port]/database",
        ),
        (
            format!("postgres://siteconf:{PASSWORD}@127.0.0.1/none"),
            "a slash, a question mark and an @ in a name or a password must be written %2F, %3F and %40",
        ),
    ] {
        let refused = siteconf()
            .args(["user", "list", "--store", &wrong])
            .output()
            .unwrap();
        assert_hidden(&refused);
        assert_eq!(
            String::from_utf8_lossy(&refused.stderr),
            format!("siteconf: store (--store): {why}\n")
        );
        assert_eq!(refused.status.code(), Some(2));
    }
}

#[test]
fn a_broken_file_of_settings_does_not_show_the_password_in_it() {
    let folder = own_folder();
    let file = folder.path().join("siteconf.toml");
    fs::write(
        &file,
        format!("store = \"postgres://siteconf:{ENCODED}@127.0.0.1/none\n"),
    )
    .unwrap();
    let refused = siteconf()
        .args(["config", "check", "--config"])
        .arg(&file)
        .output()
        .unwrap();
    assert_hidden(&refused);
    assert_eq!(refused.status.code(), Some(2));
}

#[test]
fn a_password_from_a_file_reaches_the_database_and_no_log() {
    let database = Database::without_store();
    database.ask(&format!(
        "CREATE ROLE locked LOGIN PASSWORD '{PASSWORD}';
         GRANT CREATE ON DATABASE {} TO locked",
        database.name
    ));
    let folder = own_folder();
    let password_file = folder.path().join("password");
    fs::write(&password_file, format!("{PASSWORD}\n")).unwrap();
    let url = database.url.replace("siteconf@", "locked@");
    let init = |file: &std::path::Path| {
        let output = siteconf()
            .args(["init", "--store", &url, "--log", "trace"])
            .arg("--server-key-file")
            .arg(folder.path().join("key"))
            .arg("--postgres-password-file")
            .arg(file)
            .output()
            .unwrap();
        assert_hidden(&output);
        output
    };
    let wrong = folder.path().join("wrong");
    fs::write(&wrong, "another Secret\n").unwrap();
    let refused = init(&wrong);
    let said = String::from_utf8_lossy(&refused.stderr);
    let why = "the database cannot be used: password authentication failed for user \"locked\"";
    assert!(said.contains(why), "{said}");
    assert!(init(&password_file).status.success());
    fs::write(&wrong, "\n").unwrap();
    let refused = init(&wrong);
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(
        said.contains("its first line must be the password"),
        "{said}"
    );
}

#[test]
fn a_password_that_is_changed_is_read_without_a_restart() {
    const NEXT: &str = "another Secret";
    let fleet = Fleet::new();
    let Place::Database { database, .. } = &fleet.place else {
        unreachable!("it lies in a database");
    };
    let file = fleet.folder.path().join("password");
    let change = |password: &str| {
        fs::write(&file, format!("{password}\n")).unwrap();
        database.ask(&format!("ALTER ROLE rotated PASSWORD '{password}'"));
    };
    let end_connections = || {
        // Whatever is asked then goes over new ones.
        database.ask(
            "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
             WHERE usename = 'rotated' AND datname = current_database()",
        );
    };
    database.ask("CREATE ROLE rotated LOGIN");
    change(PASSWORD);
    // Commands have the role of this one, which needs no password.
    let beside = fleet.daemon(&[]);
    let project = Project::with_main(&beside.user("alice", &[]), "acme/shop");
    let shown = file.to_str().unwrap();
    let daemon = Daemon::start_at(
        fleet.place_of_role("rotated"),
        own_folder(),
        &["--log", "trace", "--postgres-password-file", shown],
    );
    let project = project.seen_by(&daemon.session("alice"));
    let save = || project.user.put(&project.file("main", "a.xml"), b"<a/>");
    save().expect_status(201);

    change(NEXT);
    end_connections();
    until(save, 200);

    // Without it the last one holds.
    fs::remove_file(&file).unwrap();
    end_connections();
    until(save, 200);
    let told = daemon.logged("cannot be read anew; what was there before is used");
    let fault = format!(
        "postgres_password_file names {shown}: it cannot be read: No such file or directory (os error 2)"
    );
    assert_eq!(told["fault"], fault, "{told}");
    let log = daemon.log();
    assert!(!log.contains(PASSWORD) && !log.contains(NEXT));
}

#[test]
fn a_check_of_the_settings_looks_for_the_files_that_they_name() {
    let check = |arguments: &[&str]| {
        let output = siteconf()
            .args([
                "config",
                "check",
                "--store",
                "postgres://siteconf@localhost/none",
            ])
            .args(arguments)
            .output()
            .unwrap();
        String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
    };
    let no_key = "server_key_file is not set: ";
    let said = check(&[]);
    assert!(said.contains(no_key), "{said}");
    let said = check(&["--postgres-password-file", "/nowhere"]);
    assert!(
        said.starts_with("siteconf: 2 settings are wrong:\n"),
        "{said}"
    );
    assert!(
        said.contains("postgres_password_file = \"/nowhere\""),
        "{said}"
    );
    let said = check(&["--server-key-file", "/nowhere"]);
    assert_eq!(said, "the settings are right\n");
}

#[test]
fn files_of_a_database_are_refused_for_a_folder() {
    let refused = siteconf()
        .args(["user", "list", "--server-key-file", "/nowhere"])
        .output()
        .unwrap();
    assert_eq!(
        String::from_utf8_lossy(&refused.stderr),
        "siteconf: server_key_file = \"/nowhere\" (--server-key-file): it is for a store in PostgreSQL, \
         and store names none\n"
    );
}

#[test]
fn the_first_password_is_printed_once_and_kept_nowhere() {
    let fleet = Fleet::new();
    let Place::Database { first_password, .. } = &fleet.place else {
        unreachable!("it lies in a database");
    };
    let daemon = fleet.daemon(&["--log", "trace"]);
    daemon.session("admin");
    assert!(!daemon.log().contains(first_password));
    for entry in walkdir::WalkDir::new(fleet.folder.path()) {
        let entry = entry.unwrap();
        if entry.file_type().is_file() {
            let text = fs::read(entry.path()).unwrap();
            let holds = text
                .windows(first_password.len())
                .any(|part| part == first_password.as_bytes());
            assert!(!holds, "{}", entry.path().display());
        }
    }
}

#[test]
fn the_keys_of_a_bucket_are_in_no_log_and_no_answer() {
    let fleet = Fleet::with_bucket();
    let daemon = fleet.daemon(&["--log", "trace"]);
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    let large = vec![b'x'; 100_000];
    project.save("main", "large.txt", &large);
    let read = project.user.get(&project.file("main", "large.txt"));
    read.assert_bytes(200, &large);
    fleet.bucket().fault(Fault::Fails, None);
    project
        .user
        .put(&project.file("main", "more.txt"), &vec![b'y'; 100_000])
        .expect_status(503);
    daemon.logged("500 Internal Server Error");
    assert!(!daemon.log().contains(SECRET_KEY));
    let printed = daemon.command(&["config", "print"], "");
    let said = String::from_utf8_lossy(&printed.stdout);
    let url = fleet.bucket().url().replace('?', "?region=us-east-1&");
    assert!(
        said.contains(&format!("\nblobs = \"{url}\" # --blobs\n")),
        "{said}"
    );
    assert!(!said.contains(SECRET_KEY), "{said}");
}

#[test]
fn what_is_wrong_with_a_bucket_in_the_settings_is_told_without_what_may_be_a_secret() {
    let store = ["--store", "postgres://siteconf@127.0.0.1:1/none"];
    let refused = |arguments: &[&str]| {
        let output = siteconf()
            .args(["config", "check", "--server-key-file", "/nowhere"])
            .args(arguments)
            .env_remove("AWS_ACCESS_KEY_ID")
            .output()
            .unwrap();
        assert_hidden(&output);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let with = |more: &[&str]| refused(&[&store[..], more].concat());
    assert_eq!(
        with(&["--blobs", "s3://key:Secret@shop?region=eu-1"]),
        "siteconf: blobs (--blobs): it takes no keys: give s3_credentials_file, or AWS_ACCESS_KEY_ID and \
         AWS_SECRET_ACCESS_KEY in the environment\n"
    );
    assert_eq!(
        with(&["--blobs", "s3://shop?region=eu-1&key=Secret"]),
        "siteconf: blobs (--blobs): behind the question mark it takes region, endpoint, allow_http=true, \
         role=machine and checksum=sha256 alone\n"
    );
    assert_eq!(
        with(&["--blobs", "s3://shop?region=eu-1"]),
        "siteconf: there are no keys for s3://shop?region=eu-1: give s3_credentials_file, or \
         AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment; on a machine with a role, say \
         role=machine in blobs\n"
    );
    let folder = own_folder();
    let keys = folder.path().join("keys");
    fs::write(&keys, "aws_secret_access_key = Secret\n").unwrap();
    let keys = keys.to_str().unwrap();
    assert_eq!(
        with(&[
            "--blobs",
            "s3://shop?region=eu-1",
            "--s3-credentials-file",
            keys
        ]),
        format!(
            "siteconf: s3_credentials_file = \"{keys}\" (--s3-credentials-file): it must have the lines \
             \"aws_access_key_id = …\" and \"aws_secret_access_key = …\", under [default] or under \
             nothing\n"
        )
    );
    let said = refused(&["--blobs", "s3://shop?region=eu-1"]);
    assert!(
        said.contains("blobs (--blobs): it is for a store in PostgreSQL"),
        "{said}"
    );
}

#[test]
fn a_secret_that_everybody_may_read_is_told_by_a_check_and_at_a_start() {
    let folder = own_folder();
    let url = format!("postgres://siteconf:{ENCODED}@127.0.0.1:1/none");
    let lines = format!("store = \"{url}\"\n");
    let keys = "aws_access_key_id = a\naws_secret_access_key = b\n";
    let files = [("config", &*lines), ("keys", keys), ("server-key", "")].map(|(name, text)| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path
    });
    let check = |mode: u32| {
        for file in &files {
            fs::set_permissions(file, fs::Permissions::from_mode(mode)).unwrap();
        }
        let output = siteconf()
            .args(["config", "check", "--blobs", "s3://shop?region=eu-1"])
            .args(["--config".as_ref(), files[0].as_os_str()])
            .args(["--s3-credentials-file".as_ref(), files[1].as_os_str()])
            .args(["--server-key-file".as_ref(), files[2].as_os_str()])
            .output()
            .unwrap();
        assert_hidden(&output);
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    // A group is that of a unit, or of those who share a key.
    assert_eq!(check(0o640), "");
    let [config, keys, key] = files.each_ref().map(|file| file.display().to_string());
    let everybody = "everybody on this machine may read";
    assert_eq!(
        check(0o644),
        format!(
            "siteconf: {config}: {everybody} the password in store: chmod o= it\n\
             siteconf: {key}: {everybody} the server key: chmod o= it\n\
             siteconf: {keys}: {everybody} the keys for the bucket: chmod o= it\n"
        )
    );

    let fleet = Fleet::new();
    let key = fleet.folder.path().join("server-key");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
    let daemon = fleet.daemon(&[]);
    let told = daemon.logged("everybody on this machine may read the server key: chmod o= it");
    assert_eq!(
        (told["level"].as_str(), told["file"].as_str()),
        (Some("WARN"), key.to_str())
    );
}
