//! What is told where, which of it holds, and how a wrong one is refused.

use std::fs;

use clap::Parser;
use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::*;
use crate::base::limits::{DISK_FREE_MIN_DEFAULT, DISK_LOW_BYTES_DEFAULT};
use crate::cli::args::{Cli, Command};

/// What `serve` goes by with these flags.
fn served(flags: &[&str]) -> Result<Settings> {
    let line = ["siteconf", "serve"].iter().chain(flags);
    let cli = Cli::try_parse_from(line).unwrap();
    let Command::Serve(serve) = cli.command else {
        panic!("the line says serve");
    };
    Settings::gather(cli.settings, serve.settings.given())
}

/// The same with a file.
fn served_with(text: &str, flags: &[&str]) -> Result<Settings> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("siteconf.toml");
    fs::write(&path, text).unwrap();
    served(&[&["--config", path.to_str().unwrap()], flags].concat()).map_err(|error| match error {
        Error::Usage(said) => Error::Usage(said.replace(path.to_str().unwrap(), "FILE")),
        other => other,
    })
}

#[track_caller]
fn refusal(settings: Result<Settings>) -> String {
    let error = settings.unwrap_err();
    assert!(matches!(error, Error::Usage(_)), "{error:?}");
    error.to_string()
}

/// A text as `told` gives it.
fn sourced(text: &str) -> Sourced<String> {
    let given = Given::plain(&SETTINGS[0], Source::Default, vec![text.into()]);
    given.sourced(Given::text).unwrap()
}

/// A folder of a store as `told` gives it.
fn sourced_folder(path: &str) -> Sourced<StoreAddress> {
    let given = Given::plain(&SETTINGS[0], Source::Default, vec![path.into()]);
    given.holding(StoreAddress::Folder(path.into()))
}

/// A path as `told` gives it.
fn sourced_path(path: &str) -> Sourced<PathBuf> {
    let given = Given::plain(&SETTINGS[0], Source::Default, vec![path.into()]);
    given.sourced(Given::path).unwrap()
}

#[test]
fn without_a_word_the_defaults_hold() {
    assert_eq!(
        served(&[]).unwrap(),
        Settings {
            store: sourced_folder("./siteconf-data"),
            postgres_password_file: sourced_path(""),
            server_key_file: sourced_path(""),
            blobs: None,
            s3_credentials_file: sourced_path(""),
            s3_ca: sourced_path(""),
            listen: sourced("127.0.0.1:8080"),
            tls_listen: sourced(""),
            tls_cert: sourced_path(""),
            tls_key: sourced_path(""),
            unix_listen: sourced_path(""),
            external_url: None,
            hosts: vec![],
            root_mount: false,
            trusted_proxies: vec![],
            archive_bytes_max: 10 << 30,
            file_bytes_max: 5 << 30,
            blobs_keep_days: 14,
            keep_deleted_days: 30,
            keep: Retention::default(),
            sessions: SessionLifetimes::default(),
            drain_s: 0,
            shutdown_s: 30,
            limits: Limits::default(),
            count_limits: CountLimits::default(),
            audit_keep_days: 400,
            disk_low_bytes: DISK_LOW_BYTES_DEFAULT,
            disk_free_min: DISK_FREE_MIN_DEFAULT,
            metrics_listen: sourced(""),
            access_log: AccessLog::All,
            reads: Reads::Bounded,
            log_format: LogFormat::Auto,
            log_file: sourced_path(""),
            log: sourced(""),
        }
    );
}

