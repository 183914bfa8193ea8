//! What lies in a fixture, and how one is made: once, by a binary of the time. For the format of today, when
//! it becomes an earlier one:
//!
//! ```text
//! SITECONF_OF_THE_TIME=target/release/siteconf SITECONF_FIXTURE=tests/upgrade/format-3.tar.gz \
//!     cargo test --test upgrade make_a_fixture -- --ignored
//! ```

use std::env;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Write as _;
use std::process::Stdio;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use crate::binary::{Service, Siteconf};
use crate::seen;

pub(crate) const ADMIN: &str = "/site-builder/api";
pub(crate) const READ: &str = "/site-builder/api/erp-config";
pub(crate) const PROJECT: &str = "acme/shop.erp";
pub(crate) const OTHER: &str = "acme/depot.erp";
pub(crate) const BRANCHES: [&str; 2] = ["main", "season"];
pub(crate) const EVA: (&str, &str) = ("eva", "a fixture of format one or two");
pub(crate) const DISABLED: (&str, &str) = ("otto", "another fixture, of no use");

/// More than lies in a row of the database.
const LARGE_LINES: usize = 9000;

#[test]
#[ignore = "it makes a fixture, with a binary of an earlier time"]
fn make_a_fixture() {
    let binary = env::var_os("SITECONF_OF_THE_TIME").expect("SITECONF_OF_THE_TIME is set");
    let fixture = env::var_os("SITECONF_FIXTURE").expect("SITECONF_FIXTURE is set");
    let folder = tempfile::tempdir().unwrap();
    let siteconf = Siteconf::with(binary, &folder.path().join("data"));
    let tokens = play(&siteconf);
    let seen = seen::all(&siteconf, &tokens);
    // They hold nothing, and come again.
    for name in ["LOCK", "reserve", "store.db-wal", "store.db-shm"] {
        let path = siteconf.data.join(name);
        assert!(name != "store.db-wal" || fs::metadata(&path).map_or(0, |log| log.len()) == 0);
        drop(fs::remove_file(path));
    }
    let expected = json!({ "tokens": tokens, "seen": seen }).to_string();
    let packed = GzEncoder::new(File::create(fixture).unwrap(), Compression::best());
    let mut tar = tar::Builder::new(packed);
    tar.mode(tar::HeaderMode::Deterministic);
    tar.append_dir_all("data", &siteconf.data).unwrap();
    let expected_path = folder.path().join("expected.json");
    fs::write(&expected_path, expected).unwrap();
    tar.append_path_with_name(&expected_path, "expected.json")
        .unwrap();
    tar.into_inner().unwrap().finish().unwrap().flush().unwrap();
}

