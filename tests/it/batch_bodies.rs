//! Many files in one body: contract section 6.

use std::io::{Cursor, Write as _};

use serde_json::{Value, json};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::harness::{Answer, Daemon, Project, branch_digest, paths, segment};

const ZIP: &str = "application/zip";
const FORM: &str = "multipart/form-data; boundary=----b";

fn project(daemon: &Daemon) -> Project {
    Project::with_main(&daemon.user("alice", &[]), "acme/shop")
}

fn send(project: &Project, query: &str, kind: &str, body: &[u8]) -> Answer {
    let target = project.on("main", &format!("/batch{query}"));
    let request = project.user.request("POST", &target);
    request.header("Content-Type", kind).body(body).send()
}

/// A zip of names, modes and contents; a name that ends in a slash is a folder.
fn zip(entries: &[(&str, u32, &[u8])]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, mode, content) in entries {
        let options = SimpleFileOptions::default().unix_permissions(*mode);
        if name.ends_with('/') {
            zip.add_directory(*name, options).unwrap();
        } else {
            zip.start_file(*name, options).unwrap();
            zip.write_all(content).unwrap();
        }
    }
    zip.finish().unwrap().into_inner()
}

/// A form as a browser writes it, of file names and contents.
fn form(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut form = Vec::new();
    for (name, content) in files {
        let head = format!(
            "------b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n\
             Content-Type: application/octet-stream\r\n\r\n"
        );
        form.extend_from_slice(head.as_bytes());
        form.extend_from_slice(content);
        form.extend_from_slice(b"\r\n");
    }
    form.extend_from_slice(b"------b--\r\n");
    form
}

#[test]
fn a_zip_is_one_save() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    let body = zip(&[
        ("config/", 0o755, b""),
        ("config/\u{446}\u{435}\u{43d}\u{44b}.xml", 0o644, b"<a/>"),
        ("run", 0o755, b"#!"),
        ("empty", 0o644, b""),
    ]);
    let answer = send(&project, "?path=new&message=from+a+zip", ZIP, &body).expect_status(200);
    let digest = branch_digest(&[
        ("new/config/\u{446}\u{435}\u{43d}\u{44b}.xml", b"<a/>"),
        ("new/run", b"#!"),
        ("new/empty", b""),
    ]);
    assert_eq!(answer.json()["commit_id"], digest[..40]);
    assert_eq!(answer.json()["actions"], 3);
    let tree = project.tree("main");
    let modes: Vec<_> = tree
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| &entry["mode"])
        .collect();
    assert_eq!(
        paths(&tree),
        [
            "new",
            "new/config",
            "new/config/\u{446}\u{435}\u{43d}\u{44b}.xml",
            "new/empty",
            "new/run"
        ]
    );
    assert_eq!(modes, ["040000", "040000", "100644", "100644", "100755"]);
    let history = project.user.get(&project.on("main", "/history")).json();
    assert_eq!(history[0]["message"], "from a zip");
    assert_eq!(history.as_array().unwrap().len(), 1);
}

#[test]
fn a_zip_that_the_service_made_is_taken_back() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    project.save("main", "a b.xml", "one");
    project.save("main", "dir/b.bin", vec![0; 300_000]);
    let id = project.short_id("main");
    let reader = daemon.reader(&project);
    let archive = reader
        .get(&project.read("/archive.zip?sha=main"))
        .expect_status(200);
    project.add_branch("copy").expect_status(201);
    let target = project.on("copy", "/batch");
    let request = project
        .user
        .request("POST", &target)
        .header("Content-Type", ZIP);
    request.body(&archive.body).send().expect_status(200);
    let tree = project.tree("copy");
    let folder = paths(&tree)[0].to_owned();
    let back = json!({ "actions": [
        { "action": "move", "file_path": "a b.xml", "previous_path": format!("{folder}/a b.xml") },
        { "action": "move", "file_path": "dir", "previous_path": format!("{folder}/dir") },
    ] });
    let answer = project.user.post(&target, &back).expect_status(200);
    assert_eq!(answer.json()["short_id"], id);
}

