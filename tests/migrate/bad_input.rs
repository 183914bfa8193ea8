//! What does not fit is named and counted, everything else comes.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;

use md5::Digest as _;
use serde_json::json;

use crate::model::{Model, Scene};

/// Plants what does not fit; true if this user reads every file.
fn plant(tree: &Path) -> bool {
    let project = tree.join("user/ann/acme/shop0.erp");
    let plant = |path: &str, text: &str| {
        let path = tree.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    plant("User/ann/acme/x.erp/main/a", "a");
    plant("readme.txt", "");
    plant("user/list.txt", "");
    plant("user/ann/note", "");
    plant("user/ann/typeless/main/a", "a");
    plant("user/ann/wrong.ERP/main/a", "a");
    plant("user/ann/lost+found/main/a", "a");
    plant("user/b b/acme/y.erp/main/a", "a");
    plant("user/bob/acme/shop0.erp/main/a", "a");
    plant("user/ann/acme/shop0.erp/stray.xml", "");
    plant("user/ann/acme/shop0.erp/a..b/x", "");
    plant("user/ann/acme/shop0.erp/.snapshots/main/V0002/a", "a");
    plant("user/ann/acme/shop0.erp/.snapshots/main/v2/a", "a");
    plant("user/ann/acme/shop0.erp/.snapshots/gone/v0001/a", "a");
    plant("user/ann/acme/shop0.erp/main/.git/config", "");
    plant(
        "user/ann/acme/shop0.erp/main/large",
        "123456789012345678901",
    );
    plant("user/ann/acme/shop0.erp/copy/old/FORMAT", "");
    plant("user/ann/acme/shop0.erp/copy/old/store.db", "");
    plant("user/ann/acme/shop0.erp/copy/old/secrets/server-key", "");
    plant("user/ann/acme/shop0.erp/noted/a", "a");
    plant("user/ann/acme/shop0.erp/.snapshots/noted/v0001/a", "a");
    plant(
        "user/ann/acme/shop0.erp/.snapshots/noted/v0001.json",
        "{\"created_at\": \"yesterday\"}",
    );
    plant("user/ann/public/x.erp/main/a", "a");
    plant("user/ann/public%2Fy.erp/main/a", "a");
    plant("user/ann/acme/shop0.erp/feature%2Fx/first", "a");
    plant("user/ann/acme/shop0.erp/feature%2fx/second", "a");
    plant(
        "user/ann/acme/shop0.erp/.snapshots/feature%2Fx/v0001/first",
        "a",
    );
    plant(
        "user/ann/acme/shop0.erp/.snapshots/feature%2fx/v0001/second",
        "a",
    );
    symlink("/etc", project.join("main/etc")).unwrap();
    symlink("main", project.join("link")).unwrap();
    fs::write(project.join("main").join(OsStr::from_bytes(b"\xff")), "").unwrap();
    fs::create_dir(tree.join("user").join(OsStr::from_bytes(b"\xfe"))).unwrap();
    drop(UnixListener::bind(project.join("main/socket")).unwrap());
    // Whoever is root reads it all the same.
    let closed = project.join("main/closed");
    fs::write(&closed, "closed").unwrap();
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
    fs::read(&closed).is_ok()
}

#[test]
#[expect(clippy::print_stdout, reason = "who reads the result must see it")]
fn what_does_not_fit_in_the_tree_is_named() {
    let scene = Scene::start(&Model::new(&["ann"], 1, 1, 1, 0));
    let is_readable = plant(&scene.tree());
    if is_readable {
        println!("LEFT OUT: a file that cannot be read, because this user reads every file");
    }
    let mut expected = vec![
        "User: only user and public belong here",
        "readme.txt: only user and public belong here",
        "user/list.txt: it is no owner's folder",
        "user/\u{fffd}: its name is not UTF-8",
        "user/ann/acme/shop0.erp/.snapshots/gone: the project has no branch of this name",
        "user/ann/acme/shop0.erp/.snapshots/main/V0002: it is neither an old snapshot, as v0001, nor \
         what is known of one, as v0001.json; the highest is v999999999",
        "user/ann/acme/shop0.erp/.snapshots/main/v2: it is neither an old snapshot, as v0001, nor what \
         is known of one, as v0001.json; the highest is v999999999",
        "user/ann/acme/shop0.erp/.snapshots/noted/v0001.json: a time must be RFC 3339, YYYY-MM-DD or a \
         number of Unix seconds at line 1 column 27; the branch comes when that is mended, or the file is \
         removed",
        "user/ann/acme/shop0.erp/.snapshots/feature%2fx: it holds old snapshots of feature/x, too, as \
         user/ann/acme/shop0.erp/.snapshots/feature%2Fx does",
        "user/ann/acme/shop0.erp/feature%2fx: it is branch feature/x, too, as \
         user/ann/acme/shop0.erp/feature%2Fx is",
        "user/ann/public%2Fy.erp: public/y.erp would be readable for every account: only what lies in \
         the folder public is",
        "user/ann/public/x.erp: public/x.erp would be readable for every account: only what lies in the \
         folder public is",
        "user/ann/acme/shop0.erp/a..b: malformed branch name: it holds \"..\" or \"@{\", or ends with \
         \".\"",
        "user/ann/acme/shop0.erp/link: it is a symbolic link",
        "user/ann/acme/shop0.erp/stray.xml: it is no branch's folder",
        "user/ann/lost+found: malformed project: it must be a name, a dot and a type, as in \
         acme/shop.erp",
        "user/ann/note: it is no project's folder",
        "user/ann/typeless: malformed project: it must be a name, a dot and a type, as in acme/shop.erp",
        "user/ann/wrong.ERP: malformed type: it must be 1 to 32 of a-z, 0-9, \"_\", \"-\" and start with \
         a letter or digit",
        "user/bob/acme/shop0.erp: project acme/shop0.erp is user/ann/acme/shop0.erp, too, and there is \
         one of each name",
        "owner \"b b\": malformed user name: it must be 1 to 64 letters, digits, \".\", \"_\", \"-\", \
         \"@\" and start with a letter or digit; an owner map gives the owner another account",
        "user/b b/acme/y.erp: there is no account for its owner",
        "user/ann/acme/shop0.erp/main/.git: malformed path: a segment is git's own folder or an alias of it",
        "user/ann/acme/shop0.erp/main/etc: it is a symbolic link",
        "user/ann/acme/shop0.erp/main/large: it is larger than 20 bytes (file_bytes_max)",
        "user/ann/acme/shop0.erp/main/socket: it is no regular file",
        "user/ann/acme/shop0.erp/main/\u{fffd}: its name is not UTF-8",
    ];
    if !is_readable {
        expected.push("user/ann/acme/shop0.erp/main/closed: Permission denied (os error 13)");
    }
    expected.sort_unstable();
    let (code, out, told) = scene.run(&["--file-bytes-max", "20"]);
    let mut told: Vec<_> = told
        .lines()
        .map(|line| line.strip_prefix("siteconf: ").unwrap())
        .collect();
    told.sort_unstable();
    let place = told
        .iter()
        .position(|line| line.contains("a data folder of siteconf"));
    let of_copy = told.remove(place.expect("the copy of a data folder is named"));
    assert!(
        of_copy.starts_with("user/ann/acme/shop0.erp/copy: "),
        "{of_copy}"
    );
    assert_eq!(told, expected);
    assert_eq!(code, 1);
    assert!(
        out.ends_with(&format!("{} findings\n", expected.len() + 1)),
        "{out}"
    );
    // Everything else came.
    let refs = scene.json(&["debug", "refs"]);
    let refs = refs.as_array().unwrap();
    let branches: Vec<_> = refs
        .iter()
        .map(|row| row["branch"].as_str().unwrap())
        .collect();
    assert_eq!(branches, ["feature/x", "main"]);
    assert_eq!(files_of(&scene, "acme/shop0.erp:feature/x"), ["first"]);
    assert_eq!(
        files_of(&scene, "acme/shop0.erp:feature/x@v0001"),
        ["first"]
    );
    let files = files_of(&scene, "acme/shop0.erp:main");
    assert_eq!(files.len(), 7 + usize::from(is_readable), "{files:?}");
}

/// The paths of a state.
fn files_of(scene: &Scene, state: &str) -> Vec<String> {
    let output = scene.daemon.command(&["debug", "digest", state]).output();
    let lines = String::from_utf8(output.unwrap().stdout).unwrap();
    let paths = lines.lines().filter_map(|line| line.split_once('|'));
    paths.map(|(path, _)| path.to_owned()).collect()
}

#[test]
fn only_what_lies_in_public_is_public() {
    let scene = Scene::start(&Model::new(&["ann"], 1, 1, 0, 0));
    let plant = |path: &str| {
        let path = scene.tree().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "a").unwrap();
    };
    plant("public/news.erp/main/a");
    plant("public/deep/er.erp/main/a");
    plant("public/news.erp/.snapshots/main/v0001/a");
    plant("user/public/own.erp/main/a");
    plant("user/public/public/wrong.erp/main/a");
    let (code, _, told) = scene.run(&[]);
    let expected = "siteconf: user/public/public/wrong.erp: public/wrong.erp would be readable for every \
                    account: only what lies in the folder public is\n";
    assert_eq!((code, told.as_str()), (1, expected));
    let projects = scene.json(&["project", "list"]);
    let seen: Vec<_> = projects
        .as_array()
        .unwrap()
        .iter()
        .map(|project| [&project["repo_id"], &project["owner"]])
        .collect();
    assert_eq!(
        json!(seen),
        json!([
            ["acme/shop0.erp", "ann"],
            ["own.erp", "public"],
            ["public/deep/er.erp", "public"],
            ["public/news.erp", "public"],
        ])
    );
    assert_eq!(scene.versions("public/news.erp:main"), ["v0001"]);
    fs::remove_dir_all(scene.tree().join("user/public/public")).unwrap();
    scene.verified();
    // Any account reads the ones, and not the other.
    scene.done(&["user", "add", "eve"]);
    let create = ["token", "create", "--user", "eve", "--name", "n", "--repo"];
    scene.done(&[&create[..], &["public/news.erp"]].concat());
    let refused = scene
        .daemon
        .command(&[&create[..], &["own.erp"]].concat())
        .output()
        .unwrap();
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
}

