//! A store without a bucket: files that it has no place for are named, and the rest comes.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use crate::cluster::Cluster;
use crate::daemon::siteconf_at;
use crate::store::{init_at, ran};

/// More bytes than a store without a bucket has a place for.
const LARGE_BYTES: usize = 70_000;
const WHY: &str =
    "it is larger than 65536 bytes, and the store has no bucket for such files (blobs)";

/// A store in a database alone, and a folder of the test.
struct Scene {
    cluster: Cluster,
    folder: tempfile::TempDir,
    flags: Vec<OsString>,
}

impl Scene {
    fn start() -> Self {
        let cluster = Cluster::start();
        cluster.ask("postgres", "CREATE DATABASE store");
        let folder = tempfile::tempdir().unwrap();
        let flags = vec![
            "--store".into(),
            cluster.url("store").into(),
            "--server-key-file".into(),
            folder.path().join("key").into(),
        ];
        init_at(&flags);
        Self {
            cluster,
            folder,
            flags,
        }
    }

    /// A folder with two files, `large` and `small`.
    fn lay(&self, name: &str) -> PathBuf {
        let dir = self.folder.path().join(name);
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join("large"), vec![b'a'; LARGE_BYTES]).unwrap();
        fs::write(dir.join("small"), "small").unwrap();
        dir
    }

    /// Its exit code, what it printed, and what it said beside that.
    fn run(&self, words: &[&str], dir: &Path) -> (Option<i32>, String, String) {
        let mut command = siteconf_at(&self.flags);
        let ended = ran(command.args(words).arg(dir));
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (ended.status.code(), text(ended.stdout), text(ended.stderr))
    }

    /// All files of a branch.
    fn files(&self, project: &str) -> String {
        let (code, files, said) = self.run(&["ls", "-r", project], Path::new("main"));
        assert_eq!(code, Some(0), "{said}");
        files
    }
}

#[test]
fn a_file_without_a_place_is_named_before_an_import_and_can_be_left_out() {
    let scene = Scene::start();
    let dir = scene.lay("in");
    let large = dir.join("large").display().to_string();
    let import = ["import", "acme/shop.erp", "main", "--owner", "admin"];
    for more in [&[][..], &["--dry-run"]] {
        let (code, _, said) = scene.run(&[&import, more].concat(), &dir);
        let expected = format!(
            "cannot take {large}: {WHY}\n\
             siteconf: 1 too large: nothing was saved; --skip-unreadable leaves them out\n"
        );
        assert_eq!((code, said), (Some(1), expected), "{more:?}");
    }
    let (code, _, said) = scene.run(&[&import[..], &["--skip-unreadable"]].concat(), &dir);
    let expected = format!("skipped {large}: {WHY}\nskipped: 1 too large\n");
    assert_eq!((code, said), (Some(0), expected));
    assert_eq!(scene.files("acme/shop.erp"), "small\n");
}

#[test]
fn a_file_without_a_place_does_not_keep_the_rest_of_a_tree() {
    let scene = Scene::start();
    for project in ["a", "b", "c"] {
        scene.lay(&format!("tree/user/admin/acme/{project}.erp/main"));
    }
    for whole in ["a", "c"] {
        let large = format!("tree/user/admin/acme/{whole}.erp/main/large");
        fs::remove_file(scene.folder.path().join(large)).unwrap();
    }
    let tree = scene.folder.path().join("tree");
    let finding = format!("siteconf: user/admin/acme/b.erp/main/large: {WHY}\n");
    for more in [&["migrate-tree", "--dry-run"][..], &["migrate-tree"]] {
        let (code, out, said) = scene.run(more, &tree);
        assert_eq!((code, said.as_str()), (Some(1), finding.as_str()), "{out}");
        assert!(out.ends_with("1 finding\n"), "{out}");
    }
    for project in ["a", "b", "c"] {
        assert_eq!(scene.files(&format!("acme/{project}.erp")), "small\n");
    }
}

#[test]
fn who_does_not_know_of_the_bucket_in_use_leaves_nothing_out() {
    let scene = Scene::start();
    // As of a daemon that has one.
    scene.cluster.ask(
        "store",
        "INSERT INTO siteconf.object (id, kind, size, sha256, place, outboard)
         VALUES (decode(repeat('ab', 32), 'hex'), 1, 70000,
             decode(repeat('ab', 32), 'hex'), '2026-11-23/a', '')",
    );
    let dir = scene.lay("in");
    scene.lay("tree/user/admin/acme/a.erp/main");
    let tree = scene.folder.path().join("tree");
    let import = [
        "import",
        "acme/shop.erp",
        "main",
        "--owner",
        "admin",
        "--skip-unreadable",
    ];
    for (words, at) in [(&import[..], &dir), (&["migrate-tree"], &tree)] {
        let (code, _, said) = scene.run(words, at);
        assert_eq!(code, Some(1), "{said}");
        let why = "large files of the store lie in one, and blobs names none; set it as before";
        assert!(said.contains(why), "{said}");
    }
}
