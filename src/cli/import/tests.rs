//! What a person is told of an import.

mod meanwhile;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::{Value, json};

use crate::base::digest::sha256;
use crate::base::id::Sha256;
use crate::cli::tests::{Desk, lay};

/// Everything in a folder: each file with the digest of its bytes.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Option<Sha256>> {
    let entries = walkdir::WalkDir::new(folder)
        .into_iter()
        .map(Result::unwrap);
    entries
        .map(|entry| {
            let bytes = fs::read(entry.path()).ok();
            (entry.path().to_owned(), bytes.map(|bytes| sha256(&bytes)))
        })
        .collect()
}

/// The short id of the branch.
fn short_id(desk: &Desk) -> String {
    let branches = desk.json(&["branch", "list", "acme/shop.erp", "--json"]);
    branches[0]["short_id"].as_str().unwrap().to_owned()
}

/// How many snapshots the branch has.
fn snapshots(desk: &Desk) -> usize {
    let history = desk.json(&["debug", "history", "acme/shop.erp:main", "--json"]);
    history.as_array().unwrap().len()
}

#[test]
fn what_cannot_be_taken_ends_an_import_before_anything_is_written() {
    let desk = Desk::with_project();
    lay(&desk.path("in"), &[("large.xml", "12345"), ("new.xml", "")]);
    symlink("a.xml", desk.path("in/link.xml")).unwrap();
    let dir = desk.path("in").display().to_string();
    let import = ["import", "acme/shop.erp", "main", &dir];
    let config = desk.path("siteconf.toml").display().to_string();
    lay(&desk.path(""), &[("siteconf.toml", "file_bytes_max = 4")]);
    let before = contents(&desk.path("data"));
    for limit in [["--file-bytes-max", "4"], ["--config", &config]] {
        for more in [&[][..], &["--json"], &["--dry-run"], &["--verbose"]] {
            let said = desk.refused(1, &[&import[..], &limit, more].concat());
            assert_eq!(
                said,
                format!(
                    "cannot take {dir}/large.xml: it is larger than 4 bytes (file_bytes_max)\n\
                     siteconf: 1 too large: nothing was saved; --skip-unreadable leaves them out\n"
                )
            );
        }
    }
    assert_eq!(contents(&desk.path("data")), before);
    let accepted = ["--file-bytes-max", "4", "--skip-unreadable"];
    let ran = desk.run(&[&import[..], &accepted].concat());
    assert_eq!(ran.code, ExitCode::SUCCESS);
    assert_eq!(
        ran.err,
        format!(
            "skipped {dir}/large.xml: it is larger than 4 bytes (file_bytes_max)\n\
             skipped {dir}/link.xml: it is a symbolic link\n\
             skipped: 1 symbolic link, 1 too large\n"
        )
    );
    assert_eq!(
        ran.out,
        format!(
            "3 files, 8 bytes imported into acme/shop.erp:main, now {}: 1 added, 0 changed, 0 removed\n\
             undo: siteconf rollback acme/shop.erp main v0002\n",
            short_id(&desk)
        )
    );
    // What one must be able to do.
    desk.done(&["rollback", "acme/shop.erp", "main", "v0002"]);
    assert_eq!(
        desk.done(&["ls", "-r", "acme/shop.erp"]),
        "a.xml\nconf/b.xml\n"
    );
}

#[test]
fn a_name_that_nobody_could_see_whole_is_refused_before_anything_is_read() {
    let desk = Desk::with_project();
    let dir = desk.path("in").display().to_string();
    lay(&desk.path("in"), &[("new.xml", "<new/>")]);
    for project in ["acme/new.erp", "acme/shop.erp"] {
        for more in [&[][..], &["--dry-run"]] {
            let import = ["import", project, "ma\u{ad}in", &dir, "--owner", "ann"];
            assert_eq!(
                desk.refused(2, &[&import[..], more].concat()),
                "siteconf: malformed branch name \"ma\\u{ad}in\": it holds a control, bidirectional, \
                 zero-width or other invisible character\n"
            );
        }
    }
    let listed = desk.json(&["project", "list", "--json"]);
    assert_eq!(listed.as_array().unwrap().len(), 1);
}

