//! What an import can be told, and what a preview tells of it.

use std::fs;
use std::ops::ControlFlow;
use std::os::unix::fs::symlink;

use siteconf::base::clock::Timestamp;
use siteconf::repo::{Exclude, ImportOptions, ImportStep, Message};

use crate::fixture::{Scene, branch};
use crate::imports::{counts, folder, laid, opened};
use crate::on_every_engine;

on_every_engine!(
    what_is_excluded_is_left_out_and_kept_by_a_mirror,
    an_import_has_a_message_and_a_date_of_its_own,
    a_preview_tells_what_an_import_does,
);

mod with_large_blobs {
    use super::*;

    crate::on_engines_with_large_blobs!(an_import_that_a_step_ends_leaves_the_branch_alone);
}

fn excluding(patterns: &[&str], mirror: bool) -> ImportOptions {
    let patterns: Vec<_> = patterns.iter().map(ToString::to_string).collect();
    ImportOptions {
        exclude: Exclude::new(&patterns).unwrap(),
        ..laid(mirror)
    }
}

fn what_is_excluded_is_left_out_and_kept_by_a_mirror(scene: &Scene) {
    for at in [
        "a.bak",
        "conf/old.bak",
        "gone",
        "logs/1/x",
        "logs/2",
        "sub/logs",
    ] {
        scene.save(at, "kept");
    }
    let folder = folder(&[
        ("conf/old.bak", "never"),
        ("conf/new.bak", "never"),
        ("conf/a", "a"),
        ("logs/1/x", "never"),
        ("sub/logs", "taken"),
        (".git/config", "never, and not told either"),
    ]);
    let options = excluding(&["*.bak", "/logs", ".git"], true);
    let mut excluded = Vec::new();
    let report = scene.project.import(
        &branch("main"),
        &opened(&folder),
        &options,
        |step| match step {
            ImportStep::Excluded { path } => {
                let path = path.strip_prefix(folder.path()).unwrap();
                excluded.push(path.display().to_string());
            }
            ImportStep::Skipped { path, reason, .. } => panic!("{}: {reason}", path.display()),
            _ => {}
        },
    );
    let report = report.unwrap();
    assert_eq!(excluded, [".git", "conf/new.bak", "conf/old.bak", "logs"]);
    assert_eq!(
        (report.files, report.skipped, report.changes),
        (2, 0, counts(1, 1, 1))
    );
    assert_eq!(
        scene.files(),
        [
            "a.bak=kept",
            "conf/a=a",
            "conf/old.bak=kept",
            "logs/1/x=kept",
            "logs/2=kept",
            "sub/logs=taken",
        ]
    );
    // What is kept cannot lie in a file.
    scene.save("x/y.bak", "kept");
    let before = scene.head().id();
    let folder = self::folder(&[("x", "a file")]);
    let refused = scene
        .project
        .import(&branch("main"), &opened(&folder), &options, |_| {});
    let reason = "\"x\" is a file, not a folder";
    assert_eq!(refused.unwrap_err().to_string(), reason);
    let preview =
        opened(&folder).preview(Some(&scene.head()), &options, |_| ControlFlow::Continue(()));
    assert_eq!(preview.unwrap_err().to_string(), reason);
    assert_eq!(scene.head().id(), before);
}

