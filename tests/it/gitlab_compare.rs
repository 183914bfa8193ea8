//! What differs between states: contract section 5.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::gitlab_commits::{ids, with_history};
use crate::gitlab_walk::{by_links, elements};
use crate::harness::{Daemon, Project, User, segment};

#[test]
fn a_comparison_has_commits_and_diffs() {
    let daemon = Daemon::start();
    let (project, reader) = with_history(&daemon);
    project.save("main", "bin", b"\xff\0\xfe");
    let [_, second, first, _] = ids();
    let ask = |query: &str| reader.get(&project.read(&format!("/compare?{query}")));
    let shown = ask(&format!("from={first}&to=main&straight=true"))
        .expect_status(200)
        .json();
    let titles: Vec<_> = shown["commits"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| &c["title"])
        .collect();
    assert_eq!(titles, ["save dir/b", "save a", "save bin"]);
    assert_eq!(shown["commit"], shown["commits"][2]);
    assert_eq!(shown["compare_timeout"], false);
    assert_eq!(shown["compare_same_ref"], false);
    let diff = |path: &str, text: &str, change: (bool, bool)| {
        json!({
            "diff": text,
            "collapsed": false,
            "too_large": false,
            "new_path": path,
            "old_path": path,
            "a_mode": if change.0 { "0" } else { "100644" },
            "b_mode": if change.1 { "0" } else { "100644" },
            "new_file": change.0,
            "renamed_file": false,
            "deleted_file": change.1,
            "generated_file": false,
        })
    };
    assert_eq!(
        shown["diffs"],
        json!([
            diff("a", "@@ -1 +1,2 @@\n-one\n+two\n+three\n", (false, false)),
            diff(
                "bin",
                "Binary files a/bin and b/bin differ\n",
                (true, false)
            ),
            diff("dir/b", "@@ -0,0 +1 @@\n+b\n", (true, false)),
        ])
    );

    let back = ask(&format!("from=main@v0004&to={first}&unidiff=1&straight=1")).json();
    assert_eq!(
        back["diffs"],
        json!([
            diff(
                "a",
                "--- a/a\n+++ b/a\n@@ -1,2 +1 @@\n-two\n-three\n+one\n",
                (false, false)
            ),
            diff(
                "dir/b",
                "--- a/dir/b\n+++ /dev/null\n@@ -1 +0,0 @@\n-b\n",
                (false, true)
            ),
        ])
    );

    let same = ask(&format!("from={second}&to=main@v0003")).json();
    assert_eq!(same["compare_same_ref"], true);
    assert_eq!(same["commit"], Value::Null);
    assert_eq!(same["commits"], json!([]));
    assert_eq!(same["diffs"], json!([]));
    for query in [
        "from=none&to=main",
        "from=main&to=none",
        "from=main&to=01234567",
    ] {
        ask(query).assert_error(404, "404 Ref Not Found");
    }
}

#[test]
fn a_comparison_keeps_within_its_limits() {
    let daemon = Daemon::start();
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    let large = "line\n".repeat(300_000);
    let file = |number: usize| json!({ "action": "create", "file_path": format!("f{number:04}"), "content": "x\n" });
    let mut actions: Vec<_> = (0..1100).map(file).collect();
    actions.push(json!({ "action": "create", "file_path": "a", "content": large }));
    for number in 0..6 {
        let text = format!("{number}\n").repeat(500_000);
        let path = format!("b{number}");
        actions.push(json!({ "action": "create", "file_path": path, "content": text }));
    }
    let batch = json!({ "actions": actions });
    project
        .user
        .post(&project.on("main", "/batch"), &batch)
        .expect_status(200);
    let reader = daemon.reader(&project);
    let shown = reader.get(&project.read("/compare?from=main@v0001&to=main"));
    let shown = shown.expect_status(200).json();
    assert_eq!(shown["compare_timeout"], true);
    let diffs = shown["diffs"].as_array().unwrap();
    assert_eq!(diffs.len(), 1000);
    assert_eq!(diffs[0]["new_path"], "a");
    assert_eq!(
        (&diffs[0]["too_large"], &diffs[0]["diff"]),
        (&json!(true), &json!(""))
    );
    assert_eq!(diffs[1]["collapsed"], false);
    let text = |diff: &Value| diff["diff"].as_str().unwrap().len();
    let total: usize = diffs.iter().map(text).sum();
    assert!(total < 8 << 20, "{total} bytes of diffs");
    assert_eq!(
        (&diffs[999]["collapsed"], &diffs[999]["diff"]),
        (&json!(true), &json!(""))
    );
}

