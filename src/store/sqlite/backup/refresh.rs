//! Bringing the files of rows up to date with a table.

use std::collections::BTreeMap;

use rusqlite::Connection;

use super::error::Result;
use super::part::Span;
use super::rows::{RowsDigest, decode, encode};
use super::session::Session;
use super::table::{Slice, Tabled, is_among, read_heads, read_slice};
use crate::store::sqlite::SqliteStore;

/// Files of rows that are joined have no more bytes together.
const FILE_BYTES: u64 = 4 << 20;
/// A file of rows with fewer bytes is written again together with what comes behind it.
const SMALL_FILE_BYTES: u64 = 1 << 20;

/// Lends connections that read.
pub(super) trait Reads {
    fn read<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T>;
}

/// Each read sees the store as it is then.
pub(super) struct Sliced<'a>(pub(super) &'a SqliteStore);

/// All reads see one state.
pub(super) struct Pinned<'a>(pub(super) &'a Connection);

impl Reads for Sliced<'_> {
    fn read<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        self.0.read(|db| Ok(work(db)))?
    }
}

impl Reads for Pinned<'_> {
    fn read<T>(&self, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        work(self.0)
    }
}

/// Which rows are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    /// All; small files are joined.
    All,
    /// All that changed or came.
    Changed,
    /// Those behind the last that was copied.
    New,
}

impl Session<'_, '_, '_> {
    /// The spans of a kind in the last backup.
    pub(super) fn spans<R: Tabled>(&mut self) -> Vec<Span> {
        let Some(last) = &self.last else {
            return Vec::new();
        };
        let mut spans = Vec::new();
        for (part, sum) in &last.files {
            if let Some(span) = R::span(part) {
                spans.push(span);
                self.sums.insert(part.clone(), *sum);
            }
        }
        spans.sort();
        spans
    }

    /// Brings the spans up to date with the rows, and puts those that are new.
    pub(super) fn refresh<R: Tabled>(
        &mut self,
        reads: &impl Reads,
        spans: &mut Vec<Span>,
        extent: Extent,
    ) -> Result<()> {
        let joins = |bytes: u64| extent == Extent::All && bytes < SMALL_FILE_BYTES;
        let (mut from, mut group, mut bytes) = (1, Vec::new(), 0);
        for span in std::mem::take(spans) {
            let more = self.sums.get(&R::part(span)).map_or(0, |sum| sum.bytes);
            let fits = joins(bytes) && bytes + more <= FILE_BYTES;
            if !group.is_empty() && !fits {
                from = self.bring_up::<R>(reads, from, &group, extent, spans)?;
                group.clear();
                bytes = 0;
            }
            group.push(span);
            bytes += more;
        }
        // What is new joins the last file. It can lie among the last numbers that a file is named for,
        // too: where a collection had removed the rows at the end, a restore gives their numbers again.
        if !group.is_empty() && !joins(bytes) {
            from = self.bring_up::<R>(reads, from, &group, Extent::Changed, spans)?;
        }
        self.write::<R>(reads, from, i64::MAX, spans)
    }

    /// Brings the rows from a number to the end of these spans up to date, and gives the next number.
    fn bring_up<R: Tabled>(
        &mut self,
        reads: &impl Reads,
        from: i64,
        group: &[Span],
        extent: Extent,
        spans: &mut Vec<Span>,
    ) -> Result<i64> {
        let last = group.last().map_or(from, |span| span.last);
        match group {
            [span] if extent == Extent::New || self.is_same::<R>(reads, from, *span)? => {
                spans.push(*span);
            }
            _ => self.write::<R>(reads, from, last, spans)?,
        }
        Ok(last.saturating_add(1))
    }

    /// True if a span holds what the rows are that lie from `first` to its end.
    fn is_same<R: Tabled>(&mut self, reads: &impl Reads, first: i64, span: Span) -> Result<bool> {
        self.go_on()?;
        let mut digest = RowsDigest::default();
        let mut large = Vec::new();
        let sound = reads.read(|db| {
            read_heads::<R>(db, first, span.last, &mut |head| {
                digest.add(head.number, &head.mark);
                large.extend(head.large);
            })
        })?;
        let same = sound && digest.finish() == span.digest;
        if same {
            self.large
                .extend(large.into_iter().map(|blob| (blob.id, blob)));
        }
        Ok(same)
    }

    /// Puts the rows between two numbers as they are now. What cannot be read is taken from the last
    /// backup.
    fn write<R: Tabled>(
        &mut self,
        reads: &impl Reads,
        from: i64,
        to: i64,
        spans: &mut Vec<Span>,
    ) -> Result<()> {
        let mut next = Some(from);
        while let Some(first) = next {
            self.go_on()?;
            let slice = reads.read(|db| {
                let slice = read_slice::<R>(db, first, to)?;
                Ok(self.with_lost(db, slice))
            })?;
            next = slice.next;
            self.lacks |= !slice.lost.is_empty();
            for fault in slice.faults {
                self.found(fault)?;
            }
            let rows = slice.rows;
            let Some(end) = rows.last().map(R::number) else {
                continue;
            };
            let last = next.map_or(if to == i64::MAX { end } else { to }, |next| next - 1);
            let mut digest = RowsDigest::default();
            for row in &rows {
                digest.add(row.number(), &row.mark());
                let large = row.large();
                self.large.extend(large.map(|blob| (blob.id, blob)));
            }
            let digest = digest.finish();
            let span = Span {
                first,
                last,
                digest,
            };
            self.put(R::part(span), &encode(&rows))?;
            spans.push(span);
        }
        Ok(())
    }

    /// The slice with those rows of the last backup that cannot be read now. What was deleted or written
    /// anew since, such as a token that was revoked, does not come back beside them.
    fn with_lost<R: Tabled>(&self, db: &Connection, mut slice: Slice<R>) -> Slice<R> {
        if slice.lost.is_empty() {
            return slice;
        }
        let mut all: BTreeMap<i64, R> = BTreeMap::new();
        let parts = self.last.iter().flat_map(|backup| backup.files.keys());
        let overlapping = parts.filter(|part| {
            R::span(part).is_some_and(|span| {
                let mut lost = slice.lost.iter();
                lost.any(|lost| span.first <= *lost.end() && *lost.start() <= span.last)
            })
        });
        for part in overlapping {
            let kept = self.place.read(part);
            let kept = kept
                .and_then(|bytes| decode::<R>(&bytes).ok())
                .unwrap_or_default();
            let kept = kept
                .into_iter()
                .filter(|row| is_among(&slice.lost, row.number()) && !row.is_gone(db, &slice.lost));
            all.extend(kept.map(|row| (row.number(), row)));
        }
        all.extend(slice.rows.drain(..).map(|row| (row.number(), row)));
        slice.rows = all.into_values().collect();
        slice
    }
}
