//! The routes of the Read API.

use std::iter;

use hyper::Method;

use super::project_name;
use crate::base::id::is_commit_id;
use crate::http::archive::Format;

/// A route, with the decoded names of its path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::http) enum Route {
    /// `GET /health`
    Health,
    /// `GET /user`
    User,
    /// `GET /version`, `GET /metadata`
    Version,
    /// `GET /personal_access_tokens/self`
    Token,
    /// `GET /projects`
    Projects,
    /// `GET /projects/<project>`
    Project { project: String },
    /// `GET /projects/<project>/repository/…`
    Repository { project: String, resource: Resource },
}

/// What is asked of a project's repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::http) enum Resource {
    /// `branches`
    Branches,
    /// `branches/<name>`
    Branch(String),
    /// `tree`
    Tree,
    /// `files/<path>`
    File(String),
    /// `files/<path>/raw`
    Raw(String),
    /// `blobs/<sha>`
    Blob(String),
    /// `blobs/<sha>/raw`
    RawBlob(String),
    /// `archive`, `archive.<format>`
    Archive(Format),
    /// `commits`
    Commits,
    /// `commits/<reference>`
    Commit(String),
    /// `commits/<reference>/diff`
    CommitDiff(String),
    /// `commits/<reference>/refs`
    CommitRefs(String),
    /// `compare`
    Compare,
    /// `tags`
    Tags,
    /// `tags/<name>`
    Tag(String),
}

/// What GitLab has below a commit and this service has not: no name of a branch that a proxy decoded.
const NOT_BELOW_COMMITS: [&str; 8] = [
    "cherry_pick",
    "comments",
    "discussions",
    "merge_requests",
    "revert",
    "sequence",
    "signature",
    "statuses",
];

impl Route {
    /// The route with this method and these decoded segments below the mount.
    pub(in crate::http) fn find(method: &Method, segments: &[&str]) -> Option<Self> {
        if method != Method::GET {
            return None;
        }
        match segments {
            ["health"] => Some(Self::Health),
            ["user"] => Some(Self::User),
            ["version" | "metadata"] => Some(Self::Version),
            ["personal_access_tokens", "self"] => Some(Self::Token),
            ["projects"] => Some(Self::Projects),
            ["projects", rest @ ..] => Self::below_projects(rest),
            _ => None,
        }
    }

    /// True for what a client may wait for until it has changed.
    pub(in crate::http) fn can_wait(&self) -> bool {
        matches!(
            self,
            Self::Repository {
                resource: Resource::Branches | Resource::Branch(_),
                ..
            }
        )
    }

    /// The strict form has one segment for the project; several are what a decoding proxy makes of
    /// it.
    fn below_projects(segments: &[&str]) -> Option<Self> {
        let (first, behind) = segments.split_first()?;
        let strict = iter::once(((*first).to_owned(), behind));
        let mut ways = strict.chain(project_name::from_several(segments, "repository"));
        ways.find_map(|(project, rest)| match rest {
            [] => Some(Self::Project { project }),
            ["repository", rest @ ..] => {
                let resource = Resource::find(rest)?;
                Some(Self::Repository { project, resource })
            }
            _ => None,
        })
    }
}

impl Resource {
    fn find(segments: &[&str]) -> Option<Self> {
        let owned = |text: &str| text.to_owned();
        Some(match segments {
            ["branches"] => Self::Branches,
            ["tree"] => Self::Tree,
            ["commits"] => Self::Commits,
            ["compare"] => Self::Compare,
            ["tags"] => Self::Tags,
            ["archive" | "archive.tar.gz"] => Self::Archive(Format::TarGz),
            ["archive.tar"] => Self::Archive(Format::Tar),
            ["archive.zip"] => Self::Archive(Format::Zip),
            ["blobs", sha] => Self::Blob(owned(sha)),
            ["blobs", sha, "raw"] => Self::RawBlob(owned(sha)),
            // As with projects, one segment is the strict form.
            ["branches", name @ ..] => Self::Branch(name.join("/")),
            ["tags", name @ ..] => Self::Tag(name.join("/")),
            ["commits", reference @ ..] => Self::commit(reference)?,
            ["files", path] => Self::File(owned(path)),
            ["files", _, .., "blame"] => return None,
            ["files", path @ .., "raw"] => Self::Raw(path.join("/")),
            ["files", path @ ..] if !path.is_empty() => Self::File(path.join("/")),
            _ => return None,
        })
    }

