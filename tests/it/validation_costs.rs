//! What a check may cost: contract section 6. What would take too long, or too much memory, is refused before
//! it begins.

use serde_json::{Value, json};

use crate::harness::{Daemon, Project};
use crate::validation::{one, set};
use crate::validation_schemas::{put, ruled};

const TOO_LONG: &str = "conf/a.json: rule 1 (schema): it would take too long to hold the schema against \
                        this file: make one of them simpler";

/// A project with this schema, which is not checked itself.
fn with_schema(daemon: &Daemon, schema: &Value) -> Project {
    let project = ruled(daemon);
    project.save("main", "schemas/conf.json", schema.to_string());
    project
}

#[test]
fn schemas_that_are_true_or_false_count() {
    let daemon = Daemon::start();
    let project = with_schema(&daemon, &json!({ "items": { "allOf": vec![true; 9000] } }));
    let file = json!(vec![1; 8000]).to_string();
    put(&project, "conf/a.json", &file).assert_error(400, &one(TOO_LONG));
    let many = json!({ "items": { "anyOf": vec![false; 20_000] } }).to_string();
    put(&project, "schemas/conf.json", &many).assert_error(
        400,
        &one("schemas/conf.json: rule 1 (schema): it has more than 10000 parts"),
    );
    // Names that a name demands count as others do.
    let names: Vec<_> = (0..9000).map(|number| format!("n{number}")).collect();
    let demanding = json!({ "items": { "dependencies": { "a": names } } });
    project.save("main", "schemas/conf.json", demanding.to_string());
    let file = json!(vec![json!({ "a": 1 }); 8000]).to_string();
    put(&project, "conf/a.json", &file).assert_error(400, &one(TOO_LONG));
}

#[test]
fn a_reference_means_the_same_part_to_who_counts_and_to_who_checks() {
    let daemon = Daemon::start();
    let project = ruled(&daemon);
    let refused = |schema: &Value, reason: &str| {
        let answer = put(&project, "schemas/conf.json", &schema.to_string());
        let message = answer.assert_refused(400);
        assert!(message.contains(reason), "{schema}: {message}");
    };
    let strict = json!({ "type": "null" });
    for id in ["$id", "id"] {
        refused(
            &json!({ "$ref": "#/$defs/a/properties/b", "$defs": {
                "a": {
                    id: "x:y",
                    "properties": { "b": { "$ref": "#/$defs/f" } },
                    "$defs": { "f": strict },
                },
                "f": {},
            } }),
            "leads through a part that has an id of its own",
        );
    }
    refused(
        &json!({ "$ref": "#x", "$defs": { "a": { "$anchor": "x" }, "b": { "$anchor": "x", "type": "null" } } }),
        "several parts have this anchor",
    );
    refused(
        &json!({
            "$schema": "http://json-schema.org/draft-07/schema#",
            "$ref": "#x",
            "definitions": { "a": { "$anchor": "x" }, "b": { "$id": "#x", "type": "null" } },
        }),
        "several parts have this anchor",
    );
    let sound = json!({ "$ref": "#x", "$defs": { "a": { "$anchor": "x", "type": "object" } } });
    put(&project, "schemas/conf.json", &sound.to_string()).expect_status(200);
    put(&project, "conf/a.json", "{}").expect_status(201);
    put(&project, "conf/b.json", "1").expect_status(400);
}

#[test]
fn a_yaml_file_without_a_document_is_null() {
    let daemon = Daemon::start();
    let project = ruled(&daemon);
    for text in ["", "# port: 80\n", "---\n"] {
        let answer = put(&project, "conf/a.yaml", text);
        let message = answer.assert_refused(400);
        assert!(
            message.ends_with("rule 1 (schema): value is not of type \"object\""),
            "{text:?}: {message}"
        );
    }
    put(&project, "conf/a.yaml", "").assert_error(
        400,
        &one("conf/a.yaml:1:1: rule 1 (schema): value is not of type \"object\""),
    );
    project.save("main", "schemas/conf.json", r#"{"type": "null"}"#);
    put(&project, "conf/a.yaml", "# nothing\n").expect_status(201);
}

#[test]
fn yaml_has_each_key_once_and_no_long_directives() {
    let daemon = Daemon::start();
    let project = ruled(&daemon);
    let rules = json!([
        { "patterns": ["*.yaml"], "check": "yaml" },
        { "patterns": ["conf/*"], "check": "schema", "schema": "schemas/conf.json" },
    ]);
    set(&project, &rules).expect_status(200);
    for (path, rule) in [
        ("a.yaml", "rule 1 (yaml)"),
        ("conf/a.yml", "rule 2 (schema)"),
    ] {
        put(&project, path, "port: 1\nb: {c: 1, d: 2}\nport: 2\n").assert_error(
            400,
            &one(&format!(
                "{path}:3:1: {rule}: the key \"port\" is there twice"
            )),
        );
        let long = format!(
            "port: 1\n...\n%TAG !e! tag:{}\n---\nport: !e!a 1\n",
            "x".repeat(1100)
        );
        put(&project, path, &long).assert_error(
            400,
            &one(&format!(
                "{path}:3:1: {rule}: a directive has at most 1024 bytes"
            )),
        );
    }
    for sound in [
        "a: {x: 1}\nb: {x: 1}\n",
        "- x: 1\n- x: 1\n",
        "x: 1\n---\nx: 1\n",
        "? {x: 1}\n: {x: x}\n? [x, x]\n: x\n",
        "a: &a x\nb: *a\n*a : *a\n",
        "%TAG !e! tag:example.com,2000:\n---\na: !e!a 1\n",
    ] {
        put(&project, "a.yaml", sound);
        put(&project, "b.yaml", sound).expect_status(201);
        project
            .user
            .delete(&project.file("main", "b.yaml"))
            .expect_status(200);
    }
    for twice in [
        "[{x: 1, x: 2}]",
        "? [x]\n: {y: 1, y: 2}\n",
        "a: 1\n\"a\": 2\n",
    ] {
        put(&project, "b.yaml", twice).expect_status(400);
    }
}
