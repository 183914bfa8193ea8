//! Tokens.

use std::process::ExitCode;

use serde_json::{Value, json};

use super::{Desk, lay};

#[test]
fn tokens_are_made_listed_and_revoked() {
    let desk = Desk::with_project();
    let one = desk.token("ann", &["--repo", "acme/shop.erp"]);
    let one = one.trim_end();
    assert_eq!(one.len(), 64);
    let two = desk.token(
        "ann",
        &["--all", "--expires", "2030-01-31", "--fingerprint"],
    );
    let listed = desk.json(&["token", "list", "--user", "ann", "--json"]);
    let seen: Vec<_> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|token| {
            [
                "tokenId",
                "name",
                "owner",
                "repos",
                "expires_at",
                "fingerprint_required",
            ]
            .map(|field| token[field].clone())
        })
        .collect();
    assert_eq!(
        json!(seen),
        json!([
            ["1", "n", "ann", ["acme/shop.erp"], null, false],
            ["2", "n", "ann", ["*"], "2030-01-31T00:00:00.000Z", true],
        ])
    );
    assert_eq!(listed[0]["suffix"], one[58..]);
    assert_eq!(listed[0].get("earlier_until"), Some(&Value::Null));
    let heading = "ID  OWNER  NAME  ENDS IN  STATE   EXPIRES                   LAST USED  INSTANCE   \
                   OLD VALUE UNTIL  REPOS";
    let (one, two) = (&one[58..], &two[58..64]);
    let two = format!(
        "2   ann    n     {two}   active  2030-01-31T00:00:00.000Z  never      the first  \
         -                *"
    );
    assert_eq!(
        desk.done(&["token", "list"]),
        format!(
            "{heading}\n\
             1   ann    n     {one}   active  never                     never      any        \
             -                acme/shop.erp\n\
             {two}\n"
        )
    );
    assert_eq!(
        desk.done(&["token", "show", "2"]),
        format!("{heading}\n{two}\n")
    );

    desk.done(&["token", "revoke", "1"]);
    let left = desk.json(&["token", "list", "--json"]);
    assert_eq!(left.as_array().unwrap().len(), 1);
    assert_eq!(
        desk.refused(1, &["token", "revoke", "1"]),
        "siteconf: there is no token \"1\"; \"siteconf token list\" names all\n"
    );
}

/// The ids of the tokens that a filter leaves.
fn listed(desk: &Desk, filter: &[&str]) -> Vec<String> {
    let shown = desk.json(&[&["token", "list", "--json"][..], filter].concat());
    let id = |token: &Value| token["tokenId"].as_str().unwrap().to_owned();
    shown.as_array().unwrap().iter().map(id).collect()
}

#[test]
fn the_filters_of_the_list_combine() {
    let desk = Desk::with_project();
    desk.account("bob", &["ROLE_SITEBUILDER_EDITOR__ROOT"]);
    for (user, flags) in [
        ("ann", &["--repo", "acme/shop.erp"][..]),
        ("ann", &["--all", "--expires", "20d"]),
        ("bob", &["--all"]),
        ("bob", &["--repo", "acme/shop.erp"]),
    ] {
        desk.token(user, flags);
    }
    let ended = desk.run(&["token", "update", "4", "--expires", "2020-01-01"]);
    assert_eq!(ended.code, ExitCode::SUCCESS, "{ended:?}");
    for (filter, ids) in [
        (&[][..], &["1", "2", "3", "4"][..]),
        (&["--repo", "acme/shop.erp"], &["1", "2", "4"]),
        (&["--repo", "acme/shop.erp", "--user", "bob"], &["4"]),
        (&["--expiring", "30d"], &["2"]),
        (&["--expiring", "10d"], &[]),
        (&["--unused", "90d"], &[]),
        (&["--unused", "2100-01-01"], &["1", "2", "3", "4"]),
        (&["--unused", "2100-01-01", "--expiring", "3w"], &["2"]),
    ] {
        assert_eq!(listed(&desk, filter), ids, "{filter:?}");
    }
    assert_eq!(
        desk.refused(1, &["token", "list", "--repo", "acme/none.erp"]),
        "siteconf: there is no project acme/none.erp; \"siteconf project list\" names all\n"
    );
    assert_eq!(
        desk.refused(2, &["token", "list", "--unused", "long"]),
        "siteconf: --unused \"long\" must be a length of time, as 30d or 12h, or YYYY-MM-DD, midnight \
         UTC, or RFC 3339, as in 2027-01-31T10:00:00Z\n"
    );
}

