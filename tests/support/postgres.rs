//! A PostgreSQL for the tests of one process: in a temporary folder, on a socket in it, ended with the
//! process. Where none is installed, its tests fail and say what to install. Roles that tests call `locked`
//! and `rotated` have to give their passwords.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use siteconf::store::postgres::PostgresStore;
use tokio_postgres::{NoTls, SimpleQueryMessage};

/// Makes and starts the server, waits until somebody closes its input, ends the server and removes the
/// folder. However the tests end, their side of the pipe is closed then.
const RUN: &str = r#"
trap '' INT TERM
PATH="$2:$PATH"
cd "$1"
{
    initdb -D data -U siteconf -A trust -E UTF8 --locale=C --no-sync &&
    sed -i '1i local all locked,rotated scram-sha-256' data/pg_hba.conf &&
    pg_ctl -D data -w -o "-k $1 -c listen_addresses= -c max_connections=400 -c shared_buffers=32MB \
        -c wal_level=minimal -c max_wal_senders=0" -l log start
} >made 2>&1 && echo ready || cat made log 2>/dev/null
read -r _
pg_ctl -D data -m immediate stop >/dev/null 2>&1
rm -rf "$1"
"#;

/// The schema of the releases that knew no steps.
const FIRST_STEP: &str = include_str!("../../src/store/postgres/schema/1.sql");

/// The server of this process.
struct Server {
    folder: PathBuf,
    /// Its input stays open as long as the process lives.
    _shell: Child,
    databases: AtomicU32,
}

/// A role that a test lets serve a store; it has no other rights.
pub(crate) const DAEMON_ROLE: &str = "daemon";

static SERVER: OnceLock<Server> = OnceLock::new();

/// A database of its own. Dropped, it is removed, with whoever is connected to it.
#[derive(Debug)]
pub(crate) struct Database {
    /// Its address.
    pub(crate) url: String,
    /// The socket that the server listens on.
    pub(crate) socket: PathBuf,
    /// Its name.
    pub(crate) name: String,
}

impl Database {
    /// A database with an empty store.
    pub(crate) fn new() -> Self {
        let server = SERVER.get_or_init(Server::start);
        server.copy_of("empty")
    }

    /// A database without a store.
    pub(crate) fn without_store() -> Self {
        let server = SERVER.get_or_init(Server::start);
        server.copy_of("template0")
    }

    /// A database with an empty store of the first step of the schema.
    pub(crate) fn of_first_step() -> Self {
        let database = Self::without_store();
        database.ask(FIRST_STEP);
        database.ask("INSERT INTO siteconf.format (format) VALUES (2)");
        database
    }

    /// A database that holds what this one does. Nobody may be connected to this one.
    pub(crate) fn copy(&self) -> Self {
        let server = SERVER.get_or_init(Server::start);
        server.copy_of(&self.name)
    }

    /// A database of another encoding than the server's.
    pub(crate) fn of_encoding(encoding: &str) -> Self {
        let server = SERVER.get_or_init(Server::start);
        server.copy_of(&format!("template0 ENCODING '{encoding}'"))
    }

    /// The store.
    pub(crate) fn open(&self) -> PostgresStore {
        PostgresStore::open(&self.url).unwrap()
    }

    /// Its address for the role of daemons.
    pub(crate) fn url_of_daemon(&self) -> String {
        as_daemon(&self.url)
    }

    /// Its address for who reaches the server on this port of the machine.
    pub(crate) fn url_at(&self, port: u16) -> String {
        format!("postgres://siteconf@127.0.0.1:{port}/{}", self.name)
    }

    /// The first column of what this statement gives, as text.
    pub(crate) fn ask(&self, sql: &str) -> Vec<String> {
        ask(&self.url, sql)
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let server = SERVER.get_or_init(Server::start);
        let removal = format!("DROP DATABASE {} WITH (FORCE)", self.name);
        ask(&server.url("postgres"), &removal);
    }
}

