//! The records of projects and branches: JSON values under the keys of [`super::key`]
//! (`objects-layout.md`, "Records").

use std::fmt;

use serde::{Deserialize, Serialize};

use super::node::Totals;
use crate::base::branch_name::BranchName;
use crate::base::clock::Timestamp;
use crate::base::id::{ManifestId, Sha256};
use crate::base::repo_id::RepoId;

/// A project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProjectRecord {
    /// Its identifier, `<name>.<type>`.
    pub repo_id: RepoId,
    /// The account that owns it, by number.
    pub owner: u64,
    /// When it was made.
    pub created_at: Timestamp,
    /// Which snapshots of its branches stay; `None` where the service's rule holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep: Option<Retention>,
    /// The identifier that it has in the older system which it was brought from; `None` for one that was
    /// made here. It stays when the project is renamed here.
    #[serde(rename = "moved_from")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repo_id_there: Option<RepoId>,
    /// Which files must pass which checks, in the order in which they are counted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<RuleRecord>,
}

/// A rule for the contents of a project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleRecord {
    /// Patterns of paths.
    pub patterns: Vec<String>,
    /// What files of these paths must pass.
    pub check: Check,
    /// The path of the JSON Schema, where that is the check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
}

/// What a file must pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Check {
    /// It is JSON.
    Json,
    /// It is well-formed XML.
    Xml,
    /// It is YAML.
    Yaml,
    /// It is JSON or, by its name, YAML, and a schema that lies in the project allows it.
    Schema,
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Json => "json",
            Self::Xml => "xml",
            Self::Yaml => "yaml",
            Self::Schema => "schema",
        })
    }
}

/// Which snapshots of a branch stay when it is pruned: those that one of the two keeps, and the newest. A
/// number of 0 keeps none; with both 0 all stay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retention {
    /// So many, the newest.
    pub snapshots: u64,
    /// Those whose state was replaced in the last so many days.
    pub days: u64,
}

impl fmt::Display for Retention {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.snapshots, self.days) {
            (0, 0) => f.write_str("all"),
            (snapshots, 0) => write!(f, "{snapshots} snapshots"),
            (0, days) => write!(f, "{days} days"),
            (snapshots, days) => write!(f, "{snapshots} snapshots and {days} days"),
        }
    }
}

/// A branch and its head.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BranchRecord {
    /// Its name.
    pub name: BranchName,
    /// The state it is in.
    pub manifest: ManifestId,
    /// The state's totals.
    pub totals: TotalsRecord,
    /// The number of the last snapshot, 0 before the first.
    pub snapshots: u64,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it came into this state; never before the state it replaced.
    pub updated_at: Timestamp,
    /// Who brought it there.
    pub updated_by: String,
    /// What last changed what it holds, so that nobody has to look for it among the snapshots;
    /// `None` in a record that was written before this field existed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<LastChange>,
    /// The number of the last snapshot when the branch was last brought from an older system; `None`
    /// for one that was made here. As long as it is the last, nobody has changed the branch since.
    #[serde(rename = "moved")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub migrated_snapshots: Option<u64>,
    /// The number of the last of these snapshots that the older system had taken; `None` where that is
    /// `migrated_snapshots`. Those above were taken when a state came of which it had none.
    #[serde(rename = "moved_there")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshots_there: Option<u64>,
    /// The name that it has in the older system, where it has another here.
    #[serde(rename = "moved_from")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other_name_there: Option<BranchName>,
}

impl BranchRecord {
    /// A branch without snapshots that was made at this time, by this account, in this state.
    pub fn new(
        name: BranchName,
        manifest: ManifestId,
        totals: Totals,
        at: Timestamp,
        by: String,
    ) -> Self {
        Self {
            name,
            manifest,
            totals: totals.into(),
            snapshots: 0,
            created_at: at,
            updated_at: at,
            updated_by: by.clone(),
            last: Some(LastChange {
                at,
                by,
                operation: None,
                path: None,
                message: None,
                parent: None,
            }),
            migrated_snapshots: None,
            snapshots_there: None,
            other_name_there: None,
        }
    }

    /// The branch under another name.
    #[must_use]
    pub fn renamed(self, name: &BranchName) -> Self {
        let there = self
            .other_name_there
            .or_else(|| self.migrated_snapshots.is_some().then_some(self.name));
        Self {
            name: name.clone(),
            other_name_there: there.filter(|there| there != name),
            ..self
        }
    }

    /// The name that the branch has in the older system, if it was brought from there; else that which it has here.
    pub fn name_there(&self) -> &BranchName {
        self.other_name_there.as_ref().unwrap_or(&self.name)
    }

