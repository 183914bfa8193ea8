//! What commands leave in the audit log: those that change something one record each, the others none.

use std::process::ExitCode;

use clap::CommandFactory as _;
use serde_json::Value;

use super::{Desk, lay};
use crate::cli::args::Cli;

/// Every entry of the log, oldest first.
fn log(desk: &Desk) -> Vec<Value> {
    let shown = desk.done(&["audit", "--json"]);
    let entry = |line| serde_json::from_str(line).unwrap();
    shown.lines().map(entry).collect()
}

/// The commands that have no commands of their own, by their words.
fn leaves(command: &clap::Command, before: &str, into: &mut Vec<String>) {
    for command in command.get_subcommands() {
        let words = format!("{before} {}", command.get_name());
        if command.has_subcommands() {
            leaves(command, &words, into);
        } else {
            into.push(words.trim_start().to_owned());
        }
    }
}

#[test]
fn each_command_that_changes_something_leaves_exactly_one_record() {
    let desk = Desk::with_project();
    let made = desk.token("ann", &["--all"]);
    desk.account("old", &[]);
    desk.account("gone", &[]);
    let dir = desk.path("in").display().to_string();
    let out = desk.path("out").display().to_string();
    let manual = desk.path("man").display().to_string();
    lay(&desk.path("in"), &[("c.xml", "<c/>")]);
    let file = desk.path("in/c.xml").display().to_string();
    let tree = desk.path("tree").display().to_string();
    lay(
        &desk.path("tree/user/ann/acme/shop.erp/old"),
        &[("a.xml", "<a/>")],
    );
    let role = "ROLE_SITEBUILDER_USER__acme";
    let mut commands = Vec::new();
    leaves(&Cli::command(), "", &mut commands);
    assert!(commands.len() > 20, "{commands:?}");
    for command in commands {
        let (rest, action): (&[&str], _) = match command.as_str() {
            "user add" => (&["eve"], Some("account-created")),
            "user rename" => (&["old", "fred"], Some("account-renamed")),
            "user remove" => (&["gone"], Some("account-removed")),
            "user show" => (&["ann"], None),
            "token show" => (&["1"], None),
            "token update" => (&["1", "--name", "o"], Some("token-changed")),
            "token rotate" => (&["1"], Some("token-rotated")),
            "user passwd" => (&["ann"], Some("password-set")),
            "user disable" => (&["ann"], Some("account-disabled")),
            "user enable" => (&["ann"], Some("account-enabled")),
            "user role add" => (&["ann", role], Some("role-added")),
            "user role remove" => (&["ann", role], Some("role-removed")),
            "token create" => (
                &["--user", "ann", "--name", "m", "--all"],
                Some("token-created"),
            ),
            "token revoke" => (&["1"], Some("token-revoked")),
            "import" => (&["acme/shop.erp", "main", &dir], Some("import")),
            "put" => (&["acme/shop.erp", "main", "p.xml", &file], Some("save")),
            "rm" => (&["acme/shop.erp", "main", "a.xml"], Some("delete")),
            "rollback" => (&["acme/shop.erp", "main", "v0001"], Some("rollback")),
            "project create" => (&["acme/new.erp", "--owner", "ann"], Some("project-created")),
            "project rename" => (&["acme/new.erp", "acme/newer.erp"], Some("project-renamed")),
            "project transfer" => (&["acme/newer.erp", "eve"], Some("project-transferred")),
            "branch create" => (&["acme/shop.erp", "new"], Some("branch-created")),
            "migrate-tree" => (&[&tree], Some("branch-created")),
            "branch delete" => (&["acme/shop.erp", "main"], Some("branch-deleted")),
            "branch restore" => (&["acme/shop.erp", "main"], Some("branch-restored")),
            "project delete" => (&["acme/shop.erp"], Some("project-deleted")),
            "project restore" => (&["acme/shop.erp"], Some("project-restored")),
            "project keep" => (
                &["acme/shop.erp", "--snapshots", "1"],
                Some("project-retention"),
            ),
            "project rules" => (&["acme/shop.erp", "--none"], Some("project-rules")),
            "prune" => (&[], Some("prune")),
            "gc" => (&[], Some("gc")),
            // The folder that "upgrade" finds has today's format.
            "status" | "user list" | "token list" | "project list" | "audit" | "debug refs"
            | "debug stats" | "debug check" | "user role list" | "config check"
            | "config print" | "upgrade" => (&[], None),
            "export" => (&["acme/shop.erp", "main", &out], None),
            "project show" | "project validate" | "branch list" | "ls" => {
                (&["acme/shop.erp"], None)
            }
            "cat" => (&["acme/shop.erp", "main", "a.xml"], None),
            "history" => (&["acme/shop.erp", "main"], None),
            "diff" => (&["acme/shop.erp", "main@v0001"], None),
            "debug history" | "debug manifest" | "debug digest" => (&["acme/shop.erp:main"], None),
            "debug diff" => (&["acme/shop.erp:main", "acme/shop.erp:main"], None),
            "completions" => (&["bash"], None),
            "man" => (&[&manual], None),
            // None of them changes this store: a pull opens none, a copy is another, a migration is for a database,
            // there is a store already, the service's changes are its routes', an object's id is known only to who made
            // it, a backup and what is made of one lie elsewhere.
            "pull" | "copy" | "migrate" | "init" | "example" | "serve" | "debug object"
            | "backup verify" | "restore" => continue,
            other => panic!("{other}: say here what it leaves in the audit log"),
        };
        let before = log(&desk).len();
        let words: Vec<_> = command.split(' ').chain(rest.iter().copied()).collect();
        desk.done(&words);
        let log = log(&desk);
        let left: Vec<_> = log[before..].iter().map(|entry| &entry["action"]).collect();
        assert_eq!(left, Vec::from_iter(action), "{command}");
        if let [entry] = &log[before..] {
            let by = entry["by"].as_str().unwrap();
            assert!(by.starts_with("command line ("), "{by}");
        }
    }
    let all = desk.done(&["audit", "--json"]);
    assert!(!all.contains(made.trim()), "a token is told");
}

