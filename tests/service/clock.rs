//! A store that was served with a wrong clock.

use serde_json::{Value, json};
use siteconf::store::Store as _;
use siteconf::store::sqlite::SqliteStore;
use siteconf::store::{Batch, Expect};

use crate::daemon::{Daemon, siteconf};

/// How a service was left that believed in the year 2100.
const MARK: &str = r#"{"mark":4102444800000}"#;

#[test]
fn a_time_to_come_that_the_store_knows_of_is_told_and_put_back_on_demand() {
    let mut daemon = Daemon::start();
    daemon.kill();
    let data = daemon.data();
    let store = SqliteStore::open_locked(&data).unwrap();
    let mut batch = Batch::default();
    let mark: Value = serde_json::from_str(MARK).unwrap();
    batch.write("clock".to_owned(), Expect::Anything, &mark);
    store.commit(batch).unwrap();
    drop(store);
    let findings = || {
        let output = siteconf(&data).args(["status", "--json"]).output().unwrap();
        let status: Value = serde_json::from_slice(&output.stdout).unwrap();
        let found = status["findings"].as_array().unwrap().clone();
        assert_eq!(output.status.code(), Some(i32::from(!found.is_empty())));
        found
    };
    let found = findings();
    assert_eq!(found.len(), 1, "{found:?}");
    let told = found[0].as_str().unwrap();
    let (begin, rest) = told.split_once(" days ").unwrap();
    let days = begin
        .strip_prefix("the store knows of a time that is ")
        .unwrap();
    assert!(days.parse::<u64>().unwrap() > 20_000, "{told}");
    assert_eq!(
        rest,
        "ahead of the machine's clock: sessions and tokens expire by it; if the clock is right, start the service once \
         with --trust-clock"
    );
    daemon.kill_and_restart_with(&["--trust-clock"]);
    daemon.kill();
    assert_eq!(json!(findings()), json!([]));
    let log = siteconf(&data).args(["audit", "--json"]).output().unwrap();
    let log: Vec<Value> = (log.stdout.split(|byte| *byte == b'\n'))
        .filter_map(|line| serde_json::from_slice(line).ok())
        .collect();
    let mut trusted = log
        .iter()
        .filter(|record| record["action"] == "clock-trusted");
    let by = trusted.next().unwrap()["by"].as_str().unwrap();
    assert!(by.starts_with("command line ("), "{by}");
    assert_eq!(trusted.next(), None);
}
