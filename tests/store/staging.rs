//! Large bodies: staged, published, named by a commit.

use std::io::Read;

use siteconf::base::id::Kind;
use siteconf::store::Store;

use crate::fixture::{
    blob_id, bytes_of, contains, contents, noise, of_objects, published, put_large,
};

on_engines_with_large_blobs!(
    a_body_written_in_pieces_is_published_whole,
    a_body_reads_back_at_any_time_and_goes_on,
    a_dropped_body_leaves_nothing,
    a_published_body_is_no_object_until_a_commit_names_it,
    the_same_body_may_come_twice,
    bodies_on_their_way_do_not_meet,
);

/// More than one read, more than one write-back, and no round number.
const LENGTH: usize = (9 << 20) + 12_345;

fn a_body_written_in_pieces_is_published_whole(store: &dyn Store) {
    let bytes = noise(1, LENGTH);
    let mut staging = store.stage().unwrap();
    staging.write(&[]).unwrap();
    for piece in bytes.chunks(99_991) {
        staging.write(piece).unwrap();
    }
    staging.publish(blob_id(&bytes)).unwrap();
    let new = published(&bytes);
    let (id, sha256) = (new.id, new.sha256);
    store.commit(of_objects(vec![new])).unwrap();

    let stored = store.object(id).unwrap().unwrap();
    assert_eq!(
        (stored.kind, stored.size, stored.sha256),
        (Kind::Blob, LENGTH as u64, sha256)
    );
    assert!(bytes_of(&stored) == bytes);
}

fn a_body_reads_back_at_any_time_and_goes_on(store: &dyn Store) {
    let bytes = noise(2, 300_000);
    let mut staging = store.stage().unwrap();
    staging.write(&bytes[..100_000]).unwrap();
    let mut start = [0; 10];
    staging.reread().unwrap().read_exact(&mut start).unwrap();
    assert_eq!(start, bytes[..10]);
    staging.write(&bytes[100_000..]).unwrap();
    for _ in 0..2 {
        let mut whole = Vec::new();
        staging.reread().unwrap().read_to_end(&mut whole).unwrap();
        assert!(whole == bytes);
    }
    staging.publish(blob_id(&bytes)).unwrap();
    store.commit(of_objects(vec![published(&bytes)])).unwrap();
    let stored = store.object(published(&bytes).id).unwrap().unwrap();
    assert!(bytes_of(&stored) == bytes);
}

fn a_dropped_body_leaves_nothing(store: &dyn Store) {
    let before = contents(store);
    let mut staging = store.stage().unwrap();
    staging.write(&noise(3, 100_000)).unwrap();
    drop(staging);
    assert_eq!(contents(store), before);
    assert!(!contains(store, blob_id(&noise(3, 100_000)).into()));
}

fn a_published_body_is_no_object_until_a_commit_names_it(store: &dyn Store) {
    let bytes = noise(4, 100_000);
    let id = blob_id(&bytes).into();
    let mut staging = store.stage().unwrap();
    staging.write(&bytes).unwrap();
    staging.publish(blob_id(&bytes)).unwrap();
    assert!(!contains(store, id));
    assert!(store.object(id).unwrap().is_none());
    store.commit(of_objects(vec![published(&bytes)])).unwrap();
    assert!(contains(store, id));
}

fn the_same_body_may_come_twice(store: &dyn Store) {
    let bytes = noise(5, 100_000);
    let id = put_large(store, &bytes);
    let before = contents(store);
    let opened = store.object(id).unwrap().unwrap();
    assert_eq!(put_large(store, &bytes), id);
    assert_eq!(contents(store), before);
    assert!(bytes_of(&opened) == bytes, "who reads it already reads on");
}

fn bodies_on_their_way_do_not_meet(store: &dyn Store) {
    let bodies: Vec<_> = (10..14).map(|seed| noise(seed, 50_000)).collect();
    let mut stagings: Vec<_> = bodies.iter().map(|_| store.stage().unwrap()).collect();
    for part in 0..5 {
        for (staging, body) in stagings.iter_mut().zip(&bodies) {
            staging.write(&body[part * 10_000..][..10_000]).unwrap();
        }
    }
    for (mut staging, body) in stagings.into_iter().zip(&bodies) {
        staging.publish(blob_id(body)).unwrap();
    }
    let objects = bodies.iter().map(|body| published(body)).collect();
    store.commit(of_objects(objects)).unwrap();
    for body in &bodies {
        let stored = store.object(blob_id(body).into()).unwrap().unwrap();
        assert!(bytes_of(&stored) == *body);
    }
}
