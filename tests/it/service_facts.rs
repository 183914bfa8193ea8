//! `GET /service`: how the service is, for the role for everything.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::{ADMIN, Daemon, Project, soon, tested};

#[test]
fn root_is_told_how_the_service_is() {
    let daemon = Daemon::start();
    let admin = daemon.session("admin");
    let project = Project::with_main(&admin, "acme/shop");
    project.save("main", "large", vec![7; 200_000]);
    let serving = daemon.logged("\"message\":\"serving\"");
    assert_eq!(serving["version"], tested::build());
    let target = format!("{ADMIN}/service");
    // The first counts are made in the background, one after the other: one may be there
    // before the other.
    let mut told = Value::Null;
    soon(|| {
        told = admin.get(&target).expect_status(200).json();
        told["sessions"] != Value::Null && told["bytes"]["files"] != Value::Null
    });
    assert!(told["connections"].as_u64() >= Some(1), "{told}");
    told.as_object_mut().unwrap().remove("connections");
    for field in ["free_bytes", "uptime_s", "started_at", "format"] {
        assert_ne!(told[field].take(), Value::Null, "{field}");
    }
    for field in ["database", "log", "files"] {
        assert!(told["bytes"][field].take().is_u64(), "{field}");
    }
    for counted in [
        "sessions",
        "tokens",
        "tokens_expiring",
        "accounts",
        "projects",
    ] {
        assert!(told[counted].take().is_u64(), "{counted}");
    }
    let objects = told["objects"].take();
    for kind in objects.as_array().unwrap() {
        let fields: Vec<_> = kind.as_object().unwrap().keys().collect();
        assert_eq!(fields, ["bytes", "kind", "objects"]);
    }
    assert_eq!(
        told,
        json!({
            "version": tested::build(),
            "started_at": null,
            "uptime_s": null,
            "hindrances": [],
            "writes_refused": false,
            "free_bytes": null,
            "disk_low": false,
            "sessions": null,
            "tokens": null,
            "tokens_expiring": null,
            "accounts": null,
            "projects": null,
            "format": null,
            "bytes": { "database": null, "log": null, "files": null },
            "objects": null,
            "last_backup": null,
            "last_collection": null,
        })
    );
}

#[test]
fn a_backup_and_a_full_disk_are_told() {
    let daemon = Daemon::start_with(&["--disk-low-bytes", "1000000000000000"]);
    let admin = daemon.session("admin");
    let target = format!("{ADMIN}/service");
    let backup = daemon.data().with_file_name("backup");
    daemon.run(&["backup", backup.to_str().unwrap()], "");
    let told = admin.get(&target).expect_status(200).json();
    assert!(told["last_backup"].is_string(), "{told}");
    assert_eq!(told["disk_low"], true);
    let hindrance = told["hindrances"][0].as_str().unwrap();
    assert!(
        hindrance.contains("less than disk_low_bytes"),
        "{hindrance}"
    );
    admin.get(&format!("{target}?x=1")).assert_refused(400);
    daemon.anonymous().get(&target).assert_refused(401);
    let auditor = daemon.user("auditor", &["ROLE_SITEBUILDER_EDITOR__READONLY"]);
    auditor.get(&target).assert_refused(403);
}

#[test]
fn to_ask_again_and_again_is_no_use_of_a_session() {
    let daemon = Daemon::start_with(&["--session-idle-s", "3"]);
    let admin = daemon.session("admin");
    let target = format!("{ADMIN}/service");
    soon(|| admin.get(&target).status == 401);
}

#[test]
fn what_a_page_reads_while_nobody_is_at_it_is_no_use_of_a_session() {
    let daemon = Daemon::start_with(&["--session-idle-s", "3"]);
    let target = format!("{ADMIN}/projects");
    let admin = daemon.session("admin").with("X-Unattended", "1");
    soon(|| admin.get(&target).status == 401);
    // A change is one all the same.
    let daemon = Daemon::start_with(&["--session-idle-s", "8"]);
    let user = daemon.session("admin").with("X-Unattended", "1");
    let end = Instant::now() + Duration::from_secs(10);
    soon(|| {
        assert_ne!(user.post(&target, &json!({})).status, 401);
        Instant::now() > end
    });
}
