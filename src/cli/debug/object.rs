//! One object: what it is and what it says.

use std::io::{self, Write};

use serde::Serialize;

use super::report;
use super::shown::{Says, fault_of, read, totals_text};
use crate::base::digest::BodyHasher;
use crate::base::id::{ObjectId, is_lower_hex};
use crate::cli::open_store::OpenStore;
use crate::cli::output;
use crate::cli::output::quoted;
use crate::cli::{Error, Outcome, Result, Streams};
use crate::store::{Body, StoreError, StoredObject};

/// The shortest start of an id that is taken for one, in digits.
const PREFIX_DIGITS_MIN: usize = 4;
/// Most ids shown when several begin alike.
const ALIKE_SHOWN_MAX: usize = 10;
/// Digits of a whole id.
const ID_DIGITS: usize = 2 * ObjectId::BYTES;

/// An object as it is shown.
#[derive(Serialize)]
struct Shown {
    id: String,
    kind: &'static str,
    size: u64,
    #[serde(flatten)]
    says: Says,
    findings: Vec<String>,
}

/// `debug object --raw`. Bytes that are not the object's are written too, and told as that.
pub(super) fn write_raw(
    opened: &OpenStore,
    id: &str,
    streams: &mut Streams<'_>,
) -> Result<Outcome> {
    let (id, stored) = find(opened, id)?;
    let fault = write_bytes(id, &stored, streams.out)?;
    let findings: Vec<_> = fault
        .map(|fault| damaged(id, &stored, &fault))
        .into_iter()
        .collect();
    report(&findings, streams)
}

/// Writes an object's bytes, and gives what is wrong with them, if anything.
fn write_bytes(id: ObjectId, stored: &StoredObject, out: &mut dyn Write) -> Result<Option<String>> {
    let unreadable = |e| Error::Failed(format!("reading the object: {e}"));
    let mut hasher = BodyHasher::new(stored.size);
    stored.body.each_piece(stored.size, unreadable, |piece| {
        hasher.update(piece);
        Ok(out.write_all(piece)?)
    })?;
    Ok(match stored.body {
        Body::Inline(_) => read(id, stored)?.1,
        // It may be long: what was written is not read once more.
        Body::Large(_) => fault_of(id, stored, &hasher.finish()),
    })
}

fn damaged(id: ObjectId, stored: &StoredObject, fault: &str) -> String {
    format!("{} {id} is damaged: {fault}", stored.kind)
}

/// `debug object`.
pub(super) fn run(
    opened: &OpenStore,
    id: &str,
    json: bool,
    streams: &mut Streams<'_>,
) -> Result<Outcome> {
    let (id, stored) = find(opened, id)?;
    let (says, fault) = read(id, &stored)?;
    let findings = fault.map(|fault| damaged(id, &stored, &fault));
    let shown = Shown {
        id: id.to_string(),
        kind: stored.kind.name(),
        size: stored.size,
        says,
        findings: findings.into_iter().collect(),
    };
    if json {
        output::write_json(streams.out, &shown)?;
    } else {
        show(&shown, streams.out)?;
    }
    report(&shown.findings, streams)
}

/// The one object whose id begins so.
fn find(opened: &OpenStore, text: &str) -> Result<(ObjectId, StoredObject)> {
    let id = whole_id(opened, text)?;
    let stored = opened.store.object(id)?;
    let stored = stored.ok_or_else(|| Error::Failed(format!("no object begins with {text}")))?;
    Ok((id, stored))
}

/// The one id that begins so.
fn whole_id(opened: &OpenStore, text: &str) -> Result<ObjectId> {
    if let Ok(id) = text.parse() {
        return Ok(id);
    }
    if !(PREFIX_DIGITS_MIN..=ID_DIGITS).contains(&text.len()) || !is_lower_hex(text.as_bytes()) {
        let reason = format!(
            "{} must be {PREFIX_DIGITS_MIN} to {ID_DIGITS} lower-case hexadecimal digits",
            quoted(text)
        );
        return Err(Error::Usage(reason));
    }
    let mut ids = ids_beginning(opened, text)?;
    ids.retain(|id| id.to_string().starts_with(text));
    match ids.as_slice() {
        [] => Err(Error::Failed(format!("no object begins with {text}"))),
        [id] => Ok(*id),
        several => {
            let shown = several.iter().take(ALIKE_SHOWN_MAX);
            let shown: Vec<_> = shown.map(ToString::to_string).collect();
            Err(Error::Usage(format!(
                "{} objects begin with {text}; add digits:\n  {}",
                several.len(),
                shown.join("\n  ")
            )))
        }
    }
}

/// Ids that begin with these digits, the last one apart where it is alone.
fn ids_beginning(opened: &OpenStore, text: &str) -> Result<Vec<ObjectId>> {
    let whole_bytes = &text[..text.len() & !1];
    let prefix = hex::decode(whole_bytes).expect("an even number of hexadecimal digits");
    match opened.store.ids_with_prefix(&prefix, usize::MAX) {
        // Without an index to ask, all rows are looked at.
        Err(StoreError::Engine(_) | StoreError::DamagedEngine { .. }) => {
            let mut ids = Vec::new();
            let inspectable = opened.inspectable();
            inspectable.survey_objects(&mut |row| ids.extend(row.ok().map(|row| row.id)))?;
            Ok(ids)
        }
        ids => Ok(ids?),
    }
}

fn show(shown: &Shown, out: &mut dyn Write) -> io::Result<()> {
    let Shown { id, kind, size, .. } = shown;
    writeln!(out, "id        {id}\nkind      {kind}\nsize      {size}")?;
    match &shown.says {
        Says::Blob {
            lies_in,
            sha256,
            md5,
            git,
        } => {
            writeln!(out, "lies in   a {lies_in}")?;
            if let (Some(sha256), Some(md5), Some(git)) = (sha256, md5, git) {
                writeln!(out, "sha256    {sha256}\nmd5       {md5}\ngit       {git}")?;
            }
            Ok(())
        }
        Says::Manifest { root, totals } => {
            writeln!(out, "root      {root}\ntotals    {}", totals_text(*totals))
        }
        Says::Node { level, items } => {
            writeln!(out, "level     {level}\nitems     {}", items.len())?;
            items
                .iter()
                .try_for_each(|item| writeln!(out, "{}", item.text()))
        }
        Says::Nothing {} => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::base::id::Kind;
    use crate::store::LargeBody;

    #[derive(Debug)]
    struct Unreadable;

    impl LargeBody for Unreadable {
        fn read_exact_at(&self, _: &mut [u8], _: u64) -> io::Result<()> {
            Err(io::Error::other("a bad sector"))
        }
    }

    #[test]
    fn bytes_that_cannot_be_read_are_told_as_that() {
        let stored = StoredObject {
            kind: Kind::Blob,
            size: 9,
            sha256: None,
            body: Body::Large(Arc::new(Unreadable)),
        };
        let id = ObjectId::from_bytes([0; ObjectId::BYTES]);
        let failed = write_bytes(id, &stored, &mut io::sink()).unwrap_err();
        assert_eq!(failed.to_string(), "reading the object: a bad sector");
    }
}
