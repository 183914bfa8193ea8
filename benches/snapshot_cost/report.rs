//! The table and the page.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::common::Layout;
use crate::common::writers::Round;
use crate::cost::Cost;
use crate::plot;
use crate::plot::{Line, grouped};

/// All that was measured.
pub(crate) struct Report<'a> {
    pub(crate) costs: &'a [Cost],
    /// Files, and what a commit took.
    pub(crate) commits: &'a [(u64, Duration)],
    /// Writers, and what they reached.
    pub(crate) rounds: &'a [(u64, Round)],
}

const HEADINGS: [&str; 7] = [
    "files in the branch",
    "they lie",
    "save, ms",
    "rollback, ms",
    "branch from a revision, ms",
    "bytes written by a save",
    "objects",
];

impl Report<'_> {
    fn rows(&self) -> Vec<[String; 7]> {
        let time = |time: Duration| format!("{:.3}", time.as_secs_f64() * 1e3);
        let row = |cost: &Cost| {
            [
                grouped(cost.files as f64),
                match cost.layout {
                    Layout::Spread => "in folders of 100".to_owned(),
                    Layout::Flat => "in one folder".to_owned(),
                },
                time(cost.save),
                time(cost.rollback),
                time(cost.copy),
                grouped(cost.bytes as f64),
                format!("{:.1}", cost.objects),
            ]
        };
        self.costs.iter().map(row).collect()
    }

    /// One line for each branch.
    pub(crate) fn table(&self) -> String {
        let rows = self.rows();
        let width = |column: usize| {
            let cells = rows.iter().map(|row| row[column].len());
            cells.chain([HEADINGS[column].len()]).max().unwrap()
        };
        let mut text = String::new();
        let headings = HEADINGS.map(str::to_owned);
        for row in std::iter::once(&headings).chain(&rows) {
            for (column, cell) in row.iter().enumerate() {
                let width = width(column);
                write!(text, "{cell:>width$}  ").unwrap();
            }
            text.truncate(text.trim_end().len());
            text.push('\n');
        }
        text
    }

    /// Writes the page and its plots, and says where it lies.
    pub(crate) fn write(&self) -> PathBuf {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("snapshot-cost");
        fs::create_dir_all(&folder).unwrap();
        plot::costs(&folder.join("costs.svg"), &self.lines());
        plot::latencies(&folder.join("latencies.svg"), self.rounds);
        let page = folder.join("index.html");
        fs::write(&page, self.page()).unwrap();
        page
    }

    /// The lines of files in folders, and git's.
    fn lines(&self) -> Vec<Line> {
        let line = |name: &str, time: fn(&Cost) -> Duration| Line {
            name: name.to_owned(),
            points: self
                .costs
                .iter()
                .filter(|cost| cost.layout == Layout::Spread)
                .map(|cost| (cost.files as f64, time(cost).as_secs_f64() * 1e3))
                .collect(),
        };
        let mut lines = vec![
            line("save", |cost| cost.save),
            line("rollback", |cost| cost.rollback),
            line("branch from a revision", |cost| cost.copy),
        ];
        if !self.commits.is_empty() {
            let point = |(files, time): &(u64, Duration)| (*files as f64, time.as_secs_f64() * 1e3);
            lines.push(Line {
                name: "git add, git commit".to_owned(),
                points: self.commits.iter().map(point).collect(),
            });
        }
        lines
    }

    fn page(&self) -> String {
        let mut rows = String::new();
        for row in self.rows() {
            writeln!(rows, "<tr><td>{}</td></tr>", row.join("</td><td>")).unwrap();
        }
        let mut rates = String::new();
        for (writers, round) in self.rounds {
            let (p50, p99) = (round.percentile(0.5), round.percentile(0.99));
            writeln!(
                rates,
                "<tr><td>{writers}</td><td>{:.0}</td><td>{p50:.2}</td><td>{p99:.2}</td></tr>",
                round.rate
            )
            .unwrap();
        }
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
             <title>What a snapshot costs</title>\n\
             <style>body {{ font: 16px sans-serif; max-width: 60em; margin: 2em auto }} \
             td, th {{ padding: 0.2em 0.8em; text-align: right }}</style>\n\
             <h1>What a snapshot costs</h1>\n\
             <p>Each save keeps the state before it. Medians; a save of 1 KiB; files in folders of a \
             hundred, as for git, which adds and commits one file with core.fsync=all.</p>\n\
             <img src=\"costs.svg\" alt=\"milliseconds over the number of files\">\n\
             <table>\n<tr><th>{}</th></tr>\n{rows}</table>\n\
             <h2>Saves by several writers</h2>\n\
             <p>4 KiB each, each writer in a branch of 1,000 files of its own.</p>\n\
             <img src=\"latencies.svg\" alt=\"share of saves over their milliseconds\">\n\
             <table>\n<tr><th>writers</th><th>saves a second</th><th>p50, ms</th><th>p99, ms</th></tr>\n\
             {rates}</table>\n</html>\n",
            HEADINGS.join("</th><th>")
        )
    }
}
