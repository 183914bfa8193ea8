//! What a save and a rollback cost in branches of ten to a million files: time, objects, bytes.

#![allow(
    clippy::unwrap_used,
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::print_stdout,
    missing_docs,
    reason = "a benchmark that fails shall fail, and it prints"
)]

mod common;

use std::time::Duration;

use common::{Bench, Layout, at_most, body, median, ratio};
use criterion::{Criterion, criterion_group, criterion_main};

/// Runs of which a bar takes the median.
const RUNS: usize = 201;

const SIZES: [u64; 4] = [10, 1000, 100_000, 1_000_000];

fn snapshot_cost(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("snapshot_cost");
    group
        .sample_size(20)
        .measurement_time(Duration::from_secs(3));
    for layout in [Layout::Spread, Layout::Flat] {
        let mut of_few = Duration::ZERO;
        for files in SIZES {
            let bench = Bench::new();
            let branch = bench.fill("main", files, layout);
            let place = format!("{files} files {}", layout.name());
            let mut turn = 0_u64;
            let mut next = || {
                turn += 1;
                (
                    layout.path(turn.wrapping_mul(2_654_435_761) % files),
                    body(turn, 1024),
                )
            };
            group.bench_function(format!("save/{place}"), |bencher| {
                bencher.iter(|| {
                    let (path, bytes) = next();
                    bench.save(&branch, &path, bytes)
                });
            });
            let most = most_bytes(&bench, &place, || {
                let (path, bytes) = next();
                assert!(!bench.save(&branch, &path, bytes).created);
            });
            let save = median(RUNS, || {
                let (path, bytes) = next();
                bench.save(&branch, &path, bytes);
            });
            if files == SIZES[0] {
                of_few = save;
            }
            let versions = bench.project.branch(&branch).unwrap().snapshot_count();
            group.bench_function(format!("rollback/{place}"), |bencher| {
                let mut version = 0;
                bencher.iter(|| {
                    version = version % versions + 1;
                    let to = siteconf::base::snapshot_version::SnapshotVersion::new(version);
                    bench.project.rollback(&branch, to, None).unwrap()
                });
            });
            let mut version = 0;
            let rollback = median(RUNS, || {
                version = version % versions + 1;
                let to = siteconf::base::snapshot_version::SnapshotVersion::new(version);
                bench.project.rollback(&branch, to, None).unwrap();
            });
            let mut copies = 0;
            let copy = median(RUNS, || {
                copies += 1;
                let name = common::branch(&format!("early-{copies}"));
                bench.project.create_branch(&name, Some("main")).unwrap();
            });
            let in_saves = |time| ratio(time, save);
            at_most(&format!("{place}: bytes of a save"), 25_600.0, most as f64);
            at_most(
                &format!("{place}: a save, in saves of {} files", SIZES[0]),
                2.0,
                ratio(save, of_few),
            );
            at_most(
                &format!("{place}: a rollback, in saves"),
                1.0,
                in_saves(rollback),
            );
            at_most(
                &format!("{place}: a branch from a revision, in saves"),
                1.0,
                in_saves(copy),
            );
            group.bench_function(format!("branch from a revision/{place}"), |bencher| {
                bencher.iter(|| {
                    copies += 1;
                    let name = common::branch(&format!("copy-{copies}"));
                    bench.project.create_branch(&name, Some("main")).unwrap()
                });
            });
        }
    }
    group.finish();
}

/// The most bytes that one of some saves writes; tells the objects too.
fn most_bytes(bench: &Bench, place: &str, mut save: impl FnMut()) -> u64 {
    let mut worst = (0, 0);
    let mut sum = (0, 0);
    for _ in 0..RUNS {
        bench.counts.inner().take();
        save();
        let written = bench.counts.inner().take();
        worst = (worst.0.max(written.objects), worst.1.max(written.bytes));
        sum = (sum.0 + written.objects, sum.1 + written.bytes);
    }
    println!(
        "save/{place}: {:.1} objects, {} bytes on average, blob of 1024 included; at most {} objects, {} bytes",
        sum.0 as f64 / RUNS as f64,
        sum.1 / RUNS as u64,
        worst.0,
        worst.1
    );
    worst.1
}

criterion_group!(benches, snapshot_cost);
criterion_main!(benches);
