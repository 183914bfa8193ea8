//! POSIX tar (pax), as git writes it: the commit id in a global header, no times and no owners.

use tar::{EntryType, Header};

use super::{MODIFIED_S, Writer};
use crate::repo::FileView;

const BLOCK: usize = 512;
/// Longest name that the header itself holds, in bytes.
const NAME_BYTES_MAX: usize = 100;

/// A tar under way.
#[derive(Debug)]
pub(super) struct Tar {
    /// Told in the first header; `None` once it was.
    commit: Option<String>,
    /// Bytes of the current file so far.
    written: usize,
}

impl Tar {
    pub(super) fn new(commit: &str) -> Self {
        Self {
            commit: Some(commit.to_owned()),
            written: 0,
        }
    }
}

impl Writer for Tar {
    fn begin(&mut self, path: &str, file: Option<&FileView>, out: &mut Vec<u8>) {
        if let Some(commit) = self.commit.take() {
            let record = record("comment", &commit);
            extended(EntryType::XGlobalHeader, "pax_global_header", &record, out);
        }
        // Names that are not ASCII are told as UTF-8 explicitly: some readers take the plain field for
        // a code page.
        if path.len() > NAME_BYTES_MAX || !path.is_ascii() {
            let record = record("path", path);
            extended(EntryType::XHeader, "pax_header", &record, out);
        }
        let (kind, mode, size) = match file {
            None => (EntryType::Directory, 0o755, 0),
            Some(file) if file.is_executable() => (EntryType::Regular, 0o755, file.size()),
            Some(file) => (EntryType::Regular, 0o644, file.size()),
        };
        header(kind, path, mode, size, out);
        self.written = 0;
    }

    fn data(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(bytes);
        self.written = (self.written + bytes.len()) % BLOCK;
    }

    fn end(&mut self, out: &mut Vec<u8>) {
        pad(self.written, out);
    }

    fn finish(&mut self, out: &mut Vec<u8>) {
        out.resize(out.len() + 2 * BLOCK, 0);
    }
}

/// A header with a record for the next entry, or for all.
fn extended(kind: EntryType, name: &str, record: &[u8], out: &mut Vec<u8>) {
    header(kind, name, 0o644, record.len() as u64, out);
    out.extend_from_slice(record);
    pad(record.len(), out);
}

fn header(kind: EntryType, path: &str, mode: u32, size: u64, out: &mut Vec<u8>) {
    let mut header = Header::new_ustar();
    let mut end = path.len().min(NAME_BYTES_MAX);
    while !path.is_char_boundary(end) {
        end -= 1;
    }
    if let Some(ustar) = header.as_ustar_mut() {
        ustar.name[..end].copy_from_slice(&path.as_bytes()[..end]);
    }
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_size(size);
    header.set_mtime(MODIFIED_S);
    header.set_uid(0);
    header.set_gid(0);
    header.set_cksum();
    out.extend_from_slice(header.as_bytes());
}

/// `<length> <key>=<value>\n`, where the length counts itself.
fn record(key: &str, value: &str) -> Vec<u8> {
    let rest = key.len() + value.len() + 3;
    let mut length = rest + 1;
    while length != rest + length.to_string().len() {
        length = rest + length.to_string().len();
    }
    format!("{length} {key}={value}\n").into_bytes()
}

fn pad(written: usize, out: &mut Vec<u8>) {
    let rest = written % BLOCK;
    if rest > 0 {
        out.resize(out.len() + BLOCK - rest, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_counts_its_own_length() {
        for length in [1, 80, 86, 87, 88, 89, 980, 985, 986, 987, 988, 4096] {
            let record = record("path", &"a".repeat(length));
            let text = String::from_utf8(record.clone()).unwrap();
            let told: usize = text.split(' ').next().unwrap().parse().unwrap();
            assert_eq!(told, record.len(), "{length}");
        }
    }
}
