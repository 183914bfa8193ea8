//! The capabilities a client needs, which client saw which, and the table of both in the README.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::client::setting;

/// The capabilities by number. Up to 22 they are those of the compatibility notes.
const ROWS: [(u8, &str); 26] = [
    (1, "API root `…/erp-config/api/v4` (1C: `/api/v4`)"),
    (2, "API root `…/erp-config`"),
    (3, "`GET /user`"),
    (4, "`GET /version`"),
    (5, "`GET /projects/:id`, integer id"),
    (6, "`:id` as integer, name, `group%2Fname`"),
    (7, "`%2F` in a file's path"),
    (8, "`+` in a path is a plus, in a query a space"),
    (9, "form body on GET"),
    (10, "walk by `Link: rel=\"next\"`"),
    (11, "`X-Next-Page`, `X-Total-Pages`, `X-Per-Page`"),
    (12, "`per_page` up to 100, exactly"),
    (13, "walk by keyset"),
    (14, "`recursive` as `True`, `true`, `1`"),
    (15, "raw file as `text/plain`"),
    (16, "`X-Gitlab-*` headers, `HEAD`"),
    (17, "file as JSON, base64"),
    (18, "missing path is 404"),
    (19, "types of integers, texts, dates"),
    (20, "any `Content-Type`, `Accept` on GET"),
    (21, "`//` in a path"),
    (22, "no 206 or 304 unasked"),
    (23, "branches: all, search, one"),
    (24, "names with Cyrillic, space, `+ % # ? &`, leading dot"),
    (25, "`ref` with a slash"),
    (26, "401, 403, 404 as the client's own errors"),
];

const BEGIN: &str = "<!-- clients: begin -->\n";
const END: &str = "<!-- clients: end -->";

/// What one client saw.
#[derive(Debug)]
pub(crate) struct Seen {
    client: String,
    expected: BTreeSet<u8>,
    passed: BTreeSet<u8>,
    failed: BTreeSet<u8>,
    faults: Vec<String>,
}

impl Seen {
    /// Nothing yet, of these rows.
    pub(crate) fn new(client: String, expected: &[u8]) -> Self {
        Self {
            client,
            expected: expected.iter().copied().collect(),
            passed: BTreeSet::new(),
            failed: BTreeSet::new(),
            faults: Vec::new(),
        }
    }

    pub(crate) fn passed(&mut self, row: u8) {
        self.passed.insert(row);
    }

    pub(crate) fn failed(&mut self, row: u8, why: &str) {
        self.failed.insert(row);
        self.fault(&format!("row {row} {why}"));
    }

    /// Something that is nobody's row.
    pub(crate) fn fault(&mut self, what: &str) {
        self.faults.push(what.to_owned());
    }

    /// What is wrong, a line each.
    pub(crate) fn faults(&self) -> impl Iterator<Item = String> {
        let reported: BTreeSet<_> = self.passed.union(&self.failed).copied().collect();
        let unreported = self.expected.difference(&reported);
        let unreported = unreported.map(|row| format!("row {row} was not reported"));
        let unknown = reported.difference(&self.expected);
        let unknown = unknown.map(|row| format!("row {row} was not to be reported"));
        let faults = self.faults.iter().cloned();
        let all: Vec<_> = faults.chain(unreported).chain(unknown).collect();
        all.into_iter()
            .map(move |fault| format!("{}: {fault}", self.client))
    }

    fn cell(&self, row: u8) -> &'static str {
        if self.passed.contains(&row) && !self.failed.contains(&row) {
            "✓"
        } else {
            ""
        }
    }
}

/// Asserts that the README's table is what was seen, or writes it there when the environment has
/// `SITECONF_WRITE_README=1`.
pub(crate) fn hold_against_readme(seen: &[Seen]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let readme = fs::read_to_string(&path).expect("there is a README");
    let (before, rest) = readme.split_once(BEGIN).expect("the table has a begin");
    let (written, after) = rest.split_once(END).expect("the table has an end");
    let table = table(seen);
    if setting("SITECONF_WRITE_README").as_deref() == Some("1") {
        fs::write(path, format!("{before}{BEGIN}{table}{END}{after}")).expect("it is ours");
    } else {
        assert_eq!(
            written, table,
            "SITECONF_WRITE_README=1 cargo test --test clients"
        );
    }
}

fn table(seen: &[Seen]) -> String {
    let mut table = String::from("|  | |");
    for column in seen {
        write!(table, " {} |", column.client).expect("memory");
    }
    table.push_str("\n|--:|---|");
    table.push_str(&":-:|".repeat(seen.len()));
    table.push('\n');
    for (row, capability) in ROWS {
        write!(table, "| {row} | {capability} |").expect("memory");
        for column in seen {
            write!(table, " {} |", column.cell(row)).expect("memory");
        }
        table.push('\n');
    }
    table
}
