//! Completions and pages of the manual, read by the programs that they are for.

use std::env;
use std::fs;
use std::process::Command;

use super::Desk;

/// True if a program is here. In CI it must be.
#[expect(clippy::print_stderr, reason = "a skipped test must be seen")]
fn is_here(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output().is_ok();
    if !found {
        assert!(
            env::var_os("CI").is_none_or(|ci| ci != "true"),
            "{program} is not installed"
        );
        eprintln!("left out: {program} is not installed");
    }
    found
}

#[test]
fn completions_load_in_their_shells() {
    let desk = Desk::new();
    for (shell, load) in [
        ("bash", "source \"$1\" && complete -p siteconf"),
        (
            "zsh",
            "autoload -U compinit && compinit -u -D && source \"$1\" && print $_comps[siteconf]",
        ),
        ("fish", "source $argv[1]; and complete -c siteconf"),
    ] {
        let text = desk.done(&["completions", shell]);
        assert!(text.contains("revoke"), "{shell}: a command is missing");
        if !is_here(shell) {
            continue;
        }
        let path = desk.path(shell);
        fs::write(&path, text).unwrap();
        let mut command = Command::new(shell);
        match shell {
            "fish" => command.args(["--no-config", "-c", load]),
            "bash" => command.args(["--norc", "-c", load, shell]),
            _ => command.args(["-f", "-c", load, shell]),
        };
        let ran = command
            .arg(&path)
            .env("HOME", desk.path(""))
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success() && said.is_empty(), "{shell}: {said}");
        let shown = String::from_utf8_lossy(&ran.stdout);
        assert!(shown.contains("siteconf"), "{shell}: {shown}");
    }
}

#[test]
fn every_command_has_a_page_that_man_reads_without_a_warning() {
    let desk = Desk::new();
    let dir = desk.path("man/man1");
    let said = desk.done(&["man", &dir.display().to_string()]);
    let mut pages: Vec<_> = fs::read_dir(&dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    pages.sort();
    assert_eq!(
        said,
        format!("{} pages in {}\n", pages.len(), dir.display())
    );
    for page in [
        "siteconf.1",
        "siteconf-token-create.1",
        "siteconf-user-role-add.1",
    ] {
        assert!(pages.iter().any(|made| made == page), "{pages:?}");
    }
    let text = fs::read_to_string(dir.join("siteconf-token-create.1")).unwrap();
    for part in ["siteconf token create", "\\-\\-expires", "\\-\\-data"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let text = fs::read_to_string(dir.join("siteconf-serve.1")).unwrap();
    for part in ["SITECONF_DATA", "SITECONF_LISTEN", "SITECONF_CONFIG"] {
        let said = format!("May also be specified with the \\fB{part}\\fR environment variable.");
        assert!(text.contains(&said), "{part}: {text}");
    }
    if !is_here("man") || !is_here("groff") {
        return;
    }
    for page in pages {
        let ran = Command::new("man")
            .args(["--warnings", "--local-file", "--encoding=UTF-8"])
            .arg(dir.join(&page))
            .env("LC_ALL", "C.UTF-8")
            .env("MANWIDTH", "80")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success() && said.is_empty(), "{page}: {said}");
        let shown = String::from_utf8_lossy(&ran.stdout);
        let (_, last) = shown.split_once("\nEXIT STATUS\n").unwrap();
        let codes = last.lines().filter_map(|line| {
            let word = line.strip_prefix("       ")?.split(' ').next()?;
            word.parse::<u8>().ok()
        });
        assert_eq!(codes.collect::<Vec<_>>(), [0, 1, 2, 130, 143], "{shown}");
    }
}
