//! Tells the compiler the commit that is checked out, for `siteconf --version` of a release. Git itself is
//! not needed; without its folder, as in a tarball, the commit is what the package was made of, or unknown.
//! A part of the build script.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

/// Tells it, of a release.
pub(crate) fn tell() {
    println!("cargo::rerun-if-changed=.cargo/commit.rs");
    // Elsewhere each commit would have everything built anew.
    if env::var("PROFILE").as_deref() != Ok("release") {
        return;
    }
    let commit = of_checkout(Path::new(".git")).or_else(of_package);
    if let Some(commit) = commit.filter(|commit| is_commit(commit)) {
        println!("cargo::rustc-env=SITECONF_COMMIT={commit}");
    }
}

/// The commit of a checkout, by its `.git`: a folder, or in a further worktree a file that names it.
fn of_checkout(git: &Path) -> Option<String> {
    let folder = match fs::read_to_string(git) {
        Ok(text) => PathBuf::from(text.strip_prefix("gitdir: ")?.trim_end()),
        Err(_) => git.to_owned(),
    };
    let head = watched(&folder.join("HEAD"))?;
    let Some(name) = head.strip_prefix("ref: ") else {
        return Some(head);
    };
    // Branches lie where all worktrees find them.
    let common = match fs::read_to_string(folder.join("commondir")) {
        Ok(path) => folder.join(path.trim_end()),
        Err(_) => folder,
    };
    if let Some(commit) = watched(&common.join(name)) {
        return Some(commit);
    }
    // The next commit makes a file of its own for it.
    println!(
        "cargo::rerun-if-changed={}",
        common.join("refs/heads").display()
    );
    let packed = watched(&common.join("packed-refs"))?;
    packed.lines().find_map(|line| {
        let (commit, packed_name) = line.split_once(' ')?;
        (packed_name == name).then(|| commit.to_owned())
    })
}

/// The commit that `cargo package` noted.
fn of_package() -> Option<String> {
    let noted = watched(Path::new(".cargo_vcs_info.json"))?;
    let (_, after) = noted.split_once("\"sha1\"")?;
    after.split('"').nth(1).map(str::to_owned)
}

/// The text of a file; when it changes, this runs again. One that is missing is not watched: cargo takes
/// it for changed.
fn watched(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    println!("cargo::rerun-if-changed={}", path.display());
    Some(text.trim_end().to_owned())
}

fn is_commit(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}
