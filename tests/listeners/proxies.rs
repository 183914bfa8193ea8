//! Proxies that tell of their clients, and whom the service does not know.

use std::process::Command;

use crate::service::{HEALTH, Service, output_of};

/// What the log says of an address, after requests of it that tell of another client.
fn warnings(flags: &[&str]) -> Vec<String> {
    let service = Service::start(flags, &[]);
    for header in [
        "X-Forwarded-For: 192.0.2.7",
        "X-Forwarded-For: 192.0.2.8",
        "X-Other: 1",
    ] {
        output_of(
            Command::new("curl")
                .args(["--silent", "--fail", "--noproxy", "*", "--header", header])
                .arg(format!("http://{}{HEALTH}", service.plain())),
        );
    }
    service.logged("\"message\":\"request\"", 3);
    let log = service.log();
    let lines = log.lines().filter(|line| line.contains("X-Forwarded-For"));
    lines.map(str::to_owned).collect()
}

#[test]
fn a_proxy_that_is_not_believed_is_told_of_once() {
    let told = warnings(&["--trusted-proxies", "10.0.0.0/8"]);
    assert_eq!(told.len(), 1, "{told:?}");
    let line: serde_json::Value = serde_json::from_str(&told[0]).unwrap();
    assert_eq!(
        (&line["level"], &line["client"]),
        (&"WARN".into(), &"127.0.0.1".into())
    );
    assert!(told[0].contains("trusted_proxies"), "{told:?}");
    let told = warnings(&["--trusted-proxies", "127.0.0.1"]);
    assert_eq!(told, [""; 0]);
}