    /// One segment is the strict form of a name here, too, and a commit id never has more.
    fn commit(segments: &[&str]) -> Option<Self> {
        let (name, what) = match segments {
            [name @ .., what @ ("diff" | "refs")] if !name.is_empty() => (name, Some(*what)),
            [_, .., last] if NOT_BELOW_COMMITS.contains(last) => return None,
            name => (name, None),
        };
        if name.len() > 1 && is_commit_id(name[0]) {
            return None;
        }
        let name = name.join("/");
        Some(match what {
            Some("diff") => Self::CommitDiff(name),
            Some(_) => Self::CommitRefs(name),
            None => Self::Commit(name),
        })
    }
}

crate::http::route::names::templates! {
    Self::Health => ["GET /health"] for Anybody,
    Self::User => ["GET /user"] for Token,
    Self::Version => ["GET /version", "GET /metadata"] for Token,
    Self::Token => ["GET /personal_access_tokens/self"] for Token,
    Self::Projects => ["GET /projects"] for Token,
    Self::Project { .. } => ["GET /projects/{repo_id}"] for Covered,
    Self::Repository { resource: Resource::Branches, .. } => [
        "GET /projects/{repo_id}/repository/branches",
    ] for Covered,
    Self::Repository { resource: Resource::Branch(_), .. } => [
        "GET /projects/{repo_id}/repository/branches/{branch}",
    ] for Covered,
    Self::Repository { resource: Resource::Tree, .. } => [
        "GET /projects/{repo_id}/repository/tree",
    ] for Covered,
    Self::Repository { resource: Resource::File(_), .. } => [
        "GET /projects/{repo_id}/repository/files/{path}",
    ] for Covered,
    Self::Repository { resource: Resource::Raw(_), .. } => [
        "GET /projects/{repo_id}/repository/files/{path}/raw",
    ] for Covered,
    Self::Repository { resource: Resource::Blob(_), .. } => [
        "GET /projects/{repo_id}/repository/blobs/{sha}",
    ] for Covered,
    Self::Repository { resource: Resource::RawBlob(_), .. } => [
        "GET /projects/{repo_id}/repository/blobs/{sha}/raw",
    ] for Covered,
    Self::Repository { resource: Resource::Archive(Format::TarGz), .. } => [
        "GET /projects/{repo_id}/repository/archive",
        "GET /projects/{repo_id}/repository/archive.tar.gz",
    ] for Covered,
    Self::Repository { resource: Resource::Archive(Format::Tar), .. } => [
        "GET /projects/{repo_id}/repository/archive.tar",
    ] for Covered,
    Self::Repository { resource: Resource::Archive(Format::Zip), .. } => [
        "GET /projects/{repo_id}/repository/archive.zip",
    ] for Covered,
    Self::Repository { resource: Resource::Commits, .. } => [
        "GET /projects/{repo_id}/repository/commits",
    ] for Covered,
    Self::Repository { resource: Resource::Commit(_), .. } => [
        "GET /projects/{repo_id}/repository/commits/{sha}",
    ] for Covered,
    Self::Repository { resource: Resource::CommitDiff(_), .. } => [
        "GET /projects/{repo_id}/repository/commits/{sha}/diff",
    ] for Covered,
    Self::Repository { resource: Resource::CommitRefs(_), .. } => [
        "GET /projects/{repo_id}/repository/commits/{sha}/refs",
    ] for Covered,
    Self::Repository { resource: Resource::Compare, .. } => [
        "GET /projects/{repo_id}/repository/compare",
    ] for Covered,
    Self::Repository { resource: Resource::Tags, .. } => [
        "GET /projects/{repo_id}/repository/tags",
    ] for Covered,
    Self::Repository { resource: Resource::Tag(_), .. } => [
        "GET /projects/{repo_id}/repository/tags/{tag}",
    ] for Covered,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str) -> Option<Route> {
        let segments: Vec<_> = path.split(' ').collect();
        assert_eq!(Route::find(&Method::PUT, &segments), None, "{path}");
        Route::find(&Method::GET, &segments)
    }

    #[expect(
        clippy::unnecessary_wraps,
        reason = "it is held against what was found"
    )]
    fn of(project: &str, resource: Resource) -> Option<Route> {
        Some(Route::Repository {
            project: project.to_owned(),
            resource,
        })
    }

    #[test]
    fn the_strict_form_has_one_segment_a_name() {
        let file = |path: &str| of("p.erp", Resource::File(path.to_owned()));
        let raw = |path: &str| of("p.erp", Resource::Raw(path.to_owned()));
        let owned = |text: &str| text.to_owned();
        for (path, expected) in [
            ("health", Some(Route::Health)),
            ("user", Some(Route::User)),
            ("metadata", Some(Route::Version)),
            ("personal_access_tokens self", Some(Route::Token)),
            ("projects", Some(Route::Projects)),
            (
                "projects 7",
                Some(Route::Project {
                    project: owned("7"),
                }),
            ),
            (
                "projects 7 repository branches",
                of("7", Resource::Branches),
            ),
            (
                "projects a/p.erp repository tree",
                of("a/p.erp", Resource::Tree),
            ),
            (
                "projects 7 repository branches f/x",
                of("7", Resource::Branch(owned("f/x"))),
            ),
            (
                "projects 7 repository archive",
                of("7", Resource::Archive(Format::TarGz)),
            ),
            (
                "projects 7 repository archive.zip",
                of("7", Resource::Archive(Format::Zip)),
            ),
            (
                "projects 7 repository blobs abc raw",
                of("7", Resource::RawBlob(owned("abc"))),
            ),
            ("projects p.erp repository files a/b.xml", file("a/b.xml")),
            (
                "projects p.erp repository files a/b.xml raw",
                raw("a/b.xml"),
            ),
            ("projects p.erp repository files raw", file("raw")),
            ("projects p.erp repository files raw raw", raw("raw")),
            ("projects p.erp repository files a/raw", file("a/raw")),
            ("projects 7 repository tags", of("7", Resource::Tags)),
            (
                "projects 7 repository tags v1",
                of("7", Resource::Tag(owned("v1"))),
            ),
            (
                "projects 7 repository commits f/x refs",
                of("7", Resource::CommitRefs(owned("f/x"))),
            ),
            (
                "projects 7 repository commits diff",
                of("7", Resource::Commit(owned("diff"))),
            ),
        ] {
            assert_eq!(found(path), expected, "{path}");
        }
    }

    #[test]
    fn several_segments_are_what_a_decoding_proxy_leaves() {
        for (path, expected) in [
            (
                "projects p.erp repository files a b.xml raw",
                of("p.erp", Resource::Raw("a/b.xml".into())),
            ),
            (
                "projects p.erp repository files a b.xml",
                of("p.erp", Resource::File("a/b.xml".into())),
            ),
            (
                "projects a p.erp repository tree",
                of("a/p.erp", Resource::Tree),
            ),
            (
                "projects a p.erp",
                Some(Route::Project {
                    project: "a/p.erp".into(),
                }),
            ),
            (
                "projects a p.erp repository branches f x",
                of("a/p.erp", Resource::Branch("f/x".into())),
            ),
            (
                "projects a p.erp repository commits f x diff",
                of("a/p.erp", Resource::CommitDiff("f/x".into())),
            ),
            (
                "projects 7 repository commits f x",
                of("7", Resource::Commit("f/x".into())),
            ),
        ] {
            assert_eq!(found(path), expected, "{path}");
        }
    }

    #[test]
    fn everything_else_is_no_route() {
        for path in [
            "",
            "nowhere",
            "health x",
            "projects 7 repository",
            "projects 7 issues",
            "projects a b repository tree",
            "projects 7 repository files",
            "projects 7 repository archive.rar",
            "projects 7 repository blobs",
            "projects 7 repository commits main comments",
            "projects 7 repository commits f x statuses",
            "projects 7 repository commits 0123456789abcdef0123456789abcdef01234567 tags",
            "projects 7 repository files a.xml blame",
            "personal_access_tokens",
        ] {
            assert_eq!(found(path), None, "{path}");
        }
    }
}