#[test]
fn the_file_gives_way_to_flags() {
    let settings = served_with(
        "data = \"/srv/a\"\nlisten = \"[::]:80\"\ntls_listen = \"[::]:443\"\n\
         tls_cert = \"/etc/cert.pem\"\ntls_key = \"/etc/key.pem\"\n\
         unix_listen = \"/run/s.sock\"\nexternal_url = \"https://conf.example/\"\n\
         hosts = [\"conf.inner\"]\nroot_mount = true\n\
         trusted_proxies = [\"10.0.0.0/8\", \"::1\"]\narchive_bytes_max = 12\n\
         file_bytes_max = 0x10\nblobs_keep_days = 10\nkeep_deleted_days = 7\nkeep_snapshots = 8\nkeep_days = 9\n\
         session_absolute_s = 20\nsession_idle_s = 30\n\
         drain_s = 3\nshutdown_s = 40\naudit_keep_days = 9\ndisk_low_bytes = 50\ndisk_free_min = 40\n\
         metrics_listen = \"::1:9\"\naccess_log = \"off\"\nreads = \"strict\"\n\
         log_format = \"text\"\nlog_file = \"/var/log/x\"\nlog = \"debug\"\nlimits.connections_max = 7\n",
        &[
            "--data",
            "/srv/b",
            "--file-bytes-max",
            "11",
            "--body-s-max=3",
            "--projects-account-max=5",
        ],
    );
    assert_eq!(
        settings.unwrap(),
        Settings {
            store: sourced_folder("/srv/b"),
            postgres_password_file: sourced_path(""),
            server_key_file: sourced_path(""),
            blobs: None,
            s3_credentials_file: sourced_path(""),
            s3_ca: sourced_path(""),
            listen: sourced("[::]:80"),
            tls_listen: sourced("[::]:443"),
            tls_cert: sourced_path("/etc/cert.pem"),
            tls_key: sourced_path("/etc/key.pem"),
            unix_listen: sourced_path("/run/s.sock"),
            external_url: Some("https://conf.example".into()),
            hosts: vec!["conf.inner".into()],
            root_mount: true,
            trusted_proxies: vec!["10.0.0.0/8".parse().unwrap(), "::1".parse().unwrap()],
            archive_bytes_max: 12,
            file_bytes_max: 11,
            blobs_keep_days: 10,
            keep_deleted_days: 7,
            keep: Retention {
                snapshots: 8,
                days: 9,
            },
            sessions: SessionLifetimes {
                absolute_s: 20,
                idle_s: 30,
            },
            drain_s: 3,
            shutdown_s: 40,
            limits: Limits {
                connections_max: 7,
                body_s_max: 3,
                ..Limits::default()
            },
            count_limits: CountLimits {
                projects_account_max: 5,
                ..CountLimits::default()
            },
            audit_keep_days: 9,
            disk_low_bytes: 50,
            disk_free_min: 40,
            metrics_listen: sourced("::1:9"),
            access_log: AccessLog::Off,
            reads: Reads::Strict,
            log_format: LogFormat::Text,
            log_file: sourced_path("/var/log/x"),
            log: sourced("debug"),
        }
    );
}

#[test]
fn a_flag_takes_lists_with_commas_and_a_switch_needs_no_value() {
    for url in [
        "http://[::1]:8080",
        "https://a_b.example",
        "http://10.0.0.1:80",
    ] {
        let settings = served(&["--external-url", url]).unwrap();
        assert_eq!(settings.external_url.as_deref(), Some(url));
    }
    let settings = served(&["--hosts", "a,b", "--hosts=c", "--root-mount"]).unwrap();
    assert_eq!(settings.hosts, ["a", "b", "c"]);
    assert!(settings.root_mount);
    assert!(!served(&["--root-mount=false"]).unwrap().root_mount);
}

