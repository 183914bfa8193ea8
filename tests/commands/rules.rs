//! Rules for the contents of a project, from the command line: texts and exit codes.

use crate::stage::Stage;
use crate::terminal::Terminal;

const REPO: &str = "acme/shop.erp";
const RULES: &str = r#"{"rules": [
    {"patterns": ["*.json"], "check": "json"},
    {"patterns": ["conf/*"], "check": "schema", "schema": "schema.json"}
]}"#;

#[test]
fn rules_are_tried_set_and_shown() {
    let stage = Stage::new();
    stage.lay(
        "new",
        &[("schema.json", "{\"type\": \"object\"}"), ("bad.json", "[")],
    );
    stage.lay(
        ".",
        &[
            ("rules.json", RULES),
            (
                "xml.json",
                r#"{"rules": [{"patterns": ["*.xml"], "check": "json"}]}"#,
            ),
        ],
    );
    let (new, rules, xml) = (
        stage.shown("new"),
        stage.shown("rules.json"),
        stage.shown("xml.json"),
    );
    let shown = stage.done(&["project", "rules", REPO]);
    assert_eq!(shown, "RULE  CHECK  SCHEMA  PATTERNS\n");
    stage.refused(
        &["project", "rules", REPO, "--set", &rules],
        1,
        "siteconf: rule 2: branch \"main\" has no file \"schema.json\"; each branch that has files needs the \
         schema",
    );
    stage.done(&["import", REPO, "main", &new]);

    // Tried before they are set.
    let tried = stage
        .command(&["project", "validate", REPO, "--rules", &xml])
        .output()
        .unwrap();
    assert_eq!(tried.status.code(), Some(1));
    assert_eq!(
        String::from_utf8(tried.stdout).unwrap(),
        "main:a.xml:1:1: rule 1 (json): expected value\n\
         main:conf/b.xml:1:1: rule 1 (json): expected value\n"
    );
    stage.done(&["project", "rules", REPO, "--set", &rules]);
    assert_eq!(
        stage.done(&["project", "rules", REPO]),
        "RULE  CHECK   SCHEMA       PATTERNS\n\
         1     json    -            *.json\n\
         2     schema  schema.json  conf/*\n"
    );
    let json: serde_json::Value =
        serde_json::from_str(&stage.done(&["project", "rules", REPO, "--json"])).unwrap();
    assert_eq!(
        json,
        serde_json::from_str::<serde_json::Value>(RULES).unwrap()
    );
    let listed = stage
        .command(&["project", "validate", REPO, "main", "--json"])
        .output()
        .unwrap();
    assert_eq!(listed.status.code(), Some(1));
    let listed: serde_json::Value = serde_json::from_slice(&listed.stdout).unwrap();
    assert_eq!(
        listed,
        serde_json::json!([
            {
                "branch": "main", "path": "bad.json", "line": 1, "column": 1, "rule": 1,
                "message": "EOF while parsing a list",
            },
            {
                "branch": "main", "path": "conf/b.xml", "line": 1, "column": 1, "rule": 2,
                "message": "expected value",
            },
        ])
    );
    let none = Terminal::run(stage.command(&["project", "rules", REPO, "--none"]));
    assert_eq!(
        none.end().shown.trim_end(),
        "acme/shop.erp has no rules now"
    );
    stage.done(&["project", "validate", REPO]);
}

#[test]
fn what_breaks_a_rule_is_not_saved_by_a_command() {
    let stage = Stage::new();
    stage.lay(
        ".",
        &[(
            "rules.json",
            r#"{"rules": [{"patterns": ["*.json"], "check": "json"}]}"#,
        )],
    );
    stage.lay("new", &[("bad.json", "{\n}}")]);
    let (rules, new, bad) = (
        stage.shown("rules.json"),
        stage.shown("new"),
        stage.shown("new/bad.json"),
    );
    stage.done(&["put", REPO, "main", "bad.json", &bad]);
    stage.done(&["rm", REPO, "main", "bad.json"]);
    stage.done(&["project", "rules", REPO, "--set", &rules]);
    let said = "siteconf: a file breaks a rule of the project, so nothing was changed:\n\
                bad.json:2:2: rule 1 (json): trailing characters";
    let history = || stage.done(&["history", REPO, "main"]);
    let ways: [&[&str]; 3] = [
        &["put", REPO, "main", "bad.json", &bad],
        &["rollback", REPO, "main", "v0003"],
        &["import", REPO, "main", &new],
    ];
    for words in ways {
        let before = history();
        stage.refused(words, 1, said);
        assert_eq!(history(), before);
        stage.done(&[words, &["--no-validate"]].concat());
        stage.done(&["rollback", REPO, "main", "v0002"]);
        let audit = stage.done(&["audit", "--json"]);
        assert!(
            audit.contains("passed over the rules for contents"),
            "{audit}"
        );
    }
}

#[test]
fn rules_that_cannot_be_read_are_refused() {
    let stage = Stage::new();
    stage.lay(
        ".",
        &[
            (
                "bad.json",
                r#"{"rules": [{"patterns": ["a["], "check": "json"}]}"#,
            ),
            ("none.json", "[]"),
        ],
    );
    let (bad, none, missing) = (
        stage.shown("bad.json"),
        stage.shown("none.json"),
        stage.shown("missing.json"),
    );
    for command in [
        &["project", "rules", REPO, "--set"][..],
        &["project", "validate", REPO, "--rules"],
    ] {
        let refused = |file: &str, said: &str| {
            stage.refused(
                &[command, &[file]].concat(),
                1,
                &format!("siteconf: {said}"),
            );
        };
        refused(
            &bad,
            "rule 1: \"a[\" is no pattern: unclosed character class; missing ']'",
        );
        refused(
            &none,
            &format!("{none}: invalid type: sequence, expected a map at line 1 column 0"),
        );
        refused(
            &missing,
            &format!("reading {missing}: No such file or directory (os error 2)"),
        );
    }
}
