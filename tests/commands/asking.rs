//! What asks, on a terminal of its own: a password is not shown, and whatever ends the question leaves
//! the terminal as it was.

use std::fs;
use std::process::{Command, Stdio};

use crate::stage::{Stage, refused};
use crate::terminal::{Ended, Terminal};

const QUESTION: &str = "New password, 12 to 1024 bytes: ";
const AGAIN: &str = "The same again: ";
const GOOD: &str = "correct horse battery";

/// Runs a command before somebody who types each text when the question before it is asked.
#[track_caller]
fn asked(stage: &Stage, words: &[&str], typed: &[(&str, &str)]) -> Ended {
    let mut terminal = Terminal::run(stage.command(words));
    assert!(!words.is_empty());
    for (question, text) in typed {
        terminal.wait_for(question);
        assert!(!terminal.echoes(), "what is typed would be seen");
        terminal.type_in(text);
    }
    terminal.end()
}

fn ended(code: i32, shown: &str) -> Ended {
    Ended {
        code: Some(code),
        shown: shown.to_owned(),
        echoes: true,
    }
}

fn accounts(stage: &Stage) -> usize {
    stage.done(&["user", "list"]).lines().count() - 1
}

#[test]
fn a_password_is_typed_twice_and_not_shown() {
    let stage = Stage::new();
    let typed = format!("{GOOD}\n");
    let done = |name: &str| {
        ended(
            0,
            &format!("{QUESTION}\n{AGAIN}\nthe password of \"{name}\" is set\n"),
        )
    };
    let answers = [(QUESTION, typed.as_str()), (AGAIN, &typed)];
    assert_eq!(
        asked(&stage, &["user", "add", "bob"], &answers),
        done("bob")
    );
    assert_eq!(accounts(&stage), 4);
    // Where a pipe was promised there is a person: nor is it shown then.
    assert_eq!(
        asked(
            &stage,
            &["user", "passwd", "admin", "--password-stdin"],
            &answers
        ),
        done("admin")
    );
    // The first password is gone, with its file; the typed one is the account's.
    let file = stage.path("data/secrets/initial-password");
    assert!(!file.exists());
    fs::write(&file, GOOD).unwrap();
    stage.serve().admin();
}

#[test]
fn what_cannot_be_a_password_is_asked_for_again() {
    let stage = Stage::new();
    let typed = format!("{GOOD}\n");
    let short = "malformed password: it must have 12 to 1024 bytes";
    let guessed = "this password is guessed soon: it is common, the user name, a row of keys, or one of these \
                   repeated; take several words, or let one be made up";
    let answers = [
        (QUESTION, "short\n"),
        (QUESTION, typed.as_str()),
        (AGAIN, "correct horse batterie\n"),
        (QUESTION, &typed),
        (AGAIN, &typed),
    ];
    assert_eq!(
        asked(&stage, &["user", "add", "bob"], &answers),
        ended(
            0,
            &format!(
                "{QUESTION}\n{short}\n{QUESTION}\n{AGAIN}\nthe two passwords differ\n{QUESTION}\n{AGAIN}\n\
                 the password of \"bob\" is set\n"
            )
        )
    );
    let answers = [
        (QUESTION, typed.as_str()),
        (AGAIN, "\n"),
        (QUESTION, "\n"),
        (QUESTION, "password1234\n"),
    ];
    assert_eq!(
        asked(&stage, &["user", "add", "eve"], &answers),
        ended(
            1,
            &format!(
                "{QUESTION}\n{AGAIN}\nthe two passwords differ\n{QUESTION}\n{short}\n{QUESTION}\n\
                 siteconf: {guessed}; nothing was changed\n"
            )
        )
    );
    assert_eq!(accounts(&stage), 4);
}

#[test]
fn a_question_that_is_left_changes_nothing_and_the_terminal_shows_again_what_is_typed() {
    let stage = Stage::new();
    let typed = format!("{GOOD}\n");
    let interrupted = "siteconf: interrupted; nothing half is left\n";
    let left = "siteconf: no password was given, and nothing was changed\n";
    for words in [["user", "add", "bob"], ["user", "passwd", "ann"]] {
        for (typed, expected) in [
            (
                &[(QUESTION, "\u{3}")][..],
                ended(130, &format!("{QUESTION}\n{interrupted}")),
            ),
            (
                &[(QUESTION, &typed), (AGAIN, "corr\u{3}")],
                ended(130, &format!("{QUESTION}\n{AGAIN}\n{interrupted}")),
            ),
            (
                &[(QUESTION, "\u{4}")],
                ended(1, &format!("{QUESTION}\n{left}")),
            ),
            (
                &[(QUESTION, &typed), (AGAIN, "\u{4}")],
                ended(1, &format!("{QUESTION}\n{AGAIN}\n{left}")),
            ),
        ] {
            assert_eq!(asked(&stage, &words, typed), expected, "{words:?}");
        }
    }
    assert_eq!(accounts(&stage), 3);
    let changes = stage.done(&["audit"]);
    assert!(!changes.contains("password-set"), "{changes}");
}

