//! A folder that follows a branch.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::Command;

use serde_json::json;

use crate::relay::Relay;
use crate::scene::{Files, Scene, files, names, plain, refusal, said};

/// Files as a branch may have them: odd names, no bytes at all, more than are kept in the database, and
/// one that may be run.
fn odd() -> Files {
    let mut odd = files(&[
        ("a.xml", "<a/>\n"),
        ("empty", ""),
        ("Справочники/Контр агенты/a+b%c#d?e&f=g;h.xml", "one"),
        ("quote's \"file\" $(x)`y`.txt", "two"),
        (".hidden/deep/deeper/x", "three"),
        ("same-bytes", "three"),
    ]);
    odd.insert("run.sh".to_owned(), (b"three".to_vec(), true));
    let large: Vec<u8> = (0..3_000_000_u32).flat_map(u32::to_le_bytes).collect();
    odd.insert("large.bin".to_owned(), (large, false));
    odd
}

#[test]
fn a_folder_becomes_the_branch_and_follows_it() {
    let mut scene = Scene::new();
    let mut files = odd();
    scene.save(&files);
    let out = scene.pulled(&[], &files);
    // Files of the same bytes come once.
    let bytes = 12_000_000 + 5 + 3 + 3 + 5;
    assert!(
        out.ends_with(&format!(
            ": 8 added, 0 changed, 0 removed, {bytes} bytes fetched\n"
        )),
        "{out}"
    );
    let head = out
        .strip_prefix("main is at ")
        .unwrap()
        .split(':')
        .next()
        .unwrap();
    assert_eq!(head.len(), 8, "{out}");
    // Nothing is left beside it but what the next pull needs.
    assert_eq!(names(&scene.side()), ["instance", "lock", "state.json"]);

    assert_eq!(scene.pulled(&[], &files), "");

    let kept = fs::metadata(scene.dir().join("large.bin")).unwrap();
    files.remove("a.xml");
    files.insert("empty".to_owned(), (b"no more".to_vec(), false));
    files.insert("new/folder/file".to_owned(), (b"new".to_vec(), false));
    files.insert("run.sh".to_owned(), (b"three".to_vec(), false));
    // A folder becomes a file, and a file a folder.
    files.remove(".hidden/deep/deeper/x");
    files.insert(".hidden/deep".to_owned(), (b"file".to_vec(), false));
    files.remove("same-bytes");
    files.insert("same-bytes/inside".to_owned(), (b"three".to_vec(), true));
    scene.save(&files);
    let out = scene.pulled(&[], &files);
    let bytes = 7 + 3 + 4 + 5;
    assert!(
        out.ends_with(&format!(
            ": 3 added, 2 changed, 3 removed, {bytes} bytes fetched\n"
        )),
        "{out}"
    );
    // What is the same is the same file.
    let now = fs::metadata(scene.dir().join("large.bin")).unwrap();
    assert_eq!(
        (now.ino(), now.mtime_nsec()),
        (kept.ino(), kept.mtime_nsec())
    );

    scene.save(&Files::new());
    let out = scene.pulled(&[], &Files::new());
    assert_eq!(
        out,
        "main is at e3b0c442: 0 added, 0 changed, 8 removed, 0 bytes fetched\n"
    );
    assert_eq!(scene.pulled(&[], &Files::new()), "");
}

#[test]
fn where_nothing_changed_one_request_tells() {
    let mut scene = Scene::new();
    let mut branch = files(&[("a", "1"), ("b/c", "2"), ("b/d", "3")]);
    scene.save(&branch);
    let relay = Relay::to(&scene.daemon.base());
    let pull = || said(&scene.command(&relay.base(), &[]).output().unwrap(), 0, "");
    pull();
    // The head, the tree, and each file.
    assert_eq!(relay.requests().len(), 2 + 3);
    let root = "/site-builder/api/erp-config/projects/acme%2Fshop.erp/repository";
    for _ in 0..2 {
        assert_eq!(pull(), "");
        assert_eq!(
            relay.requests(),
            [format!("GET {root}/branches/main HTTP/1.1")]
        );
    }
    branch.insert("b/c".to_owned(), (b"4".to_vec(), false));
    let mut scene = scene;
    scene.save(&branch);
    said(&scene.command(&relay.base(), &[]).output().unwrap(), 0, "");
    let requests = relay.requests();
    assert_eq!(requests.len(), 3, "{requests:?}");
    assert!(
        requests[2].contains("/files/b%2Fc/raw?ref="),
        "{requests:?}"
    );
}

