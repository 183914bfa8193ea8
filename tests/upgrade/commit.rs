//! `--version`, and the commit that a release is built from.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::binary::Siteconf;

const COMMIT: &str = "8eeda50ceb8c29dc5eb7f4281cc1c81a117fe5b7";
const LATER: &str = "2c49991ceb8c29dc5eb7f4281cc1c81a117fe5b7";

#[test]
fn the_version_is_told_with_commit_and_format_and_shortly_without() {
    let siteconf = Siteconf::on(Path::new("/nowhere"));
    let version = env!("CARGO_PKG_VERSION");
    let commit = option_env!("SITECONF_COMMIT").map(|commit| format!("commit {commit}\n"));
    let commit = commit.unwrap_or_default();
    assert_eq!(
        siteconf.done(&["--version"]),
        format!("siteconf {version}\n{commit}format 3\n")
    );
    assert_eq!(siteconf.done(&["-V"]), format!("siteconf {version}\n"));
}

/// A build script that tells the commit, and a folder that it is run in.
struct Script {
    folder: tempfile::TempDir,
}

impl Script {
    fn build() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let part = concat!(env!("CARGO_MANIFEST_DIR"), "/.cargo/commit.rs");
        let source = folder.path().join("script.rs");
        let text = format!("#[path = {part:?}] mod commit; fn main() {{ commit::tell() }}");
        fs::write(&source, text).unwrap();
        let built = Command::new("rustc")
            .args(["--edition", "2024", "--allow", "warnings", "-o"])
            .arg(folder.path().join("script"))
            .arg(source)
            .status()
            .unwrap();
        assert!(built.success());
        fs::create_dir(folder.path().join("package")).unwrap();
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join("package").join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// What it tells cargo; git is nowhere to be found.
    fn run_as(&self, profile: &str) -> Vec<String> {
        let output = Command::new(self.folder.path().join("script"))
            .current_dir(self.path(""))
            .env_clear()
            .env("PROFILE", profile)
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        let lines = text.lines().map(|line| {
            let told = line.strip_prefix("cargo::").unwrap();
            told.replace("rerun-if-changed=", "watch ")
        });
        lines.collect()
    }

    fn run(&self) -> Vec<String> {
        self.run_as("release")
    }
}

#[test]
fn the_commit_of_a_release_is_read_without_git_and_where_it_is_known() {
    let script = Script::build();
    let own = "watch .cargo/commit.rs".to_owned();
    let told = format!("rustc-env=SITECONF_COMMIT={COMMIT}");
    let of = |lines: &[&str]| {
        let lines = lines.iter().map(|line| (*line).to_owned());
        std::iter::once(own.clone())
            .chain(lines)
            .collect::<Vec<_>>()
    };

    // A tarball without anything, then one of `cargo package`.
    assert_eq!(script.run(), of(&[]));
    let noted = format!("{{\n  \"git\": {{\n    \"sha1\": \"{COMMIT}\"\n  }}\n}}");
    script.write(".cargo_vcs_info.json", &noted);
    assert_eq!(script.run(), of(&["watch .cargo_vcs_info.json", &told]));
    fs::remove_file(script.path(".cargo_vcs_info.json")).unwrap();

    // A checkout: a commit, a branch, a branch whose name was packed away.
    script.write(".git/HEAD", &format!("{COMMIT}\n"));
    assert_eq!(script.run(), of(&["watch .git/HEAD", &told]));
    script.write(".git/HEAD", "ref: refs/heads/main\n");
    script.write(".git/refs/heads/main", &format!("{COMMIT}\n"));
    let packed = format!("# pack-refs\n{LATER} refs/heads/other\n{COMMIT} refs/heads/main\n");
    let of_branch = ["watch .git/HEAD", "watch .git/refs/heads/main", &told];
    assert_eq!(script.run(), of(&of_branch));
    script.write(".git/packed-refs", &packed);
    assert_eq!(script.run(), of(&of_branch));
    fs::remove_file(script.path(".git/refs/heads/main")).unwrap();
    assert_eq!(
        script.run(),
        of(&[
            "watch .git/HEAD",
            "watch .git/refs/heads",
            "watch .git/packed-refs",
            &told
        ])
    );
    // Each commit would have a development build begin anew.
    assert_eq!(script.run_as("debug"), of(&[]));

    // A branch before its first commit, and nonsense.
    fs::remove_file(script.path(".git/packed-refs")).unwrap();
    let unborn = ["watch .git/HEAD", "watch .git/refs/heads"];
    assert_eq!(script.run(), of(&unborn));
    script.write(".git/HEAD", "nonsense");
    assert_eq!(script.run(), of(&["watch .git/HEAD"]));

    // A further worktree.
    fs::rename(script.path(".git"), script.path("../main.git")).unwrap();
    script.write("../main.git/worktrees/x/HEAD", "ref: refs/heads/main\n");
    script.write("../main.git/worktrees/x/commondir", "../..\n");
    script.write("../main.git/refs/heads/main", &format!("{COMMIT}\n"));
    script.write(".git", "gitdir: ../main.git/worktrees/x\n");
    assert_eq!(
        script.run(),
        of(&[
            "watch ../main.git/worktrees/x/HEAD",
            "watch ../main.git/worktrees/x/../../refs/heads/main",
            &told
        ])
    );
}