/// Two branches that both went on after one was made from the other.
fn parted(daemon: &Daemon) -> (Project, User) {
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    project.save("main", "a.txt", "a\n");
    project.save("main", "m.txt", "m\n");
    let side = json!({ "name": "side", "from": "main@v0002" });
    let made = project.user.post(&project.admin("/branches"), &side);
    made.expect_status(201);
    project.save("main", "a.txt", "of main\n");
    project.save("side", "s.txt", "s\n");
    let reader = daemon.reader(&project);
    (project, reader)
}

/// `+new`, `-deleted` and `~changed` paths of a comparison, and the titles of its commits.
#[track_caller]
fn compared(reader: &User, project: &Project, query: &str) -> (Vec<String>, Vec<String>) {
    let answer = reader.get(&project.read(&format!("/compare?{query}")));
    let shown = answer.expect_status(200).json();
    let sign = |diff: &Value| match (&diff["new_file"], &diff["deleted_file"]) {
        (Value::Bool(true), _) => '+',
        (_, Value::Bool(true)) => '-',
        _ => '~',
    };
    let path = |diff: &Value| diff["new_path"].as_str().unwrap().to_owned();
    let title = |commit: &Value| commit["title"].as_str().unwrap().to_owned();
    let diffs = shown["diffs"].as_array().unwrap().iter();
    let commits = shown["commits"].as_array().unwrap().iter();
    (
        diffs
            .map(|diff| format!("{}{}", sign(diff), path(diff)))
            .collect(),
        commits.map(title).collect(),
    )
}

#[test]
fn a_branch_that_is_made_changes_nothing_of_what_its_commit_tells() {
    let daemon = Daemon::start();
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    let reader = daemon.reader(&project);
    let [a, b, c] = ["a.txt", "b.txt", "c.txt"].map(|path| {
        project.save("main", path, path);
        project.branch_item("main")["commit"]["id"]
            .as_str()
            .unwrap()
            .to_owned()
    });
    let told = || {
        let get = |target: &str| reader.get(&project.read(target)).expect_status(200).json();
        [
            get(&format!("/compare?from={a}&to={c}")),
            get(&format!("/compare?from={c}&to={a}")),
            get(&format!("/commits/{c}")),
            get(&format!("/commits/{c}/diff")),
            get(&format!("/commits?ref_name={c}")),
            get(&format!("/files/a.txt?ref={c}")),
        ]
    };
    let before = told();
    let frozen = json!({ "name": "release", "from": "main" });
    let made = project.user.post(&project.admin("/branches"), &frozen);
    assert_eq!(made.expect_status(201).json()["commit"]["id"], json!(c));
    assert_eq!(told(), before);
    let earlier = json!({ "name": "earlier", "from": b });
    let made = project.user.post(&project.admin("/branches"), &earlier);
    made.expect_status(201);
    assert_eq!(told(), before);
    let titles = before[0]["commits"].as_array().unwrap().iter();
    let titles: Vec<_> = titles.map(|commit| &commit["title"]).collect();
    assert_eq!(titles, ["save b.txt", "save c.txt"]);
}

