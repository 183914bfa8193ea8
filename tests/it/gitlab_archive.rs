//! Archives: contract section 5.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;

use flate2::read::{DeflateDecoder, GzDecoder};

use crate::harness::{Answer, Daemon, Project, User, branch_digest};

/// An archive's entries: a path that ends in a slash for a folder, the mode, the bytes.
pub(crate) type Entries = BTreeMap<String, (u32, Vec<u8>)>;

const CYRILLIC: &str = "Справочники/Контр агенты/a b+%.xml";

/// Files of every kind of name and size, one of them executable.
fn files() -> Vec<(String, Vec<u8>)> {
    let large: Vec<u8> = (0..200_000_u32)
        .flat_map(|n| n.wrapping_mul(n).to_le_bytes())
        .collect();
    let deep = format!("{}/{}", "d".repeat(120), "n".repeat(200));
    vec![
        ("a.txt".into(), b"text\n".to_vec()),
        ("dir/b".into(), b"in a folder".to_vec()),
        ("dir/sub/c".into(), b"deeper".to_vec()),
        ("dir/empty".into(), Vec::new()),
        ("large.bin".into(), large),
        (".hidden".into(), b"h".to_vec()),
        (CYRILLIC.into(), "Привет".as_bytes().to_vec()),
        (deep, b"long names".to_vec()),
    ]
}

pub(crate) fn project(daemon: &Daemon) -> (Project, User) {
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    for (path, body) in files() {
        project.save("main", &path, body);
    }
    let reader = daemon.reader(&project);
    (project, reader)
}

fn commit_id() -> String {
    let files = files();
    let files: Vec<_> = files
        .iter()
        .map(|(path, body)| (path.as_str(), body.as_slice()))
        .collect();
    branch_digest(&files)[..40].to_owned()
}

/// What the archive of some paths must hold.
pub(crate) fn expected(wanted: impl Fn(&str) -> bool) -> Entries {
    let top = format!("shop.erp-{}/", commit_id());
    let mut entries = Entries::from([(top.clone(), (0o755, Vec::new()))]);
    for (path, body) in files() {
        if !wanted(&path) {
            continue;
        }
        for (at, _) in path.match_indices('/') {
            if wanted(&path[..=at]) {
                entries.insert(format!("{top}{}", &path[..=at]), (0o755, Vec::new()));
            }
        }
        entries.insert(format!("{top}{path}"), (0o644, body));
    }
    entries
}

pub(crate) fn untar(bytes: &[u8]) -> Entries {
    let mut archive = tar::Archive::new(bytes);
    let mut entries = Entries::new();
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        if entry.header().entry_type() == tar::EntryType::XGlobalHeader {
            continue;
        }
        let mut path = String::from_utf8(entry.path_bytes().into_owned()).unwrap();
        if entry.header().entry_type().is_dir() && !path.ends_with('/') {
            path.push('/');
        }
        let header = entry.header().clone();
        assert_eq!(header.mtime().unwrap(), 315_532_800);
        assert_eq!((header.uid().unwrap(), header.gid().unwrap()), (0, 0));
        let mut body = Vec::new();
        entry.read_to_end(&mut body).unwrap();
        let before = entries.insert(path.clone(), (header.mode().unwrap(), body));
        assert!(before.is_none(), "{path} is there twice");
    }
    entries
}

/// Little-endian numbers of a record.
fn number(bytes: &[u8], at: usize, length: usize) -> usize {
    let digits = bytes[at..at + length].iter().rev();
    digits.fold(0, |number, &digit| number << 8 | usize::from(digit))
}

