//! Several changes as one save: contract section 6.

use serde_json::{Value, json};

use crate::harness::{Answer, Daemon, Project, branch_digest, paths};

fn project(daemon: &Daemon) -> Project {
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    project.save("main", "a.xml", "a one");
    project.save("main", "dir/b.xml", "b one");
    project
}

fn batch(project: &Project, body: &Value) -> Answer {
    project.user.post(&project.on("main", "/batch"), body)
}

fn actions(project: &Project, actions: &Value) -> Answer {
    batch(project, &json!({ "actions": actions }))
}

#[track_caller]
fn assert_file(project: &Project, path: &str, body: &[u8]) {
    let answer = project.user.get(&project.file("main", path));
    answer.assert_bytes(200, body);
}

/// Asserts that the branch is as [`project`] left it.
#[track_caller]
fn assert_untouched(project: &Project) {
    assert_eq!(paths(&project.tree("main")), ["a.xml", "dir", "dir/b.xml"]);
    assert_file(project, "a.xml", b"a one");
    assert_file(project, "dir/b.xml", b"b one");
    assert_eq!(project.versions("main"), ["v0002", "v0001"]);
}

#[test]
fn a_batch_is_one_save_with_one_snapshot() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    let answer = batch(
        &project,
        &json!({
            "message": "release 7",
            "actions": [
                { "action": "create", "file_path": "new.xml", "content": "новый" },
                { "action": "create", "file_path": "bin", "content": "/wA=", "encoding": "base64" },
                { "action": "update", "file_path": "a.xml", "content": "a two", "encoding": "text" },
                { "action": "move", "file_path": "moved/b.xml", "previous_path": "dir/b.xml" },
                { "action": "create", "file_path": "passing", "content": "" },
                { "action": "delete", "file_path": "passing" },
            ],
        }),
    );
    assert_eq!(answer.expect_status(200).json()["snapshot"], "v0003");
    assert_eq!(
        paths(&project.tree("main")),
        ["a.xml", "bin", "moved", "moved/b.xml", "new.xml"]
    );
    assert_file(&project, "a.xml", b"a two");
    assert_file(&project, "bin", b"\xff\x00");
    assert_file(&project, "moved/b.xml", b"b one");
    assert_file(&project, "new.xml", "новый".as_bytes());
    assert_eq!(project.versions("main"), ["v0003", "v0002", "v0001"]);
    let history = project.user.get(&project.on("main", "/history")).json();
    assert_eq!(history[0]["operation"], "batch");
    assert_eq!(history[0]["path"], Value::Null);
    assert_eq!(history[0]["files"], 2);
}

#[test]
fn a_move_can_bring_new_content() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    let action = json!({
        "action": "move", "file_path": "c.xml", "previous_path": "a.xml", "content": "c one"
    });
    actions(&project, &json!([action])).expect_status(200);
    assert_eq!(paths(&project.tree("main")), ["c.xml", "dir", "dir/b.xml"]);
    assert_file(&project, "c.xml", b"c one");
}

#[test]
fn a_batch_moves_and_deletes_whole_folders() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    project.save("main", "dir/deep/c.xml", "c one");
    let answer = actions(
        &project,
        &json!([
            { "action": "create", "file_path": "dir/new.xml", "content": "n" },
            { "action": "delete", "file_path": "dir/b.xml" },
            { "action": "move", "file_path": "x/y", "previous_path": "dir" },
            { "action": "move", "file_path": "z", "previous_path": "x/y/deep" },
        ]),
    );
    let left: [(&str, &[u8]); 3] = [
        ("a.xml", b"a one"),
        ("x/y/new.xml", b"n"),
        ("z/c.xml", b"c one"),
    ];
    let digest = branch_digest(&left);
    answer.assert_json(
        200,
        &json!({
            "snapshot": "v0004", "actions": 4, "etags": {},
            "commit_id": digest[..40], "short_id": digest[..8], "unchanged": false,
        }),
    );
    for (path, body) in left {
        assert_file(&project, path, body);
    }
    assert_eq!(
        paths(&project.tree("main")),
        ["a.xml", "x", "x/y", "x/y/new.xml", "z", "z/c.xml"]
    );

    let gone = json!([{ "action": "delete", "file_path": "x" }]);
    actions(&project, &gone).expect_status(200);
    assert_eq!(paths(&project.tree("main")), ["a.xml", "z", "z/c.xml"]);
    // What no longer has a file is not there.
    actions(&project, &gone).assert_error(400, "action 1 (delete \"x\"): the file does not exist");
}

