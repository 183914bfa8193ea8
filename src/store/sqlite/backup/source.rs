//! Reading a backup and holding it against its manifest.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

use super::error::{BackupError, Fault, Result, Step, Tell, What};
use super::manifest::{FileSum, Manifest, require_format, require_streamable};
use super::part::{MANIFEST, Part};
use super::place::folder::{Content, manifest_of};
use super::place::target::canonical;
use crate::base::limits::BLOCK_BYTES;

/// Where a backup comes from.
pub struct Source<'a>(Kind<'a>);

enum Kind<'a> {
    Folder(PathBuf),
    /// With a name for messages.
    Stream(PathBuf, Box<dyn Read + 'a>),
}

impl fmt::Debug for Source<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Kind::Folder(name) | Kind::Stream(name, _)) = &self.0;
        f.debug_tuple("Source").field(name).finish()
    }
}

impl<'a> Source<'a> {
    /// A folder or a file with a backup.
    ///
    /// # Errors
    /// [`BackupError::File`] when it cannot be opened.
    pub fn open(path: &Path) -> Result<Self> {
        let failed = |e| BackupError::file("reading", path)(e);
        if fs::metadata(path).map_err(failed)?.is_dir() {
            return Ok(Self(Kind::Folder(path.to_owned())));
        }
        let file = File::open(path).map_err(failed)?;
        let buffered = io::BufReader::with_capacity(BLOCK_BYTES, file);
        Ok(Self(Kind::Stream(path.to_owned(), Box::new(buffered))))
    }

    /// A stream, by a name for messages.
    pub fn stream(from: Box<dyn Read + 'a>, name: &str) -> Self {
        Self(Kind::Stream(name.into(), from))
    }

    /// Refuses a source that is this data folder, or in which it would lie.
    pub(super) fn refuse_related(&self, data: &Path) -> Result<()> {
        let Kind::Folder(root) = &self.0 else {
            return Ok(());
        };
        let (root, whole) = (canonical(root), canonical(data));
        let shown = data.display();
        if whole == root {
            return Err(BackupError::Refused(format!(
                "{shown} is the backup itself; name another data folder"
            )));
        }
        if whole.starts_with(&root) {
            return Err(BackupError::Refused(format!(
                "{shown} lies in the backup; name a data folder elsewhere"
            )));
        }
        Ok(())
    }

    /// Calls `take` with each file of the backup, and `wrong` for each that is not as the manifest says, after it was
    /// taken. Of a stream the manifest comes last: what was taken counts when this returns.
    ///
    /// # Errors
    /// Those of `take` and `wrong`; [`BackupError::Refused`] for what is no whole backup, or one of
    /// another format.
    pub(super) fn read_all(
        self,
        tell: &mut Tell<'_>,
        take: &mut dyn FnMut(&Part, u64, &mut dyn Read) -> Result<()>,
        wrong: &mut dyn FnMut(Fault) -> Result<()>,
    ) -> Result<Manifest> {
        let mut reading = Reading {
            tell,
            take,
            wrong,
            files: 0,
            bytes: 0,
            lacks: false,
        };
        let manifest = match self.0 {
            Kind::Folder(root) => reading.folder(&root)?,
            Kind::Stream(name, from) => reading.stream(&name, from)?,
        };
        if manifest.damaged > 0 {
            let remark = format!(
                "{} things were damaged in the store when it was backed up, and are not in the backup, but for what \
                 an earlier backup had put into the same folder",
                manifest.damaged
            );
            reading.remark(&remark)?;
        }
        Ok(manifest)
    }
}

struct Reading<'a, 't> {
    tell: &'a mut Tell<'t>,
    take: &'a mut dyn FnMut(&Part, u64, &mut dyn Read) -> Result<()>,
    wrong: &'a mut dyn FnMut(Fault) -> Result<()>,
    files: u64,
    bytes: u64,
    /// True once files were found that are not there, or not named.
    lacks: bool,
}

