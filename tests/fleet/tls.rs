//! TLS to the server of the database and to the bucket: what is trusted, and what is refused with the reason.

use std::ffi::OsString;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::{Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::bucket::TestBucket;
use crate::cluster::{Cluster, until};
use crate::daemon::{Daemon, PROJECT, serve_at, siteconf_at};
use crate::store::{init_at, log_in, make_project, ran, save};

const HOST: &str = "db.example";
const PASSWORD: &str = "Secret";

/// Certificates of two issuers, as PEM: of the one, for the server, one that counts and one that has ended. For the
/// user of the database there is one of each issuer, as files with their keys.
struct Certificates {
    folder: tempfile::TempDir,
    good: [String; 2],
    expired: [String; 2],
    /// One that signed itself and is an authority, as PostgreSQL's own recipe makes it; its file is trusted.
    of_authority: [String; 2],
}

impl Certificates {
    /// For [`HOST`] and these addresses.
    fn new(addresses: &[IpAddr]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = |name: &str| {
            let mut params = CertificateParams::default();
            params.distinguished_name.push(DnType::CommonName, name);
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            let key = KeyPair::generate().unwrap();
            let pem = params.self_signed(&key).unwrap().pem();
            fs::write(folder.path().join(name), pem).unwrap();
            Issuer::new(params, key)
        };
        let (issuer, other) = (root("root.pem"), root("other.pem"));
        for (name, issuer) in [("user", &issuer), ("stranger", &other)] {
            let mut params = CertificateParams::default();
            params
                .distinguished_name
                .push(DnType::CommonName, "siteconf");
            let key = KeyPair::generate().unwrap();
            let certificate = params.signed_by(&key, issuer).unwrap();
            let at = |end: &str| folder.path().join(format!("{name}.{end}"));
            fs::write(at("pem"), certificate.pem()).unwrap();
            fs::write(at("key"), key.serialize_pem()).unwrap();
        }
        let mut names = vec![HOST.to_owned()];
        names.extend(addresses.iter().map(ToString::to_string));
        let leaf = |year| {
            let mut params = CertificateParams::new(names.clone()).unwrap();
            params.not_before = date_time_ymd(2000, 1, 1);
            params.not_after = date_time_ymd(year, 1, 1);
            let key = KeyPair::generate().unwrap();
            let certificate = params.signed_by(&key, &issuer).unwrap();
            [certificate.pem(), key.serialize_pem()]
        };
        let (good, expired) = (leaf(2096), leaf(2001));
        let mut params = CertificateParams::new(names).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        fs::write(folder.path().join("authority.pem"), &pem).unwrap();
        Self {
            folder,
            good,
            expired,
            of_authority: [pem, key.serialize_pem()],
        }
    }

    fn at(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().to_owned()
    }
}

/// The files of a server of the database.
fn files([certificate, key]: &[String; 2]) -> [(&'static str, &str); 2] {
    [("server.crt", certificate), ("server.key", key)]
}

/// A server of the database with TLS on an address of this machine that nobody else has, so that its port is
/// free, and a store in it.
struct Scene {
    cluster: Cluster,
    address: Ipv4Addr,
    certificates: Certificates,
    key_file: PathBuf,
}

impl Scene {
    fn set() -> Self {
        static SCENES: AtomicU8 = AtomicU8::new(77);
        let [_, _, high, low] = std::process::id().to_be_bytes();
        let own = SCENES.fetch_add(1, Ordering::Relaxed);
        let address = Ipv4Addr::new(127, 1 + (high & 0x7f), low, own);
        let mapped = address.to_ipv6_mapped();
        let certificates = Certificates::new(&[address.into(), mapped.into()]);
        let settings = format!("listen_addresses = '{address}'\nssl = on\n");
        let cluster = Cluster::start_with(&settings, &files(&certificates.good));
        cluster.ask("postgres", "CREATE DATABASE secure");
        let key_file = certificates.folder.path().join("server-key");
        Self {
            cluster,
            address,
            certificates,
            key_file,
        }
    }

    /// The URL with this host, at the server's address, and with these parameters.
    fn url(&self, host: &str, params: &str) -> String {
        let address = self.address;
        format!("postgres://siteconf:{PASSWORD}@{host}/secure?hostaddr={address}{params}")
    }

    /// By an address that is not one of this machine's loopback as it is written.
    fn far_url(&self, params: &str) -> String {
        let mapped = self.address.to_ipv6_mapped();
        format!("postgres://siteconf:{PASSWORD}@[{mapped}]/secure?{params}")
    }

    fn trusting(&self, name: &str) -> String {
        let file = self.certificates.at(name).replace('/', "%2F");
        format!("&sslmode=verify-full&sslrootcert={file}")
    }

    fn showing(&self, certificate: &str, key: &str) -> String {
        let [certificate, key] =
            [certificate, key].map(|name| self.certificates.at(name).replace('/', "%2F"));
        format!("&sslcert={certificate}&sslkey={key}")
    }

    fn flags(&self, url: &str) -> Vec<OsString> {
        let words = ["--store", url, "--server-key-file"];
        let mut flags: Vec<_> = words.into_iter().map(OsString::from).collect();
        flags.push(self.key_file.clone().into());
        flags
    }

    /// Runs a command. It shows no password.
    fn run(&self, url: &str, command: &[&str]) -> Output {
        let output = ran(siteconf_at(&self.flags(url)).args(command));
        let said = String::from_utf8([&output.stdout[..], &output.stderr].concat()).unwrap();
        assert!(!said.contains(PASSWORD), "{said}");
        output
    }

    /// The last line of a refusal, without what stands before the reason.
    fn refusal(&self, url: &str) -> String {
        let shown = url.replace(&format!(":{PASSWORD}"), "");
        self.refused(url, 1, &format!("{shown}: the database cannot be used"))
    }

    /// The same of settings that cannot be, which a check of them finds, too.
    fn wrong(&self, url: &str) -> String {
        let checked = self.run(url, &["config", "check"]);
        let reason = self.refused(url, 2, "store (--store)");
        let said = String::from_utf8(checked.stderr).unwrap();
        assert_eq!(checked.status.code(), Some(2), "{said}");
        assert!(said.ends_with(&format!(": {reason}\n")), "{said}");
        reason
    }

    fn refused(&self, url: &str, code: i32, what: &str) -> String {
        let refused = self.run(url, &["user", "list"]);
        assert_eq!(refused.status.code(), Some(code), "{refused:?}");
        let said = String::from_utf8(refused.stderr).unwrap();
        let start = format!("siteconf: {what}: ");
        let last = said.lines().last().unwrap_or_default();
        let reason = last.strip_prefix(&start);
        reason.unwrap_or_else(|| panic!("{said}")).to_owned()
    }
}

#[test]
fn a_server_is_trusted_by_its_certificate_and_the_name_of_its_host_alone() {
    let scene = Scene::set();
    let (ours, others) = (scene.trusting("root.pem"), scene.trusting("other.pem"));
    let url = scene.url(HOST, &ours);
    let password = init_at(&scene.flags(&url));
    let daemon = Daemon::start_as(tempfile::tempdir().unwrap(), serve_at(&scene.flags(&url)));
    let mut admin = log_in(daemon.again(""), &password);
    make_project(&mut admin);
    save(&mut admin, "a.txt", b"a");
    let encrypted =
        "SELECT bool_and(ssl) AND count(*) > 2 FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
                     WHERE application_name = 'siteconf'";
    assert_eq!(scene.cluster.ask("secure", encrypted), ["t"]);

    let untrusted = |host: &str| {
        format!(
            "the certificate of {host} is of an issuer that is not trusted; sslrootcert names certificates \
             to trust"
        )
    };
    assert_eq!(scene.refusal(&scene.url(HOST, &others)), untrusted(HOST));
    assert_eq!(
        scene.refusal(&scene.url("other.example", &ours)),
        "the certificate of other.example is for other names; call the host as the certificate does \
         (subjectAltName)"
    );
    assert_eq!(
        scene.wrong(&scene.url(HOST, "&sslmode=verify-full&sslrootcert=/nowhere/ca.pem")),
        "sslrootcert names /nowhere/ca.pem: it cannot be read: No such file or directory (os error 2)"
    );

    // To another machine TLS is what nobody has to ask for, and going without is told.
    let far = scene.address.to_ipv6_mapped().to_string();
    let without_mode = |trusted: &str| scene.far_url(&trusted.replace("&sslmode=verify-full&", ""));
    assert_eq!(scene.refusal(&without_mode(&others)), untrusted(&far));
    let listed = scene.run(&without_mode(&ours), &["user", "list"]);
    assert!(listed.status.success(), "{listed:?}");
    let in_the_clear = scene.far_url("sslmode=disable");
    let listed = scene.run(&in_the_clear, &["user", "list"]);
    assert!(
        listed.status.success() && listed.stderr.is_empty(),
        "{listed:?}"
    );
    let log = scene.certificates.folder.path().join("log");
    let mut serve = siteconf_at(&scene.flags(&in_the_clear));
    serve
        .args(["serve", "--listen", "127.0.0.1:0"])
        .stdout(Stdio::piped())
        .stderr(fs::File::create(&log).unwrap());
    let told = Daemon::start_as(tempfile::tempdir().unwrap(), serve);
    until(|| {
        let said = fs::read_to_string(&log).unwrap();
        said.contains("connections to the database on another machine are not encrypted")
    });
    drop(told);
    let refused = scene.run(&scene.far_url("sslmode=require"), &["user", "list"]);
    let said = String::from_utf8_lossy(&refused.stderr);
    let start = "siteconf: store (--store): sslmode must be verify-full, or disable where the network is trusted";
    assert!(said.starts_with(start), "{said}");
    assert_eq!(refused.status.code(), Some(2));

    // What is there goes on, what is new is refused.
    scene
        .cluster
        .reload_with(&files(&scene.certificates.expired));
    let expired = format!("the certificate of {HOST} has expired");
    until(|| scene.run(&url, &["user", "list"]).status.code() == Some(1));
    assert_eq!(scene.refusal(&url), expired);
    save(&mut admin, "b.txt", b"b");
    let authority = &scene.certificates.of_authority;
    scene.cluster.reload_with(&files(authority));
    let itself = scene.url(HOST, &scene.trusting("authority.pem"));
    until(|| scene.refusal(&itself).contains("an authority"));
    assert_eq!(
        scene.refusal(&itself),
        format!(
            "the certificate of {HOST} is one of an authority (CA:TRUE), which no server may show; make \
             one with basicConstraints=CA:FALSE, or one that it signs"
        )
    );
    scene
        .cluster
        .reload_with(&files(&scene.certificates.expired));
    until(|| scene.refusal(&url) == expired);
    scene.cluster.ask("postgres", "ALTER SYSTEM SET ssl = off");
    scene.cluster.reload_with(&[]);
    until(|| scene.refusal(&url) != expired);
    assert_eq!(
        scene.refusal(&url),
        "its server has no TLS: turn it on there (ssl = on), or write sslmode=disable into the URL where \
         the network is trusted"
    );
}

#[test]
fn the_server_looks_soon_whether_a_client_is_still_there() {
    let scene = Scene::set();
    let url = scene.url(HOST, &scene.trusting("root.pem"));
    init_at(&scene.flags(&url));
    let flags = scene.flags(&url);
    let _daemon = Daemon::start_as(tempfile::tempdir().unwrap(), serve_at(&flags));
    // As the kernel shows it: the least byte of the address first.
    let server = u32::from_le_bytes(scene.address.octets());
    let server = format!("{server:08X}:1538");
    // Timer 2 is that of a connection on which nothing is said; how long it has is told in hundredths of a second.
    let kept = || {
        let sockets = fs::read_to_string("/proc/net/tcp").unwrap();
        let rows = sockets
            .lines()
            .map(|row| row.split_whitespace().collect::<Vec<_>>());
        let ends = rows.filter(|row| row[1] == server && row[3] == "01");
        ends.map(|row| row[5].to_owned()).collect::<Vec<_>>()
    };
    let is_soon = |timer: &String| {
        let (kind, left) = timer.split_once(':').unwrap();
        kind == "02" && u32::from_str_radix(left, 16).unwrap() <= 500
    };
    // Each has said something a moment ago, for which another timer may run.
    until(|| kept().len() >= 3 && kept().iter().all(is_soon));
}

#[test]
fn a_server_that_asks_for_a_certificate_is_shown_one() {
    let scene = Scene::set();
    let root = fs::read_to_string(scene.certificates.at("root.pem")).unwrap();
    let rules = "local all all trust\nhostssl all all all cert\n";
    let asks = "ALTER SYSTEM SET ssl_ca_file = 'root.crt'";
    scene.cluster.ask("postgres", asks);
    scene
        .cluster
        .reload_with(&[("root.crt", &root), ("pg_hba.conf", rules)]);
    let ours = scene.trusting("root.pem");
    let none = "connection requires a valid client certificate";
    until(|| scene.refusal(&scene.url(HOST, &ours)) == none);
    let with = |shown: &str| scene.url(HOST, &format!("{ours}{shown}"));
    let url = with(&scene.showing("user.pem", "user.key"));
    let password = init_at(&scene.flags(&url));
    let daemon = Daemon::start_as(tempfile::tempdir().unwrap(), serve_at(&scene.flags(&url)));
    let mut admin = log_in(daemon.again(""), &password);
    make_project(&mut admin);

    assert_eq!(
        scene.refusal(&with(&scene.showing("stranger.pem", "stranger.key"))),
        "its server ended the connection over TLS (UnknownCA); where it asks for a certificate, sslcert \
         and sslkey name one of an issuer that it trusts"
    );
    for (certificate, key, fault) in [
        (
            "user.pem",
            "stranger.key",
            "sslkey is not the key of the certificate that sslcert names".to_owned(),
        ),
        (
            "user.key",
            "user.key",
            format!(
                "sslcert names {}: it must be certificates, PEM",
                scene.certificates.at("user.key")
            ),
        ),
        (
            "user.pem",
            "user.pem",
            format!(
                "sslkey names {}: it must be a key without a password, PEM",
                scene.certificates.at("user.pem")
            ),
        ),
    ] {
        assert_eq!(scene.wrong(&with(&scene.showing(certificate, key))), fault);
    }
    let shown = scene.showing("user.pem", "user.key");
    let near = scene.url("127.0.0.1", &shown.replacen('&', "&sslmode=disable&", 1));
    assert_eq!(
        scene.wrong(&near),
        "sslcert is shown over TLS alone, which sslmode=verify-full asks for"
    );

    // Later the same files hold what another issuer has signed, and the server trusts that one alone.
    for end in ["pem", "key"] {
        let [new, old] =
            ["stranger", "user"].map(|name| scene.certificates.at(&format!("{name}.{end}")));
        fs::copy(new, old).unwrap();
    }
    let other = fs::read_to_string(scene.certificates.at("other.pem")).unwrap();
    scene.cluster.reload_with(&[("root.crt", &other)]);
    until(|| scene.run(&url, &["user", "list"]).status.success());
    scene.cluster.end_connections();
    save(&mut admin, "a.txt", b"a");
    let by_other = "SELECT count(*) > 2 FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
                 WHERE application_name = 'siteconf' AND issuer_dn LIKE '%other.pem%'";
    until(|| scene.cluster.ask("secure", by_other) == ["t"]);
}

/// Passes on what comes over TLS to a port of this machine. It ends with the process.
fn relay(certificates: &Certificates, to: SocketAddr) -> u16 {
    let [certificate, key] = &certificates.good;
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap()],
            PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap(),
        );
    let acceptor = TlsAcceptor::from(Arc::new(config.unwrap()));
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            loop {
                let (socket, _) = listener.accept().await.unwrap();
                let acceptor = acceptor.clone();
                tokio::spawn(async move {
                    // Who does not trust it goes away.
                    let mut client = acceptor.accept(socket).await.ok()?;
                    let mut server = tokio::net::TcpStream::connect(to).await.unwrap();
                    let both = tokio::io::copy_bidirectional(&mut client, &mut server);
                    both.await.ok()
                });
            }
        });
    });
    port
}

