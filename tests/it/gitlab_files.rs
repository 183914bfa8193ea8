//! Files as objects, their headers, and blobs by their git ids: contract section 5.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use sha2::Digest as _;

use crate::harness::{Answer, Daemon, Project, User, branch_digest, git_blob_id, segment};

/// All special ASCII, Cyrillic and spaces.
const NAME: &str = "Справочники/Контр агенты/a+b%c#d?e&f=g;h,i~j_k-l.m(1)[2]{3}|^`'\"@:!$*.xml";

fn with_file(daemon: &Daemon, path: &str, body: &[u8]) -> (Project, User) {
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    project.save("main", path, body);
    let reader = daemon.reader(&project);
    (project, reader)
}

fn sha256(body: &[u8]) -> String {
    hex::encode(sha2::Sha256::digest(body))
}

fn file(project: &Project, path: &str) -> String {
    project.read(&format!("/files/{}", segment(path)))
}

#[test]
fn a_file_is_an_object_with_its_bytes_in_base64() {
    let daemon = Daemon::start();
    let body = "Привет\n".as_bytes();
    let (project, reader) = with_file(&daemon, NAME, body);
    let commit = &branch_digest(&[(NAME, body)])[..40];
    let expected = |reference: &str| {
        json!({
            "file_name": NAME.rsplit('/').next(),
            "file_path": NAME,
            "size": body.len(),
            "encoding": "base64",
            "content_sha256": sha256(body),
            "ref": reference,
            "blob_id": git_blob_id(body),
            "commit_id": commit,
            "last_commit_id": commit,
            "execute_filemode": false,
            "content": BASE64_STANDARD.encode(body),
        })
    };
    for (query, reference) in [
        ("?ref=main", "main"),
        ("?ref=HEAD", "HEAD"),
        ("", "HEAD"),
        ("?ref=", "HEAD"),
        (&format!("?ref={commit}"), commit),
        ("?ref=main@v0001", ""),
    ] {
        let answer = reader.get(&format!("{}{query}", file(&project, NAME)));
        if reference.is_empty() {
            answer.assert_error(404, "404 File Not Found");
        } else {
            answer.assert_json(200, &expected(reference));
        }
    }
}

#[test]
fn a_file_names_the_commit_that_changed_it_last() {
    let daemon = Daemon::start();
    let (project, reader) = with_file(&daemon, "a", b"A");
    let head = || {
        let branch = reader.get(&project.read("/branches/main")).json();
        branch["commit"]["id"].as_str().unwrap().to_owned()
    };
    let assert_last = |reference: &str, expected: &str| {
        let target = format!("{}?ref={}", file(&project, "a"), segment(reference));
        let object = reader.get(&target).expect_status(200);
        assert_eq!(object.json()["last_commit_id"], expected, "{reference}");
        let raw = reader.head(&target.replace("?ref", "/raw?ref"));
        assert_eq!(raw.header("X-Gitlab-Last-Commit-Id"), Some(expected));
    };
    let first = head();
    assert_last("main", &first);
    project.save("main", "b", "1");
    let second = head();
    assert_last("main", &first);
    assert_last(&second, &first);
    project.save("main", "a", "B");
    let third = head();
    assert_last("main", &third);
    assert_last("main@v0003", &first);
    // The file comes back to what it was, and the branch to the state it was in.
    project.save("main", "a", "A");
    assert_eq!(head(), second);
    assert_last("main", &second);
    project.save("main", "b", "2");
    assert_last("main", &second);
    let side = json!({ "name": "side", "from": "main" });
    let made = project.user.post(&project.admin("/branches"), &side);
    made.expect_status(201);
    assert_last("side", &head());
}

/// The headers that clients read metadata from.
fn metadata(answer: &Answer) -> Vec<(String, String)> {
    let mut headers = answer.headers.clone();
    headers.retain(|(name, _)| name.starts_with("X-Gitlab-"));
    headers.sort();
    headers
}

