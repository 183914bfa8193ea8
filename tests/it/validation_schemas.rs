//! Schemas that are kept in a project: contract section 6.

use serde_json::{Value, json};

use crate::harness::{Answer, Daemon, Project};
use crate::validation::{one, set, state};

const SCHEMA: &str =
    r#"{"type": "object", "properties": {"port": {"type": "integer"}}, "required": ["port"]}"#;

pub(crate) fn rules() -> Value {
    json!([{ "patterns": ["conf/*"], "check": "schema", "schema": "schemas/conf.json" }])
}

/// A project whose files in `conf` must be as a schema says.
pub(crate) fn ruled(daemon: &Daemon) -> Project {
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    project.save("main", "schemas/conf.json", SCHEMA);
    set(&project, &rules()).assert_json(200, &json!({ "rules": rules() }));
    project
}

pub(crate) fn put(project: &Project, path: &str, body: &str) -> Answer {
    project
        .user
        .put(&project.file("main", path), body.as_bytes())
}

pub(crate) fn batch(project: &Project, actions: &Value) -> Answer {
    let body = json!({ "actions": actions });
    project.user.post(&project.on("main", "/batch"), &body)
}

#[test]
fn files_are_held_against_their_schema() {
    let daemon = Daemon::start();
    let project = ruled(&daemon);
    put(&project, "conf/a.json", "{\"port\": 80}").expect_status(201);
    put(&project, "conf/a.yaml", "port: 80\n").expect_status(201);
    put(&project, "other/a.json", "{}").expect_status(201);
    for (path, body, message) in [
        (
            "conf/b.json",
            "{\n  \"port\": \"80\"\n}",
            "conf/b.json:2:11: rule 1 (schema): /port: value is not of type \"integer\"",
        ),
        (
            "conf/b.json",
            "{}",
            "conf/b.json:1:1: rule 1 (schema): \"port\" is a required property",
        ),
        (
            "conf/b.yml",
            "a: 1\nport:\n  - 80\n",
            "conf/b.yml:3:3: rule 1 (schema): /port: value is not of type \"integer\"",
        ),
        (
            "conf/b.yml",
            "x: &x 80\nport: *x\n",
            "conf/b.yml:2:7: rule 1 (schema): an alias is not expanded, so no schema can be held against it",
        ),
        (
            "conf/b.json",
            "{",
            "conf/b.json:1:1: rule 1 (schema): EOF while parsing an object",
        ),
    ] {
        put(&project, path, body).assert_error(400, &one(message));
    }
}

#[test]
fn a_schema_stays_readable_and_where_it_is() {
    let daemon = Daemon::start();
    let project = ruled(&daemon);
    put(&project, "conf/a.json", "{\"port\": 80}").expect_status(201);
    let before = state(&project);
    let removed = one(
        "schemas/conf.json: rule 1 (schema): it is the rule's schema and cannot be removed; change the \
         rule first",
    );
    let file = project.file("main", "schemas/conf.json");
    project.user.delete(&file).assert_error(400, &removed);
    batch(
        &project,
        &json!([{ "action": "move", "previous_path": "schemas", "file_path": "elsewhere" }]),
    )
    .assert_error(400, &removed);
    let rollback = project.on("main", "/rollback?to=v0001");
    project
        .user
        .request("POST", &rollback)
        .send()
        .assert_error(400, &removed);
    put(&project, "schemas/conf.json", "{\"type\": \"no-such\"}").assert_error(
        400,
        &one(
            "schemas/conf.json:1:10: rule 1 (schema): /type: value is not valid under any of the \
             schemas listed in the 'anyOf' keyword",
        ),
    );
    put(&project, "schemas/conf.json", "{").assert_error(
        400,
        &one("schemas/conf.json:1:1: rule 1 (schema): EOF while parsing an object"),
    );
    let output = daemon.command(&["rm", &project.id, "main", "schemas/conf.json"], "");
    assert_eq!(
        String::from_utf8(output.stderr).unwrap(),
        format!("siteconf: {removed}\n")
    );
    assert_eq!(state(&project), before);

    // Another schema judges what comes after it, and what comes with it.
    let strict = r#"{"type": "object", "properties": {"port": {"maximum": 50}}}"#;
    batch(
        &project,
        &json!([
            { "action": "update", "file_path": "schemas/conf.json", "content": strict },
            { "action": "create", "file_path": "conf/b.json", "content": "{\"port\": 60}" },
        ]),
    )
    .assert_error(
        400,
        &one("conf/b.json:1:10: rule 1 (schema): /port: value is greater than the maximum of 50"),
    );
    put(&project, "schemas/conf.json", strict).expect_status(200);
    put(&project, "conf/b.json", "{\"port\": 60}").expect_status(400);
    let broken = project.user.get(&project.on("main", "/validation")).json();
    assert_eq!(broken[0]["path"], "conf/a.json");

    // Once no rule names it, it is a file as others.
    set(&project, &json!([])).expect_status(200);
    project.user.delete(&file).expect_status(200);
}

