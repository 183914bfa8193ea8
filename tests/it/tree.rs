//! Tree listings in the Admin API: contract sections 5 and 6.

use serde_json::{Value, json};

use crate::gitlab_walk::{by_links, elements, link, target_of};
use crate::harness::{Daemon, Project, git, git_blob_id, md5_hex, paths};

/// A branch whose names sort otherwise as text than as paths.
const FILES: [&str; 8] = ["b", "a/z", "a/B", "a-c", "a.d/x", "ab/c/d", "a/b/c", "я"];

fn project(daemon: &Daemon) -> Project {
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    for path in FILES {
        project.save("main", path, path);
    }
    project
}

fn tree(project: &Project, query: &str) -> Value {
    let target = project.on("main", &format!("/tree{query}"));
    project.user.get(&target).expect_status(200).json()
}

#[test]
fn a_folder_lists_directories_first_then_files_by_bytes() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    assert_eq!(
        paths(&tree(&project, "")),
        ["a", "a.d", "ab", "a-c", "b", "я"]
    );
    assert_eq!(paths(&tree(&project, "?path=a")), ["a/b", "a/B", "a/z"]);
    assert_eq!(paths(&tree(&project, "?path=ab/c")), ["ab/c/d"]);
}

#[test]
fn a_recursive_listing_goes_depth_first_and_names_folders() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    assert_eq!(
        paths(&tree(&project, "?recursive=1")),
        [
            "a-c", "a.d", "a.d/x", "a", "a/B", "a/b", "a/b/c", "a/z", "ab", "ab/c", "ab/c/d", "b",
            "я"
        ]
    );
    assert_eq!(
        paths(&tree(&project, "?recursive=true&path=ab")),
        ["ab/c", "ab/c/d"]
    );
}

#[test]
fn an_entry_says_what_it_is() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    let entries = tree(&project, "?path=a");
    let folder = &entries[0];
    assert_eq!(folder["id"].as_str().unwrap().len(), 40);
    assert_eq!(
        folder,
        &json!({ "id": folder["id"], "name": "b", "type": "tree", "path": "a/b", "mode": "040000" })
    );
    assert_eq!(
        entries[1],
        json!({
            "id": git_blob_id(b"a/B"),
            "name": "B",
            "type": "blob",
            "path": "a/B",
            "mode": "100644",
            "size": 3,
            "md5": md5_hex(b"a/B"),
            "etag": format!("\"{}\"", blake3::hash(b"a/B")),
        })
    );
}

#[test]
fn ids_are_those_that_git_gives_the_same_tree() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    let folder = tempfile::tempdir().unwrap();
    for path in FILES {
        let file = folder.path().join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, path).unwrap();
    }
    assert_eq!(
        git::listing_of_tree(&tree(&project, "?recursive=1")),
        git::listing_of_folder(folder.path())
    );
}

#[test]
fn the_root_has_several_spellings() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    let root = tree(&project, "");
    for query in [
        "?path=",
        "?path=/",
        "?recursive=0",
        "?recursive=false",
        "?",
        "/?path=",
    ] {
        assert_eq!(tree(&project, query), root, "{query}");
    }
    assert_eq!(tree(&project, "?path=a/"), tree(&project, "?path=a"));
}

#[test]
fn a_path_that_is_no_folder_is_not_found() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    for path in ["none", "b", "a/none", "a/z/x", "A"] {
        let target = project.on("main", &format!("/tree?path={path}"));
        project.user.get(&target).assert_refused(404);
    }
    project
        .user
        .get(&project.on("none", "/tree"))
        .assert_refused(404);
}

#[test]
fn recursive_is_a_boolean() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    let (flat, deep) = (tree(&project, ""), tree(&project, "?recursive=1"));
    for (expected, spellings) in [
        (&deep, ["1", "true", "True", "TRUE", "t", "T", "yes", "on"]),
        (
            &flat,
            ["0", "false", "False", "FALSE", "f", "F", "no", "off"],
        ),
    ] {
        for spelling in spellings {
            let answer = tree(&project, &format!("?recursive={spelling}"));
            assert_eq!(&answer, expected, "{spelling}");
        }
    }
    for nonsense in ["2", "tru", "-1", "null", "1,1", ""] {
        let target = project.on("main", &format!("/tree?recursive={nonsense}"));
        project.user.get(&target).assert_refused(400);
    }
}

