//! Flipped bits in a data folder: each is found by `debug check --deep` or harms nothing, and whatever it
//! hits, nothing is read that was not written.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::{Duration, Instant};

use rand::RngExt;
use rand::rngs::StdRng;
use siteconf::base::id::{BlobId, Kind, ObjectId};
use siteconf::store::inspection::Inspectable as _;
use siteconf::store::objects::Objects;
use siteconf::store::sqlite::SqliteStore;
use siteconf::store::{Body, Result, Scan, Store, StoreError};
use walkdir::WalkDir;

use crate::daemon::{Daemon, file};
use crate::folders::scratch;
use crate::load::{Batches, Bindings, Files, Rollbacks, Tokens, Work};
use crate::rounds::Rounds;
use crate::told::Told;

const OCTETS: &str = "application/octet-stream";
const STEPS: u64 = 8;

/// What a store gives to who asks for it: bytes by the ids of objects, values with their versions by the
/// keys of records.
#[derive(Debug, Default, PartialEq)]
struct Read {
    objects: BTreeMap<ObjectId, Vec<u8>>,
    records: BTreeMap<String, (u64, Vec<u8>)>,
    /// Answers that were errors.
    refused: usize,
}

impl Read {
    fn last_version(&self) -> u64 {
        let versions = self.records.values().map(|(version, _)| *version);
        versions.max().unwrap_or(0)
    }
}

/// A data folder that a killed daemon left, and all that is in it.
struct Whole {
    folder: tempfile::TempDir,
    kinds: BTreeMap<ObjectId, Kind>,
    read: Read,
    /// Each file below the folder, with what is in it.
    files: Vec<(PathBuf, Vec<u8>)>,
}

impl Whole {
    /// Of one whose last commit is known to be durable.
    fn new(rounds: &Rounds) -> Self {
        // When a token was last used may be noted just before the kill: then once more.
        let mut all = (0..5).map(|_| Self::left_by_a_kill(rounds));
        let found = all.find(|whole| is_marked(whole.folder.path()));
        found.expect("nothing is noted most of the time")
    }

    /// Has clients of all kinds change something, and kills the daemon where nothing is under way.
    fn left_by_a_kill(rounds: &Rounds) -> Self {
        let mut daemon = Daemon::start();
        let mut admin = daemon.admin();
        Daemon::make_project(&mut admin);
        let works: [Box<dyn Work>; 5] = [
            Box::new(Files("files")),
            Box::new(Batches),
            Box::new(Rollbacks::default()),
            Box::new(Tokens::default()),
            Box::new(Bindings::default()),
        ];
        let mut random = rounds.random(u64::MAX);
        for mut work in works {
            let mut told = Told::default();
            for _ in 0..STEPS {
                work.step(&mut admin, &mut told, &mut random).unwrap();
            }
        }
        // In several pieces.
        let large = "0123456789abcdef".repeat(40_000);
        let saved = admin.attempt("PUT", &file("large.bin"), OCTETS, large.as_bytes());
        assert_eq!(saved.unwrap().status, 201);
        wait_for_mark(&daemon.data());
        daemon.kill();
        Self::copied_from(&daemon.data())
    }

    fn copied_from(data: &Path) -> Self {
        let (folder, mut files) = (scratch(), Vec::new());
        for entry in WalkDir::new(data).min_depth(1) {
            let entry = entry.unwrap();
            let inside = entry.path().strip_prefix(data).unwrap();
            let target = folder.path().join(inside);
            if entry.file_type().is_dir() {
                fs::create_dir(target).unwrap();
            } else {
                fs::copy(entry.path(), target).unwrap();
                files.push((inside.to_owned(), fs::read(entry.path()).unwrap()));
            }
        }
        let mut whole = Self {
            folder,
            kinds: BTreeMap::new(),
            read: Read::default(),
            files,
        };
        let store = SqliteStore::open_read_only(whole.folder.path()).unwrap();
        let survey = store.survey_objects(&mut |row| {
            let row = row.unwrap();
            whole.kinds.insert(row.id, row.kind);
        });
        survey.unwrap();
        whole.read = whole.read(store);
        assert_eq!(whole.read.refused, 0);
        assert_eq!(whole.read.objects.len(), whole.kinds.len());
        whole
    }

    fn file(&self, name: &str) -> Option<&(PathBuf, Vec<u8>)> {
        let mut files = self.files.iter();
        files.find(|(path, _)| path == Path::new(name))
    }

