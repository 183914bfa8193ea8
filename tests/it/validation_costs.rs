//! What a check may cost: contract section 6. What would take too long, or too much memory, is refused before
//! it begins.

use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::{Daemon, Project};
use crate::validation::{one, set, state};
use crate::validation_schemas::{batch, put, ruled};
use crate::waits::lawful;

const TOO_LONG: &str = "conf/a.json: rule 1 (schema): it would take too long to hold the schema against \
                        this file: make one of them simpler";

/// A project with this schema, which is not checked itself.
fn with_schema(daemon: &Daemon, schema: &Value) -> Project {
    let project = ruled(daemon);
    project.save("main", "schemas/conf.json", schema.to_string());
    project
}

/// Actions that create so many files.
fn created(count: usize, content: impl Fn(usize) -> String) -> Value {
    (0..count)
        .map(|number| {
            json!({
                "action": "create",
                "file_path": format!("conf/{number}.json"),
                "content": content(number),
            })
        })
        .collect()
}

#[test]
fn all_checks_of_a_change_take_so_long_together() {
    let daemon = Daemon::start();
    // The first of many ways is always right, so little is done, but each may have to be tried.
    let mut ways = vec![json!({})];
    ways.resize(2000, json!({ "type": "null" }));
    let project = with_schema(&daemon, &json!({ "items": { "anyOf": ways } }));
    let before = state(&project);
    let file = |number| json!(vec![number; 2000]).to_string();
    let too_long = "it takes too long to hold all files of this change against the rules, so nothing was \
                    changed: make it in several parts";
    batch(&project, &created(64, file)).assert_error(400, too_long);
    assert_eq!(state(&project), before);
    batch(&project, &created(24, file)).expect_status(200);
    let last = project.versions("main")[0].clone();

    // So do those of what a rollback would bring back.
    set(&project, &json!([])).expect_status(200);
    let more: Vec<_> = (100..164)
        .map(|number| {
            json!({
                "action": "create",
                "file_path": format!("conf/{number}.json"),
                "content": file(number),
            })
        })
        .collect();
    batch(&project, &json!(more)).expect_status(200);
    project
        .user
        .request("POST", &project.on("main", &format!("/rollback?to={last}")))
        .send()
        .expect_status(200);
    let full = project.versions("main")[0].clone();
    set(&project, &crate::validation_schemas::rules()).expect_status(200);
    for rehearsed in ["", "&dry_run=1"] {
        let rollback = project.on("main", &format!("/rollback?to={full}{rehearsed}"));
        let answer = project.user.request("POST", &rollback).send();
        answer.assert_error(400, too_long);
    }
}

#[test]
fn a_large_batch_as_it_is_usual_is_checked() {
    let daemon = Daemon::start();
    let schema = json!({
        "type": "object",
        "properties": {
            "name": { "type": "string", "pattern": "^[a-z0-9-]+$" },
            "servers": { "type": "array", "items": { "$ref": "#/$defs/server" } },
        },
        "required": ["name", "servers"],
        "additionalProperties": false,
        "$defs": { "server": {
            "type": "object",
            "properties": {
                "host": { "type": "string", "maxLength": 100 },
                "port": { "type": "integer", "minimum": 1, "maximum": 65535 },
                "role": { "enum": ["primary", "standby"] },
            },
            "required": ["host", "port"],
        } },
    });
    let project = with_schema(&daemon, &schema);
    let file = |number: usize| {
        let servers: Vec<_> = (0..39)
            .map(|port| json!({ "host": format!("h{number}.example"), "port": port + 1, "role": "standby" }))
            .collect();
        json!({ "name": format!("n-{number}"), "servers": servers }).to_string()
    };
    let bytes = file(1000).len();
    assert!((1900..2200).contains(&bytes), "{bytes}");
    // The checks take 3 s of a processor. Where others leave them none, they end after 20 s by the clock; and what took
    // nearly as long is saved after that, which takes some seconds, too.
    let actions = json!({ "actions": created(10_000, file) });
    let request = project.user.request("POST", &project.on("main", "/batch"));
    let request = request.json(&actions).to_bytes();
    let mut answers = (0..5).map(|_| {
        let mut connection = daemon.connect();
        connection.be_patient_for(Duration::from_mins(2));
        connection.send(&request);
        lawful(connection)
    });
    let answer = answers.find(|answer| answer.status != 503);
    answer.expect("there was no time").expect_status(200);
}

#[test]
fn what_is_nested_too_deep_for_a_schema_is_refused_in_json_as_in_yaml() {
    let daemon = Daemon::start();
    let project = with_schema(&daemon, &json!({}));
    let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    put(&project, "conf/a.json", &nested(100)).expect_status(201);
    put(&project, "conf/a.yaml", &nested(100)).expect_status(201);
    put(&project, "conf/b.json", &nested(101)).assert_error(
        400,
        &one("conf/b.json: rule 1 (schema): nested more than 100 deep"),
    );
    put(&project, "conf/b.yaml", &nested(101)).assert_error(
        400,
        &one("conf/b.yaml:1:101: rule 1 (schema): nested more than 100 deep"),
    );
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
fn no_place_is_looked_for_where_that_would_take_too_much_memory() {
    let daemon = Daemon::start();
    let ways = vec![json!({ "type": "string" }); 100];
    let project = with_schema(&daemon, &json!({ "anyOf": ways }));
    let file = |length: usize| json!(vec![1; length]).to_string();
    put(&project, "conf/a.json", &file(10)).assert_error(
        400,
        &one(
            "conf/a.json:1:1: rule 1 (schema): value is not valid under any of the schemas listed in the \
             'anyOf' keyword",
        ),
    );
    put(&project, "conf/a.json", &file(100_000)).assert_error(
        400,
        &one(
            "conf/a.json: rule 1 (schema): the schema does not allow it; the place is not told, because \
             the schema leaves too many ways for a file of this size",
        ),
    );
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
        "{1: a, \"1\": b}",
        "{true: a, 'true': b}",
        "{~: a, \"~\": b}",
        "{!!int \"1\": a, \"1\": b}",
        "a: &a {x: 1}\nb: &b {y: 1}\nc:\n  <<: *a\n  <<: *b\n  \"<<\": 1\n",
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
        "{1: a, 1: b}",
        "{\"1\": a, !!str 1: b}",
        "{'<<': a, \"<<\": b}",
    ] {
        put(&project, "b.yaml", twice).expect_status(400);
    }
}
