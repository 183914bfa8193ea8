//! Pairs that cannot be used: refused at the start, and left aside while the service runs.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::Duration;

use rcgen::date_time_ymd;
use rustix::process::Signal;
use serde_json::Value;
use time::OffsetDateTime;
use time::macros::format_description;

use crate::pair::{Client, Pair, trusting_newest};
use crate::service::{HEALTH, Service, refused, shown};

const ENDS: &str = "\nsiteconf_tls_certificate_expires_timestamp_seconds";

#[test]
fn a_pair_that_cannot_be_used_is_refused_at_the_start_by_its_setting() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| {
        let path = folder.path().join(name);
        fs::create_dir_all(&path).unwrap();
        path
    };
    let [good, other, old] = [(2096, "good"), (2096, "other"), (2020, "old")]
        .map(|(year, name)| Pair::until(year).write(&at(name)).map(shown));
    let [cert, key] = &good;
    let text = shown(folder.path().join("text"));
    fs::write(&text, "no PEM\n").unwrap();
    let pem = fs::read_to_string(cert).unwrap();
    let half = shown(folder.path().join("half"));
    fs::write(&half, &pem[..pem.len() / 2]).unwrap();
    let reversed = shown(folder.path().join("reversed"));
    fs::write(&reversed, fs::read_to_string(&other[0]).unwrap() + &pem).unwrap();
    let absent = shown(folder.path().join("absent"));
    let pipe = shown(folder.path().join("pipe"));
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    )
    .unwrap();
    let missing = "it cannot be read: No such file or directory (os error 2)";
    for (given_cert, given_key, said) in [
        (
            cert,
            &absent,
            format!("tls_key = \"{absent}\" (--tls-key): {missing}"),
        ),
        (
            &absent,
            key,
            format!("tls_cert = \"{absent}\" (--tls-cert): {missing}"),
        ),
        (
            &pipe,
            key,
            format!("tls_cert = \"{pipe}\" (--tls-cert): it must be a regular file"),
        ),
        (
            &text,
            key,
            format!("tls_cert = \"{text}\" (--tls-cert): there is no certificate in it"),
        ),
        (
            cert,
            cert,
            format!(
                "tls_key = \"{cert}\" (--tls-key): there is no private key without a password in it"
            ),
        ),
        (
            cert,
            &other[1],
            format!(
                "tls_key = \"{}\" (--tls-key): it does not fit the certificate in {cert}",
                other[1]
            ),
        ),
        (
            &half,
            key,
            format!(
                "tls_cert = \"{half}\" (--tls-cert): its last part has no end: it is written by half"
            ),
        ),
        (
            &reversed,
            key,
            format!(
                "tls_cert = \"{reversed}\" (--tls-cert): the server's own certificate, which the key fits, must \
                 come first"
            ),
        ),
        (
            &old[0],
            &old[1],
            format!(
                "tls_cert = \"{}\" (--tls-cert): the certificate ends at 2020-01-01T00:00:00.000Z",
                old[0]
            ),
        ),
    ] {
        let flags = [
            "--tls-listen",
            "127.0.0.1:0",
            "--tls-cert",
            given_cert,
            "--tls-key",
            given_key,
        ];
        assert_eq!(refused(&flags), (Some(2), format!("siteconf: {said}")));
    }
}

#[test]
fn settings_that_do_not_go_together_are_refused_by_their_names() {
    let folder = tempfile::tempdir().unwrap();
    let [cert, key] = &Pair::new().write(folder.path()).map(shown);
    for (flags, said) in [
        (
            vec!["--tls-cert", cert, "--tls-key", key],
            format!(
                "tls_cert = \"{cert}\" (--tls-cert): nothing speaks TLS: set tls_listen to an address and \
                 a port"
            ),
        ),
        (
            vec!["--tls-listen", "127.0.0.1:0", "--tls-key", key],
            "tls_listen = \"127.0.0.1:0\" (--tls-listen): it needs a certificate and its key: set \
             tls_cert and tls_key"
                .to_owned(),
        ),
        (
            vec!["--tls-listen", "here", "--tls-cert", cert, "--tls-key", key],
            "tls_listen = \"here\" (--tls-listen): it must be an address and a port, as in \
             127.0.0.1:8080"
                .to_owned(),
        ),
        (
            vec!["--listen", "none"],
            "listen = \"none\" (--listen): then tls_listen or unix_listen must say where to listen"
                .to_owned(),
        ),
        (
            vec!["--listen", "127.0.0.1:19999", "--metrics-listen", "127.0.0.1:19999"],
            "metrics_listen = \"127.0.0.1:19999\" (--metrics-listen): listen has this address already"
                .to_owned(),
        ),
    ] {
        assert_eq!(refused(&flags), (Some(2), format!("siteconf: {said}")));
    }
}

/// What this reload said of the pair. The look every two seconds may have said the same before it.
fn told_by_reload(log: &str, times: usize) -> Value {
    let [begun, over] = ["reloading", "reloaded"].map(|message| {
        let message = format!("\"message\":\"{message}\"");
        log.match_indices(&message).nth(times - 1).unwrap().0
    });
    let mut told = log[begun..over].lines().rev();
    let line = told.find(|line| line.contains("the one before stays"));
    serde_json::from_str(line.unwrap()).unwrap()
}