    /// Reads all that was there, one by one, and what a scan finds beside it.
    fn read(&self, store: SqliteStore) -> Read {
        let mut read = Read::default();
        let store = Arc::new(store) as Arc<dyn Store>;
        let objects = Objects::new(Arc::clone(&store));
        for (id, kind) in &self.kinds {
            match bytes_of(&objects, *kind, *id) {
                Ok(bytes) => drop(read.objects.insert(*id, bytes)),
                Err(StoreError::Missing { .. }) => {}
                Err(_) => read.refused += 1,
            }
        }
        match store.scan(Scan::prefix("")) {
            Ok(records) => read.records.extend(records.iter().map(|record| {
                let value = (record.version, record.value.to_vec());
                (record.key.clone(), value)
            })),
            Err(_) => read.refused += 1,
        }
        for key in self.read.records.keys() {
            match store.record(key) {
                Ok(Some(record)) => {
                    let value = (record.version, record.value.to_vec());
                    read.records.insert(key.clone(), value);
                }
                Ok(None) => drop(read.records.remove(key)),
                Err(_) => read.refused += 1,
            }
        }
        read
    }

    /// What is read that was never written, if anything.
    fn wrong(&self, read: &Read) -> Option<String> {
        let objects = read.objects.iter();
        let mut objects = objects.filter(|(id, bytes)| self.read.objects[*id] != **bytes);
        // A log that is cut leaves an earlier state, with what was deleted since: nothing wrong, but to be
        // found.
        let is_earlier = read.last_version() < self.read.last_version();
        let is_written = |key: &String, (version, value): &(u64, Vec<u8>)| {
            let written = self.read.records.get(key);
            written.map_or(is_earlier, |(last, same)| version < last || value == same)
        };
        let mut records = read.records.iter();
        let wrong = objects.next().map(|(id, _)| format!("object {id}"));
        wrong.or_else(|| {
            let record = records.find(|(key, value)| !is_written(key, value));
            record.map(|(key, _)| format!("record {key}"))
        })
    }

    fn difference(&self, read: &Read) -> String {
        format!(
            "{} answers refused, {} of {} objects, {} of {} records, version {} of {}",
            read.refused,
            read.objects.len(),
            self.read.objects.len(),
            read.records.len(),
            self.read.records.len(),
            read.last_version(),
            self.read.last_version(),
        )
    }

    /// Makes everything as it was, after a flip at this place.
    fn restore(&self, damaged: &Path) {
        for (path, bytes) in &self.files {
            let target = self.folder.path().join(path);
            // Nobody writes into a blob or what is kept in reserve.
            let is_written = !path.starts_with("blobs") && path != Path::new("reserve");
            if path == damaged || is_written {
                fs::write(target, bytes).unwrap();
            }
        }
        for entry in fs::read_dir(self.folder.path()).unwrap() {
            let path = entry.unwrap().path();
            let inside = path.strip_prefix(self.folder.path()).unwrap();
            if path.is_file() && !self.files.iter().any(|(known, _)| known == inside) {
                fs::remove_file(path).unwrap();
            }
        }
    }

    /// Flips a bit somewhere, and gives where.
    fn flip(&self, random: &mut StdRng) -> (&Path, usize, u8) {
        let (path, bytes) = loop {
            let file = match random.random_range(0..10) {
                0..4 => self.file("store.db"),
                4..7 => self.file("store.db-wal"),
                _ => self.files.get(random.random_range(0..self.files.len())),
            };
            let Some(file) = file else { continue };
            // Nothing is ever read of it.
            if !file.1.is_empty() && file.0 != Path::new("reserve") {
                break file;
            }
        };
        let (at, bit) = (
            random.random_range(0..bytes.len()),
            random.random_range(0..8),
        );
        let file = File::options()
            .write(true)
            .open(self.folder.path().join(path));
        file.unwrap()
            .write_all_at(&[bytes[at] ^ (1 << bit)], at as u64)
            .unwrap();
        (path, at, bit)
    }

    /// What `debug check --deep` says, if it finds something.
    fn finding(&self) -> Option<String> {
        let data = self.folder.path().as_os_str();
        let words = [
            "siteconf", "--log", "off", "debug", "check", "--deep", "--data",
        ];
        let words = words
            .map(OsString::from)
            .into_iter()
            .chain([data.to_owned()]);
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let code = siteconf::cli::run(words, &mut out, &mut err);
        out.append(&mut err);
        (code != ExitCode::SUCCESS).then(|| String::from_utf8(out).unwrap())
    }

