//! Long work on a terminal: one line that overwrites itself and fits, and is gone at the end. Elsewhere
//! there is nothing of it.

use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::stage::Stage;
use crate::terminal::{Ended, Terminal};

/// Wipes the line and begins it again.
const WIPE: &str = "\r\u{1b}[K";

/// Everything that shows how far it is, in an order in which each has something to do.
fn long_ones(stage: &Stage) -> Vec<Vec<String>> {
    stage.lay(
        "tree/user/ann/acme/till.erp/main",
        &[("a.xml", "<a/>"), ("b.xml", "<b/>")],
    );
    stage.lay("in", &[("c.xml", "<c/>")]);
    let [files, tree, out, backup, restored] =
        ["in", "tree", "out", "backup", "restored"].map(|name| stage.shown(name));
    [
        &["import", "acme/shop.erp", "main", &files][..],
        &["export", "acme/shop.erp", "main", &out],
        &["migrate-tree", &tree, "--dry-run"],
        &["migrate-tree", &tree],
        &["migrate-tree", &tree, "--verify"],
        &["debug", "stats"],
        &["debug", "check"],
        &["debug", "check", "--deep"],
        &["status", "--weigh"],
        &["prune", "--keep-snapshots", "1", "--dry-run"],
        &["prune", "--keep-snapshots", "1"],
        &["gc", "--dry-run"],
        &["gc"],
        &["backup", &backup],
        &["backup", "verify", &backup],
        &["--data", &restored, "restore", &backup],
    ]
    .iter()
    .map(|words| words.iter().map(|word| (*word).to_owned()).collect())
    .collect()
}

/// The command on the store, unless it names another.
fn command(stage: &Stage, words: &[String]) -> Command {
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["--data", folder, ..] => crate::stage::command(folder.as_ref(), &words[2..]),
        _ => stage.command(&words),
    }
}

#[test]
fn a_terminal_shows_one_line_that_goes_before_the_result() {
    let stage = Stage::new();
    for words in long_ones(&stage) {
        let Ended { code, shown, .. } = Terminal::run_in(24, command(&stage, &words)).end();
        assert_eq!(code, Some(0), "{words:?}: {shown}");
        let parts: Vec<_> = shown.split(WIPE).collect();
        let [before, steps @ .., result] = &parts[..] else {
            panic!("{words:?}: {shown:?}");
        };
        assert!(!steps.is_empty(), "{words:?} shows no progress: {shown:?}");
        assert_eq!(*before, "", "{words:?}: {shown:?}");
        for step in steps {
            let is_line = !step.contains(['\n', '\r', '\u{1b}']);
            assert!(is_line && step.chars().count() < 24, "{words:?}: {shown:?}");
        }
        assert!(!result.contains(['\r', '\u{1b}']), "{words:?}: {shown:?}");
    }
}

/// What is said of a result stands behind it, also where both go to one place.
#[test]
fn a_remark_stands_behind_the_result_that_it_is_about() {
    let stage = Stage::new();
    let words = ["history", "acme/shop.erp", "main", "--limit", "1"];
    let Ended { code, shown, .. } = Terminal::run(stage.command(&words)).end();
    let table = stage.done(&words);
    assert!(table.starts_with("STATE "), "{table}");
    assert_eq!(
        (code, shown),
        (
            Some(0),
            table + "older ones with --before v0002, all with --limit 0\n"
        )
    );
}

#[test]
fn nothing_is_overwritten_where_it_cannot_be() {
    let stage = Stage::new();
    for words in long_ones(&stage) {
        let mut dumb = command(&stage, &words);
        dumb.env("TERM", "dumb");
        let Ended { code, shown, .. } = Terminal::run(dumb).end();
        assert_eq!(code, Some(0), "{words:?}: {shown}");
        assert!(!shown.contains(['\r', '\u{1b}']), "{words:?}: {shown:?}");
    }
    let stage = Stage::new();
    for words in long_ones(&stage) {
        let ran = command(&stage, &words).output().unwrap();
        assert!(ran.status.success(), "{words:?}: {ran:?}");
        assert_eq!(String::from_utf8_lossy(&ran.stderr), "", "{words:?}");
        assert!(!ran.stdout.contains(&0x1b), "{words:?}");
    }
}

#[test]
fn the_log_has_colours_on_a_terminal_that_takes_them_and_nowhere_else() {
    for (variable, value, has_colours) in [
        ("NO_COLOR", "", true),
        ("NO_COLOR", "1", false),
        ("TERM", "dumb", false),
    ] {
        let stage = Stage::new();
        let mut serve = stage.command(&["serve", "--listen", "127.0.0.1:0", "--log", "info"]);
        serve.env(variable, value);
        let mut terminal = Terminal::run(serve);
        // A line of the log, and not its last one: a service that ends waits for no slow terminal.
        terminal.wait_for("serving");
        terminal.type_in("\u{3}");
        let Ended { code, shown, .. } = terminal.end();
        assert_eq!(code, Some(0), "{shown}");
        assert_eq!(
            shown.contains('\u{1b}'),
            has_colours,
            "{variable}: {shown:?}"
        );
    }
    let stage = Stage::new();
    let mut text = stage.command(&["serve", "--log-format", "text", "--listen", "8.8.8.8:1"]);
    let ran = text.stdout(Stdio::piped()).output().unwrap();
    assert!(!ran.stderr.contains(&0x1b), "{ran:?}");
}

/// The terminal is held with Ctrl-S before it begins, so that the work waits where it shows how far it is.
#[test]
fn an_export_that_is_interrupted_leaves_nothing() {
    let stage = Stage::new();
    for is_there in [false, true] {
        let (out, words) = (stage.path("out"), stage.shown("out"));
        if is_there {
            fs::create_dir(&out).unwrap();
        }
        let export = stage.command(&["export", "acme/shop.erp", "main", &words]);
        let mut held = Command::new("sh");
        held.args(["-c", "read -r _ && exec \"$@\"", "sh"])
            .arg(export.get_program())
            .args(export.get_args());
        let mut terminal = Terminal::run(held);
        terminal.type_in("\u{13}\n");
        let end = Instant::now() + Duration::from_secs(30);
        while !fs::exists(out.join("a.xml")).unwrap() && !fs::exists(out.join("conf")).unwrap() {
            assert!(Instant::now() < end, "nothing is written");
            std::thread::yield_now();
        }
        terminal.type_in("\u{3}");
        let Ended { code, shown, .. } = terminal.end();
        assert!(
            shown.ends_with("siteconf: interrupted; nothing half is left\n"),
            "{shown:?}"
        );
        assert_eq!(code, Some(130));
        assert_eq!(out.exists(), is_there);
        if is_there {
            assert_eq!(fs::read_dir(&out).unwrap().count(), 0);
        }
    }
}

/// Helps fold to the width, and have no colours.
#[test]
fn a_help_fits_the_terminal() {
    let stage = Stage::with_nothing();
    for words in [&["--help"][..], &["help", "user", "add"]] {
        let Ended { code, shown, .. } = Terminal::run_in(60, stage.command(words)).end();
        assert_eq!(code, Some(0));
        assert!(!shown.contains('\u{1b}'), "{shown:?}");
        for line in shown.lines() {
            // A word that is longer than the room stands alone.
            let fits = line.chars().count() <= 60 || line.trim().split(' ').count() == 1;
            assert!(fits, "{line:?}");
        }
    }
}
