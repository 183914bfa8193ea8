//! A store in a database of a cluster, and daemons that serve it.

use std::ffi::OsString;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use serde_json::{Value, json};

use crate::client::{Answer, Client};
use crate::cluster::Cluster;
use crate::daemon::{Daemon, PROJECT, file, on_branch, serve_at, siteconf_at};

/// How long a database may be away because a machine is busy: it counts as away where one process is held up for
/// 2 seconds.
const PATIENCE: Duration = Duration::from_mins(1);

/// A store with its daemons.
#[derive(Debug)]
pub(crate) struct Store {
    /// The name of its database.
    database: String,
    /// The flags that name it.
    pub(crate) flags: Vec<OsString>,
    /// More flags of its daemons.
    of_daemons: &'static [&'static str],
    pub(crate) daemons: Vec<Daemon>,
    /// What the first account is logged in with.
    session: String,
    _key: tempfile::TempDir,
}

impl Store {
    /// Makes one with the project of the tests, served by so many daemons with these flags.
    pub(crate) fn make(
        cluster: &Cluster,
        daemons: usize,
        of_daemons: &'static [&'static str],
    ) -> Self {
        Self::make_at(cluster, daemons, of_daemons, &|database| {
            cluster.url(database)
        })
    }

    /// The same, where the daemons find the database of this name at another address.
    pub(crate) fn make_at(
        cluster: &Cluster,
        daemons: usize,
        of_daemons: &'static [&'static str],
        url: &dyn Fn(&str) -> String,
    ) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let database = format!("store{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        cluster.ask("postgres", &format!("CREATE DATABASE {database}"));
        let key = tempfile::tempdir().unwrap();
        let flags = vec![
            "--store".into(),
            url(&database).into(),
            "--server-key-file".into(),
            key.path().join("server-key").into(),
        ];
        let password = init_at(&flags);
        let daemons: Vec<_> = (0..daemons)
            .map(|_| {
                let mut serve = serve_at(&flags);
                serve.args(of_daemons);
                Daemon::start_as(tempfile::tempdir().unwrap(), serve)
            })
            .collect();
        let mut admin = log_in(daemons[0].again(""), &password);
        make_project(&mut admin);
        Self {
            database,
            flags,
            of_daemons,
            daemons,
            session: admin.credential,
            _key: key,
        }
    }

    /// One more daemon, which finds the database at another address.
    pub(crate) fn add_at(&mut self, url: &dyn Fn(&str) -> String) {
        let mut flags = self.flags.clone();
        flags[1] = url(&self.database).into();
        let mut serve = serve_at(&flags);
        serve.args(self.of_daemons);
        let daemon = Daemon::start_as(tempfile::tempdir().unwrap(), serve);
        self.daemons.push(daemon);
    }

    /// The daemon, as it will be started again.
    pub(crate) fn serve(&self) -> Command {
        let mut serve = serve_at(&self.flags);
        serve.args(self.of_daemons);
        serve
    }

    /// The first account at this daemon.
    pub(crate) fn admin_at(&self, daemon: usize) -> Client {
        self.daemons[daemon].again(&self.session)
    }

    /// The same at any of them.
    pub(crate) fn admin(&self, random: &mut StdRng) -> Client {
        let daemon = self.daemons.choose(random).expect("there is one");
        daemon.again(&self.session)
    }

    /// The first column of what the database answers to this statement, as text.
    pub(crate) fn ask(&self, cluster: &Cluster, sql: &str) -> Vec<String> {
        cluster.ask(&self.database, sql)
    }
}

/// Makes a store in the database that these flags name. Gives the password of its first account.
#[track_caller]
pub(crate) fn init_at(flags: &[OsString]) -> String {
    let made = ran(siteconf_at(flags).arg("init"));
    assert!(made.status.success(), "{made:?}");
    let said = String::from_utf8(made.stdout).unwrap();
    let password = said
        .lines()
        .find_map(|line| line.strip_prefix("user admin, password "));
    password.unwrap().to_owned()
}

/// What is answered to whoever asks until the database is not away.
pub(crate) fn settled(mut ask: impl FnMut() -> Answer) -> Answer {
    let patience = Instant::now() + PATIENCE;
    loop {
        let answer = ask();
        if answer.status != 503 || Instant::now() > patience {
            return answer;
        }
        thread::sleep(Duration::from_millis(50));
    }
}

/// How a command ends that is run again where it found the database away, which some look for once.
pub(crate) fn ran(command: &mut Command) -> Output {
    let patience = Instant::now() + PATIENCE;
    loop {
        let ended = command.output().unwrap();
        let says = |words: &str| String::from_utf8_lossy(&ended.stderr).contains(words);
        let is_away = says("does not answer") || says("has not answered within");
        if ended.status.success() || !is_away || Instant::now() > patience {
            return ended;
        }
        thread::sleep(Duration::from_millis(50));
    }
}

/// Logs in the first account, which has this password, for somebody at a daemon.
pub(crate) fn log_in(mut client: Client, password: &str) -> Client {
    let body = json!({ "username": "admin", "password": password });
    let answer = settled(|| client.post("/user/login", &body));
    assert_eq!(answer.status, 200, "{answer:?}");
    let cookie = answer.header("set-cookie").unwrap();
    let cookie = cookie.split(';').next().unwrap();
    client.credential = format!("Cookie: {cookie}\r\n");
    client
}

/// Makes the project of the tests and its branch `main`.
pub(crate) fn make_project(admin: &mut Client) {
    let project = json!({ "name": "acme/shop", "type": "erp" });
    make(admin, "/site-builder/api/projects", &project);
    let branch = on_branch("");
    let branches = branch.strip_suffix("/main").unwrap();
    make(admin, branches, &json!({ "name": "main" }));
}

/// The credential of a fresh token for that project.
pub(crate) fn token(admin: &mut Client) -> String {
    let token = json!({ "name": "reader", "repos": [PROJECT] });
    let token = settled(|| admin.post("/site-builder/api/tokens", &token)).json();
    let token = token["tokenString"].as_str().unwrap();
    format!("PRIVATE-TOKEN: {token}\r\n")
}

/// Saves a file of its branch.
pub(crate) fn save(client: &mut Client, path: &str, bytes: &[u8]) {
    let (file, kind) = (file(path), "application/octet-stream");
    let saved = settled(|| client.attempt("PUT", &file, kind, bytes).unwrap());
    assert!([200, 201].contains(&saved.status), "{saved:?}");
}

/// Makes something, once: what is refused because the database is away may have been made all the same.
pub(crate) fn make(admin: &mut Client, target: &str, body: &Value) {
    let mut tries = 0;
    let made = settled(|| {
        tries += 1;
        admin.post(target, body)
    });
    let exists = String::from_utf8_lossy(&made.body).contains("exists already");
    let is_there = made.status == 400 && exists && tries > 1;
    assert!(made.status == 201 || is_there, "{made:?}");
}
