//! Daemons side by side whose settings differ where they must be the same.

use serde_json::{Value, json};
use siteconf::store::bucket_url::BucketUrl;

use super::Fleet;
use super::refusals::status;
use crate::harness::bucket::TestBucket;
use crate::harness::{Daemon, Place, Project, own_folder, soon};

const DIFFER: &str = "daemons of this store differ in settings that must be the same";
const SEEN: &str = "SELECT count(*) FROM siteconf.daemon";
/// Has the bucket not been swept for more than a day.
const LET_BE_DUE: &str = "UPDATE siteconf.sweep SET at = now() - interval '2 days'";
const IS_DUE: &str = "SELECT at < now() - interval '1 day' FROM siteconf.sweep";

/// The name of this machine, as daemons tell it.
fn host() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    host.trim_end().to_owned()
}

/// True if the project that was deleted can be restored.
fn is_kept(daemon: &Daemon) -> bool {
    let listed = daemon.command(&["project", "list", "--deleted", "--json"], "");
    let listed = String::from_utf8(listed.stdout).unwrap();
    listed.contains("acme/shop.erp")
}

#[test]
fn what_one_daemon_keeps_no_other_removes_by_a_setting_of_its_own() {
    let fleet = Fleet::new();
    let mut one = fleet.daemon(&[]);
    let project = Project::with_main(&one.user("alice", &[]), "acme/shop");
    project.user.delete(&project.admin("")).assert_empty(204);
    soon(|| one.database().unwrap().ask(SEEN) == ["1"]);
    let other = fleet.daemon(&["--keep-deleted-days", "0"]);
    let host = host();
    // By then it has looked for what there is to forget.
    let told = other.logged(DIFFER);
    let differ = format!("keep_deleted_days is 0 here and 30 on {host}");
    assert_eq!(told["settings"], differ);
    assert!(is_kept(&other));
    let finding = format!(
        "the daemons differ in settings that must be the same: keep_deleted_days is 0 on {host} and 30 on {host}; \
         until they agree, no daemon removes anything by them"
    );
    let found = (Some(1), Value::Null, json!([finding]));
    soon(|| status(&other) == found);

    one.kill();
    // Else it counts as there for 15 seconds.
    let database = other.database().unwrap();
    database.ask("UPDATE siteconf.daemon SET at = now() - interval '20 seconds'");
    soon(|| !is_kept(&other));
    soon(|| status(&other) == (Some(0), Value::Null, json!([])));
    other.logged("the daemons of this store have the same settings again");
}

#[test]
fn daemons_that_put_large_files_elsewhere_are_told_and_none_sweeps_its_bucket() {
    let fleet = Fleet::with_bucket();
    let mut place = fleet.place.clone();
    let Place::Database {
        database, bucket, ..
    } = &mut place
    else {
        unreachable!("it lies in a database");
    };
    let database = std::sync::Arc::clone(database);
    let elsewhere = TestBucket::new();
    *bucket = Some(elsewhere.clone());
    database.ask(LET_BE_DUE);
    let _one = fleet.daemon(&[]);
    // It asks for that once an hour.
    soon(|| database.ask(IS_DUE) == ["f"]);
    soon(|| database.ask(SEEN) == ["1"]);
    database.ask(LET_BE_DUE);
    let other = Daemon::start_at(place, own_folder(), &[]);
    let told = other.logged(DIFFER);
    let [here, there] = [&elsewhere, fleet.bucket()]
        .map(|bucket| BucketUrl::parse(&bucket.url()).unwrap().address());
    let told = told["settings"].as_str().unwrap();
    for expected in [format!("{here} here"), format!("{there} on {}", host())] {
        assert!(told.contains(&expected), "{expected}: {told}");
    }
    assert_eq!(database.ask(IS_DUE), ["t"]);
}
