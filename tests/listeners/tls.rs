//! Requests over TLS: as over plain connections, and with what only https has.

use std::fs;
use std::io::{Read, Write};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio_rustls::rustls::{ClientConfig, version};

use crate::pair::{Client, Pair, trusting, trusting_newest};
use crate::service::{HEALTH, Service, output_of};

/// A curl that trusts the certificate of the service, for one URL below the address of its listener.
fn curl(service: &Service, arguments: &[&str], target: &str) -> Command {
    let mut command = Command::new("curl");
    command
        .args([
            "--silent",
            "--show-error",
            "--max-time",
            "20",
            "--noproxy",
            "*",
            "--cacert",
        ])
        .arg(service.at("cert.pem"))
        .args(arguments)
        .arg(format!("https://{}{target}", service.tls()));
    command
}

#[test]
fn curl_speaks_1_2_and_1_3_and_gets_http_1_1() {
    let service = Service::with_tls(&Pair::new(), &[]);
    for version in ["1.2", "1.3"] {
        let flag = format!("--tlsv{version}");
        let arguments = [
            &*flag,
            "--tls-max",
            version,
            "--http2",
            "--write-out",
            "%{http_version} %{http_code}",
        ];
        let said = output_of(&mut curl(&service, &arguments, HEALTH));
        assert!(said.starts_with("{\"status\":\"ok\""), "{said}");
        assert!(said.ends_with("1.1 200"), "{said}");
    }
    let output = curl(&service, &["--tls-max", "1.1"], HEALTH)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(35), "{output:?}");
}

#[test]
fn a_session_over_tls_is_secure_and_the_plain_listener_has_its_own() {
    let service = Service::with_tls(&Pair::new(), &[]);
    let login = |base: &str, origin: Option<String>| {
        let mut command = Command::new("curl");
        command
            .args([
                "--silent",
                "--show-error",
                "--include",
                "--noproxy",
                "*",
                "--cacert",
            ])
            .arg(service.at("cert.pem"))
            .arg(format!("{base}/user/login"))
            .args(["--data-urlencode", "username=admin", "--data-urlencode"])
            .arg(format!("password={}", service.password()));
        if let Some(origin) = origin {
            command.arg("--header").arg(format!("Origin: {origin}"));
        }
        output_of(&mut command)
    };
    let cookie = |answer: &str| {
        let line = answer
            .lines()
            .find_map(|line| line.strip_prefix("Set-Cookie: "));
        line.map(str::to_owned)
    };
    let https = format!("https://{}", service.tls());
    let http = format!("http://{}", service.plain());
    let secure = login(&https, Some(https.clone()));
    assert!(secure.starts_with("HTTP/1.1 200 "), "{secure}");
    assert!(
        secure.contains("\r\nStrict-Transport-Security: max-age=31536000\r\n"),
        "{secure}"
    );
    let secure = cookie(&secure).unwrap();
    assert!(secure.starts_with("__Host-siteconf_session="), "{secure}");
    assert!(
        secure.ends_with("; Path=/; HttpOnly; SameSite=Strict; Secure"),
        "{secure}"
    );
    let session = secure.split(';').next().unwrap();
    let arguments = ["--header", &format!("Cookie: {session}")];
    let said = output_of(&mut curl(&service, &arguments, "/user/session"));
    assert!(said.starts_with("{\"username\":\"admin\""), "{said}");

    let plain = login(&http, Some(http.clone()));
    assert!(plain.starts_with("HTTP/1.1 200 "), "{plain}");
    assert!(!plain.contains("Strict-Transport-Security"), "{plain}");
    assert!(
        cookie(&plain).unwrap().starts_with("siteconf_session="),
        "{plain}"
    );
    // A page that came over a plain connection is another site's to the TLS listener.
    let foreign = login(&https, Some(format!("http://{}", service.tls())));
    assert!(foreign.starts_with("HTTP/1.1 403 "), "{foreign}");
}

#[test]
fn a_session_of_tls_is_resumed() {
    let pair = Pair::new();
    let service = Service::with_tls(&pair, &[]);
    for version in [&version::TLS12, &version::TLS13] {
        let config = trusting(&[&pair], &[version]);
        let resumed = [false, true].map(|_| {
            let mut client = Client::connect(&config, service.tls());
            client.get(HEALTH).unwrap();
            client.is_resumed()
        });
        assert_eq!(resumed, [false, true], "{version:?}");
    }
}

