//! Rows of objects and records as a backup's files hold them (`objects-layout.md`, "Backup").

use std::io::Read;

use crate::base::id::{Kind, ObjectId};

/// Most bytes of a file of rows that are read into memory: several times what is written.
const ROWS_BYTES_MAX: u64 = 256 << 20;

/// A kind of row, and its bytes in a file.
pub(super) trait Encoded: Sized {
    /// What a file of such rows begins with.
    const MAGIC: &'static [u8; 16];

    /// The row's number.
    fn number(&self) -> i64;

    /// What tells a row from another one of its number: 32 bytes.
    fn mark(&self) -> [u8; 32];

    /// Adds the row's bytes.
    fn encode(&self, to: &mut Vec<u8>);

    /// Takes a row from the front.
    fn decode(from: &mut Cut<'_>) -> Option<Self>;
}

/// An object, or the row of one that lies in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ObjectEntry {
    pub(super) seq: i64,
    pub(super) id: ObjectId,
    pub(super) kind: Kind,
    pub(super) size: u64,
    pub(super) sha256: Option<[u8; 32]>,
    /// `None` of a blob that is a file.
    pub(super) bytes: Option<Vec<u8>>,
    /// The hashes of its pieces.
    pub(super) outboard: Option<Vec<u8>>,
}

/// A record, or the trace of one that was deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RecordEntry {
    pub(super) version: i64,
    pub(super) key: String,
    /// The value and its checksum, `None` of a deleted one.
    pub(super) value: Option<(Vec<u8>, [u8; 8])>,
}

impl Encoded for ObjectEntry {
    const MAGIC: &'static [u8; 16] = b"siteconf object\n";

    fn number(&self) -> i64 {
        self.seq
    }

    fn mark(&self) -> [u8; 32] {
        match self.bytes {
            Some(_) => *self.id.as_bytes(),
            None => large_mark(
                self.id,
                self.sha256,
                self.outboard.as_ref().map(|pieces| pieces.len() as u64),
            ),
        }
    }

    fn encode(&self, to: &mut Vec<u8>) {
        to.extend(self.seq.to_le_bytes());
        to.extend(self.id.as_bytes());
        to.push(self.kind.code());
        to.extend(self.size.to_le_bytes());
        optional(to, self.sha256.as_ref().map(|sha256| &sha256[..]));
        optional(to, self.bytes.as_deref());
        optional(to, self.outboard.as_deref());
    }

    fn decode(from: &mut Cut<'_>) -> Option<Self> {
        Some(Self {
            seq: i64::from_le_bytes(from.array()?),
            id: ObjectId::from_bytes(from.array()?),
            kind: Kind::from_code(from.array::<1>()?[0])?,
            size: u64::from_le_bytes(from.array()?),
            sha256: from
                .optional()?
                .map(<[u8; 32]>::try_from)
                .transpose()
                .ok()?,
            bytes: from.optional()?.map(<[u8]>::to_vec),
            outboard: from.optional()?.map(<[u8]>::to_vec),
        })
    }
}

/// The mark of the row of a blob that is a file. What the row says beside the id is checked by nothing
/// that is in it: where it was damaged and is mended, the row is another one.
pub(super) fn large_mark(
    id: ObjectId,
    sha256: Option<[u8; 32]>,
    outboard_bytes: Option<u64>,
) -> [u8; 32] {
    let mut said = id.as_bytes().to_vec();
    optional(&mut said, sha256.as_ref().map(|sha256| &sha256[..]));
    said.extend(outboard_bytes.unwrap_or(0).to_le_bytes());
    *blake3::hash(&said).as_bytes()
}

impl Encoded for RecordEntry {
    const MAGIC: &'static [u8; 16] = b"siteconf record\n";

    fn number(&self) -> i64 {
        self.version
    }

    fn mark(&self) -> [u8; 32] {
        match &self.value {
            Some((_, checksum)) => {
                let mut mark = [0; 32];
                mark[..8].copy_from_slice(checksum);
                mark
            }
            None => *blake3::hash(self.key.as_bytes()).as_bytes(),
        }
    }

    fn encode(&self, to: &mut Vec<u8>) {
        to.extend(self.version.to_le_bytes());
        sized(to, self.key.as_bytes());
        let (value, checksum) = match &self.value {
            Some((value, checksum)) => (Some(&value[..]), Some(&checksum[..])),
            None => (None, None),
        };
        optional(to, checksum);
        optional(to, value);
    }

    fn decode(from: &mut Cut<'_>) -> Option<Self> {
        let version = i64::from_le_bytes(from.array()?);
        let key = String::from_utf8(from.sized()?.to_vec()).ok()?;
        let value = match (from.optional()?, from.optional()?) {
            (Some(checksum), Some(value)) => Some((value.to_vec(), checksum.try_into().ok()?)),
            (None, None) => None,
            _ => return None,
        };
        Some(Self {
            version,
            key,
            value,
        })
    }
}

