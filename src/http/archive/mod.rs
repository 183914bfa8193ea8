//! A folder of a revision as one stream: tar, tar compressed, or zip. Nothing is kept on disk, and
//! memory does not grow with what is in it, but for 16 bytes an entry of a zip.
//!
//! The bytes are a function of the content and the folder's name alone: there is no time, owner or
//! order in them that the content does not say. The compressor is the pure Rust one, which does not
//! look at the machine it runs on.

mod left_out;
pub(in crate::http) mod respond;
mod tarball;
mod zipfile;

use std::collections::VecDeque;
use std::io::{self, Write as _};
use std::mem;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;

use super::reply::stream::Pieces;
use crate::base::limits::READ_CHUNK_BYTES;
use crate::repo;
use crate::repo::{Body, Content, FileView, Listing};
use left_out::LeftOut;
use tarball::Tar;
use zipfile::Zip;

/// Entries of the tree looked up at once.
const ENTRIES_AT_ONCE: u64 = 256;
/// Pieces have at least this many bytes, but for the last.
const PIECE_BYTES_MIN: usize = 128 << 10;
/// 1980-01-01T00:00:00Z, the first moment that a zip can tell, in Unix seconds.
const MODIFIED_S: u64 = 315_532_800;

/// The form of an archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// POSIX tar.
    Tar,
    /// The same, in gzip.
    TarGz,
    /// Zip, deflated.
    Zip,
}

impl Format {
    /// The form of an archive of this name: `archive.zip`, `archive.tar.gz`, `archive.tar`.
    pub(super) fn of_name(name: &str) -> Option<Self> {
        let extension = name.strip_prefix("archive.")?;
        let known = [Self::Tar, Self::TarGz, Self::Zip];
        known
            .into_iter()
            .find(|format| format.extension() == extension)
    }

    /// The end of its files' names.
    pub(super) const fn extension(self) -> &'static str {
        match self {
            Self::Tar => "tar",
            Self::TarGz => "tar.gz",
            Self::Zip => "zip",
        }
    }

    /// The media type that GitLab sends it as: clients take some of the exact ones for text.
    pub(super) const fn media_type(self) -> &'static str {
        match self {
            Self::Tar | Self::TarGz => "application/octet-stream",
            Self::Zip => "application/zip",
        }
    }
}

/// What goes into an archive.
#[derive(Clone, Debug)]
pub(super) enum Selection {
    /// Everything below a folder: its recursive listing, but for what is left out.
    Folder(Listing, LeftOut),
    /// One file, with its full path.
    File(String, FileView),
}

/// An entry: a path below the archive's folder, and the file, `None` for a folder.
type Entry = (String, Option<FileView>);

/// What a form of archive writes. Each function appends to `out`.
trait Writer: Send + Sync {
    /// An entry begins: a file, whose bytes follow, or a folder. Folders' paths end in a slash.
    fn begin(&mut self, path: &str, file: Option<&FileView>, out: &mut Vec<u8>);

    /// Bytes of the file.
    fn data(&mut self, bytes: &[u8], out: &mut Vec<u8>);

    /// The entry ends.
    fn end(&mut self, out: &mut Vec<u8>);

    /// True if every entry is wanted once more, for [`Writer::again`].
    fn wants_entries_again(&self) -> bool {
        false
    }

    /// An entry once more, in the same order.
    fn again(&mut self, _path: &str, _file: Option<&FileView>, _out: &mut Vec<u8>) {}

    /// The archive ends.
    fn finish(&mut self, out: &mut Vec<u8>);
}

/// An archive under way.
pub(super) struct Archive {
    writer: Box<dyn Writer>,
    gzip: Option<GzEncoder<Vec<u8>>>,
    entries: Entries,
    step: Step,
    /// What was made of the next piece.
    piece: Vec<u8>,
}

enum Step {
    /// Between two entries.
    Entries,
    /// In a file, before this offset.
    File(Content, u64),
    /// Between two entries, the second time.
    Again,
    Done,
    /// Something could not be read, other than bytes of a file.
    Failed,
}

impl Archive {
    /// Puts a selection under a folder of this name. `commit` is the full commit id of its revision,
    /// which a tar tells.
    pub(super) fn new(format: Format, folder: &str, commit: &str, selection: Selection) -> Self {
        let writer: Box<dyn Writer> = match format {
            Format::Tar | Format::TarGz => Box::new(Tar::new(commit)),
            Format::Zip => Box::new(Zip::default()),
        };
        let gzip = (format == Format::TarGz)
            .then(|| GzEncoder::new(Vec::with_capacity(PIECE_BYTES_MIN), Compression::default()));
        Self {
            writer,
            gzip,
            entries: Entries::new(folder, selection),
            step: Step::Entries,
            piece: Vec::new(),
        }
    }

