//! The listener of the metrics: its text after what is known to have happened, promtool, and a real
//! Prometheus that scrapes it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Write as _;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use time::OffsetDateTime;

use crate::free_address::free_address;
use crate::harness::{Daemon, Project, READ, User, soon, tested};
use crate::left_out::leave_out;

const LISTEN: [&str; 2] = ["--metrics-listen", "127.0.0.1:0"];

/// What is shown and is not known before: times, and what depends on the machine.
const UNKNOWN: [&str; 10] = [
    "siteconf_wal_bytes",
    "siteconf_database_bytes",
    "siteconf_disk_free_bytes",
    "siteconf_http_received_bytes_total",
    "siteconf_http_sent_bytes_total",
    "siteconf_store_reads_total",
    "siteconf_cache_",
    "_duration_seconds",
    "siteconf_commit_batches",
    "process_start_time_seconds",
];

/// In whole milliseconds, as a start is told.
fn seconds_since_1970() -> f64 {
    let milliseconds = OffsetDateTime::now_utc().unix_timestamp_nanos() / 1_000_000;
    Duration::from_millis(u64::try_from(milliseconds).unwrap()).as_secs_f64()
}

#[track_caller]
fn scrape(watcher: &User) -> String {
    let answer = watcher.get("/metrics").expect_status(200);
    assert_eq!(
        answer.header("Content-Type"),
        Some("text/plain; version=0.0.4; charset=utf-8")
    );
    String::from_utf8(answer.body.clone()).unwrap()
}

/// The values of a text by name and labels.
fn values(text: &str) -> BTreeMap<String, f64> {
    let mut values = BTreeMap::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (name, value) = line.rsplit_once(' ').unwrap();
        let before = values.insert(name.to_owned(), value.parse().unwrap());
        assert_eq!(before, None, "{name} is there twice");
    }
    values
}

/// The text with a `_` for every value that is not known, and without ranges.
fn masked(text: &str) -> String {
    let mut masked = String::new();
    for line in text.lines() {
        let is_value = !line.starts_with('#');
        if is_value && line.contains("_bucket{") {
            continue;
        }
        match line.rsplit_once(' ') {
            Some((name, _))
                if is_value
                    && UNKNOWN.iter().any(|unknown| name.contains(unknown))
                    && !name.contains("_duration_seconds_count{") =>
            {
                writeln!(masked, "{name} _").unwrap();
            }
            _ => writeln!(masked, "{line}").unwrap(),
        }
    }
    masked
}

/// Logs in, makes a project, saves, reads, and is refused in all ways that are counted.
fn use_service(daemon: &Daemon) -> Project {
    let admin = daemon.session("admin");
    assert_eq!(daemon.login("admin", "wrong").status, 401);
    let project = Project::with_main(&admin, "acme/shop");
    project.save("main", "a.xml", "<a/>");
    project.save("main", "b.xml", "<b/>");
    assert_eq!(admin.delete(&project.file("main", "b.xml")).status, 200);
    let large = vec![7; 100_000];
    assert_eq!(
        admin.put(&project.file("main", "large"), &large).status,
        201
    );
    let reader = daemon.reader(&project);
    let raw = format!("{READ}/projects/acme%2Fshop.erp/repository/files/a.xml/raw");
    for _ in 0..3 {
        assert_eq!(reader.get(&raw).status, 200);
    }
    assert_eq!(reader.head(&raw).status, 200);
    assert_eq!(daemon.token(&"0".repeat(64)).get(&raw).status, 401);
    assert_eq!(reader.get("/nowhere").status, 404);
    assert_eq!(reader.request("BREW", "/nowhere").send().status, 501);
    project
}

