//! `siteconf copy`: a store goes from a folder into a database and back, with every version and every byte.

mod refused;
mod stopped;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;

use siteconf::base::id::{BlobId, Kind, ObjectId};
use siteconf::store::objects::Objects;
use siteconf::store::postgres::PostgresStore;
use siteconf::store::sqlite::SqliteStore;
use siteconf::store::{Body, Scan, Store};
use tempfile::TempDir;

use super::commands::{assert_refused, run};
use super::large::noise;
use crate::harness::bucket::TestBucket;
use crate::harness::server::Database;
use crate::harness::{Daemon, Place, Project, User, own_folder, soon};

/// Beyond a row, beyond a piece, and beyond a part of an upload.
const LARGE: [usize; 3] = [65_537, 262_145, (8 << 20) + 1];

/// All that a store holds.
#[derive(Debug, PartialEq, Eq)]
struct Contents {
    records: Vec<(String, u64, Vec<u8>)>,
    /// Of each the kind, the size, the SHA-256 that is kept, and the hash of the bytes.
    objects: BTreeMap<ObjectId, (Kind, u64, String, blake3::Hash)>,
    last_version: u64,
}

impl Contents {
    fn of(store: &Arc<dyn Store>) -> Self {
        let records = store.scan(Scan::prefix("")).unwrap();
        let last_version = store.last_version().unwrap();
        let ids = store.ids_with_prefix(&[], 1 << 20).unwrap();
        let sound = Objects::new(Arc::clone(store));
        let object = |id: ObjectId| {
            let stored = store.object(id).unwrap().unwrap();
            let bytes = match stored.body {
                Body::Inline(bytes) => bytes,
                Body::Large(_) => {
                    let blob = sound.blob(BlobId::from_bytes(*id.as_bytes())).unwrap();
                    let Body::Large(large) = blob.body else {
                        unreachable!("it is large");
                    };
                    let size = usize::try_from(stored.size).unwrap();
                    large.read_at(0, size).unwrap()
                }
            };
            let sum = format!("{:?}", stored.sha256);
            (stored.kind, stored.size, sum, blake3::hash(&bytes))
        };
        let record =
            |it: &Arc<siteconf::store::Record>| (it.key.clone(), it.version, it.value.to_vec());
        Self {
            records: records.iter().map(record).collect(),
            objects: ids.into_iter().map(|id| (id, object(id))).collect(),
            last_version,
        }
    }

    fn of_folder(data: &Path) -> Self {
        let store: Arc<dyn Store> = Arc::new(SqliteStore::open_read_only(data).unwrap());
        Self::of(&store)
    }

    /// Of a database, for whoever waits until those who wrote it are gone.
    fn of_database(side: &Side) -> Self {
        let store = PostgresStore::open_read_only(&side.database.url).unwrap();
        let store: Arc<dyn Store> = Arc::new(store.with_bucket(&side.bucket.access()).unwrap());
        Self::of(&store)
    }
}

/// A database for a copy, with its bucket and the file of its key.
struct Side {
    database: Arc<Database>,
    bucket: TestBucket,
    folder: TempDir,
}

impl Side {
    fn new() -> Self {
        let folder = own_folder();
        TestBucket::write_keys(&folder.path().join("s3-keys"));
        Self {
            database: Arc::new(Database::without_store()),
            bucket: TestBucket::new(),
            folder,
        }
    }

    fn key_file(&self) -> PathBuf {
        self.folder.path().join("server-key")
    }

    /// A command on addresses, with what belongs to the database.
    fn command(&self, from: &str, to: &str) -> Command {
        let mut command = Command::new("timeout");
        command
            .args(["120", env!("CARGO_BIN_EXE_siteconf")])
            .args(["copy", "--from", from, "--to", to])
            .args(["--blobs", &self.bucket.url(), "--server-key-file"])
            .arg(self.key_file())
            .arg("--s3-credentials-file")
            .arg(self.folder.path().join("s3-keys"));
        command
    }

