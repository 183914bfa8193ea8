//! Branches as a person makes, lists, compares and rolls them back.

use std::fs;
use std::process::ExitCode;

use serde_json::{Value, json};

use crate::cli::tests::{Desk, lay};

/// A branch of four states: empty, two files, one of them changed, the other deleted and a third there.
fn with_history() -> Desk {
    let desk = Desk::with_project();
    fs::write(desk.path("in/a.xml"), "<a>\n1\n</a>\n").unwrap();
    let file = desk.path("in/a.xml").display().to_string();
    desk.done(&["put", "acme/shop.erp", "main", "a.xml", &file]);
    fs::remove_file(desk.path("in/conf/b.xml")).unwrap();
    lay(&desk.path("in"), &[("c.bin", "\0")]);
    desk.import(&["--mirror"]);
    desk
}

/// What a command says to a person: its results, and the rest.
fn before_a_person(desk: &Desk, words: &[&str]) -> (String, String) {
    let ran = desk.run_at(true, "", words);
    assert_eq!(ran.code, ExitCode::SUCCESS, "{words:?}: {ran:?}");
    (ran.out, ran.err)
}

fn history(desk: &Desk, flags: &[&str]) -> Value {
    let words = ["history", "acme/shop.erp", "main", "--json"];
    desk.json(&[&words[..], flags].concat())
}

#[test]
fn a_history_says_of_each_state_what_brought_it_about() {
    let desk = with_history();
    let by = crate::cli::open_store::actor().name().to_owned();
    let states = history(&desk, &[]);
    let shown: Vec<_> = states
        .as_array()
        .unwrap()
        .iter()
        .map(|it| {
            assert_eq!(it["by"], by);
            assert_eq!(
                it["commit_id"].as_str().unwrap()[..8],
                *it["short_id"].as_str().unwrap()
            );
            [
                "version",
                "operation",
                "path",
                "changed_files",
                "files",
                "bytes",
            ]
            .map(|field| &it[field])
        })
        .collect();
    assert_eq!(
        json!(shown),
        json!([
            [null, "import", null, 2, 2, 12],
            ["v0003", "save", "a.xml", 1, 2, 15],
            ["v0002", "import", null, 2, 2, 8],
            ["v0001", null, null, null, 0, 0],
        ])
    );
    let field = |state: usize, field: &str| states[state][field].as_str().unwrap().to_owned();
    let line = |state, shown: &str, rest: &str| {
        format!(
            "{shown:6}  {}  {}  {rest}\n",
            field(state, "short_id"),
            field(state, "at")
        )
    };
    assert_eq!(
        desk.done(&["history", "acme/shop.erp", "main"]),
        format!("STATE   SHORT ID  {:24}  CHANGED  BY, WHAT\n", "SINCE")
            + &line(0, "head", &format!("      2  {by}: import"))
            + &line(1, "v0003", &format!("      1  {by}: save a.xml"))
            + &line(2, "v0002", &format!("      2  {by}: import"))
            + &line(3, "v0001", &format!("      -  {by}: create branch"))
    );

    let versions = |flags: &[&str]| -> Vec<Value> {
        let states = history(&desk, flags);
        let states = states.as_array().unwrap().iter();
        states.map(|state| state["version"].clone()).collect()
    };
    assert_eq!(versions(&["--limit", "1"]), [Value::Null]);
    assert_eq!(
        versions(&["--limit", "2", "--before", "v3"]),
        ["v0002", "v0001"]
    );
    assert_eq!(versions(&["--before", "v0001"]), [Value::Null; 0]);
    assert_eq!(versions(&["--path", "a.xml"]), ["v0003", "v0002"]);
    assert_eq!(
        versions(&["--path", "conf/"]),
        [json!(null), json!("v0002")]
    );
    assert_eq!(
        desk.refused(1, &["history", "acme/shop.erp", "main", "--path", "d"]),
        "siteconf: no state of main in acme/shop.erp has changed \"d\"; \"siteconf ls -r acme/shop.erp main\" \
         lists what there is\n"
    );
    assert_eq!(
        desk.refused(1, &["history", "acme/shop.erp", "dev"]),
        "siteconf: there is no branch dev in acme/shop.erp; its branches: main\n"
    );
    assert_eq!(
        desk.refused(2, &["history", "acme/shop.erp", "main", "--before", "7"]),
        "siteconf: malformed snapshot version \"7\": it must be \"v\" and a number, as in v0007\n"
    );
}

