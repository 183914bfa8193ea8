//! Proving that a change keeps to the rules of its project, before it waits for its branch.

use std::collections::HashMap;
use std::sync::Arc;

use super::apply::Head;
use super::{Job, Proven, WholeChange};
use crate::base::id::NodeId;
use crate::manifest::{Draft, Editor};
use crate::repo::validation::check::{Proofs, Trial};
use crate::repo::{Branch, Project, Result};

/// What must hold of a change before it waits for its branch: each file that it adds or changes passes the
/// rules of its project. Without rules nothing is looked at.
///
/// # Errors
/// [`crate::repo::Error::Invalid`] names the files that break rules. What else prevents the change is left to be said
/// when it is made.
pub(in crate::repo) fn change(branch: &Branch, job: &mut Job) -> Result<()> {
    let Proven::These(proofs, whole) = &mut job.proven else {
        return Ok(());
    };
    let project = &branch.project;
    let shared = &project.projects.shared;
    let kept = project.require_project()?;
    let Some(rules) = shared.validation.rules(project.number(), &kept)? else {
        return Ok(());
    };
    let proofs = proofs.clone();
    *whole = None;
    let mut head = Head::of(branch)?;
    let old = head.manifest.root;
    if head.apply(job).is_err() {
        return Ok(());
    }
    let new = head.manifest.root;
    let brought = Arc::clone(&job.change);
    let files: HashMap<_, _> = brought
        .files()
        .into_iter()
        .map(|file| (file.blob(), file))
        .collect();
    let content = |blob| match files
        .get(&blob)
        .map(|file| file.bytes())
        .transpose()?
        .flatten()
    {
        Some(bytes) => Ok(bytes),
        None => project.bytes_of(blob),
    };
    let mut trial = Trial::new(&shared.validation, &rules, &proofs, &content);
    let _flow = rules.demands(&head.draft, old, new, &mut |demand| trial.take(demand))?;
    trial.end()?;
    let rules = kept.version;
    job.proven = Proven::These(proofs, Some(WholeChange { rules, old, new }));
    Ok(())
}

/// What must hold of a tree that is to be the first of a branch.
///
/// # Errors
/// As [`change`].
pub(in crate::repo) fn first(project: &Project, root: NodeId) -> Result<()> {
    let shared = &project.projects.shared;
    let kept = project.require_project()?;
    let Some(rules) = shared.validation.rules(project.number(), &kept)? else {
        return Ok(());
    };
    let mut draft = Draft::new(project.projects.nodes());
    let (_, empty) = Editor::empty().finish(&mut draft)?;
    let (proofs, content) = (Proofs::default(), |blob| project.bytes_of(blob));
    let mut trial = Trial::new(&shared.validation, &rules, &proofs, &content);
    let _flow = rules.demands(&draft, empty.root, root, &mut |demand| trial.take(demand))?;
    trial.end()
}
