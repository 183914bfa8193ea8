//! Rules for contents: contract section 6. What breaks one is refused, whatever way it comes, and changes
//! nothing.

use serde_json::{Value, json};

use crate::harness::{ADMIN, Answer, Daemon, Project, segment, soon};

pub(crate) const ROOT: &str = "ROLE_SITEBUILDER_EDITOR__ROOT";

/// Sets rules.
pub(crate) fn set(project: &Project, rules: &Value) -> Answer {
    let body = json!({ "rules": rules });
    let request = project.user.request("PUT", &project.admin("/validation"));
    request.json(&body).send()
}

/// Sets rules in place of those that have this tag.
fn set_if(project: &Project, tag: &str, rules: &Value) -> Answer {
    let request = project.user.request("PUT", &project.admin("/validation"));
    let request = request.header("If-Match", tag);
    request.json(&json!({ "rules": rules })).send()
}

/// The tag of the rules that a project has.
fn tag(project: &Project) -> String {
    let shown = project.user.get(&project.admin("/validation"));
    shown.header("ETag").expect("rules have a tag").to_owned()
}

/// A project with a rule for each format.
pub(crate) fn ruled(daemon: &Daemon) -> Project {
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    let rules = json!([
        { "patterns": ["*.json"], "check": "json" },
        { "patterns": ["*.xml", "conf/**/*.conf"], "check": "xml" },
        { "patterns": ["*.yaml", "*.yml"], "check": "yaml" },
    ]);
    set(&project, &rules).assert_json(200, &json!({ "rules": rules }));
    project
}

/// What a refusal of one file says.
pub(crate) fn one(what: &str) -> String {
    format!("a file breaks a rule of the project, so nothing was changed:\n{what}")
}

/// What a branch holds and how often it was changed.
pub(crate) fn state(project: &Project) -> (Value, Vec<String>) {
    (project.tree("main"), project.versions("main"))
}

#[test]
fn rules_are_set_shown_and_taken_away() {
    let daemon = Daemon::start();
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    let user = &project.user;
    let target = project.admin("/validation");
    user.get(&target).assert_json(200, &json!({ "rules": [] }));
    let rules = json!([{ "patterns": ["*.json", "a/**"], "check": "json" }]);
    set(&project, &rules).assert_json(200, &json!({ "rules": rules }));
    let shown = user.get(&target);
    shown.assert_json(200, &json!({ "rules": rules }));
    let tag = shown.header("ETag").unwrap();
    let again = user.request("GET", &target).header("If-None-Match", tag);
    assert_eq!(again.send().status, 304);

    project
        .user
        .put(&project.file("main", "a.json"), b"{")
        .assert_error(
            400,
            &one("a.json:1:1: rule 1 (json): EOF while parsing an object"),
        );
    set(&project, &json!([])).assert_json(200, &json!({ "rules": [] }));
    project.save("main", "a.json", b"{");
}

#[test]
fn who_sets_rules_can_insist_on_those_that_they_replace() {
    let daemon = Daemon::start();
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    let target = project.admin("/validation");
    let rules = |pattern: &str| json!([{ "patterns": [pattern], "check": "json" }]);
    let none = tag(&project);
    let made = set_if(&project, &none, &rules("a"));
    made.assert_json(200, &json!({ "rules": rules("a") }));
    let one = tag(&project);
    assert_ne!(one, none);
    assert_eq!(made.header("ETag"), Some(&*one));
    let coded = project.user.with("Accept-Encoding", "gzip").get(&target);
    assert_eq!(coded.header("ETag"), Some(&*one));
    let known = project.user.with("If-None-Match", &one).get(&target);
    known.assert_empty(304);
    assert_eq!(known.header("ETag"), Some(&*one));

    for other in [none.clone(), format!("W/{one}"), "\"other\"".to_owned()] {
        let refused = set_if(&project, &other, &rules("lost"));
        refused.assert_error(
            412,
            "the rules are not in the state that the request demands",
        );
        assert_eq!(refused.header("ETag"), Some(&*one));
    }
    let absent = project.user.request("PUT", &target);
    let absent = absent.header("If-None-Match", "*");
    let absent = absent.json(&json!({ "rules": [] })).send();
    absent.assert_refused(412);
    let shown = project.user.get(&target);
    shown.assert_json(200, &json!({ "rules": rules("a") }));

    let listed = format!("\"other\", {one}");
    set_if(&project, &listed, &rules("b")).expect_status(200);
    set_if(&project, "*", &rules("c")).expect_status(200);
    set_if(&project, "*", &json!([])).expect_status(200);
    assert_eq!(tag(&project), none);
}