#[test]
fn a_person_sees_the_newest_states_and_is_told_of_the_others() {
    let desk = Desk::with_project();
    let file = desk.path("in/a.xml").display().to_string();
    for _ in 0..60 {
        desk.done(&["put", "acme/shop.erp", "main", "a.xml", &file]);
    }
    let words = ["history", "acme/shop.erp", "main"];
    let (out, err) = before_a_person(&desk, &words);
    assert_eq!(out.lines().count(), 1 + 50);
    assert_eq!(err, "older ones with --before v0013, all with --limit 0\n");
    let (out, err) = before_a_person(&desk, &[&words[..], &["--before", "v0013"]].concat());
    assert!(out.contains("\nv0012  "), "{out}");
    assert_eq!((out.lines().count(), err.as_str()), (1 + 12, ""));
    assert_eq!(desk.done(&words).lines().count(), 1 + 62);
}

#[test]
fn revisions_are_compared_by_names_and_by_lines() {
    let desk = with_history();
    let diff = |words: &[&str]| desk.done(&[&["diff", "acme/shop.erp"], words].concat());
    let all = "modified  a.xml  (4 -> 11 bytes)\n\
               added     c.bin  (1 bytes)\n\
               deleted   conf/b.xml  (4 bytes)\n";
    assert_eq!(diff(&["main@v0002", "main"]), all);
    assert_eq!(diff(&["main@v2"]), all);
    assert_eq!(diff(&["main@v2", "main@v3", "--path", "conf"]), "");
    assert_eq!(
        diff(&["main@v2", "main", "--path", "conf/"]),
        "deleted   conf/b.xml  (4 bytes)\n"
    );
    assert_eq!(
        diff(&["main@v2", "-p"]),
        "--- a/a.xml\n+++ b/a.xml\n@@ -1 +1,3 @@\n-<a/>\n\\ No newline at end of file\n+<a>\n+1\n+</a>\n\
         Binary file c.bin added\n\
         --- a/conf/b.xml\n+++ /dev/null\n@@ -1 +0,0 @@\n-<b/>\n\\ No newline at end of file\n"
    );
    let listed = desk.json(&["diff", "acme/shop.erp", "main@v2", "main@v3", "--json"]);
    let now = desk.json(&["ls", "acme/shop.erp", "main", "a.xml", "--json"]);
    assert_eq!(listed.as_array().unwrap().len(), 1);
    assert_eq!(
        [
            &listed[0]["path"],
            &listed[0]["change"],
            &listed[0]["old"]["size"]
        ],
        [&json!("a.xml"), &json!("modified"), &json!(4)]
    );
    for field in ["size", "md5", "git", "blob", "mode"] {
        assert_eq!(listed[0]["new"][field], now[0][field]);
    }
    let of_state = history(&desk, &["--limit", "1"])[0]["short_id"].clone();
    assert_eq!(diff(&["main", of_state.as_str().unwrap()]), "");
    assert_eq!(
        desk.refused(2, &["diff", "acme/shop.erp", "main"]),
        "siteconf: \"main\" is compared with itself: name a state of before, as in main@v0007, or another \
         revision\n"
    );
    assert_eq!(
        desk.refused(2, &["diff", "acme/shop.erp", "HEAD"]),
        "siteconf: \"HEAD\" is compared with itself: name a state of before, as in main@v0007, or another \
         revision\n"
    );
    for revisions in [&["main@v2", "main"][..], &["main@v2"]] {
        let words = [&["diff", "acme/shop.erp", "--path", "no/pe"], revisions].concat();
        assert_eq!(
            desk.refused(1, &words),
            "siteconf: there is no \"no/pe\" in main@v2, nor in main; \"siteconf ls -r acme/shop.erp main\" \
             lists what there is\n"
        );
    }
    let id = of_state.as_str().unwrap();
    assert_eq!(
        desk.refused(2, &["diff", "acme/shop.erp", id]),
        format!(
            "siteconf: \"{id}\" belongs to no one branch: name the second revision, as in main\n"
        )
    );
}

