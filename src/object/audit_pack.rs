//! Records of the audit log that are packed together (`objects-layout.md`, "Audit packs").

use std::io::{Read, Write};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use serde::{Deserialize, Serialize};

use super::codec::DecodeError;
use crate::base::clock::Timestamp;
use crate::base::limits::AUDIT_PACK_BYTES_MAX;

/// Records of the audit log, packed together. Its key has the id of the first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditPack {
    /// The id of the last.
    pub last: u64,
    /// The time of the one with the earliest.
    pub oldest: Timestamp,
    /// The time of the one with the latest.
    pub newest: Timestamp,
    /// How many.
    pub count: u64,
    /// Base64 of the raw deflate stream of a line for each: the id in decimal digits, a space, the value.
    lines: String,
}

/// A record in a pack, by its id and its JSON.
pub type Line = (u64, Vec<u8>);

/// What of a record tells when it was.
#[derive(Deserialize)]
struct Dated {
    at: Timestamp,
}

/// When a record was written, `None` for what cannot be packed: it has no time, or more than one line.
pub fn time_of(value: &[u8]) -> Option<Timestamp> {
    let dated = serde_json::from_slice::<Dated>(value).ok()?;
    (!value.contains(&b'\n')).then_some(dated.at)
}

impl AuditPack {
    /// Packs records with rising ids: those of the first that fit into [`AUDIT_PACK_BYTES_MAX`] and that
    /// [`time_of`] knows. Gives their ids, too; `None` if there are none.
    pub fn new<'a>(records: impl Iterator<Item = (u64, &'a [u8])>) -> Option<(Self, Vec<u64>)> {
        let (mut lines, mut ids, mut times) = (Vec::new(), Vec::new(), Vec::new());
        for (id, value) in records {
            let Some(at) = time_of(value) else {
                continue;
            };
            let line = [format!("{id} ").as_bytes(), value, b"\n"].concat();
            if lines.len() + line.len() > AUDIT_PACK_BYTES_MAX {
                break;
            }
            lines.extend(line);
            ids.push(id);
            times.push(at);
        }
        let mut deflate = DeflateEncoder::new(Vec::new(), Compression::best());
        let deflated = deflate.write_all(&lines).and_then(|()| deflate.finish());
        let deflated = deflated.expect("memory takes what is written");
        let pack = Self {
            last: *ids.last()?,
            oldest: times.iter().min().copied()?,
            newest: times.iter().max().copied()?,
            count: ids.len() as u64,
            lines: BASE64_STANDARD.encode(deflated),
        };
        Some((pack, ids))
    }

    /// The earliest time and the latest.
    pub fn times(&self) -> (Timestamp, Timestamp) {
        (self.oldest, self.newest)
    }

    /// The records.
    ///
    /// # Errors
    /// For lines that are not as they must be, or not as many as the pack says.
    ///
    /// # Limits
    /// Memory of [`AUDIT_PACK_BYTES_MAX`].
    pub fn records(&self) -> Result<Vec<Line>, DecodeError> {
        let fail = |offset, reason| DecodeError { offset, reason };
        let deflated = BASE64_STANDARD.decode(&self.lines);
        let deflated = deflated.map_err(|_| fail(0, "the lines are not base64"))?;
        let mut lines = Vec::new();
        let most = AUDIT_PACK_BYTES_MAX as u64 + 1;
        DeflateDecoder::new(deflated.as_slice())
            .take(most)
            .read_to_end(&mut lines)
            .map_err(|_| fail(0, "the lines are not a deflate stream"))?;
        if lines.len() > AUDIT_PACK_BYTES_MAX {
            return Err(fail(lines.len(), "the lines are too long"));
        }
        let (mut records, mut offset) = (Vec::<Line>::new(), 0);
        for line in lines.split_inclusive(|byte| *byte == b'\n') {
            let text = line.strip_suffix(b"\n");
            let text = text.ok_or(fail(offset, "the last line has no end"))?;
            let (id, value) = numbered(text).ok_or(fail(offset, "a line has no number"))?;
            if records.last().is_some_and(|(last, _)| *last >= id) {
                return Err(fail(offset, "the numbers do not rise"));
            }
            records.push((id, value.to_vec()));
            offset += line.len();
        }
        let last = records.last().map(|(last, _)| *last);
        if last != Some(self.last) || records.len() as u64 != self.count {
            return Err(fail(
                offset,
                "it says another last record, or another number",
            ));
        }
        Ok(records)
    }
}