#[test]
fn a_folder_does_not_move_where_its_paths_would_be_too_long() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    let deep = ["d"; 63].join("/") + "/f";
    project.save("main", &deep, "deep");
    let to = |to: &str| json!([{ "action": "move", "file_path": to, "previous_path": "d" }]);
    let refused = actions(&project, &to("x/y")).assert_refused(400);
    assert!(
        refused.starts_with("action 1 (move \"d\" to \"x/y\"): ") && refused.contains("64"),
        "{refused}"
    );
    actions(&project, &to("x")).expect_status(200);
    assert_file(&project, &deep.replacen('d', "x", 1), b"deep");
}

#[test]
fn moves_of_folders_are_bounded_for_who_waits_for_the_branch() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    let files: Vec<_> = (0..300)
        .map(|number| json!({ "action": "create", "file_path": format!("d/{number}"), "content": "" }))
        .collect();
    actions(&project, &json!(files)).expect_status(200);
    let there = json!({ "action": "move", "file_path": "long", "previous_path": "d" });
    let back = json!({ "action": "move", "file_path": "d", "previous_path": "long" });
    let moves = |count: usize| json!(vec![[&there, &back]; count].concat());
    actions(&project, &moves(3000)).expect_status(200);
    let told = actions(&project, &moves(5000)).assert_refused(400);
    assert_eq!(
        told,
        "action 6667 (move \"d\" to \"long\"): the batch moves too much in folders; move them in \
         several batches"
    );
}

#[test]
fn a_batch_tells_the_tags_of_what_it_saved() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    let tag = |body: &str| format!("\"{}\"", blake3::hash(body.as_bytes()).to_hex());
    let again = json!([
        { "action": "update", "file_path": "a.xml", "content": "a two" },
        { "action": "create", "file_path": "gone.xml", "content": "" },
        { "action": "move", "file_path": "c.xml", "previous_path": "dir/b.xml" },
        { "action": "delete", "file_path": "gone.xml" },
    ]);
    let answer = actions(&project, &again);
    let digest = branch_digest(&[("a.xml", b"a two"), ("c.xml", b"b one")]);
    answer.assert_json(
        200,
        &json!({
            "snapshot": "v0003", "actions": 4,
            "etags": { "a.xml": tag("a two"), "c.xml": tag("b one") },
            "commit_id": digest[..40], "short_id": digest[..8], "unchanged": false,
        }),
    );
    let branch_tag = format!("\"{}\"", &digest[..40]);
    assert_eq!(answer.header("ETag"), Some(branch_tag.as_str()));
    let same = json!([{ "action": "update", "file_path": "a.xml", "content": "a two" }]);
    assert_eq!(actions(&project, &same).json()["unchanged"], true);
}

#[test]
fn a_file_may_become_a_folder_within_a_batch() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    let become_folder = json!([
        { "action": "delete", "file_path": "a.xml" },
        { "action": "create", "file_path": "a.xml/part", "content": "x" },
    ]);
    actions(&project, &become_folder).expect_status(200);
    assert_eq!(
        paths(&project.tree("main")),
        ["a.xml", "a.xml/part", "dir", "dir/b.xml"]
    );
}