/// What is said of a token that has ended.
fn has_ended(id: &str, end: &str) -> String {
    format!(
        "siteconf: token {id} has ended at {end}, and opens nothing; give it another end with \"siteconf token \
         update {id} --expires 30d\"\n"
    )
}

/// What is said of a token of bob's while he is disabled.
const BOB_IS_DISABLED: &str = "siteconf: \"bob\" is disabled, and no token of it opens anything; \"siteconf user \
                               enable bob\" lets it in\n";

/// The Admin API takes such an end, too.
#[test]
fn a_token_that_has_ended_already_is_told() {
    let desk = Desk::with_project();
    desk.account("bob", &[]);
    let create = ["token", "create", "--user", "bob", "--name", "n", "--all"];
    let value = "a".repeat(64);
    for (id, flags, input) in [
        ("1", &[][..], ""),
        ("2", &["--value-stdin"], value.as_str()),
        ("3", &["--json"], ""),
    ] {
        let words = [&create[..], &["--expires", "2020-01-01"], flags].concat();
        let ran = desk.run_with(input, &words);
        let told = has_ended(id, "2020-01-01T00:00:00.000Z");
        assert_eq!((ran.code, ran.err), (ExitCode::SUCCESS, told), "{flags:?}");
        assert_eq!(ran.out.is_empty(), id == "2", "{}", ran.out);
    }
}

#[test]
fn a_change_of_a_token_that_has_ended_tells_so() {
    let desk = Desk::with_project();
    desk.token("ann", &["--all"]);
    let told = has_ended("1", "2020-01-01T00:00:00.000Z");
    let update = ["token", "update", "1", "--expires"];
    let updated = desk.run(&[&update[..], &["2020-01-01"]].concat());
    assert_eq!(
        (updated.code, updated.out, updated.err),
        (ExitCode::SUCCESS, String::new(), told.clone())
    );
    for (flags, printed) in [(&[][..], "\n"), (&["--json"], "}\n")] {
        let rotated = desk.run(&[&["token", "rotate", "1"][..], flags].concat());
        assert_eq!(
            (rotated.code, rotated.err),
            (ExitCode::SUCCESS, told.clone()),
            "{flags:?}"
        );
        assert!(rotated.out.ends_with(printed), "{}", rotated.out);
    }
    for end in ["30d", "never"] {
        assert_eq!(desk.done(&[&update[..], &[end]].concat()), "");
        assert_eq!(desk.done(&["token", "rotate", "1"]).len(), 65);
    }
}

#[test]
fn tokens_of_a_disabled_account_are_listed_as_such() {
    let desk = Desk::with_project();
    desk.account("bob", &[]);
    let value = desk.token("bob", &["--all"]);
    let suffix = &value[58..64];
    desk.done(&["user", "disable", "bob"]);
    let shown = format!(
        "ID  OWNER  NAME  ENDS IN  STATE           EXPIRES  LAST USED  INSTANCE  OLD VALUE UNTIL  REPOS\n\
         1   bob    n     {suffix}   owner disabled  never    never      any       -                *\n"
    );
    assert_eq!(desk.done(&["token", "list"]), shown);
    assert_eq!(desk.done(&["token", "show", "1"]), shown);

    desk.token("ann", &["--all", "--expires", "20d"]);
    for end in ["20d", "2020-01-01"] {
        let create = ["token", "create", "--user", "bob", "--name", "n", "--all"];
        let made = desk.run(&[&create[..], &["--expires", end]].concat());
        assert_eq!(made.code, ExitCode::SUCCESS, "{made:?}");
    }
    let states = || {
        let listed = desk.json(&["token", "list", "--json"]);
        let state = |token: &Value| json!([token["tokenId"], token["state"]]);
        let states = listed.as_array().unwrap().iter().map(state);
        json!(states.collect::<Vec<_>>())
    };
    assert_eq!(
        states(),
        json!([
            ["2", "active"],
            ["1", "owner disabled"],
            ["3", "owner disabled"],
            ["4", "expired"],
        ])
    );
    assert_eq!(
        desk.json(&["token", "show", "3", "--json"])["state"],
        "owner disabled"
    );
    // It ends soon, but does not count now.
    assert_eq!(listed(&desk, &["--expiring", "30d"]), ["2"]);

    desk.done(&["user", "enable", "bob"]);
    assert_eq!(
        states(),
        json!([
            ["2", "active"],
            ["1", "active"],
            ["3", "active"],
            ["4", "expired"],
        ])
    );
    assert_eq!(listed(&desk, &["--expiring", "30d"]), ["2", "3"]);
}