    /// The number of the last snapshot that the older system had taken when the branch was last brought
    /// from it.
    pub fn last_there(&self) -> u64 {
        self.snapshots_there
            .or(self.migrated_snapshots)
            .unwrap_or(0)
    }
}

/// A project or a branch that was deleted and can come back: its record as it was, and the deletion.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeletedRecord<T> {
    /// What was deleted.
    #[serde(flatten)]
    pub record: T,
    /// When.
    pub deleted_at: Timestamp,
    /// Who deleted it.
    pub deleted_by: String,
    /// True when its time is over: it cannot come back, and what belongs to it is being removed.
    #[serde(default, skip_serializing_if = "is_false")]
    pub forgetting: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_false(value: &bool) -> bool {
    !*value
}

/// What last changed what a branch holds. A save of the bytes that are there already is no change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastChange {
    /// When.
    pub at: Timestamp,
    /// Who changed it.
    pub by: String,
    /// What was done, `None` when the branch was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<Operation>,
    /// The path that was saved, deleted or restored, where it was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The message of a batch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The state that was replaced, `None` when the branch was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<ParentRecord>,
}

/// The state that a change replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParentRecord {
    /// The state.
    pub manifest: ManifestId,
    /// The state's totals.
    pub totals: TotalsRecord,
}

/// A snapshot: a state of a branch and what replaced it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotRecord {
    /// The state.
    pub manifest: ManifestId,
    /// The state's totals.
    pub totals: TotalsRecord,
    /// When the branch had come into this state.
    pub reached_at: Timestamp,
    /// Who had brought it there.
    pub reached_by: String,
    /// When it was replaced, which is when the snapshot was taken, or the date that was given for that.
    pub created_at: Timestamp,
    /// When it was replaced by the steady clock, where a date was given or the machine's clock was far behind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaced_at: Option<Timestamp>,
    /// Who replaced it.
    pub created_by: String,
    /// What replaced it.
    pub operation: Operation,
    /// The path that was saved, deleted or restored, where it was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The message of a batch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// [`Totals`] as a record keeps them: files, directories, bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TotalsRecord(u64, u64, u64);

impl From<Totals> for TotalsRecord {
    fn from(totals: Totals) -> Self {
        Self(totals.files, totals.directories, totals.bytes)
    }
}

impl From<TotalsRecord> for Totals {
    fn from(TotalsRecord(files, directories, bytes): TotalsRecord) -> Self {
        Self {
            files,
            directories,
            bytes,
        }
    }
}

/// What changed a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Operation {
    /// A file was saved.
    Save,
    /// A file was deleted.
    Delete,
    /// Several changes at once.
    Batch,
    /// A snapshot was restored, whole or in part.
    Rollback,
    /// A folder was imported.
    Import,
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Save => "save",
            Self::Delete => "delete",
            Self::Batch => "batch",
            Self::Rollback => "rollback",
            Self::Import => "import",
        })
    }
}

/// The highest time that the service knows to have been.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockRecord {
    /// That time.
    pub mark: Timestamp,
}

/// What the clock has skipped. It is no part of [`ClockRecord`]: earlier programs write that without it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkippedRecord {
    /// The earliest first.
    pub times: Vec<SkippedTime>,
}

/// A time that nobody saw pass: the machine's clock jumped over it, or the service stood still.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkippedTime {
    /// Where it begins.
    pub from: Timestamp,
    /// Where it ends.
    pub to: Timestamp,
}

/// The digest of a manifest, kept for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DigestRecord {
    /// The SHA-256 of specification section 9.
    pub sha256: Sha256,
}

/// The state that a commit id names in a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitRecord {
    /// The state.
    pub manifest: ManifestId,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_branch_that_was_brought_keeps_the_name_that_it_has_there() {
        let name = |text: &str| BranchName::parse(text).unwrap();
        let text = r#"{"name":"main","manifest":"MANIFEST","totals":[0,0,0],"snapshots":1,
            "created_at":1,"updated_at":1,
            "updated_by":"ann","moved":1}"#;
        let brought: BranchRecord =
            serde_json::from_str(&text.replace("MANIFEST", &"0".repeat(64))).unwrap();
        let made_here = BranchRecord {
            migrated_snapshots: None,
            ..brought.clone()
        };
        let live = brought.renamed(&name("live"));
        assert_eq!(live.other_name_there, Some(name("main")));
        let test = live.renamed(&name("test"));
        assert_eq!(
            (&test.name, &test.other_name_there),
            (&name("test"), &Some(name("main")))
        );
        assert_eq!(test.renamed(&name("main")).other_name_there, None);
        assert_eq!(made_here.renamed(&name("live")).other_name_there, None);
    }
}
