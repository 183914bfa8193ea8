//! Comparing states that differ in one and in a thousand of a million files.

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
use siteconf::repo::{BatchAction, Condition, diff};

const FILES: u64 = 1_000_000;

fn comparing(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("diff");
    group
        .sample_size(20)
        .measurement_time(std::time::Duration::from_secs(3));
    let bench = Bench::new();
    let branch = bench.fill("main", FILES, Layout::Spread);
    let before = bench.project.branch(&branch).unwrap().head();
    for changes in [1_u64, 1000] {
        let name = common::branch(&format!("changed-{changes}"));
        bench.project.create_branch(&name, Some("main")).unwrap();
        let update = |number| {
            let path = Layout::Spread.path(number * (FILES / changes));
            BatchAction::Update(path, bench.file(&body(number, 64)), Condition::None)
        };
        let after = bench
            .project
            .batch(&name, (0..changes).map(update).collect(), &Condition::None)
            .unwrap()
            .revision;
        let expected = usize::try_from(changes).unwrap();
        group.bench_function(format!("{changes} changes in {FILES} files"), |bencher| {
            bencher.iter(|| assert_eq!(diff(&before, &after).unwrap().len(), expected));
        });
    }
    group.finish();
}

criterion_group!(benches, comparing);
criterion_main!(benches);
