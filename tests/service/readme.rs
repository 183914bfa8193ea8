//! The README: what it tells people to type, typed as it stands there.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::daemon::Daemon;

/// Stands between the outputs of two blocks. The README's commands print no such byte.
const MARK: &str = "\u{1e}";

fn readme() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    fs::read_to_string(path).unwrap()
}

/// The text of a section, up to the next one.
fn section(heading: &str) -> String {
    let text = readme();
    let mut sections = text.split("\n## ");
    let found = sections.find_map(|section| section.strip_prefix(heading)?.strip_prefix('\n'));
    found
        .unwrap_or_else(|| panic!("the README has no section \"{heading}\""))
        .to_owned()
}

/// The commands of the walk-through, and of what goes on with its shell, block by block.
fn walk_through() -> Vec<String> {
    let text = section("A walk through it") + &section("Waiting for a change");
    let parts = text.split("\n```sh\n").skip(1);
    let blocks = parts.map(|part| part.split_once("\n```").expect("a block is closed").0);
    blocks.map(str::to_owned).collect()
}

/// A machine without what the README needs must not pass for one on which it works.
fn require(tools: &[&str]) {
    for tool in tools {
        let mut command = Command::new(tool);
        let found = command.arg("--version").stdout(Stdio::null()).status();
        assert!(
            found.is_ok_and(|status| status.success()),
            "\"{tool}\" is needed to run the README and is not on this machine"
        );
    }
}

/// What each block of the walk-through prints, one after the other in one shell.
fn run_walk_through(daemon: &Daemon) -> Vec<String> {
    require(&["bash", "curl", "sed", "grep"]);
    let script = walk_through().join(&format!("\nprintf '{MARK}'\n"));
    let binary = Path::new(env!("CARGO_BIN_EXE_siteconf"));
    let output = Command::new("bash")
        .args(["-euo", "pipefail", "-c", &script])
        .env("BASE", daemon.base())
        .env("DATA", daemon.data())
        .env("BIN", binary.parent().unwrap())
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}\n{said}");
    assert_eq!(said, "");
    text.split(MARK).map(str::to_owned).collect()
}

/// The JSON values that a block prints, one after the other.
#[track_caller]
fn values(printed: &str) -> Vec<Value> {
    let values = serde_json::Deserializer::from_str(printed).into_iter();
    values
        .collect::<Result<_, _>>()
        .unwrap_or_else(|e| panic!("{e}: {printed}"))
}

/// Takes fields out of a value that are others at every run, after a look at them.
fn take(value: &mut Value, fields: &[&str]) {
    for field in fields {
        let taken = value.as_object_mut().unwrap().remove(*field);
        assert!(taken.is_some_and(|taken| !taken.is_null()), "{field}");
    }
}

#[test]
fn the_walk_through_works_as_it_stands() {
    let daemon = Daemon::start();
    let printed = run_walk_through(&daemon);
    let [
        setup,
        login,
        made,
        saved,
        token,
        client_reads,
        again,
        restored,
        waited,
    ] = printed.as_slice()
    else {
        panic!("the walk-through has other blocks: {printed:#?}");
    };
    assert_eq!(setup, "");
    let [login] = values(login).try_into().unwrap();
    assert_eq!(login["username"], "admin");
    assert_eq!(login["roles"], json!(["ROLE_SITEBUILDER_EDITOR__ROOT"]));

    let row: Vec<_> = made.lines().nth(1).unwrap().split_whitespace().collect();
    assert_eq!(row[..5], ["main", "e3b0c442", "0", "0", "0"], "{made}");

    // What `echo '<prices currency="EUR"/>' | md5sum` and `git hash-object` print, and `sha256sum` of
    // the one line of the branch digest.
    let (md5, git_id, short_id) = (
        "3d6daa9c0d86d4ec1172cbd5eefc2264",
        "18dea571a93a05a76f9a863027131df25535ca8e",
        "82a528db",
    );
    let mut saved = values(saved);
    take(&mut saved[0], &["blob"]);
    assert_eq!(
        saved,
        [json!({
            "path": "config/prices.xml", "size": 25, "md5": md5, "git": git_id,
            "snapshot": "v0001", "short_id": short_id,
        })]
    );
    assert_eq!(token, "", "the token goes into a variable");

    let (branches, rest) = client_reads.split_once('\n').unwrap();
    let (tree, raw) = rest.split_once('\n').unwrap();
    let branches = &values(branches)[0];
    assert_eq!(branches.as_array().unwrap().len(), 1);
    assert_eq!(branches[0]["name"], "main");
    assert_eq!(branches[0]["default"], true);
    assert_eq!(branches[0]["commit"]["short_id"], short_id);
    assert_eq!(
        branches[0]["commit"]["id"].as_str().unwrap()[..8],
        *short_id
    );
    let tree = &values(tree)[0];
    let folder_id = &tree[0]["id"];
    assert_eq!(
        *tree,
        json!([
            { "id": folder_id, "name": "config", "type": "tree", "path": "config", "mode": "040000" },
            { "id": git_id, "name": "prices.xml", "type": "blob", "path": "config/prices.xml",
              "mode": "100644" },
        ])
    );
    assert_eq!(raw, "<prices currency=\"EUR\"/>\n\n");

    let (history, rest) = again.split_once("---").unwrap();
    let states: Vec<_> = history
        .lines()
        .skip(1)
        .map(|line| {
            let words: Vec<_> = line.split_whitespace().collect();
            (
                words[0],
                words[1] == short_id,
                line.rsplit_once(": ").unwrap().1,
            )
        })
        .collect();
    assert_eq!(
        states,
        [
            ("head", false, "save config/prices.xml"),
            ("v0002", true, "save config/prices.xml"),
            ("v0001", false, "create branch"),
        ]
    );
    assert_eq!(
        rest,
        " a/config/prices.xml\n+++ b/config/prices.xml\n@@ -1 +1 @@\n-<prices currency=\"EUR\"/>\n\
         +<prices currency=\"USD\"/>\n\
         acme/shop.erp:main is as in v0002 again: 0 files added, 1 modified, 0 deleted; undo it with \
         \"siteconf rollback acme/shop.erp main v0003\"\n"
    );
    assert_eq!(
        restored,
        "<prices currency=\"EUR\"/>\n<prices currency=\"USD\"/>\n"
    );
    assert_eq!(waited, "304\n");
}