#[test]
fn what_a_zip_may_not_hold_is_refused_and_changes_nothing() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    let whole = zip(&[("a.xml", 0o644, b"0123456789")]);
    let mut damaged = whole.clone();
    let at = whole.windows(10).position(|bytes| bytes == b"0123456789");
    // Deflated, so the content begins behind the name of the local header.
    damaged[at.unwrap_or(36)] ^= 0xff;
    let mut link = ZipWriter::new(Cursor::new(Vec::new()));
    link.add_symlink("a", "b", SimpleFileOptions::default())
        .unwrap();
    let link = link.finish().unwrap().into_inner();
    for (what, body, expected) in [
        (
            "cut",
            whole[..whole.len() - 30].to_vec(),
            "malformed archive: ",
        ),
        ("damaged", damaged, "malformed archive: "),
        ("no zip", b"hello".to_vec(), "malformed archive: "),
        ("nothing", Vec::new(), "malformed archive: "),
        ("no entry", zip(&[]), "there is nothing to change"),
        (
            "a folder alone",
            zip(&[("a/", 0o755, b"")]),
            "there is nothing to change",
        ),
        ("outside", zip(&[("../a", 0o644, b"")]), "\"../a\": "),
        ("absolute", zip(&[("/a", 0o644, b"")]), "\"/a\": "),
        (
            "git's folder",
            zip(&[(".git/config", 0o644, b"")]),
            "\".git/config\": ",
        ),
        (
            "a link",
            link,
            "archive entry \"a\": only files and folders can be stored",
        ),
    ] {
        let told = send(&project, "", ZIP, &body).assert_refused(400);
        assert!(told.starts_with(expected), "{what}: {told}");
    }
    assert_eq!(project.tree("main"), json!([]));
    assert_eq!(project.versions("main"), [""; 0]);
}

#[test]
fn a_zip_is_bounded_by_what_it_unpacks_to() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    let names: Vec<_> = (0..9).map(|number| format!("{number}")).collect();
    let zeros = vec![0; 8 << 20];
    let mut entries: Vec<_> = names
        .iter()
        .map(|name| (&**name, 0o644, &zeros[..]))
        .collect();
    let refused = "the body is larger than 67108864 bytes";
    send(&project, "", ZIP, &zip(&entries)).assert_error(413, refused);
    entries.pop();
    send(&project, "", ZIP, &zip(&entries)).expect_status(200);

    let names: Vec<_> = (0..10_001).map(|number| format!("{number}")).collect();
    let mut entries: Vec<_> = names
        .iter()
        .map(|name| (&**name, 0o644, &b""[..]))
        .collect();
    let refused = "there are more than 10000 actions";
    send(&project, "", ZIP, &zip(&entries)).assert_error(400, refused);
    entries.pop();
    send(&project, "?path=many", ZIP, &zip(&entries)).expect_status(200);
    assert_eq!(project.versions("main").len(), 2);
}

#[test]
fn a_zip_that_says_no_modes_leaves_them() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    let unix = zip(&[("run", 0o755, b"#!one")]);
    send(&project, "", ZIP, &unix).expect_status(200);
    // As Windows writes it: made by MS-DOS, with the archive bit and no mode.
    let mut windows = zip(&[("run", 0o644, b"#!two")]);
    let entry = windows
        .windows(4)
        .rposition(|bytes| bytes == b"PK\x01\x02")
        .unwrap();
    windows[entry + 5] = 0;
    windows[entry + 38..entry + 42].copy_from_slice(&[0x20, 0, 0, 0]);
    send(&project, "", ZIP, &windows).expect_status(200);
    assert_eq!(project.tree("main")[0]["mode"], "100755");
    project
        .user
        .get(&project.file("main", "run"))
        .assert_bytes(200, b"#!two");
}

#[test]
fn a_zip_takes_the_memory_that_it_unpacks_to() {
    let daemon = Daemon::start_with(&["--bodies-bytes-account-max", "1000000"]);
    let project = project(&daemon);
    let small = zip(&[("zeros", 0o644, &vec![0; 900_000])]);
    let large = zip(&[("zeros", 0o644, &vec![0; 1_100_000])]);
    assert!(large.len() < 10_000);
    send(&project, "", ZIP, &large)
        .assert_error(429, "too many bytes of bodies at once; try again in 1 s");
    send(&project, "", ZIP, &small).expect_status(200);
}

#[test]
fn a_form_is_one_save() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    let large = vec![b'\r'; 200_000];
    let body = form(&[
        ("dir/\u{446}.xml", b"<a/>"),
        ("say %22hi%22 100%.txt", b"\r\n--\r\n"),
        ("large", &large),
        ("empty", b""),
    ]);
    let answer = send(&project, "?message=dropped", FORM, &body).expect_status(200);
    let digest = branch_digest(&[
        ("dir/\u{446}.xml", b"<a/>"),
        ("say \"hi\" 100%.txt", b"\r\n--\r\n"),
        ("large", &large),
        ("empty", b""),
    ]);
    assert_eq!(answer.json()["commit_id"], digest[..40]);
    let history = project.user.get(&project.on("main", "/history")).json();
    assert_eq!(history[0]["message"], "dropped");
    let target = project.file("main", "say \"hi\" 100%.txt");
    assert!(target.contains(&segment("\"hi\"")));
    project.user.get(&target).assert_bytes(200, b"\r\n--\r\n");
}

