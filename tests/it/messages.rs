//! Why somebody changed a branch, and who did where another was faster: contract section 6.

use serde_json::{Value, json};

use crate::harness::{Daemon, Project, segment};

fn project(daemon: &Daemon) -> Project {
    Project::with_main(&daemon.user("alice", &[]), "acme/shop")
}

/// Operation, path and message of each snapshot, newest first.
fn told(project: &Project) -> Vec<(Value, Value, Value)> {
    let history = project.user.get(&project.on("main", "/history")).json();
    let of = |entry: &Value| {
        (
            entry["operation"].clone(),
            entry["path"].clone(),
            entry["message"].clone(),
        )
    };
    history.as_array().unwrap().iter().map(of).collect()
}

#[test]
fn a_save_and_a_deletion_have_messages() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    let file = project.file("main", "a.xml");
    let with = |message: &str| format!("{file}?message={message}");
    let why = "новые цены";
    project
        .user
        .put(&with(&segment(why)), b"1")
        .expect_status(201);
    project.user.put(&with(""), b"2").expect_status(200);
    project.user.delete(&with("no+longer")).expect_status(200);
    let gone = (json!("delete"), json!("a.xml"), json!("no longer"));
    let saved = (json!("save"), json!("a.xml"), Value::Null);
    let made = (json!("save"), json!("a.xml"), json!(why));
    assert_eq!(told(&project), [gone, saved, made]);
}

#[test]
fn a_message_that_is_too_long_changes_nothing() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    let file = project.file("main", "a.xml");
    let with = |bytes: usize| format!("{file}?message={}", "m".repeat(bytes));
    let refused = "message is longer than 4096 bytes";
    project
        .user
        .put(&with(4097), b"1")
        .assert_error(400, refused);
    project.user.put(&with(4096), b"1").expect_status(201);
    project.user.delete(&with(4097)).assert_error(400, refused);
    let twice = format!("{file}?message=a&message=b");
    let refused = "parameter \"message\" is given twice";
    project.user.put(&twice, b"2").assert_error(400, refused);
    assert_eq!(told(&project).len(), 1);
}

#[test]
fn a_message_has_lines_and_tabs_and_no_other_control() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    let file = project.file("main", "a.xml");
    let batch = project.on("main", "/batch");
    let saying = |message: &str| {
        json!({ "message": message, "actions": [
            { "action": "create", "file_path": "b.xml", "content": "1" }
        ] })
    };
    let refused = "message holds a control character that is no line end and no tab";
    let escape = saying("\u{1b}[31m");
    project
        .user
        .post(&batch, &escape)
        .assert_error(400, refused);
    let put = project.user.put(&format!("{file}?message=%00"), b"1");
    put.assert_error(400, refused);
    assert_eq!(told(&project), []);

    let lines = "new prices\r\n\r\n\t* of bread\n";
    project.user.post(&batch, &saying(lines)).expect_status(200);
    let delete = json!({ "message": "", "actions": [
        { "action": "delete", "file_path": "b.xml" }
    ] });
    project.user.post(&batch, &delete).expect_status(200);
    let batch = |message: Value| (json!("batch"), Value::Null, message);
    let told = told(&project);
    assert_eq!(told, [batch(Value::Null), batch(json!(lines))]);
}

#[test]
fn an_archive_has_its_message_in_the_address_and_json_in_itself() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    let mut archive = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_size(1);
    header.set_mode(0o644);
    archive
        .append_data(&mut header, "a.xml", &b"1"[..])
        .unwrap();
    let target = project.on("main", "/batch?message=release+7");
    let sent = project.user.request("POST", &target);
    let sent = sent.header("Content-Type", "application/x-tar");
    sent.body(&archive.into_inner().unwrap())
        .send()
        .expect_status(200);
    let actions = json!({ "actions": [{ "action": "delete", "file_path": "a.xml" }] });
    project.user.post(&target, &actions).assert_error(
        400,
        "query parameter \"message\" is only for an archive or a form",
    );
    assert_eq!(
        told(&project),
        [(json!("batch"), Value::Null, json!("release 7"))]
    );
}

/// When the newest snapshot was taken.
fn newest_at(project: &Project) -> String {
    let history = project.user.get(&project.on("main", "/history")).json();
    history[0]["created_at"].as_str().unwrap().to_owned()
}

/// Asserts a refusal that names who changed something, and when.
#[track_caller]
fn assert_told(at: &str, message: &str, expected: &str) {
    assert_eq!(message, expected.replace("<time>", at));
}

#[test]
fn who_is_refused_is_told_who_was_faster() {
    let daemon = Daemon::start();
    let project = project(&daemon);
    let bob = project.seen_by(&daemon.user("bob", &["ROLE_SITEBUILDER_EDITOR__ROOT"]));
    project.save("main", "a.xml", "one");
    let tag = project.user.get(&project.file("main", "a.xml"));
    let tag = tag.header("ETag").unwrap().to_owned();
    let head = format!(
        "\"{}\"",
        &project.branch_item("main")["commit"]["id"]
            .as_str()
            .unwrap()
    );
    bob.save("main", "a.xml", "two");
    let at = newest_at(&project);
    // What is there already is no change, so nobody is told of who saves it.
    let carol = project.seen_by(&daemon.user("carol", &["ROLE_SITEBUILDER_EDITOR__ROOT"]));
    let saved = carol.save("main", "a.xml", "two");
    assert_eq!(saved.json()["unchanged"], true);
    let sent = |method: &str, target: &str, condition: &str, body: &Value| {
        let request = project
            .user
            .request(method, target)
            .header("If-Match", condition);
        request.json(body).send().assert_refused(412)
    };

    let file = "the file is not in the state that the request demands: bob changed it at <time>";
    let target = project.file("main", "a.xml");
    let put = project
        .user
        .request("PUT", &target)
        .header("If-Match", &tag);
    assert_told(&at, &put.body(b"lost").send().assert_refused(412), file);
    let delete = project
        .user
        .request("DELETE", &target)
        .header("If-Match", &tag);
    assert_told(&at, &delete.send().assert_refused(412), file);

    let update = json!({ "actions": [
        { "action": "update", "file_path": "a.xml", "content": "lost", "if_match": tag }
    ] });
    let batch = project.on("main", "/batch");
    let refused = project.user.post(&batch, &update).assert_refused(412);
    assert_told(
        &at,
        &refused,
        &format!("action 1 (update \"a.xml\"): {file}"),
    );

    let branch =
        "the branch is not in the state that the request demands: bob changed it at <time>";
    let create = json!({ "actions": [
        { "action": "create", "file_path": "b.xml", "content": "lost" }
    ] });
    assert_told(&at, &sent("POST", &batch, &head, &create), branch);
    let rollback = project.on("main", "/rollback?to=v0001");
    assert_told(&at, &sent("POST", &rollback, &head, &Value::Null), branch);

    // Of a file that is not there nothing is told.
    let absent = project
        .user
        .request("PUT", &project.file("main", "none.xml"));
    absent
        .header("If-Match", "*")
        .body(b"lost")
        .send()
        .assert_error(412, "the file is not in the state that the request demands");
    assert_eq!(project.versions("main"), ["v0003", "v0002", "v0001"]);
}