impl Server {
    fn start() -> Self {
        let programs = programs();
        let folder = own_folder();
        let mut run = Command::new("sh");
        run.args(["-c", RUN, "sh"]).arg(&folder).arg(&programs);
        run_as_owner(&mut run, &folder);
        let mut shell = run
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(shell.stdout.take().unwrap()).lines();
        let first = said.next().unwrap().unwrap();
        assert!(
            first == "ready",
            "{first}\n{:?}",
            said.map_while(Result::ok).collect::<Vec<_>>()
        );
        let server = Self {
            folder,
            _shell: shell,
            databases: AtomicU32::new(0),
        };
        let roles = format!("CREATE ROLE {DAEMON_ROLE} LOGIN");
        ask(&server.url("postgres"), &roles);
        ask(&server.url("postgres"), "CREATE DATABASE empty");
        PostgresStore::init(&server.url("empty")).unwrap();
        server
    }

    fn url(&self, database: &str) -> String {
        let folder = self.folder.to_str().expect("it is UTF-8");
        format!(
            "postgres://siteconf@{}/{database}",
            folder.replace('/', "%2F")
        )
    }

    fn copy_of(&self, template: &str) -> Database {
        let name = format!("test{}", self.databases.fetch_add(1, Ordering::Relaxed));
        ask(
            &self.url("postgres"),
            &format!("CREATE DATABASE {name} TEMPLATE {template}"),
        );
        Database {
            url: self.url(&name),
            socket: self.folder.join(".s.PGSQL.5432"),
            name,
        }
    }
}

/// A folder that belongs to a user as whom a server runs: it refuses to run as root.
pub(crate) fn own_folder() -> PathBuf {
    let folder = tempfile::Builder::new()
        .prefix("siteconf-pg")
        .tempdir_in(place())
        .unwrap()
        .keep();
    if std::fs::metadata(&folder).unwrap().uid() == 0 {
        let (user, group) = postgres_user();
        chown(&folder, Some(user), Some(group)).unwrap();
    }
    folder
}

/// Has a command run as the user to whom this folder belongs.
pub(crate) fn run_as_owner(command: &mut Command, folder: &Path) {
    let owner = std::fs::metadata(folder).unwrap();
    let own = std::fs::metadata("/proc/self").unwrap();
    if owner.uid() != own.uid() {
        command.uid(owner.uid()).gid(owner.gid());
    }
}

/// Where its folder lies: in memory where there is room, so that hundreds of commits wait for no disk.
fn place() -> PathBuf {
    let memory = Path::new("/dev/shm");
    let room = rustix::fs::statvfs(memory).map_or(0, |of| of.f_bavail * of.f_frsize);
    if room > 4 << 30 {
        memory.to_owned()
    } else {
        std::env::temp_dir()
    }
}

/// The folder of the programs of PostgreSQL: the one that `SITECONF_POSTGRES` names, else that of the newest that is
/// installed as Debian does.
pub(crate) fn programs() -> PathBuf {
    if let Some(named) = std::env::var_os("SITECONF_POSTGRES") {
        return named.into();
    }
    let versions = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten();
    let numbers = versions.filter_map(|version| version.ok()?.file_name().to_str()?.parse().ok());
    let newest: Option<u32> = numbers.max();
    let newest = newest.expect("PostgreSQL is not installed; apt-get install postgresql");
    Path::new("/usr/lib/postgresql")
        .join(newest.to_string())
        .join("bin")
}

/// The user and group that the package has made.
fn postgres_user() -> (u32, u32) {
    let users = std::fs::read_to_string("/etc/passwd").unwrap();
    let line = users
        .lines()
        .find(|line| line.starts_with("postgres:"))
        .unwrap();
    let mut fields = line.split(':').skip(2).map(|field| field.parse().unwrap());
    (fields.next().unwrap(), fields.next().unwrap())
}

/// The same address for the role of daemons.
pub(crate) fn as_daemon(url: &str) -> String {
    url.replace("//siteconf@", &format!("//{DAEMON_ROLE}@"))
}

/// The first column of what a statement gives, as text.
pub(crate) fn ask(url: &str, sql: &str) -> Vec<String> {
    try_ask(url, sql).unwrap()
}

/// The same of a server that may be gone.
pub(crate) fn try_ask(url: &str, sql: &str) -> Result<Vec<String>, tokio_postgres::Error> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
        let driver = tokio::spawn(connection);
        let said = client.simple_query(sql).await?;
        drop(client);
        driver.await.unwrap()?;
        let rows = said.iter().filter_map(|message| match message {
            SimpleQueryMessage::Row(row) => Some(row.get(0).unwrap_or_default().to_owned()),
            _ => None,
        });
        Ok(rows.collect())
    })
}