fn an_import_has_a_message_and_a_date_of_its_own(scene: &Scene) {
    let at = |text: &str| Timestamp::parse(text).unwrap();
    let old = scene
        .project
        .create_branch_at(&branch("old"), None, at("2020-01-01"))
        .unwrap();
    assert_eq!(old.created_at(), at("2020-01-01"));
    let import = |text: &str, date: &str| {
        let options = ImportOptions {
            message: Message::parse(&format!("as of {date}")).ok(),
            date: Some(at(date)),
            ..laid(false)
        };
        options.check(&scene.project.branch(&branch("old")).unwrap())?;
        let lying = folder(&[("a", text)]);
        let folder = opened(&lying);
        scene
            .project
            .import(&branch("old"), &folder, &options, |_| {})
    };
    import("1", "2020-01-01").unwrap();
    import("2", "2021-02-03T04:05:06Z").unwrap();
    let early = "the branch was last changed at 2021-02-03T04:05:06.000Z, and the dates of a branch do not \
                 go back: 2020-12-31T00:00:00.000Z is too early";
    assert_eq!(import("3", "2020-12-31").unwrap_err().to_string(), early);
    // Also when the branch was changed after it was looked at.
    let options = ImportOptions {
        date: Some(at("2020-12-31")),
        ..laid(false)
    };
    let lying = folder(&[("a", "3")]);
    let folder = opened(&lying);
    let late = scene
        .project
        .import(&branch("old"), &folder, &options, |_| {});
    assert_eq!(late.unwrap_err().to_string(), early);

    let history = scene.project.branch(&branch("old")).unwrap();
    let history = history.history(None, None).unwrap();
    let told: Vec<_> = history
        .iter()
        .map(|s| (s.created_at, s.message.as_deref().unwrap_or_default()))
        .collect();
    assert_eq!(
        told,
        [
            (at("2021-02-03T04:05:06Z"), "as of 2021-02-03T04:05:06Z"),
            (at("2020-01-01"), "as of 2020-01-01"),
        ]
    );
    // The audit log is not dated back.
    let log = scene.projects.audit_after(None, None).unwrap();
    let last = &log.entries.last().unwrap().record;
    assert_eq!(last.at, at("2026-11-21"));
    assert_eq!(
        last.detail.as_deref(),
        Some("dated 2021-02-03T04:05:06.000Z")
    );
    // What comes next has today's date.
    scene.try_save("old", "b", "").unwrap();
    let branch = scene.project.branch(&branch("old")).unwrap();
    assert_eq!(branch.updated_at(), at("2026-11-21"));
}

/// Numbers that look random and are the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }
}

/// Files, folders, links and what is left out, a few of each, so that they meet.
fn random(numbers: &mut Numbers) -> Vec<(String, String)> {
    let mut files = Vec::new();
    for _ in 0..numbers.below(12) {
        let mut at = String::new();
        for _ in 0..numbers.below(3) {
            at.push_str(["a/", "a.x/", "b/"][usize::try_from(numbers.below(3)).unwrap()]);
        }
        at.push_str(["a", "b.bak", "c", "d@"][usize::try_from(numbers.below(4)).unwrap()]);
        files.push((at, numbers.below(2).to_string()));
    }
    files
}

fn a_preview_tells_what_an_import_does(scene: &Scene) {
    let mut numbers = Numbers(7);
    let (mut done, mut refused) = (0, 0);
    for round in 0..150 {
        let folder = tempfile::tempdir().unwrap();
        for (at, text) in random(&mut numbers) {
            let place = folder.path().join(at.trim_end_matches('@'));
            // A file may be in the way, or be there.
            let Ok(()) = fs::create_dir_all(place.parent().unwrap()) else {
                continue;
            };
            if at.ends_with('@') {
                drop(symlink(text, place));
            } else if !place.is_dir() {
                fs::write(place, text).unwrap();
            }
        }
        let options = excluding(&["*.bak"], round % 2 == 0);
        let source = opened(&folder);
        let head = scene.head();
        let preview = source.preview(Some(&head), &options, |_| ControlFlow::Continue(()));
        let report = scene
            .project
            .import(&branch("main"), &source, &options, |_| {});
        match (preview, report) {
            (Ok(preview), Ok(report)) => {
                let preview = preview.unwrap();
                assert_eq!(
                    (preview.files, preview.bytes, preview.lost, preview.changes),
                    (report.files, report.bytes, report.lost, report.changes),
                    "{round}: {:?}",
                    scene.files()
                );
                assert_eq!(report.snapshot.is_none(), report.changes == counts(0, 0, 0));
                done += 1;
            }
            (Err(preview), Err(report)) => {
                assert_eq!(preview.to_string(), report.to_string(), "{round}");
                refused += 1;
            }
            (preview, report) => panic!("{round}: {preview:?} {report:?}"),
        }
    }
    assert!(done > 50 && refused > 10, "{done} {refused}");
}

fn an_import_that_a_step_ends_leaves_the_branch_alone(scene: &Scene) {
    let folder = folder(&[("a", "1"), ("b/c", &"2".repeat(300_000)), ("d@", "nowhere")]);
    let source = opened(&folder);
    let options = excluding(&["z"], false);
    for steps in 0..8 {
        let (mut left, mut met) = (steps, 0);
        let read = scene.projects.read_folder(&source, &options, |_| {
            met += 1;
            if left == 0 {
                return ControlFlow::Break(());
            }
            left -= 1;
            ControlFlow::Continue(())
        });
        // Reading and taking of both files, one in two pieces, and a link.
        assert_eq!(read.unwrap().is_some(), steps >= 6, "{steps}");
        assert_eq!(met, 6.min(steps + 1));
    }
    assert_eq!(scene.files(), [""; 0]);
}
