//! Random histories, with kills of pull and of the service, connections that break, and a full disk:
//! the folder is one whole state at each moment, and the branch at the end of each round.

use std::collections::BTreeSet;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use rand::RngExt;
use rand::rngs::StdRng;
use sha2::Digest as _;
use siteconf::base::digest::BodyDigests;

use crate::mounted::Mounted;
use crate::relay::Relay;
use crate::rounds::Rounds;
use crate::scene::{Files, Scene, read};

/// Megabytes of the disk that becomes full.
const DISK_MB: u32 = 6;

/// What a concurrent reader has seen, by the hash of each state that may be seen.
struct Reader {
    known: Mutex<BTreeSet<u64>>,
    looks: AtomicU64,
    ended: AtomicBool,
}

fn hash(files: &Files) -> u64 {
    let mut hasher = DefaultHasher::new();
    files.hash(&mut hasher);
    hasher.finish()
}

impl Reader {
    /// Opens the folder and reads all that is below it, again and again.
    fn run(&self, dir: &Path) {
        while !self.ended.load(Ordering::Relaxed) {
            let Ok(held) = fs::File::open(dir) else {
                // Not pulled yet.
                thread::yield_now();
                continue;
            };
            let through = PathBuf::from(format!("/proc/self/fd/{}", held.as_raw_fd()));
            let seen = all_below(&through);
            self.looks.fetch_add(1, Ordering::Relaxed);
            // The one before the present one stays, an earlier one may go while it is read.
            if is_there(dir, &held) {
                let seen = seen.expect("what is held open can be read");
                let is_known = self.known.lock().unwrap().contains(&hash(&seen));
                let names: Vec<_> = seen.keys().collect();
                assert!(is_known, "a state that never was: {names:?}");
            }
        }
    }
}

/// True if this is the folder, or the one before it.
fn is_there(dir: &Path, held: &fs::File) -> bool {
    use std::os::unix::fs::MetadataExt;
    let inode = held.metadata().unwrap().ino();
    let name = dir.file_name().unwrap().to_str().unwrap();
    let old = dir.with_file_name(format!(".{name}.siteconf-pull/old"));
    [dir, &old]
        .iter()
        .any(|path| fs::metadata(path).is_ok_and(|found| found.ino() == inode))
}

fn all_below(folder: &Path) -> std::io::Result<Files> {
    let mut files = Files::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(inside) = folders.pop() {
        for entry in fs::read_dir(folder.join(&inside))? {
            let entry = entry?;
            let path = inside.join(entry.file_name());
            if entry.file_type()?.is_dir() {
                folders.push(path);
            } else {
                use std::os::unix::fs::PermissionsExt;
                let mode = entry.metadata()?.permissions().mode();
                let bytes = fs::read(entry.path())?;
                files.insert(
                    path.to_str().unwrap().to_owned(),
                    (bytes, mode & 0o100 != 0),
                );
            }
        }
    }
    Ok(files)
}

/// The branch digest of the specification, of a model.
fn digest(files: &Files) -> String {
    let mut sha256 = sha2::Sha256::new();
    for (path, (bytes, _)) in files {
        let digests = BodyDigests::of(bytes);
        sha256.update(format!("{path}|{}|{}\n", digests.size, digests.md5));
    }
    hex::encode(sha256.finalize())
}

/// Changes some files, adds some, removes some, and at times turns a file into a folder.
fn change(files: &mut Files, random: &mut StdRng) {
    for _ in 0..random.random_range(1..12) {
        let name = random.random_range(0..30_u32);
        let path = match name % 3 {
            0 => format!("{name}"),
            1 => format!("folder/{name}.xml"),
            _ => format!("папка {}/deep/{name}", name % 5),
        };
        if random.random_bool(0.3) {
            files.remove(&path);
            continue;
        }
        let length = match random.random_range(0..20) {
            0 => 0,
            1 => random.random_range(1_100_000..1_400_000),
            2..6 => random.random_range(10_000..100_000),
            _ => random.random_range(1..2_000),
        };
        let mut bytes = vec![0; length];
        random.fill(&mut bytes[..]);
        files.insert(path, (bytes, random.random_bool(0.2)));
    }
    // Large ones are few, so that two states have room on the small disk.
    let large: Vec<_> = files
        .iter()
        .filter(|(_, (bytes, _))| bytes.len() > 1_000_000)
        .map(|(path, _)| path.clone())
        .collect();
    for path in large.iter().skip(1) {
        files.remove(path);
    }
    if random.random_bool(0.1) {
        files.remove("folder/1.xml");
        files.insert("folder/1.xml/inside".to_owned(), (b"x".to_vec(), false));
    } else {
        files.remove("folder/1.xml/inside");
    }
}

/// What goes wrong in a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Harm {
    PullKilled,
    ServiceKilled,
    ConnectionsCut,
    DiskFull,
}

