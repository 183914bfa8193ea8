//! Who is told when records change.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

/// What is called after a change. It is called by whoever commits, who waits for it: it hands the news
/// on, and does nothing else.
pub type Changed = Arc<dyn Fn() + Send + Sync>;

/// The folders that a key lies in, each with its slash.
pub(super) fn folders_of(key: &str) -> impl Iterator<Item = &str> {
    key.match_indices('/').map(|(slash, _)| &key[..=slash])
}

/// Who watches which records, and which folders of records. A change costs a look for its key and for
/// each folder it lies in, however many watch something else.
#[derive(Default)]
pub struct Watchers(Arc<RwLock<Watched>>);

#[derive(Default)]
struct Watched {
    /// By key, or by folder with its slash.
    by_key: HashMap<String, BTreeMap<u64, Changed>>,
    last: u64,
}

/// Somebody watches. Dropping it ends that.
#[derive(Default)]
pub struct Watch {
    /// `None` of a watch that is never told anything.
    of: Option<(Watchers, u64)>,
    keys: Vec<String>,
}

impl Clone for Watchers {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl Watchers {
    /// See [`super::Store::watch`].
    pub(super) fn watch(&self, keys: Vec<String>, changed: &Changed) -> Watch {
        let mut watched = self.0.write().unwrap_or_else(PoisonError::into_inner);
        watched.last += 1;
        let number = watched.last;
        for key in &keys {
            let of_key = watched.by_key.entry(key.clone()).or_default();
            of_key.insert(number, Arc::clone(changed));
        }
        Watch {
            of: Some((self.clone(), number)),
            keys,
        }
    }

    /// Tells who watches these records, or a folder that one of them lies in.
    pub(super) fn tell<'a>(&self, keys: impl IntoIterator<Item = &'a str>) {
        // Each once, however many records of a folder are among them.
        let mut told = BTreeMap::new();
        let watched = self.0.read().unwrap_or_else(PoisonError::into_inner);
        if watched.by_key.is_empty() {
            return;
        }
        for key in keys {
            for key in folders_of(key).chain([key]) {
                let of_key = watched.by_key.get(key).into_iter().flatten();
                told.extend(of_key.map(|(number, changed)| (*number, Arc::clone(changed))));
            }
        }
        drop(watched);
        for changed in told.into_values() {
            changed();
        }
    }

    /// Tells everybody.
    pub(super) fn tell_all(&self) {
        let watched = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let all = watched.by_key.values().flat_map(BTreeMap::values);
        let told: Vec<_> = all.cloned().collect();
        drop(watched);
        for changed in told {
            changed();
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let Some((watchers, number)) = &self.of else {
            return;
        };
        let mut watched = watchers.0.write().unwrap_or_else(PoisonError::into_inner);
        for key in &self.keys {
            if let Some(of_key) = watched.by_key.get_mut(key) {
                of_key.remove(number);
                if of_key.is_empty() {
                    watched.by_key.remove(key);
                }
            }
        }
    }
}

impl fmt::Debug for Watchers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watchers").finish_non_exhaustive()
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch")
            .field("keys", &self.keys)
            .finish_non_exhaustive()
    }
}
