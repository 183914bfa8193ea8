//! Which files of a state break rules.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Serialize;

use super::check::Proofs;
use super::demand::Broken;
use super::effort::Effort;
use super::rules::{Rule, Rules};
use crate::base::file_path::FilePath;
use crate::base::limits::BROKEN_SEARCH_MS_MAX;
use crate::base::may_block;
use crate::manifest::walk;
use crate::object::node::Value;
use crate::repo::{Error, Project, Result, Revision};
use crate::store::Versioned;

/// Files of a state that break rules, in the byte order of their paths.
#[derive(Debug, Default)]
pub struct BrokenPage {
    /// The first break of each file.
    pub files: Vec<Broken>,
    /// The last path that was looked at, where others follow.
    pub next: Option<String>,
}

/// A file that breaks a rule as it is shown, by the API and by the command line.
#[derive(Clone, Debug, Serialize)]
pub struct ShownBroken<'a> {
    /// Its path.
    pub path: &'a str,
    /// The line, `None` where it is about the file as a whole.
    pub line: Option<usize>,
    /// The column in that line.
    pub column: Option<usize>,
    /// The number of the rule, from 1 on.
    pub rule: usize,
    /// What is wrong.
    pub message: &'a str,
}

impl<'a> From<&'a Broken> for ShownBroken<'a> {
    fn from(broken: &'a Broken) -> Self {
        Self {
            path: &broken.path,
            line: broken.place.map(|place| place.line),
            column: broken.place.map(|place| place.column),
            rule: broken.rule,
            message: &broken.reason,
        }
    }
}

impl Project {
    /// The rules for its contents, in the order in which they are counted.
    pub fn rules(&self) -> Vec<Rule> {
        self.record.rules.iter().map(Rule::from).collect()
    }

    /// True if it has any.
    pub fn has_rules(&self) -> bool {
        !self.record.rules.is_empty()
    }

    /// True if the file at this path is the schema of one, or is held against such: even a small one may take long.
    ///
    /// # Errors
    /// [`Error::Invalid`] for rules that cannot be read.
    pub fn needs_schema(&self, path: &FilePath) -> Result<bool> {
        if self.record.rules.iter().all(|rule| rule.schema.is_none()) {
            return Ok(false);
        }
        let validation = &self.projects.shared.validation;
        let kept = Versioned {
            version: self.state(),
            value: Arc::clone(&self.record),
        };
        let rules = may_block(|| validation.rules(self.number(), &kept))?;
        Ok(rules.is_some_and(|rules| rules.need_schema(path.as_str())))
    }
}

impl Revision {
    /// The first files behind a path that break the rules of the project, or these in their place.
    ///
    /// # Errors
    /// [`Error::Invalid`] for rules that cannot be read.
    ///
    /// # Limits
    /// At most `limit`, and what is found in [`BROKEN_SEARCH_MS_MAX`]; one file at least is looked at.
    pub fn broken(
        &self,
        tried: Option<&[Rule]>,
        after: Option<&FilePath>,
        limit: usize,
    ) -> Result<BrokenPage> {
        let rules = match tried {
            Some(rules) => Rules::read(rules)?,
            None => Rules::read(&self.project.rules())?,
        };
        let until = Instant::now() + Duration::from_millis(BROKEN_SEARCH_MS_MAX);
        let validation = &self.project.projects.shared.validation;
        let (proofs, root) = (Proofs::within(Effort::unlimited()), self.root()?);
        let mut page = BrokenPage::default();
        let mut last = None;
        let mut failed: Option<Error> = None;
        let after = after.map(FilePath::as_str);
        let content = |blob| self.project.bytes_of(blob);
        let flow = walk::recursive_from(
            self.nodes(),
            root,
            after.unwrap_or_default(),
            &mut |path, value| {
                let Value::File(file) = value else {
                    return Ok(ControlFlow::Continue(()));
                };
                if after.is_some_and(|after| path <= after) {
                    return Ok(ControlFlow::Continue(()));
                }
                if page.files.len() == limit || (last.is_some() && Instant::now() >= until) {
                    return Ok(ControlFlow::Break(()));
                }
                for demand in rules.of_file(self.nodes(), root, path, file)? {
                    match validation.broken(&rules, demand, &proofs, &content) {
                        Ok(None) => {}
                        Ok(Some(broken)) => {
                            page.files.push(broken);
                            break;
                        }
                        Err(error) => {
                            failed = Some(error);
                            return Ok(ControlFlow::Break(()));
                        }
                    }
                }
                last = Some(path.to_owned());
                Ok(ControlFlow::Continue(()))
            },
        )?;
        if let Some(error) = failed {
            return Err(error);
        }
        page.next = last.filter(|_| flow.is_break());
        Ok(page)
    }
}
