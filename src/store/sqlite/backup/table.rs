//! The tables that a backup copies, read in slices and as far as they can be read.

use std::ops::RangeInclusive;

use rusqlite::types::FromSql;
use rusqlite::{Connection, ErrorCode, OptionalExtension, Row, params};

use super::error::Result;
use super::part::{Part, Span};
use super::rows::{Encoded, ObjectEntry, RecordEntry, large_mark};
use crate::base::digest::{object_id, sha256};
use crate::base::id::{Kind, ObjectId};
use crate::store::Version;
use crate::store::error::damaged;
use crate::store::inspection::Readable;
use crate::store::inspection::row::{kind_of, size_of};
use crate::store::sqlite::failure::is_damage;
use crate::store::sqlite::salvage::{Table, next_readable};
use crate::store::sqlite::{schema, sound_record};

/// Bytes of rows that are read at once and lie in one file: so much is in memory, and so long the log
/// cannot start again.
const SLICE_BYTES: usize = 4 << 20;

/// A large blob: a file, and what its row says of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LargeBlob {
    pub(super) id: ObjectId,
    pub(super) size: u64,
    pub(super) sha256: Option<[u8; 32]>,
}

/// What is read of a row to know it again.
#[derive(Debug)]
pub(super) struct Head {
    pub(super) number: i64,
    pub(super) mark: [u8; 32],
    pub(super) large: Option<LargeBlob>,
}

/// A kind of row and its table.
pub(super) trait Tabled: Encoded {
    /// The tables that hold them, with all columns, from a number on. They are read one by one: damage in
    /// one hides no row of another.
    const ROWS: &'static [Table];
    /// The columns of which the head is made, between two numbers.
    const HEADS: &'static str;

    /// The row, checked, and what is damaged beside it.
    fn read(db: &Connection, row: &Row<'_>) -> rusqlite::Result<Readable<(Self, Option<String>)>>;

    /// The head, `None` of a row that is not as it must be.
    fn head(db: &Connection, row: &Row<'_>) -> rusqlite::Result<Option<Head>>;

    /// The large blob whose row it is.
    fn large(&self) -> Option<LargeBlob>;

    /// Bytes in memory, roughly.
    fn weight(&self) -> usize;

    /// The file of such rows.
    fn part(span: Span) -> Part;

    /// The span of a file of such rows.
    fn span(part: &Part) -> Option<Span>;

    /// True if the store tells, beside the rows, that this one of an earlier time was removed or replaced
    /// by one that is none of these which cannot be read.
    fn is_gone(&self, db: &Connection, lost: &[RangeInclusive<i64>]) -> bool;
}

impl Tabled for ObjectEntry {
    const ROWS: &'static [Table] = &[Table {
        holds: "objects",
        rows: "SELECT seq, id, kind, size, sha256, bytes FROM object
               WHERE seq >= ?1 ORDER BY seq LIMIT ?2",
    }];
    const HEADS: &'static str = "SELECT seq, id, kind, size, sha256, length(bytes) FROM object
                                 WHERE seq BETWEEN ?1 AND ?2 ORDER BY seq";

    fn read(db: &Connection, row: &Row<'_>) -> rusqlite::Result<Readable<(Self, Option<String>)>> {
        let entry = Self {
            bytes: row.get(5)?,
            ..match without_bytes(row)? {
                Ok(entry) => entry,
                Err(fault) => return Ok(Err(fault)),
            }
        };
        if let Some(fault) = entry.fault() {
            return Ok(Err(damaged(entry.kind, entry.id, fault).to_string()));
        }
        if entry.bytes.is_some() {
            return Ok(Ok((entry, None)));
        }
        let (outboard, fault) = match of_outboard(db, "pieces", entry.seq) {
            Ok(outboard) => (outboard, None),
            Err(e) => {
                let fault = format!("the outboard of blob {} cannot be read: {e}", entry.id);
                (None, Some(fault))
            }
        };
        Ok(Ok((Self { outboard, ..entry }, fault)))
    }

