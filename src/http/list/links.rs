//! Links to further pages: the request's own address with other parameters (contract section 5).

use hyper::header::HeaderValue;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::base::secret::Secret;
use crate::http::request::context::RequestContext;
use crate::repo::Project;

/// What a segment of a path and a value of a query hold unescaped.
pub(in crate::http) const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// Parameters that say which page; a link sets them itself.
const PAGE_KEYS: [&str; 3] = ["page", "per_page", "page_token"];

/// Parameters under which clients of GitLab may send a token. This service does not read them, and
/// shows them to nobody.
const TOKEN_KEYS: [&str; 4] = ["private_token", "access_token", "job_token", "token"];

/// Parameters that hold names and parts of them. What looks like a token there is the name of a file, as of one
/// that is called by its digest: without it the next page would be of another list.
const NAME_KEYS: [&str; 4] = ["path", "search", "regex", "author"];

/// The absolute address of the same list, in the same spelling of its path and with all its
/// parameters, also those of a form, but with these for the page.
pub(in crate::http) fn page_url(context: &RequestContext, page: &[(&str, &str)]) -> String {
    let mut url = context.base_url();
    // Clients split the header at these before they look for the brackets.
    for c in context.head.uri.path().chars() {
        match c {
            ',' => url.push_str("%2C"),
            ';' => url.push_str("%3B"),
            '<' => url.push_str("%3C"),
            '>' => url.push_str("%3E"),
            '"' => url.push_str("%22"),
            c if c.is_ascii_graphic() => url.push(c),
            c => url.extend(utf8_percent_encode(c.encode_utf8(&mut [0; 4]), UNRESERVED)),
        }
    }
    let kept = context.query.pairs().filter(|(key, value)| {
        !PAGE_KEYS.contains(key)
            && page.iter().all(|(set, _)| set != key)
            && !TOKEN_KEYS.contains(key)
            && (NAME_KEYS.contains(key) || Secret::parse(value.as_bytes()).is_none())
    });
    let mut separator = '?';
    for (key, value) in kept.chain(page.iter().copied()) {
        url.push(separator);
        url.extend(utf8_percent_encode(key, UNRESERVED));
        url.push('=');
        url.extend(utf8_percent_encode(value, UNRESERVED));
        separator = '&';
    }
    url
}

/// A `Link` to the next page, which has these parameters.
pub(in crate::http) fn next(context: &RequestContext, page: &[(&str, &str)]) -> HeaderValue {
    let link = format!("<{}>; rel=\"next\"", page_url(context, page));
    HeaderValue::try_from(link).expect("links are escaped")
}

/// Where a revision can be looked at.
pub(in crate::http) fn tree_url(
    context: &RequestContext,
    project: &Project,
    reference: &str,
) -> String {
    let project = project_url(context, project);
    let reference = utf8_percent_encode(reference, UNRESERVED);
    format!("{project}/repository/tree?ref={reference}")
}

/// Where a project can be looked at.
pub(in crate::http) fn project_url(context: &RequestContext, project: &Project) -> String {
    let mount = context.mount_url();
    let project = utf8_percent_encode(project.repo_id().as_str(), UNRESERVED);
    format!("{mount}/projects/{project}")
}
