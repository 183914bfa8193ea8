//! The `gitlab` crate against the service: one line of output a row of the matrix (README).

use std::error::Error;
use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};

use gitlab::api::projects::Project;
use gitlab::api::projects::repository::Tree;
use gitlab::api::projects::repository::branches::{Branch, Branches};
use gitlab::api::projects::repository::files::{File, FileRaw};
use gitlab::api::users::CurrentUser;
use gitlab::api::{self, ApiError, Pagination, Query};
use gitlab::{Gitlab, RestError};
use serde::Deserialize;
use serde_json::Value;

type Outcome = Result<(), Box<dyn Error>>;

#[derive(Deserialize)]
struct Truth {
    username: String,
    project: Identity,
    slug: Identity,
    commit_id: String,
    branches: Vec<String>,
    tree: Vec<String>,
    folder: Folder,
    files: Vec<Special>,
    other_branch: Special,
    tokens: Tokens,
}

#[derive(Deserialize)]
struct Identity {
    id: String,
    number: u64,
}

#[derive(Deserialize)]
struct Folder {
    path: String,
    names: Vec<String>,
}

#[derive(Deserialize)]
struct Special {
    path: String,
    #[serde(rename = "ref")]
    reference: String,
    base64: String,
    text: String,
    sha256: String,
    blob_id: String,
    size: u64,
}

#[derive(Deserialize)]
struct Tokens {
    good: String,
    elsewhere: String,
    everywhere: String,
    unknown: String,
}

#[derive(Deserialize)]
struct Entry {
    id: String,
    name: String,
    #[serde(rename = "type")]
    kind: String,
    path: String,
    mode: String,
}

#[derive(Deserialize)]
struct Named {
    name: String,
}

fn main() -> Outcome {
    let text = std::fs::read_to_string(std::env::var("SITECONF_TRUTH")?)?;
    let truth: Truth = serde_json::from_str(&text)?;
    let session = Session {
        api: connect(&truth.tokens.good)?,
        truth,
    };
    let rows: [(u8, fn(&Session) -> Outcome); 18] = [
        (1, Session::mounted),
        (3, Session::user),
        (5, Session::project),
        (6, Session::spellings_of_the_project),
        (7, Session::encoded_slashes),
        (8, Session::plus_and_space),
        (9, Session::form_body),
        (10, Session::links),
        (12, Session::pages_until_a_short_one),
        (13, Session::keyset),
        (14, Session::recursive),
        (17, Session::json_files),
        (18, Session::missing_is_404),
        // That body makes it a GET with a `Content-Type`.
        (20, Session::form_body),
        (23, Session::branches),
        (24, Session::special_names),
        (25, Session::reference_with_a_slash),
        (26, Session::refusals),
    ];
    for (number, row) in rows {
        match catch_unwind(AssertUnwindSafe(|| row(&session))) {
            Ok(Ok(())) => println!("row {number} ok"),
            Ok(Err(error)) => println!("row {number} failed: {error}"),
            Err(_) => println!("row {number} failed: see standard error"),
        }
    }
    Ok(())
}

/// Asks for `/user` before it answers.
fn connect(token: &str) -> Result<Gitlab, Box<dyn Error>> {
    let base = std::env::var("SITECONF_BASE")?;
    let host = base.strip_prefix("http://").ok_or("not http")?;
    Ok(Gitlab::builder(host, token).insecure().build()?)
}

struct Session {
    api: Gitlab,
    truth: Truth,
}

impl Session {
    fn mounted(&self) -> Outcome {
        let found = self.found(self.truth.project.number)?;
        assert_eq!(found["path_with_namespace"], *self.truth.project.id);
        Ok(())
    }

    fn user(&self) -> Outcome {
        let user: Value = CurrentUser::builder().build()?.query(&self.api)?;
        assert_eq!(user["username"], *self.truth.username);
        assert!(user["id"].is_u64());
        Ok(())
    }

    fn project(&self) -> Outcome {
        let found = self.found(self.truth.project.number)?;
        assert_eq!(found["id"], self.truth.project.number);
        assert_eq!(found["default_branch"], "main");
        Ok(())
    }

    fn spellings_of_the_project(&self) -> Outcome {
        for project in [&self.truth.project, &self.truth.slug] {
            assert_eq!(self.found(project.number)?["id"], project.number);
            let endpoint = Project::builder().project(project.id.as_str()).build()?;
            let found: Value = endpoint.query(&self.api)?;
            assert_eq!(found["id"], project.number);
            let mut branch = Branch::builder();
            let branch = branch.project(project.id.as_str()).branch("main").build()?;
            let found: Named = branch.query(&self.api)?;
            assert_eq!(found.name, "main");
        }
        Ok(())
    }

