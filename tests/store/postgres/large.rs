//! Large blobs in a bucket: where they lie, and what does not stay there.

use std::sync::Arc;
use std::time::{Duration, Instant};

use siteconf::base::clock::{Clock, ManualClock, SystemClock, Timestamp};
use siteconf::base::outboard::PieceHasher;
use siteconf::store::bucket_access::{BucketKey, BucketKeys};
use siteconf::store::bucket_url::BucketUrl;
use siteconf::store::objects::Objects;
use siteconf::store::postgres::PostgresStore;
use siteconf::store::{
    Batch, Body, Expect, LargeBodies, NewBody, NewObject, StagedBody, Staging, Store, StoreError,
    Writes,
};

use super::order::edit;
use crate::bucket::{Fault, KEY_ID, TestBucket};
use crate::fixture::{blob_id, noise, of_objects, push};
use crate::server::Database;

pub(super) fn open(database: &Database, bucket: &TestBucket) -> PostgresStore {
    database.open().with_bucket(&bucket.access()).unwrap()
}

pub(super) fn staged(store: &PostgresStore, bytes: &[u8]) -> Box<dyn Staging> {
    let mut staging = store.stage().unwrap();
    for piece in bytes.chunks(1 << 20) {
        staging.write(piece).unwrap();
    }
    staging
}

/// An object whose bytes are on their way.
pub(super) fn large(store: &PostgresStore, bytes: &[u8]) -> NewObject {
    let mut hasher = PieceHasher::default();
    hasher.update(bytes);
    let outboard = hasher.finish().1.encode().into();
    let body = StagedBody::new(staged(store, bytes), outboard);
    NewObject {
        body: NewBody::Staged(Arc::new(body)),
        ..crate::fixture::published(bytes)
    }
}

pub(super) fn read(store: PostgresStore, bytes: &[u8]) -> Result<Vec<u8>, StoreError> {
    let blob = Objects::new(Arc::new(store)).blob(blob_id(bytes))?;
    let Body::Large(body) = blob.body else {
        panic!("it is large");
    };
    let mut found = vec![0; bytes.len()];
    let read = body.read_exact_at(&mut found, 0);
    read.map_err(|e| StoreError::io("reading", e))?;
    Ok(found)
}

pub(super) fn soon(mut is_so: impl FnMut() -> bool) {
    let patience = Instant::now() + Duration::from_secs(30);
    while !is_so() {
        assert!(Instant::now() < patience, "it never came to be so");
    }
}

pub(super) const PLACES: &str = "SELECT place FROM siteconf.object WHERE place IS NOT NULL";

#[test]
fn a_large_blob_lies_where_its_row_says_with_the_hashes_of_its_pieces() {
    let (database, bucket) = (Database::new(), TestBucket::new());
    let store = open(&database, &bucket);
    let bytes = noise(1, (17 << 20) + 5);
    store
        .commit(of_objects(vec![large(&store, &bytes)]))
        .unwrap();
    let [place] = &database.ask(PLACES)[..] else {
        panic!("there is one");
    };
    let today = "SELECT to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD')";
    assert!(
        place.starts_with(&format!("{}/", database.ask(today)[0])),
        "{place}"
    );
    let files = bucket.files();
    assert!(files.len() == 1 && files[0].ends_with(place), "{files:?}");
    assert!(std::fs::read(&files[0]).unwrap() == bytes);
    let outboard = "SELECT length(outboard) FROM siteconf.object WHERE place IS NOT NULL";
    assert_eq!(database.ask(outboard), [(32 * 69).to_string()]);
    drop(store);
    assert!(read(open(&database, &bucket), &bytes).unwrap() == bytes);
    let read_only = PostgresStore::open_read_only(&database.url).unwrap();
    let read_only = read_only.with_bucket(&bucket.access()).unwrap();
    assert!(matches!(read_only.stage(), Err(StoreError::ReadOnly)));
    assert!(read(read_only, &bytes).unwrap() == bytes);
    assert!(matches!(
        read(database.open(), &bytes),
        Err(StoreError::UnfitBucket { .. })
    ));
}

#[test]
fn what_is_dropped_leaves_nothing_and_what_a_commit_may_have_named_stays() {
    let (database, bucket) = (Database::new(), TestBucket::new());
    let store = open(&database, &bucket);
    for size in [100_000, 9 << 20] {
        let bytes = noise(2, size);
        drop(staged(&store, &bytes));
        let mut synced = staged(&store, &bytes);
        synced.sync().unwrap();
        assert_eq!(bucket.files().len(), 1);
        drop(synced);
        soon(|| bucket.files().is_empty());
        let mut batch = of_objects(vec![large(&store, &bytes)]);
        push(&mut batch, "absent", Expect::Version(1), None);
        let again = batch.clone();
        for batch in [batch, again] {
            assert!(matches!(
                store.commit(batch),
                Err(StoreError::Conflict { .. })
            ));
        }
        assert_eq!(bucket.files().len(), 1);
        assert!(database.ask(PLACES).is_empty());
        std::fs::remove_file(&bucket.files()[0]).unwrap();
    }
    soon(|| bucket.parts_under_way() == 0);
}

