//! Which build of the program this is.

use std::sync::LazyLock;

/// The commit that it was built from, where that is known: of a release.
pub const COMMIT: Option<&str> = option_env!("SITECONF_COMMIT");

/// The version of the program, and the commit where it is known, as in `0.1.0, commit 8eeda50c`, but with all of its
/// digits.
pub static BUILD: LazyLock<String> = LazyLock::new(|| told(env!("CARGO_PKG_VERSION"), COMMIT));

fn told(version: &str, commit: Option<&str>) -> String {
    let commit = commit.map(|commit| format!(", commit {commit}"));
    format!("{version}{}", commit.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_is_told_with_its_commit_where_that_is_known() {
        assert_eq!(told("0.1.0", Some("8eeda50c")), "0.1.0, commit 8eeda50c");
        assert_eq!(told("0.1.0", None), "0.1.0");
    }
}
