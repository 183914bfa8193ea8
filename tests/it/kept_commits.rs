//! Commits that were asked for before: they take no place among what takes long, and tell nothing that is over.

use serde_json::{Value, json};

use crate::crowds::{takes_long, unread, with_places};
use crate::harness::{Daemon, Project, READ, User, segment, soon};
use crate::kept_answers::{ask_again, stage};

/// What clients poll: the newest commit, and whether a file has changed.
const POLLED: [&str; 2] = ["/commits/main", "/commits?path=a.xml&per_page=1"];

/// The commit that such a poll tells, the first of a list.
#[track_caller]
fn told(reader: &User, target: &str) -> Value {
    let told = reader.get(target).expect_status(200).json();
    match told {
        Value::Array(list) => list[0].clone(),
        alone => alone,
    }
}

#[test]
fn commits_that_were_asked_for_before_take_no_long_place() {
    let (daemon, project) = with_places(1, 0, 1);
    for body in ["one", "two"] {
        project.save("main", "a.xml", body);
    }
    let [one, two, three] = [(); 3].map(|()| daemon.reader(&project));
    let targets = POLLED.map(|target| project.read(target));
    let before = targets.each_ref().map(|target| told(&two, target));
    let held = unread(&daemon, &one, &project.read("/archive.tar"));
    // Also for who has not asked before.
    for reader in [&two, &three] {
        assert_eq!(
            targets.each_ref().map(|target| told(reader, target)),
            before
        );
    }
    for other in [
        "/commits/main@v0002",
        "/commits?path=a.xml&per_page=2",
        "/commits?path=a.xml&per_page=1&ref_name=main@v0002",
    ] {
        assert!(takes_long(&two, &project.read(other)), "{other}");
    }
    project.save("main", "a.xml", "three").expect_status(200);
    for target in &targets {
        assert!(takes_long(&two, target), "{target}");
    }
    drop(held);
    for (target, before) in targets.iter().zip(&before) {
        soon(|| two.get(target).status == 200);
        let commit = told(&two, target);
        assert_eq!(commit["title"], "save a.xml");
        assert_eq!(commit["parent_ids"], json!([before["id"]]));
    }
}

#[test]
fn a_commit_whose_lines_were_counted_takes_no_long_place_after_a_save_in_another_branch() {
    let (daemon, project) = with_places(1, 0, 1);
    project.add_branch("other");
    for body in ["one\n", "one\ntwo\n"] {
        project.save("main", "a.xml", body);
    }
    let [one, two] = [(); 2].map(|()| daemon.reader(&project));
    let target = project.read("/commits/main");
    let before = told(&two, &target);
    assert_eq!(before["stats"]["additions"], 1);
    let held = unread(&daemon, &one, &project.read("/archive.tar"));
    project.save("other", "b.xml", "other");
    assert_eq!(told(&two, &target), before);
    // Of this one nobody has counted them.
    assert!(takes_long(&two, &project.read("/commits/other")));
    drop(held);
}

#[test]
fn who_has_a_commit_is_told_so_and_each_address_has_links_to_itself() {
    let daemon = Daemon::start_with(&["--root-mount"]);
    let (project, reader) = stage(&daemon);
    for target in POLLED {
        let own = reader.request("GET", &project.read(target));
        let first = ask_again(&mut daemon.connect(), &own).expect_status(200);
        let tag = first.header("ETag").expect("a tag");
        let again = own.header("If-None-Match", tag).send();
        again.assert_empty(304);
        // The same commit below the other mount.
        let root = format!("/api/v4/projects/{}", segment(&project.id));
        let below = format!("{root}/repository{target}");
        let there = ask_again(&mut daemon.connect(), &reader.request("GET", &below));
        let there = there.expect_status(200);
        if let Some(link) = there.header("Link") {
            assert!(link.contains(&root), "{link}");
        }
        let [there, here] = [&below, &project.read(target)].map(|it| told(&reader, it));
        assert_eq!(there["id"], here["id"]);
        for (commit, mount) in [(there, "/api/v4"), (here, READ)] {
            let url = commit["web_url"].as_str().unwrap();
            let begin = format!("http://{}{mount}/projects/", daemon.address());
            assert!(url.starts_with(&begin), "{url}");
        }
    }
    // What is in the address beside that is in the links.
    let page = |more: &str| {
        let target = format!("{}&_={more}", project.read(POLLED[1]));
        let answer = reader.get(&target).expect_status(200);
        answer.header("Link").expect("links").to_owned()
    };
    for more in ["1", "2", "1"] {
        assert!(page(more).contains(&format!("&_={more}&")), "{more}");
    }
}

#[test]
fn a_commit_of_a_project_that_has_another_name_is_told_with_it() {
    let daemon = Daemon::start();
    let (project, _) = stage(&daemon);
    let issued = project
        .user
        .issue(&json!({ "name": "all", "repos": ["*"] }));
    let reader = daemon.token(issued["tokenString"].as_str().unwrap());
    let url = |project: &Project| {
        let target = project.read(POLLED[0]);
        let url = told(&reader, &target)["web_url"].clone();
        url.as_str().unwrap().to_owned()
    };
    assert!(url(&project).contains("acme%2Fshop.erp"));
    let renamed = json!({ "name": "acme/other" });
    let changed = project.user.patch(&project.admin(""), &renamed);
    changed.expect_status(200);
    let project = Project {
        id: "acme/other.erp".to_owned(),
        ..project
    };
    assert!(url(&project).contains("acme%2Fother.erp"));
}

#[test]
fn no_commit_is_told_that_was_pruned() {
    let daemon = Daemon::start();
    let (project, reader) = stage(&daemon);
    for body in ["one", "two", "three"] {
        project.save("main", "a.xml", body);
    }
    let newest = project.versions("main").len();
    let targets = [
        // The commit of the oldest state that stays is the first one then.
        format!("/commits/main@v{newest:04}"),
        "/commits?ref_name=main".to_owned(),
        "/commits?path=a.xml".to_owned(),
        "/commits?all=true".to_owned(),
    ]
    .map(|target| project.read(&target));
    let read = || {
        targets.each_ref().map(|target| {
            let request = reader.request("GET", target);
            ask_again(&mut daemon.connect(), &request).json()
        })
    };
    let pruned = project.read(&format!("/commits/main@v{:04}", newest - 1));
    told(&reader, &pruned);
    let lengths = |lists: &[Value; 4]| {
        let length = |list: &Value| list.as_array().map_or(0, Vec::len);
        lists.each_ref().map(length)
    };
    let before = read();
    assert_eq!(before[0]["title"], "save a.xml");
    // Each save, and that the branch was made.
    assert_eq!(lengths(&before), [0, 6, 4, 6]);
    daemon.run(&["prune", "--keep-snapshots", "1"], "");
    let after = read();
    assert_eq!(after[0]["title"], "earlier history was removed");
    assert_eq!(after[0]["parent_ids"], json!([]));
    assert_eq!(lengths(&after)[1..], [2, 2, 2]);
    let gone = reader.get(&pruned);
    gone.assert_error(404, "404 Commit Not Found");
}
