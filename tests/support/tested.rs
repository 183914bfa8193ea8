//! The program that is tested: that of these tests, or another one that `TESTED_BINARY` names. The variable is not
//! named as settings of siteconf are, which would tell of it as of one that is misspelt.

use std::ffi::OsString;
use std::process::Command;

/// The program.
pub(crate) fn binary() -> OsString {
    let given = std::env::var_os("TESTED_BINARY");
    given.unwrap_or_else(|| env!("CARGO_BIN_EXE_siteconf").into())
}

/// Its version, and the commit of its build, if it knows that.
pub(crate) fn version() -> (String, Option<String>) {
    let output = Command::new(binary()).arg("--version").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let word = |name: &str| {
        let mut lines = text.lines().filter_map(|line| line.strip_prefix(name));
        lines.next().map(str::to_owned)
    };
    let version = word("siteconf ").expect("the first line tells the version");
    (version, word("commit "))
}

/// How it tells its build, as in `0.1.0, commit 8eeda50c`.
pub(crate) fn build() -> String {
    match version() {
        (version, Some(commit)) => format!("{version}, commit {commit}"),
        (version, None) => version,
    }
}