#[test]
fn the_first_action_that_cannot_be_done_is_named_and_nothing_is() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    let fine = json!({ "action": "create", "file_path": "fine.xml", "content": "x" });
    for (named, bad) in [
        (
            "a.xml",
            json!({ "action": "create", "file_path": "a.xml", "content": "x" }),
        ),
        (
            "none.xml",
            json!({ "action": "update", "file_path": "none.xml", "content": "x" }),
        ),
        (
            "none.xml",
            json!({ "action": "delete", "file_path": "none.xml" }),
        ),
        (
            "none.xml",
            json!({ "action": "move", "file_path": "x", "previous_path": "none.xml" }),
        ),
        (
            "a.xml",
            json!({ "action": "move", "file_path": "a.xml", "previous_path": "dir/b.xml" }),
        ),
        (
            "a.xml/x",
            json!({ "action": "create", "file_path": "a.xml/x", "content": "x" }),
        ),
        (
            "dir",
            json!({ "action": "create", "file_path": "dir", "content": "x" }),
        ),
        (
            "dir",
            json!({ "action": "delete", "file_path": "dir", "if_match": "*" }),
        ),
        (
            "dir",
            json!({ "action": "move", "file_path": "x", "previous_path": "dir", "if_match": "*" }),
        ),
        (
            "dir",
            json!({ "action": "move", "file_path": "x", "previous_path": "dir", "content": "x" }),
        ),
        (
            "dir/x",
            json!({ "action": "move", "file_path": "dir/x", "previous_path": "dir" }),
        ),
        (
            "dir",
            json!({ "action": "move", "file_path": "dir", "previous_path": "dir" }),
        ),
        (
            "a.xml",
            json!({ "action": "move", "file_path": "a.xml", "previous_path": "dir" }),
        ),
        (
            "../x",
            json!({ "action": "create", "file_path": "../x", "content": "x" }),
        ),
        (
            ".git/config",
            json!({ "action": "create", "file_path": ".git/config", "content": "x" }),
        ),
        ("q.xml", json!({ "action": "move", "file_path": "q.xml" })),
        ("q.xml", json!({ "action": "create", "file_path": "q.xml" })),
        (
            "q.xml",
            json!({ "action": "create", "file_path": "q.xml", "content": "/w=A", "encoding": "base64" }),
        ),
    ] {
        let later = json!({ "action": "delete", "file_path": "later" });
        let answer = actions(&project, &json!([fine, bad, later]));
        let message = answer.assert_refused(400);
        assert!(message.starts_with("action 2 ("), "{bad}: {message}");
        assert!(message.contains(named), "{bad}: {message}");
    }
    assert_untouched(&project);
}

#[test]
fn a_malformed_batch_is_refused() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    for body in [
        json!({}),
        json!([]),
        json!(null),
        json!({ "actions": {} }),
        json!({ "actions": [1] }),
        json!({ "actions": [{}] }),
        json!({ "actions": [{ "action": "create" }] }),
        json!({ "actions": [{ "action": "chmod", "file_path": "a.xml" }] }),
        json!({ "actions": [{ "action": "create", "file_path": "q", "content": 1 }] }),
        json!({ "actions": [
            { "action": "create", "file_path": "q", "content": "x", "encoding": "hex" }] }),
        json!({ "actions": [
            { "action": "create", "file_path": "q", "content": "x", "mode": "0777" }] }),
        json!({ "actions": [], "branch": "main" }),
        json!({ "message": 1, "actions": [
            { "action": "create", "file_path": "q", "content": "x" }] }),
        json!({ "message": "m".repeat(4097), "actions": [
            { "action": "create", "file_path": "q", "content": "x" }] }),
    ] {
        batch(&project, &body).assert_refused(400);
    }
    let plain = project
        .user
        .request("POST", &project.on("main", "/batch"))
        .header("Content-Type", "text/plain")
        .body(b"x")
        .send();
    plain.assert_refused(415);
    assert_untouched(&project);
}

/// One entry of an archive: name, mode, kind, body.
pub(crate) type Entry<'a> = (&'a str, u32, tar::EntryType, &'a [u8]);

pub(crate) const FILE: tar::EntryType = tar::EntryType::Regular;

/// An archive whose names are written as they are, checked by nobody.
pub(crate) fn archive(entries: &[Entry<'_>]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, mode, kind, body) in entries {
        let mut header = tar::Header::new_ustar();
        let field = &mut header.as_old_mut().name;
        field[..name.len()].copy_from_slice(name.as_bytes());
        header.set_mode(*mode);
        header.set_entry_type(*kind);
        header.set_size(body.len() as u64);
        header.set_cksum();
        builder.append(&header, *body).unwrap();
    }
    builder.into_inner().unwrap()
}

pub(crate) fn unpack(project: &Project, query: &str, body: &[u8]) -> Answer {
    project
        .user
        .request("POST", &project.on("main", &format!("/batch{query}")))
        .header("Content-Type", "application/x-tar")
        .body(body)
        .send()
}

