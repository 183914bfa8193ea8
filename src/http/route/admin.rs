//! The routes of the Admin API.

use hyper::Method;

use crate::base::repo_id::RepoId;

/// Names a branch: the decoded segments of its project and its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::http) struct BranchAt {
    pub(in crate::http) project: String,
    pub(in crate::http) branch: String,
}

/// Names a state of a branch: its head, or the snapshot of a version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::http) struct StateAt {
    pub(in crate::http) at: BranchAt,
    pub(in crate::http) version: Option<String>,
}

/// A route, with the decoded names of its path. `…` is `/projects/<project>/branches/<ref>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::http) enum Route {
    /// `GET /projects`
    Projects,
    /// `POST /projects`
    CreateProject,
    /// `GET /projects/<project>`
    Project { project: String },
    /// `DELETE /projects/<project>`
    DeleteProject { project: String },
    /// `GET /projects/<project>/branches`
    Branches { project: String },
    /// `POST /projects/<project>/branches`
    CreateBranch { project: String },
    /// `DELETE …`
    DeleteBranch { at: BranchAt },
    /// `GET …/tree`, `GET …/snapshots/<version>/tree`
    Tree { state: StateAt },
    /// `GET …/files/<path>`, `GET …/snapshots/<version>/files/<path>`
    File { state: StateAt, path: String },
    /// `PUT …/files/<path>`
    SaveFile { at: BranchAt, path: String },
    /// `DELETE …/files/<path>`
    DeleteFile { at: BranchAt, path: String },
    /// `POST …/batch`
    Batch { at: BranchAt },
    /// `GET …/history`
    History { at: BranchAt },
    /// `GET …/diff`
    Diff { at: BranchAt },
    /// `POST …/rollback`
    Rollback { at: BranchAt },
    /// `GET /audit`
    Audit,
    /// `GET /tokens`
    Tokens,
    /// `POST /tokens`
    CreateToken,
    /// `PATCH /tokens/<id>`
    ChangeToken { id: String },
    /// `DELETE /tokens/<id>`
    RevokeToken { id: String },
    /// `GET /deleted`
    Deleted,
    /// `POST /deleted/<id>/restore`
    Restore { id: String },
}

/// What body a route takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::http) enum Takes {
    /// None; one that is sent is refused.
    Nothing,
    /// None; the query says everything, and a body is not looked at.
    NothingOfInterest,
    /// One JSON object.
    Json,
    /// One JSON object, or none.
    JsonOrNothing,
    /// The bytes of a file.
    File,
    /// JSON or a tar archive.
    Batch,
}

impl Route {
    /// The route with this method and these decoded segments below the mount. The strict form has one
    /// segment for the project; several are what a decoding proxy makes of it, as on the Read API.
    pub(in crate::http) fn find(method: &Method, segments: &[&str]) -> Option<Self> {
        let method = method.as_str();
        let decoded = || {
            let ["projects", rest @ ..] = segments else {
                return None;
            };
            (2..=rest.len()).find_map(|end| {
                let (project, rest) = rest.split_at(end);
                let likely = !project.contains(&"branches");
                let project = project.join("/");
                if !likely || RepoId::parse(&project).is_err() {
                    return None;
                }
                Self::find_strictly(method, &[&["projects", project.as_str()], rest].concat())
            })
        };
        Self::find_strictly(method, segments).or_else(decoded)
    }

