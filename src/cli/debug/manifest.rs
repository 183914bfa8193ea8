//! The nodes of a revision's tree.

use serde::Serialize;

use super::report;
use super::shown::totals_text;
use crate::base::digest::byte_count;
use crate::base::id::{Kind, ManifestId, NodeId};
use crate::cli::open_store::OpenStore;
use crate::cli::output;
use crate::cli::output::visible;
use crate::cli::{Outcome, Result, Streams};
use crate::manifest::check::unreadable;
use crate::manifest::{NodeSource, Nodes};
use crate::object::node::{Node, Totals, Value};
use crate::repo::Revision;

/// A tree as JSON: its nodes in the order in which a walk meets them.
#[derive(Serialize)]
struct Shown {
    manifest: ManifestId,
    totals: Totals,
    nodes: Vec<Place>,
}

/// A node and where it was met; one that cannot be read has no measures.
#[derive(Serialize)]
struct Place {
    node: NodeId,
    /// The folder that it is part of: empty, or ending in a slash.
    folder: String,
    /// How many nodes are above it.
    depth: usize,
    #[serde(flatten)]
    measures: Option<Measures>,
}

/// How large a node is.
#[derive(Serialize)]
struct Measures {
    level: u8,
    items: usize,
    bytes: u64,
}

impl Measures {
    fn of(node: &Node) -> Self {
        Self {
            level: node.level,
            items: node.items.len(),
            bytes: byte_count(&node.encode()),
        }
    }
}

/// `debug manifest`.
pub(super) fn run(
    opened: &OpenStore,
    revision: &Revision,
    json: bool,
    streams: &mut Streams<'_>,
) -> Result<Outcome> {
    let nodes = opened.projects.nodes();
    let id = revision.manifest();
    let manifest = nodes.manifest(id)?;
    let mut findings = Vec::new();
    if json {
        let mut places = Vec::new();
        each_node(nodes, manifest.root, &mut findings, &mut |place, _| {
            places.push(place);
            Ok(())
        })?;
        let shown = Shown {
            manifest: id,
            totals: manifest.totals,
            nodes: places,
        };
        output::write_json(streams.out, &shown)?;
    } else {
        let totals = totals_text(manifest.totals);
        writeln!(streams.out, "manifest {id}: {totals}")?;
        each_node(nodes, manifest.root, &mut findings, &mut |place, label| {
            let indent = 2 * place.depth;
            let (label, node) = (visible(label), place.node);
            write!(streams.out, "{:indent$}{label}  node {node}  ", "")?;
            match &place.measures {
                None => writeln!(streams.out, "unreadable")?,
                Some(Measures {
                    level,
                    items,
                    bytes,
                }) => {
                    writeln!(streams.out, "level {level}, {items} items, {bytes} bytes")?;
                }
            }
            Ok(())
        })?;
    }
    report(&findings, streams)
}

/// Calls with every node of a tree, each before those below it, and a label for people: the last
/// segment of the folder, or the last name in a part of it.
fn each_node(
    nodes: &Nodes,
    root: NodeId,
    findings: &mut Vec<String>,
    show: &mut dyn FnMut(Place, &str) -> Result<()>,
) -> Result<()> {
    // A tree may be as deep as its paths have segments, times the levels of each folder: the nodes
    // that are left are kept here, the nearest last.
    let mut left = vec![(root, String::new(), "/".to_owned(), 0)];
    while let Some((id, folder, label, depth)) = left.pop() {
        let node = nodes.node(id);
        let place = |measures| Place {
            node: id,
            folder: folder.clone(),
            depth,
            measures,
        };
        let node = match node {
            Ok(node) => node,
            Err(e) => {
                findings.push(unreadable(Kind::Node, id.into(), &e));
                show(place(None), &label)?;
                continue;
            }
        };
        show(place(Some(Measures::of(&node))), &label)?;
        for item in node.items.iter().rev() {
            let name = &item.key.name;
            left.extend(match &item.value {
                Value::File(_) => None,
                Value::Directory(below) => Some((
                    below.root,
                    format!("{folder}{name}/"),
                    format!("{name}/"),
                    depth + 1,
                )),
                Value::Subtree(below) => {
                    Some((below.node, folder.clone(), format!("…{name}"), depth + 1))
                }
            });
        }
    }
    Ok(())
}