/// The commit is the digest of names and bytes; the tag of the branch tells of the bit.
#[test]
fn a_bit_to_execute_that_changes_alone_comes_too() {
    let mut scene = Scene::new();
    let mut branch = files(&[("a", "1"), ("b", "2")]);
    scene.save(&branch);
    scene.pulled(&[], &branch);
    for is_executable in [true, false] {
        branch.insert("a".to_owned(), (b"1".to_vec(), is_executable));
        scene.save(&branch);
        let out = scene.pulled(&[], &branch);
        assert!(
            out.ends_with(": 0 added, 1 changed, 0 removed, 0 bytes fetched\n"),
            "{out}"
        );
        assert_eq!(scene.pulled(&[], &branch), "");
    }
    // Where the tag alone is new, the folder stays the one that it is.
    let inode = fs::metadata(scene.dir()).unwrap().ino();
    let other = files(&[("a", "3"), ("b", "2")]);
    scene.save(&other);
    scene.save(&branch);
    assert_eq!(scene.pulled(&[], &branch), "");
    assert_eq!(fs::metadata(scene.dir()).unwrap().ino(), inode);
}

/// As from a backup: other inodes, and other times.
#[test]
fn a_folder_that_was_restored_is_known_by_the_bytes_of_its_files() {
    let mut scene = Scene::new();
    let branch = files(&[("a", "1"), ("b", "2"), ("c", "3"), ("d", "4")]);
    scene.save(&branch);
    scene.pulled(&[], &branch);
    let copy = scene.at("copy");
    let copied = Command::new("cp")
        .arg("-r")
        .arg(scene.dir())
        .arg(&copy)
        .status();
    assert!(copied.unwrap().success());
    fs::remove_dir_all(scene.dir()).unwrap();
    fs::rename(&copy, scene.dir()).unwrap();
    // What has other bytes now is not taken for what was brought, and nothing of it is replaced.
    fs::write(scene.dir().join("d"), "mine").unwrap();
    let told = refusal(&scene.pull(&[]));
    assert!(told.contains(" something else: \"d\"; move it"), "{told}");
    fs::remove_file(scene.dir().join("d")).unwrap();
    let now = files(&[("a", "5"), ("c", "3"), ("d", "4")]);
    scene.save(&now);
    let out = scene.pulled(&[], &now);
    assert!(out.contains(": 1 added, 1 changed, 1 removed, "), "{out}");
    assert_eq!(scene.pulled(&[], &now), "");
}

#[test]
fn what_somebody_changed_in_the_folder_is_as_in_the_branch_again() {
    let mut scene = Scene::new();
    let branch = files(&[("a", "1"), ("b/c", "2"), ("b/d", "3"), ("e", "4")]);
    scene.save(&branch);
    scene.pulled(&[], &branch);
    fs::write(scene.dir().join("a"), "changed").unwrap();
    fs::remove_dir_all(scene.dir().join("b")).unwrap();
    let mode = fs::Permissions::from_mode(0o755);
    fs::set_permissions(scene.dir().join("e"), mode).unwrap();
    let mended = "changed in the folder by somebody else, and as in the branch again: \"a\", \"b/c\", \
                  \"b/d\", \"e\"\n";
    said(&scene.pull(&[]), 0, mended);
    scene.pulled(&[], &branch);
    // One that looks as before is found by its bytes, when that is asked for.
    let path = scene.dir().join("b/c");
    let before = fs::metadata(&path).unwrap();
    fs::write(&path, "x").unwrap();
    let file = fs::File::open(&path).unwrap();
    file.set_modified(before.modified().unwrap()).unwrap();
    assert_eq!(said(&scene.pull(&[]), 0, ""), "");
    assert_eq!(fs::read(&path).unwrap(), b"x");
    let mended = "changed in the folder by somebody else, and as in the branch again: \"b/c\"\n";
    said(&scene.pull(&["--verify"]), 0, mended);
    scene.pulled(&["--verify"], &branch);
    // The folder itself, too.
    fs::remove_dir_all(scene.dir()).unwrap();
    scene.pulled(&[], &branch);
}

#[test]
fn what_somebody_and_the_branch_changed_is_told_too() {
    let mut scene = Scene::new();
    let names = ["edited", "gone", "lost", "mode", "theirs"];
    let mut branch = files(&names.map(|name| (name, "1")));
    scene.save(&branch);
    scene.pulled(&[], &branch);
    for name in ["edited", "gone", "mode"] {
        fs::write(scene.dir().join(name), "mine").unwrap();
    }
    fs::remove_file(scene.dir().join("lost")).unwrap();
    for name in ["edited", "theirs"] {
        branch.insert(name.to_owned(), (b"2".to_vec(), false));
    }
    branch.insert("mode".to_owned(), (b"1".to_vec(), true));
    for name in ["gone", "lost"] {
        branch.remove(name);
    }
    scene.save(&branch);
    let told = scene.at("told");
    let exec = format!("cat $SITECONF_CHANGES > {}", told.display());
    let mended = "changed in the folder by somebody else, and as in the branch again: \"edited\", \"gone\", \
                  \"mode\"\n";
    let out = said(&scene.pull(&["--exec", &exec]), 0, mended);
    assert!(out.contains(": 0 added, 3 changed, 2 removed, "), "{out}");
    assert_eq!(crate::scene::read(&scene.dir()), branch);
    // To the command it is what the branch made of it.
    assert_eq!(
        fs::read_to_string(told).unwrap(),
        "changed edited\nremoved gone\nremoved lost\nchanged mode\nchanged theirs\n"
    );
}

