//! The database is lost right after it has answered a change: what is told of that change.

use std::thread;

use serde_json::{Value, json};

use super::Fleet;
use super::away::AWAY;
use crate::harness::{ADMIN, Answer, Daemon, Project, User, own_folder};

const MADE: &str =
    "the change was made, but what came of it cannot be read now; look before you repeat it";

/// A change: the bytes by which its commit is known, and who asks for it.
struct Change {
    mark: &'static str,
    ask: fn(&Scene, &User) -> Answer,
}

/// A fleet, and a project with files in several folders, of which a daemon that has just begun knows nothing.
struct Scene {
    fleet: Fleet,
    daemon: Daemon,
    project: Project,
}

impl Scene {
    fn set() -> Self {
        let fleet = Fleet::new();
        let daemon = fleet.daemon(&[]);
        let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
        for path in ["a/a.xml", "b/b.xml", "c/c.xml", "d/d.xml"] {
            project.save("main", path, "<a/>");
        }
        Self {
            fleet,
            daemon,
            project,
        }
    }

    /// What is answered to a change by a daemon of its own, which is without the database from then on.
    fn answer(&self, change: &Change) -> Answer {
        // On a machine that stands still for two seconds the change is not even begun. One that was made could not
        // be made again.
        let mut answers = (0..5).map(|_| {
            let (place, proxy) = self.fleet.place_by_proxy();
            let daemon = Daemon::start_at(place, own_folder(), &[]);
            let admin = daemon.session("admin");
            proxy.silence_after(change.mark);
            (change.ask)(self, &admin)
        });
        let begun = |answer: &Answer| answer.json()["message"] != AWAY;
        answers.find(begun).expect("it is begun once in five times")
    }
}

#[test]
fn a_change_that_was_made_is_never_told_to_be_tried_again() {
    let scene = Scene::set();
    let saved = Change {
        mark: "said-of-a-save",
        ask: |scene, admin| {
            let file = scene.project.file("main", "a/a.xml");
            admin.put(&format!("{file}?message=said-of-a-save"), b"<b/>")
        },
    };
    let made = [
        Change {
            mark: "branch-made",
            ask: |scene, admin| {
                let branches = scene.project.admin("/branches");
                admin.post(&branches, &json!({ "name": "branch-made", "from": "main" }))
            },
        },
        Change {
            mark: "project-made",
            ask: |_, admin| {
                let wanted = json!({ "name": "project-made", "type": "erp" });
                admin.post(&format!("{ADMIN}/projects"), &wanted)
            },
        },
        Change {
            mark: "account-renamed",
            ask: |_, admin| {
                let wanted = json!({ "name": "account-renamed" });
                admin.patch(&format!("{ADMIN}/accounts/bob"), &wanted)
            },
        },
    ];
    scene.daemon.user("bob", &[]);
    thread::scope(|scope| {
        scope.spawn(|| {
            let answer = scene.answer(&saved).expect_status(200);
            let told = answer.json();
            assert_eq!(
                (&told["path"], &told["commit_id"], &told["unchanged"]),
                (&json!("a/a.xml"), &Value::Null, &json!(false))
            );
        });
        for change in &made {
            let scene = &scene;
            scope.spawn(move || {
                let answer = scene.answer(change);
                answer.assert_error(503, MADE);
                assert_eq!(answer.header("Retry-After"), None);
            });
        }
    });
    let admin = scene.daemon.session("admin");
    let there = |target: &str| admin.get(&format!("{ADMIN}{target}")).expect_status(200);
    let project = scene.project.seen_by(&admin);
    project
        .user
        .get(&project.file("main", "a/a.xml"))
        .assert_bytes(200, b"<b/>");
    there("/projects/project-made%2Eerp");
    there("/accounts/account-renamed");
    admin
        .get(&project.admin("/branches/branch-made"))
        .expect_status(200);
}
