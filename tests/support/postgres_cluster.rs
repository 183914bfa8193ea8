//! A PostgreSQL of a test's own that syncs what it writes, is killed, started again, and has a standby that
//! takes its place. It ends with the test, however that ends.

use std::fs;
use std::fs::Permissions;
use std::mem;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::server::{own_folder, programs, run_as_owner, try_ask};

/// Waits until somebody closes its input, ends the servers and removes the folder.
const GUARD: &str = r#"
trap '' INT TERM
read -r _
for file in "$1"/*/data/postmaster.pid; do
    [ -e "$file" ] || continue
    kill -9 "$(head -n 1 "$file")" 2>/dev/null
    # See `release_memory`.
    ipcrm -m "$(sed -n '7s/.* //p' "$file")" 2>/dev/null
done
rm -rf "$1"
"#;
const SETTINGS: &str = "
listen_addresses = ''
max_connections = 100
# In the folder: what a server that is killed has in /dev/shm stays there.
dynamic_shared_memory_type = mmap
shared_buffers = 32MB
wal_retrieve_retry_interval = 100ms
";
/// Longer than any start takes.
const PATIENCE: Duration = Duration::from_mins(1);

/// A server, or two.
#[derive(Debug)]
pub(crate) struct Cluster {
    folder: PathBuf,
    guard: Child,
    primary: Server,
    standby: Option<Server>,
    /// A primary whose place the standby has taken.
    replaced: Option<Server>,
}

/// A server of a folder, which its socket lies in.
#[derive(Debug)]
struct Server {
    folder: PathBuf,
    /// The postmaster; `None` once it was killed.
    process: Option<Child>,
}

impl Cluster {
    /// Starts in a folder of its own.
    pub(crate) fn start() -> Self {
        Self::start_with("", &[])
    }

    /// The same with more settings, and with these files, by name and text, beside them.
    pub(crate) fn start_with(more: &str, files: &[(&str, &str)]) -> Self {
        let folder = own_folder();
        let guard = Command::new("sh")
            .args(["-c", GUARD, "sh"])
            .arg(&folder)
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let mut primary = Server::of(&folder, "one");
        primary.run(
            "initdb",
            &[
                "-U",
                "siteconf",
                "-A",
                "trust",
                "-E",
                "UTF8",
                "--locale=C",
                "--no-sync",
                "-D",
            ],
        );
        let settings = primary.folder.join("data/postgresql.conf");
        fs::write(settings, format!("{SETTINGS}{more}")).unwrap();
        primary.write(files);
        primary.start();
        Self {
            folder,
            guard,
            primary,
            standby: None,
            replaced: None,
        }
    }

    /// Writes files beside the settings of the primary, which it reads anew.
    pub(crate) fn reload_with(&self, files: &[(&str, &str)]) {
        self.primary.write(files);
        self.ask("postgres", "SELECT pg_reload_conf()");
    }

    /// The address of a database, for who finds the primary himself.
    pub(crate) fn url(&self, database: &str) -> String {
        let hosts = ["one", "two"].map(|name| self.folder.join(name));
        url(&hosts, database)
    }

    /// The address of a database on the server that is the primary now, whatever becomes of it.
    pub(crate) fn url_of_primary(&self, database: &str) -> String {
        self.primary.url(database)
    }

    /// The socket of the server that is the primary now.
    pub(crate) fn socket(&self) -> PathBuf {
        self.primary.folder.join(".s.PGSQL.5432")
    }

    /// The folder that its servers lie in, which ends with it.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The first column of what the primary answers to this statement, as text.
    pub(crate) fn ask(&self, database: &str, sql: &str) -> Vec<String> {
        let url = self.primary.url(database);
        let mut told = None;
        until(|| match try_ask(&url, sql) {
            Ok(rows) => told.replace(rows).is_none(),
            // It starts, or ends this connection, too.
            Err(error) => {
                let is_passing = error
                    .code()
                    .is_none_or(|code| code.code().starts_with("57"));
                assert!(is_passing, "{sql}: {error:?}");
                false
            }
        });
        told.expect("it has answered")
    }

    /// Kills it where it stands, all of its processes at once.
    pub(crate) fn kill(&mut self) {
        self.primary.kill();
    }

    /// Starts it again.
    pub(crate) fn restart(&mut self) {
        self.primary.start();
    }

    /// Kills one of the processes that serve connections of siteconf, so that the server starts anew by itself.
    pub(crate) fn kill_backend(&mut self) {
        let backends = "SELECT pid FROM pg_stat_activity WHERE application_name = 'siteconf' ORDER BY random()";
        if let Some(backend) = self.ask("postgres", backends).first() {
            send(backend.parse().unwrap(), Signal::KILL);
        }
    }

    /// Ends all connections of siteconf, at the server.
    pub(crate) fn end_connections(&self) {
        let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'siteconf'";
        self.ask("postgres", end);
    }

    /// Adds a standby; from then on no commit is acknowledged that it does not have.
    pub(crate) fn add_standby(&mut self) {
        let name = if self.primary.folder.ends_with("one") {
            "two"
        } else {
            "one"
        };
        let mut standby = Server::of(&self.folder, name);
        let primary = self.primary.folder.to_str().unwrap();
        standby.run(
            "pg_basebackup",
            &[
                "-h",
                primary,
                "-U",
                "siteconf",
                "-R",
                "-c",
                "fast",
                "--no-sync",
                "-D",
            ],
        );
        standby.start();
        self.standby = Some(standby);
        let streams = "SELECT 1 FROM pg_stat_replication WHERE state = 'streaming'";
        until(|| !self.ask("postgres", streams).is_empty());
        self.ask(
            "postgres",
            "ALTER SYSTEM SET synchronous_standby_names = '*'",
        );
        self.ask("postgres", "SELECT pg_reload_conf()");
        let waits = "SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'";
        until(|| !self.ask("postgres", waits).is_empty());
        self.see_commits_wait();
    }

    /// Waits until commits wait for the standby. The process that tells all others to may read its settings later than
    /// those that say that they are in force.
    fn see_commits_wait(&self) {
        const COMMIT: &str = "SELECT pg_logical_emit_message(true, 'tests', ''::text)";
        let waits = "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
        self.cut_standby_off();
        let mut waiting = None;
        until(|| {
            let url = self.primary.url("postgres");
            let commit = thread::spawn(move || try_ask(&url, COMMIT).map(drop));
            until(|| commit.is_finished() || !self.ask("postgres", waits).is_empty());
            if commit.is_finished() {
                commit.join().unwrap().unwrap();
                return false;
            }
            waiting = Some(commit);
            true
        });
        self.join_standby();
        waiting.expect("it waits").join().unwrap().unwrap();
    }

    /// Has the standby follow no more, as if the network between the two were gone.
    pub(crate) fn cut_standby_off(&self) {
        self.standby.as_ref().expect("it was added").stop();
    }

    /// Has it follow again.
    pub(crate) fn join_standby(&self) {
        self.standby.as_ref().expect("it was added").go_on();
    }

    /// Has the primary stand still, as one whose machine hangs: connections to it are made and kept, and nothing comes
    /// over them.
    pub(crate) fn hang(&self) {
        self.primary.stop();
    }

    /// Has the standby take the place of the primary, which knows nothing of it, and goes on if it does not stand
    /// still.
    pub(crate) fn replace(&mut self) {
        let standby = self.standby.take().expect("it was added");
        self.replaced = Some(mem::replace(&mut self.primary, standby));
        self.ask("postgres", "SELECT pg_promote()");
    }

    /// Kills the one whose place was taken, and went on.
    pub(crate) fn kill_replaced(&mut self) {
        self.replaced.take().expect("it was replaced").kill();
    }

    /// Kills the primary and has the standby take its place. What the primary had is removed.
    pub(crate) fn fail_over(&mut self) {
        self.primary.kill();
        self.primary = self.standby.take().expect("it was added");
        self.ask("postgres", "SELECT pg_promote()");
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // Of one that stands still the processes would not notice that the first of them is gone.
        for server in [&self.standby, &self.replaced].into_iter().flatten() {
            server.go_on();
        }
        drop(self.guard.stdin.take());
        drop(self.guard.wait());
        let servers = [
            Some(&mut self.primary),
            self.standby.as_mut(),
            self.replaced.as_mut(),
        ];
        for process in servers
            .into_iter()
            .flatten()
            .filter_map(|it| it.process.as_mut())
        {
            drop(process.wait());
        }
    }
}

impl Server {
    /// One that is yet to be made. What was in its place is removed.
    fn of(folder: &Path, name: &str) -> Self {
        let own = folder.join(name);
        if own.exists() {
            release_memory(&own);
            fs::remove_dir_all(&own).unwrap();
        }
        let mut make = Command::new("mkdir");
        make.arg(&own);
        run_as_owner(&mut make, folder);
        assert!(make.status().unwrap().success());
        Self {
            folder: own,
            process: None,
        }
    }

    fn url(&self, database: &str) -> String {
        url(std::slice::from_ref(&self.folder), database)
    }

    /// Runs a program, whose last argument is the folder of the data.
    fn run(&self, program: &str, arguments: &[&str]) {
        let mut run = Command::new(programs().join(program));
        run.args(arguments)
            .arg(self.folder.join("data"))
            .current_dir(&self.folder);
        run_as_owner(&mut run, &self.folder);
        let output = run.output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }

    /// Writes files that are for it alone beside its settings.
    fn write(&self, files: &[(&str, &str)]) {
        let data = self.folder.join("data");
        let owner = fs::metadata(&data).unwrap();
        for (name, text) in files {
            let path = data.join(name);
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
            chown(&path, Some(owner.uid()), Some(owner.gid())).unwrap();
        }
    }

    /// Starts it, and waits until it answers.
    fn start(&mut self) {
        let mut run = Command::new(programs().join("postgres"));
        run.arg("-D")
            .arg(self.folder.join("data"))
            .arg("-k")
            .arg(&self.folder)
            .current_dir(&self.folder);
        run_as_owner(&mut run, &self.folder);
        let log = fs::File::create(self.folder.join("log")).unwrap();
        self.process = Some(run.stdin(Stdio::null()).stderr(log).spawn().unwrap());
        let url = self.url("postgres");
        until(|| {
            let ended = self.process.as_mut().and_then(|it| it.try_wait().unwrap());
            assert!(ended.is_none(), "{}", self.log());
            try_ask(&url, "SELECT 1").is_ok()
        });
    }

    /// What it has said since it was started.
    fn log(&self) -> String {
        fs::read_to_string(self.folder.join("log")).unwrap()
    }

    /// The number of the process that has started all of its others.
    fn first(&self) -> i32 {
        let first = self.process.as_ref().expect("it runs").id();
        i32::try_from(first).unwrap()
    }

    /// Has all of its processes stand still, the first one before the others, so that it makes none meanwhile.
    fn stop(&self) {
        stop(&[self.first()]);
        stop(&children_of(self.first()));
    }

    /// Has them go on.
    fn go_on(&self) {
        let first = self.first();
        send(first, Signal::CONT);
        for child in children_of(first) {
            send(child, Signal::CONT);
        }
    }

    /// Kills all of its processes. The first one is stopped before, so that it makes no others meanwhile.
    fn kill(&mut self) {
        let mut process = self.process.take().expect("it runs");
        let first = i32::try_from(process.id()).unwrap();
        stop(&[first]);
        let children = children_of(first);
        for child in &children {
            send(*child, Signal::KILL);
        }
        send(first, Signal::KILL);
        process.wait().unwrap();
        // Who lives on has its memory, beside which it does not start.
        until(|| children.iter().all(|child| !is_running(*child)));
    }
}

/// Removes what the system keeps in memory for the next start of a server that was killed: there are some thousands of
/// places for such in a machine.
fn release_memory(folder: &Path) {
    let Ok(told) = fs::read_to_string(folder.join("data/postmaster.pid")) else {
        return;
    };
    let line = told.lines().nth(6).unwrap_or_default();
    if let Some(id) = line.split_whitespace().nth(1) {
        Command::new("ipcrm").args(["-m", id]).status().unwrap();
    }
}

/// The address of a database on servers whose sockets lie in these folders.
fn url(folders: &[PathBuf], database: &str) -> String {
    let hosts: Vec<_> = folders
        .iter()
        .map(|folder| folder.to_str().expect("it is UTF-8").replace('/', "%2F"))
        .collect();
    format!("postgres://siteconf@{}/{database}", hosts.join(","))
}

/// Sends a signal to a process, which may have ended.
fn send(id: i32, signal: Signal) {
    let _may_have_ended = kill_process(Pid::from_raw(id).unwrap(), signal);
}

/// Stops processes, and waits until they stand still: one that is just starting another still finishes that. Some may
/// have ended.
fn stop(ids: &[i32]) {
    for id in ids {
        send(*id, Signal::STOP);
    }
    let stands_still =
        |id: &i32| state_of(*id).is_none_or(|(state, _)| ["T", "Z"].contains(&&*state));
    until(|| ids.iter().all(stands_still));
}

/// The processes that this one has started.
fn children_of(parent: i32) -> Vec<i32> {
    let all = fs::read_dir("/proc").unwrap();
    let ids = all.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let is_child = |id: &i32| state_of(*id).is_some_and(|(_, of)| of == parent);
    ids.filter(is_child).collect()
}

/// False once a process has ended, waited for or not.
fn is_running(id: i32) -> bool {
    state_of(id).is_some_and(|(state, _)| state != "Z")
}

/// The state of a process, and who has started it.
fn state_of(id: i32) -> Option<(String, i32)> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The name, which may hold anything, ends with the last parenthesis.
    let mut rest = stat.rsplit_once(')')?.1.split_whitespace();
    Some((rest.next()?.to_owned(), rest.next()?.parse().ok()?))
}

/// Waits until something is so.
#[track_caller]
pub(crate) fn until(mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < PATIENCE, "it never came to be so");
        thread::sleep(Duration::from_millis(5));
    }
}
