//! A node: a run of a directory's entries, or of the nodes below (`objects-layout.md`, "Node").

use std::cmp::Ordering;
use std::ops::AddAssign;

use serde::Serialize;

use super::codec::{DecodeError, Reader};
use crate::base::id::{BlobId, GitId, Md5, NodeId};
use crate::base::limits::SEGMENT_BYTES_MAX;

/// The format's version, a node's first byte.
pub const NODE_VERSION: u8 = 1;
/// No node is longer, in bytes: the accounted maximum, one item more, and the head.
pub const NODE_BYTES_MAX: usize = 17 << 10;
/// Most levels above a leaf. With four items a node at the least, far beyond any directory.
pub const LEVEL_MAX: u8 = 32;

const FILE: u8 = 1;
const EXECUTABLE: u8 = 2;
const DIRECTORY: u8 = 3;
/// The shortest item: kind, name length, one byte of name, and the fields of a directory.
const ITEM_BYTES_MIN: usize = 3 + 56;

/// A name in a directory and whether it names one. A directory compares as `name/`, so that a walk
/// meets files in the byte order of their full paths.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    /// The name: one segment of a path.
    pub name: Box<str>,
    /// True for a directory's.
    pub directory: bool,
}

impl Key {
    /// The key of a file.
    pub fn file(name: &str) -> Self {
        Self {
            name: name.into(),
            directory: false,
        }
    }

    /// The key of a directory.
    pub fn directory(name: &str) -> Self {
        Self {
            name: name.into(),
            directory: true,
        }
    }

    fn byte(&self, at: usize) -> Option<u8> {
        let name = self.name.as_bytes();
        name.get(at)
            .copied()
            .or_else(|| (self.directory && at == name.len()).then_some(b'/'))
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        let (a, b) = (self.name.as_bytes(), other.name.as_bytes());
        let common = a.len().min(b.len());
        // Past the shorter name at most its slash is left, then one byte decides: no name holds one.
        a[..common]
            .cmp(&b[..common])
            .then_with(|| self.byte(common).cmp(&other.byte(common)))
            .then_with(|| a.len().cmp(&b.len()))
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// What lies below a place: files, directories and the bytes of all files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Totals {
    /// Files, at any depth.
    pub files: u64,
    /// Directories, at any depth.
    pub directories: u64,
    /// Bytes of all files.
    pub bytes: u64,
}

impl AddAssign for Totals {
    fn add_assign(&mut self, other: Self) {
        // Totals of a damaged node may be anything: they must not end the process.
        self.files = self.files.saturating_add(other.files);
        self.directories = self.directories.saturating_add(other.directories);
        self.bytes = self.bytes.saturating_add(other.bytes);
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.entries = self.entries.saturating_add(other.entries);
        self.directories = self.directories.saturating_add(other.directories);
        self.totals += other.totals;
    }
}

/// A file in a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileEntry {
    /// True for an executable file.
    pub executable: bool,
    /// Length in bytes.
    pub size: u64,
    /// MD5 of the bytes.
    pub md5: Md5,
    /// The id git gives the bytes.
    pub git: GitId,
    /// The bytes.
    pub blob: BlobId,
}

/// The mode of a file, as git and its hosting services write it.
pub const fn git_mode(executable: bool) -> &'static str {
    if executable { "100755" } else { "100644" }
}

/// A directory in a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirectoryEntry {
    /// The root of its nodes.
    pub root: NodeId,
    /// What is below it, itself not counted.
    pub totals: Totals,
}

/// A node below an inner node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subtree {
    /// The node.
    pub node: NodeId,
    /// What is below it.
    pub counts: Counts,
}

/// What a part of a directory holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Entries of the directory in its leaves.
    pub entries: u64,
    /// How many of them are directories.
    pub directories: u64,
    /// What is below them, at any depth, they themselves counted.
    pub totals: Totals,
}

/// What an item of a node stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// A file; in leaves.
    File(FileEntry),
    /// A directory; in leaves.
    Directory(DirectoryEntry),
    /// A node one level below; in inner nodes. Its key is the last key below it.
    Subtree(Subtree),
}

