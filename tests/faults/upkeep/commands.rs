//! The commands that meet faults, and what each finds.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use flate2::read::GzDecoder;

use crate::daemon::{PROJECT, siteconf};
use crate::folders::{copy_into, scratch};
use crate::model::Model;

/// What is held of a command that did not come to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Promise {
    /// The store shows what was before or what is after it.
    OneOfBoth,
    /// As before; and what nothing needs goes with the next.
    OnlyRoom,
    /// As before; and what was backed up is what was in the backup before, or what is in the store.
    OneOfBothBackups,
    /// There is no store in its folder, or a whole one.
    WholeOrNone,
    /// What is there is whole, and all of it comes with the next.
    SomeOfIt,
}

/// A command, and what it finds.
pub(crate) struct Upkeep {
    pub(super) promise: Promise,
    /// Lays out what it finds below a folder.
    pub(super) lay: fn(&Laid, &Path),
    /// What follows the data folder on its command line.
    pub(crate) words: &'static [&'static str],
}

pub(crate) const ALL: [Upkeep; 13] = [
    Upkeep {
        promise: Promise::OnlyRoom,
        lay: |laid, root| laid.waste(root),
        words: &["gc", "--keep-deleted-days", "0"],
    },
    Upkeep {
        promise: Promise::OnlyRoom,
        lay: |laid, root| laid.waste(root),
        words: &["gc", "--keep-deleted-days", "0", "--compact"],
    },
    Upkeep {
        promise: Promise::OneOfBoth,
        lay: |laid, root| laid.many(root),
        words: PRUNE,
    },
    Upkeep {
        promise: Promise::OneOfBothBackups,
        lay: |laid, root| lay_after_backup(laid, root, "backup"),
        words: &["backup", "{}/backup"],
    },
    Upkeep {
        promise: Promise::OneOfBothBackups,
        lay: |laid, root| lay_after_backup(laid, root, "backup.tar"),
        words: &["backup", "{}/backup.tar"],
    },
    Upkeep {
        promise: Promise::WholeOrNone,
        lay: |laid, root| lay_backup_alone(laid, root, "backup"),
        words: &["restore", "{}/backup"],
    },
    Upkeep {
        promise: Promise::WholeOrNone,
        lay: |laid, root| lay_backup_alone(laid, root, "backup.tar"),
        words: &["restore", "{}/backup.tar"],
    },
    Upkeep {
        promise: Promise::OneOfBoth,
        lay: |laid, root| {
            laid.store(root);
            succeed(root, &["branch", "delete", PROJECT, "test"]);
        },
        words: &["branch", "restore", PROJECT, "test"],
    },
    Upkeep {
        promise: Promise::OneOfBoth,
        lay: |laid, root| {
            laid.store(root);
            succeed(root, &["project", "delete", PROJECT]);
        },
        words: &["project", "restore", PROJECT],
    },
    Upkeep {
        promise: Promise::SomeOfIt,
        lay: |laid, root| {
            lay_tree(root, 4);
            laid.store(root);
        },
        words: MOVE,
    },
    Upkeep {
        promise: Promise::SomeOfIt,
        lay: |laid, root| {
            lay_tree(root, 3);
            laid.store(root);
            succeed(root, MOVE);
            lay_tree(root, 5);
        },
        words: MOVE,
    },
    Upkeep {
        promise: Promise::OneOfBoth,
        lay: |_, root| lay_earlier(root, 1),
        words: &["upgrade"],
    },
    Upkeep {
        promise: Promise::OneOfBoth,
        lay: |_, root| lay_earlier(root, 2),
        words: &["upgrade"],
    },
];
/// Of one branch: what it removes of each is one change.
const PRUNE: &[&str] = &["prune", "--keep-snapshots", "1"];
pub(super) const MOVE: &[&str] = &["migrate-tree", "{}/tree", "--tokens", "{}/tokens"];

pub(super) fn data(root: &Path) -> PathBuf {
    root.join("data")
}