#[test]
fn the_text_tells_what_happened() {
    let before = seconds_since_1970();
    let mut daemon = Daemon::start_with(&LISTEN);
    use_service(&daemon);
    let watcher = daemon.watcher();
    soon(|| values(&scrape(&watcher)).contains_key("siteconf_http_connections"));
    // The last client may not yet be seen to have gone.
    soon(|| values(&scrape(&watcher))["siteconf_http_connections"] < 0.5);
    let text = scrape(&watcher);
    let shown: Vec<_> = masked(&text)
        .lines()
        .filter(|line| !line.contains("siteconf_sessions") && !line.contains("siteconf_tokens"))
        .filter(|line| !line.contains("siteconf_object"))
        .map(str::to_owned)
        .collect();
    let commit = tested::version().1;
    let commit = commit.as_deref().unwrap_or("unknown");
    let expected = include_str!("metrics.txt").replace("COMMIT", commit);
    let expected: Vec<_> = expected.lines().collect();
    assert_eq!(shown, expected, "{text}");
    let now = values(&text);
    assert!(now["siteconf_http_received_bytes_total"] > 100_000.0);
    assert!(now["siteconf_http_sent_bytes_total"] > 3000.0);
    assert!(now["siteconf_disk_free_bytes"] > 0.0);
    assert!(now["siteconf_commit_duration_seconds_count"] >= 8.0);
    let started = now["process_start_time_seconds"];
    assert!(
        (before..=seconds_since_1970()).contains(&started),
        "{started}"
    );
    let again = values(&scrape(&watcher))["process_start_time_seconds"];
    assert_eq!(again.to_bits(), started.to_bits());

    // What is counted once a minute is counted at the start, too.
    assert_eq!(daemon.stop().code(), Some(0));
    daemon.restart_with(&LISTEN);
    let watcher = daemon.watcher();
    soon(|| scrape(&watcher).contains("siteconf_object_bytes{"));
    let now = values(&scrape(&watcher));
    assert!(now["process_start_time_seconds"] > started);
    let counted =
        ["sessions", "tokens", "tokens_expiring"].map(|it| now[&format!("siteconf_{it}")]);
    assert_eq!(format!("{counted:?}"), "[1.0, 1.0, 0.0]");
    let of = |kind: &str, place: &str| {
        let labels = format!("{{kind=\"{kind}\",place=\"{place}\"}}");
        let count = |name: &str| now[&format!("{name}{labels}")];
        (count("siteconf_objects"), count("siteconf_object_bytes"))
    };
    assert_eq!(of("blob", "row"), (2.0, 8.0));
    assert_eq!(of("blob", "file"), (1.0, 100_000.0));
}

#[test]
fn a_scrape_reads_nothing_of_the_store_and_a_probe_is_there() {
    let daemon = Daemon::start_with(&LISTEN);
    use_service(&daemon);
    let watcher = daemon.watcher();
    soon(|| scrape(&watcher).contains("# TYPE siteconf_object_bytes "));
    let reads = || values(&scrape(&watcher))["siteconf_store_reads_total"].to_bits();
    // What the service does by itself at its start reads, too, and may come late.
    soon(|| {
        let before = reads();
        (0..10).all(|_| reads() == before)
    });
    assert_eq!(watcher.get("/livez").json(), json!({ "status": "live" }));
    assert_eq!(watcher.get("/readyz").json(), json!({ "status": "ready" }));
    assert_eq!(watcher.head("/metrics").status, 200);
    assert_eq!(watcher.delete("/metrics").status, 405);
    assert_eq!(watcher.get("/user/session").status, 404);
    assert_eq!(daemon.anonymous().get("/metrics").status, 404);
}

/// How many answers are kept.
fn kept_answers(watcher: &User) -> u64 {
    values(&scrape(watcher))["siteconf_cache_entries{cache=\"rendered\"}"].to_bits()
}