#[test]
fn a_comparison_begins_where_the_histories_part() {
    let daemon = Daemon::start();
    let (project, reader) = parted(&daemon);
    project.add_branch("alone");
    project.save("alone", "x.txt", "x\n");
    for (query, diffs, commits) in [
        ("from=main&to=side", &["+s.txt"][..], &["save s.txt"][..]),
        (
            "from=main&to=side&straight=false",
            &["+s.txt"],
            &["save s.txt"],
        ),
        (
            "from=main&to=side&straight=true",
            &["~a.txt", "-m.txt", "+s.txt"],
            &["save s.txt"],
        ),
        (
            "from=side&to=main",
            &["~a.txt", "+m.txt"],
            &["save m.txt", "save a.txt"],
        ),
        // One comes from the other.
        ("from=main@v0003&to=main", &["~a.txt"], &["save a.txt"]),
        ("from=main&to=main@v0003", &[], &[]),
        ("from=main&to=main@v0003&straight=1", &["~a.txt"], &[]),
        // They share nothing but that they began empty.
        (
            "from=side&to=alone",
            &["-a.txt", "-s.txt", "+x.txt"],
            &["create branch", "save x.txt"],
        ),
    ] {
        let (found, titles) = compared(&reader, &project, query);
        assert_eq!(found, diffs, "{query}");
        assert_eq!(titles, commits, "{query}");
    }
}

#[test]
fn a_commits_diff_is_what_it_changed() {
    let daemon = Daemon::start();
    let (project, reader) = with_history(&daemon);
    let [head, second, _, empty] = ids();
    let diffs = |rest: &str| reader.get(&project.read(&format!("/commits/{rest}")));
    diffs(&format!("{head}/diff")).assert_json(
        200,
        &json!([{
            "diff": "@@ -1 +1,2 @@\n-one\n+two\n+three\n",
            "collapsed": false,
            "too_large": false,
            "new_path": "a",
            "old_path": "a",
            "a_mode": "100644",
            "b_mode": "100644",
            "new_file": false,
            "renamed_file": false,
            "deleted_file": false,
            "generated_file": false,
        }]),
    );
    let new = diffs(&format!("{second}/diff?unidiff=true")).json();
    assert_eq!(
        new[0]["diff"],
        "--- /dev/null\n+++ b/dir/b\n@@ -0,0 +1 @@\n+b\n"
    );
    diffs(&format!("{empty}/diff")).assert_json(200, &json!([]));
    diffs("none/diff").assert_error(404, "404 Commit Not Found");
    // By pages, and for a name of several segments that a proxy decoded.
    project.add_branch("feature/x");
    let file = |path: &str| json!({ "action": "create", "file_path": path, "content": path });
    let actions: Vec<_> = ["a", "b", "c", "d", "e"].map(file).to_vec();
    let batch = json!({ "actions": actions });
    let target = project.on("feature/x", "/batch");
    project.user.post(&target, &batch).expect_status(200);
    let whole = elements(&diffs("feature/x/diff"));
    assert_eq!(whole.len(), 5);
    let target = project.read("/commits/feature%2Fx/diff?per_page=2");
    assert_eq!(reader.get(&target).header("X-Total"), Some("5"));
    assert_eq!(by_links(&reader, &target), whole);
}

#[test]
fn a_commits_diff_goes_on_after_a_long_path() {
    let daemon = Daemon::start();
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    let segment = "a".repeat(255);
    let long = [segment.as_str(); 16].join("/");
    assert_eq!(long.len(), 4095);
    let file = |path: &str| json!({ "action": "create", "file_path": path, "content": "x" });
    let batch = json!({ "actions": [file(&long), file("b")] });
    let target = project.on("main", "/batch");
    project.user.post(&target, &batch).expect_status(200);
    let reader = daemon.reader(&project);
    let target = project.read("/commits/main/diff?pagination=keyset&per_page=1");
    let found = by_links(&reader, &target);
    let paths: Vec<_> = found.iter().map(|diff| &diff["new_path"]).collect();
    assert_eq!(paths, [&long, "b"]);
}

