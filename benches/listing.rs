//! Listings: one folder in branches of a thousand and a million files, and everything below it.

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

use common::{Bench, Layout};
use criterion::{Criterion, criterion_group, criterion_main};
use siteconf::base::file_path::FilePath;

fn listing(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("listing");
    group
        .sample_size(20)
        .measurement_time(std::time::Duration::from_secs(3));
    for files in [1000, 1_000_000] {
        let bench = Bench::new();
        let branch = bench.fill("main", files, Layout::Spread);
        let head = bench.project.branch(&branch).unwrap().head();
        let folder = FilePath::parse("region-000/shop-000005").unwrap();
        group.bench_function(format!("one folder of 100/{files} files"), |bencher| {
            bencher.iter(|| assert_eq!(head.list(Some(&folder), false).unwrap().len(), 100));
        });
        let region = FilePath::parse("region-000").unwrap();
        let below = usize::try_from(files.min(10_000)).unwrap();
        group.bench_function(
            format!("{below} files below a folder/{files} files"),
            |bencher| {
                bencher.iter(|| {
                    assert_eq!(
                        head.list(Some(&region), true).unwrap().len(),
                        below + below / 100
                    );
                });
            },
        );
    }
    group.finish();
}

criterion_group!(benches, listing);
criterion_main!(benches);
