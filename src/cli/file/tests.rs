//! Files as a person lists, reads, saves and deletes them.

use std::fs;
use std::process::ExitCode;

use serde_json::{Value, json};

use crate::cli::tests::{Desk, Ran, lay};
use crate::cli::{Streams, run_on};

const ON_MAIN: [&str; 2] = ["acme/shop.erp", "main"];

/// Runs a command with these bytes on its standard input, before a person or not.
fn run(
    desk: &Desk,
    is_terminal: bool,
    input: &[u8],
    words: &[&str],
) -> (ExitCode, Vec<u8>, String) {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let streams = Streams {
        input: &mut &*input,
        out_is_terminal: is_terminal,
        ..Streams::unseen(&mut out, &mut err)
    };
    let code = run_on(desk.line(words), streams);
    (code, out, String::from_utf8(err).unwrap())
}

/// What a command that must succeed says to a person.
#[track_caller]
fn told(desk: &Desk, words: &[&str]) -> String {
    let (code, out, err) = run(desk, true, b"", words);
    assert_eq!((code, err.as_str()), (ExitCode::SUCCESS, ""), "{words:?}");
    String::from_utf8(out).unwrap()
}

#[track_caller]
fn put(desk: &Desk, input: &[u8], words: &[&str]) -> Value {
    let words = [&["put"], &ON_MAIN[..], words, &["--json"]].concat();
    let (code, out, err) = run(desk, false, input, &words);
    assert_eq!((code, err.as_str()), (ExitCode::SUCCESS, ""), "{words:?}");
    serde_json::from_slice(&out).unwrap()
}

/// The paths of a list.
fn paths(listed: &Value) -> Vec<&str> {
    let entries = listed.as_array().unwrap().iter();
    entries
        .map(|entry| entry["path"].as_str().unwrap())
        .collect()
}

#[test]
fn nothing_is_saved_of_what_was_closed() {
    let desk = Desk::with_project();
    put(&desk, b"1", &["a"]);
    for file in [&[][..], &["-"]] {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let streams = Streams {
            input_is_closed: true,
            ..Streams::unseen(&mut out, &mut err)
        };
        let words = [&["put"], &ON_MAIN[..], &["a"], file].concat();
        assert_eq!(run_on(desk.line(&words), streams), ExitCode::from(2));
        let told = String::from_utf8(err).unwrap();
        assert!(
            told.contains("standard input is closed, or leads nowhere: name the file to be saved"),
            "{told}"
        );
    }
    let (_, shown, _) = run(&desk, false, b"", &["cat", "acme/shop.erp", "main", "a"]);
    assert_eq!(shown, b"1");
}

#[test]
fn a_folder_is_listed_by_name_at_length_and_whole() {
    let desk = Desk::with_project();
    assert_eq!(desk.done(&["ls", "acme/shop.erp"]), "conf/\na.xml\n");
    for root in ["", "/"] {
        assert_eq!(
            desk.done(&["ls", "acme/shop.erp", "main", root]),
            "conf/\na.xml\n"
        );
    }
    for folder in ["conf", "conf/", "conf/b.xml"] {
        assert_eq!(
            desk.done(&["ls", "acme/shop.erp", "main", folder]),
            "conf/b.xml\n"
        );
    }
    assert_eq!(
        desk.done(&["ls", "-r", "acme/shop.erp", "main@v1"]),
        "",
        "the branch was empty"
    );
    assert_eq!(
        desk.done(&["ls", "-r", "acme/shop.erp"]),
        "a.xml\nconf/b.xml\n"
    );

    let history = desk.json(&["history", "acme/shop.erp", "main", "--json"]);
    let imported_at = history[0]["at"].as_str().unwrap();
    assert_eq!(
        desk.done(&["ls", "-l", "acme/shop.erp"]),
        format!(
            "040000           -  -                         conf/\n\
             100644           4  {imported_at}  a.xml\n"
        )
    );
    let listed = desk.json(&["ls", "-l", "--json", "acme/shop.erp"]);
    assert_eq!(
        listed[0],
        json!({"path": "conf", "type": "folder", "changed_at": null})
    );
    // What `printf '<a/>' | md5sum` and `git hash-object --stdin` print.
    let blob = listed[1]["blob"].as_str().unwrap();
    assert_eq!(
        listed[1],
        json!({
            "path": "a.xml", "type": "file", "mode": "100644", "size": 4,
            "md5": "f019ee9a03978aff9f9b78d0ddf3edb7",
            "git": "bb9b58072713330a9e74641b503f97e3601d8d56",
            "blob": blob, "changed_at": imported_at,
        })
    );
    let short = desk.json(&["ls", "-r", "--json", "acme/shop.erp"]);
    assert_eq!(paths(&short), ["a.xml", "conf/b.xml"]);
    assert_eq!(short[0].get("changed_at"), None);

    // Nothing half is written before.
    let (code, out, _) = run(
        &desk,
        false,
        b"",
        &["ls", "--json", "acme/shop.erp", "main", "nothing"],
    );
    assert_eq!((code, out.as_slice()), (ExitCode::from(1), &b""[..]));
    assert_eq!(
        desk.refused(1, &["ls", "acme/shop.erp", "main", "nothing"]),
        "siteconf: there is no \"nothing\" in main of acme/shop.erp; \"siteconf ls -r acme/shop.erp \
         main\" lists what there is\n"
    );
    assert_eq!(
        desk.refused(1, &["ls", "acme/shop.erp", "main@v9"]),
        "siteconf: there is no snapshot v0009 of main in acme/shop.erp; the newest is v0001, and \
         \"siteconf history acme/shop.erp main\" lists all\n"
    );
    desk.done(&["project", "create", "acme/new.erp", "--owner", "ann"]);
    assert_eq!(
        desk.refused(1, &["ls", "acme/new.erp"]),
        "siteconf: there is nothing in acme/new.erp; it has no branch yet: \"siteconf branch create acme/new.erp \
         main\" makes one\n"
    );
}