#[test]
fn a_form_that_is_cut_or_holds_no_file_changes_nothing() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    let whole = form(&[("a.xml", b"one"), ("b.xml", b"two")]);
    let field =
        b"------b\r\nContent-Disposition: form-data; name=\"why\"\r\n\r\nso\r\n------b--\r\n";
    for (what, body, expected) in [
        ("cut", &whole[..whole.len() - 9], "malformed form: "),
        (
            "another boundary",
            &b"------c--\r\n"[..],
            "malformed form: ",
        ),
        ("nothing", b"", "malformed form: "),
        ("no part", b"------b--\r\n", "there is nothing to change"),
        (
            "a field",
            field,
            "field \"why\" is no file: it has no filename",
        ),
        ("outside", &form(&[("../a", b"")]), "\"../a\": "),
    ] {
        let told = send(&project, "", FORM, body).assert_refused(400);
        assert!(told.starts_with(expected), "{what}: {told}");
    }
    let none = "the body must be application/json, application/x-tar, application/zip or multipart/form-data";
    for kind in ["multipart/form-data", "text/plain", "application/gzip"] {
        send(&project, "", kind, &whole).assert_error(415, none);
    }
    assert_eq!(
        project.user.get(&project.on("main", "/history")).json(),
        Value::Array(Vec::new())
    );
}

#[test]
fn a_second_end_of_a_zip_hides_no_entries() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    let folders: Vec<_> = (0..20_001).map(|number| format!("{number}/")).collect();
    let entries: Vec<_> = folders
        .iter()
        .map(|name| (name.as_str(), 0o755, &b""[..]))
        .collect();
    let mut body = zip(&entries);
    send(&project, "", ZIP, &body).assert_error(400, "there are more than 10000 actions");
    // In the comment of the first end: it leads to the last entry, and says that there are two.
    let last = body.windows(4).rposition(|at| at == b"PK\x01\x02").unwrap();
    let length = body.len();
    body[length - 2..].copy_from_slice(&22_u16.to_le_bytes());
    body.extend(b"PK\x05\x06\0\0\0\0\x02\0\x02\0");
    body.extend(92_u32.to_le_bytes());
    body.extend(u32::try_from(last).unwrap().to_le_bytes());
    body.extend([0; 2]);
    let told = send(&project, "", ZIP, &body).assert_refused(400);
    assert!(told.starts_with("malformed archive: "), "{told}");
}

#[test]
fn the_head_of_a_part_of_a_form_is_short() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    let head = "------b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.xml\"\r\n";
    let with = |line: &str| format!("{head}X: {line}\r\n\r\n<a/>\r\n------b--\r\n");
    send(&project, "", FORM, with(&"x".repeat(60_000)).as_bytes()).expect_status(200);
    let refused = "malformed form: the head of a part is longer than 131072 bytes";
    let long = "x".repeat(10 << 20);
    for body in [with(&long), long.clone() + &with("x")] {
        send(&project, "", FORM, body.as_bytes()).assert_error(400, refused);
    }
    // What a part contains may be long.
    let large = form(&[("b.xml", long.as_bytes()), ("c.xml", b"<c/>")]);
    send(&project, "", FORM, &large).expect_status(200);
    project
        .user
        .get(&project.file("main", "b.xml"))
        .assert_bytes(200, long.as_bytes());
}

#[test]
fn a_file_of_a_batch_is_as_large_as_allowed_however_it_comes() {
    let daemon = Daemon::start_with(&["--file-bytes-max", "1000"]);
    let project = project(&daemon);
    project.save("main", "old", [b'x'; 1000]);
    let versions = project.versions("main");
    let large = [b'x'; 1001];
    let refused = "\"a/b\" is larger than 1000 bytes, the most that a file may have";
    let text = "x".repeat(1001);
    for mut action in [
        json!({ "action": "create" }),
        json!({ "action": "update" }),
        json!({ "action": "move", "previous_path": "old" }),
    ] {
        action["file_path"] = json!("a/b");
        action["content"] = json!(text);
        let batch = json!({ "actions": [action] });
        let answer = project.user.post(&project.on("main", "/batch"), &batch);
        answer.assert_error(413, refused);
    }
    let mut tar = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_ustar();
    header.set_mode(0o644);
    header.set_size(1001);
    tar.append_data(&mut header, "a/b", &large[..]).unwrap();
    for (kind, body) in [
        ("application/x-tar", tar.into_inner().unwrap()),
        (ZIP, zip(&[("a/b", 0o644, &large)])),
        (FORM, form(&[("a/b", &large)])),
    ] {
        send(&project, "", kind, &body).assert_error(413, refused);
    }
    assert_eq!(project.versions("main"), versions);
    let whole = zip(&[("a/b", 0o644, &large[1..])]);
    send(&project, "", ZIP, &whole).expect_status(200);
}
