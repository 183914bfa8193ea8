//! A bucket whose keys are those of a role, which services of the platform give for a time.

use siteconf::base::clock::SystemClock;
use siteconf::store::bucket_access::{BucketAccess, BucketKeys, RoleSource};
use siteconf::store::postgres::PostgresStore;
use siteconf::store::{Store, StoreError};

use super::large::{large, read, soon, staged};
use crate::bucket::TestBucket;
use crate::fixture::{noise, of_objects};
use crate::role_service::{PLATFORM_TOKEN, RoleService};
use crate::server::Database;

fn access(bucket: &TestBucket, source: RoleSource) -> BucketAccess {
    BucketAccess {
        keys: BucketKeys::OfRole(source),
        ..bucket.access()
    }
}

fn open(database: &Database, access: &BucketAccess) -> PostgresStore {
    database.open().with_bucket(access).unwrap()
}

#[test]
fn a_role_has_its_keys_from_a_token_service_a_container_or_a_machine() {
    let (database, service) = (Database::new(), RoleService::start());
    let bucket = TestBucket::alone();
    let folder = tempfile::tempdir().unwrap();
    let token = folder.path().join("token");
    std::fs::write(&token, PLATFORM_TOKEN).unwrap();
    let token_file = token.to_str().unwrap().to_owned();
    let sources = [
        RoleSource::WebIdentity {
            token_file: token_file.clone(),
            role: "arn:aws:iam::1:role/shop".to_owned(),
            session: "siteconf".to_owned(),
            endpoint: Some(service.url()),
        },
        RoleSource::Pod {
            url: format!("{}/keys", service.url()),
            token_file,
        },
        RoleSource::Machine {
            endpoint: Some(service.url()),
        },
    ];
    for (at, source) in (1_u64..).zip(sources) {
        let access = access(&bucket, source);
        assert!(!format!("{access:?}").contains("shop"));
        let store = open(&database, &access);
        store.require_large().unwrap();
        let bytes = noise(at, 9 << 20);
        store
            .commit(of_objects(vec![large(&store, &bytes)]))
            .unwrap();
        // The list of unfinished uploads is signed in another way.
        let left = staged(&store, &noise(at, (16 << 20) + 1));
        // Both parts are there: one that came after its upload was given up would stay.
        soon(|| bucket.uploads() == 1 && bucket.parts_under_way() == 2);
        std::mem::forget(left);
        bucket.date_uploads("2020-01-01");
        assert_eq!(store.sweep_bucket(SystemClock).unwrap(), 1);
        assert_eq!(bucket.uploads(), 0);
        drop(store);
        assert!(read(open(&database, &access), &bytes).unwrap() == bytes);
        // Once by each that was opened.
        assert_eq!(service.given() as u64, at * 2);
    }
}

#[test]
fn keys_that_end_are_asked_for_again_and_used_while_no_others_are_given() {
    let (database, service) = (Database::new(), RoleService::start());
    let bucket = TestBucket::new();
    let source = RoleSource::Machine {
        endpoint: Some(service.url()),
    };
    let in_a_minute = "SELECT to_char((now() + interval '1 minute') AT TIME ZONE 'UTC', \
                       'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')";
    service.end_keys_at(&database.ask(in_a_minute)[0]);
    let access = access(&bucket, source);
    let store = open(&database, &access);
    let mut number = 0;
    let mut save = || {
        number += 1;
        let new = large(&store, &noise(number, 100_000));
        store.commit(of_objects(vec![new]))
    };
    save().unwrap();
    soon(|| {
        save().unwrap();
        service.given() > 2
    });

    // Those of before are used on.
    service.deny(true);
    soon(|| {
        save().unwrap();
        service.denied() > 0
    });
    save().unwrap();
    // Who has none waits.
    let other = open(&database, &access);
    let staged = || other.stage().and_then(|mut staging| staging.sync());
    let refused = staged();
    assert!(
        matches!(refused, Err(StoreError::BucketAway)),
        "{refused:?}"
    );
    service.deny(false);
    soon(|| staged().is_ok());
    save().unwrap();
}