#[test]
fn a_whole_tree_is_kept_once_whatever_else_its_address_holds() {
    let daemon = Daemon::start_with(&LISTEN);
    let project = use_service(&daemon);
    let (reader, watcher) = (daemon.reader(&project), daemon.watcher());
    let kept = || kept_answers(&watcher);
    let tree = |more: &str| {
        let target = format!("{READ}/projects/acme%2Fshop.erp/repository/tree?{more}");
        reader.get(&target).expect_status(200).json()
    };
    let whole = tree("recursive=true&pagination=none");
    let before = kept();
    for number in 0..9 {
        let more = format!("pagination=none&unknown={number}&recursive=1&ref=main");
        assert_eq!(tree(&more), whole);
    }
    assert_eq!(kept(), before);
    // A page has links, in which all of its address is.
    tree("recursive=true&page=1&unknown=1");
    assert_ne!(kept(), before);
}

#[test]
fn what_a_route_does_not_read_of_an_address_makes_no_other_answer_to_keep() {
    let daemon = Daemon::start_with(&LISTEN);
    let project = use_service(&daemon);
    let (reader, watcher) = (daemon.reader(&project), daemon.watcher());
    let kept = || kept_answers(&watcher);
    let of_project = project.read("").replace("/repository", "");
    for target in [
        project.read("/branches?search=MAI&sort=name_asc"),
        project.read("/branches/main?x=1"),
        project.read("/files/a.xml/raw?ref=main"),
        project.read("/commits/main?stats=true"),
        format!("{of_project}?statistics=true"),
    ] {
        let first = reader.get(&target).expect_status(200);
        let before = kept();
        for number in 0..5 {
            let again = reader.get(&format!("{target}&_={number}"));
            assert_eq!(again.lasting_headers(), first.lasting_headers());
            assert!(again.body == first.body, "{target}: other bytes");
        }
        assert_eq!(kept(), before, "{target}");
    }
    // A page has links, in which all of its address is.
    for target in ["/branches?per_page=1&page=1", "/commits?per_page=1"] {
        let answer = reader.get(&project.read(&format!("{target}&_=7")));
        let links = answer.header("Link").expect("links").to_owned();
        assert!(
            links.contains("&_=7&") || links.contains("?_=7&"),
            "{links}"
        );
    }
}

#[test]
fn a_port_that_is_taken_refuses_the_start_before_anything_is_done() {
    let mut daemon = Daemon::start();
    let project = use_service(&daemon);
    let deleted = daemon.session("admin").delete(&project.admin(""));
    assert_eq!(deleted.status, 204);
    assert_eq!(daemon.stop().code(), Some(0));
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let flags = [
        "serve",
        "--listen=127.0.0.1:0",
        "--keep-deleted-days=0",
        &format!("--metrics-listen={address}"),
    ];
    let refused = daemon.command(&flags, "");
    assert_eq!(refused.status.code(), Some(1));
    assert_eq!(String::from_utf8(refused.stdout).unwrap(), "");
    let said = String::from_utf8(refused.stderr).unwrap();
    let reason =
        format!("{address} is in use by another process; choose another with --metrics-listen");
    assert_eq!(said, format!("siteconf: {reason}\n"));
    // What this start would have forgotten is still there.
    let listed = daemon.command(&["project", "list", "--deleted", "--json"], "");
    let listed = String::from_utf8(listed.stdout).unwrap();
    assert!(listed.contains("acme/shop.erp"), "{listed}");
}

/// True if the tool is there; with `CI=true` it must be.
fn has(tool: &str) -> bool {
    let there = Command::new(tool).arg("--version").output().is_ok();
    if !there {
        leave_out(&format!("{tool} is not installed"));
    }
    there
}

