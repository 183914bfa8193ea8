//! What a snapshot costs: a save, a rollback and a branch from a revision, in branches of ten to a
//! million files. The last lines are a table; a report with plots lies in `target/snapshot-cost`.
//!
//! `cargo bench --bench snapshot_cost`, with `-- --quick` for a look that takes less than a minute and
//! goes to 10,000 files.

#![allow(
    clippy::unwrap_used,
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::print_stdout,
    clippy::print_stderr,
    missing_docs,
    reason = "a benchmark that fails shall fail, and it prints"
)]

#[path = "../common/mod.rs"]
mod common;
mod cost;
mod git;
mod plot;
mod report;

use std::time::Duration;

use common::writers::{Round, run};
use common::{Bench, Layout, asked, at_most, body, ratio};
use cost::Cost;
use report::Report;

/// How much is measured.
struct Plan {
    layouts: &'static [Layout],
    /// Files in the branch.
    sizes: &'static [u64],
    /// Files in git's working tree.
    git_sizes: &'static [u64],
    /// Runs of which a figure is the median.
    runs: usize,
    git_runs: usize,
    writers: &'static [u64],
    /// How long the writers write.
    duration: Duration,
}

const WHOLE: Plan = Plan {
    layouts: &[Layout::Spread, Layout::Flat],
    sizes: &[10, 100, 1000, 10_000, 100_000, 1_000_000],
    git_sizes: &[10, 100, 1000, 10_000, 100_000],
    runs: 201,
    git_runs: 11,
    writers: &[1, 16, 64],
    duration: Duration::from_secs(5),
};

const QUICK: Plan = Plan {
    layouts: &[Layout::Spread],
    sizes: &[10, 1000, 10_000],
    git_sizes: &[10, 1000],
    runs: 51,
    git_runs: 5,
    writers: &[1, 16],
    duration: Duration::from_secs(1),
};

/// Tells which step runs, of how many.
struct Steps {
    done: usize,
    all: usize,
}

impl Steps {
    fn of(plan: &Plan) -> Self {
        let branches = plan.layouts.len() * plan.sizes.len() * cost::STEPS;
        Self {
            done: 0,
            all: branches + plan.git_sizes.len() + plan.writers.len(),
        }
    }

    fn next(&mut self, what: &str) {
        self.done += 1;
        eprintln!("step {} of {}: {what}", self.done, self.all);
    }
}

fn main() {
    if !asked::is_meant("snapshot_cost") {
        return;
    }
    let plan = if asked::has("--quick") {
        &QUICK
    } else {
        &WHOLE
    };
    let mut steps = Steps::of(plan);
    let mut costs = Vec::new();
    for layout in plan.layouts {
        for files in plan.sizes {
            costs.push(cost::measure(*files, *layout, plan.runs, |what| {
                steps.next(what);
            }));
        }
    }
    let mut commits = Vec::new();
    for files in plan.git_sizes {
        steps.next(&format!("git commit in {files} files"));
        commits.extend(git::commit(*files, plan.git_runs).map(|time| (*files, time)));
    }
    let mut rounds = Vec::new();
    for writers in plan.writers {
        let word = if *writers == 1 { "writer" } else { "writers" };
        steps.next(&format!("saves by {writers} {word}"));
        rounds.push((*writers, saves(*writers, plan.duration)));
    }
    hold_bars(&costs);
    let report = Report {
        costs: &costs,
        commits: &commits,
        rounds: &rounds,
    };
    let place = report.write();
    println!("\n{}", report.table());
    println!("report: {}", place.display());
}

/// Saves of 4 KiB, each writer into a branch of 1,000 files of its own.
fn saves(writers: u64, duration: Duration) -> Round {
    let bench = Bench::new();
    let branches: Vec<_> = (0..writers)
        .map(|writer| bench.fill(&format!("branch-{writer}"), 1000, Layout::Spread))
        .collect();
    run(writers, duration, |writer, turn| {
        let path = Layout::Spread.path(turn * 7919 % 1000);
        let body = body((writer << 32) | turn, 4096);
        bench.save(&branches[writer as usize], &path, body);
    })
}

fn hold_bars(costs: &[Cost]) {
    for cost in costs {
        let place = format!("{} files {}", cost.files, cost.layout.name());
        let few = costs
            .iter()
            .find(|few| few.layout == cost.layout)
            .expect("each layout begins with the fewest files");
        at_most(
            &format!("{place}: bytes of a save"),
            25_600.0,
            cost.bytes_max as f64,
        );
        at_most(
            &format!("{place}: a save, in saves of {} files", few.files),
            2.0,
            ratio(cost.save, few.save),
        );
        at_most(
            &format!("{place}: a rollback, in saves"),
            1.0,
            ratio(cost.rollback, cost.save),
        );
        at_most(
            &format!("{place}: a branch from a revision, in saves"),
            1.0,
            ratio(cost.copy, cost.save),
        );
    }
}