#[test]
fn a_commit_tells_the_branches_it_is_in() {
    let daemon = Daemon::start();
    let (project, reader) = parted(&daemon);
    let refs = |rest: &str| {
        let answer = reader.get(&project.read(&format!("/commits/{rest}")));
        let names = elements(&answer);
        let names = names.iter().map(|entry| {
            assert_eq!(entry["type"], "branch");
            entry["name"].as_str().unwrap().to_owned()
        });
        names.collect::<Vec<_>>()
    };
    assert_eq!(refs("main@v0002/refs"), ["main", "side"]);
    assert_eq!(refs("main@v0003/refs"), ["main"]);
    assert_eq!(refs("side/refs?type=all&per_page=1"), ["side"]);
    assert_eq!(refs("main/refs?type=branch"), ["main"]);
    assert_eq!(refs("main/refs?type=tag"), [""; 0]);
    let bad = reader.get(&project.read("/commits/main/refs?type=x"));
    bad.assert_error(400, "type does not have a valid value");
    let none = reader.get(&project.read("/commits/none/refs"));
    none.assert_error(404, "404 Commit Not Found");
}

/// Runs a program in a folder with this input.
#[track_caller]
fn run(folder: &Path, program: &str, arguments: &[&str], input: &str) {
    let mut child = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .env("GIT_CEILING_DIRECTORIES", folder.parent().unwrap())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{program}: {error}"));
    let mut pipe = child.stdin.take().unwrap();
    pipe.write_all(input.as_bytes()).unwrap();
    drop(pipe);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{program}: {output:?}\n{input}");
}

/// The files below a folder with their bytes, by path.
fn files_of(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().to_str().unwrap();
                found.push((name.to_owned(), fs::read(&path).unwrap()));
            }
        }
    }
    found.sort();
    found
}

#[test]
fn unified_diffs_can_be_applied() {
    let daemon = Daemon::start();
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    let old = [
        ("changed.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n"),
        ("gone.txt", "gone\n"),
        ("gone folder/прайс лист.xml", "<a>\n</a>"),
        ("no end", "one\ntwo"),
        ("windows.ini", "[a]\r\nb=1\r\n"),
        ("twice.ini", "[a]\r\r\nb=1\r\r\nc=\r1\r\r\n"),
        ("return at the end.ini", "[a]\nb=1\r"),
        ("kept", "kept"),
    ];
    let new = [
        ("changed.txt", "1\nzwei\n3\n4\n5\n6\n7\n8\n9\n10\n"),
        ("new folder/новый файл.xml", "<b/>\n"),
        ("new.txt", "no end of line"),
        ("no end", "one\nthree\n"),
        ("windows.ini", "[a]\r\nb=2\r\n"),
        ("twice.ini", "[a]\r\r\nb=2\r\r\nc=\r1\r\r\n"),
        ("return at the end.ini", "[a]\nb=2\r"),
        ("kept", "kept"),
    ];
    for (path, text) in old {
        project.save("main", path, text);
    }
    let before = project.user.get(&project.on("main", "/history"));
    let version = before.json().as_array().unwrap().len() + 1;
    for (path, _) in &old[1..3] {
        let deleted = project.user.delete(&project.file("main", path));
        deleted.expect_status(200);
    }
    for (path, text) in new {
        project.save("main", path, text);
    }
    let reader = daemon.reader(&project);
    let query = format!(
        "from={}&to=main&unidiff=true",
        segment(&format!("main@v{version:04}"))
    );
    let shown = reader
        .get(&project.read(&format!("/compare?{query}")))
        .json();
    let diffs = shown["diffs"].as_array().unwrap().iter();
    let patch: String = diffs.map(|diff| diff["diff"].as_str().unwrap()).collect();

    let mut expected: Vec<_> = new
        .iter()
        .map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec()))
        .collect();
    expected.sort();
    for (program, arguments) in [
        ("git", &["apply", "-p1"][..]),
        ("patch", &["-p1", "--batch"]),
    ] {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in old {
            let place = folder.path().join(path);
            fs::create_dir_all(place.parent().unwrap()).unwrap();
            fs::write(place, text).unwrap();
        }
        run(folder.path(), program, arguments, &patch);
        assert_eq!(files_of(folder.path()), expected, "{program}");
    }
}
