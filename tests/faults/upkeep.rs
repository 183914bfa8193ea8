//! Commands that keep a store, killed at a call of the system, or with one that fails: collections, backups,
//! restores, what is deleted and comes back, moves from an older system, and upgrades. Whatever happens, the
//! store shows what it showed before or what the whole command brings about, and the command run once more
//! brings that about.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use flate2::read::GzDecoder;
use rand::RngExt;
use rand::rngs::StdRng;
use serde_json::{Value, json};
use walkdir::WalkDir;

use crate::calls::FAULTS;
use crate::daemon::{PROJECT, serve, siteconf};
use crate::model::Model;
use crate::rounds::Rounds;
use crate::tracer;

/// What is held of a command that did not come to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Promise {
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
struct Upkeep {
    promise: Promise,
    /// Lays out what it finds below a folder.
    lay: fn(&Path),
    /// What follows the data folder on its command line.
    words: &'static [&'static str],
}

const ALL: [Upkeep; 12] = [
    Upkeep {
        promise: Promise::OnlyRoom,
        lay: lay_waste,
        words: &["gc", "--keep-deleted-days", "0"],
    },
    Upkeep {
        promise: Promise::OnlyRoom,
        lay: lay_waste,
        words: &["gc", "--keep-deleted-days", "0", "--compact"],
    },
    Upkeep {
        promise: Promise::OneOfBothBackups,
        lay: |root| lay_after_backup(root, "backup"),
        words: &["backup", "{}/backup"],
    },
    Upkeep {
        promise: Promise::OneOfBothBackups,
        lay: |root| lay_after_backup(root, "backup.tar"),
        words: &["backup", "{}/backup.tar"],
    },
    Upkeep {
        promise: Promise::WholeOrNone,
        lay: |root| lay_backup_alone(root, "backup"),
        words: &["restore", "{}/backup"],
    },
    Upkeep {
        promise: Promise::WholeOrNone,
        lay: |root| lay_backup_alone(root, "backup.tar"),
        words: &["restore", "{}/backup.tar"],
    },
    Upkeep {
        promise: Promise::OneOfBoth,
        lay: |root| done(root, &["branch", "delete", PROJECT, "test"], lay_store),
        words: &["branch", "restore", PROJECT, "test"],
    },
    Upkeep {
        promise: Promise::OneOfBoth,
        lay: |root| done(root, &["project", "delete", PROJECT], lay_store),
        words: &["project", "restore", PROJECT],
    },
    Upkeep {
        promise: Promise::SomeOfIt,
        lay: |root| {
            lay_tree(root, 4);
            lay_store(root);
        },
        words: MOVE,
    },
    Upkeep {
        promise: Promise::SomeOfIt,
        lay: |root| {
            lay_tree(root, 3);
            done(root, MOVE, lay_store);
            lay_tree(root, 5);
        },
        words: MOVE,
    },
    Upkeep {
        promise: Promise::OneOfBoth,
        lay: |root| lay_earlier(root, 1),
        words: &["upgrade"],
    },
    Upkeep {
        promise: Promise::OneOfBoth,
        lay: |root| lay_earlier(root, 2),
        words: &["upgrade"],
    },
];
const MOVE: &[&str] = &["migrate-tree", "{}/tree", "--tokens", "{}/tokens"];

fn data(root: &Path) -> PathBuf {
    root.join("data")
}

/// A command on the store below a folder; `{}` in its words stands for the folder.
fn command(root: &Path, words: &[&str]) -> Command {
    let mut command = siteconf(&data(root));
    let root = root.to_str().unwrap();
    command.args(words.iter().map(|word| word.replace("{}", root)));
    command.stdin(Stdio::null());
    command
}

/// Runs a command that must succeed, on what is laid out first.
fn done(root: &Path, words: &[&str], lay: fn(&Path)) {
    lay(root);
    succeed(root, words);
}

