//! The branch digest of 100,000 files: nothing cached, nodes in memory, after one save, unchanged.

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

use std::sync::Arc;
use std::time::{Duration, Instant};

use common::{Bench, Layout, at_most, body, median};
use criterion::{Criterion, criterion_group, criterion_main};
use siteconf::base::clock::SystemClock;
use siteconf::manifest::{Nodes, digest};
use siteconf::repo::Projects;
use siteconf::store::Store;
use siteconf::store::objects::Objects;

const FILES: u64 = 100_000;

fn digest_of_a_branch(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("digest");
    group
        .sample_size(20)
        .measurement_time(Duration::from_secs(5));
    for layout in [Layout::Spread, Layout::Flat] {
        let bench = Bench::new();
        let branch = bench.fill("main", FILES, layout);
        let name = layout.name();
        let head = || bench.project.branch(&branch).unwrap().head();
        let store = Arc::clone(&bench.counts) as Arc<dyn Store>;
        let fresh = || Nodes::new(Arc::new(Objects::new(Arc::clone(&store))));
        group.bench_function(format!("{FILES} files {name}/nothing cached"), |bencher| {
            bencher.iter_custom(|rounds| {
                (0..rounds)
                    .map(|_| {
                        let nodes = fresh();
                        let start = Instant::now();
                        let root = nodes.manifest(head().manifest()).unwrap().root;
                        digest::digest(&nodes, root).unwrap();
                        start.elapsed()
                    })
                    .sum()
            });
        });
        let nodes = fresh();
        let root = nodes.manifest(head().manifest()).unwrap().root;
        let expected = digest::digest(&nodes, root).unwrap();
        group.bench_function(format!("{FILES} files {name}/nodes in memory"), |bencher| {
            bencher.iter(|| assert_eq!(digest::digest(&nodes, root).unwrap(), expected));
        });
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        let what = |case: &str| format!("digest of {FILES} files {name}, {case}, in ms");
        let in_memory = median(21, || {
            digest::digest(&nodes, root).unwrap();
        });
        at_most(&what("nodes in memory"), 25.0, ms(in_memory));
        let cold = median(21, || {
            let nodes = fresh();
            let root = nodes.manifest(head().manifest()).unwrap().root;
            digest::digest(&nodes, root).unwrap();
        });
        at_most(&what("nothing cached"), 75.0, ms(cold));
        let mut turn = 0_u64;
        group.bench_function(format!("{FILES} files {name}/after one save"), |bencher| {
            bencher.iter_custom(|rounds| {
                (0..rounds)
                    .map(|_| {
                        turn += 1;
                        let path = layout.path(turn.wrapping_mul(2_654_435_761) % FILES);
                        let saved = bench.save(&branch, &path, body(turn, 64));
                        let start = Instant::now();
                        saved.revision.digest().unwrap();
                        start.elapsed()
                    })
                    .sum()
            });
        });
        let mut spent = Duration::ZERO;
        for _ in 0..200 {
            turn += 1;
            let path = layout.path(turn.wrapping_mul(2_654_435_761) % FILES);
            let saved = bench.save(&branch, &path, body(turn, 64));
            let start = Instant::now();
            saved.revision.digest().unwrap();
            spent += start.elapsed();
        }
        at_most(&what("after one save, on average"), 12.0, ms(spent / 200));
        let revision = head();
        revision.digest().unwrap();
        group.bench_function(format!("{FILES} files {name}/unchanged"), |bencher| {
            bencher.iter(|| revision.digest().unwrap());
        });
        let reopened = Projects::new(Arc::clone(&store), Arc::new(SystemClock));
        let project = reopened.project(bench.project.repo_id()).unwrap();
        bench.counts.inner().take();
        assert_eq!(
            project.branch(&branch).unwrap().head().digest().unwrap(),
            revision.digest().unwrap()
        );
        let read = bench.counts.inner().take();
        at_most(
            &format!("digest of {FILES} files {name}, unchanged, nodes and blobs read"),
            0.0,
            (read.node_reads + read.blob_reads) as f64,
        );
    }
    group.finish();
}

criterion_group!(benches, digest_of_a_branch);
criterion_main!(benches);
