//! What is known of a folder that was pulled: which state it holds, what of it was brought, and by what
//! it is known again.

use std::collections::BTreeMap;
use std::fs::{self, File, Metadata};
use std::io::{self, BufReader, BufWriter, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::base::id::GitId;
use crate::cli::pull::fault::{Fault, Pulled};
use crate::cli::pull::remote::head::Head;

/// The format of the file.
const FORMAT: u32 = 1;

/// Where a folder comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::cli::pull) struct Source {
    pub(in crate::cli::pull) root: String,
    pub(in crate::cli::pull) repo_id: String,
    /// Empty for a folder of which only some files are known.
    pub(in crate::cli::pull) branch: String,
}

/// What is known of a file that was brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::cli::pull) struct Brought {
    pub(in crate::cli::pull) id: GitId,
    #[serde(rename = "x")]
    pub(in crate::cli::pull) is_executable: bool,
    #[serde(flatten)]
    pub(in crate::cli::pull) mark: Mark,
    /// True for a file that is gone from the branch, and was kept.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(in crate::cli::pull) is_gone: bool,
}

/// By what a file is taken for unchanged without being read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::cli::pull) struct Mark {
    size: u64,
    mtime_s: i64,
    mtime_ns: i64,
}

impl Mark {
    pub(in crate::cli::pull) fn of(metadata: &Metadata) -> Self {
        Self {
            size: metadata.size(),
            mtime_s: metadata.mtime(),
            mtime_ns: metadata.mtime_nsec(),
        }
    }
}

/// What is to be told to the command of `--exec`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::cli::pull) struct Due {
    /// The files that changed since it last ended well, each with what became of it last: of one that was added and
    /// is removed before it ended well, it may have done something with the first.
    pub(in crate::cli::pull) changes: BTreeMap<String, Change>,
}

/// What became of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::cli::pull) enum Change {
    Added,
    Changed,
    Removed,
}

impl Change {
    pub(in crate::cli::pull) fn name(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Changed => "changed",
            Self::Removed => "removed",
        }
    }
}

/// What is known of a folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::cli::pull) struct State {
    pub(in crate::cli::pull) format: u32,
    pub(in crate::cli::pull) source: Source,
    pub(in crate::cli::pull) head: Head,
    pub(in crate::cli::pull) etag: Option<String>,
    /// The inode of the folder that holds this state.
    pub(in crate::cli::pull) inode: u64,
    /// The inode of the folder whose place it took; `None` where there was none, or nobody noted it.
    #[serde(default)]
    pub(in crate::cli::pull) old_inode: Option<u64>,
    /// True if the branch digest of its files was held against the head.
    pub(in crate::cli::pull) is_proven: bool,
    /// By their paths.
    pub(in crate::cli::pull) files: BTreeMap<String, Brought>,
    /// What was not brought and is linked from the state before, with the inodes. Escaped, as a name may be
    /// no text.
    #[serde(default)]
    pub(in crate::cli::pull) carried: BTreeMap<String, u64>,
    /// What the command of `--exec` has not ended well with yet.
    #[serde(default)]
    pub(in crate::cli::pull) due: Option<Due>,
}

impl State {
    pub(in crate::cli::pull) fn new(source: Source, head: Head, etag: Option<String>) -> Self {
        Self {
            format: FORMAT,
            source,
            head,
            etag,
            inode: 0,
            old_inode: None,
            is_proven: false,
            files: BTreeMap::new(),
            carried: BTreeMap::new(),
            due: None,
        }
    }

    /// Reads it; `None` where there is none, or none that can be read: the folder is then taken as one
    /// that somebody else filled.
    pub(in crate::cli::pull) fn read(path: &Path) -> Pulled<Option<Self>> {
        match File::open(path) {
            Ok(file) => {
                let read: Option<Self> = serde_json::from_reader(BufReader::new(file)).ok();
                Ok(read.filter(|state| state.format == FORMAT))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Fault::of_file("reading", path)(error)),
        }
    }

    /// Writes it so that after a power cut it is there whole or not at all.
    pub(in crate::cli::pull) fn write(&self, path: &Path) -> Pulled<()> {
        durably(path, |out| {
            serde_json::to_writer(out, self).map_err(io::Error::from)
        })
    }
}

/// Writes a small file of mode 0600 so that after a power cut it is there whole or not at all.
pub(in crate::cli::pull) fn durably(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> Pulled<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    let staged = path.with_file_name(name);
    let written = || -> io::Result<()> {
        let file = fs::OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&staged)?;
        let mut out = BufWriter::new(file);
        write(&mut out)?;
        out.flush()?;
        out.get_ref().sync_all()?;
        fs::rename(&staged, path)?;
        sync_folder(path.parent().unwrap_or(Path::new(".")))
    };
    written().map_err(Fault::of_file("writing", path))
}

/// Makes the names in a folder durable.
pub(in crate::cli::pull) fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}
