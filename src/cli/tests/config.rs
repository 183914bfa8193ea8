//! Settings that are looked at.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::ExitCode;

use super::{Desk, lay};

#[test]
fn settings_are_checked_all_at_once_and_nothing_is_opened() {
    let desk = Desk::new();
    let config = desk.path("siteconf.toml").display().to_string();
    let absent = desk.path("absent").display().to_string();
    let check = [
        "config", "check", "--data", &absent, "--config", &config, "--listen",
    ];
    lay(
        &desk.path(""),
        &[("siteconf.toml", "shutdown_s = \"1m\"\n")],
    );
    let fine = desk.done(&[&check[..], &["127.0.0.1:1"]].concat());
    assert_eq!(fine, "the settings are right\n");
    assert!(!desk.path("absent").exists());

    lay(
        &desk.path(""),
        &[(
            "siteconf.toml",
            "shutdown = 1\n\n[limits]\nbody_s_max = 0\n",
        )],
    );
    let said = desk.refused(2, &[&check[..], &["8080", "--log", "verbose"]].concat());
    assert_eq!(
        said,
        format!(
            "siteconf: 2 settings are wrong:\n\
             {config}, line 1: there is no setting \"shutdown\"\n\
             limits.body_s_max = 0 ({config}, line 4): it must be at least 1\n"
        )
    );
    lay(
        &desk.path(""),
        &[("siteconf.toml", "metrics_listen = \"x\"")],
    );
    let said = desk.refused(2, &[&check[..], &["8080", "--log", "verbose"]].concat());
    let address = "it must be an address and a port, as in 127.0.0.1:8080";
    assert_eq!(
        said,
        format!(
            "siteconf: 3 settings are wrong:\n\
             log = \"verbose\" (--log): \"verbose\" is no level: it must be error, warn, info, debug, \
             trace or off, or a part and its level, as in siteconf::store=debug\n\
             listen = 8080 (--listen): {address}\n\
             metrics_listen = \"x\" ({config}, line 1): {address}\n"
        )
    );
    lay(&desk.path(""), &[("siteconf.toml", "tls_cert = \"x\"")]);
    assert_eq!(
        desk.refused(2, &[&check[..], &["127.0.0.1:1"]].concat()),
        format!(
            "siteconf: tls_cert = \"x\" ({config}, line 1): nothing speaks TLS: set tls_listen to an \
             address and a port\n"
        )
    );
}

/// As the start refuses it.
#[test]
fn a_log_that_cannot_be_opened_is_told_before_the_start() {
    let desk = Desk::new();
    lay(&desk.path(""), &[("file", "")]);
    let path = |name: &str| desk.path(name).display().to_string();
    for fine in ["file", "new", "absent/siteconf.log"] {
        desk.done(&["config", "check", "--log-file", &path(fine)]);
    }
    assert!(!desk.path("new").exists());
    for (wrong, reason) in [
        ("", "Is a directory (os error 21)"),
        ("file/siteconf.log", "Not a directory (os error 20)"),
    ] {
        let wrong = path(wrong);
        assert_eq!(
            desk.refused(2, &["config", "check", "--log-file", &wrong]),
            format!(
                "siteconf: log_file = \"{wrong}\" (--log-file): it cannot be opened: {reason}\n"
            )
        );
    }
}