/// Also of states whose ids no service has entered in the index: who only reads cannot.
#[test]
fn a_commit_id_of_the_history_is_known_to_whoever_reads() {
    let desk = Desk::with_project();
    for text in ["1", "2", "3"] {
        let file = desk.path("new");
        fs::write(&file, text).unwrap();
        desk.done(&["put", "acme/shop.erp", "main", "n", file.to_str().unwrap()]);
    }
    let states = history(&desk, &[]);
    let newest_first = states.as_array().unwrap().iter();
    for (state, text) in newest_first.zip(["3", "2", "1"]) {
        for id in ["short_id", "commit_id"] {
            let id = state[id].as_str().unwrap();
            assert_eq!(desk.done(&["cat", "acme/shop.erp", id, "n"]), text);
        }
    }
}

#[test]
fn a_diff_on_a_terminal_cannot_steer_it() {
    let desk = Desk::with_project();
    let file = desk.path("new");
    fs::write(&file, "\u{1b}]0;title\u{7}\tя\n").unwrap();
    desk.done(&["put", "acme/shop.erp", "main", "n", file.to_str().unwrap()]);
    let diff = ["diff", "acme/shop.erp", "main@v2", "-p"];
    let raw = "--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+\u{1b}]0;title\u{7}\tя\n";
    assert_eq!(desk.done(&diff), raw);
    let shown = raw.replace('\u{1b}', "\\u{1b}").replace('\u{7}', "\\u{7}");
    assert_eq!(before_a_person(&desk, &diff).0, shown);
}