#[track_caller]
fn succeed(root: &Path, words: &[&str]) {
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

/// The same, with much that nothing needs.
fn lay_waste(root: &Path) {
    lay_store(root);
    for number in 0..12 {
        fs::write(root.join("three"), number.to_string().repeat(3000)).unwrap();
        succeed(root, &["put", PROJECT, "main", "conf/c.xml", "{}/three"]);
    }
    succeed(root, &["branch", "delete", PROJECT, "test"]);
    succeed(root, &["prune", "--keep-snapshots", "1"]);
}

/// A store that went on after a backup.
fn lay_after_backup(root: &Path, name: &str) {
    lay_store(root);
    succeed(root, &["backup", &format!("{{}}/{name}")]);
    succeed(root, &["put", PROJECT, "main", "new.bin", "{}/large"]);
}

fn lay_backup_alone(root: &Path, name: &str) {
    lay_store(root);
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

/// What a store shows: its branches with all their snapshots, and what is deleted and can come back.
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
    Ok(json!({ "branches": branches, "deleted": deleted }))
}

/// How many objects a store has.
fn objects(data: &Path) -> Value {
    read(data, &["debug", "check", "--deep"]).unwrap()["objects"].take()
}

/// A folder in memory, where there is such a place.
fn scratch() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() {
        tempfile::tempdir_in(memory).unwrap()
    } else {
        tempfile::tempdir().unwrap()
    }
}

