//! Daemons side by side over one database.

use serde_json::json;

use super::Fleet;
use crate::harness::{ADMIN, Daemon, Project};
use crate::waits::{lawful, waiting};

struct Two {
    one: Daemon,
    other: Daemon,
    /// Seen through the first.
    project: Project,
}

impl Two {
    /// A project with `a.xml` in `main`, and two daemons that serve it.
    fn set() -> Self {
        let fleet = Fleet::new();
        let (one, other) = (fleet.daemon(&[]), fleet.daemon(&[]));
        let project = Project::with_main(&one.user("alice", &[]), "acme/shop");
        project.save("main", "a.xml", "<a/>");
        Self {
            one,
            other,
            project,
        }
    }
}

/// Somebody of the one daemon as a caller of the other.
fn at(daemon: &Daemon, user: &crate::harness::User) -> crate::harness::User {
    user.at(daemon.address())
}

#[test]
fn what_is_saved_through_one_is_read_through_the_other_with_the_same_session_and_token() {
    let two = Two::set();
    let there = two.project.seen_by(&at(&two.other, &two.project.user));
    let reader = two.one.reader(&two.project);
    for number in 0..20 {
        let (saves, reads) = if number % 2 == 0 {
            (&two.project, &there)
        } else {
            (&there, &two.project)
        };
        let text = number.to_string();
        saves.save("main", "a.xml", &text);
        let read = || reads.user.get(&reads.file("main", "a.xml"));
        // Within the 20 ms in which a daemon may answer from its memory.
        crate::harness::soon(|| read().body == text.as_bytes());
        crate::harness::soon(|| {
            let raw = at(&two.other, &reader).get(&two.project.raw("a.xml"));
            raw.body == text.as_bytes()
        });
    }
    assert_eq!(there.versions("main"), two.project.versions("main"));
    assert_eq!(there.versions("main").len(), 21);
}

#[test]
fn who_waits_at_one_is_woken_by_a_change_through_the_other() {
    let two = Two::set();
    let reader = two.one.reader(&two.project);
    for number in 0..5 {
        let waits = at(&two.other, &reader);
        let mut connection = two.other.connect();
        let request = waiting(&waits, &two.project.read("/branches/main"), 60);
        connection.send(&request.to_bytes());
        two.project.save("main", "a.xml", number.to_string());
        let answer = lawful(connection).expect_status(200);
        assert_eq!(
            answer.json()["commit"]["short_id"],
            two.project.short_id("main")
        );
    }
}

#[test]
fn what_is_revoked_through_one_counts_at_the_other_no_more_at_its_answer() {
    let two = Two::set();
    for turn in 0..10 {
        let token = two
            .project
            .user
            .issue(&json!({ "name": format!("t{turn}"), "repos": [two.project.id] }));
        let holder = two.other.token(token["tokenString"].as_str().unwrap());
        let raw = two.project.raw("a.xml");
        crate::harness::soon(|| holder.get(&raw).status == 200);
        let id = token["tokenId"].as_str().unwrap();
        two.project
            .user
            .delete(&format!("{ADMIN}/tokens/{id}"))
            .expect_status(204);
        for _ in 0..5 {
            holder.get(&raw).assert_error(401, "401 Unauthorized");
        }
    }
    // A session that is logged out, and an account that is disabled.
    let there = at(&two.other, &two.project.user);
    there.get("/user/session").expect_status(200);
    two.project
        .user
        .post("/user/logout", &json!({}))
        .expect_status(204);
    there.get("/user/session").expect_status(401);
}

#[test]
fn saves_of_one_branch_through_both_at_once_are_all_kept() {
    const SAVES: usize = 20;
    let two = Two::set();
    let there = two.project.seen_by(&at(&two.other, &two.project.user));
    std::thread::scope(|scope| {
        for (name, project) in [("one", &two.project), ("other", &there)] {
            scope.spawn(move || {
                for number in 0..SAVES {
                    project.save("main", &format!("{name}/{number}.xml"), number.to_string());
                }
            });
        }
    });
    for project in [&two.project, &there] {
        crate::harness::soon(|| project.versions("main").len() == 2 * SAVES + 1);
        assert_eq!(
            project.tree("main").as_array().unwrap().len(),
            2 * SAVES + 3
        );
    }
    assert_eq!(two.project.short_id("main"), there.short_id("main"));
}

#[test]
fn the_whole_history_is_the_same_at_both() {
    let two = Two::set();
    let there = two.project.seen_by(&at(&two.other, &two.project.user));
    let whole = |project: &Project| {
        let target = project.on("main", "/history");
        project.user.get(&target).expect_status(200).json()
    };
    for number in 0..10 {
        two.project.save("main", "a.xml", number.to_string());
        // A commit id that a save has told is kept a moment later, for both.
        loop {
            let (before, at_other) = (whole(&two.project), whole(&there));
            if before == whole(&two.project) {
                assert_eq!(at_other, before);
                break;
            }
        }
    }
    let page = two.project.on("main", "/history?limit=100");
    let page = two.project.user.get(&page).expect_status(200).json();
    assert_eq!(whole(&there), page);
    assert_eq!(whole(&two.project), page);
    assert!(page[0]["commit_id"].is_string(), "{page}");
}