/// Two set rules at once by the same tag: one of them is told that it came too late.
#[test]
fn of_two_who_replace_the_same_rules_one_is_refused() {
    let daemon = Daemon::start();
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    for round in 0..10 {
        let tag = tag(&project);
        let send = |who: &str| {
            let pattern = format!("{who}-{round}");
            let rules = json!([{ "patterns": [pattern], "check": "json" }]);
            set_if(&project, &tag, &rules).status
        };
        let mut statuses = std::thread::scope(|scope| {
            let other = scope.spawn(|| send("other"));
            [send("one"), other.join().unwrap()]
        });
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 412]);
    }
}

#[test]
fn a_rule_that_cannot_be_read_is_refused_when_it_is_set() {
    let daemon = Daemon::start();
    let project = ruled(&daemon);
    let before = project.user.get(&project.admin("/validation")).json();
    let many = vec!["*"; 21];
    let rule = json!({ "patterns": ["*"], "check": "json" });
    for (rules, message) in [
        (
            json!([{ "patterns": ["a[b"], "check": "json" }]),
            "rule 1: \"a[b\" is no pattern: unclosed character class; missing ']'",
        ),
        (
            json!([rule, { "patterns": [], "check": "json" }]),
            "rule 2: patterns must have 1 to 20 of them",
        ),
        (
            json!([{ "patterns": many, "check": "json" }]),
            "rule 1: patterns must have 1 to 20 of them",
        ),
        (
            json!([{ "patterns": ["a/"], "check": "json" }]),
            "rule 1: \"a/\" is no pattern: it names no file",
        ),
        (
            json!([{ "patterns": ["x".repeat(256)], "check": "json" }]),
            "rule 1: a pattern has at most 255 bytes",
        ),
        (
            json!([{ "patterns": ["*"], "check": "schema" }]),
            "rule 1: schema must be the path of a JSON Schema",
        ),
        (
            json!([{ "patterns": ["*"], "check": "xml", "schema": "a" }]),
            "rule 1: schema belongs to the check \"schema\" alone",
        ),
        (
            json!(vec![rule.clone(); 51]),
            "there are more than 50 rules",
        ),
    ] {
        set(&project, &rules).assert_error(400, message);
    }
    for malformed in [
        json!([{ "patterns": ["*"], "check": "toml" }]),
        json!([{ "patterns": ["*"], "check": "json", "more": 1 }]),
        json!([["*", "json"]]),
        json!({}),
    ] {
        let message = set(&project, &malformed).assert_refused(400);
        assert!(message.starts_with("malformed JSON body: "), "{message}");
    }
    project
        .user
        .get(&project.admin("/validation"))
        .assert_json(200, &before);
}

#[test]
fn who_may_manage_a_project_sets_its_rules() {
    let daemon = Daemon::start();
    let project = ruled(&daemon);
    let rules = project.user.get(&project.admin("/validation")).json();
    let writes = daemon.user("bob", &["ROLE_SITEBUILDER_USER__acme"]);
    let seen = project.seen_by(&writes);
    writes
        .get(&project.admin("/validation"))
        .assert_json(200, &rules);
    set(&seen, &json!([])).assert_error(403, "your roles do not allow this");
    let stranger = daemon.user("eve", &[]);
    let target = project.admin("/validation");
    stranger
        .get(&target)
        .assert_error(403, "your roles do not allow this");
    set(&project.seen_by(&stranger), &json!([])).assert_error(403, "your roles do not allow this");
    daemon
        .anonymous()
        .get(&target)
        .assert_error(401, "Not logged in");
    let absent = format!("{ADMIN}/projects/{}/validation", segment("no/such.erp"));
    project
        .user
        .get(&absent)
        .assert_error(404, "Project not found");
    set(&project.seen_by(&daemon.user("root", &[ROOT])), &json!([])).expect_status(200);
}

#[test]
fn only_what_a_change_adds_or_changes_is_checked() {
    let daemon = Daemon::start();
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    let user = &project.user;
    project.save("main", "legacy.xml", b"<legacy>");
    project.save("main", "run.xml", b"<run>");
    set(
        &project,
        &json!([{ "patterns": ["*.xml"], "check": "xml" }]),
    )
    .expect_status(200);
    project.save("main", "other.xml", b"<a/>");
    // The same bytes are no change, nor is the mode.
    project.save("main", "legacy.xml", b"<legacy>");
    let batch = |actions: Value| {
        user.post(
            &project.on("main", "/batch"),
            &json!({ "actions": actions }),
        )
    };
    batch(json!([{ "action": "update", "file_path": "legacy.xml", "content": "<legacy>" }]))
        .expect_status(200);
    // At its new path it is new.
    let moved = json!([{ "action": "move", "previous_path": "legacy.xml", "file_path": "n.xml" }]);
    batch(moved).assert_error(
        400,
        &one("n.xml:1:1: rule 1 (xml): this element is not closed"),
    );
    let moved = json!([{ "action": "move", "previous_path": "legacy.xml", "file_path": "n.txt" }]);
    batch(moved).expect_status(200);
    user.delete(&project.file("main", "run.xml"))
        .expect_status(200);

    // The first break of each file, ten files, and how many more.
    let many: Vec<_> = (0..13)
        .map(|n| json!({ "action": "create", "file_path": format!("{n:02}.xml"), "content": "<a></b>" }))
        .collect();
    let message = batch(json!(many)).assert_refused(400);
    let lines: Vec<_> = message.lines().collect();
    assert_eq!(
        lines[0],
        "13 files break rules of the project, so nothing was changed:"
    );
    assert_eq!(
        lines[10],
        "09.xml:1:4: rule 1 (xml): ill-formed document: expected `</a>`, but `</b>` was found"
    );
    assert_eq!(lines[11..], ["and 3 more"]);
}