#[test]
fn the_sweep_removes_what_is_old_and_no_row_names() {
    let (database, bucket) = (Database::new(), TestBucket::new());
    let store = open(&database, &bucket);
    let bytes = noise(3, 300_000);
    store
        .commit(of_objects(vec![large(&store, &bytes)]))
        .unwrap();
    let day = |ago: u32| {
        let sql = format!(
            "SELECT to_char((now() - interval '{ago} days') AT TIME ZONE 'UTC', 'YYYY-MM-DD')"
        );
        database.ask(&sql).remove(0)
    };
    // The row's blob is as old as can be.
    let old = "2020-01-01/named";
    let file = bucket.plant(old);
    std::fs::rename(bucket.files().pop().unwrap(), &file).unwrap();
    database.ask(&format!(
        "UPDATE siteconf.object SET place = '{old}' WHERE place IS NOT NULL"
    ));
    let gone = [
        bucket.plant("2020-01-01/orphan"),
        bucket.plant(&format!("{}/x", day(3))),
    ];
    let kept = [
        file,
        bucket.plant(&format!("{}/x", day(2))),
        bucket.plant(&format!("{}/x", day(1))),
        bucket.plant(&format!("{}/x", day(0))),
        bucket.plant("other/x"),
    ];
    let trash = "SELECT place FROM siteconf.trash ORDER BY 1";
    for _ in 0..2 {
        // It may be of a later backup than the one that the database was restored from.
        assert_eq!(store.sweep_bucket(SystemClock).unwrap(), 0);
        assert_eq!(
            database.ask(trash),
            ["2020-01-01/orphan".to_owned(), format!("{}/x", day(3))]
        );
        age_trash(&database, "13 days 23 hours");
    }
    assert!(gone.iter().chain(&kept).all(|file| file.exists()));
    age_trash(&database, "14 days 1 hour");
    // By whose clock it is over may be wrong.
    let behind = SystemClock.now().ms() - 3_600_000;
    let refused = store.sweep_bucket(ManualClock::new(Timestamp::from_ms(behind)));
    assert_eq!(
        refused.unwrap_err().to_string(),
        "the database cannot be used: nothing is removed from the bucket by its clock while that of this machine is \
         behind; set both by NTP"
    );
    assert!(gone.iter().all(|file| file.exists()));
    assert_eq!(store.sweep_bucket(SystemClock).unwrap(), 2);
    assert!(gone.iter().all(|file| !file.exists()));
    assert!(kept.iter().all(|file| file.exists()));
    assert!(database.ask(trash).is_empty());
    assert_eq!(store.sweep_bucket(SystemClock).unwrap(), 0);
    assert!(read(store, &bytes).unwrap() == bytes);
}

#[test]
fn what_the_bucket_does_not_let_go_keeps_nothing_else_there() {
    let (database, bucket) = (Database::new(), TestBucket::alone());
    let store = open(&database, &bucket);
    store.require_large().unwrap();
    let left = staged(&store, &noise(1, (16 << 20) + 1));
    soon(|| bucket.uploads() == 1);
    // Nobody drops what a process held that was killed.
    std::mem::forget(left);
    bucket.date_uploads("2020-01-01");
    let places = ["2020-01-01/a", "2020-01-01/b", "2020-01-01/c"];
    let files = places.map(|place| bucket.plant(place));
    assert_eq!(store.sweep_bucket(SystemClock).unwrap(), 1);
    age_trash(&database, "14 days 1 hour");

    let left = staged(&store, &noise(2, (16 << 20) + 1));
    soon(|| bucket.uploads() == 1);
    std::mem::forget(left);
    bucket.date_uploads("2020-01-01");
    bucket.fault(Fault::KeepsFiles, Some(1));
    let failed = store.sweep_bucket(SystemClock).unwrap_err();
    assert!(matches!(failed, StoreError::BucketAway), "{failed:?}");
    assert_eq!(bucket.uploads(), 0);
    assert_eq!(files.iter().filter(|file| file.exists()).count(), 1);
    assert_eq!(
        database.ask("SELECT place FROM siteconf.trash"),
        ["2020-01-01/a"]
    );
    assert_eq!(store.sweep_bucket(SystemClock).unwrap(), 1);
    assert!(files.iter().all(|file| !file.exists()));
}

