//! Taking bodies in with all their digests, beside MD5 alone on one core, which is the floor.

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

use std::time::Instant;

use common::{Bench, body};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use md5::Digest;

fn ingest(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("ingest");
    group
        .sample_size(10)
        .measurement_time(std::time::Duration::from_secs(3));
    let bench = Bench::new();
    for (name, length) in [("4 KiB", 4 << 10), ("1 MiB", 1 << 20), ("64 MiB", 64 << 20)] {
        let bytes = body(7, length);
        group.throughput(Throughput::Bytes(bytes.len() as u64));
        group.bench_function(format!("{name}/taken"), |bencher| {
            bencher.iter(|| bench.repository.new_file(bytes.clone()).unwrap());
        });
        group.bench_function(format!("{name}/md5 alone"), |bencher| {
            bencher.iter(|| md5::Md5::digest(&bytes));
        });
    }
    group.finish();
    stream_a_gibibyte(&bench);
}

/// One upload of 1 GiB in pieces, as a connection brings them, and how memory grows meanwhile.
fn stream_a_gibibyte(bench: &Bench) {
    const PIECES: u32 = 4096;
    let piece = body(11, 256 << 10);
    let start = Instant::now();
    let mut md5 = md5::Md5::new();
    (0..PIECES).for_each(|_| md5.update(&piece));
    let floor = start.elapsed();
    let before = resident_kib();
    let mut peak = before;
    let start = Instant::now();
    let mut upload = bench
        .repository
        .upload(Some(u64::from(PIECES) * piece.len() as u64));
    for number in 0..PIECES {
        upload.write(&piece).unwrap();
        if number % 64 == 0 {
            peak = peak.max(resident_kib());
        }
    }
    upload.finish().unwrap();
    let taken = start.elapsed();
    println!(
        "ingest/1 GiB: {taken:.2?}, MD5 alone {floor:.2?}, {:.2} of its speed; resident memory grew by {} KiB",
        floor.as_secs_f64() / taken.as_secs_f64(),
        peak - before
    );
    assert_ne!(md5.finalize()[..], [0; 16]);
}

fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmRSS:"))
        .unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

criterion_group!(benches, ingest);
criterion_main!(benches);