/// Fills a store; the values of its tokens by their names.
fn play(siteconf: &Siteconf) -> Value {
    // The first start makes the account of the administrator.
    siteconf.serve().stop();
    for (name, password) in [EVA, DISABLED] {
        add_user(siteconf, name, password);
    }
    siteconf.done(&["user", "disable", DISABLED.0]);
    let service = siteconf.serve();
    let cookie = service.log_in(EVA.0, EVA.1).unwrap();
    let eva = Eva {
        service: &service,
        cookie: ("Cookie", &cookie),
    };
    for name in ["acme/shop", "acme/depot", "acme/gone"] {
        eva.post("/projects", &json!({ "name": name, "type": "erp" }));
    }
    for (project, branch) in [("shop", "main"), ("shop", "old"), ("depot", "main")] {
        let branches = format!("/projects/acme%2F{project}.erp/branches");
        eva.post(&branches, &json!({ "name": branch }));
    }
    eva.save("config/prices.xml", b"<prices currency=\"EUR\"/>\n");
    eva.save("config/prices.xml", b"<prices currency=\"USD\"/>\n");
    for number in 0..30 {
        let text = format!("<shelf number=\"{number}\"/>\n");
        let path = format!("shelves/{:02}/shelf {number}.xml", number % 7);
        if number % 6 == 0 {
            eva.save(&path, text.as_bytes());
        } else {
            eva.save_with("season-to-be/", &path, text.as_bytes());
        }
    }
    let mut large = String::new();
    for number in 0..LARGE_LINES {
        writeln!(large, "{number};article").unwrap();
    }
    eva.save("lists/articles.csv", large.as_bytes());
    eva.save("lists/Цены + 5%.csv", b"");
    let main = "/projects/acme%2Fshop.erp/branches";
    eva.post(main, &json!({ "name": "season", "from": "main@v0005" }));
    eva.post(
        &format!("{main}/main/rollback?to=v0004&path=config"),
        &json!({}),
    );
    eva.delete(&format!("{main}/main/files/lists/articles.csv"));
    eva.delete(&format!("{main}/old"));
    eva.delete("/projects/acme%2Fgone.erp");
    let tokens = [
        ("reader", json!({ "repos": [PROJECT] })),
        ("all", json!({ "repos": ["*"] })),
        ("revoked", json!({ "repos": [PROJECT] })),
        (
            "bound",
            json!({ "repos": [PROJECT], "fingerprint_required": true }),
        ),
    ];
    let tokens = tokens.map(|(name, mut wish)| {
        wish["name"] = json!(name);
        let token = eva.post("/tokens", &wish);
        if name == "revoked" {
            let id = token["tokenId"].as_str().unwrap();
            eva.delete(&format!("/tokens/{id}"));
        }
        (name.to_owned(), token["tokenString"].clone())
    });
    let tokens = Value::Object(tokens.into_iter().collect());
    let headers = [
        ("PRIVATE-TOKEN", tokens["bound"].as_str().unwrap()),
        ("X-Instance-Id", "berlin"),
    ];
    let branches = format!("{READ}/projects/acme%2Fshop.erp/repository/branches");
    assert_eq!(service.ask("GET", &branches, &headers, b"").status, 200);
    service.stop();
    tokens
}

fn add_user(siteconf: &Siteconf, name: &str, password: &str) {
    let role = "ROLE_SITEBUILDER_USER__acme";
    let mut command = siteconf.command(&["user", "add", name, "--role", role, "--password-stdin"]);
    let mut adding = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut input = adding.stdin.take().unwrap();
    writeln!(input, "{password}").unwrap();
    drop(input);
    assert!(adding.wait().unwrap().success());
}

/// The user who fills it.
struct Eva<'a> {
    service: &'a Service,
    cookie: (&'a str, &'a str),
}

impl Eva<'_> {
    #[track_caller]
    fn post(&self, target: &str, body: &Value) -> Value {
        let answer = self
            .service
            .post(&format!("{ADMIN}{target}"), self.cookie, body);
        assert!(answer.status < 300, "{target}: {answer:?}");
        serde_json::from_slice(&answer.body).unwrap_or_default()
    }

    #[track_caller]
    fn delete(&self, target: &str) {
        let target = format!("{ADMIN}{target}");
        let answer = self.service.ask("DELETE", &target, &[self.cookie], b"");
        assert!(answer.status < 300, "{target}: {answer:?}");
    }

    #[track_caller]
    fn save(&self, path: &str, bytes: &[u8]) {
        self.save_with("", path, bytes);
    }

    #[track_caller]
    fn save_with(&self, folder: &str, path: &str, bytes: &[u8]) {
        let path = [folder, path].concat();
        let path = percent_encoding::utf8_percent_encode(&path, percent_encoding::NON_ALPHANUMERIC);
        let target = format!("{ADMIN}/projects/acme%2Fshop.erp/branches/main/files/{path}");
        let headers = [self.cookie, ("Content-Type", "application/octet-stream")];
        let answer = self.service.ask("PUT", &target, &headers, bytes);
        assert!(answer.status < 300, "{target}: {answer:?}");
    }
}
