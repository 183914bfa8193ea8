//! Listings that are too long for memory are the same as short ones, and are made while they are sent.

use std::fs;
use std::io::Read as _;
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
