//! A service with one branch, and a folder that is pulled from it.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

use crate::daemon::{Daemon, PROJECT};

/// The files of a folder by their paths: the bytes, and whether they may be run.
pub(crate) type Files = BTreeMap<String, (Vec<u8>, bool)>;

/// Ordinary files of these texts.
pub(crate) fn files(texts: &[(&str, &str)]) -> Files {
    let files = texts
        .iter()
        .map(|(path, text)| ((*path).to_owned(), (text.as_bytes().to_vec(), false)));
    files.collect()
}

/// A service, its project, and a folder for what is pulled.
pub(crate) struct Scene {
    pub(crate) daemon: Daemon,
    folder: TempDir,
    states: u32,
}

impl Scene {
    pub(crate) fn new() -> Self {
        let daemon = Daemon::start();
        let mut admin = daemon.admin();
        Daemon::make_project(&mut admin);
        let scene = Self {
            folder: tempfile::tempdir().unwrap(),
            daemon,
            states: 0,
        };
        let reader = scene.daemon.reader(&mut admin);
        let token = reader.credential.strip_prefix("PRIVATE-TOKEN: ").unwrap();
        let file = scene.at("token");
        fs::write(&file, token.trim_end()).unwrap();
        // One that everybody may read is told of.
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        scene
    }

    /// A path beside the folder.
    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The folder that is pulled.
    pub(crate) fn dir(&self) -> PathBuf {
        self.at("here")
    }

    /// Where pull works beside it.
    pub(crate) fn side(&self) -> PathBuf {
        self.at(".here.siteconf-pull")
    }

    /// Gives the branch just these files.
    pub(crate) fn save(&mut self, files: &Files) {
        self.states += 1;
        let folder = self.at(&format!("in{}", self.states));
        fs::create_dir(&folder).unwrap();
        lay(&folder, files);
        let import = ["import", PROJECT, "main", "--mirror", "--allow-empty"];
        let output = self.daemon.command(&import).arg(&folder).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        fs::remove_dir_all(&folder).unwrap();
    }

    /// A pull from this address, with more flags.
    pub(crate) fn command(&self, base: &str, flags: &[&str]) -> Command {
        self.command_in(&self.dir(), base, flags)
    }

    /// The same into another folder.
    pub(crate) fn command_in(&self, dir: &Path, base: &str, flags: &[&str]) -> Command {
        let mut command = plain(&["pull", base, PROJECT, "main"]);
        command
            .arg(dir)
            .arg("--token-file")
            .arg(self.at("token"))
            .args(flags);
        command
    }

    /// Pulls from the service.
    pub(crate) fn pull(&self, flags: &[&str]) -> Output {
        self.command(&self.daemon.base(), flags).output().unwrap()
    }

    /// Pulls, which must go well, and hold just these files then. Gives what was said.
    #[track_caller]
    pub(crate) fn pulled(&self, flags: &[&str], files: &Files) -> String {
        let said = said(&self.pull(flags), 0, "");
        assert_eq!(&read(&self.dir()), files);
        said
    }
}

/// The binary without settings of its surroundings.
pub(crate) fn plain(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_siteconf"));
    command.args(words).stdin(Stdio::null());
    for name in [
        "SITECONF_TOKEN",
        "http_proxy",
        "HTTP_PROXY",
        "all_proxy",
        "ALL_PROXY",
    ] {
        command.env_remove(name);
    }
    command
}

/// What a command said on standard output; its code and what it said on standard error must be these.
#[track_caller]
pub(crate) fn said(output: &Output, code: i32, err: &str) -> String {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    assert_eq!(
        (output.status.code(), text(&output.stderr).as_str()),
        (Some(code), err),
        "{}",
        text(&output.stdout)
    );
    text(&output.stdout)
}

/// What a command that fails with code 1 said.
#[track_caller]
pub(crate) fn refusal(output: &Output) -> String {
    let said = String::from_utf8(output.stderr.clone()).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(output.stdout.is_empty(), "{output:?}");
    said
}

/// Writes files into a folder.
pub(crate) fn lay(folder: &Path, files: &Files) {
    for (path, (bytes, is_executable)) in files {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut file = fs::File::create(&path).unwrap();
        file.write_all(bytes).unwrap();
        let mode = if *is_executable { 0o755 } else { 0o644 };
        file.set_permissions(fs::Permissions::from_mode(mode))
            .unwrap();
    }
}

/// All files of a folder; a folder without any is an error, but for the top.
pub(crate) fn read(folder: &Path) -> Files {
    let mut files = Files::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(inside) = folders.pop() {
        let entries: Vec<_> = fs::read_dir(folder.join(&inside)).unwrap().collect();
        assert!(
            !entries.is_empty() || inside == Path::new(""),
            "{inside:?} is empty"
        );
        for entry in entries {
            let entry = entry.unwrap();
            let path = inside.join(entry.file_name());
            let kind = entry.file_type().unwrap();
            if kind.is_dir() {
                folders.push(path);
                continue;
            }
            assert!(kind.is_file(), "{path:?}");
            let mode = entry.metadata().unwrap().permissions().mode();
            let bytes = fs::read(entry.path()).unwrap();
            files.insert(
                path.to_str().unwrap().to_owned(),
                (bytes, mode & 0o100 != 0),
            );
        }
    }
    files
}

/// What lies in a folder, by names, sorted.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}