#[test]
fn a_token_of_a_disabled_account_is_told_to_open_nothing() {
    let desk = Desk::new();
    desk.account("bob", &[]);
    desk.done(&["user", "disable", "bob"]);
    let create = ["token", "create", "--user", "bob", "--name", "n", "--all"];
    let value = "a".repeat(64);
    for (words, input, printed) in [
        (&create[..], "", 65),
        (&[&create[..], &["--value-stdin"]].concat(), &value, 0),
        (&["token", "rotate", "1"], "", 65),
        (&["token", "update", "1", "--name", "m"], "", 0),
    ] {
        let ran = desk.run_with(input, words);
        assert_eq!(
            (ran.code, ran.out.len(), ran.err.as_str()),
            (ExitCode::SUCCESS, printed, BOB_IS_DISABLED),
            "{words:?}"
        );
    }
    // Whoever gives it another end is told that this is not all.
    let ended = desk.run(&["token", "update", "1", "--expires", "2020-01-01"]);
    assert_eq!(
        (ended.code, ended.err),
        (
            ExitCode::SUCCESS,
            has_ended("1", "2020-01-01T00:00:00.000Z") + BOB_IS_DISABLED
        )
    );
    desk.done(&["user", "enable", "bob"]);
    desk.done(&create);
    desk.done(&["token", "rotate", "2"]);
}

#[test]
fn never_is_an_end_that_a_new_token_can_have() {
    let desk = Desk::with_project();
    let made = desk.token("ann", &["--all", "--json", "--expires", "never"]);
    let made: Value = serde_json::from_str(&made).unwrap();
    let value = made["tokenString"].as_str().unwrap();
    assert_eq!(
        made,
        json!({ "tokenId": "1", "tokenString": value, "expires_at": null })
    );
    let create = ["token", "create", "--user", "ann", "--name", "n", "--all"];
    for words in [&create[..], &["token", "update", "1"]] {
        assert_eq!(
            desk.refused(2, &[words, &["--expires", "ever"]].concat()),
            "siteconf: --expires \"ever\" must be how long from now, as 30d or 12h, or YYYY-MM-DD, midnight \
             UTC, or RFC 3339, as in 2027-01-31T10:00:00Z, or never\n"
        );
    }
}

#[test]
fn a_token_is_shown_with_the_end_of_its_old_value() {
    let desk = Desk::with_project();
    desk.token("ann", &["--all"]);
    let rotated = desk.json(&["token", "rotate", "1", "--grace", "7d", "--json"]);
    let until = rotated["earlier_until"].as_str().unwrap();
    let suffix = &rotated["tokenString"].as_str().unwrap()[58..];
    let shown = format!(
        "ID  OWNER  NAME  ENDS IN  STATE   EXPIRES  LAST USED  INSTANCE  OLD VALUE UNTIL           REPOS\n\
         1   ann    n     {suffix}   active  never    never      any       {until}  *\n"
    );
    assert_eq!(desk.done(&["token", "show", "1"]), shown);
}

/// What was used counts from its last use on, the rest from when it was made.
#[test]
fn a_token_is_unused_since_its_last_use() {
    let desk = Desk::with_project();
    let line = |name: &str, digit: &str, used: &str| {
        let value = digit.repeat(64);
        format!(
            "{{\"owner\": \"ann\", \"name\": \"{name}\", \"value\": \"{value}\", \"repos\": [\"*\"], \
             \"created_at\": \"2020-01-01T00:00:00Z\", \"last_used_at\": {used}}}\n"
        )
    };
    let lines = line("used", "a", "\"2024-05-06T07:08:09Z\"") + &line("idle", "b", "null");
    lay(
        &desk.path("tree/user"),
        &[("ann/acme/till.erp/main/a.xml", "<a/>")],
    );
    lay(&desk.path(""), &[("tokens", &lines)]);
    let [tree, tokens] = ["tree", "tokens"].map(|name| desk.path(name).display().to_string());
    desk.done(&["migrate-tree", &tree, "--tokens", &tokens]);
    for (since, ids) in [
        ("2019-01-01", &[][..]),
        ("2023-01-01", &["2"]),
        ("2024-06-01", &["1", "2"]),
    ] {
        assert_eq!(listed(&desk, &["--unused", since]), ids, "{since}");
    }
    assert_eq!(
        desk.json(&["token", "show", "1", "--json"])["last_used_at"],
        "2024-05-06T07:08:09.000Z"
    );
}