#[test]
fn patterns_are_of_names_or_of_whole_paths() {
    let daemon = Daemon::start();
    let project = ruled(&daemon);
    let status = |path: &str| project.user.put(&project.file("main", path), b"<").status;
    for path in ["a.xml", "x/y/a.xml", "conf/a.conf", "conf/x/y/a.conf"] {
        assert_eq!(status(path), 400, "{path}");
    }
    for path in [
        "a.XML",
        "a.xml.bak",
        "a.conf",
        "x/conf/a.conf",
        "conf/a.conf/b",
    ] {
        assert_eq!(status(path), 201, "{path}");
    }
}

#[test]
fn encodings_that_a_client_may_write_are_read() {
    let daemon = Daemon::start();
    let project = ruled(&daemon);
    let utf16 = |text: &str| {
        let units = text.encode_utf16().flat_map(u16::to_le_bytes);
        [&b"\xff\xfe"[..], &units.collect::<Vec<_>>()].concat()
    };
    let cp1251 =
        b"<?xml version=\"1.0\" encoding=\"windows-1251\"?>\n<a b=\"\xd6\xe5\xed\xe0\">\xff</a>";
    let mark = b"\xef\xbb\xbf";
    for (path, bytes) in [
        ("1251.xml", cp1251.to_vec()),
        (
            "mark.xml",
            [&mark[..], b"<?xml version='1.0'?><a/>"].concat(),
        ),
        (
            "16.xml",
            utf16("<?xml version='1.0' encoding='UTF-16'?><a>\u{44f}</a>"),
        ),
        ("mark.json", [&mark[..], b"{}"].concat()),
        ("16.json", utf16("{\"\u{44f}\": 1}")),
        ("16.yaml", utf16("a: \u{44f}\n")),
        ("aliases.yaml", b"a: &x [1]\nb: *x\n".to_vec()),
        (
            "doctype.xml",
            b"<!DOCTYPE a [<!ENTITY x 'y'>]><a>&x;</a>".to_vec(),
        ),
    ] {
        project.save("main", path, bytes);
    }
    for (path, bytes, message) in [
        (
            "a.xml",
            &b"<a>\xff</a>"[..],
            "a.xml:1:4: rule 2 (xml): these bytes are not UTF-8",
        ),
        (
            "a.xml",
            b"<a>&x;</a>",
            "a.xml:1:4: rule 2 (xml): the entity \"x\" is not known",
        ),
        (
            "a.yaml",
            b"a: 1\n b: 2\n",
            "a.yaml:2:3: rule 3 (yaml): mapping values are not allowed in this context",
        ),
        (
            "a.json",
            b"",
            "a.json:1:1: rule 1 (json): EOF while parsing a value",
        ),
    ] {
        let answer = project.user.put(&project.file("main", path), bytes);
        answer.assert_error(400, &one(message));
    }
}

#[test]
fn a_file_that_is_too_large_to_be_checked_is_refused() {
    let daemon = Daemon::start();
    let project = ruled(&daemon);
    let mut large = b"[".to_vec();
    large.resize((8 << 20) - 1, b' ');
    large.push(b']');
    // Larger than what is kept in a row: it is read back before it is published.
    project.save("main", "large.json", &large);
    large.push(b' ');
    let answer = project
        .user
        .put(&project.file("main", "large.json"), &large);
    answer.assert_error(
        400,
        &one(
            "large.json: rule 1 (json): the file has 8388609 bytes, and files of at most 8388608 can \
             be checked",
        ),
    );
}