/// The number at the beginning of a line, and what follows it.
fn numbered(line: &[u8]) -> Option<(u64, &[u8])> {
    let space = line.iter().position(|byte| *byte == b' ')?;
    let digits = std::str::from_utf8(&line[..space]).ok()?;
    Some((digits.parse().ok()?, &line[space + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(at: i64) -> Vec<u8> {
        format!("{{\"at\":{at},\"by\":\"eve\"}}").into_bytes()
    }

    fn pack(records: &[(u64, Vec<u8>)]) -> Option<(AuditPack, Vec<u64>)> {
        AuditPack::new(records.iter().map(|(id, value)| (*id, value.as_slice())))
    }

    #[test]
    fn what_is_packed_comes_back_byte_for_byte() {
        let records = vec![(7, value(30)), (8, value(10)), (u64::MAX, value(20))];
        let (packed, ids) = pack(&records).unwrap();
        assert_eq!(ids, [7, 8, u64::MAX]);
        assert_eq!(packed.records().unwrap(), records);
        assert_eq!((packed.last, packed.count), (u64::MAX, 3));
        let times = (packed.oldest.ms(), packed.newest.ms());
        assert_eq!(times, (10, 30));
        // Neither what has no time, nor what would be two lines.
        let two_lines = b"{\"at\":1,\n\"by\":\"eve\"}".to_vec();
        let others = vec![(1, b"{}".to_vec()), (2, two_lines), (3, value(1))];
        assert_eq!(pack(&others).unwrap().1, [3]);
        assert_eq!(pack(&others[..2]), None);
        assert_eq!(pack(&[]), None);
    }

    #[test]
    fn no_more_is_packed_than_is_unpacked() {
        let long = format!("{{\"at\":1,\"by\":\"{}\"}}", "x".repeat(1 << 20));
        let records: Vec<_> = (1..9).map(|id| (id, long.clone().into_bytes())).collect();
        let (packed, ids) = pack(&records).unwrap();
        assert_eq!(ids, [1, 2, 3]);
        assert_eq!(packed.records().unwrap().len(), 3);
    }

    #[test]
    fn a_damaged_pack_is_refused() {
        let (sound, _) = pack(&[(7, value(1)), (8, value(2))]).unwrap();
        let lines = |text: &[u8]| {
            let mut deflate = DeflateEncoder::new(Vec::new(), Compression::fast());
            deflate.write_all(text).unwrap();
            BASE64_STANDARD.encode(deflate.finish().unwrap())
        };
        let bomb = vec![b'x'; AUDIT_PACK_BYTES_MAX + 9];
        for (lines, reason) in [
            ("?".to_owned(), "at byte 0: the lines are not base64"),
            (
                "////".to_owned(),
                "at byte 0: the lines are not a deflate stream",
            ),
            (lines(&bomb), "at byte 4194305: the lines are too long"),
            (lines(b"7 {}\n8 {}"), "at byte 5: the last line has no end"),
            (lines(b"x {}\n"), "at byte 0: a line has no number"),
            (lines(b"8 {}\n8 {}\n"), "at byte 5: the numbers do not rise"),
            (
                lines(b"8 {}\n"),
                "at byte 5: it says another last record, or another number",
            ),
            (
                lines(b"7 {}\n9 {}\n"),
                "at byte 10: it says another last record, or another number",
            ),
            (
                lines(b""),
                "at byte 0: it says another last record, or another number",
            ),
        ] {
            let damaged = AuditPack {
                lines,
                ..sound.clone()
            };
            assert_eq!(damaged.records().unwrap_err().to_string(), reason);
        }
    }
}
