//! The Read API's raw files: specification section 4.1, contract sections 1 and 5.

use crate::harness::{Daemon, Project, READ, READ_V4, User, segment};

fn shop(daemon: &Daemon) -> (Project, User) {
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    let reader = daemon.reader(&project);
    (project, reader)
}

#[test]
fn a_client_reads_the_bytes_that_were_saved() {
    let daemon = Daemon::start();
    let (project, reader) = shop(&daemon);
    let large: Vec<u8> = (0..2_000_000_u32)
        .map(|n| n.to_le_bytes()[n as usize % 3])
        .collect();
    for (path, body) in [
        ("empty", b"" as &[u8]),
        ("erp/config.xml", b"<config/>\n"),
        ("large.bin", &large),
    ] {
        project.save("main", path, body);
        let answer = reader.get(&project.raw(path));
        answer.assert_bytes(200, body);
        let length = body.len().to_string();
        assert_eq!(answer.header("Content-Length"), Some(length.as_str()));
    }
}

#[test]
fn a_client_reads_what_was_saved_last() {
    let daemon = Daemon::start();
    let (project, reader) = shop(&daemon);
    for body in ["one", "two", "three"] {
        project.save("main", "a.xml", body);
        let answer = reader.get(&project.raw("a.xml"));
        answer.assert_bytes(200, body.as_bytes());
    }
    project
        .user
        .delete(&project.file("main", "a.xml"))
        .expect_status(200);
    reader
        .get(&project.raw("a.xml"))
        .assert_error(404, "404 File Not Found");
}

#[test]
fn the_type_is_told_from_the_bytes_alone() {
    let daemon = Daemon::start();
    let (project, reader) = shop(&daemon);
    let text = Some("text/plain; charset=utf-8");
    let binary = Some("application/octet-stream");
    for (path, body, expected) in [
        ("a.html", b"<script>alert(1)</script>" as &[u8], text),
        ("a.json", b"{}", text),
        ("a.svg", b"<svg/>", text),
        ("image.png", "текст".as_bytes(), text),
        ("a.txt", b"\xff\xfe", binary),
        ("b.txt", b"a\0b", binary),
    ] {
        project.save("main", path, body);
        let answer = reader.get(&project.raw(path));
        assert_eq!(answer.header("Content-Type"), expected, "{path}");
    }
}

#[test]
fn headers_tell_what_gitlabs_tell() {
    let daemon = Daemon::start();
    let (project, reader) = shop(&daemon);
    project.save("main", "erp/a b.xml", "hello\n");
    let answer = reader.get(&project.raw("erp/a b.xml"));
    let commit = &project.branch_item("main")["commit"]["id"];
    for (name, value) in [
        ("X-Gitlab-File-Name", "a b.xml"),
        ("X-Gitlab-File-Path", "erp/a b.xml"),
        ("X-Gitlab-Size", "6"),
        ("X-Gitlab-Ref", "HEAD"),
        (
            "X-Gitlab-Blob-Id",
            "ce013625030ba8dba906f756967f9e9ca394464a",
        ),
        ("X-Gitlab-Commit-Id", commit.as_str().unwrap()),
        (
            "X-Gitlab-Content-Sha256",
            "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03",
        ),
        ("X-Gitlab-Execute-Filemode", "false"),
        ("Cache-Control", "private, no-cache"),
    ] {
        assert_eq!(answer.header(name), Some(value), "{name}");
    }
    let disposition = answer.header("Content-Disposition").unwrap();
    assert!(
        disposition.ends_with("filename*=UTF-8''a%20b.xml"),
        "{disposition}"
    );
}

#[test]
fn what_is_missing_is_said_as_gitlab_says_it() {
    let daemon = Daemon::start();
    let (project, reader) = shop(&daemon);
    project.save("main", "dir/a.xml", "a");
    for path in ["none.xml", "dir", "dir/A.xml", "dir/a.xml/b"] {
        reader
            .get(&project.raw(path))
            .assert_error(404, "404 File Not Found");
    }
    for reference in ["master", "main@v0099", "0123456789abcdef"] {
        let target = format!("{}?ref={reference}", project.raw("dir/a.xml"));
        reader
            .get(&target)
            .assert_error(404, "404 Commit Not Found");
    }
}

#[test]
fn a_project_without_a_branch_has_no_files() {
    let daemon = Daemon::start();
    let project = Project::create(&daemon.user("alice", &[]), "acme/new");
    let reader = daemon.reader(&project);
    reader
        .get(&project.raw("a.xml"))
        .assert_error(404, "404 Commit Not Found");
}

#[test]
fn a_path_may_have_lost_its_encoding_on_the_way() {
    let daemon = Daemon::start();
    let (project, reader) = shop(&daemon);
    project.save("main", "dir/sub/a.xml", "deep");
    project.save("main", "dir/raw", "named raw");
    for (rest, body) in [
        ("/files/dir%2Fsub%2Fa.xml/raw", "deep"),
        ("/files/dir%2Fsub%2Fa%2Exml/raw/", "deep"),
        ("/files/dir/sub/a.xml/raw", "deep"),
        ("/files/dir%2fsub/a.xml/raw", "deep"),
        ("/files//dir//sub/a.xml//raw", "deep"),
        ("/files/dir/raw/raw", "named raw"),
        ("/files/dir%2Fraw/raw", "named raw"),
    ] {
        let answer = reader.get(&project.read(rest));
        answer.assert_bytes(200, body.as_bytes());
    }
    let twice = project.read("/files/dir%252Fsub%252Fa.xml/raw");
    reader.get(&twice).assert_error(404, "404 File Not Found");
}

#[test]
fn a_file_can_be_read_at_both_mounts_and_by_number() {
    let daemon = Daemon::start();
    let (project, reader) = shop(&daemon);
    project.save("main", "dir/a.xml", "x");
    for mount in [READ, READ_V4] {
        for id in [segment(&project.id), project.number.to_string()] {
            let target = format!("{mount}/projects/{id}/repository/files/dir%2Fa.xml/raw");
            reader.get(&target).assert_bytes(200, b"x");
        }
    }
}

#[test]
fn the_encodings_of_real_clients_all_name_the_file() {
    let daemon = Daemon::start();
    let (project, reader) = shop(&daemon);
    let path = "dir/a+b%c#d?e&f=g;h,i~j_k-l.m(1)[2]{3}|^`'\"@:!$*.xml";
    project.save("main", path, "x");
    for encoded in [
        segment(path),
        "dir%2Fa%2Bb%25c%23d%3Fe%26f%3Dg%3Bh%2Ci~j_k-l.m(1)%5B2%5D%7B3%7D%7C%5E%60'%22%40%3A!%24*.xml".into(),
        "dir%2Fa+b%25c%23d%3Fe&f=g;h,i~j_k-l.m(1)[2]%7B3%7D|^%60'%22@:!$*.xml".into(),
        "dir%2Fa+b%25c%23d%3Fe&f=g%3Bh%2Ci~j_k-l%2Em%281%29%5B2%5D%7B3%7D%7C%5E%60%27%22@:%21$%2A%2Exml".into(),
        "dir%2Fa%2Bb%25c%23d%3Fe%26f%3Dg%3Bh%2Ci%7Ej%5Fk%2Dl%2Em\
         %281%29%5B2%5D%7B3%7D%7C%5E%60%27%22%40%3A%21%24*%2Exml".into(),
    ] {
        let target = project.read(&format!("/files/{encoded}/raw"));
        reader.get(&target).assert_bytes(200, b"x");
    }
}