/// Reads a zip by its directory, and holds what stands before each file against it.
fn unzip(bytes: &[u8]) -> Entries {
    let end = bytes.len() - 22;
    assert_eq!(&bytes[end..end + 4], b"PK\x05\x06");
    let (count, mut at) = (number(bytes, end + 10, 2), number(bytes, end + 16, 4));
    let mut entries = Entries::new();
    for _ in 0..count {
        assert_eq!(&bytes[at..at + 4], b"PK\x01\x02");
        let record = &bytes[at..];
        let (crc, packed) = (number(record, 16, 4), number(record, 20, 4));
        let (size, name) = (number(record, 24, 4), number(record, 28, 2));
        let mode = u32::try_from(number(record, 38, 4) >> 16).unwrap() & 0o777;
        let local = number(record, 42, 4);
        let path = String::from_utf8(record[46..46 + name].to_vec()).unwrap();
        assert_eq!(&bytes[local..local + 4], b"PK\x03\x04");
        assert_eq!(&bytes[local + 30..local + 30 + name], path.as_bytes());
        let start = local + 30 + name + number(bytes, local + 28, 2);
        let mut body = Vec::new();
        if number(record, 10, 2) == 8 {
            let packed = &bytes[start..start + packed];
            DeflateDecoder::new(packed).read_to_end(&mut body).unwrap();
        }
        assert_eq!(body.len(), size);
        let mut sum = flate2::Crc::new();
        sum.update(&body);
        assert_eq!(usize::try_from(sum.sum()).unwrap(), crc, "{path}");
        entries.insert(path, (mode, body));
        at += 46 + name + number(record, 30, 2);
    }
    assert_eq!(at, end);
    entries
}

pub(crate) fn unpack(extension: &str, bytes: &[u8]) -> Entries {
    match extension {
        ".zip" => unzip(bytes),
        ".tar" => untar(bytes),
        _ => {
            let mut tar = Vec::new();
            GzDecoder::new(bytes).read_to_end(&mut tar).unwrap();
            untar(&tar)
        }
    }
}

#[track_caller]
pub(crate) fn fetch(reader: &User, project: &Project, rest: &str) -> Answer {
    reader
        .get(&project.read(&format!("/archive{rest}")))
        .expect_status(200)
}

#[test]
fn an_archive_holds_the_revision_in_a_folder() {
    let daemon = Daemon::start();
    let (project, reader) = project(&daemon);
    let expected = expected(|_| true);
    for (extension, media_type, name) in [
        ("", "application/octet-stream", "tar.gz"),
        (".tar.gz", "application/octet-stream", "tar.gz"),
        (".tar", "application/octet-stream", "tar"),
        (".zip", "application/zip", "zip"),
    ] {
        let answer = fetch(&reader, &project, extension);
        assert!(unpack(extension, &answer.body) == expected, "{extension}");
        assert_eq!(answer.header("Content-Type"), Some(media_type));
        let file = format!("shop.erp-{}.{name}", commit_id());
        assert_eq!(
            answer.header("Content-Disposition").unwrap(),
            format!("attachment; filename=\"{file}\"")
        );
    }
}

#[test]
fn a_name_beyond_ascii_is_told_exactly_too() {
    let daemon = Daemon::start();
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/цены");
    project.save("main", "a", "x");
    let reader = daemon.reader(&project);
    let answer = fetch(&reader, &project, ".zip");
    let commit = &branch_digest(&[("a", b"x")])[..40];
    assert_eq!(
        answer.header("Content-Disposition").unwrap(),
        format!(
            "attachment; filename=\"____.erp-{commit}.zip\"; \
             filename*=UTF-8''%D1%86%D0%B5%D0%BD%D1%8B.erp-{commit}.zip"
        )
    );
}

#[test]
fn the_bytes_follow_from_the_commit() {
    let daemon = Daemon::start();
    let (project, reader) = project(&daemon);
    for extension in [".tar", ".tar.gz", ".zip"] {
        let first = fetch(&reader, &project, extension);
        // The same state again, later, in another branch and after other saves.
        project.save("main", "other", extension.as_bytes());
        project
            .user
            .delete(&project.file("main", "other"))
            .expect_status(200);
        let id = commit_id();
        for sha in [
            "",
            "?sha=main",
            &format!("?sha={id}"),
            &format!("?sha={}", &id[..8]),
        ] {
            let again = fetch(&reader, &project, &format!("{extension}{sha}"));
            assert!(again.body == first.body, "{extension}{sha}");
            assert_eq!(again.header("ETag"), first.header("ETag"));
        }
        let target = project.read(&format!("/archive{extension}"));
        let known = reader.request("GET", &target);
        let known = known.header("If-None-Match", first.header("ETag").unwrap());
        known.send().assert_empty(304);
        let fixed = fetch(&reader, &project, &format!("{extension}?sha={id}"));
        assert_eq!(
            fixed.header("Cache-Control"),
            Some("private, max-age=31536000, immutable")
        );
    }
}

