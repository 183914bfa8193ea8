//! Reading tables as far as they can be read: one damaged place hides no other. They are read in the order of
//! their row numbers, which needs no index.

use rusqlite::{Connection, Row, params};

use crate::store::inspection::Readable;

/// Rows read at once: between two pages the log may be copied into the database.
pub(super) const PAGE_ROWS: i64 = 1000;
/// Row numbers that are tried one by one for the next row that can be read: more than the rows of any
/// page of the database. Beyond them the steps double.
const TRIED_SINGLY: u32 = 10_000;

/// A table, by what it holds, and the statement that reads its rows from a number on.
pub(super) struct Table {
    pub(super) holds: &'static str,
    pub(super) rows: &'static str,
}

/// Reads rows from a number on, each with its own, until the page is full or one cannot be read.
pub(super) fn read_page<T>(
    db: &Connection,
    table: &Table,
    from: i64,
    decode: impl Fn(&Row<'_>) -> rusqlite::Result<Readable<T>>,
    found: &mut Vec<(i64, Readable<T>)>,
) -> rusqlite::Result<()> {
    let mut list = db.prepare_cached(table.rows)?;
    let mut rows = list.query(params![from, PAGE_ROWS])?;
    while let Some(row) = rows.next()? {
        let number = row.get(0)?;
        let one = decode(row).unwrap_or_else(|e| {
            let holds = table.holds;
            Err(format!("{holds}: row {number} cannot be read: {e}"))
        });
        found.push((number, one));
    }
    Ok(())
}

/// The first row number behind `from` at which the table can be read again.
pub(super) fn next_readable(db: &Connection, table: &Table, from: i64) -> Option<i64> {
    let mut list = db.prepare_cached(table.rows).ok()?;
    let (mut number, mut step, mut tried) = (from, 1_i64, 0);
    loop {
        number = number.checked_add(step)?;
        let mut rows = list.query(params![number, 1]).ok()?;
        if rows.next().is_ok() {
            return Some(number);
        }
        tried += 1;
        if tried > TRIED_SINGLY {
            step = step.saturating_mul(2);
        }
    }
}
