//! The names in a folder of the disk, in the order of a directory's keys, some at a time.

use std::collections::BinaryHeap;
use std::ffi::OsStr;
use std::fs::{DirEntry, ReadDir};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// What a name stands for.
#[derive(Debug)]
pub(super) enum What {
    Folder,
    File,
    /// Neither: a link, a socket and the like.
    Other,
    /// The file system does not say.
    Unknown(io::Error),
}

/// A name and what it stands for. Compares as a directory's key does.
#[derive(Debug)]
pub(super) struct Name {
    /// The name, that of a folder with a slash at its end.
    key: Vec<u8>,
    pub(super) what: What,
}

impl Name {
    fn of(entry: &DirEntry) -> Self {
        let what = match entry.file_type() {
            Ok(kind) if kind.is_dir() => What::Folder,
            Ok(kind) if kind.is_file() => What::File,
            Ok(_) => What::Other,
            Err(error) => What::Unknown(error),
        };
        let mut key = entry.file_name().into_vec();
        if matches!(what, What::Folder) {
            key.push(b'/');
        }
        Self { key, what }
    }

    /// The name alone.
    pub(super) fn name(&self) -> &OsStr {
        OsStr::from_bytes(self.key.strip_suffix(b"/").unwrap_or(&self.key))
    }
}

impl Ord for Name {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key.cmp(&other.key)
    }
}

impl PartialOrd for Name {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Name {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for Name {}

/// The first names beyond `after`, at most so many, in their order. Fewer are all there are.
pub(super) fn beyond(entries: ReadDir, after: Option<&Name>, most: usize) -> io::Result<Vec<Name>> {
    let mut first = BinaryHeap::new();
    for entry in entries {
        let name = Name::of(&entry?);
        if after.is_some_and(|after| name <= *after) {
            continue;
        }
        if first.len() < most {
            first.push(name);
        } else if let Some(mut last) = first.peek_mut()
            && name < *last
        {
            *last = name;
        }
    }
    Ok(first.into_sorted_vec())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn names_come_in_the_order_of_keys_however_many_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        for file in ["a", "a.b", "a0", "ab", "b", "я"] {
            fs::write(folder.path().join(file), "").unwrap();
        }
        for directory in ["a-b", "a b", "c", "ю"] {
            fs::create_dir(folder.path().join(directory)).unwrap();
        }
        let odd = OsStr::from_bytes(b"not \xff UTF-8");
        std::os::unix::fs::symlink("nowhere", folder.path().join(odd)).unwrap();
        let expected = [
            "a",
            "a b/",
            "a-b/",
            "a.b",
            "a0",
            "ab",
            "b",
            "c/",
            "not \u{fffd} UTF-8",
            "ю/",
            "я",
        ];
        for most in [1, 2, 3, 10, 11, 100] {
            let mut found: Vec<Name> = Vec::new();
            loop {
                let entries = fs::read_dir(folder.path()).unwrap();
                let more = beyond(entries, found.last(), most).unwrap();
                let ended = more.len() < most;
                found.extend(more);
                if ended {
                    break;
                }
            }
            let shown = found.iter().map(|name| String::from_utf8_lossy(&name.key));
            assert!(shown.eq(expected), "{most} at a time: {found:?}");
            assert!(matches!(found[8].what, What::Other));
            assert_eq!(found[2].name(), "a-b");
        }
    }
}
