//! `GET /health`: specification section 4.1.

use serde_json::json;

use crate::harness::{Daemon, READ, READ_V4, masked};

#[test]
fn anybody_may_ask_whether_the_service_is_well() {
    let daemon = Daemon::start();
    for mount in [READ, READ_V4] {
        let answer = daemon.anonymous().get(&format!("{mount}/health"));
        assert_eq!(answer.status, 200);
        assert_eq!(
            masked(answer.json()),
            json!({ "status": "ok", "time": "<time>" })
        );
    }
}

#[test]
fn a_bad_token_does_not_make_the_service_unwell() {
    let daemon = Daemon::start();
    let answer = daemon.token("nonsense").get(&format!("{READ}/health"));
    assert_eq!(answer.status, 200);
}

#[test]
fn the_service_stops_when_asked_and_keeps_what_it_has() {
    let mut daemon = Daemon::start();
    let admin = daemon.session("admin");
    let project = crate::harness::Project::with_main(&admin, "acme/shop");
    project.save("main", "a.xml", "<a/>");
    assert_eq!(daemon.stop().code(), Some(0));
    daemon.restart();
    let answer = daemon.session("admin").get(&project.file("main", "a.xml"));
    answer.assert_bytes(200, b"<a/>");
}