#[test]
fn a_mirror_of_an_empty_folder_is_refused_unless_it_may_be() {
    let desk = Desk::with_project();
    fs::create_dir(desk.path("empty")).unwrap();
    let empty = desk.path("empty").display().to_string();
    let mirror = ["import", "acme/shop.erp", "main", &empty, "--mirror"];
    for more in [&[][..], &["--dry-run"]] {
        assert_eq!(
            desk.refused(1, &[&mirror[..], more].concat()),
            format!(
                "siteconf: nothing was taken from {empty}, so its mirror would empty the branch, which \
                 has 2 files; --allow-empty lets it\n"
            )
        );
    }
    assert_eq!(
        desk.done(&[&mirror[..], &["--allow-empty"]].concat()),
        "0 files, 0 bytes imported into acme/shop.erp:main, now e3b0c442: 0 added, 0 changed, 2 removed\n\
         undo: siteconf rollback acme/shop.erp main v0002\n"
    );
    assert_eq!(
        desk.done(&mirror),
        "unchanged: acme/shop.erp:main has what was taken, 0 files of 0 bytes; no snapshot was taken\n"
    );
    let said = desk.refused(
        2,
        &["import", "acme/shop.erp", "main", &empty, "--allow-empty"],
    );
    assert!(said.contains("--mirror"), "{said}");
}

#[test]
fn a_dry_run_says_what_would_change_and_changes_nothing() {
    let desk = Desk::with_project();
    let folder = desk.path("in");
    lay(
        &folder,
        &[("a.xml", "<other/>"), ("new.xml", &"x".repeat(300_000))],
    );
    fs::remove_file(folder.join("conf/b.xml")).unwrap();
    symlink("/nowhere", folder.join("link")).unwrap();
    let dir = folder.display().to_string();
    let skipped = format!("skipped {dir}/link: it is a symbolic link\nskipped: 1 symbolic link\n");
    // It is kept once it is known.
    let id = short_id(&desk);
    let before = contents(&desk.path("data"));
    let import = ["import", "acme/shop.erp", "main", &dir, "--mirror"];
    let would = desk.run(&[&import[..], &["--dry-run"]].concat());
    assert_eq!((would.code, &would.err), (ExitCode::SUCCESS, &skipped));
    assert_eq!(
        would.out,
        "2 files, 300008 bytes would be imported into acme/shop.erp:main: 1 added, 1 changed, 1 \
         removed\n\
         dry run: nothing was saved\n"
    );
    let mut told: Value = serde_json::from_str(
        &desk
            .run(&[&import[..], &["--dry-run", "--json"]].concat())
            .out,
    )
    .unwrap();
    let expected = json!({
        "project": "acme/shop.erp", "branch": "main", "dry_run": true, "project_made": false,
        "branch_made": false, "files": 2, "bytes": 300_008, "added": 1, "changed": 1, "removed": 1,
        "skipped": {
            "symbolic_links": 1, "special_files": 0, "impossible_names": 0, "too_large": 0,
            "unreadable": 0, "excluded": 0,
        },
        "snapshot": null, "short_id": null,
    });
    assert_eq!(told, expected);
    // Of what is not there.
    let new = ["import", "acme/new.erp", "main", &dir, "--owner", "ann"];
    assert_eq!(
        desk.run(&[&new[..], &["--dry-run"]].concat()).out,
        "project acme/new.erp would be made, owned by ann\n\
         branch main would be made\n\
         2 files, 300008 bytes would be imported into acme/new.erp:main: 2 added, 0 changed, 0 removed\n\
         dry run: nothing was saved\n"
    );
    assert_eq!(contents(&desk.path("data")), before);
    assert_eq!(short_id(&desk), id);

    // And for good.
    let ran = desk.run(&[&import[..], &["--json"]].concat());
    assert_eq!((ran.code, ran.err), (ExitCode::SUCCESS, skipped));
    told = serde_json::from_str(&ran.out).unwrap();
    let mut expected: Value = expected;
    expected["dry_run"] = json!(false);
    expected["snapshot"] = json!("v0002");
    expected["short_id"] = json!(short_id(&desk));
    assert_eq!(told, expected);
    let made = desk.run(&new).out;
    assert!(
        made.starts_with(
            "project acme/new.erp made, owned by ann\n\
             branch main made\n\
             2 files, 300008 bytes imported into acme/new.erp:main, now "
        ),
        "{made}"
    );
}