#[test]
fn a_tar_tells_its_commit_to_git() {
    let daemon = Daemon::start();
    let (project, reader) = project(&daemon);
    let answer = fetch(&reader, &project, ".tar");
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), &answer.body).unwrap();
    let output = std::process::Command::new("git")
        .arg("get-tar-commit-id")
        .stdin(fs::File::open(file.path()).unwrap())
        .output()
        .expect("git is on the machine");
    assert_eq!(
        String::from_utf8(output.stdout).unwrap().trim(),
        commit_id()
    );
}

#[test]
fn a_path_chooses_a_folder_or_a_file() {
    let daemon = Daemon::start();
    let (project, reader) = project(&daemon);
    let below = |path: &str| path.starts_with("dir/") && path != "dir/";
    for (query, wanted) in [
        ("?path=dir", &below as &dyn Fn(&str) -> bool),
        ("?path=dir/", &below),
        ("?path=a.txt", &|path: &str| path == "a.txt"),
        ("?path=/", &|_: &str| true),
        ("?path=.", &|_: &str| true),
    ] {
        for extension in [".tar", ".tar.gz", ".zip"] {
            let answer = fetch(&reader, &project, &format!("{extension}{query}"));
            let found = unpack(extension, &answer.body);
            assert!(
                found == expected(wanted),
                "{extension}{query}: {:?}",
                found.keys()
            );
        }
    }
    let named = fetch(&reader, &project, ".zip?path=dir/sub");
    let disposition = named.header("Content-Disposition").unwrap();
    assert!(disposition.contains("-dir-sub.zip\""), "{disposition}");
}

#[test]
fn modes_and_emptiness_are_kept() {
    let daemon = Daemon::start();
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    let reader = daemon.reader(&project);
    let empty = fetch(&reader, &project, ".zip");
    assert_eq!(unzip(&empty.body).len(), 1);
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("run.sh");
    fs::write(&script, "run").unwrap();
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&script, executable).unwrap();
    daemon.run(
        &[
            "import",
            &project.id,
            "main",
            folder.path().to_str().unwrap(),
        ],
        "",
    );
    for extension in [".tar", ".zip"] {
        let found = unpack(extension, &fetch(&reader, &project, extension).body);
        let (_, entry) = found
            .iter()
            .find(|(path, _)| path.ends_with("/run.sh"))
            .unwrap();
        assert_eq!(entry, &(0o755, b"run".to_vec()), "{extension}");
    }
}

#[test]
fn what_is_not_there_or_too_large_sends_nothing() {
    let daemon = Daemon::start_with(&["--archive-bytes-max", "1000"]);
    let (project, reader) = project(&daemon);
    for rest in [
        "?sha=none",
        "?path=none",
        ".zip?path=a.txt/x",
        ".tar?sha=main@v0001&path=dir",
    ] {
        let answer = reader.get(&project.read(&format!("/archive{rest}")));
        let message = if rest.starts_with("?path") || rest.contains("path") {
            answer.json()["message"].as_str().unwrap().to_owned()
        } else {
            "404 File Not Found".to_owned()
        };
        answer.assert_error(404, &message);
        assert_eq!(message, "404 File Not Found", "{rest}");
    }
    let answer = reader.get(&project.read("/archive.tar.bz2"));
    answer.assert_error(404, "404 Not Found");
    for rest in ["", ".zip", ".tar?path=large.bin"] {
        let message = reader
            .get(&project.read(&format!("/archive{rest}")))
            .assert_refused(413);
        assert!(message.contains("at most 1000"), "{message}");
    }
    fetch(&reader, &project, ".tar?path=dir");
    fetch(&reader, &project, ".tar?exclude_paths=large.bin");
    let head = reader.head(&project.read("/archive.tar?path=dir"));
    assert_eq!((head.status, head.body), (200, vec![]));
}