    fn head(db: &Connection, row: &Row<'_>) -> rusqlite::Result<Option<Head>> {
        let length: Option<i64> = row.get(5)?;
        let Ok(entry) = without_bytes(row)? else {
            return Ok(None);
        };
        let large = entry.large().filter(|_| length.is_none());
        let mark = match large {
            Some(_) => {
                let outboard_bytes = of_outboard(db, "length(pieces)", entry.seq)?;
                large_mark(entry.id, entry.sha256, outboard_bytes)
            }
            None => *entry.id.as_bytes(),
        };
        Ok(Some(Head {
            number: entry.seq,
            mark,
            large,
        }))
    }

    fn large(&self) -> Option<LargeBlob> {
        self.bytes.is_none().then_some(LargeBlob {
            id: self.id,
            size: self.size,
            sha256: self.sha256,
        })
    }

    fn weight(&self) -> usize {
        let length = |bytes: &Option<Vec<u8>>| bytes.as_ref().map_or(0, Vec::len);
        128 + length(&self.bytes) + length(&self.outboard)
    }

    fn part(span: Span) -> Part {
        Part::Objects(span)
    }

    fn span(part: &Part) -> Option<Span> {
        match part {
            Part::Objects(span) => Some(*span),
            _ => None,
        }
    }

    fn is_gone(&self, _db: &Connection, _lost: &[RangeInclusive<i64>]) -> bool {
        // An object that nothing leads to any more does no harm.
        false
    }
}

/// The entry of a row but for its bytes.
fn without_bytes(row: &Row<'_>) -> rusqlite::Result<Readable<ObjectEntry>> {
    let seq = row.get(0)?;
    let id: Vec<u8> = row.get(1)?;
    let (kind, size): (i64, i64) = (row.get(2)?, row.get(3)?);
    let sha256: Option<Vec<u8>> = row.get(4)?;
    let Ok(id) = <[u8; ObjectId::BYTES]>::try_from(id).map(ObjectId::from_bytes) else {
        return Ok(Err(format!("objects: the id in row {seq} is none")));
    };
    let kind = match kind_of(kind, id) {
        Ok(kind) => kind,
        Err(e) => return Ok(Err(e.to_string())),
    };
    let size = match size_of(size, kind, id) {
        Ok(size) => size,
        Err(e) => return Ok(Err(e.to_string())),
    };
    let Ok(sha256) = sha256.map(<[u8; 32]>::try_from).transpose() else {
        let fault = damaged(kind, id, "its row's SHA-256 has another length");
        return Ok(Err(fault.to_string()));
    };
    Ok(Ok(ObjectEntry {
        seq,
        id,
        kind,
        size,
        sha256,
        bytes: None,
        outboard: None,
    }))
}

impl ObjectEntry {
    /// What is wrong with a row, as far as it says that itself.
    pub(super) fn fault(&self) -> Option<&'static str> {
        let Some(bytes) = &self.bytes else {
            return match (self.kind, self.sha256) {
                (Kind::Node | Kind::Manifest, _) => Some("it lies in a file"),
                (Kind::Blob, None) => Some("its row has no SHA-256"),
                (Kind::Blob, Some(_)) if i64::try_from(self.size).is_err() => {
                    Some("its row says another size")
                }
                (Kind::Blob, Some(_)) => None,
            };
        };
        let sums = self.kind == Kind::Blob;
        if u64::try_from(bytes.len()).ok() != Some(self.size) {
            Some("its row says another size")
        } else if object_id(self.kind, bytes) != self.id {
            Some("its row holds other bytes")
        } else if sums && self.sha256 != Some(*sha256(bytes).as_bytes()) {
            Some("its row's SHA-256 is that of other bytes")
        } else {
            None
        }
    }
}

/// What this expression says of the outboard of a row.
fn of_outboard<T: FromSql>(
    db: &Connection,
    expression: &str,
    seq: i64,
) -> rusqlite::Result<Option<T>> {
    db.prepare_cached(&format!("SELECT {expression} FROM outboard WHERE seq = ?1"))?
        .query_one([seq], |row| row.get(0))
        .optional()
}

