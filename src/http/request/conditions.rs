//! Entity tags and the conditions that name them (RFC 9110 section 13).

use hyper::HeaderMap;
use hyper::header::{HeaderValue, IF_MATCH, IF_NONE_MATCH};
use serde::{Serialize, Serializer};

use crate::base::id::BlobId;
use crate::http::error::Error;
use crate::repo::Condition;

/// What a proxy that compresses an answer appends to the tag within its quotes (Apache's `mod_deflate` and
/// `mod_brotli`, Caddy) and does not take away when the tag comes back. No tag of ours ends so.
const CODINGS: [&str; 3] = ["-gzip", "-br", "-zstd"];

/// A strong tag: hexadecimal digits in quotes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::http) struct ETag(HeaderValue);

impl ETag {
    /// The tag of a file: its blob's id.
    pub(in crate::http) fn of_blob(id: BlobId) -> Self {
        Self::of_digest(id.as_bytes())
    }

    /// The tag of a branch: its commit id.
    pub(in crate::http) fn of_commit(commit_id: &str) -> Self {
        let quoted = HeaderValue::try_from(format!("\"{commit_id}\""));
        Self(quoted.expect("hexadecimal digits are visible"))
    }

    /// The tag of an answer that all these parts make, each told apart from its neighbours.
    pub(in crate::http) fn of_parts(parts: &[&[u8]]) -> Self {
        let mut hasher = blake3::Hasher::new();
        for part in parts {
            hasher.update(&part.len().to_le_bytes());
            hasher.update(part);
        }
        Self::of_digest(&hasher.finalize().as_bytes()[..16])
    }

    fn of_digest(digest: &[u8]) -> Self {
        let mut quoted = [b'"'; 66];
        let end = 1 + 2 * digest.len();
        hex::encode_to_slice(digest, &mut quoted[1..end]).expect("at most 32 bytes");
        let quoted = HeaderValue::from_bytes(&quoted[..=end]);
        Self(quoted.expect("hexadecimal digits are visible"))
    }

    /// The header's value.
    pub(in crate::http) fn header(&self) -> HeaderValue {
        self.0.clone()
    }

    /// True if an `If-None-Match` of the request names this tag, so that the client has the answer.
    pub(in crate::http) fn is_known_to(&self, headers: &HeaderMap) -> bool {
        members(headers, IF_NONE_MATCH).any(|member| {
            let member = member.strip_prefix("W/").unwrap_or(member);
            member == "*" || unquoted(member).is_some_and(|digits| digits == self.digits())
        })
    }

    /// True if this is the tag, or what is in its quotes.
    pub(in crate::http) fn is_quoted(&self, text: &str) -> bool {
        bare(text) == self.digits()
    }

    fn digits(&self) -> &str {
        let quoted = self.0.to_str().unwrap_or_default();
        unquoted(quoted).unwrap_or_default()
    }

    /// True if the validator of an `If-Range` is this tag.
    pub(in crate::http) fn is_in_if_range(&self, value: &HeaderValue) -> bool {
        *value == self.0
    }
}

impl Serialize for ETag {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.0.to_str().expect("hexadecimal digits are visible"))
    }
}

/// What an `If-Match` asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::http) enum IfMatch {
    /// `*`: that there is something.
    Any,
    /// One of these tags, unquoted. Weak ones never match, so they are left out.
    OneOf(Vec<String>),
}

/// Reads `If-Match`, `None` when the request has none.
pub(in crate::http) fn if_match(headers: &HeaderMap) -> Option<IfMatch> {
    headers.get(IF_MATCH)?;
    if members(headers, IF_MATCH).any(|member| member == "*") {
        return Some(IfMatch::Any);
    }
    let tags = members(headers, IF_MATCH).filter_map(unquoted);
    Some(IfMatch::OneOf(tags.map(str::to_owned).collect()))
}

/// What `If-Match` and `If-None-Match` demand of a change.
///
/// # Errors
/// As [`only_if_absent`].
pub(in crate::http) fn condition(headers: &HeaderMap) -> Result<Condition, Error> {
    Ok(match (if_match(headers), only_if_absent(headers)?) {
        (None, false) => Condition::None,
        (None, true) => Condition::IfAbsent,
        (Some(IfMatch::Any), false) => Condition::IfMatch(vec!["*".to_owned()]),
        (Some(IfMatch::OneOf(tags)), false) => Condition::IfMatch(tags),
        // There and not there at once: no state is both.
        (Some(_), true) => Condition::IfMatch(Vec::new()),
    })
}

/// What a tag within a body demands: one as an `ETag` has it, its quotes left out or not, or `*`.
pub(in crate::http) fn tag_condition(tag: &str) -> Condition {
    let tag = unquoted(tag).unwrap_or_else(|| without_coding(tag));
    Condition::IfMatch(vec![tag.to_owned()])
}

/// What is in the quotes of a tag that a client has, whether strong or weak; the quotes may be left out.
pub(in crate::http) fn bare(tag: &str) -> &str {
    let strong = tag.strip_prefix("W/").unwrap_or(tag);
    unquoted(strong).unwrap_or_else(|| without_coding(strong))
}

