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

use common::{Bench, at_least, at_most, body};
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

/// Uploads of 1 GiB in pieces, as a connection brings them, each beside MD5 alone, and how memory grows
/// meanwhile.
fn stream_a_gibibyte(bench: &Bench) {
    const ROUNDS: usize = 5;
    const PIECES: u32 = 16 << 10;
    let piece = body(11, 64 << 10);
    let mut reached = Vec::new();
    let mut grown_kib = 0;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let mut md5 = md5::Md5::new();
        (0..PIECES).for_each(|_| md5.update(&piece));
        let floor = start.elapsed();
        assert_ne!(md5.finalize()[..], [0; 16]);

        let before = forget_peak();
        let start = Instant::now();
        let announced = u64::from(PIECES) * piece.len() as u64;
        let mut upload = bench.repository.upload(Some(announced));
        (0..PIECES).for_each(|_| upload.write(&piece).unwrap());
        upload.finish().unwrap();
        let taken = start.elapsed();
        grown_kib = grown_kib.max(kib_of("VmHWM:") - before);
        let speed = floor.as_secs_f64() / taken.as_secs_f64();
        println!("ingest/1 GiB: {taken:.2?}, MD5 alone {floor:.2?}, {speed:.2} of its speed");
        reached.push(speed);
    }
    reached.sort_by(f64::total_cmp);
    println!(
        "ingest/1 GiB: {:.2} to {:.2} of the speed of MD5",
        reached[0],
        reached[ROUNDS - 1]
    );
    at_least(
        "upload of 1 GiB, in the speed of MD5 on one core",
        0.8,
        reached[ROUNDS / 2],
    );
    at_most(
        "growth of resident memory meanwhile, in KiB",
        65_536.0,
        grown_kib as f64,
    );
}

/// Begins anew with the peak of resident memory, and gives what is resident, in KiB.
fn forget_peak() -> u64 {
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
    kib_of("VmRSS:")
}

fn kib_of(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

criterion_group!(benches, ingest);
criterion_main!(benches);
