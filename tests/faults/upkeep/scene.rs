//! What a command finds, and what is to be there when it was cut off.

use std::ffi::OsString;
use std::fs;
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::process::{ExitCode, Stdio};

use serde_json::{Value, json};

use super::commands::{Laid, MOVE, Promise, Upkeep, command, data, succeed};
use crate::daemon::serve;
use crate::folders::{copy_of, scratch};

/// A command with what it finds, and what the whole of it brings about.
pub(crate) struct Scene {
    pub(super) upkeep: &'static Upkeep,
    /// What the command finds.
    pub(crate) template: tempfile::TempDir,
    /// What the store shows before it, and after the whole of it.
    before: Value,
    after: Value,
    /// Objects that are there then.
    objects: Value,
    /// What is in a backup that it replaces.
    backed_up: Option<Value>,
}

impl Scene {
    /// Lays out what the command finds, has it `run` on a copy below this folder, and looks what became of it.
    pub(crate) fn new(upkeep: &'static Upkeep, laid: &Laid, run: impl FnOnce(&Path)) -> Self {
        let template = scratch();
        (upkeep.lay)(laid, template.path());
        let before = shown(&data(template.path())).unwrap_or_default();
        let whole = copy_of(template.path());
        run(whole.path());
        let has_backup = upkeep.promise == Promise::OneOfBothBackups;
        Self {
            upkeep,
            backed_up: has_backup.then(|| upkeep.backed_up(template.path())),
            template,
            before,
            after: shown(&data(whole.path())).unwrap(),
            objects: objects(&data(whole.path())),
        }
    }

    /// The words of the command.
    pub(crate) fn words(&self) -> &'static [&'static str] {
        self.upkeep.words
    }

    /// True if nothing is left for the command to do.
    pub(crate) fn is_done(&self, root: &Path) -> bool {
        self.upkeep.promise == Promise::OneOfBoth && shown(&data(root)).as_ref() == Ok(&self.after)
    }

    /// Makes room for the command to run once more.
    pub(crate) fn clear_the_way(&self, root: &Path) {
        if self.upkeep.promise == Promise::WholeOrNone {
            // There may be nothing.
            drop(fs::remove_dir_all(data(root)));
        }
    }

    /// Holds what is there against what was promised, and runs the command once more.
    pub(crate) fn check(&self, root: &Path, has_succeeded: bool, case: &str) {
        let (upkeep, store) = (self.upkeep, data(root));
        let found = shown(&store);
        if let Ok(found) = &found {
            let check = read(&store, &["debug", "check", "--deep"]);
            assert!(check.is_ok(), "{case}: {check:?}");
            let is_before = *found == self.before && !has_succeeded;
            let is_right = is_before || *found == self.after || upkeep.is_partly(has_succeeded);
            assert!(is_right, "{case}: {found:#}");
        }
        match upkeep.promise {
            Promise::WholeOrNone => {
                assert!(!has_succeeded || found.is_ok(), "{case}: {found:?}");
                // What is no store for who reads is none for a service, which would go on with it.
                let is_served = !is_empty(&store) && serves(&store);
                assert_eq!(is_served, found.is_ok(), "{case}: {found:?}");
            }
            Promise::OneOfBothBackups => {
                let backed_up = Some(upkeep.backed_up(root));
                let is_before = backed_up == self.backed_up && !has_succeeded;
                let is_right = is_before || backed_up.as_ref() == Some(&self.after);
                assert!(is_right, "{case}: {backed_up:?}");
            }
            _ => assert!(found.is_ok(), "{case}: {found:?}"),
        }
        if self.is_done(root) {
            return;
        }
        self.clear_the_way(root);
        let mut again = command(root, upkeep.words).output().unwrap();
        if String::from_utf8_lossy(&again.stderr).contains("restart the service") {
            assert!(serves(&store), "{case}");
            again = command(root, upkeep.words).output().unwrap();
        }
        assert!(again.status.success(), "{case}, and again: {again:?}");
        assert_eq!(shown(&store).as_ref(), Ok(&self.after), "{case}, and again");
        match upkeep.promise {
            Promise::OnlyRoom => assert_eq!(objects(&store), self.objects, "{case}"),
            Promise::OneOfBothBackups => assert_eq!(upkeep.backed_up(root), self.after, "{case}"),
            Promise::SomeOfIt => succeed(root, &[MOVE, &["--verify"]].concat()),
            _ => {}
        }
    }
}

