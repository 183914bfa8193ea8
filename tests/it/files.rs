//! Saving, reading and deleting files in the Admin API: specification section 4.2, contract
//! section 6.

use serde_json::json;

use crate::harness::{Daemon, Project, branch_digest, git_blob_id, md5_hex, paths};

fn project(daemon: &Daemon) -> Project {
    Project::with_main(&daemon.user("alice", &[]), "acme/shop")
}

fn tag_of(body: &[u8]) -> String {
    format!("\"{}\"", blake3::hash(body).to_hex())
}

#[test]
fn saving_a_new_file_says_what_was_saved() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    let body = b"<config/>\n";
    let answer = project
        .user
        .put(&project.file("main", "erp/config.xml"), body);
    answer.assert_json(
        201,
        &json!({
            "path": "erp/config.xml",
            "size": 10,
            "md5": md5_hex(body),
            "id": git_blob_id(body),
            "snapshot": "v0001",
            "created": true,
            "etag": tag_of(body),
            "commit_id": branch_digest(&[("erp/config.xml", body)])[..40],
            "short_id": branch_digest(&[("erp/config.xml", body)])[..8],
            "unchanged": false,
        }),
    );
    assert_eq!(answer.header("ETag"), Some(tag_of(body).as_str()));
    let answer = project.user.get(&project.file("main", "erp/config.xml"));
    answer.assert_bytes(200, body);
}

#[test]
fn saving_again_takes_a_snapshot_first() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    project.save("main", "a.xml", "one");
    for (snapshot, body, unchanged) in [("v0002", "two", false), ("v0003", "two", true)] {
        let digest = branch_digest(&[("a.xml", body.as_bytes())]);
        let answer = project
            .user
            .put(&project.file("main", "a.xml"), body.as_bytes());
        answer.assert_json(
            200,
            &json!({
                "path": "a.xml",
                "size": 3,
                "md5": md5_hex(body.as_bytes()),
                "id": git_blob_id(body.as_bytes()),
                "snapshot": snapshot,
                "created": false,
                "etag": tag_of(body.as_bytes()),
                "commit_id": digest[..40],
                "short_id": digest[..8],
                "unchanged": unchanged,
            }),
        );
    }
    for (version, body) in [("v0002", "one"), ("v0003", "two")] {
        let target = project.on("main", &format!("/snapshots/{version}/files/a.xml"));
        project.user.get(&target).assert_bytes(200, body.as_bytes());
    }
}

#[test]
fn any_bytes_come_back_as_they_were() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    let all: Vec<u8> = (0..=255).collect();
    let long: Vec<u8> = (0..3_000_000_u32)
        .map(|n| n.to_le_bytes()[n as usize % 3])
        .collect();
    for (path, body) in [
        ("empty", &[] as &[u8]),
        ("bytes", &all),
        ("inline", &long[..64 << 10]),
        ("large", &long[..=64 << 10]),
        ("larger", &long),
    ] {
        let saved = project.save("main", path, body).json();
        assert_eq!(saved["size"], body.len());
        assert_eq!(saved["md5"], md5_hex(body));
        assert_eq!(saved["id"], git_blob_id(body));
        project
            .user
            .get(&project.file("main", path))
            .assert_bytes(200, body);
    }
}

#[test]
fn a_body_of_unknown_length_is_saved_whole() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    let head = project
        .user
        .request("PUT", &project.file("main", "a.xml"))
        .header("Transfer-Encoding", "chunked")
        .to_bytes();
    let mut connection = daemon.connect();
    connection.send(&head);
    connection.send(b"3\r\nabc\r\n5;ext=1\r\ndefgh\r\n0\r\nX-Trailer: no\r\n\r\n");
    let saved = connection.answer().expect_status(201).json();
    assert_eq!(saved["size"], 8);
    let answer = project.user.get(&project.file("main", "a.xml"));
    answer.assert_bytes(200, b"abcdefgh");
}

#[test]
fn a_part_of_a_file_and_a_form_are_not_saved_as_it() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    let file = project.file("main", "a.xml");
    let put = |name: &str, value: &str| {
        let request = project.user.request("PUT", &file).header(name, value);
        request.body(b"--b\r\n").send()
    };
    put("Content-Range", "bytes 0-4/10")
        .assert_error(400, "Content-Range is not supported: a file is saved whole");
    put("Content-Type", "multipart/form-data; boundary=b").assert_error(
        415,
        "the body must be the bytes of the file and no form, as \"curl -T FILE\" sends it",
    );
    assert_eq!(project.versions("main"), [""; 0]);
    put("Content-Type", "application/x-www-form-urlencoded").expect_status(201);
}

