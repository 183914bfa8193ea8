//! The service on a store in PostgreSQL: made, served, stopped, without its database, and beside another.

mod advice;
mod away;
mod bucket_keys;
mod collection;
mod commands;
mod common_settings;
mod copy;
mod inspection;
mod large;
mod made;
mod migrate;
mod own_writes;
mod refusals;
mod revocation;
mod roles;
mod secrets;
mod several;

use tempfile::TempDir;

use crate::harness::bucket::TestBucket;
use crate::harness::server::{Database, as_daemon};
use crate::harness::{Daemon, Place, Project, own_folder};
use crate::proxy::Proxy;

/// A store in a database, and a folder for the rest.
struct Fleet {
    place: Place,
    folder: TempDir,
}

impl Fleet {
    fn new() -> Self {
        Self::with(None)
    }

    /// The same with a bucket for large files.
    fn with_bucket() -> Self {
        Self::with(Some(TestBucket::new()))
    }

    fn with(bucket: Option<TestBucket>) -> Self {
        let folder = own_folder();
        let key_file = folder.path().join("server-key");
        let place = Place::in_database(Database::without_store(), key_file, bucket);
        Self { place, folder }
    }

    /// The same place by a way of its own to the server.
    fn place_by_proxy(&self) -> (Place, Proxy) {
        let mut place = self.place.clone();
        let Place::Database { url, database, .. } = &mut place else {
            unreachable!("it lies in a database");
        };
        let proxy = Proxy::new(database.socket.clone());
        *url = as_daemon(&database.url_at(proxy.port));
        (place, proxy)
    }

    /// The same place for this role, which may do from now on what daemons do.
    fn place_of_role(&self, role: &str) -> Place {
        let mut place = self.place.clone();
        let Place::Database { url, database, .. } = &mut place else {
            unreachable!("it lies in a database");
        };
        let store = ["--store", database.url.as_str()];
        let granted = commands::run(&[&["migrate", "--daemon-role", role][..], &store].concat());
        assert!(granted.status.success(), "{granted:?}");
        *url = database.url.replace("//siteconf@", &format!("//{role}@"));
        place
    }

    fn bucket(&self) -> &TestBucket {
        match &self.place {
            Place::Database {
                bucket: Some(bucket),
                ..
            } => bucket,
            _ => unreachable!("it was made with one"),
        }
    }

    /// One more daemon.
    fn daemon(&self, flags: &[&str]) -> Daemon {
        Daemon::start_at(self.place.clone(), own_folder(), flags)
    }
}

/// Has whoever does this to a table stop behind it until `public.held` is empty.
fn hold_after(statement: &str) -> String {
    format!(
        "CREATE TABLE public.held AS SELECT 1 AS one;
         CREATE FUNCTION public.hold() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN
             WHILE EXISTS (SELECT FROM public.held) LOOP PERFORM pg_sleep(0.01); END LOOP;
         END $$;
         CREATE EVENT TRIGGER hold ON ddl_command_end WHEN TAG IN ('{statement}')
             EXECUTE FUNCTION public.hold();"
    )
}

#[test]
fn what_is_saved_is_there_after_a_stop_and_after_a_crash() {
    let fleet = Fleet::new();
    let mut daemon = fleet.daemon(&[]);
    let alice = daemon.user("alice", &[]);
    let project = Project::with_main(&alice, "acme/shop");
    project.save("main", "a.xml", "<a/>");
    let stopped = daemon.stop();
    assert!(stopped.success(), "{stopped:?} {}", daemon.log());

    daemon.restart();
    let reader = |daemon: &Daemon| daemon.reader(&project.seen_by(&daemon.session("alice")));
    reader(&daemon)
        .get(&project.raw("a.xml"))
        .assert_bytes(200, b"<a/>");
    let again = project.seen_by(&daemon.session("alice"));
    again.save("main", "b.xml", "<b/>");
    daemon.kill();

    daemon.restart();
    let last = project.seen_by(&daemon.session("alice"));
    assert_eq!(last.tree("main").as_array().unwrap().len(), 2);
    assert_eq!(last.versions("main").len(), 2);
    reader(&daemon)
        .get(&project.raw("b.xml"))
        .assert_bytes(200, b"<b/>");
}

#[test]
fn a_file_that_is_too_large_for_a_row_is_refused_and_the_service_goes_on() {
    let fleet = Fleet::new();
    let daemon = fleet.daemon(&[]);
    let project = Project::with_main(&daemon.user("alice", &[]), "acme/shop");
    let most = vec![b'x'; 65_536];
    project.save("main", "most.txt", &most);
    for size in [65_537, 10 << 20] {
        let refused = project
            .user
            .put(&project.file("main", "large.txt"), &vec![b'x'; size]);
        refused.assert_error(
            413,
            "this store has no place for files of more than 65536 bytes",
        );
    }
    daemon
        .reader(&project)
        .get(&project.raw("most.txt"))
        .assert_bytes(200, &most);
    assert_eq!(project.tree("main").as_array().unwrap().len(), 1);
}

#[test]
fn root_is_told_of_the_room_that_the_database_takes() {
    let fleet = Fleet::new();
    let daemon = fleet.daemon(&["--metrics-listen", "127.0.0.1:0"]);
    let admin = daemon.session("admin");
    let told = || {
        let answer = admin.get("/site-builder/api/service").expect_status(200);
        answer.json()
    };
    crate::harness::soon(|| told()["bytes"]["database"].is_u64());
    let told = told();
    assert_eq!(told["format"], "PostgreSQL");
    assert_eq!(told["bytes"]["files"], 0);
    assert_eq!(told["hindrances"], serde_json::json!([]));
    let metrics = daemon.watcher().get("/metrics").expect_status(200);
    assert!(metrics.text().contains("siteconf_saves_total"));
    assert!(!metrics.text().contains("siteconf_wal_bytes"));
}