impl Upkeep {
    /// True if it says what it could not read, and went on without: of the tree of an older system, or of a
    /// store that it takes for damaged.
    pub(super) fn tells_what_it_lacks(&self, said: &str) -> bool {
        match self.promise {
            Promise::SomeOfIt => said.contains("user/"),
            Promise::OneOfBothBackups => said.contains("the store is damaged"),
            _ => false,
        }
    }

    /// True if a part of what it does may be there alone.
    fn is_partly(&self, has_succeeded: bool) -> bool {
        self.promise == Promise::SomeOfIt && !has_succeeded
    }

    /// What a store shows that is made of the backup below a folder.
    fn backed_up(&self, root: &Path) -> Value {
        let folder = scratch();
        let backup = self.words[1].replace("{}", root.to_str().unwrap());
        for words in [
            ["backup", "verify", &backup].as_slice(),
            &["restore", &backup],
        ] {
            succeed(folder.path(), words);
        }
        shown(&data(folder.path())).unwrap()
    }
}

/// What a command that only reads prints, in this process.
fn read(data: &Path, words: &[&str]) -> Result<Value, String> {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let line = ["siteconf", "--log", "off", "--data"].map(OsString::from);
    let words = words.iter().map(OsString::from);
    let line = line.into_iter().chain([data.into()]).chain(words);
    let code = siteconf::cli::run(line.chain(["--json".into()]), &mut out, &mut err);
    if code == ExitCode::SUCCESS {
        return Ok(serde_json::from_slice(&out).unwrap());
    }
    out.append(&mut err);
    Err(String::from_utf8(out).unwrap())
}

/// What a store shows: its branches with all their snapshots, what is deleted and can come back, its
/// format.
fn shown(data: &Path) -> Result<Value, String> {
    let mut branches = read(data, &["debug", "refs"])?;
    for branch in branches.as_array_mut().unwrap() {
        // A project may have none.
        if let Some(name) = branch["branch"].as_str() {
            let place = format!("{}:{name}", branch["repo_id"].as_str().unwrap());
            branch["history"] = read(data, &["debug", "history", &place])?;
        }
        // It depends on what was begun before.
        branch["project"] = Value::Null;
    }
    let deleted = read(data, &["project", "list", "--deleted"])?;
    let format = fs::read_to_string(data.join("FORMAT")).unwrap();
    Ok(json!({ "branches": branches, "deleted": deleted, "format": format }))
}

/// How many objects a store has.
fn objects(data: &Path) -> Value {
    read(data, &["debug", "check", "--deep"]).unwrap()["objects"].take()
}

/// True if there is nothing at a path, or a folder that holds nothing but the lock, which whoever fills it takes first.
fn is_empty(path: &Path) -> bool {
    let is_lock = |name: io::Result<fs::DirEntry>| name.unwrap().file_name() == "LOCK";
    fs::read_dir(path).is_ok_and(|mut names| names.all(is_lock)) || !path.exists()
}

/// Starts the service, which settles what failed, and kills it when it listens; false if it does not.
fn serves(data: &Path) -> bool {
    let mut service = serve(data).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(service.stdout.take().unwrap()).lines();
    let is_up = lines.any(|line| line.unwrap().starts_with("listening on"));
    // It may have ended.
    drop(service.kill());
    service.wait().unwrap();
    is_up
}
