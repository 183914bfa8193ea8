//! The rules that a project has for its contents, set, and the tag that names them.

use super::ProjectWriter;
use crate::base::file_path::FilePath;
use crate::manifest::lookup;
use crate::manifest::lookup::Found;
use crate::object::audit::{Action, AuditRecord};
use crate::object::key;
use crate::object::record::{ProjectRecord, RuleRecord};
use crate::repo::validation::effort::Effort;
use crate::repo::validation::rules::Rules;
use crate::repo::{Branch, Condition, Error, Result, Rule, audit};
use crate::store::Expect;

impl ProjectWriter {
    /// Gives the project these rules in place of those that it has; none with an empty list. What its
    /// branches hold is not held against them.
    ///
    /// # Errors
    /// [`Error::Invalid`] names the rule that cannot be read, or the branch with files that has not the
    /// schema of a rule, or one that cannot be read, or that it takes too long to read them all;
    /// [`crate::repo::Missing::Project`], also when it has another identifier or owner than when it was opened.
    pub fn set_rules(&self, rules: &[Rule]) -> Result<()> {
        self.set_rules_if(rules, &Condition::None)
    }

    /// As [`ProjectWriter::set_rules`], while the condition holds of the rules that the project has. Their tag
    /// is that of [`Rule::tag_of`]. It is judged together with the change: nobody sets others between.
    ///
    /// # Errors
    /// As there; [`Error::Precondition`] with the tag of the rules that it has.
    pub fn set_rules_if(&self, rules: &[Rule], condition: &Condition) -> Result<()> {
        let read = Rules::read(rules)?;
        let effort = Effort::of_schemas(self.projects.clock());
        let store = self.projects.store().as_ref();
        let count = match rules.len() {
            0 => "no rules".to_owned(),
            1 => "1 rule".to_owned(),
            count => format!("{count} rules"),
        };
        store.commit_prepared(|batch| {
            if read.schemas().next().is_some() {
                for branch in self.branches()? {
                    for (rule, schema) in read.schemas() {
                        self.require_schema(&branch, rule, schema, &effort)?;
                    }
                    // Nobody changes a schema between.
                    let branch_key = key::branch(self.number(), branch.number);
                    let expect = Expect::Version(branch.version);
                    batch.expected.push((branch_key, expect));
                }
            }
            // Last: to read the schemas may take long.
            let kept = self.require_as_opened(batch)?;
            require(condition, &kept.value.rules)?;
            let record = ProjectRecord {
                rules: rules.iter().map(RuleRecord::from).collect(),
                ..ProjectRecord::clone(&kept.value)
            };
            batch.write(key::project(self.number()), kept.expect(), &record);
            let set = AuditRecord {
                detail: audit::detail(count.clone()),
                ..self
                    .project
                    .audit_record(self.actor(), Action::ProjectRules)
            };
            audit::add(batch, &set);
            Ok(())
        })
    }

    /// Refuses a branch with files that has not this schema, or where it cannot be read.
    fn require_schema(
        &self,
        branch: &Branch,
        rule: usize,
        schema: &FilePath,
        effort: &Effort,
    ) -> Result<()> {
        let head = branch.head();
        if head.totals().files == 0 {
            return Ok(());
        }
        let name = branch.name();
        let refused = |reason: String| Error::invalid(format!("rule {}: {reason}", rule + 1));
        let found = lookup::path(self.projects.nodes().as_ref(), head.root()?, schema)?;
        let Some(Found::File(file)) = found else {
            return Err(refused(format!(
                "branch \"{name}\" has no file \"{schema}\"; each branch that has files needs the schema"
            )));
        };
        let validation = &self.projects.shared.validation;
        let read = validation.check_schema(file.blob, &|blob| self.bytes_of(blob), effort)?;
        read.map_err(|reason| {
            refused(format!(
                "\"{schema}\" in branch \"{name}\" is no schema that can be used: {reason}"
            ))
        })
    }
}

impl Rule {
    /// The entity tag of a project's rules, without its quotes: equal rules in the same order have the same,
    /// also none.
    pub fn tag_of(rules: &[Self]) -> String {
        let text = serde_json::to_vec(rules).expect("rules are made of texts");
        blake3::hash(&text).to_string()
    }
}

/// Refuses to replace rules of which a condition does not hold. They are always there: a project without
/// rules has an empty list of them.
fn require(condition: &Condition, kept: &[RuleRecord]) -> Result<()> {
    if *condition == Condition::None {
        return Ok(());
    }
    let rules: Vec<_> = kept.iter().map(Rule::from).collect();
    let tag = Rule::tag_of(&rules);
    if condition.holds(Some(tag.as_str())) {
        return Ok(());
    }
    Err(Error::Precondition {
        reason: "the rules are not in the state that the request demands".to_owned(),
        tag: Some(tag),
        file: None,
    })
}