#[test]
fn nobody_is_asked_for_what_will_be_refused() {
    let stage = Stage::new();
    for (words, code, said) in [
        (
            ["user", "add", "ann"],
            1,
            "siteconf: the user name \"ann\" is taken\n",
        ),
        (
            ["user", "passwd", "eve"],
            1,
            "siteconf: there is no user \"eve\"; \"siteconf user list\" names all\n",
        ),
    ] {
        assert_eq!(asked(&stage, &words, &[]), ended(code, said));
    }
}

/// Where nobody can be asked, one is made up, and shown on standard output alone.
#[test]
fn without_a_terminal_a_password_is_made_up_or_read() {
    let stage = Stage::new();
    for words in [["user", "add", "bob"], ["user", "passwd", "ann"]] {
        let made_up = stage.done(&words);
        assert_eq!((made_up.len(), made_up.ends_with('\n')), (33, true));
    }
}

#[test]
fn a_backup_is_neither_written_to_a_terminal_nor_read_from_one() {
    let stage = Stage::new();
    let from = "siteconf: a backup is not read from a terminal; lead a file or another program into it, as in \
                \"zstd -dc FILE | siteconf restore -\"\n";
    for (words, said) in [
        (
            &["backup", "-"][..],
            "siteconf: a backup is not written to a terminal; lead it into a file or another program, as in \
             \"siteconf backup - | zstd > FILE\"\n",
        ),
        (&["backup", "verify", "-"], from),
        (&["restore", "-"], from),
    ] {
        let mut terminal = Terminal::run_in(200, stage.command(words));
        let shown = terminal.wait_for("\n").replace("\r\n", "\n");
        assert_eq!((shown.as_str(), terminal.end().code), (said, Some(2)));
    }
}

/// A person sees it once; a journal would keep it (`a_store_is_made_without_serving_it_and_once`).
#[test]
fn the_first_password_is_shown_on_a_terminal() {
    let stage = Stage::with_nothing();
    let data = stage.shown("data");
    let Ended { code, shown, .. } = Terminal::run_in(200, stage.command(&["init"])).end();
    let file = stage.path("data/secrets/initial-password");
    let password = fs::read_to_string(&file).unwrap();
    assert_eq!(
        (code, shown),
        (
            Some(0),
            format!(
                "first start: user admin, password {}, also in {}\n\
                 {data} holds a store now; \"siteconf serve --data {data}\" serves it\n",
                password.trim_end(),
                file.display()
            )
        )
    );
}

#[test]
fn what_is_printed_once_is_not_made_where_nobody_sees_it() {
    let stage = Stage::new();
    let before = [
        stage.done(&["user", "list"]),
        stage.done(&["token", "list"]),
    ];
    let closed = |words: &[&str]| {
        let mut shell = Command::new("sh");
        shell
            .args([
                "-c",
                "exec \"$0\" \"$@\" >&-",
                env!("CARGO_BIN_EXE_siteconf"),
            ])
            .args(words)
            .arg("--data")
            .arg(stage.path("data"))
            .stdin(Stdio::null());
        shell
    };
    let said = |what: &str| {
        format!(
            "siteconf: standard output leads nowhere, and {what} is printed there, once: run the same with it open"
        )
    };
    let create = ["token", "create", "--user", "ann", "--name", "m", "--all"];
    for (words, what) in [
        (&create[..], "the token"),
        (&["token", "rotate", "1"], "the token"),
        (&["user", "add", "eve"], "the password"),
        (&["user", "passwd", "ann"], "the password"),
    ] {
        refused(&mut closed(words), 1, &said(what));
    }
    let after = [
        stage.done(&["user", "list"]),
        stage.done(&["token", "list"]),
    ];
    assert_eq!(after, before);
    // Who throws it away has said so, and what prints no secret goes on.
    let thrown_away = stage
        .command(&["user", "add", "eve"])
        .stdout(Stdio::null())
        .status();
    assert!(thrown_away.unwrap().success());
    assert!(
        closed(&["user", "disable", "eve"])
            .status()
            .unwrap()
            .success()
    );
}
