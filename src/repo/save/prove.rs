//! Proving that a change keeps to the rules of its project, before it waits for its branch.

use std::collections::HashMap;
use std::sync::Arc;

use super::apply::Head;
use super::{Job, Proven, WholeChange};
use crate::base::file_path::FilePath;
use crate::base::id::NodeId;
use crate::base::snapshot_version::SnapshotVersion;
use crate::manifest::{Draft, Editor};
use crate::repo::validation::check::{Proofs, Trial};
use crate::repo::validation::effort::Effort;
use crate::repo::validation::rules::Rules;
use crate::repo::{Branch, Project, Result};
use crate::store::Version;

/// What must hold of a change before it waits for its branch: each file that it adds or changes passes the
/// rules of its project. Without rules nothing is looked at.
///
/// # Errors
/// [`crate::repo::Error::Invalid`] names the files that break rules; [`crate::store::StoreError::Busy`] when the checks
/// take too long on this machine now. What else prevents the change is left to be said when it is made.
pub(in crate::repo) fn change(branch: &Branch, job: &mut Job) -> Result<()> {
    let Proven::These(proofs, whole) = &mut job.proven else {
        return Ok(());
    };
    let project = &branch.project;
    let Some((version, rules)) = rules_of(project)? else {
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
    let validation = &project.projects.shared.validation;
    let mut trial = Trial::new(validation, &rules, &proofs, &content);
    let _flow = rules.demands(&head.draft, old, new, &mut |demand| trial.take(demand))?;
    trial.end()?;
    let whole = WholeChange {
        rules: version,
        old,
        new,
    };
    job.proven = Proven::These(proofs, Some(whole));
    Ok(())
}

impl Branch {
    /// Says whether what a rollback would bring back keeps to the rules of the project.
    ///
    /// # Errors
    /// [`crate::repo::Error::Invalid`] names the files that break rules; else those of the rollback.
    pub fn check_rollback(&self, to: SnapshotVersion, paths: &[FilePath]) -> Result<()> {
        let mut head = Head::of(self)?;
        let before = head.manifest.root;
        let (_, after) = head.rolled_back(to, paths)?;
        let effort = Effort::of_rollback(self.project.projects.clock());
        step(&self.project, &head.draft, before, after.root, effort)
    }
}

/// What must hold of a tree that is to be the first of a branch, by an import, which may take as long as it takes.
///
/// # Errors
/// As [`change`].
pub(in crate::repo) fn first(project: &Project, root: NodeId) -> Result<()> {
    let mut draft = Draft::new(project.projects.nodes());
    let (_, empty) = Editor::empty().finish(&mut draft)?;
    step(project, &draft, empty.root, root, Effort::unlimited())
}

/// What must hold of a step from one tree to another whose files are all kept already; both are in the draft
/// or below it.
///
/// # Errors
/// As [`change`].
fn step(
    project: &Project,
    draft: &Draft<'_>,
    old: NodeId,
    new: NodeId,
    effort: Effort,
) -> Result<()> {
    let Some((_, rules)) = rules_of(project)? else {
        return Ok(());
    };
    let validation = &project.projects.shared.validation;
    let (proofs, content) = (Proofs::within(effort), |blob| project.bytes_of(blob));
    let mut trial = Trial::new(validation, &rules, &proofs, &content);
    let _flow = rules.demands(draft, old, new, &mut |demand| trial.take(demand))?;
    trial.end()
}

/// The rules of a project, with the version of the record that has them; `None` where it has none.
fn rules_of(project: &Project) -> Result<Option<(Version, Arc<Rules>)>> {
    let kept = project.require_project()?;
    let validation = &project.projects.shared.validation;
    let rules = validation.rules(project.number(), &kept)?;
    Ok(rules.map(|rules| (kept.version, rules)))
}