fn copy_of(folder: &Path) -> tempfile::TempDir {
    let copy = scratch();
    for entry in WalkDir::new(folder).min_depth(1) {
        let entry = entry.unwrap();
        let target = copy.path().join(entry.path().strip_prefix(folder).unwrap());
        if entry.file_type().is_dir() {
            fs::create_dir(target).unwrap();
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
    copy
}

/// A command that meets faults.
struct Lane {
    upkeep: &'static Upkeep,
    /// What the command finds.
    template: tempfile::TempDir,
    /// What the store shows before it, and after the whole of it.
    before: Value,
    after: Value,
    /// Objects that are there then.
    objects: Value,
    /// What is in a backup that it replaces.
    backed_up: Option<Value>,
    /// How many of these calls a thread of it makes at most.
    counts: BTreeMap<&'static str, u64>,
}

impl Lane {
    fn new(upkeep: &'static Upkeep) -> Self {
        let template = scratch();
        (upkeep.lay)(template.path());
        let before = shown(&data(template.path())).unwrap_or_default();
        let whole = copy_of(template.path());
        let words = upkeep.words;
        let all = FAULTS.map(|(calls, _)| calls).join(",");
        let ended = traced(whole.path(), words, &["-e", &format!("trace={all}")]);
        assert!(ended.status.success(), "{words:?}: {ended:?}");
        let trace = fs::read_to_string(whole.path().join("trace")).unwrap();
        let count = |(calls, _)| (calls, most_of_a_thread(&trace, calls));
        let has_backup = upkeep.promise == Promise::OneOfBothBackups;
        Self {
            upkeep,
            backed_up: has_backup.then(|| upkeep.backed_up(template.path())),
            template,
            before,
            after: shown(&data(whole.path())).unwrap(),
            objects: objects(&data(whole.path())),
            counts: FAULTS.into_iter().map(count).collect(),
        }
    }

    /// One fault; true if it came.
    fn round(&self, random: &mut StdRng) -> bool {
        let (calls, how) = FAULTS[random.random_range(0..FAULTS.len())];
        let when = random.random_range(1..=self.counts[calls].max(1));
        let inject = format!("inject={calls}:{how}:when={when}");
        let folder = copy_of(self.template.path());
        let root = folder.path();
        let trace = format!("trace={calls}");
        let ended = traced(root, self.upkeep.words, &["-e", &trace, "-e", &inject]);
        let case = format!("{:?} with {inject}", self.upkeep.words);
        let said = String::from_utf8_lossy(&ended.stderr);
        assert!(!said.contains("panic"), "{case}: {said}");
        let has_succeeded = ended.status.success();
        if self.upkeep.tells_what_it_lacks(&said) {
            assert!(!has_succeeded, "{case}: {said}");
        } else {
            self.check(root, has_succeeded, &format!("{case}: {said}"));
        }
        let trace = fs::read_to_string(root.join("trace")).unwrap();
        trace.contains("(INJECTED)") || trace.contains("+++ killed by SIGKILL")
    }

    /// Holds what is there against what was promised, and runs the command once more.
    fn check(&self, root: &Path, has_succeeded: bool, case: &str) {
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
                // What is left there is in the way.
                drop(fs::remove_dir_all(&store));
            }
            Promise::OneOfBothBackups => {
                let backed_up = Some(upkeep.backed_up(root));
                let is_before = backed_up == self.backed_up && !has_succeeded;
                let is_right = is_before || backed_up.as_ref() == Some(&self.after);
                assert!(is_right, "{case}: {backed_up:?}");
            }
            _ => assert!(found.is_ok(), "{case}: {found:?}"),
        }
        if upkeep.promise == Promise::OneOfBoth && found.as_ref() == Ok(&self.after) {
            return;
        }
        let mut again = command(root, upkeep.words).output().unwrap();
        if String::from_utf8_lossy(&again.stderr).contains("restart the service") {
            start(&store);
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
    fn tells_what_it_lacks(&self, said: &str) -> bool {
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

/// Starts the service, which settles what failed, and kills it when it listens.
fn start(data: &Path) {
    let mut service = serve(data).spawn().unwrap();
    let mut lines = BufReader::new(service.stdout.take().unwrap()).lines();
    let is_up = lines.any(|line| line.unwrap().starts_with("listening on"));
    assert!(is_up, "{:?}", service.wait());
    service.kill().unwrap();
    service.wait().unwrap();
}

/// Runs a command behind `strace` with these flags, which writes to the file `trace`.
fn traced(root: &Path, words: &[&str], flags: &[&str]) -> Output {
    let command = command(root, words);
    let mut strace = Command::new("strace");
    strace.args(["-f", "--seccomp-bpf", "-o"]);
    strace.arg(root.join("trace"));
    strace.args(flags).arg(command.get_program());
    let strace = strace.args(command.get_args()).stdin(Stdio::null());
    strace.output().unwrap()
}

/// How many of these calls there are in a trace, of the thread that makes most of them.
fn most_of_a_thread(trace: &str, calls: &str) -> u64 {
    let mut counts = BTreeMap::new();
    for line in trace.lines() {
        let call = line.split_once(' ').and_then(|(thread, call)| {
            let name = call.trim_start().split_once('(')?.0;
            calls.split(',').any(|one| one == name).then_some(thread)
        });
        if let Some(thread) = call {
            *counts.entry(thread).or_default() += 1;
        }
    }
    counts.into_values().max().unwrap_or(0)
}

#[test]
#[expect(clippy::print_stderr, reason = "the figures of a long run")]
fn a_command_that_is_cut_off_leaves_the_store_as_it_was_or_as_it_should_be() {
    if !tracer::is_there() {
        return;
    }
    let rounds = Rounds::or(24);
    let (taken, met) = (AtomicU64::new(0), AtomicU64::new(0));
    thread::scope(|scope| {
        for part in 0..2 {
            let (taken, met) = (&taken, &met);
            scope.spawn(move || {
                let mut random = rounds.random(part);
                let own = (0..).zip(&ALL).filter(|(at, _)| at % 2 == part);
                let lanes: Vec<_> = own.map(|(_, upkeep)| Lane::new(upkeep)).collect();
                for lane in lanes.iter().cycle() {
                    if taken.fetch_add(1, Ordering::Relaxed) >= rounds.count {
                        break;
                    }
                    let is_met = lane.round(&mut random);
                    met.fetch_add(u64::from(is_met), Ordering::Relaxed);
                }
            });
        }
    });
    let (count, met) = (rounds.count, met.into_inner());
    eprintln!("{met} of {count} commands met their fault");
    assert!(met * 2 > count, "{met} of {count}");
}
