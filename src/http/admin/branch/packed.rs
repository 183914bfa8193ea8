//! Many files in one body: a tar archive, a zip, or a form as a browser sends it.

use std::io::{self, Read};

use bytes::Bytes;
use tar::EntryType;

use crate::base::digest::byte_count;
use crate::base::file_path::FilePath;
use crate::base::name_error::shortened;
use crate::http::admin::payload::Packed;
use crate::http::admin::unzip::{Zip, damaged};
use crate::http::error::Error;
use crate::http::settings::Limits;

/// A file of a body.
#[derive(Debug)]
pub(super) struct PackedFile {
    pub(super) path: FilePath,
    /// Whether it is executable, where the body says so.
    pub(super) executable: Option<bool>,
    pub(super) bytes: Bytes,
}

/// The files of a body, below a folder.
///
/// # Errors
/// A body that is cut, damaged or encrypted, a name that is malformed, and what is neither a file nor a
/// folder.
///
/// # Limits
/// [`Limits::batch_actions_max`] files. How many bytes they are together, once unpacked, was judged when the body came.
pub(super) fn files(
    body: &mut Packed,
    under: Option<&FilePath>,
    limits: &Limits,
) -> Result<Vec<PackedFile>, Error> {
    let mut files = Files {
        under,
        limits,
        found: Vec::new(),
    };
    match body {
        Packed::Tar(archive) => tar(archive, &mut files)?,
        Packed::Zip(archive) => zip(archive, &mut files)?,
        Packed::Form(fields) => {
            for (name, bytes) in fields {
                let path = files.path(name)?;
                files.add(path, None, bytes.clone());
            }
        }
    }
    check_count(files.found.len(), limits)?;
    Ok(files.found)
}

/// Refuses an empty batch, and one of too many actions.
pub(super) fn check_count(actions: usize, limits: &Limits) -> Result<(), Error> {
    match actions as u64 {
        0 => Err(Error::malformed("there is nothing to change")),
        actions if actions > limits.batch_actions_max => {
            Err(Error::many_actions(limits.batch_actions_max))
        }
        _ => Ok(()),
    }
}

/// What was found so far.
struct Files<'a> {
    under: Option<&'a FilePath>,
    limits: &'a Limits,
    found: Vec<PackedFile>,
}

impl Files<'_> {
    /// Where the next file is to be. `./` in front of a name is how tar writes a folder's own content.
    fn path(&self, name: &str) -> Result<FilePath, Error> {
        check_count(self.found.len() + 1, self.limits)?;
        let refused = |error| Error::Malformed(format!("\"{}\": {error}", shortened(name)));
        let path = FilePath::parse(name.trim_start_matches("./")).map_err(refused)?;
        match self.under {
            Some(folder) => folder.join(&path).map_err(refused),
            None => Ok(path),
        }
    }

    /// Takes a file.
    fn add(&mut self, path: FilePath, executable: Option<bool>, bytes: Bytes) {
        self.found.push(PackedFile {
            path,
            executable,
            bytes,
        });
    }
}

fn no_file(name: &str) -> Error {
    Error::Malformed(format!(
        "archive entry \"{}\": only files and folders can be stored",
        shortened(name)
    ))
}

fn utf_8(name: &[u8]) -> Result<&str, Error> {
    std::str::from_utf8(name)
        .map_err(|_| Error::malformed("malformed archive: a name is not UTF-8"))
}

/// Why an archive is not whole.
const CUT_SHORT: &str = "it is cut short";

/// What stands behind a body. A whole archive says itself where it ends, so that nothing is read from here.
struct CutShort;

impl Read for CutShort {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(io::Error::new(io::ErrorKind::UnexpectedEof, CUT_SHORT))
    }
}

/// The files lie in the archive as they are, so that none is copied.
fn tar(archive: &Bytes, files: &mut Files<'_>) -> Result<(), Error> {
    // The library does not miss the zeros at the end: to it an archive that is cut between two files is whole.
    let mut reader = tar::Archive::new(Read::chain(&archive[..], CutShort));
    for entry in reader.entries().map_err(damaged)? {
        let entry = entry.map_err(damaged)?;
        let name = entry.path_bytes();
        let name = utf_8(&name)?;
        match entry.header().entry_type() {
            EntryType::Directory | EntryType::XGlobalHeader => continue,
            EntryType::Regular => {}
            _ => return Err(no_file(name)),
        }
        let mode = entry.header().mode().map_err(damaged)?;
        let path = files.path(name)?;
        let bytes = part(archive, entry.raw_file_position(), entry.size());
        let bytes = bytes.ok_or_else(|| damaged(CUT_SHORT))?;
        files.add(path, Some(mode & 0o111 != 0), bytes);
    }
    Ok(())
}

