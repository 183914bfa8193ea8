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

use std::time::Duration;

use common::{Bench, Layout, at_most, median, ratio};
use criterion::{Criterion, criterion_group, criterion_main};
use siteconf::base::file_path::FilePath;

fn listing(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("listing");
    group
        .sample_size(20)
        .measurement_time(Duration::from_secs(3));
    let mut in_few = Duration::ZERO;
    for files in [1000, 1_000_000] {
        let bench = Bench::new();
        let branch = bench.fill("main", files, Layout::Spread);
        let head = bench.project.branch(&branch).unwrap().head();
        let folder = FilePath::parse("region-000/shop-000005").unwrap();
        group.bench_function(format!("one folder of 100/{files} files"), |bencher| {
            bencher.iter(|| assert_eq!(head.list(Some(&folder), false).unwrap().len(), 100));
        });
        let list = median(1001, || drop(head.list(Some(&folder), false).unwrap()));
        if files == 1000 {
            in_few = list;
        } else {
            let what = "one folder in 1,000,000 files, in the same in 1,000";
            at_most(what, 2.0, ratio(list, in_few));
        }
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