#[test]
fn a_folder_lives_as_long_as_a_file_in_it() {
    let daemon = Daemon::start();
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    project.save("main", "a/b/c", "x");
    project
        .user
        .delete(&project.file("main", "a/b/c"))
        .expect_status(200);
    assert_eq!(project.tree("main"), json!([]));
    project
        .user
        .get(&project.on("main", "/tree?path=a"))
        .assert_refused(404);
    project.save("main", "a", "now a file");
}

/// Reads a list page by page by the addresses that it names, and holds each page against its length.
#[track_caller]
fn in_pages(project: &Project, rest: &str, limit: usize) -> Vec<Value> {
    let mut target = project.on("main", &format!("{rest}&limit={limit}"));
    let mut found = Vec::new();
    loop {
        let page = project.user.get(&target).expect_status(200);
        let entries = page.json();
        let entries = entries.as_array().unwrap();
        assert!(entries.len() <= limit, "{target}");
        found.extend(entries.iter().cloned());
        let Some(link) = page.header("Link") else {
            return found;
        };
        assert_eq!(entries.len(), limit, "{target}");
        let address = link.strip_prefix('<').unwrap();
        let address = address.strip_suffix(">; rel=\"next\"").unwrap();
        target = address[address.find("/site-builder").unwrap()..].to_owned();
    }
}

#[test]
fn a_tree_is_read_page_by_page() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    for query in [
        "?path=",
        "?recursive=1",
        "?path=a",
        "?recursive=1&path=a",
        "?path=ab/c",
    ] {
        let whole = tree(&project, query);
        for limit in [1, 2, 3, 100] {
            let pages = in_pages(&project, &format!("/tree{query}"), limit);
            assert_eq!(json!(pages), whole, "{query} by {limit}");
        }
        let of_snapshot = in_pages(&project, &format!("/snapshots/v0008/tree{query}"), 2);
        let target = project.on("main", &format!("/snapshots/v0008/tree{query}"));
        assert_eq!(json!(of_snapshot), project.user.get(&target).json());
    }
    for (query, expected) in [
        // The place counts, also of what is not there.
        (
            "?recursive=1&after=a-d",
            &[
                "a.d", "a.d/x", "a", "a/B", "a/b", "a/b/c", "a/z", "ab", "ab/c", "ab/c/d", "b", "я",
            ] as &[&str],
        ),
        (
            "?recursive=1&after=a/none",
            &["a/z", "ab", "ab/c", "ab/c/d", "b", "я"],
        ),
        (
            "?recursive=1&after=a.d/x",
            &[
                "a", "a/B", "a/b", "a/b/c", "a/z", "ab", "ab/c", "ab/c/d", "b", "я",
            ],
        ),
        ("?after=a-d", &["b", "я"]),
        ("?after=a", &["a.d", "ab", "a-c", "b", "я"]),
        ("?path=a&after=a/b", &["a/B", "a/z"]),
        ("?after=%D1%8F", &[]),
        ("?after=", &["a", "a.d", "ab", "a-c", "b", "я"]),
    ] {
        assert_eq!(paths(&tree(&project, query)), expected, "{query}");
    }
    for query in [
        "?limit=0",
        "?limit=1001",
        "?limit=x",
        "?path=a&after=b",
        "?after=a/b",
        "?after=../x",
        "?with=x",
    ] {
        let target = project.on("main", &format!("/tree{query}"));
        project.user.get(&target).assert_refused(400);
    }
}

#[test]
fn what_follows_a_folder_that_is_gone_is_still_listed() {
    let daemon = Daemon::start();
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    for path in ["fa/1", "fb-c", "fc/1", "f.xml"] {
        project.save("main", path, path);
    }
    for (query, expected) in [
        ("limit=2", &["fa", "fb", "fc", "f.xml", "fb-c"] as &[&str]),
        ("limit=2&search=f", &["fa", "fb", "fc", "f.xml", "fb-c"]),
        (
            "limit=5&recursive=1",
            &["f.xml", "fa", "fa/1", "fb-c", "fb", "fc", "fc/1"],
        ),
        (
            "limit=5&recursive=1&search=f",
            &["f.xml", "fa", "fa/1", "fb-c", "fb", "fc", "fc/1"],
        ),
    ] {
        project.save("main", "fb/1", "x");
        let first = project
            .user
            .get(&project.on("main", &format!("/tree?{query}")));
        let gone = project.user.delete(&project.file("main", "fb/1"));
        gone.expect_status(200);
        let next = target_of(&project.user, &link(&first, "next").unwrap());
        let mut found = elements(&first);
        found.extend(by_links(&project.user, &next));
        assert_eq!(paths(&json!(found)), expected, "{query}");
    }
}