/// How the answer begins to an upload that is refused. `None` if it was lost because sending took longer than the two
/// seconds for which the service drains what it refuses.
fn upload(config: &Arc<ClientConfig>, service: &Service, length: usize) -> Option<[u8; 13]> {
    let mut client = Client::connect(config, service.tls());
    let head = format!(
        "PUT /site-builder/api/projects/acme%2Fshop.erp/branches/main/files/a HTTP/1.1\r\n\
         Host: conf.example\r\nContent-Type: application/octet-stream\r\n\
         Content-Length: {length}\r\n\r\n"
    );
    let begun = Instant::now();
    client.0.write_all(head.as_bytes()).unwrap();
    // What the service no longer takes may fail.
    drop(client.0.write_all(&vec![b'x'; length]));
    let mut start = [0; 13];
    match client.0.read_exact(&mut start) {
        Ok(()) => Some(start),
        Err(error) => {
            let lasted = begun.elapsed();
            assert!(lasted >= Duration::from_secs(2), "{length}: {error}");
            None
        }
    }
}

/// The rest of an upload is on its way when the answer comes: it must not be lost in a reset.
#[test]
fn a_refused_upload_reads_why_and_large_answers_are_whole() {
    let pair = Pair::new();
    let service = Service::with_tls(&pair, &[]);
    let config = trusting_newest(&[&pair]);
    for length in [1, 200 << 10, 3 << 20] {
        let attempts = 5;
        let start = (0..attempts).find_map(|_| upload(&config, &service, length));
        let start = start.expect("an upload without a pause of this machine");
        assert_eq!(&start, b"HTTP/1.1 401 ", "{length}");
    }

    let large = service.at("large");
    fs::create_dir(&large).unwrap();
    let bytes: Vec<u8> = (0..20_u32 << 20).map(|n| (n % 251) as u8).collect();
    fs::write(large.join("a"), &bytes).unwrap();
    service.run(&[
        "import",
        "acme/shop.erp",
        "main",
        large.to_str().unwrap(),
        "--owner",
        "admin",
    ]);
    let said = service.run(&["token", "create", "--user", "admin", "--name", "t", "--all"]);
    let token = said.split_whitespace().last().unwrap();
    let arguments = ["--header", &format!("PRIVATE-TOKEN: {token}"), "--output"];
    let got = service.at("got");
    let arguments = [&arguments[..], &[got.to_str().unwrap()]].concat();
    let target = "/site-builder/api/erp-config/projects/acme%2Fshop.erp/repository/files/a/raw";
    output_of(&mut curl(&service, &arguments, target));
    assert!(fs::read(&got).unwrap() == bytes);

    // The end is told by TLS, not only by TCP: nobody can cut the answer short unseen.
    let mut client = Client::connect(&config, service.tls());
    let request = format!(
        "GET {target} HTTP/1.1\r\nHost: conf.example\r\nPRIVATE-TOKEN: {token}\r\nConnection: close\r\n\r\n"
    );
    let answer = client.exchange(request.as_bytes()).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 "));
}

/// The count of those that wait is the metrics': nothing else tells when a place is free.
#[test]
fn who_waits_over_tls_is_told_and_leaving_frees_the_place() {
    let pair = Pair::new();
    let service = Service::with_tls(&pair, &["--metrics-listen", "127.0.0.1:0"]);
    for arguments in [
        &["project", "create", "shop.erp", "--owner", "admin"][..],
        &["branch", "create", "shop.erp", "main"],
    ] {
        service.run(arguments);
    }
    let token = service.run(&["token", "create", "--user", "admin", "--name", "t", "--all"]);
    let credential = format!("Host: conf.example\r\nPRIVATE-TOKEN: {}", token.trim());
    let branch = "/api/erp-config/projects/shop.erp/repository/branches/main";
    let request = |rest: &str, lines: &str| {
        format!("GET /site-builder{branch}{rest} HTTP/1.1\r\n{credential}\r\n{lines}\r\n")
    };
    let wait_until = |count: &str| {
        let line = format!("siteconf_http_requests_waiting {count}\n");
        let end = Instant::now() + Duration::from_secs(10);
        while !service.metrics().contains(&line) {
            assert!(Instant::now() < end, "{}", service.metrics());
        }
    };
    let config = trusting_newest(&[&pair]);
    let close = "Connection: close\r\n";
    let shown = Client::connect(&config, service.tls()).exchange(request("", close).as_bytes());
    let shown = shown.unwrap();
    let tag = shown
        .lines()
        .find(|line| line.starts_with("Etag: "))
        .unwrap();
    let known = tag.replace("Etag", "If-None-Match");
    let begin = || {
        let mut client = Client::connect(&config, service.tls());
        let waits = request("?wait=60", &format!("{known}\r\n{close}"));
        client.0.write_all(waits.as_bytes()).unwrap();
        wait_until("1.0");
        client
    };
    for says_so in [false, true] {
        let mut client = begin();
        if says_so {
            client.0.conn.send_close_notify();
            client.0.flush().unwrap();
        }
        drop(client);
        wait_until("0.0");
    }
    let mut client = begin();
    service.run(&["branch", "create", "shop.erp", "master"]);
    let mut answer = String::new();
    client.0.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    assert!(answer.contains("\"default\":false"), "{answer}");
}