#[test]
#[expect(clippy::print_stderr, reason = "the figures of a long run")]
fn the_folder_is_one_whole_state_whatever_happens() {
    let mut scene = Scene::new();
    let disk = Mounted::disk(DISK_MB);
    let dir = disk
        .as_ref()
        .map_or_else(|| scene.dir(), |disk| disk.path().join("here"));
    let reader = Arc::new(Reader {
        known: Mutex::default(),
        looks: AtomicU64::new(0),
        ended: AtomicBool::new(false),
    });
    let (reads, read_dir) = (Arc::clone(&reader), dir.clone());
    let reading = thread::spawn(move || reads.run(&read_dir));
    let rounds = Rounds::or(12);
    let mut random = rounds.random(0);
    let mut files = Files::new();
    let mut harms = std::collections::BTreeMap::<(Harm, bool), u32>::new();
    for round in 0..rounds.count {
        change(&mut files, &mut random);
        reader.known.lock().unwrap().insert(hash(&files));
        scene.save(&files);
        let mut harm = match round % 4 {
            0 => Harm::PullKilled,
            1 => Harm::ServiceKilled,
            2 => Harm::ConnectionsCut,
            _ => Harm::DiskFull,
        };
        if harm == Harm::DiskFull && disk.is_none() {
            harm = Harm::PullKilled;
        }
        let went_well = one_harm(&mut scene, &dir, harm, &mut random);
        *harms.entry((harm, went_well)).or_default() += 1;
        // Then nothing is in the way any more, and it comes to its end.
        let output = pull(&scene, &scene.daemon.base(), &dir).output().unwrap();
        assert!(output.status.success(), "{round} {harm:?}: {output:?}");
        assert_eq!(read(&dir), files, "{round} {harm:?}");
        assert!(!reading.is_finished(), "the reader saw what never was");
        // The reader may have got no time yet. The second look to end from now on has begun from now on.
        let looks = reader.looks.load(Ordering::Relaxed);
        while reader.looks.load(Ordering::Relaxed) < looks + 2 {
            assert!(!reading.is_finished(), "the reader saw what never was");
            thread::yield_now();
        }
        let state = fs::read_to_string(side(&dir).join("state.json")).unwrap();
        let state: serde_json::Value = serde_json::from_str(&state).unwrap();
        assert_eq!(state["head"]["id"], digest(&files)[..40]);
        assert_eq!(state["is_proven"], true);
        let left: Vec<_> = crate::scene::names(&side(&dir))
            .into_iter()
            .filter(|name| name.starts_with("next") || name == "fetched")
            .collect();
        assert!(left.is_empty(), "{left:?}");
    }
    reader.ended.store(true, Ordering::Relaxed);
    reading.join().unwrap();
    let looks = reader.looks.load(Ordering::Relaxed);
    assert!(looks > rounds.count, "the reader hardly read: {looks}");
    eprintln!(
        "{} rounds, {looks} looks; harms, and whether the pull went well: {harms:?}",
        rounds.count
    );
}

fn side(dir: &Path) -> PathBuf {
    dir.with_file_name(".here.siteconf-pull")
}

fn pull(scene: &Scene, base: &str, dir: &Path) -> Command {
    let mut command = crate::scene::plain(&["pull", base, crate::daemon::PROJECT, "main"]);
    command.arg(dir).arg("--token-file").arg(scene.at("token"));
    command
}

/// Pulls while this goes wrong; true if the pull went well all the same.
fn one_harm(scene: &mut Scene, dir: &Path, harm: Harm, random: &mut StdRng) -> bool {
    let base = scene.daemon.base();
    match harm {
        Harm::PullKilled | Harm::ServiceKilled => {
            // How long one takes here is some tens of milliseconds.
            let after = Duration::from_micros(random.random_range(0..150_000));
            let began = Instant::now();
            let mut child = pull(scene, &base, dir)
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            while began.elapsed() < after && child.try_wait().unwrap().is_none() {
                thread::sleep(Duration::from_micros(200));
            }
            if harm == Harm::PullKilled {
                child.kill().unwrap();
            } else {
                scene.daemon.kill_and_restart();
            }
            child.wait().unwrap().success()
        }
        Harm::ConnectionsCut => {
            let relay = Relay::to(&base);
            let cuts: Vec<_> = (0..200).map(|_| random.random_range(300..60_000)).collect();
            relay.break_after(&cuts);
            let output = pull(scene, &relay.base(), dir).output().unwrap();
            output.status.success()
        }
        Harm::DiskFull => {
            let ballast = dir.with_file_name("ballast");
            let length = random.random_range(1..DISK_MB * 1024);
            // As much as there is room for.
            let _full = fs::write(&ballast, vec![1; length as usize * 1024]);
            let output = pull(scene, &base, dir).output().unwrap();
            fs::remove_file(&ballast).unwrap();
            output.status.success()
        }
    }
}