#[test]
fn yaml_that_is_nested_or_in_brackets_without_end_is_refused_from_its_beginning() {
    let daemon = Daemon::start();
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    project.save("main", "before.yaml", ": ".repeat(4 << 20));
    let rules = json!([{ "patterns": ["*.yaml"], "check": "yaml" }]);
    set(&project, &rules).expect_status(200);
    let deep = "nested more than 256 deep";
    let broken =
        json!([{ "path": "before.yaml", "line": 1, "column": 513, "rule": 1, "message": deep }]);
    let list = project.on("main", "/validation");
    project.user.get(&list).assert_json(200, &broken);
    let save = |content: String| {
        let target = project.file("main", "a.yaml");
        project.user.put(&target, content.as_bytes())
    };
    let refused = |content: String, place: &str, reason: &str| {
        let message = one(&format!("a.yaml:{place}: rule 1 (yaml): {reason}"));
        save(content).assert_error(400, &message);
    };
    save("- ".repeat(256) + "a").expect_status(201);
    save("[".repeat(255) + &"]".repeat(255)).expect_status(200);
    for open in ["- ", "? ", ": "] {
        refused(open.repeat(257) + "a", "1:513", deep);
        refused(open.repeat(4 << 20), "1:513", deep);
    }
    save("- [".to_owned() + &"0,".repeat(80_000) + "]").expect_status(200);
    let many = "a list or an object in brackets is too long: write it with a line for each entry";
    for entry in ["0,", "[],", "a: b,", "*a ", "'', "] {
        refused(format!("- [{}]", entry.repeat(1 << 20)), "1:3", many);
    }
    // What is written in lines may be long.
    save("- a: 'b'\n".repeat(200_000)).expect_status(200);
    save("a: |\n".to_owned() + &"  [0, 1, 2]\n".repeat(300_000)).expect_status(200);
}

#[test]
fn what_breaks_rules_is_listed_by_pages() {
    let daemon = Daemon::start();
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    for path in ["a.json", "b/c.json", "b/d.json", "z.json"] {
        project.save("main", path, b"{");
    }
    project.save("main", "b/fine.json", b"{}");
    let target = project.on("main", "/validation");
    project.user.get(&target).assert_json(200, &json!([]));
    set(
        &project,
        &json!([{ "patterns": ["*.json"], "check": "json" }]),
    )
    .expect_status(200);
    let item = |path: &str| {
        json!({
            "path": path, "line": 1, "column": 1, "rule": 1,
            "message": "EOF while parsing an object",
        })
    };
    let all = json!([
        item("a.json"),
        item("b/c.json"),
        item("b/d.json"),
        item("z.json")
    ]);
    // A page ends, with a link, when it was searched for 2 s: one that is so short is asked for again.
    let page = |query: &str, most: usize| {
        let mut page = None;
        soon(|| {
            let asked = page.insert(project.user.get(&format!("{target}{query}")));
            let found = asked.json().as_array().unwrap().len();
            found == most || asked.header("Link").is_none()
        });
        page.expect("it was asked for")
    };
    let whole = page("", 100);
    whole.assert_json(200, &all);
    assert_eq!(whole.header("Link"), None);
    let first = page("?limit=2", 2);
    first.assert_json(200, &json!([item("a.json"), item("b/c.json")]));
    assert!(first.header("Link").unwrap().contains("after=b%2Fc.json"));
    let second = page("?limit=2&after=b%2Fc.json", 2);
    second.assert_json(200, &json!([item("b/d.json"), item("z.json")]));
    for limit in ["0", "101", "x"] {
        let refused = project.user.get(&format!("{target}?limit={limit}"));
        refused.assert_error(400, "limit is invalid: it must be 1 to 100");
    }
    let listed = daemon.command(&["project", "validate", &project.id], "");
    assert_eq!(listed.status.code(), Some(1));
    let listed = String::from_utf8(listed.stdout).unwrap();
    assert_eq!(
        listed.lines().next().unwrap(),
        "main:a.json:1:1: rule 1 (json): EOF while parsing an object"
    );
    assert_eq!(listed.lines().count(), 4);
}

#[test]
fn rules_go_with_their_project() {
    let daemon = Daemon::start();
    let mut project = ruled(&daemon);
    let rules = project.user.get(&project.admin("/validation")).json();
    let user = project.user.clone();
    user.patch(&project.admin(""), &json!({ "name": "acme/store" }))
        .expect_status(200);
    project.id = "acme/store.erp".to_owned();
    user.get(&project.admin("/validation"))
        .assert_json(200, &rules);
    user.delete(&project.admin("")).expect_status(204);
    let deleted = user.get(&format!("{ADMIN}/deleted")).json();
    let id = segment(deleted[0]["id"].as_str().unwrap());
    let restore = format!("{ADMIN}/deleted/{id}/restore");
    user.request("POST", &restore).send().expect_status(200);
    user.get(&project.admin("/validation"))
        .assert_json(200, &rules);
    let bob = daemon.user("bob", &[]);
    let admin = daemon.session("admin");
    admin
        .patch(&project.admin(""), &json!({ "owner": "bob" }))
        .expect_status(200);
    bob.get(&project.admin("/validation"))
        .assert_json(200, &rules);
    bob.put(&project.file("main", "a.json"), b"{")
        .expect_status(400);
}
