//! Handshakes that are none, or never end.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use tokio_rustls::rustls::version;

use crate::pair::{Client, Pair, trusting};
use crate::service::{HEALTH, Service};

/// What comes until the connection ends.
fn rest(stream: &mut TcpStream) -> Vec<u8> {
    stream
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).unwrap();
    rest
}

/// The first message of a client that knows nothing newer than this version.
fn hello(version: [u8; 2]) -> Vec<u8> {
    let mut body = version.to_vec();
    body.extend([7; 32]);
    // No session, two suites of that time, no compression.
    body.extend([0, 0, 4, 0xc0, 0x13, 0, 0x2f, 1, 0]);
    let length = u8::try_from(body.len()).unwrap();
    let record = [&[1, 0, 0, length], &body[..]].concat();
    [&[0x16, 3, 0, 0, length + 4], &record[..]].concat()
}

#[test]
fn versions_before_1_2_are_refused_by_an_alert() {
    let pair = Pair::new();
    let service = Service::with_tls(&pair, &[]);
    for version in [[3, 0], [3, 1], [3, 2]] {
        let mut stream = TcpStream::connect(service.tls()).unwrap();
        stream.write_all(&hello(version)).unwrap();
        let alert = rest(&mut stream);
        // A fatal alert of the version, or of a handshake that cannot be.
        assert_eq!(
            (alert.len(), alert[0], alert[5]),
            (7, 0x15, 2),
            "{version:?} {alert:?}"
        );
        assert!([40, 70].contains(&alert[6]), "{version:?} {alert:?}");
    }
    for version in [&version::TLS12, &version::TLS13] {
        let mut client = Client::connect(&trusting(&[&pair], &[version]), service.tls());
        assert!(client.get(HEALTH).unwrap().starts_with("HTTP/1.1 200 "));
    }
}

#[test]
fn plain_http_on_the_tls_port_is_told_and_garbage_is_ended() {
    let pair = Pair::new();
    let service = Service::with_tls(&pair, &["--metrics-listen", "127.0.0.1:0"]);
    let mut stream = TcpStream::connect(service.tls()).unwrap();
    // In one piece: the service answers as soon as the first bytes are there, and soon ends the connection.
    let request = format!("GET {HEALTH} HTTP/1.1\r\nHost: conf.example\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let answer = String::from_utf8(rest(&mut stream)).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 400 Bad Request\r\n"), "{head}");
    assert!(
        head.contains(&format!("Content-Length: {}\r\n", body.len())),
        "{head}"
    );
    assert_eq!(
        body,
        "{\"message\":\"this port speaks TLS; use https:// in the address\"}"
    );

    let mut stream = TcpStream::connect(service.tls()).unwrap();
    stream.write_all(&[0; 300]).unwrap();
    let alert = rest(&mut stream);
    assert_eq!((alert.len(), alert[0]), (7, 0x15), "{alert:?}");
    let mut silent = TcpStream::connect(service.tls()).unwrap();
    silent.shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!(rest(&mut silent), b"");

    // They are counted as what they were.
    let mut client = Client::connect(&trusting(&[&pair], &[&version::TLS13]), service.tls());
    assert!(client.get(HEALTH).unwrap().starts_with("HTTP/1.1 200 "));
    let end = Instant::now() + Duration::from_secs(20);
    let counted = [
        "\nsiteconf_tls_handshakes_failed_total 3\n",
        "\nsiteconf_http_connections_opened_total{outcome=\"served\"} 1\n",
    ];
    while !counted.iter().all(|line| service.metrics().contains(line)) {
        assert!(Instant::now() < end, "{}", service.metrics());
    }
}

#[test]
fn a_handshake_that_never_ends_is_ended_and_counts_until_then() {
    let attempts = 5;
    let is_told = (0..attempts).any(|_| is_ended_and_counts());
    assert!(is_told, "{attempts} times this machine stood still");
}

/// False if this test came too late for it to tell anything: the first two handshakes were over before the others
/// were begun, or nobody knows when they ended.
fn is_ended_and_counts() -> bool {
    let pair = Pair::new();
    let service = Service::with_tls(
        &pair,
        &[
            "--connections-address-max=2",
            "--handshake-s-max=3",
            "--metrics-listen=127.0.0.1:0",
        ],
    );
    let begin = |bytes: &[u8], address: SocketAddr| {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(bytes).unwrap();
        stream
    };
    let started = Instant::now();
    let half = &hello([3, 3])[..20];
    let mut hanging = [begin(b"", service.tls()), begin(half, service.tls())];
    // The service accepts in order: these two are counted before the next.
    let mut others = [begin(b"", service.tls()), begin(b"", service.tls())];
    let said = others.each_mut().map(rest);
    let is_late = started.elapsed() >= Duration::from_secs(3);
    for said in &said {
        if is_late && said.is_empty() {
            return false;
        }
        assert_eq!(said, &[0x15, 3, 3, 0, 2, 2, 80]);
    }
    service.logged("\"reason\":\"too many connections of one address\"", 1);
    for stream in &mut hanging {
        assert_eq!(rest(stream), b"");
    }
    let lasted = started.elapsed();
    assert!(lasted >= Duration::from_secs(2), "{lasted:?}");
    if lasted >= Duration::from_secs(9) {
        return false;
    }
    // Who tries on is told of once a minute, and counted.
    assert_eq!(service.log().matches("too many connections").count(), 1);
    let refused = "\nsiteconf_http_connections_opened_total{outcome=\"refused\"} 2\n";
    assert!(service.metrics().contains(refused));
    let config = trusting(&[&pair], &[&version::TLS13]);
    // The end of a connection is seen before its place is free.
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        match Client::connect(&config, service.tls()).get(HEALTH) {
            Ok(answer) => {
                assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
                return true;
            }
            Err(error) => assert!(Instant::now() < end, "{error}"),
        }
    }
}

#[test]
fn a_stop_does_not_wait_for_a_handshake() {
    let mut service = Service::with_tls(&Pair::new(), &[]);
    let mut hanging = TcpStream::connect(service.tls()).unwrap();
    // A second connection was accepted after the first.
    let mut other = TcpStream::connect(service.tls()).unwrap();
    other.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    other.read_exact(&mut [0; 8]).unwrap();
    let asked = Instant::now();
    assert_eq!(service.stop().code(), Some(0));
    assert!(
        asked.elapsed() < Duration::from_secs(8),
        "{:?}",
        asked.elapsed()
    );
    assert_eq!(rest(&mut hanging), b"");
}
