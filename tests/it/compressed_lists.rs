//! The lists of the Admin API are compressed for whoever takes that: contract section 6.

use std::io::Read as _;

use flate2::read::GzDecoder;
use serde_json::{Value, json};

use crate::harness::{ADMIN, Daemon, Project, User, segment};

/// Somebody who has enough of everything that each list is worth compressing.
fn filled(daemon: &Daemon) -> Project {
    let root = daemon.user("root", &["ROLE_SITEBUILDER_EDITOR__ROOT"]);
    for number in 0..12 {
        Project::with_main(&root, &format!("acme/shop-{number}"));
        let body = json!({ "name": format!("token {number}"), "repos": ["*"] });
        root.issue(&body);
    }
    let project = Project::with_main(&root, "acme/shop");
    for number in 0..12 {
        project.save("main", &format!("f{number}.xml"), number.to_string());
        project.add_branch(&format!("side-{number}"));
        let gone = root.delete(&format!(
            "{ADMIN}/projects/{}",
            segment(&format!("acme/shop-{number}.erp"))
        ));
        gone.expect_status(204);
        Project::with_main(&root, &format!("acme/new-{number}"));
    }
    project
}

fn with_gzip(user: &User) -> User {
    user.with("Accept-Encoding", "gzip")
}

fn unpacked(body: &[u8]) -> Vec<u8> {
    let mut unpacked = Vec::new();
    GzDecoder::new(body).read_to_end(&mut unpacked).unwrap();
    unpacked
}

#[test]
fn every_list_is_compressed_when_asked_for_and_each_form_has_its_tag() {
    let daemon = Daemon::start();
    let project = filled(&daemon);
    let user = &project.user;
    for target in [
        format!("{ADMIN}/projects"),
        format!("{ADMIN}/deleted"),
        format!("{ADMIN}/tokens"),
        // No request is told in the log by being read.
        format!("{ADMIN}/audit"),
        project.admin("/branches"),
        project.on("main", "/tree?recursive=1"),
        project.on("main", "/snapshots/v0012/tree"),
        project.on("main", "/history?limit=100"),
        project.on("main", "/diff?from=v0001&to=main"),
    ] {
        let plain = user.get(&target).expect_status(200);
        let packed = with_gzip(user).get(&target).expect_status(200);
        assert!(plain.body.len() >= 1024, "{target}: {}", plain.body.len());
        assert_eq!(plain.header("Content-Encoding"), None, "{target}");
        assert_eq!(packed.header("Content-Encoding"), Some("gzip"), "{target}");
        assert!(packed.body.len() < plain.body.len(), "{target}");
        assert_eq!(
            serde_json::from_slice::<Value>(&unpacked(&packed.body)).unwrap(),
            plain.json(),
            "{target}"
        );
        let tags = [&plain, &packed].map(|it| it.header("ETag").expect(&target).to_owned());
        assert_ne!(tags[0], tags[1], "{target}");
        for (answer, asking) in [(&plain, user.clone()), (&packed, with_gzip(user))] {
            assert_eq!(
                answer.header("Vary"),
                Some("Authorization, Cookie, Private-Token, X-Instance-Id, Accept-Encoding"),
                "{target}"
            );
            let tag = answer.header("ETag").unwrap();
            let again = asking.with("If-None-Match", tag).get(&target);
            again.assert_empty(304);
            assert_eq!(again.header("ETag"), Some(tag), "{target}");
            let other = tags.iter().find(|it| *it != tag).unwrap();
            asking
                .with("If-None-Match", other)
                .get(&target)
                .expect_status(200);
        }
    }
    let target = project.on("main", "/rollback?to=v0001&dry_run=1");
    let plain = user.request("POST", &target).send().expect_status(200);
    let packed = with_gzip(user)
        .request("POST", &target)
        .send()
        .expect_status(200);
    assert_eq!(packed.header("Content-Encoding"), Some("gzip"));
    assert_eq!(unpacked(&packed.body), plain.body);
    assert_eq!(packed.header("ETag"), None);
}

#[test]
fn a_list_that_fits_a_packet_is_sent_as_it_is() {
    let daemon = Daemon::start();
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    project.save("main", "a.xml", "one");
    let target = project.on("main", "/tree");
    let answer = with_gzip(&project.user).get(&target).expect_status(200);
    assert_eq!(answer.header("Content-Encoding"), None);
    assert_eq!(answer.json()[0]["path"], "a.xml");
}