#[test]
fn a_token_is_shown_changed_and_rotated() {
    let desk = Desk::with_project();
    let flags = [
        "--repo",
        "acme/shop.erp",
        "--json",
        "--expires",
        "2030-01-31",
    ];
    let made: Value = serde_json::from_str(&desk.token("ann", &flags)).unwrap();
    let value = made["tokenString"].as_str().unwrap();
    assert_eq!(
        made,
        json!({
            "tokenId": "1",
            "tokenString": value,
            "expires_at": "2030-01-31T00:00:00.000Z",
        })
    );
    let show = |field: &str| desk.json(&["token", "show", "1", "--json"])[field].clone();
    assert_eq!(show("suffix"), value[58..]);
    let update = |rest: &[&str]| desk.done(&[&["token", "update", "1"][..], rest].concat());
    assert_eq!(update(&["--name", "other", "--expires", "never"]), "");
    assert_eq!(
        (show("name"), show("expires_at")),
        (json!("other"), json!(null))
    );
    lay(&desk.path("in"), &[("x", "")]);
    let dir = desk.path("in").display().to_string();
    desk.done(&["import", "acme/b.erp", "main", &dir, "--owner", "ann"]);
    update(&["--add-repo", "acme/b.erp"]);
    assert_eq!(show("repos"), json!(["acme/shop.erp", "acme/b.erp"]));
    update(&["--repo", "acme/b.erp", "--reset-fingerprint"]);
    assert_eq!(show("repos"), json!(["acme/b.erp"]));
    update(&["--all"]);
    assert_eq!(show("repos"), json!(["*"]));
    assert_eq!(
        desk.refused(1, &["token", "update", "1", "--add-repo", "acme/b.erp"]),
        "siteconf: token 1 covers every project of ann; name those it is to cover with --repo\n"
    );
    let malformed = "siteconf: malformed --name \"\": it must have 1 to 255 bytes, no control characters, and \
                     not be blank\n";
    for words in [
        &["token", "create", "--user", "ann", "--all", "--name", ""][..],
        &["token", "update", "1", "--name", ""],
    ] {
        assert_eq!(desk.refused(2, words), malformed);
    }
    let said = desk.refused(2, &["token", "update", "1"]);
    assert!(said.contains("--reset-fingerprint"), "{said}");

    let rotated = desk.done(&["token", "rotate", "1"]);
    assert_eq!(rotated.len(), 65);
    assert_eq!(show("suffix"), rotated[58..64]);
    assert_eq!(show("earlier_until"), json!(null));
    let rotated = desk.json(&["token", "rotate", "1", "--grace", "7d", "--json"]);
    assert_eq!(rotated["tokenId"], "1");
    assert_eq!(rotated["earlier_until"], show("earlier_until"));
    assert!(show("earlier_until").is_string());
    assert_eq!(
        desk.refused(2, &["token", "rotate", "1", "--grace", "soon"]),
        "siteconf: --grace \"soon\" must be a length of time, as 7d or 12h\n"
    );
    assert_eq!(desk.said(&["token", "revoke", "1"]), "token 1 is revoked\n");
}

#[test]
fn a_value_is_taken_from_standard_input() {
    let desk = Desk::with_project();
    let create = [
        "token",
        "create",
        "--user",
        "ann",
        "--name",
        "n",
        "--all",
        "--value-stdin",
    ];
    for wrong in ["", "short\n", &"0F".repeat(32), &"0f".repeat(33)] {
        let ran = desk.run_with(wrong, &create);
        assert_eq!(ran.code, ExitCode::from(2));
        assert_eq!(
            ran.err,
            "siteconf: the token on standard input must be 64 hexadecimal digits in lower case, as \
             \"openssl rand -hex 32\" makes it\n"
        );
    }
    let value = format!("{}\n", "0f".repeat(32));
    let ran = desk.run_with(&value, &create);
    assert_eq!(
        (ran.code, ran.out + &ran.err),
        (ExitCode::SUCCESS, String::new())
    );
    let ran = desk.run_with(&value, &create);
    assert_eq!(ran.code, ExitCode::from(1));
    assert_eq!(
        ran.err,
        "siteconf: there is a token with this value already\n"
    );
    assert_eq!(
        desk.json(&["token", "show", "1", "--json"])["suffix"],
        "0f0f0f"
    );
}