/// A command on the store below a folder; `{}` in its words stands for the folder.
pub(crate) fn command(root: &Path, words: &[&str]) -> Command {
    let mut command = siteconf(&data(root));
    let root = root.to_str().unwrap();
    command.args(words.iter().map(|word| word.replace("{}", root)));
    command.stdin(Stdio::null());
    command
}

#[track_caller]
pub(super) fn succeed(root: &Path, words: &[&str]) {
    let output = command(root, words).output().unwrap();
    assert!(output.status.success(), "{words:?}: {output:?}");
}

/// A project with two branches, snapshots and a large file.
fn lay_store(root: &Path) {
    let large = "0123456789abcdef".repeat(30_000);
    for (name, text) in [("one", "1"), ("two", "2"), ("large", &large)] {
        fs::write(root.join(name), text).unwrap();
    }
    for words in [
        &["init"] as &[&str],
        &["project", "create", PROJECT, "--owner", "admin"],
        &["branch", "create", PROJECT, "main"],
        &["put", PROJECT, "main", "conf/a.xml", "{}/one"],
        &["put", PROJECT, "main", "large.bin", "{}/large"],
        &["branch", "create", PROJECT, "test", "--from", "main"],
        &["put", PROJECT, "test", "conf/a.xml", "{}/two"],
        &["put", PROJECT, "main", "conf/b.xml", "{}/two"],
        &["rm", PROJECT, "main", "large.bin"],
    ] {
        succeed(root, words);
    }
}

/// Stores that several commands find: each is made once.
#[derive(Default)]
pub(crate) struct Laid {
    store: OnceLock<tempfile::TempDir>,
    many: OnceLock<tempfile::TempDir>,
}

impl Laid {
    /// Lays out a store of [`lay_store`].
    fn store(&self, root: &Path) {
        let laid = self.store.get_or_init(|| {
            let folder = scratch();
            lay_store(folder.path());
            folder
        });
        copy_into(root, laid.path());
    }

    /// The same, with one branch of many snapshots.
    fn many(&self, root: &Path) {
        let laid = self.many.get_or_init(|| {
            let folder = scratch();
            self.store(folder.path());
            for number in 0..12 {
                let file = folder.path().join("three");
                fs::write(file, number.to_string().repeat(3000)).unwrap();
                let put = ["put", PROJECT, "main", "conf/c.xml", "{}/three"];
                succeed(folder.path(), &put);
            }
            succeed(folder.path(), &["branch", "delete", PROJECT, "test"]);
            folder
        });
        copy_into(root, laid.path());
    }

    /// The same, with much that nothing needs.
    fn waste(&self, root: &Path) {
        self.many(root);
        succeed(root, PRUNE);
    }
}

/// A store that went on after a backup.
fn lay_after_backup(laid: &Laid, root: &Path, name: &str) {
    laid.store(root);
    succeed(root, &["backup", &format!("{{}}/{name}")]);
    succeed(root, &["put", PROJECT, "main", "new.bin", "{}/large"]);
}

fn lay_backup_alone(laid: &Laid, root: &Path, name: &str) {
    laid.store(root);
    succeed(root, &["backup", &format!("{{}}/{name}")]);
    fs::remove_dir_all(data(root)).unwrap();
}

/// The tree of an older system, with so many branches.
fn lay_tree(root: &Path, branches: usize) {
    let model = Model::new(&["ann", "bob"], 3, branches, 2 * branches, 4);
    model.write(&root.join("tree"), &root.join("tokens"));
}

/// A store of an earlier format.
fn lay_earlier(root: &Path, format: u32) {
    let packed = format!("tests/upgrade/format-{format}.tar.gz");
    let packed = File::open(Path::new(env!("CARGO_MANIFEST_DIR")).join(packed));
    let mut archive = tar::Archive::new(GzDecoder::new(packed.unwrap()));
    archive.unpack(root).unwrap();
}
