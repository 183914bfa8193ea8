//! The rules of a project: which files are checked for what.

use std::fmt;
use std::sync::Arc;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use serde::{Deserialize, Serialize};

use crate::base::file_path::FilePath;
use crate::base::limits::{RULE_PATTERN_BYTES_MAX, RULE_PATTERNS_MAX, RULES_MAX};
use crate::object::record::{Check, RuleRecord};
use crate::repo::{Error, Result};

/// A rule as it is written: every file that one of the patterns is of must pass the check.
///
/// `*` and `?` stand for no slash, `**` for any number of folders. A pattern without a slash is held
/// against names wherever they are, one with a slash against the whole path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Patterns of paths, one at least.
    pub patterns: Vec<String>,
    /// What they must pass.
    pub check: Check,
    /// The path of the JSON Schema, where that is the check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
}

/// Rules that were read, ready to be used.
#[derive(Debug)]
pub(in crate::repo) struct Rules {
    /// The patterns of all rules.
    globs: GlobSet,
    /// The rule of each pattern, by its place.
    owners: Vec<usize>,
    list: Vec<ReadRule>,
}

/// A rule that was read.
#[derive(Debug)]
pub(super) struct ReadRule {
    pub(super) check: Check,
    pub(super) schema: Option<FilePath>,
}

impl Rules {
    /// Reads rules.
    ///
    /// # Errors
    /// [`Error::Invalid`] names the rule that cannot be read.
    ///
    /// # Limits
    /// [`RULES_MAX`], [`RULE_PATTERNS_MAX`], [`RULE_PATTERN_BYTES_MAX`].
    pub(in crate::repo) fn read(rules: &[Rule]) -> Result<Self> {
        if rules.len() > RULES_MAX {
            return Err(Error::invalid(format!(
                "there are more than {RULES_MAX} rules"
            )));
        }
        let mut globs = GlobSetBuilder::new();
        let mut owners = Vec::new();
        let mut read = Vec::new();
        for (index, rule) in rules.iter().enumerate() {
            let wrong = |reason: String| Error::invalid(format!("rule {}: {reason}", index + 1));
            let count = rule.patterns.len();
            if count == 0 || count > RULE_PATTERNS_MAX {
                return Err(wrong(format!(
                    "patterns must have 1 to {RULE_PATTERNS_MAX} of them"
                )));
            }
            for pattern in &rule.patterns {
                let glob = glob(pattern).map_err(wrong)?;
                globs.add(glob);
                owners.push(index);
            }
            read.push(ReadRule {
                check: rule.check,
                schema: schema_of(rule).map_err(wrong)?,
            });
        }
        let globs = globs
            .build()
            .map_err(|e| Error::invalid(format!("the patterns together: {}", e.kind())))?;
        Ok(Self {
            globs,
            owners,
            list: read,
        })
    }

    /// The numbers of the rules whose patterns are of this path, from 0 on, each once and in their order.
    pub(super) fn of_path(&self, path: &str) -> Vec<usize> {
        let mut rules: Vec<_> = self
            .globs
            .matches(path)
            .into_iter()
            .map(|at| self.owners[at])
            .collect();
        rules.dedup();
        rules
    }

    /// The rule of this number.
    pub(super) fn rule(&self, number: usize) -> &ReadRule {
        &self.list[number]
    }

    /// The number of the first rule that has the file at this path as its schema.
    pub(super) fn with_schema(&self, path: &str) -> Option<usize> {
        let is_it = |rule: &ReadRule| rule.schema.as_ref().is_some_and(|own| own.as_str() == path);
        self.list.iter().position(is_it)
    }

    /// True if the file at this path is a schema, or is held against one.
    pub(super) fn need_schema(&self, path: &str) -> bool {
        let has_schema = |number: usize| self.rule(number).schema.is_some();
        self.with_schema(path).is_some() || self.of_path(path).into_iter().any(has_schema)
    }

    /// The rules that have schemas, by their numbers, with the paths of these.
    pub(in crate::repo) fn schemas(&self) -> impl Iterator<Item = (usize, &FilePath)> {
        let rules = self.list.iter().enumerate();
        rules.filter_map(|(number, rule)| Some((number, rule.schema.as_ref()?)))
    }

    /// What a rule is called where it is broken.
    pub(super) fn name(&self, number: usize) -> String {
        format!("rule {} ({})", number + 1, self.list[number].check)
    }
}

fn glob(pattern: &str) -> std::result::Result<globset::Glob, String> {
    if pattern.len() > RULE_PATTERN_BYTES_MAX {
        return Err(format!(
            "a pattern has at most {RULE_PATTERN_BYTES_MAX} bytes"
        ));
    }
    let wrong = |reason: &dyn fmt::Display| format!("\"{pattern}\" is no pattern: {reason}");
    let path = pattern.trim_start_matches("./").trim_start_matches('/');
    if path.is_empty() || path.ends_with('/') {
        return Err(wrong(&"it names no file"));
    }
    let whole = if pattern.contains('/') {
        path.to_owned()
    } else {
        format!("**/{path}")
    };
    let glob = GlobBuilder::new(&whole).literal_separator(true).build();
    glob.map_err(|e| wrong(e.kind()))
}

fn schema_of(rule: &Rule) -> std::result::Result<Option<FilePath>, String> {
    match (rule.check, &rule.schema) {
        (Check::Schema, Some(path)) => FilePath::parse(path)
            .map(Some)
            .map_err(|refused| format!("schema: {refused}")),
        (Check::Schema, None) => Err("schema must be the path of a JSON Schema".to_owned()),
        (_, Some(_)) => Err("schema belongs to the check \"schema\" alone".to_owned()),
        (_, None) => Ok(None),
    }
}

impl From<&Rule> for RuleRecord {
    fn from(rule: &Rule) -> Self {
        Self {
            patterns: rule.patterns.clone(),
            check: rule.check,
            schema: rule.schema.clone(),
        }
    }
}

impl From<&RuleRecord> for Rule {
    fn from(record: &RuleRecord) -> Self {
        Self {
            patterns: record.patterns.clone(),
            check: record.check,
            schema: record.schema.clone(),
        }
    }
}

/// Rules as a record keeps them, read.
pub(super) fn of_record(records: &[RuleRecord]) -> Result<Arc<Rules>> {
    let rules: Vec<_> = records.iter().map(Rule::from).collect();
    Ok(Arc::new(Rules::read(&rules)?))
}
