//! Rows P: names of files, projects and revisions, and what is put in the place of the service's own files.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any, prop_oneof};
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use serde_json::Value;

use crate::harness::{ADMIN, Answer, Daemon, Project, READ, User, segment};
use crate::rounds::Rounds;

/// Long enough to be a file of its own in the store.
const LARGE: usize = 100_000;

fn shop(daemon: &Daemon) -> Project {
    Project::with_main(&daemon.user("alice", &[]), "acme/shop")
}

/// Puts something in the place of a file.
type Plant<'a> = &'a dyn Fn(&Path);

/// The files of large blobs in the data folder.
fn blobs(daemon: &Daemon) -> Vec<PathBuf> {
    let files = walkdir::WalkDir::new(daemon.data().join("blobs")).into_iter();
    let files = files.map(|entry| entry.unwrap().into_path());
    files.filter(|path| path.is_file()).collect()
}

#[test]
fn p17_what_is_put_in_the_place_of_a_file_of_the_store() {
    let mut daemon = Daemon::start();
    let project = shop(&daemon);
    let body = vec![b'x'; LARGE];
    project.save("main", "large.bin", &body);
    let token = daemon.reader(&project).credential().to_owned();
    let [blob] = &blobs(&daemon)[..] else {
        panic!("one large file has one file");
    };
    let elsewhere = tempfile::tempdir().unwrap();
    let secret = elsewhere.path().join("secret");
    // As long as the blob, and not it.
    fs::write(&secret, vec![b's'; LARGE]).unwrap();
    let same = elsewhere.path().join("same");
    fs::write(&same, &body).unwrap();
    let folder = blob.parent().unwrap();
    let moved = elsewhere.path().join("moved");
    let plants: [(&str, Plant<'_>); 7] = [
        ("a link to other bytes", &|path| {
            symlink(&secret, path).unwrap();
        }),
        ("a link to the same bytes", &|path| {
            symlink(&same, path).unwrap();
        }),
        ("a link to nothing", &|path| {
            symlink("/nowhere", path).unwrap();
        }),
        ("a link to a device", &|path| {
            symlink("/dev/zero", path).unwrap();
        }),
        ("a folder", &|path| fs::create_dir(path).unwrap()),
        ("a pipe", &|path| {
            assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
        }),
        ("other bytes", &|path| {
            fs::copy(&secret, path).unwrap();
        }),
    ];
    for (case, plant) in plants {
        daemon.stop();
        fs::rename(blob, &moved).unwrap();
        plant(blob);
        daemon.restart();
        let ask = || daemon.token(&token).get(&project.raw("large.bin"));
        let answer = ask();
        assert_eq!(answer.status, 500, "{case}: {answer:?}");
        answer.assert_error(500, "500 Internal Server Error");
        daemon.logged("\"level\":\"ERROR\"");
        let checked = daemon.command(&["debug", "check", "--deep", "--json"], "");
        assert_eq!(checked.status.code(), Some(1), "{case}: {checked:?}");
        let report: Value = serde_json::from_slice(&checked.stdout).unwrap();
        assert!(!report["findings"].as_array().unwrap().is_empty(), "{case}");
        // Nothing is written behind a link, and what was put there stays for who looks.
        assert!(fs::symlink_metadata(blob).is_ok(), "{case}");
        let put_away = elsewhere.path().join(case);
        fs::rename(blob, put_away).unwrap();
        fs::rename(&moved, blob).unwrap();
    }
    // The whole folder, as a link to one that has not got it: the service does not start.
    daemon.stop();
    let aside = elsewhere.path().join("aside");
    fs::rename(folder, &aside).unwrap();
    symlink("/etc", folder).unwrap();
    let refused = daemon.command(&["serve", "--listen", "127.0.0.1:0"], "");
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(
        said.contains(&format!("{} is no folder", folder.display())),
        "{said}"
    );
    fs::remove_file(folder).unwrap();
    fs::rename(&aside, folder).unwrap();
    daemon.restart();
    let answer = daemon.token(&token).get(&project.raw("large.bin"));
    answer.assert_bytes(200, &body);
}

#[test]
fn p18_spellings_of_a_project() {
    let daemon = Daemon::start();
    let project = shop(&daemon);
    project.save("main", "a.xml", "x");
    let number = project.number;
    let issued = project
        .user
        .issue(&serde_json::json!({ "name": "t", "repos": ["*"] }));
    let reader = daemon.token(issued["tokenString"].as_str().unwrap());
    let by_number = [number.to_string(), format!("%3{number}")];
    let by_name = [
        "acme%2Fshop.erp",
        "acme%2fshop.erp",
        "acme/shop.erp",
        "%61cme%2Fshop.erp",
    ];
    let wrong = [
        "0",
        "-1",
        "01",
        "1e3",
        "+1",
        "1.0",
        "%201",
        "1%20",
        "0x1",
        "999999",
        "9223372036854775808",
        "18446744073709551616",
        "acme%252Fshop.erp",
        "ACME%2Fshop.erp",
        "acme%2Fshop",
        "acme%2Fshop.ERP",
        "acme%2F%2Fshop.erp",
        "acme%2Fshop.erp%2F",
        "%2Facme%2Fshop.erp",
        "..%2F..",
        "..%2Facme%2Fshop.erp",
        "acme%5Cshop.erp",
        "acme%2Fshop.erp%00",
        "%FF",
        "",
    ];
    let tree = |id: &str| reader.get(&format!("{READ}/projects/{id}/repository/tree"));
    let branches = |id: &str| project.user.get(&format!("{ADMIN}/projects/{id}/branches"));
    for id in by_number.iter().map(String::as_str).chain(by_name) {
        tree(id).expect_status(200);
    }
    for id in by_name {
        branches(id).expect_status(200);
    }
    // A number is a name on the Read API alone.
    for id in by_number.iter().map(String::as_str).chain(wrong) {
        let answer = branches(id);
        assert!(matches!(answer.status, 400 | 404), "{id}: {answer:?}");
    }
    for id in wrong {
        let answer = tree(id);
        assert!(matches!(answer.status, 400 | 404), "{id}: {answer:?}");
    }
}

#[test]
fn p20_revisions_of_elsewhere() {
    let daemon = Daemon::start();
    let project = shop(&daemon);
    project.save("main", "a.xml", "one");
    project.save("main", "a.xml", "two");
    project.add_branch("dev");
    project.save("dev", "a.xml", "of dev");
    let stranger = Project::with_main(&daemon.user("bob", &[]), "bobs");
    stranger.save("main", "a.xml", "of bob");
    let reader = daemon.reader(&project);
    let read = |query: &str| reader.get(&format!("{}{query}", project.raw("a.xml")));
    for (query, body) in [
        ("", "two"),
        ("?ref=", "two"),
        ("?ref", "two"),
        ("?ref=main%40v0002", "one"),
        // Another branch of the project, by its name and by its commit.
        ("?ref=dev", "of dev"),
        (&format!("?ref={}", project.short_id("dev")), "of dev"),
    ] {
        read(query).assert_bytes(200, body.as_bytes());
    }
    let theirs = stranger.branch_item("main")["commit"]["id"].clone();
    let theirs = theirs.as_str().unwrap();
    for reference in [
        theirs,
        &theirs[..8],
        "bobs.erp",
        "bobs.erp@v0001",
        "dev@v0002",
        "main@v0009",
    ] {
        let answer = read(&format!("?ref={}", segment(reference)));
        answer.assert_error(404, "404 Commit Not Found");
    }
    for (method, rest, body) in [
        ("POST", "/branches/main/rollback?to=v0009".to_owned(), None),
        (
            "GET",
            format!("/branches/main/diff?from={theirs}&to=main"),
            None,
        ),
        (
            "POST",
            "/branches".to_owned(),
            Some(serde_json::json!({ "name": "x", "from": theirs })),
        ),
    ] {
        let request = project.user.request(method, &project.admin(&rest));
        let answer = match &body {
            Some(body) => request.json(body).send(),
            None => request.send(),
        };
        assert!(
            matches!(answer.status, 400 | 404),
            "{method} {rest}: {answer:?}"
        );
    }
}

/// Bytes of which many are near to what has a meaning.
fn hostile_bytes() -> impl Strategy<Value = Vec<u8>> {
    const PIECES: &[&str] = &[
        "a", "B", "1", ".", "..", "/", "\\", ":", "%", "%2e", "%2F", " ", "\0", "\n", "\u{7f}",
        "\u{85}", "\u{200b}", "\u{202e}", "\u{2028}", "\u{2061}", "\u{206a}", "\u{feff}", ".git",
        "GIT~1", "é", "e\u{301}", "🗂", "~", "*", "?", "\"", "<", "|", "@v0001", "HEAD", "-",
    ];
    let known = proptest::sample::select(PIECES).prop_map(|piece| piece.as_bytes().to_vec());
    let piece = prop_oneof![8 => known, 1 => vec(any::<u8>(), 1..4), 1 => Just(vec![b'x'; 200])];
    vec(piece, 1..8).prop_map(|pieces| pieces.concat())
}

/// Every byte of it percent-encoded, so that the daemon gets just these.
fn encoded(bytes: &[u8]) -> String {
    let encoded = bytes.iter().map(|byte| format!("%{byte:02X}"));
    encoded.collect()
}

/// Whether the rules take these bytes, told a second time: contract section 3.
fn is_a_name(bytes: &[u8]) -> bool {
    let Ok(name) = std::str::from_utf8(bytes) else {
        return false;
    };
    let is_hidden = |c: char| {
        c.is_control()
            || c == '\\'
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
            || matches!(
                c,
                '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{ad}' | '\u{61c}' | '\u{180e}'
            )
            || matches!(c, '\u{fff9}'..='\u{fffb}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e007f}')
    };
    let is_git = |segment: &str| {
        let base = segment.split(':').next().unwrap_or_default();
        let base = base.trim_end_matches(['.', ' ']).to_ascii_lowercase();
        base == ".git" || base == "git~1"
    };
    let is_segment = |segment: &str| {
        !matches!(segment, "" | "." | "..") && segment.len() <= 255 && !is_git(segment)
    };
    name.len() <= 4096 && !name.contains(is_hidden) && name.split('/').all(is_segment)
}

#[test]
fn p23_a_name_is_kept_to_the_byte_or_refused() {
    let daemon = Daemon::start();
    let project = shop(&daemon);
    let reader = daemon.reader(&project);
    let target = |bytes: &[u8]| project.on("main", &format!("/files/{}", encoded(bytes)));
    let save = |user: &User, bytes: &[u8]| -> Answer { user.put(&target(bytes), bytes) };
    let rounds = Rounds::or(300);
    let config = Config {
        cases: u32::try_from(rounds.count).unwrap(),
        failure_persistence: None,
        ..Config::default()
    };
    let mut seed = [0; 32];
    seed[..8].copy_from_slice(&rounds.seed.to_le_bytes());
    let random = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
    let mut runner = TestRunner::new_with_rng(config, random);
    let outcome = runner.run(&hostile_bytes(), |bytes| {
        let saved = save(&project.user, &bytes);
        let fail = |what: &str| Err(TestCaseError::fail(format!("{what}: {saved:?}")));
        match saved.status {
            200 | 201 if !is_a_name(&bytes) => return fail("it was taken"),
            200 | 201 => {}
            // A file may be where a folder is needed.
            400 if is_a_name(&bytes) && !saved.text().contains("malformed") => return Ok(()),
            400 if !is_a_name(&bytes) => return Ok(()),
            _ => return fail("it was refused"),
        }
        if saved.json()["path"].as_str().map(str::as_bytes) != Some(&bytes) {
            return fail("it has another name");
        }
        let name = std::str::from_utf8(&bytes).unwrap();
        for answer in [
            project.user.get(&target(&bytes)),
            reader.get(&project.raw(name)),
        ] {
            if answer.status != 200 || answer.body != bytes {
                return fail("it is not there");
            }
            let named = answer
                .headers
                .iter()
                .any(|(_, value)| value.contains(['\r', '\n']));
            if named {
                return fail("it breaks a header");
            }
        }
        Ok(())
    });
    outcome.unwrap_or_else(|broken| panic!("{broken}"));
    // No name of a client is one of a file of the service.
    let body = vec![b'x'; LARGE];
    project.save("main", "large.bin", &body);
    for path in blobs(&daemon) {
        let folder = path.parent().unwrap().file_name().unwrap();
        let names = [folder, path.file_name().unwrap()].map(|name| name.to_str().unwrap());
        let is_hex = |name: &str| name.bytes().all(|b| b.is_ascii_hexdigit());
        assert!(names.into_iter().all(is_hex), "{}", path.display());
        assert_eq!(names.map(str::len), [2, 62], "{}", path.display());
    }
}
