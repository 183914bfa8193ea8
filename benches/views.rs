//! What the Admin API shows of a branch: the history of a path over 40,000 snapshots, after a start and
//! once more, and what is found in a tree of 100,000 files.

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

use std::time::{Duration, Instant};

use common::{Bench, Layout, asked, at_most, body, median};
use regex::RegexBuilder;
use siteconf::base::branch_name::BranchName;
use siteconf::base::file_path::FilePath;
use siteconf::base::limits::TREE_SEARCHED_MAX;
use siteconf::base::snapshot_version::SnapshotVersion;
use siteconf::repo::{BatchAction, Condition};

const SNAPSHOTS: u64 = 40_000;
/// Files of the branch with the long history.
const FILES: u64 = 1000;
/// Files of the branch that is searched.
const FILES_SEARCHED: u64 = 100_000;
const RUNS: usize = 5;
const PAGE: usize = 100;

fn main() {
    if !asked::is_meant("views") {
        return;
    }
    history();
    tree();
}

/// Searches in 100,000 files: one that is there, many, and none, which looks at all.
fn tree() {
    let mut bench = Bench::new();
    let branch = bench.fill("main", FILES_SEARCHED, Layout::Spread);
    for (what, text, found) in [
        ("one file", "FILE-0054321", 1),
        ("a page of many", "shop-0000", 1000),
        ("nothing", "none of them", 0),
    ] {
        let matcher = RegexBuilder::new(text)
            .case_insensitive(true)
            .build()
            .unwrap();
        let search = |bench: &Bench| {
            let listing = bench.project.branch(&branch).unwrap().head();
            let listing = listing.listing(None, true).unwrap();
            let matches = |path: &str| matcher.is_match(path);
            let found = listing.search(&matches, None, 1000, TREE_SEARCHED_MAX);
            found.unwrap().unwrap().entries.len()
        };
        bench = bench.reopened();
        let start = Instant::now();
        assert_eq!(search(&bench), found);
        let first = start.elapsed();
        let kept = median(RUNS, || assert_eq!(search(&bench), found));
        println!("search for {what}: {:.1} ms after a start", ms(vec![first]));
        at_most(
            &format!("search for {what} in {FILES_SEARCHED} files, ms"),
            30.0,
            ms(vec![kept]),
        );
    }
}

/// A history in which one file changes with every 100th save, one with the first alone, and every
/// 20th change is a batch, which does not say what it changed.
fn history() {
    let mut bench = Bench::new();
    let branch = bench.fill("main", FILES, Layout::Spread);
    let often = FilePath::parse("region-000/often.xml").unwrap();
    let once = FilePath::parse("once.xml").unwrap();
    bench.save(&branch, &once, body(0, 64));
    for number in 0..SNAPSHOTS {
        let path = |number| Layout::Spread.path(number * 7 % FILES);
        if number % 20 == 0 {
            let file = |seed| bench.file(&body(seed, 64));
            let put = |number, seed| BatchAction::Put(path(number), file(seed), None);
            let actions = vec![put(number, number), put(number + 1, number + 1)];
            bench
                .project
                .batch(&branch, actions, &Condition::None)
                .unwrap();
        } else if number % 100 == 50 {
            bench.save(&branch, &often, body(number, 64));
        } else {
            bench.save(&branch, &path(number), body(number, 64));
        }
    }
    for (what, path) in [("often", &often), ("once", &once)] {
        let (mut first, mut later, mut whole, mut pages) = (vec![], vec![], vec![], 0);
        for _ in 0..RUNS {
            bench = bench.reopened();
            let times = read(&bench, &branch, path);
            pages = times.len();
            first.push(times[0]);
            later.push(times[1..].iter().copied().max().unwrap_or_default());
            whole.push(times.iter().sum());
        }
        let kept: Vec<_> = (0..RUNS)
            .map(|_| read(&bench, &branch, path).iter().sum())
            .collect();
        println!(
            "a file that changed {what}, {SNAPSHOTS} snapshots: {pages} pages, {:.1} ms in all after a \
             start, {:.1} ms once more",
            ms(whole),
            ms(kept)
        );
        at_most(
            &format!("{what}: first page after a start, ms"),
            50.0,
            ms(first),
        );
        at_most(&format!("{what}: slowest later page, ms"), 10.0, ms(later));
    }
}

/// How long each page takes until there is no next.
fn read(bench: &Bench, name: &BranchName, path: &FilePath) -> Vec<Duration> {
    let mut before: Option<SnapshotVersion> = None;
    let mut times = Vec::new();
    loop {
        let start = Instant::now();
        let branch = bench.project.branch(name).unwrap();
        let page = branch.changes_of(path, before, PAGE).unwrap();
        for change in &page.changes {
            change.counts().unwrap().unwrap();
        }
        times.push(start.elapsed());
        match page.next {
            None => return times,
            next => before = next,
        }
    }
}

fn ms(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times[times.len() / 2].as_secs_f64() * 1000.0
}