#[test]
fn a_rule_needs_its_schema_in_each_branch_that_has_files() {
    let daemon = Daemon::start();
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    // Without files there is nothing to hold against it.
    set(&project, &rules()).expect_status(200);
    put(&project, "conf/a.json", "{\"port\": 80}").assert_error(
        400,
        &one(
            "conf/a.json: rule 1 (schema): the branch has no \"schemas/conf.json\"; save it before, or \
             in the same batch",
        ),
    );
    let both = json!([
        { "action": "create", "file_path": "conf/a.json", "content": "{\"port\": 80}" },
        { "action": "create", "file_path": "schemas/conf.json", "content": SCHEMA },
    ]);
    batch(&project, &both).expect_status(200);
    set(&project, &json!([])).expect_status(200);

    project.add_branch("dev");
    let dev = project.file("dev", "a.txt");
    project.user.put(&dev, b"a").expect_status(201);
    set(&project, &rules()).assert_error(
        400,
        "rule 1: branch \"dev\" has no file \"schemas/conf.json\"; each branch that has files needs the \
         schema",
    );
    project.save("dev", "schemas/conf.json", "[]");
    let refused = set(&project, &rules()).assert_refused(400);
    assert!(
        refused.starts_with(
            "rule 1: \"schemas/conf.json\" in branch \"dev\" is no schema that can be used: "
        ),
        "{refused}"
    );
    for (schema, reason) in [
        (
            "{\"$ref\": \"https://example.com/a.json\"}",
            "must begin with \"#\"",
        ),
        ("{\"$ref\": \"#\"}", "leads back to itself"),
        ("{\"pattern\": \"(?=a)\"}", ""),
        ("{\"unevaluatedProperties\": false}", "is not taken here"),
        ("{\"$schema\": \"https://example.com/none\"}", ""),
    ] {
        project.save("dev", "schemas/conf.json", schema);
        let refused = set(&project, &rules()).assert_refused(400);
        assert!(refused.contains(reason), "{schema}: {refused}");
    }
    project.save("dev", "schemas/conf.json", SCHEMA);
    set(&project, &rules()).expect_status(200);
}

#[test]
fn a_schema_that_would_take_for_ever_is_told_before() {
    let daemon = Daemon::start();
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    let forked = r##"{"anyOf": [
        {"properties": {"a": {"$ref": "#"}}, "required": ["x"]},
        {"properties": {"a": {"$ref": "#"}}, "required": ["y"]},
        {"type": "integer"}
    ]}"##;
    project.save("main", "schemas/conf.json", forked);
    set(&project, &rules()).expect_status(200);
    let deep = "{\"a\":".repeat(90) + "1" + &"}".repeat(90);
    put(&project, "conf/a.json", &deep).assert_error(
        400,
        &one(
            "conf/a.json: rule 1 (schema): it would take too long to hold the schema against this file: \
             make one of them simpler",
        ),
    );
    put(&project, "conf/a.json", "1").expect_status(201);
}