#[test]
fn what_changes_nothing_takes_no_snapshot_and_says_so() {
    let desk = Desk::with_project();
    let before = snapshots(&desk);
    for (flags, verb) in [
        (&["--mirror"][..], "was"),
        (&[], "was"),
        (&["--dry-run"], "would be"),
        (&["--dry-run", "--mirror"], "would be"),
    ] {
        assert_eq!(
            desk.import(flags),
            format!(
                "unchanged: acme/shop.erp:main has what was taken, 2 files of 8 bytes; no snapshot \
                 {verb} taken\n"
            )
        );
        let told: Value =
            serde_json::from_str(&desk.import(&[flags, &["--json"]].concat())).unwrap();
        assert_eq!(
            [
                &told["files"],
                &told["added"],
                &told["snapshot"],
                &told["short_id"]
            ],
            [&json!(2), &json!(0), &Value::Null, &json!(short_id(&desk))]
        );
    }
    assert_eq!(snapshots(&desk), before);
}

#[test]
fn what_is_excluded_is_left_out_and_kept_by_a_mirror() {
    let desk = Desk::with_project();
    let folder = desk.path("in");
    lay(
        &folder,
        &[
            ("conf/x.bak", ""),
            ("x.bak", ""),
            ("conf/b.xml", "other"),
            ("sub/conf/b.xml", ""),
        ],
    );
    fs::remove_file(folder.join("a.xml")).unwrap();
    let dir = folder.display().to_string();
    let rules = ["--exclude", "*.bak", "--exclude", "/conf/*.xml", "--mirror"];
    let import = ["import", "acme/shop.erp", "main", &dir];
    for (more, done) in [(&["--dry-run"][..], "would be imported"), (&[], "imported")] {
        let ran = desk.run(&[&import[..], &rules, more].concat());
        assert_eq!(ran.err, "skipped: 3 excluded\n");
        let head = format!("1 file, 0 bytes {done} into acme/shop.erp:main");
        assert!(ran.out.starts_with(&head), "{ran:?}");
        assert!(
            ran.out.contains(": 1 added, 0 changed, 1 removed\n"),
            "{ran:?}"
        );
    }
    assert_eq!(
        desk.done(&["ls", "-r", "acme/shop.erp"]),
        "conf/b.xml\nsub/conf/b.xml\n"
    );
    assert_eq!(
        desk.done(&["cat", "acme/shop.erp", "main", "conf/b.xml"]),
        "<b/>"
    );
}

#[test]
fn of_much_that_is_skipped_the_first_is_named_and_all_is_counted() {
    let desk = Desk::with_project();
    let dir = desk.path("in").display().to_string();
    let import = ["import", "acme/shop.erp", "main", &dir];
    let link = |number: u32| {
        let name = format!("link{number:04}");
        symlink("/nowhere", desk.path("in").join(name)).unwrap();
    };
    let named = |count: u32| -> String {
        let line = |n| format!("skipped {dir}/link{n:04}: it is a symbolic link\n");
        (0..count).map(line).collect()
    };
    (0..20).for_each(link);
    assert_eq!(
        desk.run(&import).err,
        format!("{}skipped: 20 symbolic links\n", named(20))
    );
    (20..763).for_each(link);
    let _socket = UnixListener::bind(desk.path("in/socket")).unwrap();
    assert_eq!(
        desk.run(&import).err,
        format!(
            "{}skipped: 763 symbolic links, 1 special file; the first 20 are named, all with --verbose\n",
            named(20)
        )
    );
    assert_eq!(
        desk.run(&[&import[..], &["--verbose"]].concat()).err,
        format!(
            "{}skipped {dir}/socket: it is no regular file\nskipped: 763 symbolic links, 1 special file\n",
            named(763)
        )
    );
    for number in 0..30 {
        fs::write(desk.path("in").join(format!("0large{number}")), "12345").unwrap();
    }
    let said = desk.refused(1, &[&import[..], &["--file-bytes-max", "4"]].concat());
    assert_eq!(said.lines().count(), 21, "{said}");
    assert!(
        said.ends_with(
            "siteconf: 30 too large; the first 20 are named, all with --verbose: nothing was saved; \
             --skip-unreadable leaves them out\n"
        ),
        "{said}"
    );
}