impl Reading<'_, '_> {
    fn folder(&mut self, root: &Path) -> Result<Manifest> {
        let content = Content::read(root)?;
        let Some(manifest) = content.manifest else {
            return Err(BackupError::Refused(format!(
                "{}: no backup into it was finished",
                root.display()
            )));
        };
        let of_manifest = |part: &&Part| !manifest.files.contains_key(part);
        let mut surplus = content.parts.iter().filter(of_manifest).peekable();
        if content.unfinished {
            self.remark("a later backup was not finished; what it left is passed over")?;
        } else if surplus.peek().is_some() {
            for part in surplus {
                self.wrong_in(root, &manifest, part, What::Surplus)?;
            }
        }
        for (part, listed) in &manifest.files {
            let path = root.join(part.to_string());
            let opened = File::open(&path).and_then(|file| Ok((file.metadata()?.len(), file)));
            let found = match opened {
                Ok((bytes, mut file)) if content.parts.contains(part) => {
                    // Of rows some may be as they were.
                    let has_rows = matches!(part, Part::Objects(_) | Part::Records(_));
                    if bytes == listed.bytes || has_rows {
                        self.one(part, bytes, &mut file)?
                    } else {
                        (Found::Cut, Ok(()))
                    }
                }
                Err(e) if e.kind() != ErrorKind::NotFound => (Found::Unreadable(e), Ok(())),
                _ => {
                    self.wrong_in(root, &manifest, part, What::Missing)?;
                    continue;
                }
            };
            let (found, taken) = found;
            let what = match found {
                Found::Whole(sum) if sum == *listed => {
                    taken?;
                    continue;
                }
                Found::Whole(_) | Found::Cut => What::Changed,
                Found::Unreadable(source) => What::Unreadable(path, source),
            };
            (self.wrong)(fault(part, what))?;
            taken?;
        }
        if self.lacks {
            require_same(root, &manifest)?;
        }
        Ok(manifest)
    }

    /// Tells of a fault that a later backup may be the cause of.
    fn wrong_in(
        &mut self,
        root: &Path,
        manifest: &Manifest,
        part: &Part,
        what: What,
    ) -> Result<()> {
        if !self.lacks {
            self.lacks = true;
            require_same(root, manifest)?;
        }
        (self.wrong)(fault(part, what))
    }

    fn stream(&mut self, name: &Path, from: impl Read) -> Result<Manifest> {
        let shown = name.display();
        let refuse = |reason: &str| BackupError::Refused(format!("{shown}: {reason}"));
        let failed = |e: io::Error| match e.kind() {
            ErrorKind::UnexpectedEof => refuse("it ends in the middle of a file"),
            _ => BackupError::file("reading", name)(e),
        };
        let mut archive = tar::Archive::new(from);
        let mut sums = BTreeMap::new();
        let mut manifest = None;
        for entry in archive.entries().map_err(failed)? {
            // The archive's own errors are of what it reads.
            let mut entry = entry.map_err(|e| match sums.len() {
                0 => refuse("this is no backup of siteconf"),
                _ => failed(e),
            })?;
            let path = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
            let bytes = entry.size();
            if manifest.is_some() {
                return Err(refuse("something stands behind the manifest"));
            }
            if sums.is_empty() {
                if path != "FORMAT" || bytes > 1024 {
                    return Err(refuse("this is no backup of siteconf"));
                }
                let mut text = Vec::new();
                entry.read_to_end(&mut text).map_err(failed)?;
                require_format(&text).map_err(|reason| refuse(&reason))?;
                let sum = blake3::hash(&text);
                sums.insert(Part::Format, FileSum { bytes, sum });
            } else if path == MANIFEST {
                require_streamable(bytes).map_err(|reason| refuse(&reason))?;
                let mut text = Vec::new();
                entry.read_to_end(&mut text).map_err(failed)?;
                manifest = Some(Manifest::parse(&text).map_err(|reason| refuse(&reason))?);
            } else {
                let part = Part::parse(&path).filter(|part| !sums.contains_key(part));
                let Some(part) = part else {
                    return Err(refuse(&format!(
                        "\"{path}\" is in it, which is no file of a backup, or is there twice"
                    )));
                };
                let (found, taken) = self.one(&part, bytes, &mut entry)?;
                match found {
                    Found::Whole(sum) => sums.insert(part, sum),
                    Found::Cut => return Err(refuse("it ends in the middle of a file")),
                    Found::Unreadable(e) => return Err(failed(e)),
                };
                taken?;
            }
        }
        let manifest = manifest.ok_or_else(|| refuse("it ends before its manifest"))?;
        for part in sums.keys() {
            if !manifest.files.contains_key(part) {
                (self.wrong)(fault(part, What::Surplus))?;
            }
        }
        for (part, listed) in &manifest.files {
            match sums.get(part) {
                None => (self.wrong)(fault(part, What::Missing))?,
                Some(found) if found != listed => (self.wrong)(fault(part, What::Changed))?,
                Some(_) => {}
            }
        }
        Ok(manifest)
    }

