//! What users, clients and operators see of a store, so that it can be held against what they saw before.

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::binary::{Service, Siteconf};
use crate::scene::{ADMIN, BRANCHES, DISABLED, EVA, OTHER, PROJECT, READ};

/// All that is seen, by what was asked. `tokens` are the values by the names.
#[track_caller]
pub(crate) fn all(siteconf: &Siteconf, tokens: &Value) -> Value {
    let mut seen = Map::new();
    for command in [
        &["project", "list", "--json"][..],
        &["user", "list", "--json"],
        &["debug", "refs", "--json"],
    ] {
        seen.insert(command.join(" "), siteconf.json(command));
    }
    seen.insert("token list".to_owned(), token_list(siteconf));
    let service = siteconf.serve();
    // Before a token is used: a use is seen in the list.
    of_users(&service, &mut seen);
    of_clients(&service, tokens, &mut seen);
    service.stop();
    let digests = seen.keys().filter_map(|key| key.strip_prefix("tree of "));
    let digests: Vec<_> = digests.map(|state| state.replace(' ', ":")).collect();
    for target in digests {
        let digest = siteconf.json(&["debug", "digest", &target, "--json"]);
        seen.insert(format!("digest of {target}"), digest);
    }
    Value::Object(seen)
}

/// The tokens but for when they were used last.
fn token_list(siteconf: &Siteconf) -> Value {
    let mut tokens = siteconf.json(&["token", "list", "--json"]);
    for token in tokens.as_array_mut().unwrap() {
        let token = token.as_object_mut().unwrap();
        token.retain(|field, _| !field.contains("used"));
    }
    tokens
}

fn of_users(service: &Service, seen: &mut Map<String, Value>) {
    for (name, password) in [EVA, DISABLED, (EVA.0, "another password")] {
        let status = service.log_in(name, password).err();
        seen.insert(format!("login of {name} with {password}"), json!(status));
    }
    let cookie = service.log_in(EVA.0, EVA.1).unwrap();
    let mut get = |target: String| {
        let answer = service.ask(
            "GET",
            &format!("{ADMIN}{target}"),
            &[("Cookie", &cookie)],
            b"",
        );
        assert_eq!(answer.status, 200, "{target}: {answer:?}");
        let value: Value = serde_json::from_slice(&answer.body).unwrap();
        seen.insert(target, value);
    };
    get("/projects".to_owned());
    for project in [PROJECT, OTHER] {
        let project = encoded(project);
        get(format!("/projects/{project}"));
        get(format!("/projects/{project}/branches"));
    }
    let project = encoded(PROJECT);
    for branch in BRANCHES {
        get(format!(
            "/projects/{project}/branches/{branch}/history?limit=100"
        ));
        get(format!(
            "/projects/{project}/branches/{branch}/tree?recursive=true"
        ));
    }
    get(format!(
        "/projects/{project}/branches/main/diff?from=v0002&to=v0009"
    ));
}

fn of_clients(service: &Service, tokens: &Value, seen: &mut Map<String, Value>) {
    let get = |token: &str, instance: &str, target: &str| {
        let headers = [("PRIVATE-TOKEN", token), ("X-Instance-Id", instance)];
        service.ask("GET", &format!("{READ}{target}"), &headers, b"")
    };
    let project = format!("/projects/{}/repository", encoded(PROJECT));
    let other = format!("/projects/{}/repository", encoded(OTHER));
    for (name, token) in tokens.as_object().unwrap() {
        let token = token.as_str().unwrap();
        for (instance, target) in [
            ("berlin", &project),
            ("paris", &project),
            ("berlin", &other),
        ] {
            let status = get(token, instance, &format!("{target}/branches")).status;
            let asked = format!("{name} of {instance} for {target}");
            seen.insert(asked, json!(status));
        }
    }
    let token = tokens["reader"].as_str().unwrap();
    let json = |target: &str| {
        let answer = get(token, "berlin", target);
        let found = answer.status == 200;
        found.then(|| serde_json::from_slice::<Value>(&answer.body).unwrap())
    };
    seen.insert(
        "branches".to_owned(),
        json(&format!("{project}/branches")).unwrap(),
    );
    for branch in BRANCHES {
        let commits = json(&format!("{project}/commits?ref_name={branch}&per_page=100"));
        seen.insert(format!("commits of {branch}"), commits.unwrap());
        let versions = (1..).map(|number| format!("{branch}@v{number:04}"));
        for state in std::iter::once(branch.to_owned()).chain(versions) {
            let tree = format!("{project}/tree?ref={state}&recursive=1&per_page=100");
            let Some(tree) = json(&tree) else {
                break;
            };
            let mut files = Map::new();
            for entry in tree.as_array().unwrap() {
                if entry["type"] != "blob" {
                    continue;
                }
                let path = entry["path"].as_str().unwrap();
                let raw = format!("{project}/files/{}/raw?ref={state}", encoded(path));
                let answer = get(token, "berlin", &raw);
                assert_eq!(answer.status, 200, "{raw}");
                let sum = hex::encode(Sha256::digest(&answer.body));
                files.insert(path.to_owned(), json!([answer.body.len(), sum]));
            }
            seen.insert(format!("tree of {PROJECT} {state}"), tree);
            seen.insert(format!("files of {state}"), Value::Object(files));
        }
    }
}

fn encoded(text: &str) -> String {
    percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
}

/// Compares what was seen with what is: a later version may tell more of a thing, and nothing else may
/// differ.
#[track_caller]
pub(crate) fn assert_kept(before: &Value, now: &Value) {
    let mut lost = Vec::new();
    compare("", before, now, &mut lost);
    assert!(lost.is_empty(), "{}", lost.join("\n"));
}

fn compare(at: &str, before: &Value, now: &Value, lost: &mut Vec<String>) {
    match (before, now) {
        (Value::Object(before), Value::Object(now)) => {
            for (key, value) in before {
                let found = now.get(key).unwrap_or(&Value::Null);
                compare(&format!("{at} / {key}"), value, found, lost);
            }
        }
        (Value::Array(before), Value::Array(now)) if before.len() == now.len() => {
            for (index, (before, now)) in before.iter().zip(now).enumerate() {
                compare(&format!("{at} / {index}"), before, now, lost);
            }
        }
        _ if before == now => {}
        // The Admin API says what the caller may; it used to say no to everybody.
        _ if at.starts_with(" / /projects/") && at.ends_with(" / can_push") && *now == true => {}
        _ => lost.push(format!("{at}: {before} became {now}")),
    }
}