/// Has all that is in the trash be there for so long.
fn age_trash(database: &Database, age: &str) {
    database.ask(&format!(
        "UPDATE siteconf.trash SET since = now() - interval '{age}'"
    ));
}

#[test]
fn uploads_that_a_killed_daemon_has_left_are_given_up_once_they_are_old() {
    let (database, bucket) = (Database::new(), TestBucket::alone());
    let store = open(&database, &bucket);
    store.require_large().unwrap();
    let left = |number: u64| {
        let staging = staged(&store, &noise(number, (16 << 20) + 1));
        // One that comes only when its upload was given up would stay there.
        soon(|| bucket.parts_under_way() as u64 == 2 * number);
        // Nobody drops what a process held that was killed.
        std::mem::forget(staging);
    };
    (1..=5).for_each(left);
    bucket.date_uploads("2020-01-01");
    let mut under_way = staged(&store, &noise(6, (16 << 20) + 1));
    soon(|| bucket.uploads() == 6);

    let orphan = bucket.plant("2020-01-01/orphan");
    bucket.fault(Fault::ListsNoUploads, None);
    assert_eq!(store.sweep_bucket(SystemClock).unwrap(), 0);
    age_trash(&database, "14 days 1 hour");
    assert_eq!(store.sweep_bucket(SystemClock).unwrap(), 1);
    assert!(!orphan.exists());
    assert_eq!((bucket.uploads(), bucket.faults_done()), (6, 2));

    bucket.fault(Fault::Nothing, None);
    assert_eq!(store.sweep_bucket(SystemClock).unwrap(), 5);
    assert_eq!(bucket.uploads(), 1);
    under_way.sync().unwrap();
    assert_eq!(bucket.uploads(), 0);
    assert_eq!(bucket.parts_under_way(), 0);
    assert_eq!(
        std::fs::read(&bucket.files()[0]).unwrap().len(),
        (16 << 20) + 1
    );
}

#[test]
fn a_daemon_sweeps_once_a_day() {
    let (database, bucket) = (Database::new(), TestBucket::new());
    database.ask("UPDATE siteconf.sweep SET at = now() - interval '25 hours'");
    let orphan = bucket.plant("2020-01-01/orphan");
    database
        .ask("INSERT INTO siteconf.trash VALUES ('2020-01-01/orphan', now() - interval '15 days')");
    let store = open(&database, &bucket);
    store.require_large().unwrap();
    store.keep_bucket();
    soon(|| !orphan.exists());
    let swept = "SELECT at > now() - interval '1 hour' FROM siteconf.sweep";
    assert_eq!(database.ask(swept), ["t"]);
    bucket.plant("2020-01-01/another");
    let second = open(&database, &bucket);
    second.keep_bucket();
    second.sweep_bucket(SystemClock).unwrap();
    assert_eq!(
        database.ask("SELECT place FROM siteconf.trash"),
        ["2020-01-01/another"]
    );
}

#[test]
fn a_list_that_does_not_come_keeps_nothing_in_the_trash_and_nobody_from_reading() {
    let (database, bucket) = (Database::new(), TestBucket::alone());
    database.ask("UPDATE siteconf.sweep SET at = now() - interval '25 hours'");
    let over = bucket.plant("2020-01-01/over");
    database
        .ask("INSERT INTO siteconf.trash VALUES ('2020-01-01/over', now() - interval '15 days')");
    let store = open(&database, &bucket);
    store.require_large().unwrap();
    let bytes = noise(7, 300_000);
    store
        .commit(of_objects(vec![large(&store, &bytes)]))
        .unwrap();
    bucket.fault(Fault::HangsLists, None);
    store.keep_bucket();
    // It does not come for longer than all else may take.
    soon(|| bucket.faults_done() == 1);
    assert!(!over.exists());
    assert_eq!(store.large_bodies(), LargeBodies::Well);
    drop(staged(&store, &noise(8, 100_000)));
    assert!(read(store, &bytes).unwrap() == bytes);
}

#[test]
fn a_place_that_may_be_swept_is_refused() {
    let (database, bucket) = (Database::new(), TestBucket::new());
    let store = open(&database, &bucket);
    let bytes = noise(4, 300_000);
    let new = large(&store, &bytes);
    // So is a place of yesterday the day after tomorrow.
    let later = [("interval '1 day'", "interval '-2 days'")];
    edit(&database, &later);
    let mut batch = of_objects(vec![new.clone()]);
    push(&mut batch, "k", Expect::Absent, Some("1"));
    assert!(matches!(store.commit(batch), Err(StoreError::Expired)));
    assert!(database.ask(PLACES).is_empty());
    assert!(store.record("k").unwrap().is_none());
    edit(&database, &later.map(|(old, new)| (new, old)));
    store.commit(of_objects(vec![new])).unwrap();
    assert!(read(store, &bytes).unwrap() == bytes);
}

