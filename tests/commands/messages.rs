//! Refusals, whole: what was wrong, which value, what to do; the exit code, and where it is said. And
//! what a success says to a person.

use std::fs;

use crate::stage::{Stage, refused};
use crate::terminal::Terminal;

const REVISION: &str = "it must be a branch, a snapshot as in main@v0007, or a commit id; its branches: \
                        dev, main";
const MOMENT: &str = "YYYY-MM-DD, midnight UTC, or RFC 3339, as in 2027-01-31T10:00:00Z";
const PROJECT_RULE: &str = "it must be a name, a dot and a type, as in acme/shop.erp";

#[test]
#[expect(clippy::too_many_lines, reason = "one list of refusals")]
fn what_is_not_there_is_named_with_where_to_look() {
    let stage = Stage::new();
    let project = "there is no project acme/shp.erp; \"siteconf project list\" names all";
    let user = "there is no user \"eve\"; \"siteconf user list\" names all";
    let token = "there is no token \"7\"; \"siteconf token list\" names all";
    let branch = "there is no branch test in acme/shop.erp; its branches: dev, main";
    let revision = format!("\"test\" names nothing in acme/shop.erp: {REVISION}");
    let snapshot = "there is no snapshot v0009 of main in acme/shop.erp; the newest is v0001, and \
                    \"siteconf history acme/shop.erp main\" lists all";
    let none_yet = "there is no snapshot v0001 of dev in acme/shop.erp; it has none yet, and \
                    \"siteconf history acme/shop.erp dev\" lists all";
    let path = "there is no \"c.xml\" in main of acme/shop.erp; \"siteconf ls -r acme/shop.erp main\" lists \
                what there is";
    let deleted = "names all that can be restored";
    let out = stage.shown("out");
    for (words, said) in [
        (&["project", "show", "acme/shp.erp"][..], project),
        (&["branch", "list", "acme/shp.erp"], project),
        (&["export", "acme/shp.erp", "main", &out], project),
        (&["token", "list", "--repo", "acme/shp.erp"], project),
        (&["project", "transfer", "acme/shp.erp", "ann"], project),
        (
            &[
                "token",
                "create",
                "--user",
                "ann",
                "--name",
                "n",
                "--repo",
                "acme/shp.erp",
            ],
            project,
        ),
        (
            &["token", "update", "1", "--add-repo", "acme/shp.erp"],
            project,
        ),
        (
            &["token", "create", "--user", "eve", "--name", "n", "--all"],
            user,
        ),
        (&["token", "list", "--user", "eve"], user),
        (&["user", "show", "eve"], user),
        (&["user", "passwd", "eve"], user),
        (&["user", "disable", "eve"], user),
        (&["user", "enable", "eve"], user),
        (&["user", "rename", "eve", "eva"], user),
        (&["user", "remove", "eve"], user),
        (&["user", "role", "list", "eve"], user),
        (
            &["user", "role", "add", "eve", "ROLE_SITEBUILDER_USER"],
            user,
        ),
        (
            &["user", "role", "remove", "eve", "ROLE_SITEBUILDER_USER"],
            user,
        ),
        (
            &["project", "create", "acme/new.erp", "--owner", "eve"],
            user,
        ),
        (&["project", "transfer", "acme/shop.erp", "eve"], user),
        (&["token", "show", "7"], token),
        (&["token", "update", "7", "--name", "m"], token),
        (&["token", "rotate", "7"], token),
        (&["token", "revoke", "7"], token),
        (&["history", "acme/shop.erp", "test"], branch),
        (&["branch", "delete", "acme/shop.erp", "test"], branch),
        (&["put", "acme/shop.erp", "test", "c.xml"], branch),
        (&["rm", "acme/shop.erp", "test", "a.xml"], branch),
        (&["rollback", "acme/shop.erp", "test", "v1"], branch),
        (&["export", "acme/shop.erp", "test", &out], &revision),
        (&["ls", "acme/shop.erp", "test"], &revision),
        (&["cat", "acme/shop.erp", "test", "a.xml"], &revision),
        (&["diff", "acme/shop.erp", "main", "test"], &revision),
        (
            &["branch", "create", "acme/shop.erp", "b", "--from", "test"],
            &revision,
        ),
        (&["debug", "digest", "acme/shop.erp:test"], &revision),
        (&["export", "acme/shop.erp", "main@v9", &out], snapshot),
        (&["rollback", "acme/shop.erp", "main", "v9"], snapshot),
        (&["rollback", "acme/shop.erp", "dev", "v1"], none_yet),
        (&["ls", "acme/shop.erp", "main", "c.xml"], path),
        (&["cat", "acme/shop.erp", "main", "c.xml"], path),
        (&["rm", "acme/shop.erp", "main", "c.xml"], path),
        (
            &["project", "restore", "acme/shp.erp"],
            &format!(
                "there is no deleted project acme/shp.erp; \"siteconf project list --deleted\" {deleted}"
            ),
        ),
        (
            &["branch", "restore", "acme/shop.erp", "test"],
            &format!(
                "there is no deleted branch test of acme/shop.erp; \"siteconf project list --deleted\" \
                 {deleted}"
            ),
        ),
        (&["debug", "object", "abcd"], "no object begins with abcd"),
    ] {
        stage.refused(words, 1, &format!("siteconf: {said}"));
    }
    assert!(!stage.path("out").exists());
}

