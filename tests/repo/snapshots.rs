use siteconf::base::clock::Timestamp;
use siteconf::repo::{Condition, Error, Missing, diff};

use crate::fixture::{Scene, branch, files_of, path, version};
use crate::on_every_engine;

on_every_engine!(
    each_snapshot_is_the_state_before_its_operation,
    a_rollback_restores_all_and_can_itself_be_rolled_back,
    a_rollback_of_a_path_leaves_the_rest,
    a_rehearsed_rollback_changes_nothing,
    a_clock_that_goes_back_does_not_reorder_the_history,
    a_clock_that_was_far_ahead_does_not_date_what_follows,
    pages_of_the_history_meet,
);

fn each_snapshot_is_the_state_before_its_operation(scene: &Scene) {
    scene.save("a", "1");
    scene.save("a", "2");
    scene.delete("a").unwrap();
    let history = scene
        .project
        .branch(&branch("main"))
        .unwrap()
        .history(None, None)
        .unwrap();
    let shown: Vec<_> = history
        .iter()
        .map(|s| {
            (
                s.version.to_string(),
                s.operation.to_string(),
                s.path.clone(),
                files_of(&s.revision),
            )
        })
        .collect();
    let a = || Some("a".to_owned());
    assert_eq!(
        shown,
        [
            (
                "v0003".to_owned(),
                "delete".to_owned(),
                a(),
                vec!["a=2".to_owned()]
            ),
            (
                "v0002".to_owned(),
                "save".to_owned(),
                a(),
                vec!["a=1".to_owned()]
            ),
            ("v0001".to_owned(), "save".to_owned(), a(), vec![]),
        ]
    );
}

fn a_rollback_restores_all_and_can_itself_be_rolled_back(scene: &Scene) {
    scene.save("a", "1");
    scene.save("b", "2");
    let two = scene.head();
    let back = scene
        .project
        .rollback(&branch("main"), version(2), &[], &Condition::None)
        .unwrap();
    assert_eq!(back.snapshot, version(3));
    assert_eq!(scene.files(), ["a=1"]);
    let forth = scene
        .project
        .rollback(&branch("main"), back.snapshot, &[], &Condition::None)
        .unwrap();
    assert_eq!(forth.revision.id(), two.id());
    assert_eq!(forth.revision.digest().unwrap(), two.digest().unwrap());
    let absent = scene
        .project
        .rollback(&branch("main"), version(99), &[], &Condition::None)
        .unwrap_err();
    assert!(matches!(
        absent,
        Error::NotFound {
            what: Missing::Snapshot
        }
    ));
}

fn a_rollback_of_a_path_leaves_the_rest(scene: &Scene) {
    scene.save("folder/a", "1");
    scene.save("other", "1");
    scene.save("folder/a", "2");
    scene.save("folder/b", "2");
    scene.save("other", "2");
    let roll = |at: &str| {
        scene
            .project
            .rollback(&branch("main"), version(3), &[path(at)], &Condition::None)
    };
    roll("folder/a").unwrap();
    assert_eq!(scene.files(), ["folder/a=1", "folder/b=2", "other=2"]);
    roll("folder").unwrap();
    assert_eq!(scene.files(), ["folder/a=1", "other=2"]);
    scene.save("late", "3");
    roll("late").unwrap();
    assert_eq!(scene.files(), ["folder/a=1", "other=2"]);
    assert!(matches!(
        roll("never").unwrap_err(),
        Error::NotFound {
            what: Missing::File
        }
    ));
}

fn a_rehearsed_rollback_changes_nothing(scene: &Scene) {
    scene.save("a", "1");
    scene.save("a", "2");
    scene.save("b", "2");
    let before = scene.head().id();
    let changes = scene
        .project
        .branch(&branch("main"))
        .unwrap()
        .preview_rollback(version(2), &[], &Condition::None)
        .unwrap();
    let changes = changes.part(None, usize::MAX).unwrap();
    let shown: Vec<_> = changes
        .iter()
        .map(|c| format!("{} {}", c.kind(), c.path))
        .collect();
    assert_eq!(shown, ["modified a", "deleted b"]);
    assert_eq!(scene.head().id(), before);
    assert_eq!(
        scene
            .project
            .branch(&branch("main"))
            .unwrap()
            .snapshot_count(),
        3
    );
    let old = scene
        .project
        .branch(&branch("main"))
        .unwrap()
        .snapshot(version(2))
        .unwrap();
    let real: Vec<_> = diff(&scene.head(), &old).unwrap();
    assert_eq!(
        real.iter().map(|c| c.path.as_str()).collect::<Vec<_>>(),
        ["a", "b"]
    );
}

fn a_clock_that_goes_back_does_not_reorder_the_history(scene: &Scene) {
    scene.clock.advance_s(3600);
    scene.save("a", "1");
    scene
        .clock
        .set(Timestamp::parse("2026-11-20T02:00:00Z").unwrap());
    scene.save("a", "2");
    scene.clock.set(Timestamp::parse("2026-11-22").unwrap());
    scene.save("a", "3");
    let history = scene
        .project
        .branch(&branch("main"))
        .unwrap()
        .history(None, None)
        .unwrap();
    let times: Vec<_> = history.iter().map(|s| s.created_at.to_string()).collect();
    assert_eq!(
        times,
        [
            "2026-11-22T00:00:00.000Z",
            "2026-11-21T01:00:00.000Z",
            "2026-11-21T01:00:00.000Z"
        ]
    );
}

fn a_clock_that_was_far_ahead_does_not_date_what_follows(scene: &Scene) {
    for (clock, text) in [
        ("2036-01-01", "1"),
        ("2026-11-21T02:00:00Z", "2"),
        ("2026-11-21T03:00:00Z", "3"),
        // So does one that is far behind.
        ("2000-01-01", "4"),
        ("2026-11-21T04:00:00Z", "5"),
    ] {
        scene.clock.set(Timestamp::parse(clock).unwrap());
        scene.save("a", text);
    }
    let main = scene.project.branch(&branch("main")).unwrap();
    let history = main.history(None, None).unwrap();
    let times: Vec<_> = history.iter().map(|s| s.created_at.to_string()).collect();
    assert_eq!(
        times,
        [
            "2026-11-21T04:00:00.000Z",
            "2000-01-01T00:00:00.000Z",
            "2026-11-21T03:00:00.000Z",
            "2026-11-21T02:00:00.000Z",
            "2036-01-01T00:00:00.000Z",
        ]
    );
    assert_eq!(main.updated_at().to_string(), "2026-11-21T04:00:00.000Z");
}

fn pages_of_the_history_meet(scene: &Scene) {
    for number in 0..25 {
        scene.save("a", &number.to_string());
    }
    let main = scene.project.branch(&branch("main")).unwrap();
    let mut seen = Vec::new();
    let mut before = None;
    loop {
        let page = main.history(before, Some(10)).unwrap();
        let Some(last) = page.last() else { break };
        before = Some(last.version);
        seen.extend(page.iter().map(|s| s.version.number()));
    }
    assert_eq!(seen, (1..=25).rev().collect::<Vec<_>>());
}
