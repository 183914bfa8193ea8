//! A Unix socket: its file, and who its clients are.

use std::fs;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::process::Command;

use rustix::process::geteuid;

use crate::service::{HEALTH, Service, output_of, refused, shown};

fn curl(socket: &str, arguments: &[&str], target: &str) -> String {
    output_of(
        Command::new("curl")
            .args([
                "--silent",
                "--show-error",
                "--max-time",
                "20",
                "--unix-socket",
                socket,
            ])
            .args(arguments)
            .arg(format!("http://conf.example{target}")),
    )
}

#[test]
fn a_proxy_on_the_socket_speaks_for_its_clients() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let socket = shown(path.clone());
    let mut service = Service::start(&["--listen", "none", "--unix-listen", &socket], &[]);
    let found = fs::metadata(&path).unwrap();
    assert!(found.file_type().is_socket());
    assert_eq!(found.permissions().mode() & 0o777, 0o660);
    assert!(curl(&socket, &[], HEALTH).starts_with("{\"status\":\"ok\""));
    assert_eq!(
        service.logged("\"message\":\"request\"", 1)["client"],
        "127.0.0.1"
    );
    let told = [
        "--header",
        "X-Forwarded-For: 198.51.100.1, 192.0.2.7",
        "--header",
        "X-Forwarded-Proto: https",
        "--include",
    ];
    let answer = curl(&socket, &told, HEALTH);
    assert!(
        answer.contains("\r\nStrict-Transport-Security: max-age=31536000\r\n"),
        "{answer}"
    );
    assert_eq!(
        service.logged("\"message\":\"request\"", 2)["client"],
        "192.0.2.7"
    );

    let long = format!("/tmp/{}", "a".repeat(103));
    let (code, said) = refused(&["--listen", "none", "--unix-listen", &long]);
    assert_eq!(
        (code, said),
        (
            Some(2),
            format!(
                "siteconf: unix_listen = \"{long}\" (--unix-listen): it is too long for a socket: it must have at most \
                 107 bytes"
            )
        )
    );
    let (code, said) = refused(&["--listen", "none", "--unix-listen", &socket]);
    assert_eq!(
        (code, said),
        (
            Some(2),
            format!(
                "siteconf: unix_listen = \"{socket}\" (--unix-listen): another service listens there"
            )
        )
    );
    assert!(curl(&socket, &[], HEALTH).starts_with("{\"status\":\"ok\""));
    assert_eq!(service.stop().code(), Some(0));
    assert!(!path.exists(), "the socket's file stays");
}

#[test]
fn a_dead_socket_is_replaced_and_nothing_else_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let socket = shown(path.clone());
    let flags = ["--listen", "none", "--unix-listen", &socket];
    let mut first = Service::start(&flags, &[]);
    first.kill();
    assert!(path.exists(), "a killed service leaves its socket");
    let mut second = Service::start(&flags, &[]);
    assert!(curl(&socket, &[], HEALTH).starts_with("{\"status\":\"ok\""));
    // What another one puts there at the end is not ours to remove.
    fs::remove_file(&path).unwrap();
    let other = UnixListener::bind(&path).unwrap();
    second.stop();
    assert!(path.exists());
    drop(other);

    let file = shown(folder.path().join("file"));
    fs::write(&file, "mine").unwrap();
    let link = shown(folder.path().join("link"));
    std::os::unix::fs::symlink(&file, &link).unwrap();
    for taken in [&file, &link] {
        let (code, said) = refused(&["--unix-listen", taken]);
        let reason = "what lies there is no socket, and is not replaced";
        assert_eq!(
            (code, said),
            (
                Some(2),
                format!("siteconf: unix_listen = \"{taken}\" (--unix-listen): {reason}")
            )
        );
        let mut check = Command::new(env!("CARGO_BIN_EXE_siteconf"));
        check.args(["config", "check"]).current_dir(folder.path());
        let checked = check.env("SITECONF_UNIX_LISTEN", taken).output().unwrap();
        assert_eq!(checked.status.code(), Some(2), "{checked:?}");
        assert!(
            String::from_utf8_lossy(&checked.stderr).contains(reason),
            "{checked:?}"
        );
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
}

/// As the proxies' files say, and as systemd would do it.
#[test]
fn a_proxy_of_another_group_connects_after_what_the_unit_says() {
    // Debian's user for web servers.
    let www_data = ["--reuid=www-data", "--regid=www-data", "--clear-groups"];
    let is_there = Command::new("id").arg("www-data").output().unwrap();
    if !geteuid().is_root() || !is_there.status.success() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let socket = shown(folder.path().join("socket"));
    let _service = Service::start(&["--listen", "none", "--unix-listen", &socket], &[]);
    let connects = || {
        let mut curl = Command::new("setpriv");
        curl.args(www_data)
            .args(["curl", "--silent", "--unix-socket", &socket])
            .arg(format!("http://conf.example{HEALTH}"));
        curl.output().unwrap().status.success()
    };
    assert!(!connects());
    let unit = output_of(Command::new(env!("CARGO_BIN_EXE_siteconf")).args(["example", "systemd"]));
    let mut lines = unit.lines();
    let after = lines.find_map(|line| line.strip_prefix("#   ExecStartPost=+"));
    let after = after
        .unwrap()
        .replace("/run/siteconf/siteconf.sock", &socket);
    output_of(Command::new("sh").args(["-c", &after]));
    assert!(connects());
}
