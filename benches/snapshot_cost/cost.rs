//! What saves, rollbacks and branches from a revision cost in one branch.

use std::time::Duration;

use siteconf::base::snapshot_version::SnapshotVersion;
use siteconf::repo::Condition;

use crate::common::{self, Bench, Layout, body, median};

/// Steps that [`measure`] tells.
pub(crate) const STEPS: usize = 4;

/// What was measured in a branch: medians.
pub(crate) struct Cost {
    /// Files in the branch.
    pub(crate) files: u64,
    /// How they lie.
    pub(crate) layout: Layout,
    /// A save of 1 KiB.
    pub(crate) save: Duration,
    /// A rollback of the whole branch.
    pub(crate) rollback: Duration,
    /// A new branch from the head.
    pub(crate) copy: Duration,
    /// Bytes that a save writes, its 1,024 included, on average.
    pub(crate) bytes: u64,
    /// The most that one wrote.
    pub(crate) bytes_max: u64,
    /// Objects that a save writes, on average.
    pub(crate) objects: f64,
}

/// Fills a branch and measures in it, the median of so many runs each.
pub(crate) fn measure(files: u64, layout: Layout, runs: usize, mut step: impl FnMut(&str)) -> Cost {
    let place = format!("{files} files {}", layout.name());
    step(&format!("filling a branch with {place}"));
    let bench = Bench::new();
    let branch = bench.fill("main", files, layout);
    let mut turn = 0_u64;
    let mut next = || {
        turn += 1;
        let file = turn.wrapping_mul(2_654_435_761) % files;
        (layout.path(file), body(turn, 1024))
    };
    step(&format!("save in {place}"));
    let save = median(runs, || {
        let (path, bytes) = next();
        bench.save(&branch, &path, bytes);
    });
    let (mut objects, mut bytes, mut bytes_max) = (0, 0, 0);
    for _ in 0..runs {
        let (path, body) = next();
        bench.counts.inner().take();
        assert!(!bench.save(&branch, &path, body).created);
        let written = bench.counts.inner().take();
        objects += written.objects;
        bytes += written.bytes;
        bytes_max = bytes_max.max(written.bytes);
    }
    step(&format!("rollback in {place}"));
    let versions = bench.project.branch(&branch).unwrap().snapshot_count();
    let mut version = 0;
    let rollback = median(runs, || {
        version = version % versions + 1;
        let to = SnapshotVersion::new(version);
        bench
            .project
            .rollback(&branch, to, &[], &Condition::None)
            .unwrap();
    });
    step(&format!("branch from a revision in {place}"));
    let mut copies = 0;
    let copy = median(runs, || {
        copies += 1;
        let name = common::branch(&format!("copy-{copies}"));
        bench.project.create_branch(&name, Some("main")).unwrap();
    });
    Cost {
        files,
        layout,
        save,
        rollback,
        copy,
        bytes: bytes / runs as u64,
        bytes_max,
        objects: objects as f64 / runs as f64,
    }
}