    /// Copies once nobody is connected to the database.
    fn copy(&self, from: &str, to: &str) -> Output {
        self.wait_until_left();
        self.command(from, to).output().unwrap()
    }

    /// Waits until the server has found that all are gone who have ended: a copy waits a second for what they locked.
    fn wait_until_left(&self) {
        let connected = "SELECT 1 FROM pg_stat_activity
            WHERE datname = current_database() AND application_name = 'siteconf'";
        soon(|| self.database.ask(connected).is_empty());
    }

    fn place(&self) -> Place {
        Place::Database {
            url: self.database.url.clone(),
            key_file: self.key_file(),
            first_password: String::new(),
            bucket: Some(self.bucket.clone()),
            database: Arc::clone(&self.database),
        }
    }

    fn daemon(&self) -> Daemon {
        Daemon::start_at(self.place(), own_folder(), &[])
    }
}

/// A store in a folder, with somebody's work in it.
struct World {
    folder: TempDir,
    daemon: Daemon,
    project: Project,
    reader: User,
}

impl World {
    fn new() -> Self {
        let folder = own_folder();
        let place = Place::Folder(folder.path().join("data"));
        let daemon = Daemon::start_at(place, own_folder(), &[]);
        let alice = daemon.user("alice", &[]);
        let project = Project::with_main(&alice, "acme/shop");
        for number in 0..40 {
            let path = format!("conf/{}/{number}.xml", number % 7);
            project.save("main", &path, format!("<a>{number}</a>"));
        }
        project.save("main", "conf/0/0.xml", "<b/>");
        for (seed, size) in (1..).zip(LARGE) {
            project.save("main", &format!("{size}.bin"), noise(seed, size));
        }
        alice
            .delete(&project.file("main", "conf/1/1.xml"))
            .expect_status(200);
        project.add_branch("old");
        project.save("old", "a.xml", "<a/>");
        alice
            .delete(&project.admin("/branches/old"))
            .expect_status(204);
        let gone = Project::with_main(&alice, "acme/gone");
        gone.save("main", "a.xml", "<gone/>");
        alice.delete(&gone.admin("")).expect_status(204);
        let reader = daemon.reader(&project);
        Self {
            folder,
            daemon,
            project,
            reader,
        }
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// The lines that a copy has printed, by their names.
#[track_caller]
fn report(output: &Output) -> BTreeMap<String, String> {
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8(output.stdout.clone()).unwrap();
    let line = |line: &str| {
        let (name, value) = line.split_at_checked(16)?;
        Some((name.trim().to_owned(), value.trim().to_owned()))
    };
    said.lines().filter_map(line).collect()
}

/// What a client sees, through a daemon.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    short_id: String,
    versions: Vec<String>,
    files: Vec<Vec<u8>>,
}

impl Seen {
    fn through(daemon: &Daemon, world: &World) -> Self {
        let project = world.project.seen_by(&daemon.session("alice"));
        let reader = world.reader.at(daemon.address());
        let mut files = vec!["conf/0/0.xml".to_owned(), "conf/3/38.xml".to_owned()];
        files.extend(LARGE.map(|size| format!("{size}.bin")));
        Self {
            short_id: project.short_id("main"),
            versions: project.versions("main"),
            files: files
                .iter()
                .map(|path| reader.get(&project.raw(path)).expect_status(200).body)
                .collect(),
        }
    }
}

#[test]
fn a_store_goes_into_a_database_and_back_with_all_that_it_has() {
    let (mut world, side) = (World::new(), Side::new());
    let (data, url) = (world.data(), side.database.url.clone());
    let (from, back) = (text(&data).to_owned(), world.folder.path().join("back"));

    // Beside the service the objects come, and no more.
    let refused = side.copy(&from, &url);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    let end = ": all objects are copied; stop it, and run the same again for the records\n";
    assert!(
        said.starts_with(&format!(
            "siteconf: {from} is in use by siteconf with process id "
        )),
        "{said}"
    );
    assert!(
        said.ends_with(end) && refused.status.code() == Some(1),
        "{said}"
    );
    let early = side.database.ask("SELECT count(*) FROM siteconf.object");
    assert!(early[0].parse::<u64>().unwrap() > 40, "{early:?}");
    assert_eq!(
        side.database.ask("SELECT count(*) FROM siteconf.record"),
        ["0"]
    );
    let command = |words: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_siteconf"))
            .args(words)
            .output()
            .unwrap()
    };
    assert_refused(
        &command(&["user", "list", "--store", &url]),
        1,
        &format!(
            "{url}: the database cannot be used: a copy into it has not come to its end; run \"siteconf \
             copy\" again"
        ),
    );

