//! Objects and bytes that a change writes, whatever the size of the branch.

use siteconf::base::file_path::FilePath;
use siteconf::base::snapshot_version::SnapshotVersion;
use siteconf::repo::{Check, Condition, Revision, Rule};

use crate::common::counting::Passed;
use crate::common::{Bench, Layout, body};

const SIZES: [u64; 3] = [10, 1000, 100_000];
const LAYOUTS: [Layout; 2] = [Layout::Spread, Layout::Flat];
const SAVES: u64 = 40;
const BODY_BYTES: usize = 1024;
/// The bar of a save, its body's 1,024 bytes included.
const SAVE_BYTES_MAX: u64 = 25 << 10;
/// Blob, manifest, and the nodes on the way to the file: three folders of one or two levels, or one of
/// four.
const SAVE_OBJECTS_MAX: u64 = 2 + 5;
/// Records alone: a head, a snapshot, their keys.
const RECORDS_BYTES_MAX: u64 = 2 << 10;

/// Numbers that look random and are the same in every run.
fn scattered(turn: u64, below: u64) -> u64 {
    turn.wrapping_mul(2_654_435_761) % below
}

/// Calls with a branch of each size and layout.
fn on_every_branch(check: impl Fn(&Bench, u64, Layout)) {
    for layout in LAYOUTS {
        for files in SIZES {
            let bench = Bench::new();
            bench.fill("main", files, layout);
            check(&bench, files, layout);
        }
    }
}

fn saved(bench: &Bench, path: &FilePath, turn: u64) -> (u64, u64) {
    let main = crate::common::branch("main");
    bench.counts.inner().take();
    bench.save(&main, path, body(turn, BODY_BYTES));
    let passed = bench.counts.inner().take();
    assert_eq!(passed.commits, 1, "{path}");
    (passed.objects, passed.bytes)
}

#[test]
fn a_save_writes_little_whatever_the_size_of_the_branch() {
    on_every_branch(|bench, files, layout| {
        for turn in 1..=SAVES {
            let path = layout.path(scattered(turn, files));
            let (objects, bytes) = saved(bench, &path, turn);
            let place =
                format!("{files} files {layout:?}, {path}: {objects} objects, {bytes} bytes");
            assert!(objects <= SAVE_OBJECTS_MAX, "{place}");
            assert!(bytes <= SAVE_BYTES_MAX, "{place}");
        }
    });
}

#[test]
fn a_new_file_writes_little_whatever_the_size_of_the_branch() {
    on_every_branch(|bench, files, layout| {
        let (mut all_objects, mut all_bytes) = (0, 0);
        for turn in 1..=SAVES {
            let beside = layout.path(scattered(turn, files));
            let path = FilePath::parse(&format!("{beside}.new")).unwrap();
            let (objects, bytes) = saved(bench, &path, turn);
            // A node that is split, on each level of one folder.
            assert!(objects <= SAVE_OBJECTS_MAX + 3, "{path}: {objects} objects");
            all_objects += objects;
            all_bytes += bytes;
        }
        let place = format!("{files} files {layout:?}: {all_objects} objects, {all_bytes} bytes");
        assert!(all_objects <= SAVES * (SAVE_OBJECTS_MAX + 1), "{place}");
        assert!(all_bytes <= SAVES * SAVE_BYTES_MAX, "{place}");
    });
}

#[test]
fn bytes_that_are_there_already_are_saved_by_records_alone() {
    on_every_branch(|bench, files, layout| {
        let main = crate::common::branch("main");
        let head = || bench.project.branch(&main).unwrap().head();
        let before = head();
        saved(bench, &layout.path(files / 2), 1);
        let rows = bench.counts.inner();
        let to = SnapshotVersion::new(bench.project.branch(&main).unwrap().snapshot_count());
        rows.take();

        let done = bench
            .project
            .rollback(&main, to, &[], &Condition::None)
            .unwrap();
        let passed = rows.take();
        assert_eq!((passed.commits, passed.objects), (1, 0), "a rollback");
        assert!(passed.bytes <= RECORDS_BYTES_MAX, "{passed:?}");
        assert_same(&done.revision, &before);

        let copy = crate::common::branch("copy");
        bench
            .project
            .create_branch(&copy, Some("main@v0001"))
            .unwrap();
        let passed = rows.take();
        assert_eq!(
            (passed.commits, passed.objects),
            (1, 0),
            "a branch from a revision"
        );
        assert!(passed.bytes <= RECORDS_BYTES_MAX, "{passed:?}");
        assert_eq!(bench.project.branch(&copy).unwrap().totals().files, 0);
    });
}

fn assert_same(one: &Revision, other: &Revision) {
    assert_eq!(one.id(), other.id());
    assert_eq!(one.totals(), other.totals());
}

/// What a save read, of all kinds.
fn reads(passed: &Passed) -> u64 {
    passed.blob_reads + passed.node_reads + passed.manifest_reads + passed.record_reads
}

#[test]
fn a_project_without_rules_pays_nothing_for_them() {
    let costs = |rules: &[Rule]| {
        let bench = Bench::new();
        let main = bench.fill("main", 1000, Layout::Spread);
        bench.project.set_rules(rules).unwrap();
        let path = FilePath::parse("region-000/shop-000001/new.json").unwrap();
        bench.save(&main, &path, "[1]".into());
        let of_save = |turn: u32| {
            bench.counts.inner().take();
            bench.save(&main, &path, format!("[{turn}]").into());
            bench.counts.inner().take()
        };
        // The digest of a state before may be computed beside one of them, which then counts its reads, too.
        (2..10).map(of_save).min_by_key(reads).unwrap()
    };
    let rule = |pattern: &str| Rule {
        patterns: vec![pattern.to_owned()],
        check: Check::Json,
        schema: None,
    };
    let none = costs(&[]);
    // The state is that which the save before left: nothing is read again, and one commit made.
    assert_eq!((none.commits, reads(&none)), (1, 0), "{none:?}");
    // Rules read and write no more, whether they are for the file or not.
    assert_eq!(costs(&[rule("*.xml")]), none);
    assert_eq!(costs(&[rule("*.json")]), none);
}
