//! The nodes of a revision's tree.

use super::super::opened::Opened;
use super::super::output::visible;
use super::super::{Outcome, Result, Streams};
use super::object::totals_text;
use super::report;
use crate::base::id::NodeId;
use crate::manifest::{NodeSource, Nodes};
use crate::object::node::Value;
use crate::repo::Revision;

/// `debug manifest`.
pub(super) fn run(
    opened: &Opened,
    revision: &Revision,
    streams: &mut Streams<'_>,
) -> Result<Outcome> {
    let nodes = opened.repository.nodes();
    let id = revision.manifest();
    let manifest = nodes.manifest(id)?;
    let totals = totals_text(&manifest.totals);
    writeln!(streams.out, "manifest {id}: {totals}")?;
    let mut tree = Tree {
        nodes,
        findings: Vec::new(),
        streams,
    };
    tree.show(manifest.root, "/", 0)?;
    let Tree {
        findings, streams, ..
    } = tree;
    report(&findings, streams)
}

struct Tree<'a, 'b> {
    nodes: &'a Nodes,
    findings: Vec<String>,
    streams: &'a mut Streams<'b>,
}

impl Tree<'_, '_> {
    /// Shows a node and those below it, a line each; one that cannot be read is shown as such.
    fn show(&mut self, id: NodeId, label: &str, depth: usize) -> Result<()> {
        let indent = 2 * depth;
        let label = visible(label);
        let node = match self.nodes.node(id) {
            Ok(node) => node,
            Err(e) => {
                writeln!(
                    self.streams.out,
                    "{:indent$}{label}  node {id}  unreadable",
                    ""
                )?;
                self.findings.push(e.to_string());
                return Ok(());
            }
        };
        writeln!(
            self.streams.out,
            "{:indent$}{label}  node {id}  level {}, {} items, {} bytes",
            "",
            node.level,
            node.items.len(),
            node.encode().len()
        )?;
        for item in &node.items {
            match &item.value {
                Value::File(_) => {}
                Value::Directory(below) => {
                    self.show(below.root, &format!("{}/", item.key.name), depth + 1)?;
                }
                Value::Subtree(below) => {
                    self.show(below.node, &format!("…{}", item.key.name), depth + 1)?;
                }
            }
        }
        Ok(())
    }
}
