//! The files that `siteconf example` prints, run by the programs that they are for against the real
//! service: only addresses and the places of files are changed.

use std::fs;
use std::net::{Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::geteuid;

use crate::free_address::free_address;
use crate::is_here;
use crate::pair::Pair;
use crate::service::{HEALTH, Service, output_of, shown};

/// A program that ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // nginx ends its workers when it is asked to, and leaves them when it is killed.
        let id = rustix::process::Pid::from_child(&self.0);
        let _ended = rustix::process::kill_process(id, rustix::process::Signal::TERM);
        drop(self.0.wait());
    }
}

pub(crate) fn example(name: &str) -> String {
    output_of(Command::new(env!("CARGO_BIN_EXE_siteconf")).args(["example", name]))
}

/// The text with each of these, which it must have, in the place of the other.
#[track_caller]
fn adapted(mut text: String, changes: &[(&str, &str)]) -> String {
    for (from, to) in changes {
        assert!(text.contains(from), "no \"{from}\" in {text}");
        text = text.replace(from, to);
    }
    text
}

/// A service that knows of the proxy, with a certificate for that one.
fn behind(address: SocketAddr) -> Service {
    let service = Service::start(
        &[
            "--external-url",
            &format!("https://conf.example:{}", address.port()),
            "--trusted-proxies",
            "127.0.0.1",
        ],
        &[],
    );
    let [cert, key] = Pair::new().write(service.folder());
    let both = fs::read_to_string(cert).unwrap() + &fs::read_to_string(key).unwrap();
    fs::write(service.at("both.pem"), both).unwrap();
    service
}

