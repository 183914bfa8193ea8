//! Listings that are too long for memory are the same as short ones, and are made while they are sent.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;

use flate2::read::GzDecoder;
use serde_json::{Value, json};

use crate::harness::{Daemon, Project, User, git_blob_id, md5_hex};

/// More than are held in memory at once.
const FILES: usize = 12_000;

fn project(daemon: &Daemon) -> (Project, User) {
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    let folder = tempfile::tempdir().unwrap();
    for number in 0..FILES {
        let place = folder.path().join(path(number));
        if number % 100 == 0 {
            fs::create_dir_all(place.parent().unwrap()).unwrap();
        }
        fs::write(place, number.to_string()).unwrap();
    }
    import(daemon, &project, folder.path());
    let reader = daemon.reader(&project);
    (project, reader)
}

fn import(daemon: &Daemon, project: &Project, folder: &Path) {
    daemon.run(
        &["import", &project.id, "main", folder.to_str().unwrap()],
        "",
    );
}

fn path(number: usize) -> String {
    format!("all/{:03}/{number:05}", number / 100)
}

/// A file's entry, as the Read API shows it.
fn entry(number: usize) -> Value {
    let path = path(number);
    json!({
        "id": git_blob_id(number.to_string().as_bytes()),
        "name": path[8..],
        "type": "blob",
        "path": path,
        "mode": "100644",
    })
}

#[test]
fn a_long_tree_is_whole_in_both_apis_and_as_its_pages() {
    let daemon = Daemon::start();
    let (project, reader) = project(&daemon);
    let target = project.read("/tree?recursive=1");
    let whole = reader.get(&target).expect_status(200);
    let total = FILES + FILES / 100 + 1;
    for (name, value) in [
        ("X-Total", total.to_string()),
        ("X-Total-Pages", "1".to_owned()),
        ("X-Per-Page", total.to_string()),
        ("Content-Type", "application/json".to_owned()),
        ("Transfer-Encoding", "chunked".to_owned()),
    ] {
        assert_eq!(whole.header(name), Some(value.as_str()), "{name}");
    }
    let tree = whole.json();
    let tree = tree.as_array().unwrap();
    assert_eq!(tree.len(), total);
    let files: Vec<_> = tree
        .iter()
        .filter(|entry| entry["type"] == "blob")
        .collect();
    for (number, shown) in files.iter().enumerate() {
        assert_eq!(**shown, entry(number));
    }
    for page in [1, 2, 50, 120, 122] {
        let part = reader
            .get(&format!("{target}&per_page=100&page={page}"))
            .json();
        let start = (page - 1) * 100;
        let end = tree.len().min(start + 100);
        assert_eq!(
            part.as_array().unwrap()[..],
            tree[start..end],
            "page {page}"
        );
    }

    let plain = reader
        .get(&format!("{target}&pagination=none"))
        .expect_status(200);
    assert!(plain.body == whole.body);
    assert_eq!(plain.header("X-Total"), None);
    assert_ne!(plain.header("ETag"), whole.header("ETag"));

    let admin = project.user.get(&project.on("main", "/tree?recursive=1"));
    let admin = admin.expect_status(200);
    assert_ne!(admin.header("ETag"), whole.header("ETag"));
    let admin = admin.json();
    let admin = admin.as_array().unwrap();
    assert_eq!(admin.len(), total);
    for (more, less) in admin.iter().zip(tree) {
        let mut more = more.clone();
        let fields = more.as_object_mut().unwrap();
        let (size, md5) = (fields.remove("size"), fields.remove("md5"));
        let tag = fields.remove("etag");
        if less["type"] == "blob" {
            let text = less["name"].as_str().unwrap().trim_start_matches('0');
            let text = if text.is_empty() { "0" } else { text };
            assert_eq!(size, Some(json!(text.len())));
            assert_eq!(md5, Some(json!(md5_hex(text.as_bytes()))));
            let blob = blake3::hash(text.as_bytes());
            assert_eq!(tag, Some(json!(format!("\"{blob}\""))));
        }
        assert_eq!(more, *less);
    }
}

