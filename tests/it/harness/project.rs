//! A project that somebody made for a test.

use serde_json::json;

use super::{ADMIN, Answer, READ, User, segment};

/// A project and who speaks of it.
#[derive(Clone, Debug)]
pub(crate) struct Project {
    pub(crate) user: User,
    /// The repo id, `<name>.erp`.
    pub(crate) id: String,
    /// The integer id.
    pub(crate) number: u64,
}

impl Project {
    /// Creates `<name>.erp`, without a branch.
    #[track_caller]
    pub(crate) fn create(user: &User, name: &str) -> Self {
        let body = json!({ "name": name, "type": "erp" });
        let created = user
            .post(&format!("{ADMIN}/projects"), &body)
            .expect_status(201)
            .json();
        Self {
            user: user.clone(),
            id: format!("{name}.erp"),
            number: created["id"].as_u64().expect("an integer id"),
        }
    }

    /// Creates `<name>.erp` with an empty branch `main`.
    #[track_caller]
    pub(crate) fn with_main(user: &User, name: &str) -> Self {
        let project = Self::create(user, name);
        project.add_branch("main");
        project
    }

    /// The same project, spoken of by somebody else.
    pub(crate) fn seen_by(&self, user: &User) -> Self {
        Self {
            user: user.clone(),
            ..self.clone()
        }
    }

    /// A target of the Admin API below the project; `rest` begins with `/` or is empty.
    pub(crate) fn admin(&self, rest: &str) -> String {
        format!("{ADMIN}/projects/{}{rest}", segment(&self.id))
    }

    /// A target of the Admin API below a branch.
    pub(crate) fn on(&self, branch: &str, rest: &str) -> String {
        self.admin(&format!("/branches/{}{rest}", segment(branch)))
    }

    /// The target of a file in the Admin API, as one encoded segment.
    pub(crate) fn file(&self, branch: &str, path: &str) -> String {
        self.on(branch, &format!("/files/{}", segment(path)))
    }

    /// A target of the Read API below the project's repository.
    pub(crate) fn read(&self, rest: &str) -> String {
        format!("{READ}/projects/{}/repository{rest}", segment(&self.id))
    }

    /// The target of a raw file in the Read API, of the default branch.
    pub(crate) fn raw(&self, path: &str) -> String {
        self.read(&format!("/files/{}/raw", segment(path)))
    }

    /// Creates an empty branch.
    #[track_caller]
    pub(crate) fn add_branch(&self, name: &str) -> Answer {
        self.user
            .post(&self.admin("/branches"), &json!({ "name": name }))
            .expect_status(201)
    }

    /// Saves a file and answers what the service said.
    #[track_caller]
    pub(crate) fn save(&self, branch: &str, path: &str, body: impl AsRef<[u8]>) -> Answer {
        let answer = self.user.put(&self.file(branch, path), body.as_ref());
        assert!(matches!(answer.status, 200 | 201), "{answer:?}");
        answer
    }

    /// The paths of a branch, everything below it.
    #[track_caller]
    pub(crate) fn tree(&self, branch: &str) -> serde_json::Value {
        self.user
            .get(&self.on(branch, "/tree?recursive=1"))
            .expect_status(200)
            .json()
    }

    /// The versions of a branch's snapshots, newest first.
    #[track_caller]
    pub(crate) fn versions(&self, branch: &str) -> Vec<String> {
        let history = self.user.get(&self.on(branch, "/history")).json();
        let text = |entry: &serde_json::Value| entry["version"].as_str().unwrap().to_owned();
        history.as_array().unwrap().iter().map(text).collect()
    }

    /// The item of a branch in the Admin API's listing.
    #[track_caller]
    pub(crate) fn branch_item(&self, branch: &str) -> serde_json::Value {
        let branches = self.user.get(&self.admin("/branches")).json();
        let items = branches.as_array().unwrap().iter();
        items
            .clone()
            .find(|item| item["name"] == branch)
            .expect("the branch is listed")
            .clone()
    }

    /// `commit.short_id` of a branch.
    #[track_caller]
    pub(crate) fn short_id(&self, branch: &str) -> String {
        let item = self.branch_item(branch);
        item["commit"]["short_id"].as_str().unwrap().to_owned()
    }
}
