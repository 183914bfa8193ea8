//! Connections that cannot be accepted.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, getrlimit, prlimit};

use crate::service::Service;

/// Idle connections, more than there are numbers of files left.
const IDLE: usize = 100;

/// Reads the metrics again and again, on one connection.
struct Watcher(BufReader<TcpStream>);

impl Watcher {
    fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(20)))
            .unwrap();
        Self(BufReader::new(stream))
    }

    fn value(&mut self, name: &str) -> u64 {
        let request = b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n";
        self.0.get_mut().write_all(request).unwrap();
        let mut length = 0;
        loop {
            let mut line = String::new();
            self.0.read_line(&mut line).unwrap();
            if let Some(bytes) = line.strip_prefix("Content-Length: ") {
                length = bytes.trim_end().parse().unwrap();
            }
            if line.trim_end().is_empty() {
                break;
            }
        }
        let mut text = vec![0; length];
        self.0.read_exact(&mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let mut values = text.lines().filter_map(|line| line.strip_prefix(name));
        values.next().unwrap().trim().parse().unwrap()
    }
}

#[test]
fn without_open_files_connections_wait_and_the_log_is_told_once() {
    let service = Service::start(&["--metrics-listen", "127.0.0.1:0"], &[]);
    let mut watcher = Watcher::connect(service.metrics_address());
    let failed = "siteconf_http_accepts_failed_total";
    assert_eq!(watcher.value(failed), 0);
    let open = format!("/proc/{}/fd", service.id().as_raw_nonzero());
    let maximum = getrlimit(Resource::Nofile).maximum;
    let allow = |current: u64| {
        let current = Some(current);
        prlimit(
            Some(service.id()),
            Resource::Nofile,
            Rlimit { current, maximum },
        )
        .unwrap();
    };
    allow(fs::read_dir(open).unwrap().count() as u64);
    let idle: Vec<_> = (0..IDLE)
        .map(|_| TcpStream::connect(service.plain()).unwrap())
        .collect();
    let line = service.logged("cannot accept connections", 1);
    assert_eq!(line["level"], "WARN");
    let end = Instant::now() + Duration::from_secs(20);
    while watcher.value(failed) < 5 {
        assert!(Instant::now() < end);
    }
    assert_eq!(service.log().matches("cannot accept").count(), 1);
    // Those that waited are served.
    allow(1000);
    for mut stream in idle {
        let request = b"GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
        stream.write_all(request).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    }
}