#[test]
fn a_long_tree_is_compressed_and_sent_once() {
    let daemon = Daemon::start();
    let (project, reader) = project(&daemon);
    let target = project.read("/tree?recursive=1&path=all");
    let whole = reader.get(&target).expect_status(200);
    let packed = reader
        .request("GET", &target)
        .header("Accept-Encoding", "gzip");
    let packed = packed.send().expect_status(200);
    assert_eq!(packed.header("Content-Encoding"), Some("gzip"));
    let mut unpacked = Vec::new();
    GzDecoder::new(packed.body.as_slice())
        .read_to_end(&mut unpacked)
        .unwrap();
    assert!(unpacked == whole.body);
    assert!(packed.body.len() * 2 < whole.body.len());

    let (tag, other) = (
        whole.header("ETag").unwrap(),
        packed.header("ETag").unwrap(),
    );
    assert_ne!(tag, other, "two forms have two tags");
    let known = |target: &str, tag: &str, coding: &str| {
        let request = reader.request("GET", target).header("If-None-Match", tag);
        request.header("Accept-Encoding", coding).send()
    };
    known(&target, tag, "identity").assert_empty(304);
    known(&target, other, "gzip").assert_empty(304);
    known(&target, tag, "gzip").expect_status(200);
    let head = reader.request("HEAD", &target).send().expect_status(200);
    assert_eq!(head.header("ETag"), Some(tag));

    // A save elsewhere leaves the folder as the client has it, one inside does not.
    project.save("main", "elsewhere", "x");
    known(&target, tag, "identity").assert_empty(304);
    project.save("main", "all/000/00000", "other");
    let changed = known(&target, tag, "identity").expect_status(200);
    let id = &changed.json()[1]["id"];
    assert_eq!(id.as_str(), Some(git_blob_id(b"other").as_str()));
    known(&project.read("/tree?recursive=1"), tag, "identity").expect_status(200);
}

#[test]
fn a_long_folder_lists_its_folders_first() {
    let daemon = Daemon::start();
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    let folder = tempfile::tempdir().unwrap();
    for number in 0..FILES {
        fs::write(folder.path().join(format!("{number:05}")), "").unwrap();
    }
    for name in ["00007-", "00007.d", "a", "b c"] {
        fs::create_dir(folder.path().join(name)).unwrap();
        fs::write(folder.path().join(name).join("x"), "").unwrap();
    }
    import(&daemon, &project, folder.path());
    let tree = daemon.reader(&project).get(&project.read("/tree")).json();
    let names = tree.as_array().unwrap().iter();
    let names: Vec<_> = names.map(|entry| entry["name"].as_str().unwrap()).collect();
    assert_eq!(names[..4], ["00007-", "00007.d", "a", "b c"]);
    let files = (0..FILES).map(|number| format!("{number:05}"));
    assert!(names[4..].iter().copied().eq(files));
}

/// More files than a whole diff holds in memory, of each of which two changes are told.
const MOVED: usize = 1_200;

