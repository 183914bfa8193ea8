//! Nodes of a damaged store: one that cannot be read is told and taken for an empty one.

use std::cell::RefCell;
use std::sync::Arc;

use crate::base::id::{Kind, NodeId};
use crate::manifest::check::unreadable;
use crate::manifest::{NodeSource, Nodes};
use crate::object::node::Node;
use crate::store::Result;

/// The nodes of a store, and what could not be read of them.
pub(super) struct Tolerant<'a> {
    nodes: &'a Nodes,
    findings: RefCell<Vec<String>>,
}

impl<'a> Tolerant<'a> {
    pub(super) fn new(nodes: &'a Nodes) -> Self {
        Self {
            nodes,
            findings: RefCell::default(),
        }
    }

    /// What was wrong, a sentence each.
    pub(super) fn into_findings(self) -> Vec<String> {
        let mut findings = self.findings.into_inner();
        findings.sort();
        findings.dedup();
        findings
    }
}

impl NodeSource for Tolerant<'_> {
    fn node(&self, id: NodeId) -> Result<Arc<Node>> {
        Ok(self.nodes.node(id).unwrap_or_else(|e| {
            let finding = unreadable(Kind::Node, id.into(), &e);
            self.findings.borrow_mut().push(finding);
            Arc::new(Node::empty())
        }))
    }
}