/// Checks the demands on something that has no entity tag and is there, or its refusal is a 404: it
/// fulfils `If-Match: *` and nothing else.
///
/// # Errors
/// 412; and as [`only_if_absent`].
pub(in crate::http) fn check_untagged(headers: &HeaderMap) -> Result<(), Error> {
    match condition(headers)? {
        Condition::None => Ok(()),
        Condition::IfMatch(tags) if tags == ["*"] => Ok(()),
        Condition::IfMatch(_) | Condition::IfAbsent => Err(Error::precondition()),
    }
}

/// Checks the demands on something that is to be made: `If-None-Match: *` and nothing else. A name that
/// is taken is another refusal, with or without it.
///
/// # Errors
/// 412; and as [`only_if_absent`].
pub(in crate::http) fn check_new(headers: &HeaderMap) -> Result<(), Error> {
    match condition(headers)? {
        Condition::None | Condition::IfAbsent => Ok(()),
        Condition::IfMatch(_) => Err(Error::precondition()),
    }
}

/// True if a change is asked for only where nothing is yet: `If-None-Match: *`.
///
/// # Errors
/// A tag in place of the `*`, which says nothing about a change.
fn only_if_absent(headers: &HeaderMap) -> Result<bool, Error> {
    if !headers.contains_key(IF_NONE_MATCH) {
        return Ok(false);
    }
    if members(headers, IF_NONE_MATCH).eq(["*"]) {
        return Ok(true);
    }
    Err(Error::malformed(
        "If-None-Match: only \"*\" is understood on a change",
    ))
}

/// The members of a list that may be spread over several lines. A tag of ours holds no comma.
fn members(headers: &HeaderMap, name: hyper::header::HeaderName) -> impl Iterator<Item = &str> {
    headers
        .get_all(name)
        .into_iter()
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(','))
        .map(str::trim)
        .filter(|member| !member.is_empty())
}

/// What is in the quotes of a strong tag, as the service has sent it.
fn unquoted(member: &str) -> Option<&str> {
    let inside = member.strip_prefix('"')?.strip_suffix('"')?;
    Some(without_coding(inside))
}

fn without_coding(tag: &str) -> &str {
    let mut cut = CODINGS.iter().filter_map(|coding| tag.strip_suffix(coding));
    cut.next().unwrap_or(tag)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: &hyper::header::HeaderName, lines: &[&'static str]) -> HeaderMap {
        lines
            .iter()
            .map(|line| (name.clone(), HeaderValue::from_static(line)))
            .collect()
    }

    #[test]
    fn a_client_that_has_the_answer_is_recognised() {
        let tag = ETag(HeaderValue::from_static("\"abc\""));
        for (lines, expected) in [
            (&["\"abc\""][..], true),
            (&["W/\"abc\""], true),
            (&["\"x\", \"abc\""], true),
            (&["\"x\"", "\"abc\""], true),
            (&["*"], true),
            (&["\"abc-gzip\""], true),
            (&["W/\"abc-br\", \"x\""], true),
            (&["\"abc-zstd\""], true),
            (&["\"abc-gzip-gzip\""], false),
            (&["\"-gzip\""], false),
            (&["\"abcd\""], false),
            (&["abc"], false),
            (&[""], false),
            (&[], false),
        ] {
            assert_eq!(
                tag.is_known_to(&headers(&IF_NONE_MATCH, lines)),
                expected,
                "{lines:?}"
            );
        }
    }

    #[test]
    fn weak_tags_never_allow_a_change() {
        let read = |lines| if_match(&headers(&IF_MATCH, lines));
        assert_eq!(read(&[]), None);
        assert_eq!(read(&["*"]), Some(IfMatch::Any));
        assert_eq!(
            read(&["\"a\", W/\"b\"", "\"c\""]),
            Some(IfMatch::OneOf(vec!["a".into(), "c".into()]))
        );
        assert_eq!(read(&["junk"]), Some(IfMatch::OneOf(vec![])));
        assert_eq!(
            read(&["\"a-gzip\", W/\"b-gzip\""]),
            Some(IfMatch::OneOf(vec!["a".into()]))
        );
    }

    #[test]
    fn a_tag_outside_a_header_may_lack_its_quotes() {
        let tag = ETag(HeaderValue::from_static("\"abc\""));
        for known in ["abc", "\"abc\"", "W/\"abc\"", "\"abc-gzip\"", "abc-br"] {
            assert!(tag.is_quoted(known), "{known}");
        }
        for other in ["", "\"\"", "ab", "\"abcd\"", "*"] {
            assert!(!tag.is_quoted(other), "{other}");
        }
        for (tag, expected) in [("\"a-gzip\"", "a"), ("a-gzip", "a"), ("*", "*")] {
            assert_eq!(
                tag_condition(tag),
                Condition::IfMatch(vec![expected.to_owned()])
            );
        }
    }

    #[test]
    fn a_change_knows_only_the_star() {
        let read = |lines| only_if_absent(&headers(&IF_NONE_MATCH, lines)).ok();
        assert_eq!(read(&[]), Some(false));
        assert_eq!(read(&["*"]), Some(true));
        assert_eq!(read(&["\"a\""]), None);
    }
}
