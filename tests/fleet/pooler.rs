//! A pooler between the service and its database.

use std::ffi::OsString;
use std::fs;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::cluster::{Cluster, until};
use crate::daemon::{Daemon, file, serve_at, siteconf_at};
use crate::seaweed::is_here;
use crate::server::run_as_owner;
use crate::store::{init_at, log_in, make_project, ran, save, settled};

/// A pooler before the primary of a cluster.
struct Pooler {
    process: Child,
    url: String,
}

impl Pooler {
    /// Starts one that keeps a connection for as long as this tells, before the database `shop` of a server of the
    /// cluster.
    fn start(cluster: &Cluster, server: &str, mode: &str) -> Self {
        let folder = cluster.folder();
        let text = format!(
            "[databases]\n\
             shop = host={} user=siteconf\n\
             [pgbouncer]\n\
             unix_socket_dir = {}\n\
             listen_port = 6432\n\
             auth_type = any\n\
             pool_mode = {mode}\n",
            folder.join(server).display(),
            folder.display(),
        );
        let settings = folder.join(format!("{mode}.ini"));
        fs::write(&settings, text).unwrap();
        let mut run = Command::new("pgbouncer");
        run.arg(settings).stdin(Stdio::null()).stderr(Stdio::null());
        run_as_owner(&mut run, folder);
        let process = run.spawn().unwrap();
        // One that was killed before has left its socket.
        until(|| UnixStream::connect(folder.join(".s.PGSQL.6432")).is_ok());
        let host = folder.to_str().unwrap().replace('/', "%2F");
        Self {
            process,
            url: format!("postgres://siteconf@{host}:6432/shop"),
        }
    }

    /// The flags that name the store behind it, whose key lies in this folder.
    fn flags(&self, key: &TempDir) -> Vec<OsString> {
        vec![
            "--store".into(),
            self.url.clone().into(),
            "--server-key-file".into(),
            key.path().join("server-key").into(),
        ]
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

#[test]
fn a_pooler_is_used_if_it_keeps_a_connection_for_a_session_and_refused_if_it_does_not() {
    if !is_here("pgbouncer") {
        return;
    }
    let cluster = Cluster::start();
    cluster.ask("postgres", "CREATE DATABASE shop");
    let key = tempfile::tempdir().unwrap();
    let pooler = Pooler::start(&cluster, "one", "session");
    let through = pooler.flags(&key);
    let password = init_at(&through);
    let daemon = Daemon::start_as(tempfile::tempdir().unwrap(), serve_at(&through));
    let mut admin = log_in(daemon.again(""), &password);
    make_project(&mut admin);
    save(&mut admin, "a.xml", b"<a/>");
    assert_eq!(settled(|| admin.get(&file("a.xml"))).body, b"<a/>");
    let collected = ran(siteconf_at(&through).arg("gc"));
    assert!(collected.status.success(), "{collected:?}");
    drop(daemon);
    drop(pooler);

    let pooler = Pooler::start(&cluster, "one", "transaction");
    let through = pooler.flags(&key);
    for command in ["init", "gc", "serve"] {
        let refused = ran(siteconf_at(&through).arg(command));
        assert_eq!(refused.status.code(), Some(1), "{command}: {refused:?}");
        assert_eq!(
            String::from_utf8(refused.stderr).unwrap(),
            format!(
                "siteconf: {}: the database cannot be used: a pooler before it gives each transaction \
                 another connection; give the address of the server itself, or have the pooler keep one \
                 for a session (pool_mode = session)\n",
                pooler.url
            ),
            "{command}"
        );
    }
}

#[test]
fn a_standby_that_has_become_the_primary_is_used_whatever_a_pooler_tells_of_it() {
    if !is_here("pgbouncer") {
        return;
    }
    let mut cluster = Cluster::start();
    cluster.ask("postgres", "CREATE DATABASE shop");
    cluster.add_standby();
    let pooler = Pooler::start(&cluster, "two", "session");
    let key = tempfile::tempdir().unwrap();
    let through = pooler.flags(&key);
    // What it is told by the first connection that it makes, it tells for good.
    let refused = ran(siteconf_at(&through).arg("init"));
    let said = String::from_utf8_lossy(&refused.stderr);
    let why = "it is a standby; give the address of the primary";
    assert!(said.contains(why), "{refused:?}");
    cluster.fail_over();
    init_at(&through);
}