/// `main` as it was when `old` was made of it, but for a folder that was moved, files that were moved without
/// it, and one that was changed. Gives all differences.
fn moved(project: &Project) -> Vec<Value> {
    let file = |action: &str, path: String, content: String| {
        json!({
            "action": action, "file_path": path, "content": content
        })
    };
    let batch = |actions: Vec<Value>| {
        let actions = json!({ "actions": actions });
        let made = project.user.post(&project.on("main", "/batch"), &actions);
        made.expect_status(200);
    };
    let mut before: Vec<_> = (0..MOVED)
        .map(|number| file("create", format!("a/{number:04}"), number.to_string()))
        .collect();
    before.push(file("create", "m.xml".to_owned(), "one".to_owned()));
    for letter in ["x", "y", "z"] {
        before.push(file("create", format!("c/{letter}"), letter.to_owned()));
    }
    batch(before);
    let body = json!({ "name": "old", "from": "main" });
    let made = project.user.post(&project.admin("/branches"), &body);
    made.expect_status(201);
    let mut after = vec![
        json!({ "action": "move", "file_path": "b", "previous_path": "a" }),
        file("update", "m.xml".to_owned(), "two".to_owned()),
    ];
    for (letter, to) in [("x", "z3"), ("y", "z1"), ("z", "z2")] {
        after.push(json!({
            "action": "move", "file_path": to, "previous_path": format!("c/{letter}"),
        }));
    }
    batch(after);

    let side = |text: &str| {
        json!({
            "id": git_blob_id(text.as_bytes()), "size": text.len(),
            "md5": md5_hex(text.as_bytes()), "mode": "100644",
        })
    };
    let added = |path: String, from: String, text: &str| {
        json!({
            "path": path, "change": "added", "renamed_from": from, "additions": 1,
            "deletions": 0, "binary": false, "old": null, "new": side(text),
        })
    };
    let deleted = |path: String, text: &str| {
        json!({
            "path": path, "change": "deleted", "renamed_from": null, "additions": 0,
            "deletions": 1, "binary": false, "old": side(text), "new": null,
        })
    };
    let numbers = || (0..MOVED).map(|number| (format!("{number:04}"), number.to_string()));
    let mut all: Vec<_> = numbers()
        .map(|(name, text)| deleted(format!("a/{name}"), &text))
        .collect();
    all.extend(
        numbers().map(|(name, text)| added(format!("b/{name}"), format!("a/{name}"), &text)),
    );
    all.extend(["x", "y", "z"].map(|letter| deleted(format!("c/{letter}"), letter)));
    all.push(json!({
        "path": "m.xml", "change": "modified", "renamed_from": null, "additions": 1,
        "deletions": 1, "binary": false, "old": side("one"), "new": side("two"),
    }));
    for (name, letter) in [("z1", "y"), ("z2", "z"), ("z3", "x")] {
        all.push(added(name.to_owned(), format!("c/{letter}"), letter));
    }
    all
}

#[test]
fn a_long_diff_is_whole_and_knows_what_was_moved() {
    let daemon = Daemon::start();
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    let all = moved(&project);
    let user = &project.user;
    let target = project.on("main", "/diff?from=old&to=main");
    let whole = user.get(&target).expect_status(200);
    assert_eq!(whole.header("Transfer-Encoding"), Some("chunked"));
    assert!(whole.json() == json!(all));

    let packed = user
        .request("GET", &target)
        .header("Accept-Encoding", "gzip");
    let packed = packed.send().expect_status(200);
    assert_eq!(packed.header("Content-Encoding"), Some("gzip"));
    let mut unpacked = Vec::new();
    let mut decoder = GzDecoder::new(packed.body.as_slice());
    decoder.read_to_end(&mut unpacked).unwrap();
    assert!(unpacked == whole.body);

    let below = |path: &str| {
        let below = user
            .get(&format!("{target}&path={path}"))
            .expect_status(200);
        assert_ne!(below.header("ETag"), whole.header("ETag"));
        below.json()
    };
    assert!(below("b") == json!(all[MOVED..2 * MOVED]));
    assert_eq!(below("m.xml"), json!([all[2 * MOVED + 3]]));
    assert_eq!(below("none"), json!([]));

    // Without a number it is a page, too.
    let after = user
        .get(&format!("{target}&after=a/0099"))
        .expect_status(200);
    assert!(after.header("Link").unwrap().contains("after=a%2F1099"));
    assert!(after.json() == json!(all[100..1_100]));

    let known = |tag: Option<&str>, coding: &str| {
        let request = user
            .request("GET", &target)
            .header("If-None-Match", tag.unwrap());
        request.header("Accept-Encoding", coding).send()
    };
    known(whole.header("ETag"), "identity").assert_empty(304);
    known(packed.header("ETag"), "gzip").assert_empty(304);
    known(whole.header("ETag"), "gzip").expect_status(200);
    project.save("main", "m.xml", "three");
    known(whole.header("ETag"), "identity").expect_status(200);
}

