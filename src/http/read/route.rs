//! The routes of the Read API.

use hyper::Method;

/// A route, with the decoded names of its path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::http) enum Route {
    /// `GET /health`
    Health,
    /// `GET /projects/<project>/repository/branches`
    Branches { project: String },
    /// `GET /projects/<project>/repository/tree`
    Tree { project: String },
    /// `GET /projects/<project>/repository/files/<path>/raw`
    Raw { project: String, path: String },
}

impl Route {
    /// The route with this method and these decoded segments below the mount.
    pub(in crate::http) fn find(method: &Method, segments: &[&str]) -> Option<Self> {
        let owned = |text: &str| text.to_owned();
        Some(match (method.as_str(), segments) {
            ("GET", ["health"]) => Self::Health,
            ("GET", ["projects", project, "repository", "branches"]) => Self::Branches {
                project: owned(project),
            },
            ("GET", ["projects", project, "repository", "tree"]) => Self::Tree {
                project: owned(project),
            },
            // The strict form is one segment; several are what a decoding proxy makes of it.
            ("GET", ["projects", project, "repository", "files", path @ .., "raw"])
                if !path.is_empty() =>
            {
                Self::Raw {
                    project: owned(project),
                    path: path.join("/"),
                }
            }
            _ => return None,
        })
    }
}

#[cfg(test)]
crate::http::openapi::templates! {
    Self::Health => ["GET /health"],
    Self::Branches { .. } => ["GET /projects/{repo_id}/repository/branches"],
    Self::Tree { .. } => ["GET /projects/{repo_id}/repository/tree"],
    Self::Raw { .. } => ["GET /projects/{repo_id}/repository/files/{path}/raw"],
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(path: &str) -> Route {
        Route::Raw {
            project: "p.erp".into(),
            path: path.into(),
        }
    }

    #[test]
    fn the_routes_are_those_of_the_specification() {
        let project = || "p.erp".to_owned();
        for (segments, expected) in [
            (&["health"][..], Some(Route::Health)),
            (
                &["projects", "p.erp", "repository", "branches"],
                Some(Route::Branches { project: project() }),
            ),
            (
                &["projects", "p.erp", "repository", "tree"],
                Some(Route::Tree { project: project() }),
            ),
            (
                &["projects", "p.erp", "repository", "files", "a/b.xml", "raw"],
                Some(raw("a/b.xml")),
            ),
            (
                &[
                    "projects",
                    "p.erp",
                    "repository",
                    "files",
                    "a",
                    "b.xml",
                    "raw",
                ],
                Some(raw("a/b.xml")),
            ),
            (
                &["projects", "p.erp", "repository", "files", "raw", "raw"],
                Some(raw("raw")),
            ),
            (&["projects", "p.erp", "repository", "files", "raw"], None),
            (&["projects", "p.erp", "repository", "files", "a"], None),
            (&["projects", "a", "p.erp", "repository", "tree"], None),
            (&["projects"], None),
            (&[], None),
        ] {
            assert_eq!(
                Route::find(&Method::GET, segments),
                expected,
                "{segments:?}"
            );
            assert_eq!(Route::find(&Method::PUT, segments), None, "{segments:?}");
        }
    }
}
