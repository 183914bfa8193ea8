use std::fmt::Write;

use siteconf::repo::{Condition, Error, Missing};

use crate::fixture::{Scene, branch, files_of, path};
use crate::on_every_engine;

on_every_engine!(
    a_reference_names_a_branch_a_snapshot_or_a_commit,
    an_id_that_nobody_was_told_is_found,
    an_id_that_was_missed_is_found_once_a_state_has_it,
    an_id_of_several_branches_is_that_of_the_oldest_that_was_told,
    listings_have_their_order,
    digests_go_on_where_trees_differ,
);

fn a_reference_names_a_branch_a_snapshot_or_a_commit(scene: &Scene) {
    scene.save("a", "1");
    let one = scene.head().digest().unwrap();
    scene.save("a", "2");
    let two = scene.head();
    let files = |reference| files_of(&scene.project.resolve(reference).unwrap());
    assert_eq!(files(None), ["a=2"]);
    assert_eq!(files(Some("HEAD")), ["a=2"]);
    assert_eq!(files(Some("main")), ["a=2"]);
    assert_eq!(files(Some("main@v0002")), ["a=1"]);
    assert_eq!(files(Some(one.commit_id())), ["a=1"]);
    assert_eq!(files(Some(one.short_id())), ["a=1"]);
    assert!(
        scene
            .project
            .resolve(Some(one.commit_id()))
            .unwrap()
            .is_fixed()
    );
    assert!(!two.is_fixed());
    for absent in [
        "nosuch",
        "main@v0009",
        "main@v2",
        "other@v0001",
        "0000000",
        "00000000",
        &one.as_str()[..7],
    ] {
        let error = scene.project.resolve(Some(absent)).unwrap_err();
        assert!(
            matches!(
                error,
                Error::NotFound {
                    what: Missing::Revision
                }
            ),
            "{absent}: {error}"
        );
    }
    scene
        .project
        .create_branch(&branch(one.short_id()), None)
        .unwrap();
    assert!(
        files(Some(one.short_id())).is_empty(),
        "a branch wins over a commit"
    );
}

fn an_id_that_nobody_was_told_is_found(scene: &Scene) {
    scene.save("a", "1");
    scene.save("a", "2");
    // SHA-256 of the line of "a" with the one byte "1".
    let line = "a|1|c4ca4238a0b923820dcc509a6f75849b\n";
    let id = siteconf::base::digest::sha256(line.as_bytes()).to_string();
    assert_eq!(
        files_of(&scene.project.resolve(Some(&id[..40])).unwrap()),
        ["a=1"]
    );
}

fn an_id_that_was_missed_is_found_once_a_state_has_it(scene: &Scene) {
    // SHA-256 of the line of "a" with the one byte "1".
    let line = "a|1|c4ca4238a0b923820dcc509a6f75849b\n";
    let id = siteconf::base::digest::sha256(line.as_bytes()).to_string();
    let forms = [&id[..40], &id[..8]];
    let missed = |text| {
        let missed = scene.project.resolve(Some(text)).unwrap_err();
        assert!(matches!(
            missed,
            Error::NotFound {
                what: Missing::Revision
            }
        ));
    };
    scene.save("a", "2");
    // What the first search writes may be a change to a store that keeps nothing in memory.
    for text in forms.into_iter().chain(forms) {
        missed(text);
    }
    scene.save("a", "1");
    for text in forms {
        assert_eq!(
            files_of(&scene.project.resolve(Some(text)).unwrap()),
            ["a=1"]
        );
    }
}

fn an_id_of_several_branches_is_that_of_the_oldest_that_was_told(scene: &Scene) {
    scene.save("a", "1");
    let other = branch("other");
    let other = scene.project.create_branch(&other, Some("main")).unwrap();
    let id = other.head().digest().unwrap();
    let branch_found = || {
        let found = scene.project.resolve(Some(id.commit_id())).unwrap();
        found.branch_number()
    };
    scene.projects.background().flush("commit/");
    assert_eq!(branch_found(), other.head().branch_number());
    // From when it is told on, and not only once the index has it.
    let main = scene.head();
    assert_eq!(main.digest().unwrap(), id);
    assert_eq!(branch_found(), main.branch_number());
    scene.projects.background().flush("commit/");
    assert_eq!(branch_found(), main.branch_number());
}

fn listings_have_their_order(scene: &Scene) {
    for at in ["b/x", "b.xml", "b-c", "a", "b/a/y", "Z"] {
        scene.save(at, at);
    }
    let list = |folder: Option<&str>, recursive| -> Vec<String> {
        let folder = folder.map(path);
        let entries = scene.head().list(folder.as_ref(), recursive).unwrap();
        entries.into_iter().map(|entry| entry.path).collect()
    };
    assert_eq!(list(None, false), ["b", "Z", "a", "b-c", "b.xml"]);
    assert_eq!(
        list(None, true),
        ["Z", "a", "b-c", "b.xml", "b", "b/a", "b/a/y", "b/x"]
    );
    assert_eq!(list(Some("b"), false), ["b/a", "b/x"]);
    assert_eq!(list(Some("b"), true), ["b/a", "b/a/y", "b/x"]);
    for absent in ["nosuch", "a", "b/x"] {
        let error = scene.head().list(Some(&path(absent)), false).unwrap_err();
        assert!(
            matches!(
                error,
                Error::NotFound {
                    what: Missing::Folder
                }
            ),
            "{absent}"
        );
    }
}

fn digests_go_on_where_trees_differ(scene: &Scene) {
    // Enough lines for several kept states of the hash.
    let actions = (0..3000).map(|number| {
        let at = path(&format!("folder-{:02}/file-{number:05}.xml", number / 100));
        siteconf::repo::BatchAction::Create(at, scene.file("x"))
    });
    scene
        .project
        .batch(&branch("main"), actions.collect(), &Condition::None)
        .unwrap();
    scene.head().digest().unwrap();
    for at in [
        "folder-00/file-00000.xml",
        "folder-29/file-02999.xml",
        "folder-15/file-01500.xml",
        "a",
        "folder-15",
        "z/z",
    ] {
        let made = if at == "folder-15" {
            for number in 1500..1600 {
                scene
                    .delete(&format!("folder-15/file-{number:05}.xml"))
                    .unwrap();
            }
            scene.save(at, "a file in the place of a folder").revision
        } else {
            scene.save(at, at).revision
        };
        let mut text = String::new();
        for entry in made.list(None, true).unwrap() {
            if let siteconf::repo::EntryKind::File { size, md5, .. } = entry.kind {
                writeln!(text, "{}|{size}|{md5}", entry.path).unwrap();
            }
        }
        let expected = siteconf::base::digest::sha256(text.as_bytes()).to_string();
        assert_eq!(made.digest().unwrap().as_str(), expected, "after {at}");
    }
}