#[test]
fn patterns_that_would_take_too_much_are_told_before() {
    let daemon = Daemon::start();
    let project = ruled(&daemon);
    let of = |patterns: Vec<String>| {
        let all: Vec<_> = patterns
            .iter()
            .map(|one| json!({ "pattern": one }))
            .collect();
        json!({ "anyOf": all }).to_string()
    };
    let names: serde_json::Map<_, _> = (0..1001)
        .map(|number| (format!("a{number}[bc]"), json!({})))
        .collect();
    let repeated = "its patterns may take more than 8388608 bytes of memory together: use fewer of them, \
                    with shorter repetitions and fewer classes as \"\\p{L}\"";
    let many = "it has more than 1000 patterns: join some of them to one, as in \"^(a|b)\"";
    for (schema, message) in [
        (
            of((0..20)
                .map(|number| format!("a{number}\\pL{{20}}"))
                .collect()),
            repeated,
        ),
        (of(vec!["a17\\pL{20}".to_owned(); 20]), repeated),
        (
            of((0..1001).map(|number| format!("a{number}[bc]")).collect()),
            many,
        ),
        (json!({ "patternProperties": names }).to_string(), many),
        (
            of(vec!["a17\\pL{250}".to_owned()]),
            "the pattern \"a17\\pL{250}\" takes more than 1048576 bytes of memory: give it shorter \
             repetitions, and fewer classes as \"\\p{L}\"",
        ),
        (
            of(vec!["[ab]".repeat(2049)]),
            "the pattern \"[ab][ab][ab][ab][ab][ab][ab][ab][ab][ab]…\" has more than 8192 bytes: make it \
             shorter",
        ),
    ] {
        put(&project, "schemas/conf.json", &schema).assert_error(
            400,
            &one(&format!("schemas/conf.json: rule 1 (schema): {message}")),
        );
        project.save("main", "schemas/other.json", &schema);
        let rule =
            json!([{ "patterns": ["conf/*"], "check": "schema", "schema": "schemas/other.json" }]);
        set(&project, &rule).assert_error(
            400,
            &format!(
                "rule 1: \"schemas/other.json\" in branch \"main\" is no schema that can be used: {message}"
            ),
        );
    }
}

#[test]
fn a_text_that_a_pattern_would_take_for_ever_with_is_told_before() {
    let daemon = Daemon::start();
    let project = ruled(&daemon);
    let large = "a[ab]{12000}[cd]";
    let text = "ab".repeat(500_000);
    for (schema, file) in [
        (
            json!({ "additionalProperties": { "pattern": large } }),
            json!({ "a": text }),
        ),
        (
            json!({ "patternProperties": { large: {} } }),
            json!({ text.as_str(): 1 }),
        ),
        (
            json!({ "propertyNames": { "pattern": large } }),
            json!({ text.as_str(): 1 }),
        ),
    ] {
        project.save("main", "schemas/conf.json", schema.to_string());
        put(&project, "conf/a.json", &file.to_string()).assert_error(
            400,
            &one(
                "conf/a.json: rule 1 (schema): it would take too long to hold the schema against this \
                 file: make one of them simpler",
            ),
        );
    }
}

#[test]
fn patterns_as_they_are_usual_work() {
    let daemon = Daemon::start();
    let project = ruled(&daemon);
    let patterns = [
        "^[a-z]+$",
        "^[a-z0-9-]{1,63}$",
        "^.{1,255}$",
        "^\\p{L}[\\p{L} ]*$",
        "^\\d{1,3}(\\.\\d{1,3}){3}$",
        "^#([A-Fa-f0-9]{6}|[A-Fa-f0-9]{3})$",
        "^[^@]+@[^@]+\\.[a-z]+$",
        "^\\d{4}-\\d{2}-\\d{2}$",
        "^https?://",
        "^\\S+$",
        "^/",
        "^(yes|no)$",
    ];
    let properties: serde_json::Map<_, _> = patterns
        .iter()
        .enumerate()
        .map(|(number, pattern)| (format!("p{number}"), json!({ "pattern": pattern })))
        .collect();
    let schema = json!({
        "properties": properties,
        "patternProperties": { "^x-[a-z]+$": { "pattern": "^[^ ]*$" } },
        "propertyNames": { "pattern": "^[a-z0-9-]+$" },
        "additionalProperties": false,
    });
    project.save("main", "schemas/conf.json", schema.to_string());
    let long = "b".repeat(50_000);
    let file = json!({ "p0": long, "p2": "a text", "p3": "Zoë", "p4": "127.0.0.1", "x-a": long });
    put(&project, "conf/a.json", &file.to_string()).expect_status(201);
    put(&project, "conf/b.json", r#"{"p4": "127"}"#).assert_error(
        400,
        &one(
            "conf/b.json:1:8: rule 1 (schema): /p4: value does not match \"^\\d{1,3}(\\.\\d{1,3}){3}$\"",
        ),
    );
}