impl Value {
    /// The node that it leads to: the rest of its directory, or the root of another. A file leads to none.
    pub fn node(&self) -> Option<NodeId> {
        match self {
            Self::File(_) => None,
            Self::Directory(directory) => Some(directory.root),
            Self::Subtree(subtree) => Some(subtree.node),
        }
    }

    /// What the value adds to the counts of its node.
    pub fn counts(&self) -> Counts {
        let (entries, directories, totals) = match self {
            Self::File(file) => (
                1,
                0,
                Totals {
                    files: 1,
                    directories: 0,
                    bytes: file.size,
                },
            ),
            Self::Directory(directory) => {
                let mut totals = directory.totals;
                totals += Totals {
                    files: 0,
                    directories: 1,
                    bytes: 0,
                };
                (1, 1, totals)
            }
            Self::Subtree(subtree) => return subtree.counts,
        };
        Counts {
            entries,
            directories,
            totals,
        }
    }
}

/// A key and what it stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// The key.
    pub key: Key,
    /// What it stands for.
    pub value: Value,
}

/// A run of items in the order of their keys.
///
/// # Invariants
/// Keys rise strictly. Level 0 holds files and directories, any other level subtrees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// How far above the leaves.
    pub level: u8,
    /// The items.
    pub items: Vec<Item>,
}

impl Node {
    /// The node of an empty directory: only the root of an empty branch is one.
    pub const fn empty() -> Self {
        Self {
            level: 0,
            items: Vec::new(),
        }
    }

    /// Everything below the node, summed up.
    pub fn counts(&self) -> Counts {
        let mut sum = Counts::default();
        for item in &self.items {
            sum += item.value.counts();
        }
        sum
    }

    /// The item of this key.
    pub fn get(&self, key: &Key) -> Option<&Item> {
        let at = self.items.binary_search_by(|item| item.key.cmp(key)).ok()?;
        self.items.get(at)
    }

    /// The node's encoding.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(6 + self.items.len() * 112);
        out.push(NODE_VERSION);
        out.push(self.level);
        let count = u32::try_from(self.items.len()).expect("a node's size is bounded");
        out.extend_from_slice(&count.to_le_bytes());
        for item in &self.items {
            encode_item(item, &mut out);
        }
        out
    }

    /// Reads an encoding, trusting nothing of it.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        if bytes.len() > NODE_BYTES_MAX {
            return reader.fail("it is longer than a node can be");
        }
        if reader.u8()? != NODE_VERSION {
            return reader.fail("its version is not 1");
        }
        let level = reader.u8()?;
        if level > LEVEL_MAX {
            return reader.fail("its level is beyond 32");
        }
        let count = usize::try_from(reader.u32()?).unwrap_or(usize::MAX);
        if count > reader.left() / ITEM_BYTES_MIN {
            return reader.fail("it announces more items than it can hold");
        }
        let mut items: Vec<Item> = Vec::with_capacity(count);
        for _ in 0..count {
            let item = decode_item(&mut reader, level)?;
            if items.last().is_some_and(|last| last.key >= item.key) {
                return reader.fail("its keys do not rise");
            }
            items.push(item);
        }
        reader.end()?;
        if level > 0 && items.is_empty() {
            return reader.fail("an inner node has no items");
        }
        Ok(Self { level, items })
    }
}

fn encode_item(item: &Item, out: &mut Vec<u8>) {
    out.push(match &item.value {
        Value::File(file) if file.executable => EXECUTABLE,
        Value::Directory(_) => DIRECTORY,
        Value::Subtree(_) if item.key.directory => DIRECTORY,
        Value::File(_) | Value::Subtree(_) => FILE,
    });
    out.push(u8::try_from(item.key.name.len()).expect("a segment has at most 255 bytes"));
    out.extend_from_slice(item.key.name.as_bytes());
    match &item.value {
        Value::File(file) => {
            out.extend_from_slice(&file.size.to_le_bytes());
            out.extend_from_slice(file.md5.as_bytes());
            out.extend_from_slice(file.git.as_bytes());
            out.extend_from_slice(file.blob.as_bytes());
        }
        Value::Directory(directory) => {
            out.extend_from_slice(directory.root.as_bytes());
            encode_totals(&directory.totals, out);
        }
        Value::Subtree(subtree) => {
            out.extend_from_slice(subtree.node.as_bytes());
            out.extend_from_slice(&subtree.counts.entries.to_le_bytes());
            out.extend_from_slice(&subtree.counts.directories.to_le_bytes());
            encode_totals(&subtree.counts.totals, out);
        }
    }
}

