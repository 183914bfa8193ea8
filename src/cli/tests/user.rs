//! Accounts and their roles.

use std::fs;
use std::io;
use std::process::ExitCode;

use serde_json::json;

use super::Desk;
use crate::cli::Streams;
use crate::cli::first_start::first_account_of_fleet;
use crate::cli::open_store::OpenStore;
use crate::store::engine::{Engine, Purpose, StoreAddress};

const ACME: &str = "ROLE_SITEBUILDER_USER__acme";
const ROOT: &str = "ROLE_SITEBUILDER_EDITOR__ROOT";

#[test]
fn accounts_are_made_listed_and_changed() {
    let desk = Desk::new();
    let password = desk.account("ann", &[ACME]);
    assert_eq!(password.trim_end().len(), 32);
    desk.done(&[
        "user",
        "role",
        "add",
        "ann",
        "ROLE_SITEBUILDER_EDITOR__PUBLIC",
    ]);
    desk.done(&["user", "role", "remove", "ann", ACME]);
    desk.done(&["user", "disable", "ann"]);
    let mut listed = desk.json(&["user", "list", "--json"]);
    assert!(
        listed[0]["created_at"]
            .take()
            .as_str()
            .unwrap()
            .ends_with('Z')
    );
    assert_eq!(
        listed,
        json!([{
            "name": "ann",
            "enabled": false,
            "created_at": null,
            "roles": ["ROLE_SITEBUILDER_EDITOR__PUBLIC"],
        }])
    );
    desk.done(&["user", "enable", "ann"]);
    let listed = desk.done(&["user", "list"]);
    assert!(listed.starts_with("NAME  STATE    CREATED  "), "{listed}");
    assert!(listed.contains("\nann   enabled  20"), "{listed}");

    assert_ne!(desk.done(&["user", "passwd", "ann"]), password);
    assert_eq!(
        desk.refused(1, &["user", "add", "ann"]),
        "siteconf: the user name \"ann\" is taken\n"
    );
    assert_eq!(
        desk.refused(1, &["user", "disable", "bob"]),
        "siteconf: there is no user \"bob\"; \"siteconf user list\" names all\n"
    );
}

#[test]
fn the_last_account_that_may_do_everything_is_kept() {
    let desk = Desk::new();
    for name in ["ann", "bob"] {
        desk.account(name, &[ROOT]);
    }
    desk.done(&["user", "disable", "ann"]);
    let refusal = format!(
        "siteconf: \"bob\" is the last account with the role {ROOT}; give it to another first, or say --force\n"
    );
    let (disable, strip) = (
        ["user", "disable", "bob"],
        ["user", "role", "remove", "bob", ROOT],
    );
    assert_eq!(desk.refused(1, &disable), refusal);
    assert_eq!(desk.refused(1, &strip), refusal);
    desk.done(&["user", "enable", "ann"]);
    desk.done(&strip);
    desk.done(&["user", "disable", "bob"]);
    desk.done(&["user", "disable", "ann", "--force"]);
}

#[test]
fn a_password_is_taken_from_standard_input() {
    let desk = Desk::new();
    let add = ["user", "add", "ann", "--password-stdin"];
    for wrong in ["", "\n", "eleven byte\n"] {
        let ran = desk.run_with(wrong, &add);
        assert_eq!(
            (ran.code, ran.out + &ran.err),
            (
                ExitCode::from(2),
                "siteconf: malformed password: it must have 12 to 1024 bytes\n".to_owned()
            )
        );
    }
    let ran = desk.run_with("correct horse\n", &add);
    assert_eq!(
        (ran.code, ran.out + &ran.err),
        (ExitCode::SUCCESS, String::new())
    );
    let listed = desk.json(&["user", "list", "--json"]);
    assert_eq!(listed.as_array().unwrap().len(), 1);
}

#[test]
fn an_account_is_shown_renamed_and_removed() {
    let desk = Desk::with_project();
    desk.account("bob", &[ACME]);
    desk.token("bob", &["--all"]);
    let mut shown = desk.json(&["user", "show", "ann", "--json"]);
    assert!(shown["created_at"].take().is_string());
    assert_eq!(
        shown,
        json!({
            "name": "ann",
            "enabled": true,
            "created_at": null,
            "last_login_at": null,
            "roles": [],
            "projects": ["acme/shop.erp"],
            "tokens": 0,
        })
    );
    let text = desk.done(&["user", "show", "bob"]);
    for line in [
        "name        bob",
        "last login  not in the audit log",
        &format!("roles       {ACME}"),
        "projects    -",
        "tokens      1",
    ] {
        assert!(text.lines().any(|l| l == line), "{line}\n{text}");
    }
    let roles = json!([{ "name": "bob", "role": ACME }]);
    assert_eq!(desk.json(&["user", "role", "list", "--json"]), roles);
    assert_eq!(
        desk.json(&["user", "role", "list", "ann", "--json"]),
        json!([])
    );

    assert_eq!(
        desk.refused(1, &["user", "rename", "bob", "ann"]),
        "siteconf: the user name \"ann\" is taken\n"
    );
    assert_eq!(
        desk.said(&["user", "rename", "bob", "rob"]),
        "\"bob\" is \"rob\" now\n"
    );
    assert_eq!(
        desk.refused(1, &["user", "remove", "ann"]),
        "siteconf: \"ann\" owns acme/shop.erp; give each to another account first, as with \"siteconf \
         project transfer acme/shop.erp NAME\", or delete it\n"
    );
    desk.done(&["project", "delete", "acme/shop.erp"]);
    assert_eq!(
        desk.refused(1, &["user", "remove", "ann"]),
        "siteconf: \"ann\" owns what is deleted and can be restored: acme/shop.erp; wait until its time \
         is over, or give it to another account: \"siteconf project restore acme/shop.erp\", then \
         \"siteconf project transfer acme/shop.erp NAME\"\n"
    );
    assert_eq!(
        desk.said(&["user", "remove", "rob"]),
        "\"rob\" is removed; tokens revoked: 1\n"
    );
    assert_eq!(desk.json(&["token", "list", "--json"]), json!([]));
    assert_eq!(
        desk.refused(1, &["user", "show", "rob"]),
        "siteconf: there is no user \"rob\"; \"siteconf user list\" names all\n"
    );
}