    fn find_strictly(method: &str, segments: &[&str]) -> Option<Self> {
        match segments {
            ["projects"] => match method {
                "GET" => Some(Self::Projects),
                "POST" => Some(Self::CreateProject),
                _ => None,
            },
            ["projects", project] => {
                let project = (*project).to_owned();
                match method {
                    "GET" => Some(Self::Project { project }),
                    "DELETE" => Some(Self::DeleteProject { project }),
                    _ => None,
                }
            }
            ["projects", project, "branches"] => {
                let project = (*project).to_owned();
                match method {
                    "GET" => Some(Self::Branches { project }),
                    "POST" => Some(Self::CreateBranch { project }),
                    _ => None,
                }
            }
            ["projects", project, "branches", branch, rest @ ..] => {
                let at = BranchAt {
                    project: (*project).to_owned(),
                    branch: (*branch).to_owned(),
                };
                Self::in_branch(method, at, rest)
            }
            ["deleted"] if method == "GET" => Some(Self::Deleted),
            ["deleted", id, "restore"] if method == "POST" => Some(Self::Restore {
                id: (*id).to_owned(),
            }),
            ["audit"] if method == "GET" => Some(Self::Audit),
            ["tokens"] => match method {
                "GET" => Some(Self::Tokens),
                "POST" => Some(Self::CreateToken),
                _ => None,
            },
            ["tokens", id] => {
                let id = (*id).to_owned();
                match method {
                    "PATCH" => Some(Self::ChangeToken { id }),
                    "DELETE" => Some(Self::RevokeToken { id }),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// The routes below a branch. A file's path is one segment, or several where a proxy decodes.
    fn in_branch(method: &str, at: BranchAt, rest: &[&str]) -> Option<Self> {
        let head = |at| StateAt { at, version: None };
        Some(match (method, rest) {
            ("DELETE", []) => Self::DeleteBranch { at },
            ("GET", ["tree"]) => Self::Tree { state: head(at) },
            ("GET", ["files", path @ ..]) => Self::File {
                state: head(at),
                path: path.join("/"),
            },
            ("PUT", ["files", path @ ..]) => Self::SaveFile {
                at,
                path: path.join("/"),
            },
            ("DELETE", ["files", path @ ..]) => Self::DeleteFile {
                at,
                path: path.join("/"),
            },
            ("POST", ["batch"]) => Self::Batch { at },
            ("GET", ["history"]) => Self::History { at },
            ("GET", ["diff"]) => Self::Diff { at },
            ("POST", ["rollback"]) => Self::Rollback { at },
            ("GET", ["snapshots", version, rest @ ..]) => {
                let state = StateAt {
                    at,
                    version: Some((*version).to_owned()),
                };
                match rest {
                    ["tree"] => Self::Tree { state },
                    ["files", path @ ..] => Self::File {
                        state,
                        path: path.join("/"),
                    },
                    _ => return None,
                }
            }
            _ => return None,
        })
    }

    /// What body it takes.
    pub(in crate::http) fn takes(&self) -> Takes {
        match self {
            Self::CreateProject
            | Self::CreateBranch { .. }
            | Self::CreateToken
            | Self::ChangeToken { .. } => Takes::Json,
            Self::SaveFile { .. } => Takes::File,
            Self::Batch { .. } => Takes::Batch,
            Self::Rollback { .. } => Takes::NothingOfInterest,
            Self::Restore { .. } => Takes::JsonOrNothing,
            Self::Projects
            | Self::Project { .. }
            | Self::DeleteProject { .. }
            | Self::Branches { .. }
            | Self::DeleteBranch { .. }
            | Self::Tree { .. }
            | Self::File { .. }
            | Self::DeleteFile { .. }
            | Self::History { .. }
            | Self::Diff { .. }
            | Self::Audit
            | Self::Tokens
            | Self::RevokeToken { .. }
            | Self::Deleted => Takes::Nothing,
        }
    }

    /// The query parameters it knows; others are refused.
    pub(in crate::http) fn parameters(&self) -> &'static [&'static str] {
        match self {
            Self::Projects | Self::Deleted => {
                &["scope", "page", "per_page", "pagination", "page_token"]
            }
            Self::Tree { .. } => &["path", "recursive"],
            Self::Batch { .. } => &["path"],
            Self::History { .. } => &["limit", "before"],
            Self::Diff { .. } => &["from", "to", "unified", "path"],
            Self::Audit => &["since", "user", "project", "limit", "before"],
            Self::Rollback { .. } => &["to", "path", "dry_run", "expect"],
            Self::CreateProject
            | Self::Project { .. }
            | Self::DeleteProject { .. }
            | Self::Branches { .. }
            | Self::CreateBranch { .. }
            | Self::DeleteBranch { .. }
            | Self::File { .. }
            | Self::SaveFile { .. }
            | Self::DeleteFile { .. }
            | Self::Tokens
            | Self::CreateToken
            | Self::ChangeToken { .. }
            | Self::RevokeToken { .. }
            | Self::Restore { .. } => &[],
        }
    }
}

crate::http::route::names::templates! {
    Self::Projects => ["GET /projects"],
    Self::CreateProject => ["POST /projects"],
    Self::Project { .. } => ["GET /projects/{repo_id}"],
    Self::DeleteProject { .. } => ["DELETE /projects/{repo_id}"],
    Self::Branches { .. } => ["GET /projects/{repo_id}/branches"],
    Self::CreateBranch { .. } => ["POST /projects/{repo_id}/branches"],
    Self::DeleteBranch { .. } => ["DELETE /projects/{repo_id}/branches/{ref}"],
    Self::Tree { state: StateAt { version: None, .. } } => [
        "GET /projects/{repo_id}/branches/{ref}/tree",
    ],
    Self::Tree { state: StateAt { version: Some(_), .. } } => [
        "GET /projects/{repo_id}/branches/{ref}/snapshots/{version}/tree",
    ],
    Self::File { state: StateAt { version: None, .. }, .. } => [
        "GET /projects/{repo_id}/branches/{ref}/files/{path}",
    ],
    Self::File { state: StateAt { version: Some(_), .. }, .. } => [
        "GET /projects/{repo_id}/branches/{ref}/snapshots/{version}/files/{path}",
    ],
    Self::SaveFile { .. } => ["PUT /projects/{repo_id}/branches/{ref}/files/{path}"],
    Self::DeleteFile { .. } => ["DELETE /projects/{repo_id}/branches/{ref}/files/{path}"],
    Self::Batch { .. } => ["POST /projects/{repo_id}/branches/{ref}/batch"],
    Self::History { .. } => ["GET /projects/{repo_id}/branches/{ref}/history"],
    Self::Diff { .. } => ["GET /projects/{repo_id}/branches/{ref}/diff"],
    Self::Rollback { .. } => ["POST /projects/{repo_id}/branches/{ref}/rollback"],
    Self::Audit => ["GET /audit"],
    Self::Tokens => ["GET /tokens"],
    Self::CreateToken => ["POST /tokens"],
    Self::ChangeToken { .. } => ["PATCH /tokens/{token_id}"],
    Self::RevokeToken { .. } => ["DELETE /tokens/{token_id}"],
    Self::Deleted => ["GET /deleted"],
    Self::Restore { .. } => ["POST /deleted/{deleted_id}/restore"],
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at() -> BranchAt {
        BranchAt {
            project: "p.erp".into(),
            branch: "a/b".into(),
        }
    }

    fn state(version: Option<&str>) -> StateAt {
        StateAt {
            at: at(),
            version: version.map(str::to_owned),
        }
    }

    fn assert_routes(routes: Vec<(&str, Vec<&str>, Route)>) {
        for (method, segments, expected) in routes {
            let method = Method::from_bytes(method.as_bytes()).unwrap();
            let found = Route::find(&method, &segments);
            assert_eq!(found, Some(expected), "{method} {segments:?}");
        }
    }

    #[test]
    fn projects_and_tokens_have_the_routes_of_the_contract() {
        let project = || "p.erp".to_owned();
        let id = || "7".to_owned();
        let (one, branches) = (["projects", "p.erp"], ["projects", "p.erp", "branches"]);
        assert_routes(vec![
            ("GET", vec!["projects"], Route::Projects),
            ("POST", vec!["projects"], Route::CreateProject),
            ("GET", one.to_vec(), Route::Project { project: project() }),
            (
                "DELETE",
                one.to_vec(),
                Route::DeleteProject { project: project() },
            ),
            (
                "GET",
                branches.to_vec(),
                Route::Branches { project: project() },
            ),
            (
                "POST",
                branches.to_vec(),
                Route::CreateBranch { project: project() },
            ),
            ("GET", vec!["tokens"], Route::Tokens),
            ("POST", vec!["tokens"], Route::CreateToken),
            (
                "PATCH",
                vec!["tokens", "7"],
                Route::ChangeToken { id: id() },
            ),
            (
                "DELETE",
                vec!["tokens", "7"],
                Route::RevokeToken { id: id() },
            ),
            ("GET", vec!["deleted"], Route::Deleted),
            (
                "POST",
                vec!["deleted", "7", "restore"],
                Route::Restore { id: id() },
            ),
        ]);
    }

    #[test]
    fn a_branch_has_the_routes_of_the_contract() {
        let branch = ["projects", "p.erp", "branches", "a/b"];
        let below = |rest: &[&'static str]| [&branch[..], rest].concat();
        let path = || "x/y".to_owned();
        let file = |version| Route::File {
            state: state(version),
            path: path(),
        };
        let tree = |version| Route::Tree {
            state: state(version),
        };
        let snapshot = Some("v0001");
        assert_routes(vec![
            ("DELETE", below(&[]), Route::DeleteBranch { at: at() }),
            ("GET", below(&["tree"]), tree(None)),
            (
                "GET",
                below(&["snapshots", "v0001", "tree"]),
                tree(snapshot),
            ),
            ("GET", below(&["files", "x/y"]), file(None)),
            ("GET", below(&["files", "x", "y"]), file(None)),
            (
                "GET",
                below(&["snapshots", "v0001", "files", "x/y"]),
                file(snapshot),
            ),
            (
                "PUT",
                below(&["files", "x/y"]),
                Route::SaveFile {
                    at: at(),
                    path: path(),
                },
            ),
            (
                "DELETE",
                below(&["files", "x", "y"]),
                Route::DeleteFile {
                    at: at(),
                    path: path(),
                },
            ),
            ("POST", below(&["batch"]), Route::Batch { at: at() }),
            ("GET", below(&["history"]), Route::History { at: at() }),
            ("GET", below(&["diff"]), Route::Diff { at: at() }),
            ("POST", below(&["rollback"]), Route::Rollback { at: at() }),
        ]);
    }

    #[test]
    fn a_project_may_have_slashes_that_a_proxy_decoded() {
        let project = || "acme/eu/shop.erp".to_owned();
        let in_branch = || BranchAt {
            project: project(),
            branch: "main".into(),
        };
        let one = ["projects", "acme", "eu", "shop.erp"];
        let below = |rest: &[&'static str]| [&one[..], rest].concat();
        assert_routes(vec![
            ("GET", one.to_vec(), Route::Project { project: project() }),
            (
                "POST",
                below(&["branches"]),
                Route::CreateBranch { project: project() },
            ),
            (
                "PUT",
                below(&["branches", "main", "files", "branches", "a.erp"]),
                Route::SaveFile {
                    at: in_branch(),
                    path: "branches/a.erp".into(),
                },
            ),
            // One segment is the strict form, whatever follows it.
            (
                "DELETE",
                vec!["projects", "7", "branches", "shop.erp"],
                Route::DeleteBranch {
                    at: BranchAt {
                        project: "7".into(),
                        branch: "shop.erp".into(),
                    },
                },
            ),
        ]);
        for nothing in [
            vec!["projects", "acme", "shop"],
            vec!["projects", "a b", "..", "shop.erp"],
            vec!["projects", "acme", "branches", "main", "shop.erp"],
            vec!["tokens", "acme", "shop.erp"],
        ] {
            assert_eq!(Route::find(&Method::GET, &nothing), None, "{nothing:?}");
        }
    }

    #[test]
    fn a_snapshot_is_never_written() {
        let segments = [
            "projects",
            "p",
            "branches",
            "b",
            "snapshots",
            "v0001",
            "files",
            "x",
        ];
        for method in [Method::PUT, Method::DELETE, Method::POST, Method::PATCH] {
            assert_eq!(Route::find(&method, &segments), None, "{method}");
        }
        assert_eq!(Route::find(&Method::GET, &segments[..6]), None);
    }
}
