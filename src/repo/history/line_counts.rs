//! How many lines commits changed, once somebody has counted them.

use super::change_cache::LineCounts;
use super::commits::Commit;

impl Commit {
    /// How many lines it changed, if that is kept. The first commit of a branch changed none: what it begins with was
    /// made elsewhere.
    pub fn known_lines(&self) -> Option<LineCounts> {
        let Some(before) = &self.before else {
            return Some(LineCounts::default());
        };
        let counted = &self.revision.project.projects.shared.counted_changes;
        let key = (before.manifest(), self.revision.manifest());
        counted.lines.get(&key)
    }

    /// Keeps how many lines it changed. That depends on the state before it and its own alone, whatever else changes.
    pub fn keep_lines(&self, lines: LineCounts) {
        if let Some(before) = &self.before {
            let counted = &self.revision.project.projects.shared.counted_changes;
            let key = (before.manifest(), self.revision.manifest());
            counted.lines.insert(key, lines);
        }
    }
}