/// Its lines would get into the store's own files, or into a folder that may hold nothing else before it is a store.
#[test]
fn a_log_in_the_folder_of_the_store_is_refused_before_it_is_opened() {
    let desk = Desk::new();
    fs::create_dir(desk.path("empty")).unwrap();
    symlink(desk.path("data"), desk.path("linked")).unwrap();
    let path = |name: &str| desk.path(name).display().to_string();
    let before = fs::read(desk.path("data/store.db")).unwrap();
    for (data, log) in [
        ("data", "data/store.db"),
        ("data", "data/store.db-wal"),
        ("data", "linked/store.db"),
        ("linked", "data/secrets/new.log"),
        ("empty", "empty/new.log"),
        ("absent", "absent/new.log"),
        ("absent", "absent"),
    ] {
        let (data, log) = (path(data), path(log));
        for words in [&["config", "check"][..], &["serve"]] {
            assert_eq!(
                desk.refused(2, &[words, &["--data", &data, "--log-file", &log]].concat()),
                format!(
                    "siteconf: log_file = \"{log}\" (--log-file): it must lie outside of the folder of the \
                     store, {data}, in which only the store's own files may be\n"
                )
            );
        }
    }
    assert!(fs::read(desk.path("data/store.db")).unwrap() == before);
    assert!(!desk.path("data/new.log").exists() && !desk.path("absent").exists());
    assert_eq!(fs::read_dir(desk.path("empty")).unwrap().count(), 0);
    for (data, log) in [
        ("data", "data.log"),
        ("absent", "absent/../new.log"),
        ("data", "linked/../new.log"),
        // So that whoever has it there can go on.
        ("linked", "data/secrets/../new.log"),
    ] {
        let (data, log) = (path(data), path(log));
        desk.done(&["config", "check", "--data", &data, "--log-file", &log]);
    }
}

#[test]
fn a_place_that_cannot_be_is_told_before_the_start() {
    let desk = Desk::new();
    lay(&desk.path(""), &[("file", "")]);
    let file = desk.path("file").display().to_string();
    assert_eq!(
        desk.refused(2, &["config", "check", "--data", &file]),
        format!("siteconf: data = \"{file}\" (--data): it must be a folder\n")
    );
    for words in [&["config", "check"][..], &["serve"], &["status"]] {
        assert_eq!(
            desk.refused(2, &[words, &["--data", ""]].concat()),
            "siteconf: data = \"\" (--data): it names no folder\n"
        );
    }
    let long = format!("/{}", "x".repeat(107));
    desk.done(&["config", "check", "--unix-listen", &long[..107]]);
    assert_eq!(
        desk.refused(2, &["config", "check", "--unix-listen", &long]),
        format!(
            "siteconf: unix_listen = \"{long}\" (--unix-listen): it is too long for a socket: it must have \
             at most 107 bytes\n"
        )
    );
}

#[test]
fn what_holds_is_printed_as_a_file_that_says_the_same() {
    let desk = Desk::new();
    let config = desk.path("siteconf.toml").display().to_string();
    lay(
        &desk.path(""),
        &[(
            "siteconf.toml",
            "file_bytes_max = \"1G\"\nhosts = [\"a\", \"b\"]\nroot_mount = true\n",
        )],
    );
    let printed = desk.done(&["config", "print", "--config", &config, "--body-s-max", "1m"]);
    for line in [
        &format!("file_bytes_max = 1073741824 # {config}, line 1"),
        &format!("hosts = [\"a\", \"b\"] # {config}, line 2"),
        &format!("root_mount = true # {config}, line 3"),
        "limits.body_s_max = 60 # --body-s-max",
        "keep_days = 0 # the default",
        "# external_url = \"\" # the default",
    ] {
        assert!(printed.lines().any(|l| l == line), "{line}\n{printed}");
    }
    let without_places = |text: &str| -> Vec<String> {
        let value = |line: &str| line.rsplit_once(" # ").map(|(value, _)| value.to_owned());
        text.lines().filter_map(value).collect()
    };
    lay(&desk.path(""), &[("again.toml", &printed)]);
    let again = desk.path("again.toml").display().to_string();
    let second = desk.done(&["config", "print", "--config", &again]);
    assert_eq!(without_places(&second), without_places(&printed));

    let ran = desk.run(&["config", "print", "--body-s-max", "0"]);
    assert_eq!((ran.code, ran.out.as_str()), (ExitCode::from(2), ""));
}

#[test]
fn a_word_that_is_no_level_is_no_filter() {
    let desk = Desk::new();
    for (filter, is_one) in [
        ("debug", true),
        ("WARN", true),
        ("off", true),
        ("siteconf", true),
        ("info,siteconf::store=debug", true),
        ("verbose", false),
        ("info,loud", false),
        ("siteconf::store=loud", false),
    ] {
        let ran = desk.run(&["--log", filter, "user", "list"]);
        let code = if is_one { 0 } else { 2 };
        assert_eq!(ran.code, ExitCode::from(code), "{filter}: {ran:?}");
    }
}