impl Tabled for RecordEntry {
    const ROWS: &'static [Table] = &[
        Table {
            holds: "records",
            rows: "SELECT version, key, value, checksum, 1 FROM record
                   WHERE version >= ?1 ORDER BY version LIMIT ?2",
        },
        Table {
            holds: "traces of deleted records",
            rows: "SELECT version, key, NULL, NULL, 0 FROM tombstone
                   WHERE version >= ?1 ORDER BY version LIMIT ?2",
        },
    ];
    const HEADS: &'static str = "
        SELECT version, checksum, NULL FROM record WHERE version BETWEEN ?1 AND ?2
        UNION ALL SELECT version, NULL, key FROM tombstone WHERE version BETWEEN ?1 AND ?2
        ORDER BY version";

    fn read(_db: &Connection, row: &Row<'_>) -> rusqlite::Result<Readable<(Self, Option<String>)>> {
        let (version, key): (i64, String) = (row.get(0)?, row.get(1)?);
        if !row.get::<_, bool>(4)? {
            let value = None;
            return Ok(Ok((
                Self {
                    version,
                    key,
                    value,
                },
                None,
            )));
        }
        let number = row.get(0)?;
        let sound = sound_record(key, number, row.get_ref(2)?, row.get_ref(3)?);
        let record = match sound {
            Ok(record) => record,
            Err(e) => return Ok(Err(e.to_string())),
        };
        let checksum: [u8; 8] = row.get(3)?;
        let entry = Self {
            version,
            key: record.key.clone(),
            value: Some((record.value.to_vec(), checksum)),
        };
        Ok(Ok((entry, None)))
    }

    fn head(_db: &Connection, row: &Row<'_>) -> rusqlite::Result<Option<Head>> {
        let (checksum, buried): (Option<Vec<u8>>, Option<String>) = (row.get(1)?, row.get(2)?);
        let value = match (checksum.map(<[u8; 8]>::try_from), &buried) {
            (Some(Ok(checksum)), None) => Some((Vec::new(), checksum)),
            (None, Some(_)) => None,
            _ => return Ok(None),
        };
        let entry = Self {
            version: row.get(0)?,
            key: buried.unwrap_or_default(),
            value,
        };
        Ok(Some(Head {
            number: entry.version,
            mark: entry.mark(),
            large: None,
        }))
    }

    fn large(&self) -> Option<LargeBlob> {
        None
    }

    fn weight(&self) -> usize {
        let value = self.value.as_ref().map_or(0, |(value, _)| value.len());
        64 + self.key.len() + value
    }

    fn part(span: Span) -> Part {
        Part::Records(span)
    }

    fn span(part: &Part) -> Option<Span> {
        match part {
            Part::Records(span) => Some(*span),
            _ => None,
        }
    }

    fn is_gone(&self, db: &Connection, lost: &[RangeInclusive<i64>]) -> bool {
        if self.value.is_none() {
            return false;
        }
        // The index of the keys, which lies on pages of its own, answers this without the rows.
        let now: rusqlite::Result<Option<i64>> = db
            .prepare_cached("SELECT version FROM record WHERE key = ?1")
            .and_then(|mut find| find.query_one([&self.key], |row| row.get(0)).optional());
        now.is_ok_and(|now| now.is_none_or(|now| !is_among(lost, now)))
    }
}

/// The rows from a number on that are read at once.
#[derive(Debug)]
pub(super) struct Slice<R> {
    pub(super) rows: Vec<R>,
    /// What is damaged in it, a sentence each.
    pub(super) faults: Vec<String>,
    /// The numbers of rows that cannot be read.
    pub(super) lost: Vec<RangeInclusive<i64>>,
    /// Where the next begins, `None` behind the last number asked for.
    pub(super) next: Option<i64>,
}

/// True if one of these ranges holds the number.
pub(super) fn is_among(ranges: &[RangeInclusive<i64>], number: i64) -> bool {
    ranges.iter().any(|range| range.contains(&number))
}

/// Reads the rows from `from` to `to`, as many as one file takes. What cannot be read is tried a second time:
/// a disk may give it then.
pub(super) fn read_slice<R: Tabled>(db: &Connection, from: i64, to: i64) -> Result<Slice<R>> {
    let slice = read_slice_once(db, from, to)?;
    if slice.faults.is_empty() {
        return Ok(slice);
    }
    read_slice_once(db, from, to)
}