    fn encoded_slashes(&self) -> Outcome {
        for file in self
            .truth
            .files
            .iter()
            .filter(|file| file.path.contains('/'))
        {
            assert_eq!(self.raw(file, "main")?, file.text.as_bytes());
        }
        Ok(())
    }

    /// It sends a `+` of a path as it is, and a space of a body as `+`.
    fn plus_and_space(&self) -> Outcome {
        let plus = |file: &&Special| file.path.contains('+');
        let file = self.truth.files.iter().find(plus).ok_or("no such file")?;
        assert_eq!(self.raw(file, "main")?, file.text.as_bytes());
        let mut tree = Tree::builder();
        let tree = tree
            .project(self.truth.project.number)
            .path(&*self.truth.folder.path);
        let entries: Vec<Entry> = api::paged(tree.build()?, Pagination::All).query(&self.api)?;
        let names: Vec<_> = entries.iter().map(|entry| &entry.name).collect();
        assert_eq!(names, self.truth.folder.names.iter().collect::<Vec<_>>());
        Ok(())
    }

    /// It says `path`, `ref` and `recursive` of a tree in the body of the GET only; were that not
    /// read, the answer would be the root of the default branch.
    fn form_body(&self) -> Outcome {
        let other = &self.truth.other_branch;
        let entries = self.walk(&other.reference, Pagination::All)?;
        let ids: Vec<_> = entries.iter().map(|entry| entry.id.as_str()).collect();
        assert!(
            ids.contains(&other.blob_id.as_str()),
            "another branch was listed"
        );
        assert_eq!(entries.len(), self.truth.tree.len());
        Ok(())
    }

    fn links(&self) -> Outcome {
        let walked = self.walk("main", Pagination::AllPerPageLimit(7))?;
        assert_eq!(lines(&walked), self.truth.tree);
        Ok(())
    }

    fn pages_until_a_short_one(&self) -> Outcome {
        for pagination in [Pagination::All, Pagination::AllPerPageLimit(20)] {
            let endpoint = Branches::builder()
                .project(self.truth.project.number)
                .build()?;
            let found: Vec<Named> = api::paged(endpoint, pagination).query(&self.api)?;
            let names: Vec<_> = found.into_iter().map(|branch| branch.name).collect();
            assert_eq!(names, self.truth.branches);
        }
        Ok(())
    }

    fn keyset(&self) -> Outcome {
        assert_eq!(lines(&self.walk("main", Pagination::All)?), self.truth.tree);
        Ok(())
    }

    fn recursive(&self) -> Outcome {
        let endpoint = Tree::builder().project(self.truth.project.number).build()?;
        let shallow: Vec<Entry> = api::paged(endpoint, Pagination::All).query(&self.api)?;
        assert!(shallow.iter().all(|entry| !entry.path.contains('/')));
        assert_eq!(
            self.walk("main", Pagination::All)?.len(),
            self.truth.tree.len()
        );
        Ok(())
    }

    fn json_files(&self) -> Outcome {
        for file in &self.truth.files {
            for reference in ["main", "HEAD"] {
                let seen = self.json(&file.path, reference)?;
                assert_eq!(seen["file_path"], *file.path);
                assert_eq!(seen["size"], file.size);
                assert_eq!(seen["encoding"], "base64");
                assert_eq!(seen["content_sha256"], *file.sha256);
                assert_eq!(seen["ref"], reference);
                assert_eq!(seen["blob_id"], *file.blob_id);
                assert_eq!(seen["commit_id"], *self.truth.commit_id);
                assert_eq!(seen["content"], *file.base64);
            }
        }
        Ok(())
    }

    fn missing_is_404(&self) -> Outcome {
        let project = self.truth.project.number;
        let mut tree = Tree::builder();
        let folder = tree.project(project).path("no such/folder").build()?;
        let answer: Result<Vec<Value>, _> = api::paged(folder, Pagination::All).query(&self.api);
        refused(404, "404 invalid revision or path Not Found", answer);
        let mut tree = Tree::builder();
        let branch = tree.project(project).ref_("no-such-branch").build()?;
        let answer: Result<Vec<Value>, _> = api::paged(branch, Pagination::All).query(&self.api);
        refused(404, "404 Tree Not Found", answer);
        Ok(())
    }