#[test]
fn a_changed_file_that_looks_as_before_does_not_pass_the_digest() {
    let mut scene = Scene::new();
    let mut branch = files(&[("a", "1"), ("b", "2")]);
    scene.save(&branch);
    scene.pulled(&[], &branch);
    let path = scene.dir().join("a");
    let before = fs::metadata(&path).unwrap();
    fs::write(&path, "x").unwrap();
    let file = fs::File::open(&path).unwrap();
    file.set_modified(before.modified().unwrap()).unwrap();
    branch.insert("b".to_owned(), (b"3".to_vec(), false));
    scene.save(&branch);
    let mended = "changed in the folder by somebody else, and as in the branch again: \"a\"\n";
    said(&scene.pull(&[]), 0, mended);
    scene.pulled(&[], &branch);
}

#[test]
fn kept_files_stay_until_they_need_not() {
    let mut scene = Scene::new();
    let both = files(&[("a", "1"), ("gone/b", "2")]);
    scene.save(&both);
    scene.pulled(&[], &both);
    scene.save(&files(&[("a", "3")]));
    let kept = files(&[("a", "3"), ("gone/b", "2")]);
    let out = scene.pulled(&["--keep"], &kept);
    assert!(out.contains(": 0 added, 1 changed, 0 removed, "), "{out}");
    assert_eq!(scene.pulled(&["--keep"], &kept), "");
    let mut more = files(&[("a", "4")]);
    scene.save(&more);
    scene.pulled(&["--keep"], &files(&[("a", "4"), ("gone/b", "2")]));
    // Where nothing else changed it is kept as well, and goes once it need not stay.
    scene.save(&Files::new());
    scene.pulled(&["--keep"], &files(&[("a", "4"), ("gone/b", "2")]));
    scene.pulled(&[], &Files::new());
    scene.save(&both);
    scene.pulled(&[], &both);
    scene.save(&more);
    scene.pulled(&["--keep"], &files(&[("a", "4"), ("gone/b", "2")]));
    // Where it stands in the way it is told, not lost.
    more.insert("gone".to_owned(), (b"file".to_vec(), false));
    scene.save(&more);
    assert_eq!(
        refusal(&scene.pull(&["--keep"])),
        "siteconf: \"gone/b\" is gone from the branch and stays, as --keep wants it, where the branch has \
         something else now: move it elsewhere\n"
    );
    scene.pulled(&[], &more);
}

#[test]
fn a_second_pull_says_who_holds_the_folder() {
    let mut scene = Scene::new();
    let branch = files(&[("a", "1")]);
    scene.save(&branch);
    scene.pulled(&[], &branch);
    let lock = fs::File::open(scene.side().join("lock")).unwrap();
    lock.lock().unwrap();
    let holder = fs::read_to_string(scene.side().join("lock")).unwrap();
    assert!(holder.starts_with("siteconf with process id "), "{holder}");
    assert_eq!(
        refusal(&scene.pull(&[])),
        format!(
            "siteconf: {} is being pulled by {holder}",
            scene.dir().display()
        )
    );
    // Not by closing it: a process that another test is starting may have a copy for a moment.
    lock.unlock().unwrap();
    scene.pulled(&[], &branch);
}

#[test]
fn a_wrong_command_line_is_refused_before_anything_is_made() {
    let scene = Scene::new();
    let dir = scene.dir().display().to_string();
    let refused = |words: &[&str], what: &str| {
        let output = plain(&[&["pull"], words].concat()).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(what), "{said}");
    };
    refused(
        &["here", "a/b.c", "main", &dir],
        "\"here\" is no address of a service",
    );
    refused(
        &["http://a", "a/b.c", "a b", &dir],
        "malformed branch name \"a b\"",
    );
    refused(&["http://a", "", "main", &dir], "malformed project");
    refused(&["http://a", "a/b.c", "main", "/"], "cannot be replaced");
    refused(&["http://a", "a/b.c", "main", "/proc"], "is a mount");
    refused(
        &["http://a", "a/b.c", "main", "/dev/null"],
        "/dev/null is no folder",
    );
    refused(
        &["http://a", "a/b.c", "main", &dir, "--parallel", "65"],
        "--parallel",
    );
    refused(
        &["http://a", "a/b.c", "main", &dir, "--interval", "0"],
        "at least 1",
    );
    refused(
        &["http://a", "a/b.c", "main", &dir, "--interval", "86401"],
        "it must be at most 86400, a day",
    );
    fs::write(scene.at("wrong"), "two words\n").unwrap();
    let wrong = scene.at("wrong").display().to_string();
    refused(
        &["http://a", "a/b.c", "main", &dir, "--token-file", &wrong],
        "holds no token",
    );
    assert!(!scene.dir().exists() && !scene.side().exists());
}

