//! Where the Read API is, and the targets in it.

use std::net::IpAddr;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use ureq::http::Uri;

use crate::cli::{Error, Result};

/// Where a siteconf service has its Read API.
const MOUNT: &str = "/site-builder/api/erp-config";

/// What is escaped in a part of a path or of a query.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// The root of the Read API, without a slash at its end.
///
/// # Errors
/// [`Error::Usage`] for an address that is none, or that has more than a scheme, a host, a port and a path.
pub(in crate::cli::pull) fn root(url: &str) -> Result<String> {
    let refuse = |why: &str| {
        Error::Usage(format!(
            "\"{}\" is no address of a service: {why}; it must be as in https://conf.example",
            crate::cli::output::visible(url)
        ))
    };
    let parsed: Uri = url.parse().map_err(|_| refuse("it cannot be read"))?;
    if !matches!(parsed.scheme_str(), Some("http" | "https")) {
        return Err(refuse("it does not begin with http:// or https://"));
    }
    let authority = parsed
        .authority()
        .map_or("", |authority| authority.as_str());
    if authority.contains('@') {
        return Err(refuse(
            "it holds a name or a password, which belong into the file of the token",
        ));
    }
    if url.contains(['?', '#']) {
        return Err(refuse("it has more than a path"));
    }
    let root = url.trim_end_matches('/');
    Ok(match parsed.path() {
        "" | "/" => format!("{root}{MOUNT}"),
        _ => root.to_owned(),
    })
}

/// The host of a root to which everything goes unencrypted over the network: without TLS, and not to this machine.
pub(super) fn open_host(root: &str) -> Option<String> {
    let uri: Uri = root.parse().ok()?;
    let host = uri.host()?;
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let name = bare.to_ascii_lowercase();
    let is_here = name == "localhost"
        || name.ends_with(".localhost")
        || bare
            .parse::<IpAddr>()
            .is_ok_and(|ip| ip.to_canonical().is_loopback());
    (uri.scheme_str() == Some("http") && !is_here).then(|| host.to_owned())
}

/// The paths and queries of one branch of one project.
#[derive(Clone, Debug)]
pub(in crate::cli::pull) struct Targets {
    project: String,
    branch: String,
}

impl Targets {
    pub(in crate::cli::pull) fn new(repo_id: &str, branch: &str) -> Self {
        Self {
            project: format!("/projects/{}/repository", escaped(repo_id)),
            branch: escaped(branch),
        }
    }

    /// The branch's head; with `wait_s` the answer may come as late when nothing is new.
    pub(in crate::cli::pull) fn branch(&self, wait_s: Option<u64>) -> String {
        let wait = wait_s.map(|wait_s| format!("?wait={wait_s}"));
        let wait = wait.unwrap_or_default();
        format!("{}/branches/{}{wait}", self.project, self.branch)
    }

    /// The whole tree of a revision, `rest` being more of the query.
    pub(in crate::cli::pull) fn tree(&self, revision: &str, rest: &str) -> String {
        format!("{}/tree?{}", self.project, tree_query(revision, rest))
    }

    /// The tree again, by the query of a link to a further page.
    pub(in crate::cli::pull) fn tree_page(&self, query: &str) -> String {
        format!("{}/tree?{query}", self.project)
    }

    /// The bytes of a file of a revision.
    pub(in crate::cli::pull) fn file(&self, revision: &str, path: &str) -> String {
        let (path, revision) = (escaped(path), escaped(revision));
        format!("{}/files/{path}/raw?ref={revision}", self.project)
    }
}

/// The query of a whole tree.
pub(in crate::cli::pull) fn tree_query(revision: &str, rest: &str) -> String {
    format!("ref={}&recursive=true{rest}", escaped(revision))
}

fn escaped(text: &str) -> String {
    utf8_percent_encode(text, ESCAPED).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_without_a_path_is_a_siteconf_service() {
        for (url, expected) in [
            ("http://a:8080", "http://a:8080/site-builder/api/erp-config"),
            ("https://a/", "https://a/site-builder/api/erp-config"),
            ("https://a/api/v4/", "https://a/api/v4"),
            (
                "https://[::1]:1/x/site-builder/api/erp-config",
                "https://[::1]:1/x/site-builder/api/erp-config",
            ),
        ] {
            assert_eq!(root(url).unwrap(), expected);
        }
        for wrong in [
            "",
            "a.example",
            "ftp://a",
            "http://",
            "https://me:secret@a",
            "https://a/?x=1",
            "https://a/#x",
            "https://a b",
        ] {
            let Err(Error::Usage(said)) = root(wrong) else {
                panic!("{wrong} was taken");
            };
            assert!(said.contains("as in https://conf.example"), "{said}");
        }
    }

    #[test]
    fn without_tls_a_root_on_another_machine_is_open() {
        for (url, host) in [
            ("http://conf.example:8080", "conf.example"),
            ("HTTP://10.0.0.1/api/v4", "10.0.0.1"),
            ("http://[2001:db8::1]", "[2001:db8::1]"),
        ] {
            let found = open_host(&root(url).unwrap());
            assert_eq!(found.as_deref(), Some(host), "{url}");
        }
        for url in [
            "https://conf.example",
            "http://localhost:8080",
            "http://conf.Localhost",
            "http://[::ffff:127.0.0.1]",
            "http://127.0.0.1:8080",
            "http://[::1]:8080",
        ] {
            assert_eq!(open_host(&root(url).unwrap()), None, "{url}");
        }
    }

    #[test]
    fn names_are_one_part_of_a_path_each() {
        let targets = Targets::new("acme/shop.erp", "feature/ы");
        let project = "/projects/acme%2Fshop.erp/repository";
        assert_eq!(
            targets.branch(Some(30)),
            format!("{project}/branches/feature%2F%D1%8B?wait=30")
        );
        assert_eq!(
            targets.tree("abc", "&per_page=100"),
            format!("{project}/tree?ref=abc&recursive=true&per_page=100")
        );
        assert_eq!(
            targets.file("a&b", "x y/+%?#.xml"),
            format!("{project}/files/x%20y%2F%2B%25%3F%23.xml/raw?ref=a%26b")
        );
    }
}