/// The rows of the tables of a section, as their cells.
fn rows(section: &str) -> Vec<Vec<String>> {
    let rows = section.lines().filter(|line| line.starts_with('|'));
    rows.filter(|line| !line.starts_with("|---"))
        .map(|line| {
            // A bar inside a cell is written with a backslash.
            let line = line.replace("\\|", "\u{1f}");
            let cells = line.trim_matches('|').split('|');
            cells
                .map(|cell| cell.trim().replace('\u{1f}', "|"))
                .collect()
        })
        .collect()
}

/// What stands in backquotes.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// The help that the program shows for a command.
fn help(command: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_siteconf"))
        .args(command)
        .arg("--help")
        .output()
        .unwrap();
    assert!(output.status.success(), "{command:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// True if the command of this help does something, also where others are below it.
fn is_whole(help: &str) -> bool {
    !help.contains("\nCommands:\n") || help.contains("\nArguments:\n")
}

/// Every command that does something, by its words, as the helps list them.
fn commands_below(above: &[&str], found: &mut BTreeSet<String>) {
    let help = help(above);
    if is_whole(&help) {
        found.insert(above.join(" "));
    }
    let Some((_, listed)) = help.split_once("\nCommands:\n") else {
        return;
    };
    let lines = listed.lines().take_while(|line| !line.is_empty());
    let names = lines.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    for name in names.filter(|name| !name.is_empty() && *name != "help") {
        commands_below(&[above, &[name]].concat(), found);
    }
}

#[test]
fn the_commands_of_the_readme_are_those_of_the_program() {
    let mut named = BTreeSet::new();
    for row in rows(&section("Commands")).iter().skip(1) {
        // A row names a command whole; the others of the row share its first words.
        let mut group: Vec<&str> = Vec::new();
        for text in quoted(&row[0]) {
            let words: Vec<&str> = text
                .split(' ')
                .take_while(|word| {
                    !word.starts_with('-')
                        && word.chars().all(|c| c == '-' || c.is_ascii_lowercase())
                })
                .collect();
            let whole = if group.is_empty() {
                words
            } else {
                [&group[..group.len() - words.len()], &words].concat()
            };
            let help = help(&whole);
            assert!(
                is_whole(&help),
                "\"{}\" is no whole command",
                whole.join(" ")
            );
            let flags = text.split(|c: char| !c.is_ascii_lowercase() && c != '-');
            for flag in flags.filter(|flag| flag.starts_with("--")) {
                let known =
                    help.contains(&format!("{flag} ")) || help.contains(&format!("{flag}\n"));
                assert!(known, "\"{}\" has no {flag}", whole.join(" "));
            }
            named.insert(whole.join(" "));
            group = whole;
        }
    }
    let mut known = BTreeSet::new();
    commands_below(&[], &mut known);
    assert_eq!(named, known);
}

#[test]
fn the_settings_of_the_readme_are_those_of_the_program() {
    let help = help(&["serve"]) + &help(&["prune"]);
    let words = help.split(|c: char| c.is_whitespace() || "[]=".contains(c));
    let words: BTreeSet<_> = words
        .filter(|word| word.starts_with("--") || word.starts_with("SITECONF_"))
        .filter(|word| !["--help", "--dry-run", "--json"].contains(word))
        .collect();
    let table = rows(&section("Settings"));
    let named = table.iter().skip(1).flat_map(|row| &row[1..3]);
    let named: BTreeSet<_> = named.flat_map(|cell| quoted(cell)).collect();
    assert_eq!(named, words);
}

#[test]
fn what_the_readme_points_to_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = readme();
    let targets = text.split("](").skip(1);
    let targets = targets.map(|rest| rest.split_once(')').expect("a link is closed").0);
    let mut count = 0;
    for target in targets.filter(|target| !target.contains("://")) {
        let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
        assert!(
            file.is_empty() || root.join(file).exists(),
            "\"{target}\" is not there"
        );
        if file.is_empty() {
            let headings = text.lines().filter_map(|line| {
                let line = line.strip_prefix("##")?;
                line.trim_start_matches('#').strip_prefix(' ')
            });
            let mut anchors = headings.map(|h| h.to_lowercase().replace(' ', "-"));
            assert!(
                anchors.any(|known| known == anchor),
                "no heading \"{anchor}\""
            );
        }
        count += 1;
    }
    assert!(
        count > 0,
        "the README points to its format document at least"
    );
}