/// So many bytes from there on, if they are all there.
fn part(of: &Bytes, from: u64, size: u64) -> Option<Bytes> {
    let from = usize::try_from(from).ok()?;
    let end = from.checked_add(usize::try_from(size).ok()?)?;
    (end <= of.len()).then(|| of.slice(from..end))
}

/// A name counts as UTF-8 whether its flag says so or not: many programs forget it. Others write the
/// machine's code page, which is not told.
fn zip(archive: &mut Zip, files: &mut Files<'_>) -> Result<(), Error> {
    for index in 0..archive.len() {
        let mut entry = archive.by_index(index).map_err(damaged)?;
        let name = entry.name_raw().to_vec();
        let name = utf_8(&name)?;
        if entry.is_dir() {
            continue;
        }
        if !entry.is_file() {
            return Err(no_file(name));
        }
        // Who packs on Windows says none.
        let mode = entry.external_attributes() >> 16;
        let executable = (mode != 0).then_some(mode & 0o111 != 0);
        let path = files.path(name)?;
        // What it says that it unpacks to was counted, and no more is taken.
        let size = entry.size();
        let mut bytes = Vec::with_capacity(usize::try_from(size).map_err(damaged)?);
        (&mut entry)
            .take(size + 1)
            .read_to_end(&mut bytes)
            .map_err(damaged)?;
        if byte_count(&bytes) != size {
            return Err(Error::malformed("malformed archive: a size is wrong"));
        }
        files.add(path, executable, bytes.into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archive(entries: &[(&str, EntryType, u32, &str)]) -> Vec<u8> {
        let mut builder = tar::Builder::new(Vec::new());
        for (name, kind, mode, content) in entries {
            let mut header = tar::Header::new_ustar();
            // Written as it stands: the builder would refuse the names that must be refused here.
            header.as_ustar_mut().unwrap().name[..name.len()].copy_from_slice(name.as_bytes());
            header.set_entry_type(*kind);
            header.set_mode(*mode);
            header.set_size(content.len() as u64);
            header.set_cksum();
            builder.append(&header, content.as_bytes()).unwrap();
        }
        builder.into_inner().unwrap()
    }

    #[test]
    fn an_archive_is_laid_under_a_folder() {
        let archive = archive(&[
            ("./", EntryType::Directory, 0o755, ""),
            ("./a.xml", EntryType::Regular, 0o644, "<a/>"),
            ("bin/run", EntryType::Regular, 0o755, "#!"),
        ]);
        let under = FilePath::parse("x").unwrap();
        let files: Vec<_> = files(
            &mut Packed::Tar(archive.into()),
            Some(&under),
            &Limits::default(),
        )
        .unwrap()
        .into_iter()
        .map(|file| (file.path.to_string(), file.executable, file.bytes))
        .collect();
        assert_eq!(
            files,
            [
                ("x/a.xml".to_owned(), Some(false), Bytes::from("<a/>")),
                ("x/bin/run".to_owned(), Some(true), Bytes::from("#!")),
            ]
        );
    }

    #[test]
    fn files_of_an_archive_lie_in_it_and_are_not_copied() {
        let archive = archive(&[
            ("a", EntryType::Regular, 0o644, "one"),
            ("b", EntryType::Regular, 0o644, "two"),
        ]);
        let archive = Bytes::from(archive);
        let place = archive.as_ptr_range();
        let mut body = Packed::Tar(archive.clone());
        for file in files(&mut body, None, &Limits::default()).unwrap() {
            assert!(place.contains(&file.bytes.as_ptr()), "{}", file.path);
        }
    }

    #[test]
    fn what_is_no_file_or_cut_or_outside_is_refused() {
        let file = |name| archive(&[(name, EntryType::Regular, 0o644, "x")]);
        let whole = archive(&[("a", EntryType::Regular, 0o644, "0123456789")]);
        for (what, body) in [
            ("a link", archive(&[("a", EntryType::Symlink, 0o777, "")])),
            ("a hard link", archive(&[("a", EntryType::Link, 0o644, "")])),
            ("a pipe", archive(&[("a", EntryType::Fifo, 0o644, "")])),
            ("outside", file("../a")),
            ("within", file("a/../b")),
            ("absolute", file("/etc/passwd")),
            ("git's folder", file(".git/config")),
            ("cut in a head", whole[..500].to_vec()),
            ("cut behind a head", whole[..512].to_vec()),
            ("cut in a file", whole[..515].to_vec()),
            ("cut behind a file", whole[..522].to_vec()),
            ("cut before its end", whole[..1024].to_vec()),
            ("cut in its end", whole[..1500].to_vec()),
            ("empty", archive(&[])),
            ("no archive", vec![b'x'; 1024]),
        ] {
            let mut body = Packed::Tar(body.into());
            assert!(
                files(&mut body, None, &Limits::default()).is_err(),
                "{what} was accepted"
            );
        }
    }
}
