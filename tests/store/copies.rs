//! A store copied into a folder: what is written meanwhile, and what backups of the copy replace.

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use siteconf::store::engine::{Engine, StoreAddress};
use siteconf::store::objects::Objects;
use siteconf::store::sqlite::SqliteStore;
use siteconf::store::transfer::{
    Copied, Hold, Result, Step, TransferError, copy_objects, copy_rest,
};
use siteconf::store::{Expect, Store};

use crate::fixture::{blob, of_objects, of_write};

/// Holds nobody off, as a folder's lock holds off no command.
#[derive(Debug)]
struct Free;

impl Hold for Free {
    fn require(&self) -> siteconf::store::Result<()> {
        Ok(())
    }
}

/// A store with an object and a record.
fn source(root: &Path) -> Arc<SqliteStore> {
    let store = SqliteStore::open_locked(root).unwrap();
    store.commit(of_objects(vec![blob("one")])).unwrap();
    store
        .commit(of_write("a", Expect::Absent, Some("1")))
        .unwrap();
    Arc::new(store)
}

/// Copies, and has it told how often something was compared.
fn copy(source: &Arc<SqliteStore>, to: &Path, mut compared: impl FnMut(u64)) -> Result<Copied> {
    let objects = Objects::new(Arc::clone(source) as Arc<dyn Store>);
    let address = StoreAddress::Folder(to.to_owned());
    let mut loader = Engine::begin_copy(&address, None, "the proof").unwrap();
    let mut count = 0;
    let mut tell = |step: Step<'_>| {
        if matches!(step, Step::Compared(_)) {
            count += 1;
            compared(count);
        }
        ControlFlow::Continue(())
    };
    copy_objects(&objects, loader.as_ref(), &mut tell)?;
    let copied = copy_rest(&objects, &Free, loader.as_mut(), &mut tell)?;
    loader.finish().unwrap();
    Ok(copied)
}

#[test]
fn what_a_command_writes_while_the_objects_are_compared_ends_the_copy() {
    let root = tempfile::tempdir().unwrap();
    let at = |name: &str| root.path().join(name);
    let store = source(&at("source"));
    let mut last = 0;
    copy(&store, &at("first"), |count| last = count).unwrap();
    let beside = |count: u64| {
        if count == last {
            let write = of_write("revoked", Expect::Absent, Some("1"));
            store.commit(write).unwrap();
        }
    };
    let outcome = copy(&store, &at("second"), beside);
    assert!(
        matches!(outcome, Err(TransferError::Changed)),
        "{outcome:?}"
    );
    copy(&store, &at("second"), drop).unwrap();
    let copied = SqliteStore::open_locked(&at("second")).unwrap();
    assert!(copied.record("revoked").unwrap().is_some());
    // A backup that was made before it may hold what it never had, and is not replaced by its own.
    let restores = fs::read_to_string(at("second").join("restores")).unwrap();
    assert!(
        restores.len() == 16 + 3 && restores.ends_with(" 0\n"),
        "{restores}"
    );
}
