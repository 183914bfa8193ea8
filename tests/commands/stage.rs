//! A store for commands to run on.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

use crate::daemon::{Daemon, siteconf};

/// A folder with a store in `data`. It has the accounts `admin`, who may do everything, `ann`, who owns
/// `acme/shop.erp`, and `dave`, who may read nothing; a token of ann's, 1; and the branches `main`, of one
/// snapshot and the files of the folder `in`, and `dev`, which is empty.
pub(crate) struct Stage {
    folder: TempDir,
}

impl Stage {
    pub(crate) fn new() -> Self {
        let stage = Self::with_nothing();
        stage.done(&["init"]);
        for name in ["ann", "dave"] {
            stage.done(&["user", "add", name]);
        }
        stage.lay("in", &[("a.xml", "<a/>"), ("conf/b.xml", "<b/>")]);
        let files = stage.shown("in");
        stage.done(&["import", "acme/shop.erp", "main", &files, "--owner", "ann"]);
        stage.done(&["branch", "create", "acme/shop.erp", "dev"]);
        let token = ["token", "create", "--user", "ann", "--name", "n"];
        stage.done(&[&token[..], &["--repo", "acme/shop.erp"]].concat());
        stage
    }

    /// A folder in which there is nothing.
    pub(crate) fn with_nothing() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The path as a command line has it.
    pub(crate) fn shown(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    /// Writes files into a folder.
    pub(crate) fn lay(&self, folder: &str, files: &[(&str, &str)]) {
        for (path, text) in files {
            let path = self.path(folder).join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
    }

    /// A command on the store, without a person and without input.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        command(&self.path("data"), words)
    }

    /// Runs a command that must succeed and say nothing but its result.
    #[track_caller]
    pub(crate) fn done(&self, words: &[&str]) -> String {
        let ran = self.command(words).output().unwrap();
        assert_eq!(
            (ran.status.code(), text(&ran.stderr).as_str()),
            (Some(0), ""),
            "{words:?}"
        );
        text(&ran.stdout)
    }

    /// Runs a command that must do nothing, end with this code, and say this on standard error alone.
    #[track_caller]
    pub(crate) fn refused(&self, words: &[&str], code: i32, said: &str) {
        refused(&mut self.command(words), code, said);
    }

    /// Serves the store.
    pub(crate) fn serve(self) -> Daemon {
        Daemon::start_on(self.folder)
    }
}

/// A command on a data folder, without a person and without input.
pub(crate) fn command(data: &Path, words: &[&str]) -> Command {
    let mut command = siteconf(data);
    command
        .args(words)
        .stdin(Stdio::null())
        .env_remove("NO_COLOR");
    command
}

#[track_caller]
pub(crate) fn refused(command: &mut Command, code: i32, said: &str) {
    let Output {
        status,
        stdout,
        stderr,
    } = command.output().unwrap();
    assert_eq!(
        (status.code(), text(&stdout).as_str(), text(&stderr)),
        (Some(code), "", format!("{said}\n")),
        "{:?}",
        command.get_args().collect::<Vec<_>>()
    );
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}
