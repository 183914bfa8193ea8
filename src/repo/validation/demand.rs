//! What the rules of a project demand of a change: which files it adds or changes that must be checked,
//! and what it may not do to a schema.

use std::fmt;
use std::ops::ControlFlow;

use super::rules::Rules;
use super::text::Place;
use crate::base::id::{BlobId, NodeId};
use crate::manifest::diff::each;
use crate::manifest::lookup::Found;
use crate::manifest::{NodeSource, lookup};
use crate::object::node::FileEntry;
use crate::object::record::Check;
use crate::repo::Result;
use crate::store;

/// That bytes pass a check. It is true of them for ever, wherever they lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::repo) enum Proof {
    /// The blob is JSON.
    Json(BlobId),
    /// The blob is well-formed XML.
    Xml(BlobId),
    /// The blob is YAML.
    Yaml(BlobId),
    /// The blob is a schema.
    IsSchema(BlobId),
    /// A schema allows the blob.
    Allowed {
        blob: BlobId,
        schema: BlobId,
        is_yaml: bool,
    },
}

/// A file that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// Its path.
    pub path: String,
    /// Where in it; `None` where it is about the file as a whole.
    pub place: Option<Place>,
    /// The number of the rule, from 1 on.
    pub rule: usize,
    /// What the rule is called.
    pub rule_name: String,
    /// What is wrong.
    pub reason: String,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path)?;
        if let Some(place) = self.place {
            write!(f, ":{place}")?;
        }
        write!(f, ": {}: {}", self.rule_name, self.reason)
    }
}

/// Something that must hold of a change.
#[derive(Clone, Debug)]
pub(in crate::repo) enum Demand {
    /// A file passes a check.
    Check {
        path: String,
        rule: usize,
        size: u64,
        proof: Proof,
    },
    /// It does not hold.
    Broken(Broken),
}

impl Rules {
    /// Visits what must hold of a change from one tree to another, in the order of the paths: of files that
    /// it adds, or gives other bytes.
    pub(in crate::repo) fn demands(
        &self,
        source: &impl NodeSource,
        old: NodeId,
        new: NodeId,
        visit: &mut dyn FnMut(Demand) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>> {
        let mut failed = None;
        let flow = each(source, old, new, None, &mut |change| {
            let path = &change.path;
            let demands = match (change.old, change.new) {
                (Some(old), Some(new)) if old.blob == new.blob => Ok(Vec::new()),
                (_, Some(file)) => self.of_file(source, new, path, &file),
                (_, None) => Ok(self.of_removed(path)),
            };
            match demands {
                Ok(demands) => demands.into_iter().try_for_each(&mut *visit),
                Err(error) => {
                    failed = Some(error);
                    ControlFlow::Break(())
                }
            }
        })?;
        failed.map_or(Ok(flow), |error| Err(error.into()))
    }

    /// What must hold of a file in the tree with this root.
    pub(super) fn of_file(
        &self,
        source: &impl NodeSource,
        root: NodeId,
        path: &str,
        file: &FileEntry,
    ) -> store::Result<Vec<Demand>> {
        let mut demands = Vec::new();
        let mut demand = |rule, proof| {
            demands.push(Demand::Check {
                path: path.to_owned(),
                rule,
                size: file.size,
                proof,
            });
        };
        if let Some(rule) = self.with_schema(path) {
            demand(rule, Proof::IsSchema(file.blob));
        }
        let mut missing = Vec::new();
        for number in self.of_path(path) {
            let rule = self.rule(number);
            match (rule.check, &rule.schema) {
                (Check::Json, _) => demand(number, Proof::Json(file.blob)),
                (Check::Xml, _) => demand(number, Proof::Xml(file.blob)),
                (Check::Yaml, _) => demand(number, Proof::Yaml(file.blob)),
                (Check::Schema, Some(at)) => match lookup::path(source, root, at)? {
                    Some(Found::File(schema)) => demand(
                        number,
                        Proof::Allowed {
                            blob: file.blob,
                            schema: schema.blob,
                            is_yaml: is_yaml(path),
                        },
                    ),
                    _ => missing.push((number, at)),
                },
                (Check::Schema, None) => {}
            }
        }
        for (rule, at) in missing {
            let reason =
                format!("the branch has no \"{at}\"; save it before, or in the same batch");
            demands.push(Demand::Broken(self.broken(path, rule, None, reason)));
        }
        Ok(demands)
    }

    /// What must hold of a change that removes a file.
    fn of_removed(&self, path: &str) -> Vec<Demand> {
        let broken = self.with_schema(path).map(|rule| {
            let reason =
                "it is the rule's schema and cannot be removed; change the rule first".to_owned();
            Demand::Broken(self.broken(path, rule, None, reason))
        });
        broken.into_iter().collect()
    }

    /// A file that breaks the rule of this number, from 0 on.
    pub(super) fn broken(
        &self,
        path: &str,
        rule: usize,
        place: Option<Place>,
        reason: String,
    ) -> Broken {
        Broken {
            path: path.to_owned(),
            place,
            rule: rule + 1,
            rule_name: self.name(rule),
            reason,
        }
    }
}

/// True for a name of YAML; what has another is taken for JSON.
fn is_yaml(path: &str) -> bool {
    let (_, extension) = path.rsplit_once('.').unwrap_or_default();
    ["yaml", "yml"]
        .iter()
        .any(|yaml| extension.eq_ignore_ascii_case(yaml))
}
