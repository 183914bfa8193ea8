//! What a person is told of a change that was made, where their terminal takes no more.

use std::fs::File;
use std::process::ExitCode;

use super::Desk;
use crate::cli::{Streams, run_on};

#[test]
fn a_change_that_cannot_be_told_on_a_terminal_was_made() {
    let desk = Desk::with_project();
    desk.account("bob", &[]);
    let file = desk.path("in/a.xml").display().to_string();
    let make = [
        "token", "create", "--user", "ann", "--name", "till", "--all", "--json",
    ];
    let made = desk.json(&make);
    let token = made["tokenId"].as_str().unwrap();
    let auditor = "ROLE_SITEBUILDER_EDITOR__READONLY";
    let undo = "; undo it with \"siteconf rollback acme/shop.erp main";
    for (words, undo) in [
        (
            &["put", "acme/shop.erp", "main", "b.xml", &file][..],
            format!("{undo} v0002 --path=b.xml\""),
        ),
        (
            &["rm", "acme/shop.erp", "main", "b.xml"],
            format!("{undo} v0003 --path=b.xml\""),
        ),
        (&["branch", "create", "acme/shop.erp", "dev"], String::new()),
        (
            &["project", "rules", "acme/shop.erp", "--none"],
            String::new(),
        ),
        (
            &["project", "create", "acme/new.erp", "--owner", "ann"],
            String::new(),
        ),
        (
            &["project", "rename", "acme/new.erp", "acme/newer.erp"],
            String::new(),
        ),
        (
            &["project", "transfer", "acme/newer.erp", "bob"],
            String::new(),
        ),
        (&["user", "rename", "bob", "rob"], String::new()),
        (&["user", "role", "add", "rob", auditor], String::new()),
        (&["user", "role", "remove", "rob", auditor], String::new()),
        (&["user", "disable", "rob"], String::new()),
        (&["user", "enable", "rob"], String::new()),
        (&["token", "update", token, "--name", "desk"], String::new()),
        (&["token", "revoke", token], String::new()),
    ] {
        let mut full = File::options().write(true).open("/dev/full").unwrap();
        let mut err = Vec::new();
        let streams = Streams {
            out_is_terminal: true,
            ..Streams::unseen(&mut full, &mut err)
        };
        let code = run_on(desk.line(words), streams);
        let err = String::from_utf8(err).unwrap();
        let said = format!(
            "siteconf: writing the result: No space left on device (os error 28); the change was made{undo}\n"
        );
        assert_eq!((code, err), (ExitCode::from(1), said), "{words:?}");
    }
    assert_eq!(
        desk.done(&["ls", "-r", "acme/shop.erp", "main"]),
        "a.xml\nconf/b.xml\n"
    );
    let shown = desk.json(&["project", "show", "acme/newer.erp", "--json"]);
    assert_eq!(shown["owner"], "rob");
    assert_eq!(
        desk.json(&["token", "list", "--json"]),
        serde_json::json!([])
    );
}
