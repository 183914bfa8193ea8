//! Large folders, which memory may not keep, shared by all who hold them at the same time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use crate::base::may_block;
use crate::store::Record;
use crate::store::records::Folder;

/// The folders that somebody holds, and those that somebody reads.
#[derive(Debug, Default)]
pub(super) struct SharedFolders {
    /// Each goes with the last who holds it; its entry with a change of it, or when another is added.
    held: Mutex<HashMap<String, Weak<Vec<Arc<Record>>>>>,
    read: Mutex<HashMap<String, Reading>>,
}

/// What somebody reads, once it is read; `None` when it could not be.
type Reading = Arc<OnceLock<Option<Folder>>>;

/// The part that somebody has in the reading of a folder.
#[derive(Debug)]
pub(super) enum Part<'a> {
    /// This one reads it for all who come meanwhile.
    Reads(Reader<'a>),
    /// Another has read it. While this lives, the folder does.
    Waited(Reading),
}

/// Who reads a folder. The others wait until this is dropped.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    folders: &'a SharedFolders,
    name: String,
    reading: Reading,
}

impl SharedFolders {
    /// The folder of this name, if somebody holds it and nobody has changed it since.
    pub(super) fn get(&self, name: &str) -> Option<Folder> {
        lock(&self.held).get(name)?.upgrade()
    }

    /// Lets others have this folder until it changes or nobody holds it any more.
    pub(super) fn insert(&self, name: &str, folder: &Folder) {
        let mut held = lock(&self.held);
        held.retain(|_, folder| folder.strong_count() > 0);
        held.insert(name.to_owned(), Arc::downgrade(folder));
    }

    /// Gives the folder to nobody any more.
    pub(super) fn remove(&self, name: &str) {
        lock(&self.held).remove(name);
    }

    /// The same for all.
    pub(super) fn clear(&self) {
        lock(&self.held).clear();
    }

    /// Begins to read a folder, or waits until another has who began before.
    pub(super) fn read(&self, name: &str) -> Part<'_> {
        let mut read = lock(&self.read);
        if let Some(reading) = read.get(name).cloned() {
            drop(read);
            may_block(|| reading.wait());
            return Part::Waited(reading);
        }
        let reading = Reading::default();
        read.insert(name.to_owned(), Arc::clone(&reading));
        Part::Reads(Reader {
            folders: self,
            name: name.to_owned(),
            reading,
        })
    }
}

impl Part<'_> {
    /// Ends it with the folder that was found.
    pub(super) fn end(self, folder: &Folder) {
        match self {
            Self::Reads(reader) => drop(reader.reading.set(Some(Arc::clone(folder)))),
            Self::Waited(reading) => drop(reading),
        }
    }
}

impl Drop for Reader<'_> {
    fn drop(&mut self) {
        lock(&self.folders.read).remove(&self.name);
        self.reading.get_or_init(|| None);
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn a_folder_is_shared_while_somebody_holds_it_and_nobody_has_changed_it() {
        let (folders, folder) = (SharedFolders::default(), Folder::default());
        folders.insert("a/", &folder);
        assert!(Arc::ptr_eq(&folders.get("a/").unwrap(), &folder));
        folders.remove("a/");
        assert_eq!(folders.get("a/"), None);
        folders.insert("a/", &folder);
        drop(folder);
        assert_eq!(folders.get("a/"), None);
        folders.insert("b/", &Folder::default());
        assert_eq!(lock(&folders.held).len(), 1);
    }

    #[test]
    fn one_reads_for_those_who_come_meanwhile() {
        let folders = SharedFolders::default();
        let reads = folders.read("a/");
        assert!(matches!(reads, Part::Reads(_)));
        assert!(matches!(folders.read("b/"), Part::Reads(_)));
        let folder = Folder::default();
        thread::scope(|scope| {
            let waits = scope.spawn(|| match folders.read("a/") {
                Part::Waited(reading) => reading.get().cloned().flatten(),
                // It came when all was over.
                Part::Reads(_) => None,
            });
            reads.end(&folder);
            let found = waits.join().unwrap();
            assert!(found.is_none_or(|found| Arc::ptr_eq(&found, &folder)));
        });
        drop(folders.read("a/"));
        assert!(lock(&folders.read).is_empty());
    }
}
