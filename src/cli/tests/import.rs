//! Folders in and out, and what is told of them.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::ExitCode;

use serde_json::json;

use super::{Desk, lay};

#[test]
fn the_data_folder_is_not_imported() {
    let desk = Desk::new();
    desk.done(&["user", "add", "ann"]);
    for dir in [desk.path(""), desk.path("data"), desk.path("data/secrets")] {
        let shown = dir.display().to_string();
        let words = ["import", "acme/x.erp", "main", &shown, "--owner", "ann"];
        let said = desk.refused(1, &words);
        let expected =
            format!("siteconf: {shown} is, holds or lies in a data folder of siteconf: ");
        assert!(said.starts_with(&expected), "{said}");
    }
    // A copy of one, which is met only on the way.
    lay(
        &desk.path("in"),
        &[
            ("a", "a"),
            ("old/FORMAT", ""),
            ("old/store.db", ""),
            ("old/secrets/key", ""),
        ],
    );
    let dir = desk.path("in").display().to_string();
    let words = ["import", "acme/x.erp", "main", &dir, "--owner", "ann"];
    let said = desk.refused(1, &words);
    let expected = format!("siteconf: {dir}/old is, holds or lies in a data folder of siteconf: ");
    assert!(said.starts_with(&expected), "{said}");
    assert_eq!(desk.json(&["project", "list", "--json"]), json!([]));
}

#[test]
fn names_that_deceive_a_terminal_are_told_with_escapes() {
    let desk = Desk::with_project();
    lay(
        &desk.path("in"),
        &[("a\u{202e}lmx.b", ""), ("b\u{1b}[2J\n", "")],
    );
    let dir = desk.path("in").display().to_string();
    let ran = desk.run(&["import", "acme/shop.erp", "main", &dir]);
    let reason = "malformed path: it holds a control, bidirectional or zero-width character";
    assert_eq!(
        ran.err,
        format!(
            "skipped {dir}/a\\u{{202e}}lmx.b: {reason}\nskipped {dir}/b\\u{{1b}}[2J\\n: {reason}\n\
             skipped: 2 impossible names\n"
        )
    );
}

#[test]
fn a_mirror_keeps_what_it_could_not_read_and_removes_the_rest() {
    let desk = Desk::new();
    desk.done(&["user", "add", "ann"]);
    lay(
        &desk.path("in"),
        &[
            ("gone.xml", "gone"),
            ("linked.xml", "one"),
            ("conf/a.xml", "a"),
            ("conf/sub/b.xml", "b"),
            ("old/c.xml", "c"),
            ("stays.xml", "old"),
        ],
    );
    desk.import(&["--owner", "ann"]);
    // Links and sockets are skipped, as what cannot be read is; who is root can read everything.
    let folder = desk.path("in");
    for name in ["gone.xml", "linked.xml"] {
        fs::remove_file(folder.join(name)).unwrap();
    }
    fs::remove_dir_all(folder.join("conf")).unwrap();
    fs::remove_dir_all(folder.join("old")).unwrap();
    symlink("/nowhere", folder.join("linked.xml")).unwrap();
    symlink("/nowhere", folder.join("conf")).unwrap();
    symlink("/nowhere", folder.join("never-there")).unwrap();
    lay(&folder, &[("stays.xml", "new")]);

    let dir = folder.display().to_string();
    let ran = desk.run(&["import", "acme/shop.erp", "main", &dir, "--mirror"]);
    assert_eq!(ran.code, ExitCode::SUCCESS, "{ran:?}");
    assert!(
        ran.err.ends_with("\nskipped: 3 symbolic links\n"),
        "{ran:?}"
    );
    let listed = desk.json(&[
        "debug",
        "diff",
        "acme/shop.erp:main@v0002",
        "acme/shop.erp:main",
        "--json",
    ]);
    let changes = listed.as_array().unwrap().iter();
    let changes: Vec<_> = changes.map(|c| [&c["change"], &c["path"]]).collect();
    assert_eq!(
        json!(changes),
        json!([
            ["deleted", "gone.xml"],
            ["deleted", "old/c.xml"],
            ["modified", "stays.xml"],
        ])
    );
}

#[test]
fn a_new_project_is_not_given_to_a_disabled_account() {
    let desk = Desk::new();
    desk.account("ann", &[]);
    desk.done(&["user", "disable", "ann"]);
    lay(&desk.path("in"), &[("a.xml", "<a/>")]);
    let dir = desk.path("in").display().to_string();
    let import = ["import", "acme/shop.erp", "main", &dir, "--owner", "ann"];
    assert_eq!(
        desk.refused(1, &import),
        "siteconf: \"ann\" is disabled and is given no project; \"siteconf user enable ann\" lets the account \
         in again\n"
    );
    // One that is there already is the account's all the same.
    desk.done(&["user", "enable", "ann"]);
    desk.done(&import);
    desk.done(&["user", "disable", "ann"]);
    desk.done(&import);
}
