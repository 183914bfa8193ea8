//! Objects, files and totals as they are shown, in words or as JSON.

use std::io;

use serde::Serialize;

use crate::base::digest::{BodyDigests, BodyHasher, object_id};
use crate::base::id::{GitId, Kind, Md5, NodeId, ObjectId, Sha256};
use crate::cli::file::shown::File;
use crate::cli::output::visible;
use crate::object::manifest::Manifest;
use crate::object::node::{Item, Node, Totals, Value};
use crate::store;
use crate::store::{Body, StoreError, StoredObject};

/// What an object says.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Says {
    Blob {
        lies_in: &'static str,
        sha256: Option<Sha256>,
        md5: Option<Md5>,
        git: Option<GitId>,
    },
    Manifest {
        root: NodeId,
        totals: Totals,
    },
    Node {
        level: u8,
        items: Vec<ItemShown>,
    },
    Nothing {},
}

/// An item of a node.
#[derive(Serialize)]
pub(super) struct ItemShown {
    name: String,
    #[serde(flatten)]
    value: ValueShown,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(super) enum ValueShown {
    File(File),
    Directory {
        node: NodeId,
        totals: Totals,
    },
    Subtree {
        node: NodeId,
        entries: u64,
        totals: Totals,
    },
}

impl From<&Item> for ItemShown {
    fn from(item: &Item) -> Self {
        let value = match item.value {
            Value::File(file) => ValueShown::File(file.into()),
            Value::Directory(below) => ValueShown::Directory {
                node: below.root,
                totals: below.totals,
            },
            Value::Subtree(below) => ValueShown::Subtree {
                node: below.node,
                entries: below.counts.entries,
                totals: below.counts.totals,
            },
        };
        Self {
            name: item.key.name.to_string(),
            value,
        }
    }
}

impl ItemShown {
    pub(super) fn text(&self) -> String {
        let name = visible(&self.name);
        match &self.value {
            ValueShown::File(file) => format!("  {name}  {}", file.whole_text()),
            ValueShown::Directory { node, totals } => {
                format!("  {name}/  directory {} node {node}", totals_text(*totals))
            }
            ValueShown::Subtree {
                node,
                entries,
                totals,
            } => format!(
                "  …{name}  {entries} entries {} node {node}",
                totals_text(*totals)
            ),
        }
    }
}

/// What is below a node, for a person.
pub(super) fn totals_text(below: Totals) -> String {
    let Totals {
        files,
        directories,
        bytes,
    } = below;
    format!("{files} files, {directories} directories, {bytes} bytes")
}

/// What an object says, as far as it can be read, and what is wrong with it.
///
/// # Errors
/// As [`fault_of_reading`].
pub(super) fn read(id: ObjectId, stored: &StoredObject) -> store::Result<(Says, Option<String>)> {
    let bytes = match &stored.body {
        Body::Inline(bytes) if stored.kind != Kind::Blob => bytes,
        _ => return read_blob(id, stored),
    };
    let says = if stored.kind == Kind::Manifest {
        Manifest::decode(bytes).map(|manifest| Says::Manifest {
            root: manifest.root,
            totals: manifest.totals,
        })
    } else {
        Node::decode(bytes).map(|node| Says::Node {
            level: node.level,
            items: node.items.iter().map(ItemShown::from).collect(),
        })
    };
    let fault = if object_id(stored.kind, bytes) == id {
        says.as_ref().err().map(ToString::to_string)
    } else {
        Some("its row holds other bytes".to_owned())
    };
    Ok((says.unwrap_or(Says::Nothing {}), fault))
}

fn read_blob(id: ObjectId, stored: &StoredObject) -> store::Result<(Says, Option<String>)> {
    let lies_in = match stored.body {
        Body::Inline(_) => "row",
        Body::Large(_) => "file",
    };
    let (digests, fault) = match digests_of(stored) {
        Err(error) => (None, Some(fault_of_reading(error)?)),
        Ok(digests) => (Some(digests), fault_of(id, stored, &digests)),
    };
    let says = Says::Blob {
        lies_in,
        sha256: digests.map(|digests| digests.sha256),
        md5: digests.map(|digests| digests.md5),
        git: digests.map(|digests| digests.git),
    };
    Ok((says, fault))
}

/// What is wrong with a blob whose bytes cannot be read.
///
/// # Errors
/// [`StoreError::BucketAway`]: nothing, as far as is known.
pub(super) fn fault_of_reading(error: io::Error) -> store::Result<String> {
    match error.downcast() {
        Ok(StoreError::Damaged { reason, .. }) => Ok(reason),
        Ok(away @ StoreError::BucketAway) => Err(away),
        Ok(error) => Ok(format!("its bytes cannot be read: {error}")),
        Err(error) => Ok(format!("its bytes cannot be read: {error}")),
    }
}

/// What is wrong with a blob whose bytes have these digests, if anything.
pub(super) fn fault_of(
    id: ObjectId,
    stored: &StoredObject,
    digests: &BodyDigests,
) -> Option<String> {
    let place = match stored.body {
        Body::Inline(_) => "row",
        Body::Large(_) => "file",
    };
    if ObjectId::from(digests.blob) != id {
        Some(format!("its {place} holds other bytes"))
    } else if stored.sha256 != Some(digests.sha256) {
        Some("its row's SHA-256 is not that of its bytes".to_owned())
    } else {
        None
    }
}

/// Digests a stored object's bytes.
pub(super) fn digests_of(stored: &StoredObject) -> io::Result<BodyDigests> {
    let mut hasher = BodyHasher::new(stored.size);
    let as_it_is = |error| error;
    stored.body.each_piece(stored.size, as_it_is, |piece| {
        hasher.update(piece);
        Ok(())
    })?;
    Ok(hasher.finish())
}
