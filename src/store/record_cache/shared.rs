//! Large folders, which memory may not keep, shared by all who hold them at the same time.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};
use std::time::Duration;

use crate::base::may_block;
use crate::base::threads::lock;
use crate::store::Record;
use crate::store::records::Folder;

/// How long one waits for another's reading: who reads for longer waits for the store, among as many as may.
const WAIT_MAX: Duration = Duration::from_secs(1);

/// The folders that somebody holds, and those that somebody reads.
#[derive(Debug, Default)]
pub(super) struct SharedFolders {
    /// Each goes with the last who holds it; its entry with a change of it, or before there is room made for more of
    /// them.
    held: Mutex<HashMap<String, Weak<Vec<Arc<Record>>>>>,
    read: Mutex<HashMap<String, Arc<Reading>>>,
}

/// What somebody reads.
#[derive(Debug, Default)]
struct Reading {
    state: Mutex<State>,
    ended: Condvar,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    GoesOn,
    /// With what was read, if it could be.
    Ended(Option<Folder>),
}

/// The part that somebody has in the reading of a folder.
#[derive(Debug)]
pub(super) enum Part<'a> {
    /// This one reads it for all who come meanwhile.
    Reads(Reader<'a>),
    /// Another has read it, who may have begun before a change that this one must see: it counts as far as it is kept,
    /// or if this one has waited for another before, without whose end that one would not have begun.
    Waited(Folder),
    /// Another could not read it, or not in time.
    WaitedInVain,
}

/// Who reads a folder. The others wait until this is dropped.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    folders: &'a SharedFolders,
    name: String,
    reading: Arc<Reading>,
    found: Option<Folder>,
}

impl SharedFolders {
    /// The folder of this name, if somebody holds it and nobody has changed it since.
    pub(super) fn get(&self, name: &str) -> Option<Folder> {
        lock(&self.held).get(name)?.upgrade()
    }

    /// Lets others have this folder until it changes or nobody holds it any more.
    pub(super) fn insert(&self, name: &str, folder: &Folder) {
        let mut held = lock(&self.held);
        // Seldom: each save may add one.
        if held.len() == held.capacity() {
            held.retain(|_, folder| folder.strong_count() > 0);
        }
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

    /// Begins to read a folder, or waits until another has who began before, for [`WAIT_MAX`] at most.
    pub(super) fn read(&self, name: &str) -> Part<'_> {
        let mut read = lock(&self.read);
        if let Some(reading) = read.get(name).cloned() {
            drop(read);
            return may_block(|| reading.wait());
        }
        let reading = Arc::<Reading>::default();
        read.insert(name.to_owned(), Arc::clone(&reading));
        Part::Reads(Reader {
            folders: self,
            name: name.to_owned(),
            reading,
            found: None,
        })
    }
}

impl Reading {
    fn wait(&self) -> Part<'static> {
        let goes_on = |state: &mut State| matches!(state, State::GoesOn);
        let state = lock(&self.state);
        let waited = self.ended.wait_timeout_while(state, WAIT_MAX, goes_on);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        match &*state {
            State::Ended(Some(folder)) => Part::Waited(Arc::clone(folder)),
            State::Ended(None) | State::GoesOn => Part::WaitedInVain,
        }
    }
}

impl Reader<'_> {
    /// Ends it with the folder that was found.
    pub(super) fn end(mut self, folder: &Folder) {
        self.found = Some(Arc::clone(folder));
    }
}

impl Drop for Reader<'_> {
    fn drop(&mut self) {
        // First: who has waited for it waits for another the next time.
        lock(&self.folders.read).remove(&self.name);
        *lock(&self.reading.state) = State::Ended(self.found.take());
        self.reading.ended.notify_all();
    }
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
        for number in 0..1000 {
            folders.insert(&number.to_string(), &Folder::default());
        }
        assert!(lock(&folders.held).len() < 10);
    }

    #[test]
    fn one_reads_for_those_who_come_meanwhile() {
        let folders = SharedFolders::default();
        let folder = Folder::default();
        // Whoever waits is no longer there when the reader was held up for a second: then once more.
        let is_shared = (0..10).any(|_| match waited(&folders, |reader| reader.end(&folder)) {
            Part::Waited(found) => Arc::ptr_eq(&found, &folder),
            Part::WaitedInVain => false,
            Part::Reads(_) => panic!("another reads it"),
        });
        assert!(is_shared);
        assert!(matches!(waited(&folders, drop), Part::WaitedInVain));
    }

    /// What comes to one who asks while another reads, who then ends so.
    fn waited<'a>(folders: &'a SharedFolders, end: impl FnOnce(Reader<'a>)) -> Part<'a> {
        let Part::Reads(reader) = folders.read("a/") else {
            panic!("nobody else reads it");
        };
        assert!(matches!(folders.read("b/"), Part::Reads(_)));
        let reading = Arc::clone(&reader.reading);
        let found = thread::scope(|scope| {
            let waits = scope.spawn(|| {
                let part = folders.read("a/");
                let is_over = lock(&folders.read).is_empty();
                assert!(is_over || !matches!(part, Part::Waited(_)));
                part
            });
            // The map, the reader, this test, and who waits, unless this comes only after it.
            while Arc::strong_count(&reading) < 4 && !waits.is_finished() {
                thread::yield_now();
            }
            end(reader);
            waits.join().unwrap()
        });
        assert!(lock(&folders.read).is_empty());
        found
    }

    #[test]
    fn nobody_waits_for_long_for_one_who_reads() {
        let folders = SharedFolders::default();
        let _reads = folders.read("a/");
        assert!(matches!(folders.read("a/"), Part::WaitedInVain));
    }
}
