//! `disk_free_min`: what adds content is refused before the disk is full, and all else goes on.

use std::fs;
use std::thread;

use serde_json::json;

use crate::harness::{ADMIN, Daemon, Project, READ};

const TOKENS: &str = "/site-builder/api/tokens";

/// More than any disk has.
const TOO_MUCH: [&str; 2] = ["--disk-free-min", "1000000000000000000"];

const REFUSED: &str = "too little room is free on the disk of the service (disk_free_min); reading and \
                       deleting go on, and so does this when there is more";

#[test]
fn below_the_minimum_nothing_is_added_and_all_else_goes_on() {
    let mut daemon = Daemon::start();
    let admin = daemon.session("admin");
    let project = Project::with_main(&admin, "acme/shop");
    for (path, body) in [
        ("a.xml", "a one"),
        ("b.xml", "b one"),
        ("a.xml", "a two"),
        ("old/x.xml", "x"),
    ] {
        project.save("main", path, body);
    }
    project.add_branch("old");
    daemon.user("kin", &[]);
    let token = admin.issue(&json!({ "name": "ERP", "repos": [&project.id] }));
    daemon.stop();
    daemon.restart_with(&TOO_MUCH);
    let (admin, reader) = (
        daemon.session("admin"),
        daemon.token(token["tokenString"].as_str().unwrap()),
    );
    let project = project.seen_by(&admin);
    let before = (project.tree("main"), project.versions("main"));

    let create = json!({ "action": "create", "file_path": "c.xml", "content": "c" });
    let delete = json!({ "action": "delete", "file_path": "old" });
    for refused in [
        admin.put(&project.file("main", "a.xml"), b"a three"),
        admin.put(&project.file("main", "large"), &vec![7; 5 << 20]),
        admin.post(
            &project.on("main", "/batch"),
            &json!({ "actions": [create] }),
        ),
        admin.post(
            &project.on("main", "/batch"),
            &json!({ "actions": [delete, create] }),
        ),
        admin
            .request("POST", &project.on("main", "/rollback?to=v0001"))
            .send(),
        admin.post(&project.admin("/branches"), &json!({ "name": "new" })),
        admin.post(
            &format!("{ADMIN}/projects"),
            &json!({ "name": "other", "type": "erp" }),
        ),
        admin.post(TOKENS, &json!({ "name": "new", "repos": [&project.id] })),
    ] {
        refused.assert_error(507, REFUSED);
    }
    daemon.logged("less free room than disk_free_min");
    assert!(!daemon.log().contains("request failed"));
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("c.xml"), "c").unwrap();
    let folder = folder.path().to_str().unwrap();
    let import = [&["import", &project.id, "main", folder], &TOO_MUCH[..]].concat();
    let import = daemon.command(&import, "");
    assert_eq!(import.status.code(), Some(1));
    let said = String::from_utf8(import.stderr).unwrap();
    assert!(
        said.contains("less free room than disk_free_min, so nothing is added"),
        "{said}"
    );
    assert_eq!(
        daemon.uploads_under_way(),
        0,
        "nothing of an upload was written"
    );
    assert_eq!((project.tree("main"), project.versions("main")), before);

    reader
        .get(&project.raw("a.xml"))
        .assert_bytes(200, b"a two");
    let told = daemon.anonymous().get(&format!("{READ}/health"));
    assert_eq!(told.expect_status(200).json()["writes"], "refused");
    let ready = daemon.anonymous().get("/readyz").assert_refused(503);
    assert!(ready.contains("less is free than disk_free_min"), "{ready}");
    assert_eq!(
        admin.delete(&project.file("main", "b.xml")).status / 100,
        2,
        "a deletion makes room"
    );
    // As the page deletes a folder.
    admin
        .post(
            &project.on("main", "/batch"),
            &json!({ "actions": [delete] }),
        )
        .expect_status(200);
    admin
        .patch(&format!("{ADMIN}/accounts/kin"), &json!({ "name": "kith" }))
        .expect_status(200);
    let token = format!("{TOKENS}/{}", token["tokenId"].as_str().unwrap());
    for target in [project.on("old", ""), token] {
        assert_eq!(admin.delete(&target).status / 100, 2, "{target}");
    }
    assert_eq!(reader.get(&project.raw("a.xml")).status, 401);

    daemon.stop();
    daemon.restart_with(&["--disk-free-min", "0"]);
    let project = project.seen_by(&daemon.session("admin"));
    project.save("main", "a.xml", "a three");
    project.save("main", "large", vec![7; 5 << 20]);
}

#[test]
fn a_first_start_with_little_room_makes_the_account_and_says_what_is_refused() {
    let daemon = Daemon::start_with(&TOO_MUCH);
    let told = daemon.logged("the disk has less free room than disk_free_min");
    assert_eq!(told["disk_free_min"], 1_000_000_000_000_000_000_u64);
    let admin = daemon.session("admin");
    admin
        .get(&format!("{ADMIN}/projects"))
        .assert_json(200, &json!([]));
}

#[test]
fn a_deletion_is_made_although_a_save_of_the_same_branch_is_refused_with_it() {
    const FILES: usize = 48;
    let mut daemon = Daemon::start();
    let admin = daemon.session("admin");
    let project = Project::with_main(&admin, "acme/shop");
    for number in 0..FILES {
        project.save("main", &format!("{number}.xml"), "a");
    }
    daemon.stop();
    daemon.restart_with(&TOO_MUCH);
    let admin = daemon.session("admin");
    let project = project.seen_by(&admin);
    thread::scope(|scope| {
        for number in 0..FILES {
            let file = project.file("main", &format!("{number}.xml"));
            let (admin, project) = (&admin, &project);
            scope.spawn(move || assert_eq!(admin.delete(&file).status / 100, 2));
            scope.spawn(move || {
                let file = project.file("main", &format!("new{number}.xml"));
                admin.put(&file, b"new").assert_error(507, REFUSED);
            });
        }
    });
    assert_eq!(project.tree("main"), json!([]));
}

#[test]
fn the_status_goes_by_the_room_that_the_running_service_keeps_free() {
    let mut daemon = Daemon::start_with(&TOO_MUCH);
    let status = |daemon: &Daemon, flags: &[&str]| -> serde_json::Value {
        let words = [&["status", "--json"], flags].concat();
        serde_json::from_slice(&daemon.command(&words, "").stdout).unwrap()
    };
    let refused = |status: &serde_json::Value| status["writes_refused"].as_str().map(str::to_owned);
    let told = status(&daemon, &[]);
    let why = format!(
        "{} bytes are free on the disk, less than disk_free_min, which is 1000000000000000000 for the service that \
         runs: saves are refused until there is more, or it is started with a lower one",
        told["free_bytes"]
    );
    assert_eq!(refused(&told), Some(why));
    daemon.stop();
    assert_eq!(refused(&status(&daemon, &[])), None);
    daemon.restart_with(&["--disk-free-min", "0"]);
    assert_eq!(refused(&status(&daemon, &TOO_MUCH)), None);
}