#[test]
fn a_bucket_is_trusted_by_its_certificate_alone() {
    let certificates = Certificates::new(&[Ipv4Addr::LOCALHOST.into()]);
    let bucket = TestBucket::new();
    let plain = bucket.url();
    let (before, to) = plain.rsplit_once("http://").unwrap();
    let port = relay(&certificates, to.parse().unwrap());
    let keys = certificates.at("keys");
    TestBucket::write_keys(keys.as_ref());
    let cluster = Cluster::start();
    cluster.ask("postgres", "CREATE DATABASE secure");
    let (store, server_key) = (cluster.url("secure"), certificates.at("server-key"));
    let flags = |host: &str, root: &str| {
        let blobs = format!("{before}https://{host}:{port}");
        let words = [
            ["--store", store.as_str()],
            ["--server-key-file", &server_key],
            ["--blobs", &blobs],
            ["--s3-credentials-file", &keys],
            ["--s3-ca", &certificates.at(root)],
        ];
        words
            .concat()
            .into_iter()
            .map(OsString::from)
            .collect::<Vec<_>>()
    };
    let trusting = flags("127.0.0.1", "root.pem");
    let password = init_at(&trusting);
    let daemon = Daemon::start_as(tempfile::tempdir().unwrap(), serve_at(&trusting));
    let mut admin = log_in(daemon.again(""), &password);
    make_project(&mut admin);
    let large: Vec<_> = (0..9_000_000_u32).map(|n| n.to_le_bytes()[1]).collect();
    save(&mut admin, "large.bin", &large);
    assert_eq!(bucket.files().len(), 1);
    let read = ran(siteconf_at(&trusting).args(["cat", PROJECT, "main", "large.bin"]));
    let said = String::from_utf8_lossy(&read.stderr);
    assert!(
        read.status.success() && read.stdout == large,
        "{}, {} bytes: {said}",
        read.status,
        read.stdout.len()
    );

    for (host, root, fault) in [
        (
            "127.0.0.1",
            "other.pem",
            "is of an issuer that is not trusted; s3_ca names certificates to trust",
        ),
        (
            "localhost",
            "root.pem",
            "is for other names; call the host as the certificate does (subjectAltName)",
        ),
    ] {
        let refused = ran(serve_at(&flags(host, root)).stderr(Stdio::piped()));
        let said = String::from_utf8(refused.stderr).unwrap();
        let end = format!(": the bucket of large files cannot be used: its certificate {fault}\n");
        assert!(said.ends_with(&end), "{said}");
        assert_eq!(refused.status.code(), Some(1));
    }
}
