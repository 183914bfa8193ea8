//! Results that cannot be written: of a change that was made, that is told, and how it is undone.

use std::fs::File;
use std::io;
use std::process::Stdio;

use serde_json::Value;

use crate::stage::Stage;

const FULL: &str = "siteconf: writing the result: No space left on device (os error 28)";

/// How a command ends whose results go there, and what it says.
fn ended(stage: &Stage, out: Stdio, words: &[&str]) -> (Option<i32>, String) {
    let ran = stage.command(words).stdout(out).output().unwrap();
    (ran.status.code(), String::from_utf8(ran.stderr).unwrap())
}

/// A disk without room.
fn full() -> Stdio {
    let full = File::options().write(true).open("/dev/full");
    full.unwrap().into()
}

#[test]
fn an_error_says_whether_the_change_was_made_and_how_to_undo_it() {
    let stage = Stage::new();
    let import = format!("import acme/shop.erp main {}", stage.shown("in"));
    let put = format!(
        "put acme/shop.erp main b.xml {} --json",
        stage.shown("in/a.xml")
    );
    let made = "; the change was made";
    let undo = |place: &str| {
        format!("{made}; undo it with \"siteconf rollback acme/shop.erp main {place}\"")
    };
    let back = "rollback acme/shop.erp main v1";
    for (line, said) in [
        (&format!("{back} --dry-run")[..], String::new()),
        (back, undo("v0002")),
        // It is as it was wanted.
        (back, String::new()),
        (
            "rollback acme/shop.erp main v2 --path=a.xml --json",
            undo("v0003 --path=a.xml"),
        ),
        (&put, undo("v0004 --path=b.xml")),
        (&format!("{import} --dry-run"), String::new()),
        (&import, undo("v0005")),
        (&import, String::new()),
        ("project keep acme/shop.erp --snapshots 1", made.to_owned()),
        ("prune --dry-run", String::new()),
        ("prune", made.to_owned()),
        ("prune", String::new()),
        ("gc --dry-run", String::new()),
        ("gc", made.to_owned()),
    ] {
        let words: Vec<_> = line.split(' ').collect();
        assert_eq!(
            ended(&stage, full(), &words),
            (Some(1), format!("{FULL}{said}\n")),
            "{line}"
        );
    }
    assert_eq!(
        stage.done(&["ls", "-r", "acme/shop.erp", "main"]),
        "a.xml\nb.xml\nconf/b.xml\n"
    );
}

#[test]
fn an_error_says_how_to_restore_what_was_deleted() {
    let stage = Stage::new();
    for (delete, restore) in [
        (
            &["branch", "delete", "acme/shop.erp", "dev"][..],
            &["branch", "restore", "acme/shop.erp"][..],
        ),
        (
            &["project", "delete", "acme/shop.erp"],
            &["project", "restore"],
        ),
    ] {
        let of_deletion = ended(&stage, full(), delete);
        let deleted = stage.done(&["project", "list", "--deleted", "--json"]);
        let deleted: Value = serde_json::from_str(&deleted).unwrap();
        let restore = [restore, &[deleted[0]["id"].as_str().unwrap()]].concat();
        let said = format!(
            "{FULL}; the change was made; \"siteconf {}\" brings it back\n",
            restore.join(" ")
        );
        assert_eq!(of_deletion, (Some(1), said));
        assert_eq!(
            ended(&stage, full(), &restore),
            (Some(1), format!("{FULL}; the change was made\n"))
        );
        let deleted = stage.done(&["project", "list", "--deleted", "--json"]);
        assert_eq!(deleted, "[]\n");
    }
}

#[test]
fn a_reader_that_left_a_change_is_told_nothing() {
    let stage = Stage::new();
    let (reader, writer) = io::pipe().unwrap();
    drop(reader);
    let back = ["rollback", "acme/shop.erp", "main", "v1"];
    assert_eq!(
        ended(&stage, writer.into(), &back),
        (Some(0), String::new())
    );
    assert_eq!(stage.done(&["ls", "-r", "acme/shop.erp", "main"]), "");
}
