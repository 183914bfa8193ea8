//! Writers side by side, for a while.

use std::time::{Duration, Instant};

/// What writers reached together: operations a second and their latencies, sorted.
pub struct Round {
    pub rate: f64,
    pub latencies: Vec<Duration>,
}

impl Round {
    /// The latency, in milliseconds, that this part of the operations kept within.
    pub fn percentile(&self, part: f64) -> f64 {
        let at = (self.latencies.len() as f64 * part) as usize;
        self.latencies[at.min(self.latencies.len() - 1)].as_secs_f64() * 1e3
    }
}

/// Lets so many writers work for so long; `work` is given the writer's number and its turn.
pub fn run(writers: u64, duration: Duration, work: impl Fn(u64, u64) + Sync) -> Round {
    let start = Instant::now();
    let mut latencies: Vec<Duration> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..writers)
            .map(|writer| {
                let work = &work;
                scope.spawn(move || {
                    let mut latencies = Vec::new();
                    while start.elapsed() < duration {
                        let begun = Instant::now();
                        work(writer, latencies.len() as u64);
                        latencies.push(begun.elapsed());
                    }
                    latencies
                })
            })
            .collect();
        threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap())
            .collect()
    });
    latencies.sort();
    Round {
        rate: latencies.len() as f64 / start.elapsed().as_secs_f64(),
        latencies,
    }
}
