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

use common::{Bench, Layout, body};
use criterion::{Criterion, criterion_group, criterion_main};

const SIZES: [u64; 4] = [10, 1000, 100_000, 1_000_000];

fn snapshot_cost(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("snapshot_cost");
    group
        .sample_size(20)
        .measurement_time(std::time::Duration::from_secs(3));
    for layout in [Layout::Spread, Layout::Flat] {
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
            let mut worst = (0, 0);
            let mut sum = (0, 0);
            for _ in 0..200 {
                let (path, bytes) = next();
                bench.counts.inner().take();
                let saved = bench.save(&branch, &path, bytes);
                assert!(!saved.created);
                let written = bench.counts.inner().take();
                worst = (worst.0.max(written.objects), worst.1.max(written.bytes));
                sum = (sum.0 + written.objects, sum.1 + written.bytes);
            }
            println!(
                "save/{place}: {:.1} objects, {} bytes on average, blob of 1024 included; at most {} objects, {} bytes",
                sum.0 as f64 / 200.0,
                sum.1 / 200,
                worst.0,
                worst.1
            );
            let versions = bench.project.branch(&branch).unwrap().snapshots();
            group.bench_function(format!("rollback/{place}"), |bencher| {
                let mut version = 0;
                bencher.iter(|| {
                    version = version % versions + 1;
                    let to = siteconf::base::snapshot_version::SnapshotVersion::new(version);
                    bench.project.rollback(&branch, to, None).unwrap()
                });
            });
            let mut copies = 0;
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

criterion_group!(benches, snapshot_cost);
criterion_main!(benches);
