//! How clients of GitLab walk a list: from link to link, from number to number, all at once.

use serde_json::Value;

use crate::harness::{Answer, User, soon};

/// Most pages that a walk may take: one that goes on for ever is a defect.
const PAGES_MAX: usize = 2000;

/// The address under a relation of the `Link` header, cut as gitbeaker cuts it: exactly one space.
#[track_caller]
pub(crate) fn link(answer: &Answer, relation: &str) -> Option<String> {
    let header = answer.header("Link")?;
    header.split(", ").find_map(|entry| {
        let (url, rest) = entry.strip_prefix('<')?.split_once('>')?;
        assert!(!url.contains([',', ';', ' ', '"', '<']), "{url}");
        (rest == format!("; rel=\"{relation}\"")).then(|| url.to_owned())
    })
}

/// The target of an address of the service under the reader's own `Host`.
#[track_caller]
pub(crate) fn target_of(reader: &User, url: &str) -> String {
    let own = format!("http://{}", reader.address());
    let target = url.strip_prefix(&own);
    target
        .expect("a link leads where the client came from")
        .to_owned()
}

/// The elements of a list that is in one answer.
#[track_caller]
pub(crate) fn elements(answer: &Answer) -> Vec<Value> {
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json().as_array().expect("a list").clone()
}

/// The answer to who asks for a list that may be filtered: a service that is kept from its cores for a second while it
/// filters says that this takes too long.
#[track_caller]
pub(crate) fn listed(reader: &User, target: &str) -> Answer {
    let mut answer = reader.get(target);
    soon(|| {
        let is_late = answer.status == 503 && answer.text().contains("regex takes too long");
        if is_late {
            answer = reader.get(target);
        }
        !is_late
    });
    answer
}

/// Follows `rel="next"` from a target on, as python-gitlab and the Rust crate do.
#[track_caller]
pub(crate) fn by_links(reader: &User, target: &str) -> Vec<Value> {
    let mut target = target.to_owned();
    let mut all = Vec::new();
    for _ in 0..PAGES_MAX {
        let answer = listed(reader, &target);
        all.extend(elements(&answer));
        match link(&answer, "next") {
            Some(next) => target = target_of(reader, &next),
            None => return all,
        }
    }
    panic!("the links never end");
}

/// Follows `X-Next-Page` until it is empty, as programs over go-gitlab do. `query` begins with `?`.
#[track_caller]
pub(crate) fn by_next_page(reader: &User, target: &str) -> Vec<Value> {
    let mut page = "1".to_owned();
    let mut all = Vec::new();
    for _ in 0..PAGES_MAX {
        let answer = listed(reader, &format!("{target}&page={page}"));
        all.extend(elements(&answer));
        let next = answer.header("X-Next-Page").expect("present, if empty");
        if next.is_empty() {
            return all;
        }
        next.clone_into(&mut page);
    }
    panic!("the pages never end");
}

/// Asks for pages until one is shorter than it could be, as the Perl and Rust clients do.
#[track_caller]
pub(crate) fn until_short(reader: &User, target: &str, per_page: usize) -> Vec<Value> {
    let mut all = Vec::new();
    for page in 1..=PAGES_MAX {
        let part = elements(&reader.get(&format!("{target}&per_page={per_page}&page={page}")));
        let is_short = part.len() < per_page;
        all.extend(part);
        if is_short {
            return all;
        }
    }
    panic!("no page is short");
}

/// Asks for as many pages as `X-Total-Pages` says, as `gitlab4j` and `ArgoCD` do.
#[track_caller]
pub(crate) fn by_total_pages(reader: &User, target: &str) -> Vec<Value> {
    let first = reader.get(&format!("{target}&page=1"));
    let pages: usize = first.header("X-Total-Pages").unwrap().parse().unwrap();
    let total: usize = first.header("X-Total").unwrap().parse().unwrap();
    let mut all = elements(&first);
    for page in 2..=pages {
        all.extend(elements(&reader.get(&format!("{target}&page={page}"))));
    }
    assert_eq!(all.len(), total);
    all
}