    fn branches(&self) -> Outcome {
        let project = self.truth.project.number;
        let mut branches = Branches::builder();
        let endpoint = branches.project(project).search("ЦЕНЫ").build()?;
        let found: Vec<Named> = api::paged(endpoint, Pagination::All).query(&self.api)?;
        let names: Vec<_> = found.iter().map(|branch| &*branch.name).collect();
        assert_eq!(names, [&*self.truth.other_branch.reference]);
        let endpoint = Branch::builder().project(project).branch("main").build()?;
        let main: Value = endpoint.query(&self.api)?;
        assert_eq!(main["default"], true);
        assert_eq!(main["commit"]["id"], *self.truth.commit_id);
        assert_eq!(main["commit"]["short_id"], self.truth.commit_id[..8]);
        Ok(())
    }

    fn special_names(&self) -> Outcome {
        for file in &self.truth.files {
            assert_eq!(self.raw(file, "main")?, file.text.as_bytes());
            assert_eq!(self.json(&file.path, "main")?["content"], *file.base64);
        }
        Ok(())
    }

    fn reference_with_a_slash(&self) -> Outcome {
        let other = &self.truth.other_branch;
        assert_eq!(self.raw(other, &other.reference)?, other.text.as_bytes());
        let json = self.json(&other.path, &other.reference)?;
        assert_eq!(json["content"], *other.base64);
        let mut branch = Branch::builder();
        let branch = branch
            .project(self.truth.project.number)
            .branch(&*other.reference);
        let found: Named = branch.build()?.query(&self.api)?;
        assert_eq!(found.name, other.reference);
        Ok(())
    }

    fn refusals(&self) -> Outcome {
        let project = self.truth.project.number;
        let refusal = connect(&self.truth.tokens.unknown)
            .err()
            .ok_or("401 did not come")?;
        assert!(causes(&*refusal).contains("401 Unauthorized"), "{refusal}");
        let elsewhere = connect(&self.truth.tokens.elsewhere)?;
        let endpoint = Project::builder().project(project).build()?;
        refused::<Value>(403, "403 Forbidden", endpoint.query(&elsewhere));
        let everywhere = connect(&self.truth.tokens.everywhere)?;
        let endpoint = Project::builder().project("no-such.erp").build()?;
        refused::<Value>(404, "404 Project Not Found", endpoint.query(&everywhere));
        refused(404, "404 File Not Found", self.json("no such.txt", "main"));
        refused(
            404,
            "404 Commit Not Found",
            self.json("no such.txt", "no-such"),
        );
        let endpoint = Branch::builder()
            .project(project)
            .branch("no-such")
            .build()?;
        refused::<Value>(404, "404 Branch Not Found", endpoint.query(&self.api));
        Ok(())
    }

    fn found(&self, number: u64) -> Result<Value, Box<dyn Error>> {
        Ok(Project::builder()
            .project(number)
            .build()?
            .query(&self.api)?)
    }

    fn raw(&self, file: &Special, reference: &str) -> Result<Vec<u8>, Box<dyn Error>> {
        let mut raw = FileRaw::builder();
        let raw = raw
            .project(&*self.truth.project.id)
            .file_path(&*file.path)
            .ref_(reference);
        Ok(api::raw(raw.build()?).query(&self.api)?)
    }

    fn json(&self, path: &str, reference: &str) -> Result<Value, ApiError<RestError>> {
        let mut file = File::builder();
        let file = file
            .project(self.truth.project.number)
            .file_path(path)
            .ref_(reference);
        file.build().expect("all fields are given").query(&self.api)
    }

    fn walk(&self, reference: &str, pages: Pagination) -> Result<Vec<Entry>, Box<dyn Error>> {
        let mut tree = Tree::builder();
        let tree = tree
            .project(self.truth.project.number)
            .ref_(reference)
            .recursive(true);
        Ok(api::paged(tree.build()?, pages).query(&self.api)?)
    }
}

fn lines(entries: &[Entry]) -> Vec<String> {
    let line = |Entry {
                    id,
                    name,
                    kind,
                    path,
                    mode,
                }: &Entry| {
        assert_eq!(Some(name.as_str()), path.rsplit('/').next());
        format!("{mode} {kind} {id}\t{path}")
    };
    let mut lines: Vec<_> = entries.iter().map(line).collect();
    lines.sort();
    lines
}

fn refused<T: Debug>(status: u16, message: &str, answer: Result<T, ApiError<RestError>>) {
    match answer {
        Err(ApiError::GitlabWithStatus { status: seen, msg }) => {
            assert_eq!((seen.as_u16(), &*msg), (status, message));
        }
        other => panic!("{status} did not come: {other:?}"),
    }
}

/// An error and what caused it.
fn causes(error: &dyn Error) -> String {
    let source = error.source().map(causes).unwrap_or_default();
    format!("{error}: {source}")
}