#[test]
fn a_session_gets_the_same_archives() {
    let daemon = Daemon::start();
    let (project, reader) = project(&daemon);
    for rest in [
        ".zip",
        ".tar.gz",
        ".tar",
        ".zip?path=dir",
        ".tar?path=dir/sub/",
        ".tar.gz?path=a.txt",
    ] {
        let theirs = fetch(&reader, &project, rest);
        let target = project.on("main", &format!("/archive{rest}"));
        let ours = project.user.get(&target).expect_status(200);
        assert!(ours.body == theirs.body, "{rest}");
        assert_eq!(ours.lasting_headers(), theirs.lasting_headers(), "{rest}");
        assert!(
            ours.header("Content-Disposition")
                .unwrap()
                .starts_with("attachment;")
        );
        assert_eq!(ours.header("X-Content-Type-Options"), Some("nosniff"));
        let known = project
            .user
            .with("If-None-Match", ours.header("ETag").unwrap());
        known.get(&target).assert_empty(304);
        let head = project.user.head(&target);
        assert_eq!((head.status, head.body), (200, vec![]));
    }
    // Of a snapshot: what it held, under its own commit.
    let before = project
        .user
        .get(&project.on("main", "/snapshots/v0002/archive.tar"));
    let before = untar(&before.expect_status(200).body);
    let top = format!(
        "shop.erp-{}/",
        &branch_digest(&[("a.txt", b"text\n")])[..40]
    );
    let expected = [
        (top.clone(), (0o755, Vec::new())),
        (format!("{top}a.txt"), (0o644, b"text\n".to_vec())),
    ];
    assert_eq!(before, Entries::from(expected));
    for (rest, status) in [
        ("/archive.zip?path=none", 404),
        ("/archive.rar", 404),
        ("/archive", 404),
        ("/snapshots/v0099/archive.zip", 404),
        ("/snapshots/v1/archive.zip", 400),
        ("/archive.zip?path=../x", 400),
        ("/archive.zip?sha=main", 400),
    ] {
        project
            .user
            .get(&project.on("main", rest))
            .assert_refused(status);
    }
    // No page runs what is in it.
    let script = project.user.with("Sec-Fetch-Dest", "script");
    script
        .get(&project.on("main", "/archive.zip"))
        .assert_refused(403);
    reader
        .get(&project.on("main", "/archive.zip"))
        .assert_refused(401);
}

#[test]
fn a_session_gets_no_archive_that_is_too_large() {
    let daemon = Daemon::start_with(&["--archive-bytes-max", "1000"]);
    let (project, _) = project(&daemon);
    let target = project.on("main", "/archive.zip");
    let message = project.user.get(&target).assert_refused(413);
    assert!(message.contains("at most 1000"), "{message}");
    let target = project.on("main", "/archive.zip?path=dir");
    project.user.get(&target).expect_status(200);
}

/// HTTP/1.0 knows no chunks: that the connection ends well says that an answer is whole.
#[test]
fn an_archive_that_fails_on_its_way_does_not_end_well_over_http_1_0() {
    let daemon = Daemon::start();
    let (project, reader) = project(&daemon);
    // What is sent before the damage is found.
    project.save("main", "Before.bin", vec![b'x'; 300_000]);
    let (_, large) = files().swap_remove(4);
    let id = blake3::hash(&large).to_string();
    let blob = daemon.data().join("blobs").join(&id[..2]).join(&id[2..]);
    let mut bytes = fs::read(&blob).unwrap();
    bytes[700_000] ^= 1;
    fs::write(&blob, bytes).unwrap();
    let request = reader.request("GET", &project.read("/archive.tar?sha=main"));
    let request = String::from_utf8(request.to_bytes()).unwrap();
    let mut connection = daemon.connect();
    connection.send(request.replace(" HTTP/1.1\r\n", " HTTP/1.0\r\n").as_bytes());
    assert!(connection.is_broken_off());
    daemon.logged("an answer was cut short");
}
