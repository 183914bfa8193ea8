//! The way to the service: TLS with a root of one's own, a proxy of the environment, and answers of what stands
//! between.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::{Child, Output};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rustix::process::Signal;
use serde_json::json;

use crate::daemon::serve;
use crate::fake::{Answer, Fake, branch, git_id};
use crate::running::Running;
use crate::scene::{Scene, files, read, refusal, said};

/// A service that listens with TLS, too.
struct Secure {
    process: Child,
    /// Its address with TLS.
    base: String,
}

impl Secure {
    /// Starts it on the data of a scene, whose own service ends. The root that its certificate is signed by
    /// is in `root.pem`, one that signed nothing in `other.pem`.
    fn start(scene: &mut Scene) -> Self {
        scene.daemon.kill();
        let root = |name: &str| {
            let mut params = CertificateParams::default();
            params.distinguished_name.push(DnType::CommonName, name);
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            let key = KeyPair::generate().unwrap();
            let pem = params.self_signed(&key).unwrap().pem();
            (Issuer::new(params, key), pem)
        };
        let ((issuer, pem), other) = (root("root"), root("other").1);
        fs::write(scene.at("root.pem"), pem).unwrap();
        fs::write(scene.at("other.pem"), other).unwrap();
        let key = KeyPair::generate().unwrap();
        let leaf = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
        let leaf = leaf.signed_by(&key, &issuer).unwrap();
        let [cert, key_file] = ["cert.pem", "key.pem"].map(|name| scene.at(name));
        fs::write(&cert, leaf.pem()).unwrap();
        fs::write(&key_file, key.serialize_pem()).unwrap();
        let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        fs::set_permissions(&key_file, private).unwrap();
        let mut command = serve(&scene.daemon.data());
        command.args(["--tls-listen", "127.0.0.1:0"]);
        command
            .arg("--tls-cert")
            .arg(cert)
            .arg("--tls-key")
            .arg(key_file);
        let mut process = command.spawn().unwrap();
        let lines = BufReader::new(process.stdout.as_mut().unwrap()).lines();
        let base = lines.map(Result::unwrap).find_map(|line| {
            let place = line.strip_prefix("listening on ")?;
            place.starts_with("https://").then(|| place.to_owned())
        });
        Self {
            base: base.expect("it listens"),
            process,
        }
    }
}

