//! What outlives a restart, and what happens when nothing can be written.

use std::sync::Arc;

use crate::{World, named};
use siteconf::access::{Error, NewToken, Visit};
use siteconf::base::secret::ServerKey;
use siteconf::store::StoreError;
use siteconf::store::record_cache::RecordCache;
use siteconf::store::sqlite::SqliteStore;

#[test]
fn a_restart_changes_nothing_for_anybody() {
    let folder = tempfile::tempdir().unwrap();
    let key = ServerKey::generate();
    let start = || {
        let store = RecordCache::new(SqliteStore::open_locked(folder.path()).unwrap());
        World::over(Arc::new(store), key.clone())
    };
    let required = NewToken {
        fingerprint_required: true,
        ..named("erp", &["*"])
    };

    let world = start();
    let eve = world.user("eve", &["ROLE_SITEBUILDER_EDITOR__READONLY"]);
    let (open, _) = world
        .gate
        .login("eve", crate::PASSWORD, &Visit::default())
        .unwrap();
    let (ended, _) = world
        .gate
        .login("eve", crate::PASSWORD, &Visit::default())
        .unwrap();
    world.gate.logout(&ended, None).unwrap();
    let (bound, _) = world.gate.create_token(&eve, required).unwrap();
    let (revoked, made) = world.make_token(&eve, &["*"]).unwrap();
    world.gate.revoke_token(&eve, &made.id).unwrap();
    assert_eq!(world.told_instance(&bound, Some(b"erp-1")), "bound: true");
    let tokens = world.tokens(&eve);
    drop((world, eve));

    let world = start();
    let eve = world.gate.session(&open).unwrap();
    assert_eq!(eve.account().name(), "eve");
    assert_eq!(eve.account().roles().len(), 1);
    assert!(world.gate.session(&ended).is_err());
    assert_eq!(world.tokens(&eve), tokens);
    assert_eq!(
        world.told_instance(&bound, Some(b"erp-2")),
        "the token is not bound to this instance"
    );
    assert_eq!(world.told_instance(&bound, Some(b"erp-1")), "bound: true");
    assert_eq!(
        world.told_instance(&revoked, None),
        "no valid credential was shown"
    );
}

#[test]
fn when_nothing_can_be_written_an_unbound_token_is_not_served_and_others_are() {
    let folder = tempfile::tempdir().unwrap();
    let key = ServerKey::generate();
    let required = |name| NewToken {
        fingerprint_required: true,
        ..named(name, &["*"])
    };
    let store = RecordCache::new(SqliteStore::open_locked(folder.path()).unwrap());
    let world = World::over(Arc::new(store), key.clone());
    let eve = world.user("eve", &[]);
    let (cookie, _) = world
        .gate
        .login("eve", crate::PASSWORD, &Visit::default())
        .unwrap();
    let (plain, _) = world.make_token(&eve, &["*"]).unwrap();
    let (bound, _) = world.gate.create_token(&eve, required("bound")).unwrap();
    let (unbound, _) = world.gate.create_token(&eve, required("unbound")).unwrap();
    assert_eq!(world.told_instance(&bound, Some(b"erp-1")), "bound: true");
    drop((world, eve));

    let store = SqliteStore::open_read_only(folder.path()).unwrap();
    let world = World::over(Arc::new(store), key);
    world.clock.advance_s(120);
    assert_eq!(world.told_instance(&plain, None), "bound: false");
    assert_eq!(world.told_instance(&bound, Some(b"erp-1")), "bound: true");
    assert!(world.gate.session(&cookie).is_ok());
    for _ in 0..2 {
        let refused = world.gate.token(&unbound, Some(b"erp-1"), None);
        assert!(
            matches!(refused, Err(Error::Store(StoreError::ReadOnly))),
            "{refused:?}"
        );
    }
    let failed = world.gate.logout(&cookie, None);
    assert!(
        matches!(failed, Err(Error::Store(StoreError::ReadOnly))),
        "a logout that was not kept was acknowledged: {failed:?}"
    );
}