#[test]
fn what_can_be_no_name_is_refused() {
    let desk = Desk::new();
    let user = "it must be 1 to 64 letters, digits, \".\", \"_\", \"-\", \"@\" and start with a letter or digit";
    let project = "it must be a name, a dot and a type, as in acme/shop.erp";
    for (flag, text, said) in [
        ("--user", "", format!("user name \"\": {user}")),
        (
            "--user",
            "bad name",
            format!("user name \"bad name\": {user}"),
        ),
        (
            "--user",
            "ann (root",
            format!("user name \"ann (root\": {user}"),
        ),
        ("--project", "", format!("project \"\": {project}")),
        (
            "--project",
            "acme/shop",
            format!("project \"acme/shop\": {project}"),
        ),
    ] {
        for form in [&[][..], &["--json"]] {
            assert_eq!(
                desk.refused(2, &[&["audit", flag, text], form].concat()),
                format!("siteconf: malformed {said}\n")
            );
        }
    }
}

#[test]
fn what_is_gone_has_its_records_and_what_never_was_is_told() {
    let desk = Desk::with_project();
    desk.account("gone", &[]);
    desk.done(&["user", "remove", "gone"]);
    desk.done(&["project", "delete", "acme/shop.erp"]);
    let by = log(&desk)[0]["by"].as_str().unwrap().to_owned();
    for flags in [
        &["--user", "gone"][..],
        &["--project", "acme/shop.erp"],
        &["--user", "command line"],
        &["--user", &by],
    ] {
        let shown = desk.done(&[&["audit", "--json"], flags].concat());
        assert!(!shown.is_empty(), "{flags:?}");
    }
    let later = ["--since", "2100-01-01"];
    for (flags, said) in [
        // Who is there has done nothing.
        (&[&["--user", "ann"], &later[..]].concat()[..], ""),
        (
            &[&["--user", "unknown account"], &later[..]].concat()[..],
            "",
        ),
        (&later, ""),
        (
            &["--user", "amdin"],
            "no record is about the user \"amdin\", and there is no such account now",
        ),
        (
            &[&["--user", "gone"], &later[..]].concat()[..],
            "no record since 2100-01-01T00:00:00.000Z is about the user \"gone\", and there is no such account \
             now",
        ),
        (
            &["--project", "acme/shp.erp"],
            "no record is about the project \"acme/shp.erp\", and there is no such project now",
        ),
        (
            &["--user", "ann", "--project", "acme/shp.erp"],
            "no record is about the user \"ann\" and the project \"acme/shp.erp\", and there is no such project \
             now",
        ),
        (
            &["--user", "amdin", "--project", "acme/shp.erp"],
            "no record is about the user \"amdin\" and the project \"acme/shp.erp\", and there is no such account \
             and no such project now",
        ),
    ] {
        let said = if said.is_empty() {
            String::new()
        } else {
            format!("siteconf: {said}\n")
        };
        let heading = format!(
            "{:24}  {:16}  {:20}  {:15}  WHAT\n",
            "TIME", "ACTION", "BY", "FROM"
        );
        for (form, out) in [(&[][..], heading.as_str()), (&["--json"], "")] {
            let ran = desk.run(&[&["audit"], flags, form].concat());
            assert_eq!(
                (ran.code, ran.out.as_str(), ran.err.as_str()),
                (ExitCode::SUCCESS, out, said.as_str()),
                "{flags:?}"
            );
        }
    }
}