fn read_slice_once<R: Tabled>(db: &Connection, from: i64, to: i64) -> Result<Slice<R>> {
    let mut slice = Slice::<R> {
        rows: Vec::new(),
        faults: Vec::new(),
        lost: Vec::new(),
        next: None,
    };
    for table in R::ROWS {
        let last = slice.next.map_or(to, |next| next - 1);
        let mut more = read_table(db, table, from, last)?;
        slice.faults.append(&mut more.faults);
        slice.lost.append(&mut more.lost);
        slice.next = more.next.or(slice.next);
        slice.rows.append(&mut more.rows);
    }
    // Where a later table was read less far, the rows beyond are read again with the next slice.
    let last = slice.next.map_or(to, |next| next - 1);
    slice.rows.retain(|row| row.number() <= last);
    slice.lost.retain(|lost| *lost.start() <= last);
    for lost in &mut slice.lost {
        *lost = *lost.start()..=last.min(*lost.end());
    }
    slice.rows.sort_by_key(R::number);
    Ok(slice)
}

/// Reads the rows of one table: up to damage, and no more than one file takes.
fn read_table<R: Tabled>(db: &Connection, table: &Table, from: i64, to: i64) -> Result<Slice<R>> {
    let mut slice = Slice {
        rows: Vec::new(),
        faults: Vec::new(),
        lost: Vec::new(),
        next: None,
    };
    let (mut weight, mut read_to) = (0, None);
    let holds = table.holds;
    let mut list = db.prepare_cached(table.rows)?;
    let mut rows = list.query(params![from, -1])?;
    loop {
        let row = match rows.next() {
            Ok(Some(row)) => row,
            Ok(None) => return Ok(slice),
            Err(e) if is_unreadable(&e) => {
                drop(rows);
                let begin = read_to.map_or(from, |number: i64| number.saturating_add(1));
                let next = next_readable(db, table, begin).filter(|next| *next <= to);
                let last = next.map_or("the last".to_owned(), |next| (next - 1).to_string());
                slice.faults.push(format!(
                    "{holds}: rows {begin} to {last} cannot be read: {e}"
                ));
                slice.lost.push(begin..=next.map_or(to, |next| next - 1));
                slice.next = next;
                return Ok(slice);
            }
            Err(e) => return Err(e.into()),
        };
        let number: i64 = row.get(0)?;
        // A damaged number must not lead back to an earlier row.
        if number > to || number < from {
            return Ok(slice);
        }
        if weight >= SLICE_BYTES {
            slice.next = Some(number);
            return Ok(slice);
        }
        read_to = Some(number);
        let fault = match R::read(db, row) {
            Ok(Ok((entry, fault))) => {
                weight += entry.weight();
                slice.rows.push(entry);
                slice.faults.extend(fault);
                continue;
            }
            Ok(Err(fault)) => fault,
            Err(e) => format!("{holds}: row {number} cannot be read: {e}"),
        };
        slice.faults.push(fault);
        slice.lost.push(number..=number);
    }
}

/// Calls `visit` with the heads of the rows between two numbers. False if one of them is damaged.
pub(super) fn read_heads<R: Tabled>(
    db: &Connection,
    from: i64,
    to: i64,
    visit: &mut dyn FnMut(Head),
) -> Result<bool> {
    let mut list = db.prepare_cached(R::HEADS)?;
    let mut rows = list.query(params![from, to])?;
    loop {
        match rows.next() {
            Ok(Some(row)) => match R::head(db, row) {
                Ok(Some(head)) => visit(head),
                Ok(None) | Err(_) => return Ok(false),
            },
            Ok(None) => return Ok(true),
            Err(e) if is_unreadable(&e) => return Ok(false),
            Err(e) => return Err(e.into()),
        }
    }
}

/// The version of the last write, `None` where the rows that tell it are damaged.
pub(super) fn known_version(db: &Connection) -> Result<Option<Version>> {
    match schema::last_version(db) {
        Ok(version) => Ok(Some(version)),
        Err(e) if is_unreadable(&e) => Ok(None),
        Err(e) => Err(e.into()),
    }
}

/// True for what a backup goes on beside: also for what the disk does not give.
fn is_unreadable(error: &rusqlite::Error) -> bool {
    is_damage(error) || error.sqlite_error_code() == Some(ErrorCode::SystemIoFailure)
}
