//! The head of the branch, as the Read API tells it.

use std::io::Read;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use ureq::http::StatusCode;

use super::address::Targets;
use super::client::{Client, RequestOptions, header, incoming};
use crate::base::id::is_lower_hex;
use crate::cli::pull::fault::{Fault, Pulled};

/// Longest answer, in bytes.
const BODY_BYTES_MAX: u64 = 64 << 10;

/// Which state a branch is in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::cli::pull) struct Head {
    /// `commit.id`; the compact form of the specification has none.
    pub(in crate::cli::pull) id: Option<String>,
    /// `commit.short_id`.
    pub(in crate::cli::pull) short_id: String,
}

impl Head {
    /// What to name when its files are asked for: its own id, so that the branch may move on meanwhile;
    /// without one the branch.
    pub(in crate::cli::pull) fn revision<'a>(&'a self, branch: &'a str) -> &'a str {
        self.id.as_deref().unwrap_or(branch)
    }

    /// True if it is that of a branch with this digest.
    pub(in crate::cli::pull) fn is_of(&self, digest: &str) -> bool {
        let id = self.id.as_deref().unwrap_or(&self.short_id);
        !id.is_empty() && digest.starts_with(id)
    }
}

/// A head with the tag under which the server knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cli::pull) struct TaggedHead {
    pub(in crate::cli::pull) head: Head,
    pub(in crate::cli::pull) etag: Option<String>,
}

#[derive(Debug, Deserialize)]
struct BranchJson {
    commit: CommitJson,
}

#[derive(Debug, Deserialize)]
struct CommitJson {
    id: Option<String>,
    short_id: String,
}

/// Asks for the head; `None` if it is still the one with the tag that is known. A server that can may hold
/// that answer back for so long; such a question is asked once, others again after what may pass.
pub(in crate::cli::pull) fn ask(
    client: &Client,
    targets: &Targets,
    known: Option<&str>,
    wait: Option<Duration>,
) -> Pulled<Option<TaggedHead>> {
    let options = RequestOptions {
        known,
        held: wait.unwrap_or_default(),
        ..RequestOptions::default()
    };
    let target = targets.branch(wait.map(|wait| wait.as_secs()));
    let question = || {
        let response = client.get_once(&target, options)?;
        if response.status() == StatusCode::NOT_MODIFIED {
            return Ok(None);
        }
        let etag = header(response.headers(), "etag").map(str::to_owned);
        let mut body = Vec::new();
        incoming(response)
            .take(BODY_BYTES_MAX)
            .read_to_end(&mut body)
            .map_err(|e| client.failed(e.into()))?;
        let head = read(&body)?;
        Ok(Some(TaggedHead { head, etag }))
    };
    match wait {
        Some(_) => question(),
        None => client.repeated(question),
    }
}

fn read(body: &[u8]) -> Pulled<Head> {
    let no_branch = || {
        Fault::lasting(
            "the server does not answer as the Read API does: is the address right? With a path it is \
             the root of the API, as in https://gitlab.example/api/v4",
        )
    };
    let branch: BranchJson = serde_json::from_slice(body).map_err(|_| no_branch())?;
    let CommitJson { id, short_id } = branch.commit;
    let is_id =
        |id: &str, least: usize| (least..=64).contains(&id.len()) && is_lower_hex(id.as_bytes());
    let id = id.filter(|id| !id.is_empty());
    if !is_id(&short_id, 7) || id.as_deref().is_some_and(|id| !is_id(id, 40)) {
        return Err(no_branch());
    }
    Ok(Head { id, short_id })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_read_in_its_full_and_its_compact_form() {
        let id = "1a".repeat(20);
        let full = format!(r#"{{"name":"main","commit":{{"id":"{id}","short_id":"1a1a1a1a"}}}}"#);
        let head = read(full.as_bytes()).unwrap();
        assert_eq!(head.id.as_deref(), Some(id.as_str()));
        assert_eq!(head.revision("main"), id);
        assert!(head.is_of(&"1a".repeat(32)));
        assert!(!head.is_of(&"1b".repeat(32)));
        let compact = read(br#"{"name":"main","commit":{"short_id":"1a1a1a1a"}}"#).unwrap();
        assert_eq!(compact.id, None);
        assert_eq!(compact.revision("main"), "main");
        assert!(compact.is_of(&"1a".repeat(32)));
        for wrong in [
            "",
            "[]",
            "<html>",
            r#"{"commit":{}}"#,
            r#"{"commit":{"short_id":""}}"#,
            r#"{"commit":{"short_id":"../../.."}}"#,
            r#"{"commit":{"short_id":"1a1a1a1a","id":"1a1a1a1a"}}"#,
        ] {
            assert!(matches!(read(wrong.as_bytes()), Err(Fault::Lasting(_))));
        }
    }
}