#[test]
#[expect(clippy::too_many_lines, reason = "one list of refusals")]
fn what_cannot_be_read_is_shown_with_its_rule() {
    let stage = Stage::new();
    let user_rule = "it must be 1 to 64 letters, digits, \".\", \"_\", \"-\", \"@\" and start with a letter or \
                     digit";
    let long = "x".repeat(300);
    for (words, said) in [
        (
            &["--log", "verbose", "user", "list"][..],
            "log = \"verbose\" (--log): \"verbose\" is no level: it must be error, warn, info, debug, trace or \
             off, or a part and its level, as in siteconf::store=debug"
                .to_owned(),
        ),
        (
            &["project", "show", "shop"],
            format!("malformed project \"shop\": {PROJECT_RULE}"),
        ),
        (
            &["project", "show", ""],
            format!("malformed project \"\": {PROJECT_RULE}"),
        ),
        (
            &["project", "show", &long],
            format!("malformed project \"{}…\": {PROJECT_RULE}", "x".repeat(200)),
        ),
        (
            &["project", "show", "a\u{1b}[2J\nb"],
            format!("malformed project \"a\\u{{1b}}[2J\\nb\": {PROJECT_RULE}"),
        ),
        (
            &["project", "rename", "acme/shop.erp", "shop"],
            format!("malformed project \"shop\": {PROJECT_RULE}"),
        ),
        (
            &["token", "create", "--user", "ann", "--name", "n", "--repo", "shop"],
            format!("malformed project \"shop\": {PROJECT_RULE}"),
        ),
        (
            &["debug", "digest", "shop:main"],
            format!("malformed project \"shop\": {PROJECT_RULE}"),
        ),
        (
            &["branch", "create", "acme/shop.erp", "a b"],
            "malformed branch name \"a b\": it holds a space or one of \\ ~ ^ : ? * [".to_owned(),
        ),
        (
            &["put", "acme/shop.erp", "main", "conf/"],
            "malformed path \"conf/\": a segment is empty".to_owned(),
        ),
        (
            &["cat", "acme/shop.erp", "main", "../a"],
            "malformed path \"../a\": a segment is \".\" or \"..\"".to_owned(),
        ),
        (
            &["user", "add", "a b"],
            format!("malformed user name \"a b\": {user_rule}"),
        ),
        (
            &["user", "rename", "ann", "a b"],
            format!("malformed user name \"a b\": {user_rule}"),
        ),
        (
            &["rollback", "acme/shop.erp", "main", "7"],
            "malformed snapshot version \"7\": it must be \"v\" and a number, as in v0007".to_owned(),
        ),
        (
            &["diff", "acme/shop.erp", "main"],
            "\"main\" is compared with itself: name a state of before, as in main@v0007, or another revision"
                .to_owned(),
        ),
        (
            &["debug", "digest", "acme/shop.erp"],
            "\"acme/shop.erp\" must be REPO_ID:REVISION, as in acme/shop.erp:main".to_owned(),
        ),
        (
            &["debug", "object", "xyz"],
            "\"xyz\" must be 4 to 64 lower-case hexadecimal digits".to_owned(),
        ),
        (
            &["token", "create", "--user", "ann", "--name", "n", "--all", "--expires", "soon"],
            format!(
                "--expires \"soon\" must be how long from now, as 30d or 12h, or {MOMENT}, or never"
            ),
        ),
        (
            &["token", "list", "--unused", "long"],
            format!("--unused \"long\" must be a length of time, as 30d or 12h, or {MOMENT}"),
        ),
        (
            &["token", "rotate", "1", "--grace", "long"],
            "--grace \"long\" must be a length of time, as 7d or 12h".to_owned(),
        ),
        (
            &["put", "acme/shop.erp", "main", "a.xml", "--file-bytes-max", "1X"],
            "file_bytes_max = \"1X\" (--file-bytes-max): it must be a whole number of bytes, or as 500M or 1G"
                .to_owned(),
        ),
        (
            &["prune", "--keep-days", "36h"],
            "keep_days = \"36h\" (--keep-days): it must be a whole number of days, or as 30d or 12w".to_owned(),
        ),
        (
            &["serve", "--listen", "8080"],
            "listen = 8080 (--listen): it must be an address and a port, as in 127.0.0.1:8080".to_owned(),
        ),
        (
            &["user", "add", "bob", "--password-stdin"],
            "malformed password: it must have 12 to 1024 bytes".to_owned(),
        ),
    ] {
        stage.refused(words, 2, &format!("siteconf: {said}"));
    }
    // What units are there for is taken.
    let token = ["token", "create", "--user", "ann", "--name", "n", "--all"];
    for expires in ["30d", "12w", "never"] {
        stage.done(&[&token[..], &["--expires", expires]].concat());
    }
    let file = stage.shown("in/a.xml");
    let put = ["put", "acme/shop.erp", "main", "a.xml", &file];
    for size in ["1G", "500M", "4"] {
        stage.done(&[&put[..], &["--file-bytes-max", size]].concat());
    }
}

