//! The harnesses: each takes its rounds in the one way, and is in the table of `tests/README.md`.

use super::{assert_none, read, root, rust_files, shown};

/// How a file takes them.
const TAKEN: &str = "Rounds::or(";
/// Ends of the names of variables that would be another way.
const OTHER_WAYS: [&str; 3] = ["_ROUNDS\"", "_KILLS\"", "_SEED\""];

#[test]
fn harnesses_take_their_rounds_in_one_way_and_are_listed() {
    let table = read(&root().join("tests/README.md"));
    let mut faults = Vec::new();
    for path in rust_files(&root().join("tests")) {
        let (name, text) = (shown(&path), read(&path));
        let is_of_tidy = name.starts_with("tests/tidy/");
        if is_of_tidy || name == "tests/support/rounds.rs" {
            continue;
        }
        for other in OTHER_WAYS.iter().filter(|other| text.contains(**other)) {
            faults.push(format!("{name}: {other} is asked for beside `Rounds`"));
        }
        let listed = name
            .strip_prefix("tests/")
            .and_then(|name| name.strip_suffix(".rs"));
        let listed = listed.unwrap_or(&name);
        let listed = listed.strip_suffix("/mod").unwrap_or(listed);
        let listed = listed.replacen('/', " ", 1);
        if text.contains(TAKEN) && !table.contains(&format!("`{listed}::")) {
            faults.push(format!("{name}: `{listed}::` is not in tests/README.md"));
        }
    }
    assert_none(&faults);
}
