//! An upgrade that is killed anywhere, and begun again.

use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use rand::RngExt;

use crate::fixture::{FORMATS, Fixture};
use crate::rounds::Rounds;

/// Records that are added, so that an upgrade takes a while.
const RECORDS: u32 = 20_000;
/// Rounds after which a kill has come in the middle: one in three does.
const MOST_ROUNDS: u64 = 100;

#[test]
fn an_upgrade_that_is_killed_anywhere_goes_on_with_the_next() {
    for format in FORMATS {
        let whole = Fixture::of(format);
        whole.add_records(RECORDS);
        let began = Instant::now();
        whole.siteconf().done(&["upgrade"]);
        let takes = began.elapsed();
        let expected = whole.records();
        // Of each format so often.
        let rounds = Rounds::or(8);
        let mut in_the_middle = 0;
        // The other kind of format has little to do, so that few kills meet the middle of it.
        let is_met = |in_the_middle| in_the_middle > 0 || format > 1;
        for round in 0..MOST_ROUNDS.max(rounds.count) {
            if round >= rounds.count && is_met(in_the_middle) {
                break;
            }
            let mut random = rounds.random(round);
            let fixture = Fixture::of(format);
            fixture.add_records(RECORDS);
            kill_after(&fixture, takes.mul_f64(random.random()));
            // Twice, since the second one finds what the first has left.
            if round % 2 == 1 {
                kill_after(&fixture, takes.mul_f64(random.random()));
            }
            if fixture.format() == format!("siteconf {format}\n") {
                let db = fixture.database();
                let begun = db.table_exists(Some("main"), "collection").unwrap();
                in_the_middle += u32::from(begun);
            }
            fixture.siteconf().done(&["upgrade"]);
            assert_eq!(fixture.format(), "siteconf 3\n");
            assert!(fixture.records() == expected, "round {round}");
            if round % 8 == 5 {
                fixture.assert_kept_by(&fixture.siteconf());
            }
        }
        assert!(is_met(in_the_middle), "no kill came in the middle");
    }
}

/// Begins an upgrade and kills it.
fn kill_after(fixture: &Fixture, pause: Duration) {
    let siteconf = fixture.siteconf();
    let mut upgrade = siteconf
        .command(&["upgrade"])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    // The moment of the kill is what is tested: any is right.
    thread::sleep(pause);
    upgrade.kill().unwrap();
    upgrade.wait().unwrap();
}
