//! A project in an empty store, and short ways to use it.

use std::sync::Arc;

use siteconf::base::branch_name::BranchName;
use siteconf::base::clock::{ManualClock, Timestamp};
use siteconf::base::file_path::FilePath;
use siteconf::base::repo_id::RepoId;
use siteconf::base::snapshot_version::SnapshotVersion;
use siteconf::repo::{
    Applied, Body, Condition, NewFile, ProjectWriter, Projects, Result, Revision, Saved,
};
use siteconf::store::Store;

pub(crate) struct Scene {
    pub(crate) projects: Projects,
    pub(crate) project: ProjectWriter,
    pub(crate) clock: Arc<ManualClock>,
}

pub(crate) fn branch(name: &str) -> BranchName {
    BranchName::parse(name).unwrap()
}

pub(crate) fn path(text: &str) -> FilePath {
    FilePath::parse(text).unwrap()
}

pub(crate) fn version(number: u64) -> SnapshotVersion {
    SnapshotVersion::new(number)
}

impl Scene {
    pub(crate) fn on(store: impl Store + 'static) -> Self {
        Self::over(Arc::new(store))
    }

    pub(crate) fn over(store: Arc<dyn Store>) -> Self {
        let clock = Arc::new(ManualClock::new(Timestamp::parse("2026-11-21").unwrap()));
        let projects = Projects::new(store, Arc::clone(&clock) as Arc<_>);
        let project = projects
            .create_project(&RepoId::parse("acme/shop.erp").unwrap(), 1, "alice")
            .unwrap();
        let project = ProjectWriter::new(project, "alice");
        project.create_branch(&branch("main"), None).unwrap();
        Self {
            projects,
            project,
            clock,
        }
    }

    pub(crate) fn file(&self, text: &str) -> NewFile {
        self.projects.new_file(text.to_owned().into()).unwrap()
    }

    pub(crate) fn try_save(&self, name: &str, at: &str, text: &str) -> Result<Saved> {
        self.project
            .save(&branch(name), &path(at), self.file(text), Condition::None)
    }

    pub(crate) fn save(&self, at: &str, text: &str) -> Saved {
        self.try_save("main", at, text).unwrap()
    }

    pub(crate) fn delete(&self, at: &str) -> Result<Applied> {
        self.project
            .delete(&branch("main"), &path(at), Condition::None)
    }

    pub(crate) fn delete_branch(&self, name: &str) -> Result<()> {
        self.project.delete_branch(&branch(name), &Condition::None)
    }

    pub(crate) fn head(&self) -> Revision {
        self.project.branch(&branch("main")).unwrap().head()
    }

    /// Every file of the head with its text, a line each.
    pub(crate) fn files(&self) -> Vec<String> {
        files_of(&self.head())
    }
}

pub(crate) fn files_of(revision: &Revision) -> Vec<String> {
    let entries = revision.list(None, true).unwrap();
    let files = entries.iter().filter_map(|entry| {
        revision
            .file(&path(&entry.path))
            .ok()
            .map(|file| (entry, file))
    });
    files
        .map(|(entry, file)| format!("{}={}", entry.path, text_of(&file.content().unwrap().body)))
        .collect()
}

pub(crate) fn text_of(body: &Body) -> String {
    match body {
        Body::Inline(bytes) => String::from_utf8(bytes.to_vec()).unwrap(),
        Body::Large(_) => "a large body".to_owned(),
    }
}