#[test]
fn the_last_account_that_may_do_everything_is_not_removed() {
    let desk = Desk::new();
    desk.account("ann", &[ROOT]);
    assert_eq!(
        desk.refused(1, &["user", "remove", "ann"]),
        format!(
            "siteconf: \"ann\" is the last account with the role {ROOT}; give it to another first, or say \
             --force\n"
        )
    );
    desk.done(&["user", "remove", "ann", "--force"]);
    assert_eq!(desk.json(&["user", "list", "--json"]), json!([]));
}

#[test]
fn a_project_is_given_to_an_enabled_account_alone() {
    let desk = Desk::new();
    for name in ["ann", "bob"] {
        desk.account(name, &[]);
    }
    desk.done(&["project", "create", "acme/shop.erp", "--owner", "ann"]);
    let give = |name| ["project", "transfer", "acme/shop.erp", name];
    desk.done(&["user", "disable", "bob"]);
    assert_eq!(
        desk.refused(1, &give("bob")),
        "siteconf: \"bob\" is disabled and is given no project; \"siteconf user enable bob\" lets the account \
         in again\n"
    );
    desk.refused(1, &give("eve"));
    desk.refused(1, &["project", "create", "bob/own.erp", "--owner", "bob"]);
    assert_eq!(
        desk.json(&["user", "show", "bob", "--json"])["projects"],
        json!([])
    );
    // To the one that has it is no change.
    desk.done(&["user", "disable", "ann"]);
    assert_eq!(desk.said(&give("ann")), "ann owns acme/shop.erp already\n");
    desk.done(&["user", "enable", "bob"]);
    desk.done(&give("bob"));
    assert_eq!(
        desk.json(&["user", "show", "bob", "--json"])["projects"],
        json!(["acme/shop.erp"])
    );
}

#[test]
fn a_person_is_told_what_was_done_and_a_script_is_not() {
    let desk = Desk::new();
    desk.account("ann", &[]);
    let role = ACME;
    for (words, said) in [
        (
            &["user", "disable", "ann"][..],
            "\"ann\" is disabled: no login, session or token of it works".to_owned(),
        ),
        (&["user", "enable", "ann"], "\"ann\" is enabled".to_owned()),
        (
            &["user", "role", "add", "ann", role],
            format!("\"ann\" has the role {role}"),
        ),
        (
            &["user", "role", "add", "ann", role],
            format!("\"ann\" had the role already: {role}"),
        ),
        (
            &["user", "role", "remove", "ann", role],
            format!("\"ann\" no longer has the role {role}"),
        ),
        (
            &["user", "role", "remove", "ann", role],
            format!("\"ann\" did not have the role {role}"),
        ),
    ] {
        assert_eq!(desk.said(words), format!("{said}\n"), "{words:?}");
    }
    assert_eq!(desk.done(&["user", "disable", "ann"]), "");
    assert_eq!(desk.done(&["user", "role", "add", "ann", role]), "");
}

#[test]
fn a_new_password_of_a_disabled_account_is_told_to_open_nothing() {
    let desk = Desk::new();
    desk.account("ann", &[]);
    desk.done(&["user", "disable", "ann"]);
    let passwd = ["user", "passwd", "ann"];
    let given = [&passwd[..], &["--password-stdin"]].concat();
    for (words, input, printed) in [(&passwd[..], "", 33), (&given, "correct horse\n", 0)] {
        let ran = desk.run_with(input, words);
        assert_eq!(
            (ran.code, ran.out.len(), ran.err.as_str()),
            (
                ExitCode::SUCCESS,
                printed,
                "siteconf: \"ann\" is disabled, and no login of it works; \"siteconf user enable ann\" lets \
                 it in\n"
            ),
            "{words:?}"
        );
    }
    desk.done(&["user", "enable", "ann"]);
    desk.done(&passwd);
}

#[test]
fn the_first_password_goes_from_its_file_when_another_is_set() {
    let desk = Desk::new();
    let file = desk.path("data/secrets/initial-password");
    let add = ["user", "add", "admin", "--password-stdin"];
    desk.run_with("correct horse\n", &add);
    desk.account("bob", &[]);
    fs::write(&file, "correct horse\n").unwrap();
    desk.done(&["user", "passwd", "bob"]);
    assert!(file.exists(), "it is another's");
    desk.done(&["user", "passwd", "admin"]);
    assert!(!file.exists());
}

#[test]
fn a_first_password_that_cannot_be_shown_is_told_with_what_to_do() {
    let desk = Desk::new();
    let data = StoreAddress::Folder(desk.path("data"));
    let opened = OpenStore::of(Engine::open(&data, None, Purpose::Change).unwrap());
    let mut room = [0; 8];
    let (mut out, mut err) = (io::BufWriter::new(&mut room[..]), Vec::new());
    let streams = &mut Streams::unseen(&mut out, &mut err);
    let said = first_account_of_fleet(&opened.accounts, streams).unwrap_err();
    assert_eq!(
        said.to_string(),
        "writing the password: failed to write the buffered data; the store and its user admin are made, and nobody \
         has seen the password: set another with \"siteconf user passwd admin\" and the same settings"
    );
    desk.done(&["user", "passwd", "admin"]);
}