    /// Flips a bit; true if it was found, false if it harmed nothing.
    fn one_round(&self, random: &mut StdRng) -> bool {
        let (path, at, bit) = self.flip(random);
        let place = format!("{}, byte {at}, bit {bit}", path.display());
        let finding = self.finding();
        if let Ok(store) = SqliteStore::open_read_only(self.folder.path()) {
            let read = self.read(store);
            assert_eq!(self.wrong(&read), None, "{place}: {finding:?}");
            let difference = self.difference(&read);
            let is_found = finding.is_some() || read == self.read;
            assert!(is_found, "{place} was not found: {difference}");
        } else {
            assert!(finding.is_some(), "{place} was not found");
        }
        // A daemon that starts on it goes on with what is right, or does not start.
        if random.random_ratio(1, 8)
            && let Ok(store) = SqliteStore::open_locked(self.folder.path())
        {
            let read = self.read(store);
            assert_eq!(self.wrong(&read), None, "{place}, after a start");
            let is_older = read.records.iter().any(|(key, (version, _))| {
                let written = self.read.records.get(key);
                written.is_some_and(|(last, _)| version < last)
            });
            assert!(!is_older, "{place}: a daemon started on an earlier state");
        }
        self.restore(path);
        finding.is_some()
    }
}

fn bytes_of(objects: &Objects, kind: Kind, id: ObjectId) -> Result<Vec<u8>> {
    if kind != Kind::Blob {
        return Ok(objects.structure(kind, id)?.to_vec());
    }
    let blob = objects.blob(BlobId::from_bytes(*id.as_bytes()))?;
    match blob.body {
        Body::Inline(bytes) => Ok(bytes.to_vec()),
        Body::Large(large) => {
            let mut bytes = vec![0; usize::try_from(blob.size).unwrap()];
            let read = large.read_exact_at(&mut bytes, 0);
            read.map(|()| bytes).map_err(|source| StoreError::Io {
                action: "reading a blob",
                source,
            })
        }
    }
}

/// Waits until the last commit is known to be durable: a log that is cut before that looks like one of a
/// kill.
fn wait_for_mark(data: &Path) {
    let began = Instant::now();
    while !is_marked(data) {
        assert!(began.elapsed() < Duration::from_mins(1), "it has no mark");
        thread::yield_now();
    }
}

fn is_marked(data: &Path) -> bool {
    let store = SqliteStore::open_read_only(data).unwrap();
    let line = format!("{:016x} ", store.last_version().unwrap());
    let mark = fs::read_to_string(data.join("high-water")).unwrap();
    mark.starts_with(&line)
}

#[test]
#[expect(clippy::print_stderr, reason = "the figures of a long run")]
fn a_flipped_bit_is_found_or_harmless_and_never_read() {
    let rounds = Rounds::or(400);
    let all = [(); 2].map(|()| Whole::new(&rounds));
    let left = AtomicU64::new(rounds.count);
    let found: u64 = thread::scope(|scope| {
        let run = |lane: u64, whole: &Whole| {
            if !lane.is_multiple_of(2) {
                // What is in the database is not hidden behind the log.
                drop(SqliteStore::open_locked(whole.folder.path()).unwrap());
            }
            let own = Whole::copied_from(whole.folder.path());
            let has_log = own.file("store.db-wal").is_some();
            assert_eq!(has_log, lane.is_multiple_of(2));
            let (left, mut random, mut found) = (&left, rounds.random(lane), 0);
            let take = |left: u64| left.checked_sub(1);
            while left.fetch_update(Relaxed, Relaxed, take).is_ok() {
                found += u64::from(own.one_round(&mut random));
            }
            found
        };
        let lanes: Vec<_> = (0..)
            .zip(&all)
            .map(|(lane, whole)| scope.spawn(move || run(lane, whole)))
            .collect();
        lanes.into_iter().map(|lane| lane.join().unwrap()).sum()
    });
    eprintln!(
        "{found} of {} flips were found, the others harmless",
        rounds.count
    );
    // A check that finds little would look at little.
    assert!(found * 10 > rounds.count * 3, "{found} of {}", rounds.count);
}

/// A name in a table's definition of which a bit flipped is a name like any other: SQLite examines the
/// database and finds nothing.
#[test]
fn a_flipped_bit_in_the_definition_of_a_table_is_found() {
    let written = Whole::new(&Rounds::or(1));
    // The definitions are in the log no more.
    drop(SqliteStore::open_locked(written.folder.path()).unwrap());
    let whole = Whole::copied_from(written.folder.path());
    let (path, bytes) = whole.file("store.db").unwrap();
    for (table, definition) in [
        ("outboard", "pieces BLOB"),
        ("collection", "scope INTEGER"),
        ("tombstone", "key     TEXT"),
        ("object", "sha256 BLOB"),
    ] {
        let mut places = bytes.windows(definition.len());
        let at = places
            .rposition(|place| place == definition.as_bytes())
            .unwrap();
        let mut damaged = bytes.clone();
        damaged[at] ^= 1;
        fs::write(whole.folder.path().join(path), damaged).unwrap();
        let finding = whole.finding().unwrap_or_default();
        let expected = format!("database: the definition of the table {table} is damaged\n");
        assert!(finding.contains(&expected), "{table}: {finding:?}");
        whole.restore(path);
    }
    assert_eq!(whole.finding(), None);
}
