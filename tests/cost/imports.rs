//! What an import commits: most of it ahead, in parts, and next to nothing while the branch's saves wait.

use std::fs;
use std::path::Path;

use siteconf::base::limits::SPILL_OBJECTS;
use siteconf::repo::{ImportFolder, ImportOptions};

use crate::common::counting::Passed;
use crate::common::{Bench, Layout, branch};

const FILES: u64 = 5_000;
const LAYOUTS: [Layout; 2] = [Layout::Spread, Layout::Flat];

fn folder(layout: Layout) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..FILES {
        write(folder.path(), layout, number, "");
    }
    folder
}

fn write(folder: &Path, layout: Layout, number: u64, text: &str) {
    let place = folder.join(layout.path(number).as_str());
    fs::create_dir_all(place.parent().unwrap()).unwrap();
    fs::write(place, format!("{number}{text}")).unwrap();
}

fn import(bench: &Bench, folder: &Path, mirror: bool) -> Passed {
    bench.counts.inner().take();
    let main = branch("main");
    let report = bench
        .project
        .import(
            &main,
            &ImportFolder::open(folder, None).unwrap(),
            &ImportOptions {
                mirror,
                ..ImportOptions::default()
            },
            |_| {},
        )
        .unwrap();
    assert_eq!(report.files, FILES);
    bench.counts.inner().take()
}

#[test]
fn the_commit_that_makes_an_import_has_records_alone() {
    for layout in LAYOUTS {
        let folder = folder(layout);
        for mirror in [false, true] {
            let bench = Bench::new();
            bench.project.create_branch(&branch("main"), None).unwrap();
            let into_nothing = import(&bench, folder.path(), mirror);
            let again = import(&bench, folder.path(), mirror);
            write(
                folder.path(),
                layout,
                FILES / 2,
                &format!("changed, {mirror}"),
            );
            let changed = import(&bench, folder.path(), mirror);
            for passed in [into_nothing, again, changed] {
                let place = format!("{layout:?}, mirror {mirror}: {passed:?}");
                assert!(passed.commits > FILES / 1000, "{place}");
                // A part may end with a directory that is large itself.
                assert!(passed.objects_at_most < 2 * SPILL_OBJECTS as u64, "{place}");
            }
            // What changes nothing ends with a part.
            for passed in [into_nothing, changed] {
                let place = format!("{layout:?}, mirror {mirror}: {passed:?}");
                assert_eq!(passed.objects_at_last, 0, "{place}");
            }
        }
    }
}

#[test]
fn what_a_branch_has_already_is_not_read_to_lay_the_same_over_it() {
    for layout in LAYOUTS {
        let folder = folder(layout);
        let bench = Bench::new();
        bench.project.create_branch(&branch("main"), None).unwrap();
        import(&bench, folder.path(), false);
        write(folder.path(), layout, FILES / 2, "changed");
        // Nothing at hand: what is read is counted.
        let fresh = bench.reopened();
        fresh.counts.inner().take();
        let main = branch("main");
        let report = fresh.project.import(
            &main,
            &ImportFolder::open(folder.path(), None).unwrap(),
            &ImportOptions::default(),
            |_| {},
        );
        let read = fresh.counts.inner().take();
        assert_eq!(report.unwrap().revision.totals().files, FILES);
        assert_eq!(read.blob_reads, 0);
        assert!(read.node_reads <= 40, "{layout:?}: {read:?}");
    }
}