fn decode_item(reader: &mut Reader<'_>, level: u8) -> Result<Item, DecodeError> {
    let kind = reader.u8()?;
    let length = usize::from(reader.u8()?);
    let Ok(name) = std::str::from_utf8(reader.take(length)?) else {
        return reader.fail("a name is not UTF-8");
    };
    if name.is_empty() || name.len() > SEGMENT_BYTES_MAX || name.contains(['/', '\0']) {
        return reader.fail("a name is empty or holds a slash or a NUL");
    }
    let key = Key {
        name: name.into(),
        directory: kind == DIRECTORY,
    };
    let value = match (level, kind) {
        (0, FILE | EXECUTABLE) => Value::File(FileEntry {
            executable: kind == EXECUTABLE,
            size: reader.u64()?,
            md5: Md5::from_bytes(reader.array()?),
            git: GitId::from_bytes(reader.array()?),
            blob: BlobId::from_bytes(reader.array()?),
        }),
        (0, DIRECTORY) => Value::Directory(DirectoryEntry {
            root: NodeId::from_bytes(reader.array()?),
            totals: decode_totals(reader)?,
        }),
        (1.., FILE | DIRECTORY) => Value::Subtree(Subtree {
            node: NodeId::from_bytes(reader.array()?),
            counts: Counts {
                entries: reader.u64()?,
                directories: reader.u64()?,
                totals: decode_totals(reader)?,
            },
        }),
        _ => return reader.fail("an item is of no known kind"),
    };
    Ok(Item { key, value })
}

pub(super) fn encode_totals(totals: &Totals, out: &mut Vec<u8>) {
    for field in [totals.files, totals.directories, totals.bytes] {
        out.extend_from_slice(&field.to_le_bytes());
    }
}

pub(super) fn decode_totals(reader: &mut Reader<'_>) -> Result<Totals, DecodeError> {
    Ok(Totals {
        files: reader.u64()?,
        directories: reader.u64()?,
        bytes: reader.u64()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_compares_as_its_name_with_a_slash() {
        let mut keys = vec![
            Key::file("a"),
            Key::directory("a"),
            Key::file("a-"),
            Key::file("a.xml"),
            Key::file("a0"),
            Key::directory("a-b"),
            Key::file("ab"),
            Key::directory("ab"),
            Key::file("b"),
        ];
        keys.sort();
        let text = |key: &Key| format!("{}{}", key.name, if key.directory { "/" } else { "" });
        let mut texts: Vec<_> = keys.iter().map(text).collect();
        texts.sort_by(|a, b| a.as_bytes().cmp(b.as_bytes()));
        assert_eq!(keys.iter().map(text).collect::<Vec<_>>(), texts);
    }

    #[test]
    fn no_cut_or_flipped_encoding_is_taken_for_the_node() {
        let file = FileEntry {
            executable: true,
            size: 7,
            md5: Md5::from_bytes([1; 16]),
            git: GitId::from_bytes([2; 20]),
            blob: BlobId::from_bytes([3; 32]),
        };
        let directory = DirectoryEntry {
            root: NodeId::from_bytes([4; 32]),
            totals: Totals {
                files: 1,
                directories: 2,
                bytes: 3,
            },
        };
        let node = Node {
            level: 0,
            items: vec![
                Item {
                    key: Key::file("a"),
                    value: Value::File(file),
                },
                Item {
                    key: Key::directory("b"),
                    value: Value::Directory(directory),
                },
            ],
        };
        let bytes = node.encode();
        assert_eq!(Node::decode(&bytes).as_ref(), Ok(&node));
        for cut in 0..bytes.len() {
            assert!(Node::decode(&bytes[..cut]).is_err(), "cut at {cut}");
        }
        for at in 0..bytes.len() {
            let mut flipped = bytes.clone();
            flipped[at] ^= 0xff;
            assert_ne!(
                Node::decode(&flipped).as_ref(),
                Ok(&node),
                "flipped at {at}"
            );
        }
        let mut longer = bytes;
        longer.push(0);
        assert!(Node::decode(&longer).is_err());
    }
}