#[test]
fn links_are_followed_within_the_folder() {
    let desk = Desk::with_project();
    let folder = desk.path("in");
    symlink("a.xml", folder.join("copy.xml")).unwrap();
    symlink("conf", folder.join("conf2")).unwrap();
    symlink("../data", folder.join("data")).unwrap();
    let dir = folder.display().to_string();
    let import = ["import", "acme/shop.erp", "main", &dir, "--follow-links"];
    let ran = desk.run(&import);
    assert_eq!(
        ran.err,
        format!(
            "skipped {dir}/data: it is a symbolic link that leads out of the folder\n\
             skipped: 1 symbolic link\n"
        )
    );
    assert!(
        ran.out.contains(": 2 added, 0 changed, 0 removed\n"),
        "{ran:?}"
    );
    assert_eq!(
        desk.done(&["ls", "-r", "acme/shop.erp"]),
        "a.xml\nconf/b.xml\nconf2/b.xml\ncopy.xml\n"
    );
    // Not followed, they are no change: what is there stays.
    assert!(desk.run(&import[..4]).out.starts_with("unchanged: "));
}

#[test]
fn the_history_tells_the_message_the_author_and_the_date_that_were_given() {
    let desk = Desk::with_project();
    let dir = desk.path("in").display().to_string();
    let old = [
        "import",
        "acme/old.erp",
        "main",
        &dir,
        "--owner",
        "ann",
        "--as",
        "ann",
        "--message",
        "from the old server",
        "--date",
        "2020-02-03T04:05:06Z",
    ];
    desk.done(&old);
    let history = desk.json(&["history", "acme/old.erp", "main", "--json"]);
    assert_eq!(
        [
            &history[0]["at"],
            &history[0]["by"],
            &history[0]["message"],
            &history[1]["at"]
        ],
        [
            &json!("2020-02-03T04:05:06.000Z"),
            &json!("ann"),
            &json!("from the old server"),
            &json!("2020-02-03T04:05:06.000Z"),
        ],
        "{history}"
    );
    let log = desk.done(&["audit", "--project", "acme/old.erp", "--json"]);
    let last: Value = serde_json::from_str(log.lines().last().unwrap()).unwrap();
    let by = last["by"].as_str().unwrap();
    assert!(by.starts_with("ann (command line: "), "{by}");
    assert_eq!(last["detail"], "dated 2020-02-03T04:05:06.000Z");

    let import = ["import", "acme/old.erp", "main", &dir];
    let wrong = |code, more: &[&str]| desk.refused(code, &[&import[..], more].concat());
    for dry_run in [&[][..], &["--dry-run"]] {
        assert_eq!(
            wrong(1, &[&["--date", "2020-02-03"][..], dry_run].concat()),
            "siteconf: the branch was last changed at 2020-02-03T04:05:06.000Z, and the dates of a branch do \
             not go back: 2020-02-03T00:00:00.000Z is too early\n"
        );
    }
    assert_eq!(
        wrong(2, &["--date", "9999-01-01"]),
        "siteconf: --date 9999-01-01T00:00:00.000Z is in the future\n"
    );
    assert_eq!(
        wrong(2, &["--date", "yesterday"]),
        "siteconf: --date \"yesterday\" is no time: it must be as in 2026-11-21T14:30:00Z, or a day as in \
         2026-11-21\n"
    );
    assert_eq!(
        wrong(1, &["--as", "nobody"]),
        "siteconf: there is no user \"nobody\"; \"siteconf user list\" names all\n"
    );
    let control = "holds a control character that is no line end and no tab";
    for (message, refused) in [
        ("", "is empty"),
        ("a\u{1b}[2J", control),
        (&"x".repeat(4097), "is longer than 4096 bytes"),
    ] {
        let refused = format!("siteconf: --message {refused}\n");
        assert_eq!(wrong(2, &["--message", message]), refused);
        for other in [&["put"][..], &["rm"], &["rm", "-r"]] {
            let words = [
                other,
                &["acme/old.erp", "main", "a.xml", "--message", message],
            ]
            .concat();
            assert_eq!(desk.refused(2, &words), refused);
        }
    }
    assert_eq!(
        wrong(2, &["--exclude", "*.bak", "--exclude", "[a"]),
        "siteconf: --exclude \"[a\" is no pattern: unclosed character class; missing ']'\n"
    );
    assert_eq!(
        wrong(2, &["--exclude", ""]),
        "siteconf: --exclude \"\" is no pattern: it names nothing\n"
    );
}