#[test]
fn a_line_that_is_no_command_is_told_what_would_be_one() {
    let stage = Stage::with_nothing();
    let more = "For more information, try '--help'.";
    for (words, said) in [
        (
            &["imprt"][..],
            "error: unrecognized subcommand 'imprt'\n\n  tip: some similar subcommands exist: 'export', \
             'migrate', 'import'\n\nUsage: siteconf [OPTIONS] <COMMAND>\n\n",
        ),
        (
            &["completions", "tcsh"],
            "error: invalid value 'tcsh' for '<SHELL>'\n  [possible values: bash, elvish, fish, powershell, \
             zsh]\n\n  tip: a similar value exists: 'zsh'\n\n",
        ),
        (
            &["user", "role", "add", "ann", "ROLE_ADMIN"],
            "error: invalid value 'ROLE_ADMIN' for '<ROLE>': unknown role \"ROLE_ADMIN\": it must be \
             ROLE_SITEBUILDER_USER, ROLE_SITEBUILDER_USER__<prefix> with a project's name, the start of one up \
             to a \"/\", or a repo id, ROLE_SITEBUILDER_EDITOR__PUBLIC, ROLE_SITEBUILDER_EDITOR__READONLY or \
             ROLE_SITEBUILDER_EDITOR__ROOT\n\n",
        ),
        (
            &["project", "keep", "acme/shop.erp"],
            "error: the following required arguments were not provided:\n  \
             <--snapshots <N>|--days <DAYS>|--all|--as-service>\n\nUsage: siteconf project keep \
             <--snapshots <N>|--days <DAYS>|--all|--as-service> <REPO_ID>\n\n",
        ),
        (
            &["history"],
            "error: the following required arguments were not provided:\n  <REPO_ID>\n  <BRANCH>\n\n\
             Usage: siteconf history <REPO_ID> <BRANCH>\n\n",
        ),
        (
            &["project", "keep", "acme/shop.erp", "--days", "0"],
            "error: invalid value '0' for '--days <DAYS>': it must be at least 1\n\n",
        ),
    ] {
        let said = format!("{said}{more}");
        stage.refused(words, 2, &said);
        // A variable is no part of the line.
        let mut command = stage.command(words);
        let command = command
            .env("SITECONF_DATA", "data")
            .env("SITECONF_LOG", "off");
        refused(command, 2, &said);
    }
}