#[test]
fn promtool_finds_nothing_to_say_and_the_examples_name_what_is_there() {
    let daemon = Daemon::start_with(&LISTEN);
    use_service(&daemon);
    let watcher = daemon.watcher();
    soon(|| scrape(&watcher).contains("# TYPE siteconf_object_bytes "));
    let text = scrape(&watcher);
    let example = |name: &str| {
        let output = daemon.command(&["example", name], "");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let (alerts, dashboard) = (example("alerts"), example("grafana"));
    let parsed: Value = serde_json::from_str(&dashboard).unwrap();
    assert!(
        parsed["panels"]
            .as_array()
            .is_some_and(|panels| panels.len() >= 15)
    );

    let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let families: Vec<_> = text
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '))
        .collect();
    let mut named = 0;
    for place in [&alerts, &dashboard] {
        for (at, _) in place.match_indices("siteconf_") {
            let rest = &place[at..];
            let name = &rest[..rest.find(|c| !is_of_name(c)).unwrap()];
            let is_there = families.iter().any(|(family, kind)| {
                let rest = name.strip_prefix(family);
                match *kind {
                    "histogram" => {
                        rest.is_some_and(|it| ["_bucket", "_sum", "_count"].contains(&it))
                    }
                    _ => rest == Some(""),
                }
            });
            assert!(is_there, "{name} is no metric");
            named += 1;
        }
    }
    assert!(named > 40, "{named}");
    for (family, _) in &families {
        assert!(dashboard.contains(family), "the dashboard lacks {family}");
    }

    if !has("promtool") {
        return;
    }
    let mut promtool = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = promtool.stdin.take().unwrap();
    input.write_all(text.as_bytes()).unwrap();
    drop(input);
    let said = promtool.wait_with_output().unwrap();
    assert!(said.status.success(), "{said:?}");
    assert_eq!(String::from_utf8(said.stderr).unwrap(), "");
    let folder = tempfile::tempdir().unwrap();
    let rules = folder.path().join("alerts.yml");
    fs::write(&rules, alerts).unwrap();
    let said = Command::new("promtool")
        .args(["check", "rules"])
        .arg(&rules)
        .output();
    let said = said.unwrap();
    assert!(said.status.success(), "{said:?}");
}

/// A process that is ended with the test.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

#[test]
fn a_real_prometheus_scrapes_it() {
    if !has("prometheus") {
        return;
    }
    let daemon = Daemon::start_with(&LISTEN);
    use_service(&daemon);
    let target = daemon.watcher().address();
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let config = format!(
        "scrape_configs:\n- job_name: siteconf\n  scrape_interval: 1s\n  scrape_timeout: 1s\n  \
         static_configs:\n  - targets: [\"{target}\"]\n"
    );
    fs::write(at("prometheus.yml"), config).unwrap();
    let address = free_address();
    let log = File::create(at("log")).unwrap();
    let _prometheus = Ended(
        Command::new("prometheus")
            .arg(format!("--config.file={}", at("prometheus.yml").display()))
            .arg(format!("--storage.tsdb.path={}", at("data").display()))
            .arg(format!("--web.listen-address={address}"))
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap(),
    );
    let ask = |query: &str| -> Option<String> {
        let url = format!("http://{address}/api/v1/query?query={query}");
        let output = Command::new("curl")
            .args(["--silent", "--fail", &url])
            .output()
            .unwrap();
        let found: Value = serde_json::from_slice(&output.stdout).ok()?;
        let value = found.pointer("/data/result/0/value/1")?;
        Some(value.as_str()?.to_owned())
    };
    let end = Instant::now() + Duration::from_mins(2);
    for (query, expected) in [
        ("up", "1"),
        ("siteconf_build_info", "1"),
        ("siteconf_saves_total%7Bkind=%22file%22%7D", "3"),
        ("siteconf_http_requests_total%7Bstatus=%22501%22%7D", "1"),
        (
            "siteconf_commit_batches_bucket%7Ble=%22%2BInf%22%7D>bool%200",
            "1",
        ),
    ] {
        while ask(query).as_deref() != Some(expected) {
            let log = fs::read_to_string(at("log")).unwrap();
            assert!(Instant::now() < end, "{query}: {:?}\n{log}", ask(query));
            thread::sleep(Duration::from_millis(100));
        }
    }
}