#[test]
fn a_file_goes_in_and_comes_out_byte_by_byte() {
    let desk = Desk::with_project();
    // Small enough for a row, and large enough for a file of its own.
    let bytes: Vec<u8> = (0..=255).cycle().take(700_001).collect();
    for (path, bytes) in [
        ("bin/small", &bytes[..300]),
        ("bin/large", &bytes[..]),
        ("empty", b""),
    ] {
        let saved = put(&desk, bytes, &[path]);
        assert_eq!(saved["size"], bytes.len());
        let cat = [&["cat"], &ON_MAIN[..], &[path]].concat();
        for is_terminal in [false, true] {
            let (code, out, err) = run(&desk, is_terminal, b"", &cat);
            assert_eq!((code, err.as_str()), (ExitCode::SUCCESS, ""));
            assert!(out == bytes, "{path}");
        }
    }
    let from = desk.path("from.xml");
    fs::write(&from, "<from/>").unwrap();
    let from = from.display().to_string();
    assert_eq!(
        told(&desk, &["put", "acme/shop.erp", "main", "a.xml", &from]),
        "a.xml saved in acme/shop.erp:main, 7 bytes; undo it with \"siteconf rollback acme/shop.erp main \
         v0005 --path=a.xml\"\n"
    );
    assert_eq!(
        desk.done(&["put", "acme/shop.erp", "main", "a.xml", &from]),
        ""
    );
    assert_eq!(
        desk.done(&["cat", "acme/shop.erp", "main", "a.xml"]),
        "<from/>"
    );
    assert_eq!(
        desk.done(&["cat", "acme/shop.erp", "main@v5", "a.xml"]),
        "<a/>"
    );

    for (path, said) in [
        (
            "b.xml",
            "there is no \"b.xml\" in main of acme/shop.erp; \"siteconf ls -r acme/shop.erp main\" lists \
             what there is",
        ),
        (
            "conf",
            "\"conf\" is a folder; \"siteconf ls acme/shop.erp main conf\" lists it",
        ),
    ] {
        let said = format!("siteconf: {said}\n");
        assert_eq!(
            desk.refused(1, &["cat", "acme/shop.erp", "main", path]),
            said
        );
    }
    desk.refused(2, &["cat", "acme/shop.erp", "main", "../a"]);
}

