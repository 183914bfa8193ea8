//! The routes of the Admin API: those of projects, of one branch, and of who uses the service.

pub(in crate::http) mod account;
pub(in crate::http) mod branch;
pub(in crate::http) mod project;

use hyper::Method;

use super::project_name;

/// A route, with the decoded names of its path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::http) enum Route {
    /// Below `/projects` and `/deleted`, but not below a branch.
    Project(project::Route),
    /// Below `/projects/<project>/branches/<ref>`.
    Branch(BranchAt, branch::Route),
    /// Accounts, their tokens, and what they did.
    Account(account::Route),
}

/// Names a branch: the decoded segments of its project and its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::http) struct BranchAt {
    pub(in crate::http) project: String,
    pub(in crate::http) branch: String,
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
        match segments {
            ["projects", behind @ ..] if let [project, rest @ ..] = behind => {
                let mut ways = project_name::from_several(behind, "branches");
                Self::below_project(method, project, rest).or_else(|| {
                    ways.find_map(|(project, rest)| Self::below_project(method, &project, rest))
                })
            }
            ["projects" | "deleted", ..] => {
                project::Route::find(method, segments).map(Self::Project)
            }
            _ => account::Route::find(method, segments).map(Self::Account),
        }
    }

    fn below_project(method: &str, project: &str, rest: &[&str]) -> Option<Self> {
        match rest {
            ["branches", branch, rest @ ..] => {
                let at = BranchAt {
                    project: project.to_owned(),
                    branch: (*branch).to_owned(),
                };
                branch::Route::find(method, rest).map(|route| Self::Branch(at, route))
            }
            [] => project::Route::find(method, &["projects", project]).map(Self::Project),
            [part] => project::Route::find(method, &["projects", project, part]).map(Self::Project),
            _ => None,
        }
    }

    /// What body it takes.
    pub(in crate::http) fn takes(&self) -> Takes {
        match self {
            Self::Project(route) => route.takes(),
            Self::Branch(_, route) => route.takes(),
            Self::Account(route) => route.takes(),
        }
    }

    /// True for what may search or compare for seconds.
    pub(in crate::http) fn takes_long(&self) -> bool {
        matches!(
            self,
            Self::Branch(
                _,
                branch::Route::Diff | branch::Route::Broken | branch::Route::Archive { .. }
            ) | Self::Account(account::Route::Audit)
                | Self::Project(project::Route::Deleted | project::Route::SetRules { .. })
        )
    }

    /// True for what may hash passwords, which takes 19 MiB and some 25 ms of a core.
    pub(in crate::http) fn hashes(&self) -> bool {
        matches!(self, Self::Account(route) if route.hashes())
    }

    /// True for what a page asks again and again while it lies open.
    pub(in crate::http) fn is_watched(&self) -> bool {
        matches!(self, Self::Account(account::Route::Service))
    }

    /// The query parameters it knows; others are refused.
    pub(in crate::http) fn parameters(&self) -> &'static [&'static str] {
        match self {
            Self::Project(route) => route.parameters(),
            Self::Branch(_, route) => route.parameters(),
            Self::Account(route) => route.parameters(),
        }
    }

    /// The names that lead to this route.
    #[cfg(test)]
    pub(in crate::http) fn templates(&self) -> &'static [&'static str] {
        match self {
            Self::Project(route) => route.templates(),
            Self::Branch(_, route) => route.templates(),
            Self::Account(route) => route.templates(),
        }
    }
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

    fn assert_routes(routes: Vec<(&str, Vec<&str>, Route)>) {
        for (method, segments, expected) in routes {
            let method = Method::from_bytes(method.as_bytes()).unwrap();
            let found = Route::find(&method, &segments);
            assert_eq!(found, Some(expected), "{method} {segments:?}");
        }
    }

    fn in_branch(route: branch::Route) -> Route {
        Route::Branch(at(), route)
    }

    #[test]
    fn projects_and_tokens_have_the_routes_of_the_contract() {
        let project = || "p.erp".to_owned();
        let id = || "7".to_owned();
        let (one, branches) = (["projects", "p.erp"], ["projects", "p.erp", "branches"]);
        assert_routes(vec![
            (
                "GET",
                vec!["projects"],
                Route::Project(project::Route::List),
            ),
            (
                "POST",
                vec!["projects"],
                Route::Project(project::Route::Create),
            ),
            (
                "GET",
                one.to_vec(),
                Route::Project(project::Route::Show { project: project() }),
            ),
            (
                "DELETE",
                one.to_vec(),
                Route::Project(project::Route::Delete { project: project() }),
            ),
            (
                "GET",
                branches.to_vec(),
                Route::Project(project::Route::Branches { project: project() }),
            ),
            (
                "POST",
                branches.to_vec(),
                Route::Project(project::Route::CreateBranch { project: project() }),
            ),
            (
                "GET",
                vec!["tokens"],
                Route::Account(account::Route::Tokens),
            ),
            (
                "POST",
                vec!["tokens"],
                Route::Account(account::Route::CreateToken),
            ),
            (
                "PATCH",
                vec!["tokens", "7"],
                Route::Account(account::Route::ChangeToken { id: id() }),
            ),
            (
                "DELETE",
                vec!["tokens", "7"],
                Route::Account(account::Route::RevokeToken { id: id() }),
            ),
            (
                "GET",
                vec!["deleted"],
                Route::Project(project::Route::Deleted),
            ),
            (
                "POST",
                vec!["deleted", "7", "restore"],
                Route::Project(project::Route::Restore { id: id() }),
            ),
        ]);
    }

    #[test]
    fn a_branch_has_the_routes_of_the_contract() {
        let one = ["projects", "p.erp", "branches", "a/b"];
        let below = |rest: &[&'static str]| [&one[..], rest].concat();
        let path = || "x/y".to_owned();
        let file = |version| {
            in_branch(branch::Route::File {
                version,
                path: path(),
            })
        };
        let tree = |version| in_branch(branch::Route::Tree { version });
        let snapshot = || Some("v0001".to_owned());
        assert_routes(vec![
            ("GET", below(&[]), in_branch(branch::Route::Show)),
            ("DELETE", below(&[]), in_branch(branch::Route::Delete)),
            ("GET", below(&["tree"]), tree(None)),
            (
                "GET",
                below(&["snapshots", "v0001", "tree"]),
                tree(snapshot()),
            ),
            ("GET", below(&["files", "x/y"]), file(None)),
            ("GET", below(&["files", "x", "y"]), file(None)),
            (
                "GET",
                below(&["snapshots", "v0001", "files", "x/y"]),
                file(snapshot()),
            ),
            (
                "PUT",
                below(&["files", "x/y"]),
                in_branch(branch::Route::SaveFile { path: path() }),
            ),
            (
                "DELETE",
                below(&["files", "x", "y"]),
                in_branch(branch::Route::DeleteFile { path: path() }),
            ),
            ("POST", below(&["batch"]), in_branch(branch::Route::Batch)),
            (
                "GET",
                below(&["history"]),
                in_branch(branch::Route::History),
            ),
            ("GET", below(&["diff"]), in_branch(branch::Route::Diff)),
            (
                "POST",
                below(&["rollback"]),
                in_branch(branch::Route::Rollback),
            ),
        ]);
    }

    #[test]
    fn a_project_may_have_slashes_that_a_proxy_decoded() {
        let project = || "acme/eu/shop.erp".to_owned();
        let decoded = || BranchAt {
            project: project(),
            branch: "main".into(),
        };
        let one = ["projects", "acme", "eu", "shop.erp"];
        let below = |rest: &[&'static str]| [&one[..], rest].concat();
        assert_routes(vec![
            (
                "GET",
                one.to_vec(),
                Route::Project(project::Route::Show { project: project() }),
            ),
            (
                "POST",
                below(&["branches"]),
                Route::Project(project::Route::CreateBranch { project: project() }),
            ),
            (
                "PUT",
                below(&["branches", "main", "files", "branches", "a.erp"]),
                Route::Branch(
                    decoded(),
                    branch::Route::SaveFile {
                        path: "branches/a.erp".into(),
                    },
                ),
            ),
            // One segment is the strict form, whatever follows it.
            (
                "DELETE",
                vec!["projects", "7", "branches", "shop.erp"],
                Route::Branch(
                    BranchAt {
                        project: "7".into(),
                        branch: "shop.erp".into(),
                    },
                    branch::Route::Delete,
                ),
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