#[test]
fn what_must_not_be_done_is_told_with_what_to_do_first() {
    let stage = Stage::new();
    stage.done(&["project", "create", "acme/old.erp", "--owner", "dave"]);
    stage.done(&["project", "delete", "acme/old.erp"]);
    let root = "ROLE_SITEBUILDER_EDITOR__ROOT";
    let may_not = "dave may not read acme/shop.erp; give it a role for that first, as with \"siteconf user \
                   role add dave ROLE_SITEBUILDER_USER__acme/shop.erp\"";
    let last = format!(
        "\"admin\" is the last account with the role {root}; give it to another first, or say --force"
    );
    let files = stage.shown("in");
    let data = stage.shown("data");
    let create = ["token", "create", "--user", "dave", "--name", "n", "--repo"];
    for (words, said) in [
        (&[&create[..], &["acme/shop.erp"]].concat()[..], may_not),
        (&["user", "disable", "admin"], &last),
        (&["user", "remove", "admin"], &last),
        (&["user", "role", "remove", "admin", root], &last),
        (
            &["user", "remove", "ann"],
            "\"ann\" owns acme/shop.erp; give each to another account first, as with \"siteconf project \
             transfer acme/shop.erp NAME\", or delete it",
        ),
        (
            &["user", "remove", "dave"],
            "\"dave\" owns what is deleted and can be restored: acme/old.erp; wait until its time is over, or \
             give it to another account: \"siteconf project restore acme/old.erp\", then \"siteconf project \
             transfer acme/old.erp NAME\"",
        ),
        (&["user", "add", "ann"], "the user name \"ann\" is taken"),
        (
            &["user", "rename", "dave", "ann"],
            "the user name \"ann\" is taken",
        ),
        (
            &["project", "create", "acme/shop.erp", "--owner", "ann"],
            "there is a project acme/shop.erp already; \"siteconf project show acme/shop.erp\" shows it",
        ),
        (
            &["branch", "create", "acme/shop.erp", "dev"],
            "there is a branch dev in acme/shop.erp already; \"siteconf branch list acme/shop.erp\" lists all",
        ),
        (
            &["rm", "acme/shop.erp", "main", "conf"],
            "\"conf\" is a folder with 1 file; -r deletes it with all of them",
        ),
        (
            &["cat", "acme/shop.erp", "main", "conf"],
            "\"conf\" is a folder; \"siteconf ls acme/shop.erp main conf\" lists it",
        ),
        (
            &["export", "acme/shop.erp", "main", &files],
            &format!("{files} is not empty; name an empty folder"),
        ),
        (
            &["backup", &data],
            &format!(
                "{data} lies in the data folder; name another place for the backup, best on another disk"
            ),
        ),
        (
            &["backup", "verify", &files],
            &format!("{files}: this is no backup of siteconf"),
        ),
        (
            &["restore", &files],
            &format!(
                "{data}: the folder is not empty (\"store.db\" is in it); a store is restored into an empty \
                 folder, or one that is not there"
            ),
        ),
        (
            &["init"],
            &format!(
                "{data}: there is a store here already; \"siteconf status --data {data}\" shows it"
            ),
        ),
    ] {
        stage.refused(words, 1, &format!("siteconf: {said}"));
    }
    // What was advised works.
    stage.done(&[
        "user",
        "role",
        "add",
        "dave",
        "ROLE_SITEBUILDER_USER__acme/shop.erp",
    ]);
    stage.done(&[&create[..], &["acme/shop.erp"]].concat());
    stage.done(&["project", "transfer", "acme/shop.erp", "dave"]);
    stage.done(&["user", "remove", "ann"]);
}