    /// Goes on by a little. Where bytes of a file could not be read they are read the next time.
    fn advance(&mut self, out: &mut Vec<u8>) -> io::Result<()> {
        self.step = match mem::replace(&mut self.step, Step::Failed) {
            Step::Entries => match self.entries.next()? {
                Some((path, file)) => {
                    self.writer.begin(&path, file.as_ref(), out);
                    if let Some(file) = file {
                        Step::File(file.content().map_err(io::Error::other)?, 0)
                    } else {
                        self.writer.end(out);
                        Step::Entries
                    }
                }
                None if self.writer.wants_entries_again() => {
                    self.entries.rewind();
                    Step::Again
                }
                None => self.finished(out),
            },
            Step::File(content, offset) => {
                let bytes = match chunk(&content, offset) {
                    Ok(bytes) => bytes,
                    Err(error) => {
                        self.step = Step::File(content, offset);
                        return Err(error);
                    }
                };
                self.writer.data(&bytes, out);
                let offset = offset + bytes.len() as u64;
                if offset < content.size {
                    Step::File(content, offset)
                } else {
                    self.writer.end(out);
                    Step::Entries
                }
            }
            Step::Again => match self.entries.next()? {
                Some((path, file)) => {
                    self.writer.again(&path, file.as_ref(), out);
                    Step::Again
                }
                None => self.finished(out),
            },
            Step::Done => Step::Done,
            Step::Failed => return Err(io::Error::other("the archive has failed before")),
        };
        Ok(())
    }

    fn finished(&mut self, out: &mut Vec<u8>) -> Step {
        self.writer.finish(out);
        Step::Done
    }
}

impl Pieces for Archive {
    fn next_piece(&mut self) -> io::Result<Option<Bytes>> {
        let mut plain = Vec::new();
        while self.piece.len() < PIECE_BYTES_MIN && !matches!(self.step, Step::Done) {
            self.advance(&mut plain)?;
            match &mut self.gzip {
                Some(encoder) => {
                    encoder.write_all(&plain)?;
                    plain.clear();
                    self.piece.append(encoder.get_mut());
                }
                // A chunk of a large file is not copied.
                None if self.piece.is_empty() => mem::swap(&mut self.piece, &mut plain),
                None => self.piece.append(&mut plain),
            }
        }
        if matches!(self.step, Step::Done)
            && let Some(encoder) = self.gzip.take()
        {
            self.piece.extend(encoder.finish()?);
        }
        let piece = mem::take(&mut self.piece);
        Ok((!piece.is_empty()).then(|| piece.into()))
    }
}

/// The next bytes of a file.
fn chunk(content: &Content, offset: u64) -> io::Result<Bytes> {
    match &content.body {
        Body::Inline(bytes) => Ok(bytes.clone()),
        Body::Large(large) => {
            let left = usize::try_from(content.size - offset).unwrap_or(usize::MAX);
            let mut bytes = vec![0; left.min(READ_CHUNK_BYTES)];
            large.read_exact_at(&mut bytes, offset)?;
            Ok(bytes.into())
        }
    }
}

/// The entries of an archive in their order: its own folder, then the selection.
struct Entries {
    folder: String,
    selection: Selection,
    /// How many of the selection were looked up.
    known: u64,
    ahead: VecDeque<Entry>,
}

impl Entries {
    fn new(folder: &str, selection: Selection) -> Self {
        let mut entries = Self {
            folder: format!("{folder}/"),
            selection,
            known: 0,
            ahead: VecDeque::new(),
        };
        entries.rewind();
        entries
    }

    fn rewind(&mut self) {
        self.known = 0;
        self.ahead.clear();
        self.ahead.push_back((self.folder.clone(), None));
    }

    fn next(&mut self) -> io::Result<Option<Entry>> {
        while self.ahead.is_empty() && self.look_ahead().map_err(io::Error::other)? {}
        Ok(self.ahead.pop_front())
    }

    /// Looks up some more, of which all may be left out; false where there are no more.
    fn look_ahead(&mut self) -> repo::Result<bool> {
        let below = &self.folder;
        match &self.selection {
            Selection::Folder(listing, left_out) => {
                let part = listing.opened_part(self.known, ENTRIES_AT_ONCE)?;
                let are_more = !part.is_empty();
                for (path, file) in part {
                    self.known += 1;
                    match left_out.entries_below(&path) {
                        None => {
                            let slash = if file.is_none() { "/" } else { "" };
                            let path = format!("{below}{path}{slash}");
                            self.ahead.push_back((path, file));
                        }
                        Some(0) => {}
                        // They come next, and are passed.
                        Some(entries) => {
                            self.known += entries;
                            break;
                        }
                    }
                }
                Ok(are_more)
            }
            Selection::File(path, file) if self.known == 0 => {
                self.known = 1;
                let path = format!("{below}{path}");
                self.ahead.push_back((path, Some(file.clone())));
                Ok(true)
            }
            Selection::File(..) => Ok(false),
        }
    }
}
