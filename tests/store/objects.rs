//! Objects: put, read, listed.

use siteconf::base::id::{Kind, ObjectId};
use siteconf::store::Store;

use crate::fixture::{blob, bytes_of, contains, noise, object, of_objects};

on_every_engine!(
    an_object_reads_back_as_it_was_put,
    an_object_put_again_stays_as_it_is,
    an_absent_object_is_none,
    several_objects_are_read_in_the_order_asked,
    ids_are_found_by_the_bytes_they_start_with,
);

fn an_object_reads_back_as_it_was_put(store: &dyn Store) {
    let large = noise(1, 64 << 10);
    for kind in Kind::ALL {
        for bytes in [b"".as_slice(), b"a", b"\0\xff\r\n", &large] {
            let new = object(kind, bytes);
            let (id, sha256) = (new.id, new.sha256);
            assert!(!contains(store, id));
            store.commit(of_objects(vec![new])).unwrap();

            assert!(contains(store, id));
            let stored = store.object(id).unwrap().unwrap();
            assert_eq!(
                (stored.kind, stored.size, stored.sha256),
                (kind, bytes.len() as u64, sha256)
            );
            assert_eq!(bytes_of(&stored), bytes);
        }
    }
}

fn an_object_put_again_stays_as_it_is(store: &dyn Store) {
    let again = || vec![blob("one"), blob("two"), blob("one")];
    store.commit(of_objects(again())).unwrap();
    let before = crate::fixture::contents(store);
    store.commit(of_objects(again())).unwrap();
    assert_eq!(crate::fixture::contents(store), before);
    assert_eq!(before.2.len(), 2);
}

fn an_absent_object_is_none(store: &dyn Store) {
    store.commit(of_objects(vec![blob("there")])).unwrap();
    let absent = blob("not there").id;
    assert!(store.object(absent).unwrap().is_none());
    assert!(!contains(store, absent));
}

fn several_objects_are_read_in_the_order_asked(store: &dyn Store) {
    store
        .commit(of_objects(vec![blob("one"), blob("two")]))
        .unwrap();
    let ids = ["two", "not there", "one", "two"].map(|text| blob(text).id);
    let found = store.objects(&ids).unwrap();
    let texts: Vec<_> = found.iter().map(|it| it.as_ref().map(bytes_of)).collect();
    let [one, two] = [b"one", b"two"].map(|text| Some(text.to_vec()));
    assert_eq!(texts, [two.clone(), None, one, two]);
    assert!(store.objects(&[]).unwrap().is_empty());
}

/// Puts 600 blobs, some two for every first byte, and gives their ids in order.
fn many(store: &dyn Store) -> Vec<ObjectId> {
    let objects: Vec<_> = (0..600).map(|n| blob(&format!("number {n}"))).collect();
    let mut ids: Vec<_> = objects.iter().map(|new| new.id).collect();
    ids.sort();
    store.commit(of_objects(objects)).unwrap();
    ids
}

fn ids_are_found_by_the_bytes_they_start_with(store: &dyn Store) {
    let ids = many(store);
    let mut prefixes: Vec<Vec<u8>> = (0..=u8::MAX).map(|byte| vec![byte]).collect();
    prefixes.push(Vec::new());
    for id in [ids[0], ids[300], ids[599]] {
        prefixes.extend([2, 31, 32].map(|length| id.as_bytes()[..length].to_vec()));
    }
    for prefix in prefixes {
        let expected: Vec<_> = ids
            .iter()
            .filter(|id| id.as_bytes().starts_with(&prefix))
            .copied()
            .collect();
        assert_eq!(
            store.ids_with_prefix(&prefix, usize::MAX).unwrap(),
            expected,
            "{prefix:x?}"
        );
        assert_eq!(
            store.ids_with_prefix(&prefix, 2).unwrap(),
            expected[..expected.len().min(2)]
        );
    }
}