#[test]
fn a_root_that_is_no_tree_is_refused() {
    let scene = Scene::start(&Model::default());
    let run = |root: &str| {
        let output = scene
            .daemon
            .command(&["migrate-tree", root])
            .output()
            .unwrap();
        assert_eq!(output.stdout, b"", "{root}");
        let told = String::from_utf8(output.stderr).unwrap();
        (output.status.code().unwrap(), told)
    };
    let empty = tempfile::tempdir().unwrap();
    let empty = empty.path().display().to_string();
    assert_eq!(
        run(&empty),
        (
            1,
            format!(
                "siteconf: {empty} is no old tree: neither it nor apps/site-builder in it holds a folder \
                 user or public\n"
            )
        )
    );
    let data = scene.daemon.data();
    for root in [
        data.clone(),
        data.parent().unwrap().to_owned(),
        data.join("blobs"),
    ] {
        let (code, told) = run(&root.display().to_string());
        assert_eq!(code, 1);
        assert!(
            told.contains(" is, holds or lies in a data folder of siteconf"),
            "{told}"
        );
    }
    let (code, told) = run("/no/such/tree");
    assert_eq!(
        (code, told.as_str()),
        (
            1,
            "siteconf: reading /no/such/tree: No such file or directory (os error 2)\n"
        )
    );
    let both = scene.run(&["--verify", "--dry-run"]);
    assert_eq!(both.0, 2);
}

