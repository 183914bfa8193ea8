//! Durable saves by 1, 16 and 64 writers, beside a bare log that appends as many bytes as a save puts
//! (blob, nodes, manifest, records) and syncs, in turns within one run, so that the ratio holds on a
//! noisy machine.

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

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use bytes::Bytes;
use common::writers::run;
use common::{Bench, Layout, asked, at_least, at_most, body};

const BODY_BYTES: usize = 4096;
const ROUNDS: u64 = 5;
const ROUND: Duration = Duration::from_secs(2);

/// An append-only file with group commit: nothing but the bytes and a sync for all who wait.
struct Log {
    appends: Option<SyncSender<(Bytes, SyncSender<()>)>>,
    thread: Option<JoinHandle<()>>,
}

impl Log {
    fn open(bench: &Bench) -> Self {
        let path = bench.root.path().with_extension("log");
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&path)
            .unwrap();
        std::fs::remove_file(path).unwrap();
        let (appends, waiting) = sync_channel(1024);
        let thread = std::thread::spawn(move || write_groups(file, &waiting));
        Self {
            appends: Some(appends),
            thread: Some(thread),
        }
    }

    fn append(&self, bytes: Bytes) {
        let (done, told) = sync_channel(1);
        self.appends.as_ref().unwrap().send((bytes, done)).unwrap();
        told.recv().unwrap();
    }
}

fn write_groups(mut file: File, waiting: &Receiver<(Bytes, SyncSender<()>)>) {
    while let Ok(first) = waiting.recv() {
        let mut group = vec![first];
        group.extend(waiting.try_iter().take(255));
        let bytes: Vec<&[u8]> = group.iter().map(|(bytes, _)| bytes.as_ref()).collect();
        file.write_all(&bytes.concat()).unwrap();
        file.sync_data().unwrap();
        for (_, done) in group {
            done.send(()).unwrap();
        }
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        drop(self.appends.take());
        self.thread.take().unwrap().join().unwrap();
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    if !asked::is_meant("commit") {
        return;
    }
    println!(
        "writers | bytes a save | save p50 ms | log p50 ms | p50 ratio | save p99 ms | save/s | log/s | rate ratio"
    );
    // `cargo bench --bench commit -- 16` asks for one of them.
    let asked: Option<u64> = asked::number();
    for writers in [1, 16, 64] {
        if asked.is_some_and(|asked| asked != writers) {
            continue;
        }
        let bench = Bench::new();
        let branches: Vec<_> = (0..writers)
            .map(|writer| bench.fill(&format!("branch-{writer}"), 1000, Layout::Spread))
            .collect();
        bench.counts.inner().take();
        (0..100).for_each(|turn| {
            drop(bench.save(
                &branches[0],
                &Layout::Spread.path(turn * 7),
                body(turn, BODY_BYTES),
            ));
        });
        let bytes_a_save = bench.counts.inner().take().bytes as usize / 100;
        let log = Log::open(&bench);
        // The log does not look at them: that they are made must not slow it.
        let appended = body(0, bytes_a_save);
        let (mut p50, mut p50_log, mut ratio, mut p99) = (vec![], vec![], vec![], vec![]);
        let (mut rate, mut rate_log, mut rate_ratio) = (vec![], vec![], vec![]);
        for round in 0..ROUNDS {
            let seed = |writer: u64, turn: u64| (round << 48) | (writer << 32) | turn;
            let bare = run(writers, ROUND, |_, _| log.append(appended.clone()));
            let saves = run(writers, ROUND, |writer, turn| {
                let path = Layout::Spread.path(turn * 7919 % 1000);
                bench.save(
                    &branches[writer as usize],
                    &path,
                    body(seed(writer, turn), BODY_BYTES),
                );
            });
            p50.push(saves.percentile(0.5));
            p50_log.push(bare.percentile(0.5));
            p99.push(saves.percentile(0.99));
            ratio.push(saves.percentile(0.5) / bare.percentile(0.5));
            rate.push(saves.rate);
            rate_log.push(bare.rate);
            rate_ratio.push(saves.rate / bare.rate);
        }
        let (p50, p50_log, ratio, p99) = (median(p50), median(p50_log), median(ratio), median(p99));
        let (rate, rate_log, rate_ratio) = (median(rate), median(rate_log), median(rate_ratio));
        println!(
            "{writers:7} | {bytes_a_save:12} | {p50:11.3} | {p50_log:10.3} | {ratio:9.2} | \
             {p99:11.2} | {rate:6.0} | {rate_log:6.0} | {rate_ratio:.2}"
        );
        match writers {
            1 => at_most("one save, p50, in appends of the log", 1.3, ratio),
            16 => at_least("16 writers, rate in the log's", 0.45, rate_ratio),
            _ => {
                at_least("64 writers, rate in the log's", 0.3, rate_ratio);
                at_most("64 writers, p99 in ms", 60.0, p99);
            }
        }
    }
}
