//! Servers that are not fit for a store are refused, with what to do.

use crate::cluster::{Cluster, until};
use crate::daemon::siteconf_at;
use crate::store::ran;

/// Why no store is made in this database.
fn refusal(url: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let mut init = siteconf_at(&["--store".into(), url.into()]);
    init.arg("--server-key-file").arg(folder.path().join("key"));
    let ended = ran(init.arg("init"));
    assert_eq!(ended.status.code(), Some(1), "{ended:?}");
    let said = String::from_utf8(ended.stderr).unwrap();
    let told = said.trim_end().strip_prefix(&format!("siteconf: {url}: "));
    told.expect(&said).to_owned()
}

#[test]
fn a_server_that_would_lose_what_it_has_acknowledged_is_refused() {
    let cluster = Cluster::start();
    cluster.ask("postgres", "CREATE DATABASE store");
    let url = cluster.url_of_primary("store");
    for setting in ["fsync", "full_page_writes"] {
        let set = |value: &str| {
            let sql = format!("ALTER SYSTEM SET {setting} = {value}");
            cluster.ask("postgres", &sql);
            cluster.ask("postgres", "SELECT pg_reload_conf()");
            until(|| cluster.ask("postgres", &format!("SHOW {setting}")) == [value]);
        };
        set("off");
        assert_eq!(
            refusal(&url),
            format!(
                "the database cannot be used: its setting {setting} is off, so it loses what it has acknowledged when \
                 the power fails; turn it on"
            )
        );
        set("on");
    }
}

#[test]
fn a_standby_alone_is_refused() {
    let mut cluster = Cluster::start();
    cluster.ask("postgres", "CREATE DATABASE store");
    let primary = cluster.url_of_primary("store");
    cluster.add_standby();
    let standby = primary.replace("%2Fone/", "%2Ftwo/");
    assert_ne!(standby, primary);
    assert_eq!(
        refusal(&standby),
        "database: it is a standby; give the address of the primary"
    );
}
