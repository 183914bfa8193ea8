//! How old what memory answers may be, while the connections are lost again and again.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rand::RngExt;
use siteconf::base::reads::Reads;
use siteconf::store::postgres::PostgresStore;
use siteconf::store::record_cache::RecordCache;
use siteconf::store::{Expect, Store};
use tokio::runtime::Builder;

use super::proxy::{Cut, Proxy};
use crate::fixture::of_write;
use crate::rounds::Rounds;
use crate::server::Database;

const BOUND: Duration = Duration::from_millis(20);
/// Longest time with connections, and without, in milliseconds.
const MS_MAX: u64 = 40;

#[test]
fn every_answer_is_backed_by_a_look_that_began_20_ms_before_at_most() {
    let rounds = Rounds::or(100);
    let mut random = rounds.random(0);
    let database = Database::new();
    let proxy = Proxy::new(database.socket.clone());
    let mut looks = proxy.looks();
    let store = RecordCache::new(PostgresStore::open(&database.url_at(proxy.port)).unwrap());
    let write = of_write("k", Expect::Absent, Some("1"));
    store.commit(write).unwrap();
    for _ in 0..rounds.count {
        let has_ended = AtomicBool::new(false);
        let answers = thread::scope(|scope| {
            let reader = scope.spawn(|| {
                let mut answers = Vec::new();
                while !has_ended.load(Ordering::Acquire) {
                    let asked = Instant::now();
                    if store.record("k").is_ok() {
                        answers.push((asked, Instant::now()));
                    }
                }
                answers
            });
            for cut in [Cut::All, Cut::Never] {
                thread::sleep(Duration::from_millis(random.random_range(0..MS_MAX)));
                proxy.cut(cut);
            }
            has_ended.store(true, Ordering::Release);
            reader.join().unwrap()
        });
        looks.extend(proxy.looks());
        for (asked, answered) in answers {
            let backs = |look: &Instant| *look + BOUND >= asked && *look <= answered;
            assert!(
                looks.iter().any(backs),
                "an answer {:?} after the last look",
                asked - looks[looks.len() - 1]
            );
        }
        looks.drain(..looks.len().saturating_sub(1));
    }
}

#[test]
fn whoever_waits_alone_causes_one_look() {
    const WAITS: usize = 50;
    let database = Database::new();
    let proxy = Proxy::new(database.socket.clone());
    let store = PostgresStore::open(&database.url_at(proxy.port)).unwrap();
    let runtime = Builder::new_current_thread().build().unwrap();
    let (began, _before) = (Instant::now(), proxy.looks());
    for _ in 0..WAITS {
        // So long nobody has asked for anything.
        thread::sleep(BOUND);
        // One that nobody waits for may have begun just now, and serves.
        if let Some(caught_up) = store.catch_up(Reads::Strict) {
            runtime.block_on(caught_up).unwrap();
        }
    }
    let looks = proxy.looks().len();
    // There is one a second that nobody waits for.
    let others = usize::try_from(began.elapsed().as_secs()).unwrap() + 1;
    assert!((WAITS..=WAITS + others).contains(&looks), "{looks} looks");
}