#[test]
fn metadata_is_the_same_in_every_form() {
    let daemon = Daemon::start();
    let (project, reader) = with_file(&daemon, NAME, b"body");
    let commit = &branch_digest(&[(NAME, b"body")])[..40];
    let target = format!("{}?ref=main", file(&project, NAME));
    let raw = target.replace("?ref", "/raw?ref");
    let expected: Vec<(String, String)> = [
        ("X-Gitlab-Blob-Id", git_blob_id(b"body").as_str()),
        ("X-Gitlab-Commit-Id", commit),
        ("X-Gitlab-Content-Sha256", &sha256(b"body")),
        ("X-Gitlab-Encoding", "base64"),
        ("X-Gitlab-Execute-Filemode", "false"),
        ("X-Gitlab-File-Name", NAME.rsplit('/').next().unwrap()),
        ("X-Gitlab-File-Path", NAME),
        ("X-Gitlab-Last-Commit-Id", commit),
        ("X-Gitlab-Ref", "main"),
        ("X-Gitlab-Size", "4"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .into();
    for target in [&target, &raw] {
        let got = reader.get(target).expect_status(200);
        let headed = reader.head(target).expect_status(200);
        assert_eq!(metadata(&got), expected, "{target}");
        assert_eq!(got.lasting_headers(), headed.lasting_headers(), "{target}");
        assert_eq!(headed.body, b"");
    }
    assert_eq!(reader.head(&file(&project, "none")).status, 404);
}

#[test]
fn a_large_file_is_an_object_too() {
    let daemon = Daemon::start();
    // Neither a multiple of three nor of what is read at once.
    let body: Vec<u8> = (0..1_000_001_u32).flat_map(u32::to_le_bytes).collect();
    let (project, reader) = with_file(&daemon, "large.bin", &body);
    let answer = reader.get(&file(&project, "large.bin")).expect_status(200);
    let tag = answer.header("ETag").unwrap();
    let object = answer.json();
    assert_eq!(object["size"], body.len());
    let content = object["content"].as_str().unwrap();
    assert!(BASE64_STANDARD.decode(content).unwrap() == body);
    let again = reader.request("GET", &file(&project, "large.bin"));
    again.header("If-None-Match", tag).send().assert_empty(304);
    let head = reader.head(&file(&project, "large.bin"));
    assert_eq!(
        head.header("Content-Length"),
        answer.header("Content-Length")
    );
    let sha = git_blob_id(&body);
    let blob = reader.get(&project.read(&format!("/blobs/{sha}"))).json();
    assert!(blob["content"] == object["content"]);
    let raw = reader.get(&project.read(&format!("/blobs/{sha}/raw")));
    raw.assert_bytes(200, &body);
}

#[test]
fn what_is_no_file_is_said_as_gitlab_says_it() {
    let daemon = Daemon::start();
    let (project, reader) = with_file(&daemon, "dir/a.xml", b"x");
    for (rest, status, message) in [
        ("/files/none?ref=main", 404, "404 File Not Found"),
        ("/files/dir?ref=main", 404, "404 File Not Found"),
        ("/files/dir%2Fa.xml?ref=none", 404, "404 Commit Not Found"),
        ("/files/dir%252Fa.xml?ref=main", 404, "404 File Not Found"),
        (
            "/files?file_path=dir%2Fa.xml&ref=main",
            404,
            "404 Not Found",
        ),
    ] {
        reader
            .get(&project.read(rest))
            .assert_error(status, message);
    }
    for rest in ["/files/..%2Fa", "/files/%2Fa", "/files/a%5Cb"] {
        reader.get(&project.read(rest)).assert_refused(400);
    }
}

#[test]
fn names_that_mislead_a_router() {
    let daemon = Daemon::start();
    let (project, reader) = with_file(&daemon, "raw", b"a file");
    for path in [
        "dir/raw",
        "raw.d/raw",
        ".hidden",
        "a%2Fb",
        "files/raw/raw",
        "repository/tree",
    ] {
        project.save("main", path, path.as_bytes());
    }
    reader.get(&project.raw("raw")).assert_bytes(200, b"a file");
    for path in [
        "dir/raw",
        "raw.d/raw",
        ".hidden",
        "a%2Fb",
        "files/raw/raw",
        "repository/tree",
    ] {
        reader
            .get(&project.raw(path))
            .assert_bytes(200, path.as_bytes());
        let object = reader.get(&file(&project, path)).expect_status(200).json();
        assert_eq!(object["file_path"], path);
    }
    // What a proxy decoded, where nothing misleads.
    let object = reader.get(&project.read("/files/repository/tree")).json();
    assert_eq!(object["file_path"], "repository/tree");
    let raw = reader.get(&project.read("/files/dir/raw/raw"));
    raw.assert_bytes(200, b"dir/raw");
}

#[test]
fn a_blob_is_found_in_any_state_of_its_project() {
    let daemon = Daemon::start();
    let (project, reader) = with_file(&daemon, "dir/a.xml", b"first");
    project.save("main", "dir/a.xml", b"second");
    project
        .user
        .delete(&project.file("main", "dir/a.xml"))
        .expect_status(200);
    project.add_branch("test");
    project.save("test", "b", b"third");
    for body in [b"first" as &[u8], b"second", b"third"] {
        let sha = git_blob_id(body);
        let target = project.read(&format!("/blobs/{sha}"));
        reader.get(&target).assert_json(
            200,
            &json!({
                "size": body.len(),
                "encoding": "base64",
                "sha": sha,
                "content": BASE64_STANDARD.encode(body),
            }),
        );
        let raw = reader.get(&format!("{target}/raw"));
        raw.assert_bytes(200, body);
        assert_eq!(
            raw.header("Content-Type"),
            Some("text/plain; charset=utf-8")
        );
        assert_eq!(
            raw.header("Cache-Control"),
            Some("private, max-age=31536000, immutable")
        );
        let part = reader.request("GET", &format!("{target}/raw"));
        let part = part.header("Range", "bytes=1-2").send();
        part.assert_bytes(206, &body[1..3]);
        let known = reader.request("GET", &format!("{target}/raw"));
        let known = known.header("If-None-Match", raw.header("ETag").unwrap());
        known.send().assert_empty(304);
    }
}

#[test]
fn the_last_commit_of_a_file_in_a_commit_may_be_another_one_later() {
    let daemon = Daemon::start();
    let (project, reader) = with_file(&daemon, "a", b"one");
    project.save("main", "b", b"x");
    let head = || {
        let branch = reader.get(&project.read("/branches/main")).json();
        branch["commit"]["id"].as_str().unwrap().to_owned()
    };
    let commit = head();
    let as_json = project.read(&format!("/files/a?ref={commit}"));
    let first = reader.get(&as_json);
    let last = |answer: &Answer| answer.header("X-Gitlab-Last-Commit-Id").unwrap().to_owned();
    assert_ne!(last(&first), commit);
    project.save("main", "a", b"two");
    let back = format!("{}?to=v0003", project.on("main", "/rollback"));
    let back = project.user.request("POST", &back).send();
    assert_eq!((back.status, head()), (200, commit.clone()));

    let known = reader.request("GET", &as_json);
    let known = known.header("If-None-Match", first.header("ETag").unwrap());
    let (now, told) = (known.send().expect_status(200), reader.head(&as_json));
    assert_eq!(now.json()["last_commit_id"], json!(commit));
    assert_eq!(told.status, 200);
    for answer in [&first, &now, &told] {
        assert_eq!(answer.header("Cache-Control"), Some("private, no-cache"));
    }
    assert_eq!([last(&now), last(&told)], [commit.clone(), commit.clone()]);
    // The bytes stay.
    let raw = reader.get(&project.read(&format!("/files/a/raw?ref={commit}")));
    raw.assert_bytes(200, b"one");
    assert_eq!(
        raw.header("Cache-Control"),
        Some("private, max-age=31536000, immutable")
    );
}

#[test]
fn a_blob_of_another_project_is_not_there() {
    let daemon = Daemon::start();
    let (project, reader) = with_file(&daemon, "a", b"mine");
    let other = Project::with_main(&project.user, "acme/other");
    other.save("main", "b", b"theirs");
    let gone = git_blob_id(b"gone");
    project.add_branch("test");
    project.save("test", "c", b"gone");
    reader
        .get(&project.read(&format!("/blobs/{gone}")))
        .expect_status(200);
    project
        .user
        .delete(&project.on("test", ""))
        .expect_status(204);
    for sha in [
        git_blob_id(b"theirs"),
        git_blob_id(b"nobody's"),
        gone,
        git_blob_id(b"mine")[..39].to_owned(),
        "main".to_owned(),
        "x".repeat(40),
    ] {
        for end in ["", "/raw"] {
            let answer = reader.get(&project.read(&format!("/blobs/{sha}{end}")));
            answer.assert_error(404, "404 Blob Not Found");
        }
    }
    let upper = git_blob_id(b"mine").to_uppercase();
    let found: Value = reader.get(&project.read(&format!("/blobs/{upper}"))).json();
    assert_eq!(found["sha"], git_blob_id(b"mine"));
}

#[test]
fn the_last_commit_of_a_file_is_one_that_there_is_after_a_pruning_too() {
    let daemon = Daemon::start();
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    let reader = daemon.reader(&project);
    project.save("main", "a.xml", "a");
    for number in 0..3 {
        project.save("main", "b.xml", number.to_string());
    }
    let last_commits = || {
        ["", "?ref=main", "?ref=heads/main", "?ref=refs/heads/main"].map(|query| {
            let raw = reader.get(&project.read(&format!("/files/a.xml/raw{query}")));
            let raw = raw.expect_status(200);
            let commit = raw.header("X-Gitlab-Last-Commit-Id").unwrap().to_owned();
            let found = reader.get(&project.read(&format!("/commits/{commit}")));
            found.expect_status(200);
            commit
        })
    };
    let before = last_commits();
    daemon.run(&["prune", "--keep-snapshots", "1"], "");
    let after = last_commits();
    assert_ne!(before, after);
}
