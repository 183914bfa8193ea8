//! What daemons over one database tell each other of their settings.

use siteconf::store::inspection::CommonSettings;

use crate::server::Database;

#[test]
fn a_setting_is_held_against_those_of_the_daemons_that_are_there() {
    let database = Database::new();
    let store = database.open();
    let own = CommonSettings::default().with("days", "30".to_owned());
    let differ = || store.differing_settings(&own).unwrap();
    let beat = |name: &str, settings: &str| {
        database.ask(&format!(
            "SELECT siteconf.beat_v3('{name}', '{name}', '1', NULL, '{settings}')"
        ));
    };
    let heard = |name: &str, when: &str| {
        database.ask(&format!(
            "UPDATE siteconf.daemon SET at = now() {when} WHERE host = '{name}'"
        ));
    };
    // One of an earlier step tells none.
    database.ask("SELECT siteconf.beat_v2('old', 'old', '1', NULL)");
    assert_eq!(differ(), None);
    beat("one", r#"{"days":"30","another":"1"}"#);
    beat("two", r#"{"days":"30","another":"2"}"#);
    assert_eq!(differ(), None);
    beat("three", r#"{"days":"365"}"#);
    let told = "days is 30 here, on one, on two and 365 on three";
    assert_eq!(differ().as_deref(), Some(told));
    for (when, counts) in [
        ("- interval '5 seconds'", true),
        ("- interval '20 seconds'", false),
        ("+ interval '1 hour'", false),
    ] {
        heard("one", "");
        heard("two", "");
        heard("three", when);
        assert_eq!(differ().is_some(), counts, "{when}");
    }

    // Rows of those that have ended go.
    heard("one", "- interval '30 seconds'");
    heard("three", "- interval '70 seconds'");
    database.ask("SELECT siteconf.forget_daemons_v1()");
    let left = "SELECT host FROM siteconf.daemon ORDER BY host";
    assert_eq!(database.ask(left), ["old", "one", "two"]);
}