#[test]
fn a_long_rehearsal_is_the_diff_that_a_rollback_makes() {
    let daemon = Daemon::start();
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    let all = moved(&project);
    let diff = project.on("main", "/diff?from=main&to=old");
    let diff = project.user.get(&diff).expect_status(200).body;
    let rehearse = |paths: &str| {
        let before = &project.versions("main")[0];
        let target = project.on("main", &format!("/rollback?to={before}&dry_run=1{paths}"));
        let told = project
            .user
            .request("POST", &target)
            .send()
            .expect_status(200);
        assert_eq!(told.header("Transfer-Encoding"), Some("chunked"));
        assert_eq!(told.header("ETag"), None);
        told
    };
    assert!(rehearse("").body == diff);
    // Of these there is no state yet.
    let folders = rehearse("&path=a&path=b").json();
    let paths = |of: &[Value]| of.iter().map(|it| it["path"].clone()).collect::<Vec<_>>();
    assert!(paths(folders.as_array().unwrap()) == paths(&all[..2 * MOVED]));
    assert_eq!(folders[7]["renamed_from"], "b/0007");
}

/// The length of each chunk of an answer, in bytes.
fn chunks(daemon: &Daemon, request: &[u8]) -> Vec<usize> {
    let mut connection = TcpStream::connect(daemon.address()).unwrap();
    connection.write_all(request).unwrap();
    let mut answer = Vec::new();
    let mut chunks = Vec::new();
    let mut at = 0;
    loop {
        let line = |from: usize, end: &[u8], answer: &[u8]| {
            let found = answer[from..]
                .windows(end.len())
                .position(|some| some == end);
            found.map(|length| from + length)
        };
        let mut piece = [0; 16 << 10];
        while line(at, if at == 0 { b"\r\n\r\n" } else { b"\r\n" }, &answer).is_none() {
            let read = connection.read(&mut piece).unwrap();
            assert!(read > 0, "the answer is cut short");
            answer.extend_from_slice(&piece[..read]);
        }
        if at == 0 {
            at = line(0, b"\r\n\r\n", &answer).unwrap() + 4;
            continue;
        }
        let end = line(at, b"\r\n", &answer).unwrap();
        let length = std::str::from_utf8(&answer[at..end]).unwrap();
        let length = usize::from_str_radix(length, 16).unwrap();
        if length == 0 {
            return chunks;
        }
        chunks.push(length);
        at = end + 2 + length + 2;
        while answer.len() < at {
            let read = connection.read(&mut piece).unwrap();
            assert!(read > 0, "the answer is cut short");
            answer.extend_from_slice(&piece[..read]);
        }
    }
}

#[test]
fn memory_for_a_long_list_is_bounded_where_its_paths_are_long_too() {
    let daemon = Daemon::start();
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    let long = ["a", "b", "c", "d"].map(|name| name.repeat(250)).join("/");
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join(&long);
    fs::create_dir_all(&folder).unwrap();
    for number in 0..FILES {
        fs::write(folder.join(number.to_string()), "").unwrap();
    }
    import(&daemon, &project, root.path());
    let reader = daemon.reader(&project);
    let request = reader.request("GET", &project.read("/tree?recursive=1"));
    let chunks = chunks(&daemon, &request.to_bytes());
    assert!(chunks.iter().sum::<usize>() > FILES * long.len());
    let longest = chunks.iter().max();
    assert!(
        longest.is_some_and(|length| *length < 300 << 10),
        "{longest:?}"
    );
}
