//! Tree listings in the Admin API: contract sections 5 and 6.

use serde_json::{Value, json};

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
    for nonsense in ["2", "tru", "-1", "null", "1,1"] {
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