#[test]
fn only_a_small_regular_file_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    mknodat(CWD, at("pipe"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    fs::write(at("longest"), "#".repeat(64 << 10)).unwrap();
    fs::write(at("huge"), "#".repeat((64 << 10) + 1)).unwrap();
    fs::write(at("binary"), [0xff]).unwrap();
    let read = |path: &Path| served(&["--config", path.to_str().unwrap()]);
    let irregular = "it must be a regular file";
    for (path, reason) in [
        (at("pipe"), irregular),
        ("/dev/zero".into(), irregular),
        (at(""), irregular),
        (at("huge"), "it is longer than 65536 bytes"),
        (
            at("absent"),
            "it cannot be read: No such file or directory (os error 2)",
        ),
        (at("binary"), "it must be UTF-8"),
    ] {
        let path = path.as_path();
        let said = format!("config = \"{}\" (--config): {reason}", path.display());
        assert_eq!(refusal(read(path)), said);
    }
    read(&at("longest")).unwrap();
}

#[test]
fn a_wrong_setting_names_itself_its_value_and_its_place() {
    for (text, said) in [
        (
            "listen = \"[::]:80\"\nlisten_on = 1",
            "FILE, line 2: there is no setting \"listen_on\"",
        ),
        (
            "[limits]\nlogins_max = 1",
            "FILE, line 2: there is no setting \"limits.logins_max\"",
        ),
        (
            "config = \"x\"",
            "FILE, line 1: there is no setting \"config\"",
        ),
        (
            "data = \"postgres://a:hush@h/d\"",
            "data (FILE, line 1): it is the name of a folder; the URL of a database is given as store",
        ),
        (
            "data = \"\"",
            "data = \"\" (FILE, line 1): it names no folder",
        ),
        (
            "\nroot_mount = \"yes\"",
            "root_mount = \"yes\" (FILE, line 2): it must be true or false",
        ),
        (
            "shutdown_s = -1",
            "shutdown_s = -1 (FILE, line 1): it must be a whole number of seconds, or as 90s, 5m or 12h",
        ),
        (
            "keep_snapshots = \"1\"",
            "keep_snapshots = \"1\" (FILE, line 1): it must be a whole number",
        ),
        (
            "file_bytes_max = \"1g\"",
            "file_bytes_max = \"1g\" (FILE, line 1): it must be a whole number of bytes, or as 500M or 1G",
        ),
        (
            "keep_days = \"36h\"",
            "keep_days = \"36h\" (FILE, line 1): it must be a whole number of days, or as 30d or 12w",
        ),
        (
            "listen.port = 1",
            "FILE, line 1: there is no setting \"listen.port\"",
        ),
        (
            "log = 1.5",
            "log = 1.5 (FILE, line 1): it must be a text in quotes",
        ),
        (
            "trusted_proxies = [\"::1\", \"proxy\"]",
            "trusted_proxies = [\"::1\", \"proxy\"] (FILE, line 1): \"proxy\": it must be an address, \
             or an address, a slash and a number of bits, as in 10.0.0.0/8",
        ),
        (
            "hosts = \"conf.example\"",
            "hosts = \"conf.example\" (FILE, line 1): it must be a list of texts, as in [\"a\", \"b\"]",
        ),
        (
            "keep_days = 99999999999999999999",
            "keep_days = 99999999999999999999 (FILE, line 1): it must be at most 18446744073709551615",
        ),
        (
            "shutdown_s = 99999999999999999999",
            "shutdown_s = 99999999999999999999 (FILE, line 1): it must be at most 3153600000, a century",
        ),
        (
            "session_absolute_s = 5\nsession_idle_s = 0",
            "session_idle_s = 0 (FILE, line 2): it must be at least 1",
        ),
        (
            "# two\n[limits]\n\nlogins_at_once_max = 0",
            "limits.logins_at_once_max = 0 (FILE, line 4): it must be at least 1",
        ),
        (
            "limits.batch_actions_max = 10001",
            "limits.batch_actions_max = 10001 (FILE, line 1): it must be 1 to 10000",
        ),
        (
            "limits.head_s_max = 9223372036854775807",
            "limits.head_s_max = 9223372036854775807 (FILE, line 1): it must be at most 3153600000, a century",
        ),
        (
            "limits.threads_max = 0",
            "limits.threads_max = 0 (FILE, line 1): it must be 1 to 512",
        ),
    ] {
        assert_eq!(refusal(served_with(text, &[])), said, "{text}");
    }
}

#[test]
fn a_wrong_address_is_told_with_what_is_wrong_in_it() {
    for (text, said) in [
        (
            "hosts = [\"https://conf.example\"]",
            "hosts = [\"https://conf.example\"] (FILE, line 1): \"https://conf.example\": it must be a \
             name or an address, as in conf.example",
        ),
        (
            "hosts = [\"*.example\"]",
            "hosts = [\"*.example\"] (FILE, line 1): \"*.example\": each name must be written out, and * \
             stands for none",
        ),
        (
            "hosts = [\"[::1]\", \"::1\"]",
            "hosts = [\"[::1]\", \"::1\"] (FILE, line 1): \"::1\": an address of IPv6 must stand in \
             brackets, as in [::1]",
        ),
        #[cfg(feature = "fleet")]
        (
            "store = \"postgres://a:b@h/d?bogus=1\"",
            "store (FILE, line 1): the parameter \"bogus\": there is no such parameter, or its value cannot be",
        ),
        #[cfg(feature = "fleet")]
        (
            "\nstore = \"postgres://a:b@h:99999/d\"",
            "store (FILE, line 2): its address is not of the form postgres://[user@]host[:port]/database, with a \
             port of at most 65535",
        ),
    ] {
        assert_eq!(refusal(served_with(text, &[])), said, "{text}");
    }
}

#[test]
fn a_wrong_flag_names_itself_and_its_value() {
    let broken = refusal(served_with("listen = \nlog = \"info\"", &[]));
    assert!(
        broken.starts_with("FILE, line 1: ") && broken.lines().count() == 1,
        "{broken}"
    );
    for url in [
        "conf.example",
        "ftp://x",
        "https://",
        "https:///x",
        "http://a?b",
        "https://a/b",
        "https://a:abc",
        "https://a:99999",
        "https://a:0",
        "https://a:",
        "https://u@a",
        "https://-bad-.example",
    ] {
        assert_eq!(
            refusal(served(&["--external-url", url])),
            format!(
                "external_url = \"{url}\" (--external-url): it must be http:// or https:// and a host, \
                 and a port if need be, nothing more"
            )
        );
    }
    for (flags, said) in [
        (
            &["--connections-max", "0"][..],
            "limits.connections_max = 0 (--connections-max): it must be at least 1",
        ),
        (
            &["--shutdown-s", "soon"],
            "shutdown_s = \"soon\" (--shutdown-s): it must be a whole number of seconds, or as 90s, 5m \
             or 12h",
        ),
        (
            &["--connections-max", "99999999999999999999"],
            "limits.connections_max = \"99999999999999999999\" (--connections-max): it must be \
             at most 18446744073709551615",
        ),
        (
            &["--root-mount=yes"],
            "root_mount = \"yes\" (--root-mount): it must be true or false",
        ),
        (
            &["--access-log", "some"],
            "access_log = \"some\" (--access-log): it must be all, writes, errors or off",
        ),
        (
            &["--log-format=xml"],
            "log_format = \"xml\" (--log-format): it must be auto, text or json",
        ),
        (
            &["--hosts", "a,"],
            "hosts = \"a,\" (--hosts): \"\": it must be a name or an address, as in conf.example",
        ),
    ] {
        assert_eq!(refusal(served(flags)), said);
    }
    let long = refusal(served(&[
        "--listen",
        "x",
        "--external-url",
        &"y".repeat(300),
    ]));
    let shown = format!("external_url = \"{}… (--external-url): ", "y".repeat(199));
    assert!(long.starts_with(&shown), "{long}");
}

#[test]
fn sizes_and_times_are_taken_with_their_units_everywhere() {
    let settings = served_with(
        "file_bytes_max = \"500M\"\nkeep_deleted_days = \"2w\"\nlimits.body_s_max = \"1m\"\n",
        &["--archive-bytes-max", "1G", "--session-idle-s=12h"],
    )
    .unwrap();
    assert_eq!(settings.file_bytes_max, 500 << 20);
    assert_eq!(settings.archive_bytes_max, 1 << 30);
    assert_eq!(settings.keep_deleted_days, 14);
    assert_eq!(settings.limits.body_s_max, 60);
    assert_eq!(settings.sessions.idle_s, 43_200);
}

#[test]
fn all_wrong_settings_are_told_at_once() {
    let said = refusal(served_with(
        "listen_on = 1\nshutdown_s = 5\nhosts = 3\n",
        &["--body-s-max", "0", "--root-mount=yes"],
    ));
    assert_eq!(
        said,
        "4 settings are wrong:\n\
         FILE, line 1: there is no setting \"listen_on\"\n\
         hosts = 3 (FILE, line 3): it must be a list of texts, as in [\"a\", \"b\"]\n\
         root_mount = \"yes\" (--root-mount): it must be true or false\n\
         limits.body_s_max = 0 (--body-s-max): it must be at least 1"
    );
}

#[test]
fn variables_that_are_no_settings_are_known() {
    let names = [
        "SITECONF_LISTN",
        "SITECONF_LISTEN",
        "SITECONF_TOKEN",
        "SITECONF_PAGE",
        "PATH",
        "SITECONF_B",
        "SITECONF_SERVICE_HOST",
        "SITECONF_PORT_8080_TCP",
    ];
    let unknown = unknown_variables(names.into_iter().map(OsString::from));
    assert_eq!(unknown, ["SITECONF_B", "SITECONF_LISTN"]);
}

/// The README's row of a setting: the names by which it is given, and its default.
#[test]
fn the_readme_lists_every_setting() {
    let readme = include_str!("../../../README.md");
    for setting in SETTINGS {
        let (flag, variable) = (setting.flag(), setting.variable());
        let name = match setting.name {
            table::CONFIG => String::new(),
            name => format!("`{name}`"),
        };
        let row = format!("| {name} | `--{flag}` | `{variable}` | ").replace("|  |", "| |");
        let found = readme.lines().find_map(|line| line.strip_prefix(&row));
        let rest = found.unwrap_or_else(|| panic!("{row} is not in the README"));
        let default = rest.split(" | ").next().unwrap();
        if !setting.default.is_empty() {
            assert_eq!(default.trim_matches('`'), setting.default, "{row}");
        }
    }
    let rows = readme.lines().filter(|line| line.contains("| `SITECONF_"));
    assert_eq!(
        rows.count(),
        SETTINGS.len(),
        "the README has a setting that is not there"
    );
}