/// Waits until the proxy listens.
fn wait_for(proxy: &mut Running, address: SocketAddr, log: &Path) {
    let end = Instant::now() + Duration::from_secs(20);
    while TcpStream::connect(address).is_err() {
        let ended = proxy.0.try_wait().unwrap();
        let said = || fs::read_to_string(log).unwrap_or_default();
        assert!(
            ended.is_none() && Instant::now() < end,
            "{ended:?} {}",
            said()
        );
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The same port of the loopback of IPv6, where this machine has that: a container may have none.
fn with_ipv6(address: SocketAddr) -> Option<SocketAddr> {
    let has_ipv6 = TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).is_ok();
    has_ipv6.then_some((Ipv6Addr::LOCALHOST, address.port()).into())
}

/// Who has IPv6 alone is answered, too.
fn ask_over_ipv6(service: &Service, proxy: Option<SocketAddr>) {
    let Some(proxy) = proxy else {
        return;
    };
    let answer = output_of(
        Command::new("curl")
            .args(["--silent", "--show-error", "--include", "--http1.1"])
            .args(["--max-time", "30", "--noproxy", "*", "--resolve"])
            .arg(format!("conf.example:{}:[::1]", proxy.port()))
            .arg("--cacert")
            .arg(service.at("cert.pem"))
            .arg(format!("https://conf.example:{}{HEALTH}", proxy.port())),
    );
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
}

/// Sends a request through the proxy, as a browser does that keeps its cookies; the whole answer.
fn call(service: &Service, proxy: SocketAddr, arguments: &[&str], target: &str) -> String {
    let mut command = Command::new("curl");
    command
        .args([
            "--silent",
            "--show-error",
            "--include",
            "--max-time",
            "30",
            "--noproxy",
            "*",
        ])
        .args([
            "--http1.1",
            "--path-as-is",
            "--interface",
            "127.0.0.2",
            "--resolve",
        ])
        .arg(format!("conf.example:{}:127.0.0.1", proxy.port()))
        .arg("--cacert")
        .arg(service.at("cert.pem"))
        .args(["--cookie-jar", "jar", "--cookie", "jar"])
        .args(arguments)
        .arg(format!("https://conf.example:{}{target}", proxy.port()))
        .current_dir(service.folder());
    output_of(&mut command)
}

/// What a user does through the proxy: logs in, saves a file of a name with slashes, reads it with a
/// token, and is known by the own address and by the proxy's id of the request. Reads go on after a write
/// has failed.
fn use_through(service: &Service, proxy: SocketAddr) {
    let call = |arguments: &[&str], target: &str| call(service, proxy, arguments, target);
    let is = |answer: &str, status: &str| {
        let found = answer.contains(&format!("HTTP/1.1 {status} "));
        assert!(found, "{answer}\n{}", service.log());
    };
    let own_words = [
        "--header",
        "X-Forwarded-For: 198.51.100.1",
        "--header",
        "X-Request-Id: of-the-client",
    ];
    let health = call(&own_words, HEALTH);
    is(&health, "200");
    assert!(
        health
            .to_lowercase()
            .contains("strict-transport-security: max-age=31536000"),
        "{health}"
    );
    // What the client wrote itself comes before what the proxy adds, which is believed.
    let line = service.logged("\"client\":\"127.0.0.2\"", 1);
    assert!(!service.log().contains("198.51.100.1"));
    let id = line["proxy_request_id"].as_str().unwrap();
    assert!(id.len() >= 32 && id != "of-the-client", "{id}");

    let password = format!("password={}", service.password());
    let origin = format!("Origin: https://conf.example:{}", proxy.port());
    let login = [
        "--header",
        &origin,
        "--data",
        "username=admin",
        "--data-urlencode",
        &password,
    ];
    let answer = call(&login, "/user/login");
    is(&answer, "200");
    assert!(answer.contains("__Host-siteconf_session="), "{answer}");
    is(
        &call(
            &[
                "--header",
                &origin,
                "--json",
                r#"{"name": "acme/shop", "type": "erp"}"#,
            ],
            "/site-builder/api/projects",
        ),
        "201",
    );
    let project = "/site-builder/api/projects/acme%2Fshop.erp";
    is(
        &call(
            &["--json", r#"{"name": "main"}"#],
            &format!("{project}/branches"),
        ),
        "201",
    );
    // Larger than what proxies keep in memory or let through by themselves.
    let large = service.at("large");
    fs::write(&large, vec![b'x'; 3 << 20]).unwrap();
    let file = format!("{project}/branches/main/files/config%2Fa%20b.xml");
    is(
        &call(
            &[
                "--upload-file",
                "large",
                "--header",
                "Content-Type: application/octet-stream",
            ],
            &file,
        ),
        "201",
    );
    let said = service.run(&["token", "create", "--user", "admin", "--name", "t", "--all"]);
    let token = format!("PRIVATE-TOKEN: {}", said.split_whitespace().last().unwrap());
    let raw = "/site-builder/api/erp-config/projects/acme%2Fshop.erp/repository/files/\
               config%2Fa%20b.xml/raw";
    let answer = call(&["--header", &token], raw);
    is(&answer, "200");
    assert!(answer.ends_with(&"x".repeat(3 << 20)));
    // What reached the service is what the client sent: the slash as it was.
    service.logged("config%2Fa%20b.xml/raw", 1);

    list_the_longest_folder(service, proxy, &token);

    // As any process leaves it whose write has failed. The proxy looks a few times before it believes it.
    fs::write(service.at("data/STOPPED"), "a write failed\n").unwrap();
    is(&call(&[], HEALTH), "503");
    let end = Instant::now() + Duration::from_secs(1);
    while Instant::now() < end {
        is(&call(&["--header", &token], raw), "200");
    }
}

/// Saves into a folder whose path is as long as one may be, and asks for a page in the middle of its listing: the
/// answer names four more pages, each with the path, of which six characters stand for a letter.
fn list_the_longest_folder(service: &Service, proxy: SocketAddr, token: &str) {
    let folder = ["ф".repeat(127).as_str(); 16].join("/") + "/" + &"ф".repeat(6);
    assert_eq!(folder.len() + "/1".len(), 4_094);
    let file = shown(service.at("cert.pem"));
    for name in ["1", "2", "3", "4"] {
        let path = format!("{folder}/{name}");
        service.run(&["put", "acme/shop.erp", "main", &path, &file]);
    }
    let escaped = folder.replace('ф', "%D1%84").replace('/', "%2F");
    let page = format!(
        "/site-builder/api/erp-config/projects/acme%2Fshop.erp/repository/tree?path={escaped}&ref=main\
         &per_page=1&page=2"
    );
    // curl leaves out the value of a cookie beside so long a target, but not the cookie.
    let answer = call(
        service,
        proxy,
        &["--junk-session-cookies", "--header", token],
        &page,
    );
    assert!(answer.contains("HTTP/1.1 200 "), "{answer}");
    for named in ["prev", "next", "first", "last"] {
        assert!(answer.contains(&format!("rel=\"{named}\"")), "{answer}");
    }
}

#[test]
fn nginx_runs_with_its_file() {
    if !is_here("nginx") {
        return;
    }
    let (proxy, plain) = (free_address(), free_address());
    let service = behind(proxy);
    let at = |name: &str| service.at(name).display().to_string();
    let ipv6 = with_ipv6(proxy);
    let over_ipv6 = ipv6.map_or_else(String::new, |ipv6| format!("    listen {ipv6} ssl;\n"));
    let text = adapted(
        example("nginx"),
        &[
            ("127.0.0.1:8080", &service.plain().to_string()),
            ("listen 443 ssl", &format!("listen {proxy} ssl")),
            ("    listen [::]:443 ssl;\n", &over_ipv6),
            ("listen 80;", &format!("listen {plain};")),
            ("    listen [::]:80;\n", ""),
            (
                "/etc/letsencrypt/live/conf.example/fullchain.pem",
                &at("cert.pem"),
            ),
            (
                "/etc/letsencrypt/live/conf.example/privkey.pem",
                &at("key.pem"),
            ),
        ],
    );
    // What the head says that Debian's file needs, for two connections of each client that waits.
    let needed: String = [
        "worker_rlimit_nofile 65536;",
        "events { worker_connections 20000; }",
    ]
    .map(|line| {
        assert!(text.contains(&format!("\n#   {line}\n")), "{text}");
        line
    })
    .concat();
    fs::write(service.at("siteconf.conf"), text).unwrap();
    let around = format!(
        "daemon off; pid nginx.pid; error_log nginx.log; {needed}
        http {{ access_log off; client_body_temp_path body; proxy_temp_path proxy;
        fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
        include siteconf.conf; }}"
    );
    fs::write(service.at("nginx.conf"), around).unwrap();
    let nginx = Command::new("nginx")
        .arg("-p")
        .arg(service.folder())
        .args(["-c", "nginx.conf", "-e", "nginx.log"])
        .stdin(Stdio::null())
        .spawn();
    let mut nginx = Running(nginx.unwrap());
    wait_for(&mut nginx, proxy, &service.at("nginx.log"));
    ask_over_ipv6(&service, ipv6);
    use_through(&service, proxy);
}

#[test]
fn haproxy_runs_with_its_file() {
    if !is_here("haproxy") {
        return;
    }
    let (proxy, plain) = (free_address(), free_address());
    let service = behind(proxy);
    let at = |name: &str| service.at(name).display().to_string();
    let ipv6 = with_ipv6(proxy);
    let over_ipv6 = ipv6.map_or_else(String::new, |ipv6| format!(",{ipv6}"));
    let text = adapted(
        example("haproxy"),
        &[
            ("127.0.0.1:8080", &service.plain().to_string()),
            ("bind :::443 v4v6", &format!("bind {proxy}{over_ipv6}")),
            ("bind :::80 v4v6", &format!("bind {plain}")),
            ("/etc/haproxy/conf.example.pem", &at("both.pem")),
            // The same checks, sooner.
            ("inter 1s", "inter 100ms"),
            // This machine may allow fewer open files.
            ("maxconn 20000", "maxconn 2000"),
        ],
    );
    let is_root = geteuid().is_root();
    let others = [("    user haproxy\n", ""), ("    group haproxy\n", "")];
    let text = if is_root {
        text
    } else {
        // Only root may become another.
        adapted(text, &others)
    };
    fs::write(service.at("haproxy.cfg"), text).unwrap();
    let log = fs::File::create(service.at("haproxy.log")).unwrap();
    let haproxy = Command::new("haproxy")
        .args(["-db", "-f"])
        .arg(service.at("haproxy.cfg"))
        .stdin(Stdio::null())
        .stdout(log.try_clone().unwrap())
        .stderr(log)
        .spawn();
    let mut haproxy = Running(haproxy.unwrap());
    wait_for(&mut haproxy, proxy, &service.at("haproxy.log"));
    ask_over_ipv6(&service, ipv6);
    use_through(&service, proxy);
    if is_root {
        let status = fs::read_to_string(format!("/proc/{}/status", haproxy.0.id())).unwrap();
        let user = status.lines().find_map(|line| line.strip_prefix("Uid:"));
        let user: Vec<_> = user.unwrap().split_whitespace().collect();
        assert!(!user.contains(&"0"), "{user:?}");
    }
}

#[test]
fn logrotate_takes_the_log_away_and_the_service_begins_another() {
    if !is_here("logrotate") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("siteconf.log");
    let name = log.to_str().unwrap().to_owned();
    let service = Service::start_in(folder, &["--log-file", &name], &[]);
    let ask = |target: &str| {
        let url = format!("http://{}{target}", service.plain());
        output_of(Command::new("curl").args(["--silent", "--noproxy", "*", &url]))
    };
    let has = |file: &str, text: &str| {
        let lines = fs::read_to_string(service.at(file));
        lines.is_ok_and(|lines| lines.contains(text))
    };
    ask("/before");
    let end = Instant::now() + Duration::from_secs(20);
    while !has("siteconf.log", "/before") {
        assert!(Instant::now() < end, "the log has no line of the request");
        std::thread::sleep(Duration::from_millis(10));
    }
    let kill = format!("kill -s USR1 {}", service.id().as_raw_nonzero());
    let text = adapted(
        example("logrotate"),
        &[
            ("/var/log/siteconf/siteconf.log {", &format!("{name} {{")),
            // The account of the package, and its unit.
            ("    su siteconf siteconf\n", ""),
            ("systemctl --quiet is-active siteconf", "true"),
            ("systemctl kill -s USR1 siteconf", &kill),
        ],
    );
    let settings = service.at("logrotate");
    fs::write(&settings, text).unwrap();
    fs::set_permissions(&settings, PermissionsExt::from_mode(0o644)).unwrap();
    output_of(
        Command::new("logrotate")
            .args(["--force", "--state"])
            .arg(service.at("state"))
            .arg(settings),
    );
    while !has("siteconf.log", "/after") {
        assert!(Instant::now() < end, "no other log was begun");
        ask("/after");
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(has("siteconf.log.1", "/before") && !has("siteconf.log", "/before"));
    let mode = fs::metadata(&log).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
}

#[test]
fn systemd_finds_nothing_wrong_with_its_units() {
    if !is_here("systemd-analyze") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    // Without a path systemd looks in the folders of programs, in which this one is not.
    let command = concat!("ExecStart=", env!("CARGO_BIN_EXE_siteconf"), " ");
    let program = [("ExecStart=siteconf ", command)];
    let mut verify = Command::new("systemd-analyze");
    verify.args(["verify", "--man=no"]);
    for (name, text) in [
        ("siteconf.service", adapted(example("systemd"), &program)),
        (
            "siteconf-backup.service",
            adapted(example("backup-service"), &program),
        ),
        ("siteconf-backup.timer", example("backup-timer")),
        (
            "siteconf-gc.service",
            adapted(example("gc-service"), &program),
        ),
        ("siteconf-gc.timer", example("gc-timer")),
        ("siteconf-pull.service", adapted(example("pull"), &program)),
        (
            "siteconf-pull-once.service",
            adapted(example("pull-once"), &program),
        ),
        ("siteconf-pull-once.timer", example("pull-timer")),
    ] {
        let unit = folder.path().join(name);
        fs::write(&unit, text).unwrap();
        verify.arg(unit);
    }
    let output = verify.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && !said.contains("siteconf"),
        "{said}"
    );
}

/// A browser behind a proxy that nobody told the service of reads what to set, and so does the log.
#[test]
fn a_browser_behind_an_unknown_proxy_is_told_what_to_set() {
    let service = Service::start(&[], &[]);
    let origin = "Origin: https://conf.example";
    let answer = output_of(
        Command::new("curl")
            .args(["--silent", "--noproxy", "*", "--header", origin])
            .arg(format!("http://{}/user/session", service.plain())),
    );
    assert!(answer.contains("external_url"), "{answer}");
    assert!(answer.contains("trusted_proxies"), "{answer}");
    let line = service.logged("\"status\":403", 1);
    assert_eq!(
        line["reason"],
        "an Origin that is not the service's address: see external_url, trusted_proxies"
    );

    let service = Service::start(&["--external-url", "https://conf.example"], &[]);
    let answer = output_of(
        Command::new("curl")
            .args([
                "--silent",
                "--noproxy",
                "*",
                "--header",
                "Host: inner.example",
            ])
            .arg(format!("http://{}/user/session", service.plain())),
    );
    assert!(answer.contains("external_url and hosts"), "{answer}");
    let line = service.logged("\"status\":421", 1);
    assert_eq!(line["reason"], "a Host not in external_url or hosts");
}