#[test]
fn a_bucket_that_locks_its_objects_takes_what_brings_a_checksum() {
    let (database, bucket) = (Database::new(), TestBucket::new());
    // Its mark has none yet.
    open(&database, &bucket).require_large().unwrap();
    bucket.fault(Fault::Locks, None);
    let mut access = bucket.access();
    for size in [100_000, (9 << 20) + 5] {
        let bytes = noise(7, size);
        let store = open(&database, &bucket);
        let refused = store.commit(of_objects(vec![large(&store, &bytes)]));
        assert!(
            matches!(refused, Err(StoreError::BucketAway)),
            "{refused:?}"
        );
        access.url = BucketUrl::parse(&format!("{}&checksum=sha256", bucket.url())).unwrap();
        let store = database.open().with_bucket(&access).unwrap();
        let taken = store.commit(of_objects(vec![large(&store, &bytes)]));
        taken.unwrap();
        assert!(read(store, &bytes).unwrap() == bytes);
    }
}

#[test]
fn a_bucket_that_cannot_be_used_is_refused_by_name() {
    let (database, bucket) = (Database::new(), TestBucket::new());
    let refusal = |store: &PostgresStore| store.require_large().unwrap_err().to_string();
    let cannot = "the bucket of large files cannot be used: ";
    let mut wrong = bucket.access();
    wrong.keys = BucketKeys::Fixed(BucketKey {
        id: KEY_ID.to_owned(),
        secret: "another".to_owned(),
        token: None,
    });
    let denied = database.open().with_bucket(&wrong).unwrap();
    let told = refusal(&denied);
    assert!(
        told.starts_with(&format!(
            "{cannot}access is denied (SignatureDoesNotMatch); "
        )),
        "{told}"
    );
    let mut absent = bucket.access();
    let url = bucket.url().replace("//blobs/", "//absent/");
    absent.url = BucketUrl::parse(&url).unwrap();
    let told = refusal(&database.open().with_bucket(&absent).unwrap());
    assert!(
        told.starts_with(&format!("{cannot}there is no such bucket; ")),
        "{told}"
    );

    let store = open(&database, &bucket);
    store.require_large().unwrap();
    store
        .commit(of_objects(vec![large(&store, &noise(5, 100_000))]))
        .unwrap();
    // The others are copies of one.
    let other = Database::without_store();
    PostgresStore::init(&other.url).unwrap();
    let told = refusal(&open(&other, &bucket));
    assert!(
        told.starts_with(&format!("{cannot}the large files of another store ")),
        "{told}"
    );
    let told = refusal(&open(&database, &TestBucket::new()));
    assert!(
        told.starts_with(&format!("{cannot}the large files of the store do not ")),
        "{told}"
    );
    let told = refusal(&database.open());
    assert!(told.contains("blobs names none"), "{told}");
    let refused = open(&other, &bucket).stage();
    assert!(matches!(refused, Err(StoreError::UnfitBucket { .. })));
    // A look of a daemon that is running finds it, too.
    bucket.plant("siteconf-store");
    store.keep_bucket();
    soon(|| matches!(store.stage(), Err(StoreError::UnfitBucket { .. })));
}

#[test]
fn a_bucket_that_is_away_hinders_large_blobs_alone() {
    let (database, bucket) = (Database::new(), TestBucket::new());
    bucket.fault(Fault::Away, None);
    let store = open(&database, &bucket);
    store.require_large().unwrap();
    store.keep_bucket();
    assert_eq!(store.large_bodies(), LargeBodies::Away);
    assert!(matches!(store.stage(), Err(StoreError::BucketAway)));
    let mut batch = Batch::default();
    push(&mut batch, "k", Expect::Absent, Some("1"));
    store.commit(batch).unwrap();
    assert_eq!(store.writes(), Writes::Taken);
    bucket.fault(Fault::Nothing, None);
    let patience = Instant::now() + Duration::from_secs(30);
    while store.large_bodies() != LargeBodies::Well {
        assert!(Instant::now() < patience);
    }
    let bytes = noise(6, 100_000);
    store
        .commit(of_objects(vec![large(&store, &bytes)]))
        .unwrap();
    assert!(read(store, &bytes).unwrap() == bytes);
}