    world.project.save("main", "late.xml", "<late/>");
    let seen = Seen::through(&world.daemon, &world);
    world.daemon.stop();
    let whole = Contents::of_folder(&data);
    let told = report(&side.copy(&from, &url));
    assert_eq!(told["objects"], whole.objects.len().to_string());
    assert_eq!(told["records"], whole.records.len().to_string());
    assert_eq!(told["last version"], whole.last_version.to_string());
    assert_eq!(told["server key"], text(&side.key_file()));
    assert_eq!(Contents::of_database(&side), whole);
    let keys = [data.join("secrets/server-key"), side.key_file()].map(|it| fs::read(it).unwrap());
    assert_eq!(keys[0], keys[1]);

    let mut daemon = side.daemon();
    assert_eq!(Seen::through(&daemon, &world), seen);
    let project = world.project.seen_by(&daemon.session("alice"));
    project.save("main", "after.xml", "<after/>");
    let first = "SELECT min(version) FROM siteconf.record WHERE version > ";
    let next = (whole.last_version + 1).to_string();
    assert_eq!(
        side.database
            .ask(&format!("{first}{}", whole.last_version))
            .len(),
        1
    );
    let gap = "SELECT count(*) FROM siteconf.change WHERE version = ";
    assert_eq!(side.database.ask(&format!("{gap}{next}")), ["1"]);
    project
        .user
        .delete(&project.file("main", "late.xml"))
        .expect_status(200);

    let served = format!(
        "{url}: the database cannot be used: a service, or a command that changes something, is connected to \
         it: all objects are copied; stop it, and run the same again for the records"
    );
    let beside = side.command(&url, text(&back)).output().unwrap();
    assert_refused(&beside, 1, &served);
    let listed = command(&["user", "list", "--data", text(&back)]);
    let interrupted = format!(
        "{}: a copy into it is running, or was interrupted; run \"siteconf copy\" again",
        text(&back)
    );
    assert_refused(&listed, 1, &interrupted);
    let served = command(&["serve", "--listen", "127.0.0.1:0", "--data", text(&back)]);
    assert_refused(&served, 1, &interrupted);

    let seen = Seen::through(&daemon, &world);
    daemon.stop();
    let whole = Contents::of_database(&side);
    let told = report(&side.copy(&url, text(&back)));
    assert_eq!(told["last version"], whole.last_version.to_string());
    assert_eq!(Contents::of_folder(&back), whole);
    assert_eq!(fs::read(back.join("secrets/server-key")).unwrap(), keys[0]);
    let checked = command(&["debug", "check", "--deep", "--data", text(&back)]);
    assert!(checked.status.success(), "{checked:?}");

    let daemon = Daemon::start_at(Place::Folder(back), own_folder(), &[]);
    assert_eq!(Seen::through(&daemon, &world), seen);
    world
        .project
        .seen_by(&daemon.session("alice"))
        .save("main", "last.xml", "<last/>");
}

#[test]
fn a_folder_goes_into_another_and_is_equal() {
    let mut world = World::new();
    world.daemon.stop();
    let other = world.folder.path().join("other");
    let (from, to) = (world.data(), text(&other));
    report(&run(&["copy", "--from", text(&from), "--to", to]));
    assert_eq!(
        Contents::of_folder(&other),
        Contents::of_folder(&world.data())
    );
}