    /// Has a file taken. Gives its sum, and how it was taken, where reading it was not the cause.
    fn one(&mut self, part: &Part, bytes: u64, body: &mut dyn Read) -> Result<(Found, Result<()>)> {
        let mut reader = Summing {
            body,
            left: bytes,
            hasher: blake3::Hasher::new(),
            cut: false,
            failure: None,
            interrupted: false,
            at: Step::At {
                files: self.files,
                bytes: self.bytes,
            },
            tell: self.tell,
        };
        let taken = (self.take)(part, bytes, &mut reader);
        // What nobody wanted is summed, too.
        let rest = io::copy(&mut reader, &mut io::sink());
        if reader.interrupted {
            return Err(BackupError::Interrupted);
        }
        // The store fails by itself; a file that is written fails where no more of it can be read.
        let of_store = |taken: Result<()>| match taken {
            Err(BackupError::Store(error)) => Err(BackupError::Store(error)),
            _ => Ok(()),
        };
        if let Some(failure) = reader.failure.take() {
            return Ok((Found::Unreadable(failure), of_store(taken)));
        }
        if reader.cut {
            return Ok((Found::Cut, of_store(taken)));
        }
        if let Err(failure) = rest {
            return Ok((Found::Unreadable(failure), of_store(taken)));
        }
        let sum = reader.hasher.finalize();
        self.files += 1;
        self.bytes += bytes;
        Ok((Found::Whole(FileSum { bytes, sum }), taken))
    }

    fn remark(&mut self, remark: &str) -> Result<()> {
        if (self.tell)(Step::Remark(remark)).is_break() {
            return Err(BackupError::Interrupted);
        }
        Ok(())
    }
}

/// Refuses a folder in which a later backup has replaced the manifest, and with it files.
fn require_same(root: &Path, manifest: &Manifest) -> Result<()> {
    let now = manifest_of(root)?;
    if now.is_some_and(|now| now.to_text() == manifest.to_text()) {
        return Ok(());
    }
    Err(BackupError::Refused(format!(
        "{}: a later backup into it has ended while it was read; begin again",
        root.display()
    )))
}

/// What was read of a file.
enum Found {
    Whole(FileSum),
    /// It ends too early.
    Cut,
    Unreadable(io::Error),
}

fn fault(part: &Part, what: What) -> Fault {
    let part = part.clone();
    Fault { part, what }
}

/// Reads a file of a backup, and computes its sum.
struct Summing<'a, 't> {
    body: &'a mut dyn Read,
    left: u64,
    hasher: blake3::Hasher,
    /// True if it ended too early.
    cut: bool,
    failure: Option<io::Error>,
    interrupted: bool,
    at: Step<'static>,
    tell: &'a mut Tell<'t>,
}

impl Read for Summing<'_, '_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 || buffer.is_empty() {
            return Ok(0);
        }
        if self.failure.is_some() || self.cut || self.interrupted {
            return Err(io::Error::other("it cannot be read"));
        }
        if (self.tell)(self.at).is_break() {
            self.interrupted = true;
            return Err(io::Error::other("interrupted"));
        }
        let most = usize::try_from(self.left).unwrap_or(usize::MAX);
        let piece = buffer.len().min(most).min(BLOCK_BYTES);
        match self.body.read(&mut buffer[..piece]) {
            Ok(0) => {
                self.cut = true;
                Err(ErrorKind::UnexpectedEof.into())
            }
            Ok(count) => {
                self.hasher.update(&buffer[..count]);
                self.left -= count as u64;
                Ok(count)
            }
            Err(e) if e.kind() == ErrorKind::Interrupted => Err(e),
            Err(e) if e.kind() == ErrorKind::UnexpectedEof => {
                self.cut = true;
                Err(e)
            }
            Err(e) => {
                self.failure = Some(e);
                Err(io::Error::other("it cannot be read"))
            }
        }
    }
}