#[test]
fn a_save_that_must_not_be_made_changes_nothing() {
    let desk = Desk::with_project();
    let config = desk.path("siteconf.toml").display().to_string();
    lay(&desk.path(""), &[("siteconf.toml", "file_bytes_max = 4")]);
    let large = desk.path("in/conf/b.xml").display().to_string();
    fs::write(&large, "12345").unwrap();
    let gone = desk.path("gone").display().to_string();
    let folder = desk.path("in").display().to_string();
    let file = [&["put"], &ON_MAIN[..], &["a.xml"]].concat();
    let said = |code, flags: &[&str]| desk.refused(code, &[&file[..], flags].concat());
    assert_eq!(
        said(1, &[&large, "--config", &config]),
        format!("siteconf: {large} is larger than 4 bytes (file_bytes_max); nothing was saved\n")
    );
    assert_eq!(
        said(1, &[&gone]),
        format!("siteconf: reading {gone}: No such file or directory (os error 2)\n")
    );
    assert_eq!(
        said(1, &[&folder]),
        format!("siteconf: reading {folder}: Is a directory (os error 21)\n")
    );
    assert_eq!(
        said(2, &["--expect", "soon"]),
        "siteconf: --expect \"soon\" must be the 64 digits of a blob id, a snapshot as in v0007, or absent\n"
    );
    let now = desk.json(&["ls", "--json", "acme/shop.erp", "main", "a.xml"]);
    let blob = now[0]["blob"].as_str().unwrap();
    let other = "0".repeat(64);
    for expect in [&other, "absent", "v0001"] {
        assert_eq!(
            said(1, &[&large, "--expect", expect]),
            format!(
                "siteconf: \"a.xml\" is not as --expect demands, and nothing was changed: it has 4 bytes, \
                 blob {blob}; \"siteconf history acme/shop.erp main --path=a.xml\" says who changed it\n"
            )
        );
    }
    assert_eq!(
        desk.refused(1, &["put", "acme/shop.erp", "dev", "a.xml", &large]),
        "siteconf: there is no branch dev in acme/shop.erp; its branches: main\n"
    );
    assert_eq!(
        desk.refused(1, &["put", "acme/shop.erp", "main", "conf", &large]),
        "siteconf: \"conf\" is a folder, not a file\n"
    );
    let history = desk.json(&["history", "acme/shop.erp", "main", "--json"]);
    assert_eq!(history.as_array().unwrap().len(), 2);

    // What is as expected is changed: by its blob, its snapshot, and its absence, with and without a
    // message.
    let saved = put(&desk, b"2", &["a.xml", "--expect", blob]);
    let snapshot = saved["snapshot"].as_str().unwrap();
    let blob = saved["blob"].as_str().unwrap();
    put(&desk, b"3", &["a.xml", "--expect", blob, "--message", "no"]);
    put(
        &desk,
        b"new",
        &["b.xml", "--expect", "v0001", "--message", "a new one"],
    );
    put(&desk, b"new", &["c.xml", "--expect", "absent"]);
    assert_eq!(snapshot, "v0002");
    let history = desk.json(&["history", "acme/shop.erp", "main", "--json"]);
    let done = history.as_array().unwrap().iter();
    let done: Vec<_> = done
        .map(|it| [&it["operation"], &it["path"], &it["message"]])
        .collect();
    assert_eq!(
        json!(done),
        json!([
            ["save", "c.xml", null],
            ["save", "b.xml", "a new one"],
            ["save", "a.xml", "no"],
            ["save", "a.xml", null],
            ["import", null, null],
            [null, null, null],
        ])
    );
}

#[test]
fn a_file_and_a_folder_are_deleted() {
    let desk = Desk::with_project();
    lay(
        &desk.path("in"),
        &[("conf/sub/c.xml", "c"), ("d.xml", "d"), ("e.xml", "e")],
    );
    desk.import(&[]);
    let rm = |words: &[&'static str]| [&["rm"], &ON_MAIN[..], words].concat();
    assert_eq!(
        desk.refused(1, &rm(&["conf"])),
        "siteconf: \"conf\" is a folder with 2 files; -r deletes it with all of them\n"
    );
    for words in [
        &["f.xml"][..],
        &["f", "-r"],
        &["f.xml", "--message", "gone"],
    ] {
        assert_eq!(
            desk.refused(1, &rm(words)),
            format!(
                "siteconf: there is no \"{}\" in main of acme/shop.erp; \"siteconf ls -r acme/shop.erp \
                 main\" lists what there is\n",
                words[0]
            )
        );
    }
    for words in [&["a.xml/"][..], &["a.xml/", "-r"]] {
        assert_eq!(
            desk.refused(1, &rm(words)),
            "siteconf: \"a.xml\" is a file, not a folder; without the slash at its end it is deleted\n"
        );
    }
    assert!(
        desk.refused(1, &rm(&["f.xml/"]))
            .starts_with("siteconf: there is no \"f.xml\" in main of acme/shop.erp; ")
    );
    assert!(
        desk.refused(1, &rm(&["a.xml", "--expect", "v0001"]))
            .contains("is not as --expect demands, and nothing was changed: it has 4 bytes, blob ")
    );
    assert_eq!(
        told(&desk, &rm(&["a.xml", "--expect", "v0002"])),
        "a.xml deleted from acme/shop.erp:main; undo it with \"siteconf rollback acme/shop.erp main v0003 \
         --path=a.xml\"\n"
    );
    assert_eq!(
        told(&desk, &rm(&["conf/", "-r"])),
        "conf with 2 files deleted from acme/shop.erp:main; undo it with \"siteconf rollback acme/shop.erp \
         main v0004 --path=conf\"\n"
    );
    assert_eq!(
        desk.done(&rm(&["d.xml", "-r", "--message", "no longer"])),
        ""
    );
    assert_eq!(desk.done(&["ls", "-r", "acme/shop.erp"]), "e.xml\n");
    let history = desk.done(&["history", "acme/shop.erp", "main"]);
    for what in [": no longer\n", ": delete conf/\n", ": delete a.xml\n"] {
        assert!(history.contains(what), "{history}");
    }
    desk.done(&[
        "rollback",
        "acme/shop.erp",
        "main",
        "v0004",
        "--path",
        "conf",
    ]);
    assert_eq!(
        desk.done(&["ls", "-r", "acme/shop.erp"]),
        "conf/b.xml\nconf/sub/c.xml\ne.xml\n"
    );
    let Ran { out, .. } = desk.run(&["audit", "--json"]);
    let told: Vec<Value> = out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let of_folder = told.iter().find(|entry| entry["path"] == "conf").unwrap();
    assert_eq!(of_folder["action"], "batch");
}