#[test]
fn a_file_is_downloaded_and_never_shown() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    let script = "<html><script>alert(1)</script>";
    project.save("main", "web/page \"1\" ü.html", script);
    project.save("main", "data.json", [0xff, 0x00, 0x7b]);
    let page = project
        .user
        .get(&project.file("main", "web/page \"1\" ü.html"));
    assert_eq!(
        page.header("Content-Type"),
        Some("text/plain; charset=utf-8")
    );
    let disposition = page.header("Content-Disposition").unwrap();
    assert!(disposition.starts_with("attachment;"), "{disposition}");
    assert!(
        disposition.ends_with("filename*=UTF-8''page%20%221%22%20%C3%BC.html"),
        "{disposition}"
    );
    assert!(disposition.is_ascii());
    assert_eq!(page.header("Cache-Control"), Some("private, no-cache"));
    let policy = page.header("Content-Security-Policy").unwrap();
    assert!(policy.contains("default-src 'none'"), "{policy}");
    let binary = project.user.get(&project.file("main", "data.json"));
    assert_eq!(
        binary.header("Content-Type"),
        Some("application/octet-stream")
    );
    assert_eq!(binary.header("Content-Length"), Some("3"));
}

#[test]
fn deleting_a_file_takes_a_snapshot_first() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    project.save("main", "dir/a.xml", "a");
    project.save("main", "b.xml", "b");
    let target = project.file("main", "dir/a.xml");
    let digest = branch_digest(&[("b.xml", b"b")]);
    project.user.delete(&target).assert_json(
        200,
        &json!({
            "path": "dir/a.xml",
            "snapshot": "v0003",
            "commit_id": digest[..40],
            "short_id": digest[..8],
            "unchanged": false,
        }),
    );
    project.user.get(&target).assert_refused(404);
    assert_eq!(paths(&project.tree("main")), ["b.xml"]);
    let before = project.on("main", "/snapshots/v0003/files/dir%2Fa.xml");
    project.user.get(&before).assert_bytes(200, b"a");
    project.user.delete(&target).assert_refused(404);
    assert_eq!(project.versions("main"), ["v0003", "v0002", "v0001"]);
}

#[test]
fn what_is_not_there_is_not_found() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    project.save("main", "dir/a.xml", "a");
    let user = &project.user;
    for target in [
        project.file("main", "none.xml"),
        project.file("main", "dir"),
        project.file("main", "dir/a.xml/b"),
        project.file("main", "DIR/a.xml"),
        project.file("none", "dir/a.xml"),
    ] {
        user.get(&target).assert_refused(404);
        user.delete(&target).assert_refused(404);
    }
    user.put(&project.file("none", "a.xml"), b"x")
        .assert_refused(404);
    user.put(
        "/site-builder/api/projects/none.erp/branches/main/files/a",
        b"x",
    )
    .assert_refused(404);
    assert_eq!(project.versions("main"), ["v0001"]);
}

#[test]
fn a_file_is_never_a_folder_at_once() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    project.save("main", "a", "file");
    project.save("main", "dir/x/y", "file");
    let before = project.tree("main");
    for path in ["a/b", "a/b/c", "dir", "dir/x", "dir/x/y/z"] {
        let target = project.file("main", path);
        project.user.put(&target, b"x").assert_refused(400);
    }
    assert_eq!(project.tree("main"), before);
    assert_eq!(project.versions("main"), ["v0002", "v0001"]);
}

#[test]
fn a_path_may_come_as_one_segment_or_as_many() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    let many = project.on("main", "/files/dir/sub/a%20b.xml");
    let saved = project.user.put(&many, b"body").expect_status(201).json();
    assert_eq!(saved["path"], "dir/sub/a b.xml");
    for spelling in [
        "/files/dir%2Fsub%2Fa%20b.xml",
        "/files/dir/sub/a%20b.xml",
        "/files/dir%2fsub/a%20b.xml",
        "/files//dir//sub/a%20b.xml",
        "/files/dir%2Fsub%2Fa%20b.xml/",
        "//files/dir%2Fsub%2F%61%20b%2Exml",
    ] {
        let answer = project.user.get(&project.on("main", spelling));
        answer.assert_bytes(200, b"body");
    }
}

#[test]
fn many_users_may_save_one_file_and_the_last_stays() {
    let daemon = Daemon::start();
    let shop = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    let bob = daemon.user("bob", &["ROLE_SITEBUILDER_USER__acme/shop"]);
    shop.save("main", "a.xml", "of alice");
    shop.seen_by(&bob).save("main", "a.xml", "of bob");
    shop.user
        .get(&shop.file("main", "a.xml"))
        .assert_bytes(200, b"of bob");
    let history = shop.user.get(&shop.on("main", "/history")).json();
    assert_eq!(history[0]["created_by"], "bob");
    assert_eq!(history[1]["created_by"], "alice");
}