#[test]
fn a_rollback_says_what_it_changes_and_how_to_undo_it() {
    let desk = with_history();
    let rollback =
        |words: &[&'static str]| [&["rollback", "acme/shop.erp", "main"], words].concat();
    let preview = "modified  a.xml  (11 -> 4 bytes)\n\
                   deleted   c.bin  (1 bytes)\n\
                   added     conf/b.xml  (4 bytes)\n";
    assert_eq!(desk.done(&rollback(&["v2", "--dry-run"])), preview);
    let (out, _) = before_a_person(&desk, &rollback(&["v0002", "--dry-run"]));
    assert_eq!(
        out,
        format!(
            "{preview}acme/shop.erp:main would be as in v0002: 1 files added, 1 modified, 1 deleted; nothing \
             was changed\n"
        )
    );
    assert_eq!(history(&desk, &[]).as_array().unwrap().len(), 4);
    assert_eq!(
        desk.done(&rollback(&["v2", "--path", "conf/b.xml"])),
        "conf/b.xml in acme/shop.erp:main is as in v0002 again: 1 files added, 0 modified, 0 deleted; undo it \
         with \"siteconf rollback acme/shop.erp main v0004 --path=conf/b.xml\"\n"
    );
    assert_eq!(
        desk.done(&rollback(&["main@v0002"])),
        "acme/shop.erp:main is as in v0002 again: 0 files added, 1 modified, 1 deleted; undo it with \
         \"siteconf rollback acme/shop.erp main v0005\"\n"
    );
    assert_eq!(
        desk.done(&rollback(&["v2"])),
        "acme/shop.erp:main is as in v0002 already; nothing was changed\n"
    );
    let done = desk.json(&rollback(&["v4", "--json"]));
    let changed = done["changes"].as_array().unwrap();
    assert_eq!(
        (&done["restored"], &done["snapshot"], changed.len()),
        (&json!("v0004"), &json!("v0006"), 3)
    );
    assert_eq!(history(&desk, &[])[0]["short_id"], done["short_id"]);

    assert_eq!(
        desk.refused(1, &rollback(&["v99"])),
        "siteconf: there is no snapshot v0099 of main in acme/shop.erp; the newest is v0006, and \"siteconf \
         history acme/shop.erp main\" lists all\n"
    );
    assert_eq!(
        desk.refused(1, &rollback(&["v1", "--path", "d"])),
        "siteconf: there is no \"d\" in main@v0001, nor in main; \"siteconf ls -r acme/shop.erp main@v0001\" \
         lists what there was\n"
    );
}

#[test]
fn a_path_that_names_nothing_is_not_the_whole_branch() {
    let desk = with_history();
    let before = history(&desk, &[]);
    for words in [
        &["rollback", "acme/shop.erp", "main", "v2"][..],
        &["diff", "acme/shop.erp", "main@v2"],
        &["history", "acme/shop.erp", "main"],
    ] {
        // As a variable of a script that is not set leaves it.
        for path in ["", "/"] {
            assert_eq!(
                desk.refused(2, &[words, &["--path", path]].concat()),
                "siteconf: --path names no file and no folder; leave it out for the whole branch\n",
                "{words:?}"
            );
        }
    }
    assert_eq!(history(&desk, &[]), before);
}

#[test]
fn branches_and_projects_are_made_and_shown() {
    let desk = with_history();
    assert_eq!(
        desk.done(&[
            "branch",
            "create",
            "acme/shop.erp",
            "old",
            "--from",
            "main@v2"
        ]),
        ""
    );
    assert_eq!(
        before_a_person(&desk, &["branch", "create", "acme/shop.erp", "dev"]).0,
        "acme/shop.erp:dev is made, with 0 files\n"
    );
    assert_eq!(
        desk.refused(1, &["branch", "create", "acme/shop.erp", "dev"]),
        "siteconf: there is a branch dev in acme/shop.erp already; \"siteconf branch list acme/shop.erp\" \
         lists all\n"
    );
    assert_eq!(
        desk.refused(
            1,
            &[
                "branch",
                "create",
                "acme/shop.erp",
                "b",
                "--from",
                "nowhere"
            ]
        ),
        "siteconf: \"nowhere\" names nothing in acme/shop.erp: it must be a branch, a snapshot as in \
         main@v0007, or a commit id; its branches: dev, main, old\n"
    );
    let listed = desk.json(&["branch", "list", "acme/shop.erp", "--json"]);
    let rows = listed.as_array().unwrap().iter();
    let rows: Vec<_> = rows
        .map(|row| ["name", "default", "files", "bytes", "snapshots"].map(|field| &row[field]))
        .collect();
    assert_eq!(
        json!(rows),
        json!([
            ["dev", false, 0, 0, 0],
            ["main", true, 2, 12, 3],
            ["old", false, 2, 8, 0],
        ])
    );
    let text = desk.done(&["branch", "list", "acme/shop.erp"]);
    assert!(
        text.starts_with("BRANCH  SHORT ID  FILES  BYTES  SNAPSHOTS  UPDATED  "),
        "{text}"
    );

    assert_eq!(
        before_a_person(
            &desk,
            &["project", "create", "acme/new.erp", "--owner", "ann"]
        )
        .0,
        "acme/new.erp is made and owned by ann; make a branch with \"siteconf branch create acme/new.erp \
         main\"\n"
    );
    assert_eq!(
        desk.refused(1, &["project", "create", "acme/new.erp", "--owner", "ann"]),
        "siteconf: there is a project acme/new.erp already; \"siteconf project show acme/new.erp\" shows it\n"
    );
    assert_eq!(
        desk.refused(1, &["project", "create", "acme/x.erp", "--owner", "eve"]),
        "siteconf: there is no user \"eve\"; \"siteconf user list\" names all\n"
    );
    let mut shown = desk.json(&["project", "show", "acme/shop.erp", "--json"]);
    for field in ["created_at", "updated_at"] {
        assert!(shown[field].take().is_string(), "{field}");
    }
    assert_eq!(
        shown,
        json!({
            "repo_id": "acme/shop.erp", "id": 1, "owner": "ann", "default_branch": "main", "branches": 3,
            "files": 4, "bytes": 20, "snapshots": 3, "keeps": null, "created_at": null,
            "updated_at": null,
        })
    );
    let text = desk.done(&["project", "show", "acme/new.erp"]);
    assert!(
        text.starts_with(
            "project         acme/new.erp\nid              2\nowner           ann\ndefault branch  -\n"
        ),
        "{text}"
    );
}