#[test]
fn an_archive_is_laid_over_the_branch_as_one_save() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    let body = archive(&[
        ("dir/", 0o755, tar::EntryType::Directory, b""),
        ("dir/b.xml", 0o644, FILE, b"b two"),
        ("./run.sh", 0o755, FILE, b"#!/bin/sh\n"),
    ]);
    let answer = unpack(&project, "", &body).expect_status(200);
    assert_eq!(answer.json()["snapshot"], "v0003");
    assert_eq!(
        paths(&project.tree("main")),
        ["a.xml", "dir", "dir/b.xml", "run.sh"]
    );
    assert_file(&project, "dir/b.xml", b"b two");
    assert_eq!(project.tree("main")[3]["mode"], "100755");
    project.save("main", "run.sh", "#!/bin/bash\n");
    assert_eq!(project.tree("main")[3]["mode"], "100755");
    assert_eq!(project.versions("main").len(), 4);
}

#[test]
fn an_archive_can_be_laid_under_a_folder() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    let body = archive(&[("c.xml", 0o644, FILE, b"c one"), ("d/e", 0o644, FILE, b"e")]);
    unpack(&project, "?path=dir/sub", &body).expect_status(200);
    assert_eq!(
        paths(&project.tree("main")),
        [
            "a.xml",
            "dir",
            "dir/b.xml",
            "dir/sub",
            "dir/sub/c.xml",
            "dir/sub/d",
            "dir/sub/d/e"
        ]
    );
    unpack(&project, "?path=../x", &body).assert_refused(400);
    unpack(&project, "?path=a.xml", &body).assert_refused(400);
    assert_eq!(project.versions("main").len(), 3);
}

#[test]
fn an_archive_with_anything_odd_changes_nothing() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    let fine: Entry<'_> = ("fine", 0o644, FILE, b"x");
    for odd in [
        ("../x", 0o644, FILE, b"x" as &[u8]),
        ("/etc/passwd", 0o644, FILE, b"x"),
        ("a\\b", 0o644, FILE, b"x"),
        (".git/config", 0o644, FILE, b"x"),
        ("a.xml/x", 0o644, FILE, b"x"),
        ("link", 0o777, tar::EntryType::Symlink, b""),
        ("hard", 0o644, tar::EntryType::Link, b""),
        ("fifo", 0o644, tar::EntryType::Fifo, b""),
        ("dev", 0o644, tar::EntryType::Char, b""),
    ] {
        unpack(&project, "", &archive(&[fine, odd])).assert_refused(400);
    }
    unpack(&project, "", b"not an archive").assert_refused(400);
    assert_untouched(&project);
}

#[test]
fn an_archive_that_is_cut_changes_nothing() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    let whole = archive(&[
        ("fine", 0o644, FILE, b"x"),
        ("more", 0o644, FILE, &[b'x'; 2000]),
    ]);
    let without_end = whole.len() - 1024;
    // The second block of its end is not asked for.
    for length in [1024, without_end, without_end + 511, 0, 500, 1500, 1536] {
        let answer = unpack(&project, "", &whole[..length]);
        answer.assert_error(400, "malformed archive: it is cut short");
    }
    assert_untouched(&project);
    unpack(&project, "", &whole[..without_end + 512]).expect_status(200);
}

#[test]
fn the_paths_of_a_batch_name_so_many_folders() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    let create = |path: String| json!({ "action": "create", "file_path": path, "content": "" });
    // As deep as a path may be, each in folders of its own.
    let deep = |number: usize| vec![number.to_string(); 64].join("/");
    let many: Vec<_> = (0..1588).map(|number| create(deep(number))).collect();
    let refused = "the paths of a batch name at most 100000 folders: save them in several batches";
    actions(&project, &json!(many)).assert_error(400, refused);
    let moved = json!({ "action": "move", "file_path": "b.xml", "previous_path": "a.xml" });
    let with_others: Vec<_> = many.iter().cloned().chain([moved]).collect();
    actions(&project, &json!(with_others)).assert_error(400, refused);
    assert_untouched(&project);
    // Ten thousand files ten folders deep, as they are usual.
    let usual = (0..10_000).map(|number| {
        let folder = format!("src/main/java/com/acme/shop/orders/{}", number / 100);
        create(format!("{folder}/{}/impl/{number}.xml", number / 10 % 10))
    });
    actions(&project, &usual.collect()).expect_status(200);
}