impl Drop for Secure {
    fn drop(&mut self) {
        // It may have ended.
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

#[test]
fn a_service_is_trusted_by_the_root_that_is_named_alone() {
    let mut scene = Scene::new();
    let branch = files(&[("a", "1"), ("b/c", "2")]);
    scene.save(&branch);
    let secure = Secure::start(&mut scene);
    let host = secure.base.replace("https://", "");
    let with = |base: &str, flags: &[&str]| scene.command(base, flags).output().unwrap();
    let path = |name: &str| scene.at(name).display().to_string();
    for flags in [&[][..], &["--ca-file", &path("other.pem")]] {
        assert_eq!(
            refusal(&with(&secure.base, flags)),
            format!(
                "siteconf: {host} is not trusted: its certificate is of an issuer that is not trusted; --ca-file names \
                 certificates to trust\n"
            )
        );
    }
    let root = path("root.pem");
    let trusting = ["--ca-file", root.as_str()];
    // It is one for another name.
    let elsewhere = secure.base.replace("127.0.0.1", "localhost");
    let told = refusal(&with(&elsewhere, &trusting));
    let other = " is not trusted: its certificate is for other names; call the host as the certificate does \
                 (subjectAltName)\n";
    assert!(told.ends_with(other), "{told}");
    let none = with(&secure.base, &["--ca-file", &path("token")]);
    let told = format!("{} holds no certificate in PEM\n", path("token"));
    assert!(String::from_utf8(none.stderr).unwrap().contains(&told));
    assert_eq!(none.status.code(), Some(2));
    assert!(!scene.dir().exists());
    said(&with(&secure.base, &trusting), 0, "");
    assert_eq!(read(&scene.dir()), branch);
}

#[test]
fn a_watch_reads_the_certificates_again_where_it_trusts_nobody() {
    let mut scene = Scene::new();
    let branch = files(&[("a", "1")]);
    scene.save(&branch);
    let secure = Secure::start(&mut scene);
    let trusted = scene.at("trusted.pem");
    fs::copy(scene.at("other.pem"), &trusted).unwrap();
    let shown = trusted.display().to_string();
    let flags = ["--watch", "--ca-file", &shown];
    let mut watch = Running::start(scene.command(&secure.base, &flags));
    let told = watch.complaint();
    assert!(told.contains(" is not trusted: "), "{told}");
    // What holds no certificate, as in the middle of a replacement, changes nothing.
    fs::write(&trusted, "").unwrap();
    let told = watch.complaint();
    assert!(told.contains(" is not trusted: "), "{told}");
    fs::rename(scene.at("root.pem"), &trusted).unwrap();
    let line = watch.line();
    assert!(line.contains(": 1 added, 0 changed, 0 removed, "), "{line}");
    assert_eq!(read(&scene.dir()), branch);
    watch.signal(Signal::TERM);
    assert_eq!(watch.end().0, Some(0));
}

#[test]
fn a_service_that_has_no_connection_left_is_asked_again() {
    let mut scene = Scene::new();
    let branch = files(&[("a", "1")]);
    scene.save(&branch);
    let secure = Secure::start(&mut scene);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("https://{}", listener.local_addr().unwrap());
    let behind = secure.base.replace("https://", "");
    thread::spawn(move || {
        for (number, client) in listener.incoming().enumerate() {
            let mut client = client.unwrap();
            if number == 0 {
                let mut hello = [0; 4096];
                assert!(client.read(&mut hello).unwrap() > 0);
                // The alert that there is an internal error, all that can be said before the handshake.
                client.write_all(&[21, 3, 3, 0, 2, 2, 80]).unwrap();
                continue;
            }
            let server = TcpStream::connect(&behind).unwrap();
            thread::spawn(move || drop(carry(client, server)));
        }
    });
    let root = scene.at("root.pem").display().to_string();
    let output = scene.command(&base, &["--ca-file", &root]).output();
    said(&output.unwrap(), 0, "");
    assert_eq!(read(&scene.dir()), branch);
}

/// A proxy that joins connections, or refuses to.
struct Joining {
    base: String,
    /// The heads that it was sent.
    heads: Arc<Mutex<Vec<String>>>,
}

impl Joining {
    /// It runs until the tests end.
    fn start(refuses: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let heads = Arc::<Mutex<Vec<_>>>::default();
        let known = Arc::clone(&heads);
        thread::spawn(move || {
            for client in listener.incoming() {
                let known = Arc::clone(&known);
                thread::spawn(move || drop(join(client.unwrap(), refuses, &known)));
            }
        });
        Self { base, heads }
    }

    /// The first lines that it was sent since the last time.
    fn heads(&self) -> Vec<String> {
        std::mem::take(&mut self.heads.lock().unwrap())
    }
}

fn join(mut client: TcpStream, refuses: bool, heads: &Mutex<Vec<String>>) -> std::io::Result<()> {
    let mut head = String::new();
    let mut lines = BufReader::new(&client);
    while !head.ends_with("\r\n\r\n") && lines.read_line(&mut head)? > 0 {}
    let place = head.split(' ').nth(1).unwrap_or_default().to_owned();
    heads.lock().unwrap().push(head);
    if refuses {
        return client.write_all(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n");
    }
    let server = TcpStream::connect(place)?;
    client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")?;
    carry(client, server)
}

/// Carries what either end sends to the other, until one has ended.
fn carry(client: TcpStream, server: TcpStream) -> std::io::Result<()> {
    let (mut up, mut down) = (server.try_clone()?, client.try_clone()?);
    let (mut from_client, mut from_server) = (client, server);
    thread::spawn(move || {
        let _ended = std::io::copy(&mut from_server, &mut down);
        let _ended = down.shutdown(Shutdown::Both);
    });
    let _ended = std::io::copy(&mut from_client, &mut up);
    up.shutdown(Shutdown::Both)
}

#[test]
fn a_proxy_of_the_environment_is_gone_through() {
    let mut scene = Scene::new();
    let branch = files(&[("a", "1"), ("b/c", "2")]);
    scene.save(&branch);
    let token = fs::read_to_string(scene.at("token")).unwrap();
    let proxy = Joining::start(false);
    let pull = |base: &str, variables: &[(&str, &str)], flags: &[&str]| -> Output {
        let mut command = scene.command(base, flags);
        command.envs(variables.iter().copied()).output().unwrap()
    };
    let base = scene.daemon.base();
    let all_lead_to = |heads: Vec<String>, base: &str| {
        let place = base.split("//").nth(1).unwrap();
        assert!(!heads.is_empty());
        for head in heads {
            assert!(
                head.starts_with(&format!("CONNECT {place} HTTP/1.1\r\n")),
                "{head}"
            );
            assert!(!head.contains(&token), "{head}");
        }
    };
    said(&pull(&base, &[("http_proxy", &proxy.base)], &[]), 0, "");
    assert_eq!(read(&scene.dir()), branch);
    all_lead_to(proxy.heads(), &base);
    for name in ["HTTP_PROXY", "all_proxy", "ALL_PROXY"] {
        said(&pull(&base, &[(name, &proxy.base)], &[]), 0, "");
        all_lead_to(proxy.heads(), &base);
    }
    // Not for a host that is excepted, nor for another scheme.
    let excepted = [
        ("http_proxy", proxy.base.as_str()),
        ("no_proxy", "a.example, 127.0.0.1"),
    ];
    said(&pull(&base, &excepted, &[]), 0, "");
    said(&pull(&base, &[("https_proxy", &proxy.base)], &[]), 0, "");
    assert_eq!(proxy.heads(), Vec::<String>::new());
    let refusing = Joining::start(true);
    let told = refusal(&pull(&base, &[("http_proxy", &refusing.base)], &[]));
    let host = base.replace("http://", "");
    assert!(
        told.starts_with(&format!("siteconf: the proxy does not let us to {host}: ")),
        "{told}"
    );
    // What cannot be one is told without its password.
    let wrong = pull(&base, &[("http_proxy", "ftp://me:secret@x")], &[]);
    assert_eq!(wrong.status.code(), Some(2), "{wrong:?}");
    let told = String::from_utf8(wrong.stderr).unwrap();
    assert!(
        told.contains("http_proxy in the environment is no address of a proxy")
            && !told.contains("secret"),
        "{told}"
    );

    fs::remove_dir_all(scene.dir()).unwrap();
    let root = scene.at("root.pem").display().to_string();
    let secure = Secure::start(&mut scene);
    let mut command = scene.command(&secure.base, &["--ca-file", &root]);
    let output = command.env("https_proxy", &proxy.base).output().unwrap();
    said(&output, 0, "");
    assert_eq!(read(&scene.dir()), branch);
    all_lead_to(proxy.heads(), &secure.base);
}

#[test]
fn a_304_that_nobody_asked_for_is_no_success() {
    let scene = Scene::new();
    let fake = Fake::new(|asked| branch(asked, 'c'));
    let output = scene.command(&fake.base(), &[]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    // As a cache may answer by mistake.
    let cache = Fake::new(|_| Answer {
        status: "304 Not Modified",
        ..Answer::default()
    });
    let host = cache.base().replace("http://", "");
    assert_eq!(
        refusal(&scene.command(&cache.base(), &[]).output().unwrap()),
        format!(
            "siteconf: {host} answers 304 Not Modified, though it was not told what is known here, as a cache \
             may by mistake\n"
        )
    );
}

#[test]
fn answers_that_say_nothing_are_told_by_their_status() {
    let scene = Scene::new();
    let told = |status: &'static str| {
        let fake = Fake::new(move |_| Answer {
            status,
            ..Answer::default()
        });
        let host = fake.base().replace("http://", "");
        let output = scene.command(&fake.base(), &[]).output();
        refusal(&output.unwrap()).replace(&host, "HOST")
    };
    for (status, words) in [
        (
            "413 Payload Too Large",
            "refuses the request: 413 Payload Too Large",
        ),
        ("502 Bad Gateway", "cannot serve us now: 502 Bad Gateway"),
        (
            "204 No Content",
            "does not answer as the Read API does: 204 No Content",
        ),
    ] {
        assert_eq!(told(status), format!("siteconf: HOST {words}\n"));
    }
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let scene = Scene::new();
    let fake = Fake::new(|asked| {
        if asked.target.contains("/raw?") {
            return Answer::refusal("404 Not Found", "404 File Not Found");
        }
        branch(asked, 'c')
    });
    let host = fake.base().replace("http://", "");
    assert_eq!(
        refusal(&scene.command(&fake.base(), &[]).output().unwrap()),
        format!(
            "siteconf: \"of-c\" is in the tree and does not come: {host} does not have it: 404 File Not Found\n"
        )
    );
}

/// A branch of so many files, each of its own bytes.
fn of_files(count: u32, before_a_file: impl Fn() + Send + Sync + 'static) -> Fake {
    Fake::new(move |asked| {
        if asked.target.contains("/tree?") {
            let files = (0..count).map(|number| {
                let id = git_id(number.to_string().as_bytes());
                json!({"id": id, "name": "x", "type": "blob", "path": format!("{number}"), "mode": "100644"})
            });
            return Answer::json(&files.collect());
        }
        let of_file = asked.target.split_once("/files/");
        if let Some((number, _)) = of_file.and_then(|(_, rest)| rest.split_once("/raw?")) {
            before_a_file();
            return Answer::bytes(number.as_bytes());
        }
        branch(asked, 'c')
    })
}

/// A service has so many connections for all who watch, and after a save all of them fetch at once.
#[test]
fn what_comes_soon_comes_over_few_connections_and_those_of_a_long_fetch_are_given_back() {
    let scene = Scene::new();
    let fake = of_files(64, || {});
    let began = Instant::now();
    let pull = scene.command(&fake.base(), &["--parallel", "64"]).output();
    assert!(pull.unwrap().status.success());
    assert_eq!(read(&scene.dir()).len(), 64);
    // One for what it asks first, one to fetch with, and one more for each 50 ms that this took.
    let may = 3 + began.elapsed().as_millis() / 50;
    let connected = fake.connected();
    assert!(connected as u128 <= may, "{connected} of {may}");

    // Goes on once eight wait for their files.
    let all = Barrier::new(8);
    let fake = of_files(8, move || {
        all.wait();
    });
    let dir = scene.at("another");
    let mut watch =
        Running::start(scene.command_in(&dir, &fake.base(), &["--watch", "--interval", "1"]));
    assert!(watch.line().starts_with("main is at cccccccc: 8 added"));
    assert!(fake.connected() >= 8);
    let began = Instant::now();
    while fake.open() > 1 {
        assert!(began.elapsed() < Duration::from_secs(10), "{}", fake.open());
        thread::yield_now();
    }
    watch.signal(Signal::TERM);
    assert_eq!(watch.end().0, Some(0));
}