#[test]
fn a_success_without_a_result_is_one_line_on_a_terminal_and_nothing_in_a_pipe() {
    let role = "ROLE_SITEBUILDER_USER__acme";
    let (before_nobody, before_somebody) = (Stage::new(), Stage::new());
    let undo = "undo it with \"siteconf rollback acme/shop.erp main";
    for (words, said) in [
        (
            &["user", "disable", "dave"][..],
            "\"dave\" is disabled: no login, session or token of it works",
        ),
        (&["user", "enable", "dave"], "\"dave\" is enabled"),
        (
            &["user", "role", "add", "dave", role],
            &format!("\"dave\" has the role {role}"),
        ),
        (
            &["user", "role", "add", "dave", role],
            &format!("\"dave\" had the role already: {role}"),
        ),
        (
            &["user", "role", "remove", "dave", role],
            &format!("\"dave\" no longer has the role {role}"),
        ),
        (
            &["user", "role", "remove", "dave", role],
            &format!("\"dave\" did not have the role {role}"),
        ),
        (
            &["user", "rename", "dave", "david"],
            "\"dave\" is \"david\" now",
        ),
        (
            &["user", "remove", "david"],
            "\"david\" is removed; tokens revoked: 0",
        ),
        (
            &["token", "update", "1", "--name", "m"],
            "token 1 is changed",
        ),
        (&["token", "revoke", "1"], "token 1 is revoked"),
        (
            &["project", "create", "acme/new.erp", "--owner", "ann"],
            "acme/new.erp is made and owned by ann; make a branch with \"siteconf branch create acme/new.erp \
             main\"",
        ),
        (
            &["project", "rename", "acme/new.erp", "acme/newer.erp"],
            "acme/new.erp is acme/newer.erp now; clients that ask for it by name must ask for the new one, and \
             roles for the old one do not open it",
        ),
        (
            &["project", "transfer", "acme/newer.erp", "admin"],
            "admin owns acme/newer.erp now; tokens of the owner before read it on only if a role of that \
             account opens it",
        ),
        (
            &["project", "transfer", "acme/newer.erp", "admin"],
            "admin owns acme/newer.erp already",
        ),
        (
            &[
                "branch",
                "create",
                "acme/shop.erp",
                "test",
                "--from",
                "main",
            ],
            "acme/shop.erp:test is made, with 2 files",
        ),
        (
            &["put", "acme/shop.erp", "main", "empty", "/dev/null"],
            &format!("empty saved in acme/shop.erp:main, 0 bytes; {undo} v0002 --path=empty\""),
        ),
        (
            &["rm", "acme/shop.erp", "main", "a.xml"],
            &format!("a.xml deleted from acme/shop.erp:main; {undo} v0003 --path=a.xml\""),
        ),
    ] {
        assert_eq!(before_nobody.done(words), "", "{words:?}");
        let ended = Terminal::run_in(200, before_somebody.command(words)).end();
        assert_eq!(
            (ended.code, ended.shown),
            (Some(0), format!("{said}\n")),
            "{words:?}"
        );
    }
}

#[test]
fn the_file_of_the_first_password_goes_with_it() {
    let stage = Stage::new();
    let file = stage.path("data/secrets/initial-password");
    let first = fs::read_to_string(&file).unwrap();
    stage.done(&["user", "passwd", "ann"]);
    assert_eq!(fs::read_to_string(&file).unwrap(), first, "it is another's");
    let made_up = stage.done(&["user", "passwd", "admin"]);
    assert_eq!(made_up.trim_end().len(), 32);
    assert_ne!(made_up, first);
    assert!(!file.exists());
}