#[test]
fn a_pair_that_cannot_be_used_leaves_the_one_before_in_its_place() {
    let pair = Pair::new();
    let service = Service::with_tls(&pair, &[]);
    let config = trusting_newest(&[&pair]);
    let [cert, key] = ["cert.pem", "key.pem"].map(|name| service.at(name));
    let (other, old) = (Pair::new(), Pair::until(2020));
    let spare = tempfile::tempdir().unwrap();
    let [_, other_key] = other.write(spare.path());
    let asked = |file: &std::path::Path, reason: &str, times: usize| {
        service.signal(Signal::HUP);
        service.line("\"message\":\"reloaded\"", times);
        let line = told_by_reload(&service.log(), times);
        assert_eq!(line["level"], "ERROR");
        assert_eq!(line["file"], file.display().to_string());
        assert_eq!(line["reason"], reason, "{line}");
        let mut client = Client::connect(&config, service.tls());
        assert!(client.get(HEALTH).unwrap().starts_with("HTTP/1.1 200 "));
        assert_eq!(client.certificate(), pair.der());
    };
    fs::copy(&other_key, &key).unwrap();
    let unfit = format!("it does not fit the certificate in {}", cert.display());
    asked(&key, &unfit, 1);
    old.write(service.folder());
    asked(&cert, "the certificate ends at 2020-01-01T00:00:00.000Z", 2);
    fs::remove_file(&cert).unwrap();
    asked(
        &cert,
        "it cannot be read: No such file or directory (os error 2)",
        3,
    );
    // One that can be used ends the matter.
    other.write(service.folder());
    service.signal(Signal::HUP);
    service.logged("\"certificate read\"", 1);
    let client = &mut Client::connect(&trusting_newest(&[&other]), service.tls());
    assert!(client.get(HEALTH).unwrap().starts_with("HTTP/1.1 200 "));
}

#[test]
fn a_key_that_everybody_may_read_and_a_certificate_that_ends_soon_are_told() {
    let pair = Pair::new();
    let folder = tempfile::tempdir().unwrap();
    let [cert, key] = pair.write(folder.path());
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
    let [cert, key] = [cert, key].map(shown);
    let flags = [
        "--tls-listen",
        "127.0.0.1:0",
        "--tls-cert",
        &cert,
        "--tls-key",
        &key,
        "--metrics-listen",
        "127.0.0.1:0",
    ];
    let service = Service::start_in(folder, &flags, &[]);
    let line = service.logged("everybody on this machine may read the key", 1);
    assert_eq!(
        (line["level"].as_str(), line["file"].as_str()),
        (Some("WARN"), Some(&*key))
    );
    assert!(!service.log().contains("ends soon"));
    let ends = format!("{ENDS} {}.0\n", date_time_ymd(2096, 1, 1).unix_timestamp());
    assert!(service.metrics().contains(&ends), "{ends}");

    let at =
        OffsetDateTime::now_utc().replace_nanosecond(0).unwrap() + Duration::from_hours(7 * 24);
    Pair::ending(at).write(service.folder());
    service.signal(Signal::HUP);
    let line = service.logged("the certificate ends soon", 1);
    assert_eq!(
        (line["level"].as_str(), line["file"].as_str()),
        (Some("WARN"), Some(&*cert))
    );
    let told = at.format(format_description!(
        "the certificate ends at [year]-[month]-[day]T[hour]:[minute]:[second].000Z"
    ));
    assert_eq!(line["reason"], told.unwrap());
    let ends = format!("{ENDS} {}.0\n", at.unix_timestamp());
    assert!(service.metrics().contains(&ends), "{ends}");
}

#[test]
fn what_is_damaged_is_told_in_plain_words() {
    let pair = Pair::new();
    let folder = tempfile::tempdir().unwrap();
    let [cert, key] = pair.write(folder.path()).map(shown);
    let of_part = |name: &str, kind: &str, inside: &str| {
        let path = folder.path().join(name);
        let text = format!("-----BEGIN {kind}-----\n{inside}\n-----END {kind}-----\n");
        fs::write(&path, text).unwrap();
        shown(path)
    };
    let first = "its first certificate cannot be read: it is damaged, has a critical extension that is not known here, \
                 or is of X.509 version 1, which has no names: it must be of version 3, as with subjectAltName";
    let part = "a part of it is no PEM: it is damaged, or was not copied whole";
    let kind = "it is damaged, or of a kind that cannot be used: it must be RSA of 2048 to 4096 bits, ECDSA (P-256, \
                P-384) or Ed25519";
    for (certificate, key, setting, said) in [
        (
            of_part("a", "CERTIFICATE", "AAAA"),
            key.clone(),
            "cert",
            first,
        ),
        (of_part("b", "CERTIFICATE", "?"), key, "cert", part),
        (cert, of_part("c", "PRIVATE KEY", "AAAA"), "key", kind),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_siteconf"))
            .args(["config", "check", "--tls-listen", "127.0.0.1:0"])
            .args(["--tls-cert", &certificate, "--tls-key", &key])
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2));
        let file = if setting == "cert" {
            &certificate
        } else {
            &key
        };
        assert_eq!(
            String::from_utf8(output.stderr).unwrap(),
            format!("siteconf: tls_{setting} = \"{file}\" (--tls-{setting}): {said}\n")
        );
    }
}

#[test]
fn a_check_warns_of_a_key_that_everybody_may_read() {
    let pair = Pair::new();
    let folder = tempfile::tempdir().unwrap();
    let [cert, key] = pair.write(folder.path());
    let [cert_shown, key_shown] = [&cert, &key].map(|path| shown(path.clone()));
    for (mode, warned) in [(0o640, false), (0o644, true)] {
        fs::set_permissions(&key, fs::Permissions::from_mode(mode)).unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_siteconf"))
            .args(["config", "check", "--tls-listen", "127.0.0.1:0"])
            .args(["--tls-cert", &cert_shown, "--tls-key", &key_shown])
            .output()
            .unwrap();
        let warning = format!(
            "siteconf: {key_shown}: everybody on this machine may read the key: chmod o= it\n"
        );
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(said, if warned { warning } else { String::new() });
        assert!(output.status.success());
    }
}