#[test]
fn the_token_may_come_from_the_environment_and_the_folder_through_a_link() {
    let mut scene = Scene::new();
    let branch = files(&[("a", "1")]);
    scene.save(&branch);
    let real = scene.at("real");
    fs::create_dir(&real).unwrap();
    fs::set_permissions(&real, fs::Permissions::from_mode(0o750)).unwrap();
    std::os::unix::fs::symlink(&real, scene.dir()).unwrap();
    let token = fs::read_to_string(scene.at("token")).unwrap();
    let mut command: Command = plain(&["pull", &scene.daemon.base(), "acme/shop.erp", "main"]);
    command.arg(scene.dir()).env("SITECONF_TOKEN", &token);
    said(&command.output().unwrap(), 0, "");
    assert_eq!(crate::scene::read(&real), branch);
    assert!(scene.dir().is_symlink());
    // Its mode is that of the folder that was there.
    assert_eq!(fs::metadata(&real).unwrap().mode() & 0o7777, 0o750);
    // The token is nowhere.
    for name in names(&scene.at(".real.siteconf-pull")) {
        let path = scene.at(".real.siteconf-pull").join(&name);
        if path.is_file() {
            assert!(
                !fs::read_to_string(path).unwrap().contains(&token),
                "{name}"
            );
        }
    }
}

#[test]
fn results_are_json_where_that_is_asked_for() {
    let mut scene = Scene::new();
    scene.save(&files(&[("a", "1"), ("b", "2")]));
    let told = |flags: &[&str]| -> serde_json::Value {
        let output = scene.pull(&[&["--json"], flags].concat());
        let ran = if flags.is_empty() { "" } else { "ran\n" };
        let out = said(&output, 0, ran);
        serde_json::from_str(&out).unwrap()
    };
    let commit = "f50a6c83203968352f4d8577fa87f1ef127f9f9b";
    let mut expected = json!({
        "branch": "main", "short_id": commit[..8], "commit_id": commit, "unchanged": false,
        "added": 2, "changed": 0, "removed": 0, "bytes": 2, "mended": [], "left_out": [], "proven": true
    });
    assert_eq!(told(&[]), expected);
    expected["unchanged"] = true.into();
    expected["added"] = 0.into();
    expected["bytes"] = 0.into();
    assert_eq!(told(&[]), expected);
    fs::write(scene.dir().join("b"), "other").unwrap();
    expected["unchanged"] = false.into();
    expected["bytes"] = 1.into();
    expected["mended"] = json!(["b"]);
    assert_eq!(told(&["--exec", "echo ran"]), expected);
}

/// A shell that stands in the folder stands in the old one afterwards.
#[test]
fn who_stands_in_the_folder_is_told_to_enter_it_again() {
    let mut scene = Scene::new();
    let mut branch = files(&[("a", "1"), ("b/c", "2")]);
    scene.save(&branch);
    scene.pulled(&[], &branch);
    let shown = scene.dir().display().to_string();
    let told = format!("the current folder is the state before; enter it again: cd {shown}\n");
    for (within, text) in [("", "3"), ("b", "4")] {
        branch.insert("a".to_owned(), (text.into(), false));
        scene.save(&branch);
        let mut pull = scene.command(&scene.daemon.base(), &[]);
        pull.current_dir(scene.dir().join(within));
        said(&pull.output().unwrap(), 0, &told);
        assert_eq!(crate::scene::read(&scene.dir()), branch);
        // Where nothing changes, nothing is replaced.
        said(&pull.output().unwrap(), 0, "");
    }
    let mut here = plain(&[
        "pull",
        &scene.daemon.base(),
        crate::daemon::PROJECT,
        "main",
        ".",
    ]);
    here.arg("--token-file").arg(scene.at("token"));
    let old = scene.side().join("old");
    let refused = format!(
        "siteconf: {} is a state of {shown} from before; name that, or enter it again: cd {shown}\n",
        old.display()
    );
    said(&here.current_dir(&old).output().unwrap(), 2, &refused);
    let side = scene.side();
    assert_eq!(
        names(&side),
        ["instance", "lock", "old", "old.json", "state.json"]
    );
}
