//! Every command that `help` lists, run as it is meant to be.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::stage::{Stage, command};
use crate::terminal::Terminal;

/// The help of a command, which must be there.
fn help(command: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_siteconf"))
        .arg("help")
        .args(command)
        .output()
        .unwrap();
    assert!(output.status.success(), "{command:?}: {output:?}");
    assert!(output.stderr.is_empty(), "{command:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Every command that does something, by its words, as the helps list them.
fn commands_below(above: &[&str], found: &mut BTreeSet<String>) {
    let help = help(above);
    assert!(help.contains("Usage: siteconf"), "{above:?}: {help}");
    let listed = help.split_once("\nCommands:\n").map(|(_, listed)| listed);
    // Also where others are below it.
    if listed.is_none() || help.contains("\nArguments:\n") {
        found.insert(above.join(" "));
    }
    let lines = listed.into_iter().flat_map(str::lines);
    let lines = lines.take_while(|line| !line.is_empty());
    let names = lines.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    for name in names.filter(|name| !name.is_empty() && *name != "help") {
        commands_below(&[above, &[name]].concat(), found);
    }
}

/// A command that is missing here fails the test: add it where the store has what it needs.
#[test]
#[expect(clippy::too_many_lines, reason = "one list of all commands")]
fn every_command_of_the_help_does_its_work() {
    let stage = Stage::new();
    let path = |name: &str| stage.shown(name);
    let (files, file) = (path("in"), path("in/a.xml"));
    let (tree, out, backup, manual) = (path("tree"), path("out"), path("backup"), path("man"));
    stage.lay("tree/user/bob/acme/till.erp/main", &[("a.xml", "<a/>")]);
    let role = "ROLE_SITEBUILDER_USER__acme";
    let listed = stage.done(&["ls", "acme/shop.erp", "main", "a.xml", "--json"]);
    let listed: Value = serde_json::from_str(&listed).unwrap();
    let blob = listed[0]["blob"].as_str().unwrap();
    let done: &[(&str, &[&str])] = &[
        ("status", &[]),
        ("user add", &["eve", "--role", role]),
        ("user list", &[]),
        ("user show", &["eve"]),
        ("user rename", &["eve", "eva"]),
        ("user passwd", &["eva"]),
        ("user disable", &["eva"]),
        ("user enable", &["eva"]),
        ("user role list", &["eva"]),
        ("user role add", &["eva", "ROLE_SITEBUILDER_USER"]),
        ("user role remove", &["eva", role]),
        ("token create", &["--user", "eva", "--name", "m", "--all"]),
        ("token list", &["--unused", "90d"]),
        ("token show", &["2"]),
        ("token update", &["2", "--expires", "30d"]),
        ("token rotate", &["2", "--grace", "7d"]),
        ("token revoke", &["2"]),
        ("user remove", &["eva"]),
        ("project create", &["acme/new.erp", "--owner", "ann"]),
        ("project show", &["acme/new.erp"]),
        ("project list", &[]),
        ("project rename", &["acme/new.erp", "acme/newer.erp"]),
        ("project transfer", &["acme/newer.erp", "dave"]),
        ("project keep", &["acme/newer.erp", "--snapshots", "9"]),
        ("project rules", &["acme/newer.erp", "--none"]),
        ("project validate", &["acme/newer.erp"]),
        ("project delete", &["acme/newer.erp"]),
        ("project restore", &["acme/newer.erp"]),
        (
            "branch create",
            &["acme/shop.erp", "test", "--from", "main"],
        ),
        ("branch list", &["acme/shop.erp"]),
        ("branch delete", &["acme/shop.erp", "test"]),
        ("branch restore", &["acme/shop.erp", "test"]),
        ("ls", &["acme/shop.erp", "-l"]),
        ("cat", &["acme/shop.erp", "main", "a.xml"]),
        ("put", &["acme/shop.erp", "main", "c.xml", &file]),
        ("rm", &["acme/shop.erp", "main", "conf", "-r"]),
        ("history", &["acme/shop.erp", "main"]),
        ("diff", &["acme/shop.erp", "main@v0002", "--text"]),
        ("rollback", &["acme/shop.erp", "main", "v0002"]),
        ("import", &["acme/shop.erp", "dev", &files]),
        ("migrate-tree", &[&tree]),
        ("export", &["acme/shop.erp", "main", &out]),
        ("prune", &["--keep-snapshots", "1"]),
        ("gc", &[]),
        ("backup", &[&backup]),
        ("backup verify", &[&backup]),
        ("audit", &["--since", "1d"]),
        ("debug refs", &[]),
        ("debug history", &["acme/shop.erp:main"]),
        ("debug manifest", &["acme/shop.erp:main"]),
        ("debug digest", &["acme/shop.erp:main"]),
        ("debug diff", &["acme/shop.erp:main", "acme/shop.erp:dev"]),
        ("debug object", &[blob]),
        ("debug stats", &[]),
        ("debug check", &["--deep"]),
        ("upgrade", &[]),
        ("config check", &[]),
        ("config print", &[]),
        ("completions", &["bash"]),
        ("man", &[&manual]),
        ("example", &["systemd"]),
    ];
    let mut tried: BTreeSet<String> = BTreeSet::new();
    for (name, rest) in done {
        let words: Vec<_> = name.split(' ').chain(rest.iter().copied()).collect();
        let said = stage.done(&words);
        // What has a result tells it.
        let is_silent = [
            "user rename",
            "user disable",
            "user enable",
            "user role add",
            "user role remove",
            "user remove",
            "token update",
            "token revoke",
            "project create",
            "project rename",
            "project transfer",
            "project rules",
            // What breaks rules is listed; that nothing does is told beside.
            "project validate",
            "branch create",
            "put",
            "rm",
        ];
        assert_eq!(
            said.is_empty(),
            is_silent.contains(name),
            "{name}: {said:?}"
        );
        tried.insert((*name).to_owned());
    }
    // Those that make a store, and the one that serves it.
    for (name, rest) in [("init", &[][..]), ("restore", &[&backup[..]])] {
        let data = stage.path(&format!("of {name}"));
        let made = command(&data, &[&[name], rest].concat()).output().unwrap();
        assert!(made.status.success(), "{made:?}");
        assert!(fs::exists(data.join("FORMAT")).unwrap());
        tried.insert(name.to_owned());
    }
    let token = stage.done(&["token", "create", "--user", "ann", "--name", "p", "--all"]);
    let mut serving = Terminal::run(stage.command(&["serve", "--listen", "127.0.0.1:0"]));
    serving.wait_for("listening on ");
    let address = serving.wait_for("\n");
    let pulled = stage.path("pulled");
    let mut pull = Command::new(env!("CARGO_BIN_EXE_siteconf"));
    pull.args(["pull", address.trim_end(), "acme/shop.erp", "main"])
        .arg(&pulled)
        .env("SITECONF_TOKEN", token);
    let pull = pull.output().unwrap();
    assert!(pull.status.success(), "{pull:?}");
    assert!(fs::exists(pulled.join("a.xml")).unwrap());
    tried.insert("pull".to_owned());
    serving.type_in("\u{3}");
    assert_eq!(serving.end().code, Some(0));
    tried.insert("serve".to_owned());

    let copied = stage.path("copied");
    let from = stage.path("data");
    stage.done(&[
        "copy",
        "--from",
        from.to_str().unwrap(),
        "--to",
        copied.to_str().unwrap(),
    ]);
    assert!(fs::exists(copied.join("FORMAT")).unwrap());
    tried.insert("copy".to_owned());
    // This one is for a store in a database, and says what is for a folder.
    let refused = stage.command(&["migrate"]).output().unwrap();
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(said.contains("siteconf upgrade --data "), "{said}");
    tried.insert("migrate".to_owned());

    let mut known = BTreeSet::new();
    commands_below(&[], &mut known);
    assert_eq!(tried, known);
}