fn sized(to: &mut Vec<u8>, bytes: &[u8]) {
    let length = u32::try_from(bytes.len()).expect("a row is shorter than 4 GiB");
    to.extend(length.to_le_bytes());
    to.extend(bytes);
}

fn optional(to: &mut Vec<u8>, bytes: Option<&[u8]>) {
    match bytes {
        Some(bytes) => {
            to.push(1);
            sized(to, bytes);
        }
        None => to.push(0),
    }
}

/// Bytes that are taken from the front.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cut<'b>(&'b [u8]);

impl<'b> Cut<'b> {
    fn take(&mut self, count: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    fn sized(&mut self) -> Option<&'b [u8]> {
        let length = u32::from_le_bytes(self.array()?);
        self.take(usize::try_from(length).ok()?)
    }

    #[expect(clippy::option_option, reason = "cut off, absent, or there")]
    fn optional(&mut self) -> Option<Option<&'b [u8]>> {
        match self.array::<1>()? {
            [0] => Some(None),
            [1] => Some(Some(self.sized()?)),
            _ => None,
        }
    }
}

/// The bytes of a file of rows.
pub(super) fn encode<R: Encoded>(rows: &[R]) -> Vec<u8> {
    let mut bytes = R::MAGIC.to_vec();
    for row in rows {
        row.encode(&mut bytes);
    }
    bytes
}

/// The rows of a file.
///
/// # Errors
/// Those before the place from which on it is no such file.
pub(super) fn decode<R: Encoded>(bytes: &[u8]) -> Result<Vec<R>, Vec<R>> {
    let mut rows = Vec::new();
    let Some(bytes) = bytes.strip_prefix(R::MAGIC) else {
        return Err(rows);
    };
    let mut rest = Cut(bytes);
    while !rest.0.is_empty() {
        let Some(row) = R::decode(&mut rest) else {
            return Err(rows);
        };
        rows.push(row);
    }
    Ok(rows)
}

/// Reads a file of rows as far as that goes, and [decodes](decode) it.
pub(super) fn read_rows<R: Encoded>(bytes: u64, body: &mut dyn Read) -> Result<Vec<R>, Vec<R>> {
    if bytes > ROWS_BYTES_MAX {
        return Err(Vec::new());
    }
    let mut read = Vec::with_capacity(usize::try_from(bytes).unwrap_or(0));
    match body.read_to_end(&mut read) {
        Ok(_) => decode(&read),
        Err(_) => Err(decode(&read).unwrap_or_else(|rows| rows)),
    }
}

/// Computes the digest of a run of rows.
#[derive(Debug, Default)]
pub(super) struct RowsDigest(blake3::Hasher);

impl RowsDigest {
    /// Takes the next row by its number and its mark.
    pub(super) fn add(&mut self, number: i64, mark: &[u8; 32]) {
        self.0.update(&number.to_le_bytes());
        self.0.update(mark);
    }

    pub(super) fn finish(&self) -> [u8; 16] {
        let mut digest = [0; 16];
        digest.copy_from_slice(&self.0.finalize().as_bytes()[..16]);
        digest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn objects() -> Vec<ObjectEntry> {
        let object = |seq, bytes: Option<&[u8]>, outboard: Option<&[u8]>| ObjectEntry {
            seq,
            id: ObjectId::from_bytes([7; 32]),
            kind: Kind::Blob,
            size: 5,
            sha256: Some([8; 32]),
            bytes: bytes.map(<[u8]>::to_vec),
            outboard: outboard.map(<[u8]>::to_vec),
        };
        vec![
            object(1, Some(b"hello"), None),
            object(2, Some(b""), None),
            object(i64::MAX, None, Some(b"pieces")),
        ]
    }

    fn records() -> Vec<RecordEntry> {
        let record = |version, value| RecordEntry {
            version,
            key: "counter/project".to_owned(),
            value,
        };
        vec![
            record(258, Some((b"3".to_vec(), [1; 8]))),
            record(259, None),
        ]
    }

    #[test]
    fn rows_are_read_as_they_were_written_and_cut_ones_are_refused() {
        let bytes = encode(&objects());
        assert_eq!(decode(&bytes), Ok(objects()));
        assert_eq!(decode::<RecordEntry>(&bytes), Err(Vec::new()));
        let whole = [1, 2, 3].map(|count| encode(&objects()[..count - 1]).len());
        for end in 0..bytes.len() {
            let read = decode::<ObjectEntry>(&bytes[..end]);
            let before = &objects()[..whole.iter().filter(|whole| **whole < end).count()];
            match read {
                Ok(read) => assert!(whole.contains(&end) && read == objects()[..read.len()]),
                Err(read) => assert!(
                    !whole.contains(&end) && read == before[..read.len()],
                    "{end}"
                ),
            }
        }
        let bytes = encode(&records());
        assert_eq!(decode(&bytes), Ok(records()));
        let cut = decode(&bytes[..bytes.len() - 1]);
        assert_eq!(cut, Err(records()[..1].to_vec()));
    }
}