#[test]
fn a_tree_is_searched_by_a_part_of_the_path_whatever_its_case() {
    let daemon = Daemon::start();
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    for path in [
        "config/Prices.xml",
        "config/a+b.XML",
        "Обмен/Настройки.ini",
        "prices",
        "x/price/y",
    ] {
        project.save("main", path, path);
    }
    let whole = tree(&project, "?recursive=1");
    for (query, expected) in [
        (
            "recursive=1&search=PRICE",
            &["config/Prices.xml", "prices", "x/price", "x/price/y"] as &[&str],
        ),
        (
            "recursive=1&search=.xml",
            &["config/Prices.xml", "config/a+b.XML"],
        ),
        ("recursive=1&search=a%2Bb", &["config/a+b.XML"]),
        ("recursive=1&search=g/p", &["config/Prices.xml"]),
        (
            "recursive=1&search=%D0%BD%D0%B0%D1%81%D1%82%D1%80",
            &["Обмен/Настройки.ini"],
        ),
        (
            "recursive=1&search=%D0%9E%D0%91%D0%9C%D0%95%D0%9D",
            &["Обмен", "Обмен/Настройки.ini"],
        ),
        ("recursive=1&search=none", &[]),
        // Without what is below folders, and by the path below the folder.
        ("search=price", &["prices"]),
        ("search=i", &["config", "prices"]),
        ("path=config&search=config", &[]),
        (
            "path=config&search=xml&recursive=1",
            &["config/Prices.xml", "config/a+b.XML"],
        ),
        ("path=config&search=B.", &["config/a+b.XML"]),
    ] {
        let found = tree(&project, &format!("?{query}"));
        assert_eq!(paths(&found), expected, "{query}");
        for limit in [1, 2] {
            let pages = in_pages(&project, &format!("/tree?{query}"), limit);
            assert_eq!(json!(pages), found, "{query} by {limit}");
        }
        for entry in found.as_array().unwrap() {
            if query.contains("recursive") {
                assert!(whole.as_array().unwrap().contains(entry), "{entry}");
            }
        }
    }
    // An empty search was not given.
    assert_eq!(tree(&project, "?recursive=1&search="), whole);
    let long = project.on("main", &format!("/tree?search={}", "x".repeat(256)));
    project.user.get(&long).assert_refused(400);
}

#[test]
fn an_entry_has_the_tag_that_a_change_of_the_file_takes() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    let entries = tree(&project, "?path=a");
    let tag = entries[1]["etag"].as_str().unwrap();
    assert_eq!(
        project
            .user
            .get(&project.file("main", "a/B"))
            .header("ETag"),
        Some(tag)
    );
    let save = |tag: &str| {
        let target = project.file("main", "a/B");
        project.user.with("If-Match", tag).put(&target, b"new")
    };
    save(tag).expect_status(200);
    save(tag).assert_refused(412);
    assert_eq!(entries[0].get("etag"), None, "a folder has none");
}

#[test]
fn a_page_says_who_last_changed_a_file() {
    let daemon = Daemon::start();
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    let root = daemon.user("root", &["ROLE_SITEBUILDER_EDITOR__ROOT"]);
    project.save("main", "a.xml", "one");
    project.save("main", "dir/b.xml", "one");
    project.seen_by(&root).save("main", "a.xml", "two");
    let list = tree(&project, "?recursive=1&with=last_change");
    let history = project.user.get(&project.on("main", "/history")).json();
    let at = |entry: usize| history[entry]["created_at"].as_str().unwrap().to_owned();
    assert_eq!(paths(&list), ["a.xml", "dir", "dir/b.xml"]);
    assert_eq!(list[0]["last_change"], json!({ "at": at(0), "by": "root" }));
    assert_eq!(list[1].get("last_change"), None);
    assert_eq!(
        list[2]["last_change"],
        json!({ "at": at(1), "by": "alice" })
    );
    // All else is as it is without.
    let mut without = list.clone();
    for entry in without.as_array_mut().unwrap() {
        entry.as_object_mut().unwrap().remove("last_change");
    }
    assert_eq!(without, tree(&project, "?recursive=1"));
    let target = project.on("main", "/snapshots/v0003/tree?with=last_change");
    let before = project.user.get(&target).json();
    assert_eq!(
        before[1]["last_change"],
        json!({ "at": at(2), "by": "alice" })
    );
    let target = project.on("main", "/tree?with=last_change&limit=101");
    project.user.get(&target).assert_refused(400);
    assert_eq!(tree(&project, "?search=a.x&with=last_change")[0], list[0]);
}