#[test]
fn a_wrong_line_of_tokens_is_named_by_its_number() {
    let scene = Scene::start(&Model::new(&["ann"], 1, 1, 0, 0));
    let value = "a".repeat(64);
    let digest = hex::encode(sha2::Sha256::digest(&value));
    let fine = json!({ "owner": "ann", "name": "n", "repos": ["*"], "value": value });
    let with = |field: &str, value: serde_json::Value| {
        let mut line = fine.clone();
        line[field] = value;
        line.to_string()
    };
    let other = |digit: &str, field: &str, value: serde_json::Value| {
        with(field, value).replace(&"a".repeat(64), &digit.repeat(64))
    };
    let without_value = json!({ "owner": "ann", "name": "n", "repos": ["*"] });
    let lines = [
        (fine.to_string(), ""),
        (String::new(), ""),
        ("nonsense".to_owned(), "expected ident at column 2"),
        (
            with("owners", json!("x")),
            "unknown field `owners`, expected one of",
        ),
        (
            with("value", json!("A".repeat(64))),
            "value must have 64 lower-case hexadecimal digits",
        ),
        (
            with("sha256", json!(value)),
            "it needs either value or sha256",
        ),
        (without_value.to_string(), "it needs either value or sha256"),
        (
            with("suffix", json!("aaaaaa")),
            "suffix stands beside sha256, not beside value",
        ),
        (with("expires_at", json!("soon")), "a time must be RFC 3339"),
        (
            with("state", json!("expired")),
            "it is expired, but its expires_at has not come",
        ),
        (
            with("state", json!("lost")),
            "unknown variant `lost`, expected one of",
        ),
        (
            with("fingerprint", json!("till")),
            "a fingerprint needs \"fingerprint_required\": true",
        ),
        (
            other("1", "repos", json!(["acme/no.erp"])),
            "malformed repos: there is no project \"acme/no.erp\"",
        ),
        (
            other("2", "name", json!(" ")),
            "malformed name: it must have 1 to 255 bytes",
        ),
        (
            other("3", "owner", json!("b b")),
            "\"b b\" owns nothing in the tree; name it in the owner map",
        ),
        (
            with("name", json!("x".repeat(70_000))),
            "it has more than 65536 bytes",
        ),
        (
            with("name", json!("same again")),
            "it has the value of line 1",
        ),
        (
            with("sha256", json!(digest))
                .replace(&format!("\"value\":\"{value}\""), "\"suffix\":null"),
            "it has the value of line 1",
        ),
    ];
    let text: Vec<_> = lines.iter().map(|(line, _)| line.as_str()).collect();
    fs::write(scene.tokens(), text.join("\n")).unwrap();
    let dry = scene.run(&["--dry-run"]);
    let (code, out, told) = scene.run(&[]);
    assert_eq!((dry.0, &dry.2), (code, &told));
    let wanted = lines
        .iter()
        .enumerate()
        .filter(|(_, (_, reason))| !reason.is_empty());
    let mut told = told.lines();
    for (index, (_, reason)) in wanted {
        let expected = format!("siteconf: /tokens.jsonl:{}: {reason}", index + 1);
        let line = told.next().unwrap();
        assert!(line.starts_with(&expected), "{line}\n{expected}");
        assert!(!line.contains(&value), "{line}");
    }
    assert_eq!(told.next(), None);
    assert_eq!(code, 1);
    assert!(
        out.contains("\nmade: 1 accounts, 1 projects, 1 branches, 0 old snapshots, 1 tokens\n"),
        "{out}"
    );
    assert!(
        out.contains("\nchanged: 0 accounts, 0 projects, 0 branches, 0 tokens\n"),
        "{out}"
    );
}
