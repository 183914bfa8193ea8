//! A store in a database of a cluster, and daemons that serve it.

use std::ffi::OsString;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use rand::rngs::StdRng;
use rand::seq::IndexedRandom;

use crate::client::Client;
use crate::cluster::Cluster;
use crate::daemon::{Daemon, serve_at, siteconf_at};

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
        let mut admin = daemons[0].admin_with(&password);
        Daemon::make_project(&mut admin);
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
    let made = siteconf_at(flags).arg("init").output().unwrap();
    assert!(made.status.success(), "{made:?}");
    let said = String::from_utf8(made.stdout).unwrap();
    let password = said
        .lines()
        .find_map(|line| line.strip_prefix("user admin, password "));
    password.unwrap().to_owned()
}
