//! One object: what it is and what it says.

use std::io;

use super::super::opened::Opened;
use super::super::output::visible;
use super::super::{Error, Outcome, Result, Streams};
use super::report;
use crate::base::digest::{BodyDigests, BodyHasher, byte_count, object_id};
use crate::base::id::{Kind, ObjectId};
use crate::base::limits::READ_CHUNK_BYTES;
use crate::object::manifest::Manifest;
use crate::object::node::{Item, Node, Totals, Value};
use crate::store::{Body, StoredObject};

/// The shortest start of an id that is taken for one, in digits.
const PREFIX_DIGITS_MIN: usize = 4;
/// Most ids shown when several begin alike.
const ALIKE_SHOWN_MAX: usize = 10;
/// Digits of a whole id.
const ID_DIGITS: usize = 2 * ObjectId::BYTES;

/// `debug object`.
pub(super) fn run(
    opened: &Opened,
    id: &str,
    raw: bool,
    streams: &mut Streams<'_>,
) -> Result<Outcome> {
    let id = whole_id(opened, id)?;
    let stored = opened.store.object(id)?;
    let stored = stored.ok_or_else(|| Error::Failed(format!("object {id} is gone")))?;
    if raw {
        each_piece(&stored, |piece| streams.out.write_all(piece))?;
        return Ok(Outcome::Fine);
    }
    let StoredObject { kind, size, .. } = &stored;
    writeln!(
        streams.out,
        "id        {id}\nkind      {kind}\nsize      {size}"
    )?;
    let finding = match &stored.body {
        Body::Inline(bytes) if *kind != Kind::Blob => {
            show_structure(*kind, bytes, streams)?;
            (object_id(*kind, bytes) != id).then(|| "its row holds other bytes".to_owned())
        }
        _ => show_blob(&stored, id, streams)?,
    };
    let findings: Vec<_> = finding
        .map(|reason| format!("{kind} {id} is damaged: {reason}"))
        .into_iter()
        .collect();
    report(&findings, streams)
}

/// The one id that begins so.
fn whole_id(opened: &Opened, text: &str) -> Result<ObjectId> {
    let is_digit = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
    if !(PREFIX_DIGITS_MIN..=ID_DIGITS).contains(&text.len()) || !text.bytes().all(is_digit) {
        let reason = format!(
            "«{}» must be {PREFIX_DIGITS_MIN} to {ID_DIGITS} lower-case hexadecimal digits",
            visible(text)
        );
        return Err(Error::Usage(reason));
    }
    let even = &text[..text.len() & !1];
    let prefix = hex::decode(even).expect("an even number of hexadecimal digits");
    let mut ids = opened.store.ids_with_prefix(&prefix, usize::MAX)?;
    ids.retain(|id| id.to_string().starts_with(text));
    match ids.as_slice() {
        [] => Err(Error::Failed(format!("no object begins with {text}"))),
        [id] => Ok(*id),
        several => {
            let shown: Vec<_> = several
                .iter()
                .take(ALIKE_SHOWN_MAX)
                .map(|id| format!("\n  {id}"))
                .collect();
            let reason = format!(
                "{} objects begin with {text}:{}",
                several.len(),
                shown.concat()
            );
            Err(Error::Failed(reason))
        }
    }
}

/// Shows a node or a manifest, as far as its bytes can be read.
fn show_structure(kind: Kind, bytes: &[u8], streams: &mut Streams<'_>) -> Result<()> {
    let out = &mut streams.out;
    if kind == Kind::Manifest {
        match Manifest::decode(bytes) {
            Ok(manifest) => {
                let Manifest { root, totals } = manifest;
                writeln!(out, "root      {root}\ntotals    {}", totals_text(&totals))?;
            }
            Err(e) => writeln!(out, "undecodable: {e}")?,
        }
        return Ok(());
    }
    match Node::decode(bytes) {
        Ok(node) => {
            writeln!(
                out,
                "level     {}\nitems     {}",
                node.level,
                node.items.len()
            )?;
            for item in &node.items {
                writeln!(out, "{}", item_text(item))?;
            }
        }
        Err(e) => writeln!(out, "undecodable: {e}")?,
    }
    Ok(())
}

fn item_text(item: &Item) -> String {
    let name = visible(&item.key.name);
    let slash = if item.key.directory { "/" } else { "" };
    match &item.value {
        Value::File(file) => {
            let mode = if file.executable {
                "executable"
            } else {
                "file"
            };
            format!(
                "  {name}  {mode} {} bytes md5 {} git {} blob {}",
                file.size, file.md5, file.git, file.blob
            )
        }
        Value::Directory(below) => {
            let totals = totals_text(&below.totals);
            format!("  {name}/  directory {totals} node {}", below.root)
        }
        Value::Subtree(below) => {
            let totals = totals_text(&below.totals);
            format!(
                "  …{name}{slash}  {} entries {totals} node {}",
                below.entries, below.node
            )
        }
    }
}

/// Totals in words.
pub(super) fn totals_text(totals: &Totals) -> String {
    let Totals {
        files,
        directories,
        bytes,
    } = totals;
    format!("{files} files, {directories} directories, {bytes} bytes")
}

/// Shows a blob's digests; answers what is wrong with it.
fn show_blob(
    stored: &StoredObject,
    id: ObjectId,
    streams: &mut Streams<'_>,
) -> Result<Option<String>> {
    let place = match stored.body {
        Body::Inline(_) => "row",
        Body::Large(_) => "file",
    };
    writeln!(streams.out, "lies in   a {place}")?;
    let digests = match digests_of(stored) {
        Ok(digests) => digests,
        Err(e) => return Ok(Some(format!("its {place} cannot be read: {e}"))),
    };
    let BodyDigests {
        md5, git, sha256, ..
    } = digests;
    writeln!(
        streams.out,
        "sha256    {sha256}\nmd5       {md5}\ngit       {git}"
    )?;
    Ok(if ObjectId::from(digests.blob) != id {
        Some(format!("its {place} holds other bytes"))
    } else if stored.sha256 != Some(sha256) {
        Some("its row's SHA-256 is not that of its bytes".to_owned())
    } else {
        None
    })
}

/// Digests a stored object's bytes.
pub(super) fn digests_of(stored: &StoredObject) -> io::Result<BodyDigests> {
    let mut hasher = BodyHasher::new(stored.size);
    each_piece(stored, |piece| {
        hasher.update(piece);
        Ok(())
    })?;
    Ok(hasher.finish())
}

/// Calls with all bytes of a stored object, in order.
fn each_piece(
    stored: &StoredObject,
    mut take: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<()> {
    let large = match &stored.body {
        Body::Inline(bytes) => return take(bytes),
        Body::Large(large) => large,
    };
    let mut chunk = vec![0; READ_CHUNK_BYTES];
    let mut offset = 0;
    while offset < stored.size {
        let left = usize::try_from(stored.size - offset).unwrap_or(usize::MAX);
        let piece = &mut chunk[..left.min(READ_CHUNK_BYTES)];
        large.read_exact_at(piece, offset)?;
        take(piece)?;
        offset += byte_count(piece);
    }
    Ok(())
}
