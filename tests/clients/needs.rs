//! What a client that is stood in for needs of an answer.

use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::harness::Answer;
use crate::stage::{HIDDEN, OTHER, SPECIAL};

pub(crate) fn is_project(answer: &Answer, truth: &Value) {
    let project = ok(answer);
    assert_eq!(project["id"], truth["project"]["number"]);
    assert_eq!(project["path_with_namespace"], truth["project"]["id"]);
    assert_eq!(project["default_branch"], "main");
    for text in ["name", "path", "web_url", "visibility"] {
        assert!(project[text].is_string(), "{text}: {project}");
    }
    for flag in ["archived", "empty_repo"] {
        assert_eq!(project[flag], false, "{flag}");
    }
    assert!(matches!(
        project.get("namespace"),
        None | Some(Value::Object(_))
    ));
    assert_is_date(&project["created_at"]);
    assert_is_date(&project["last_activity_at"]);
}

pub(crate) fn is_user(answer: &Answer, truth: &Value) {
    let user = ok(answer);
    assert_eq!(user["username"], truth["username"]);
    assert!(user["id"].is_u64(), "{user}");
    assert!(user["name"].is_string(), "{user}");
}

/// Three numbers; what follows a `-` is cut off.
pub(crate) fn is_version(answer: &Answer, _: &Value) {
    let version = ok(answer)["version"].as_str().expect("text").to_owned();
    let release = version.split('-').next().expect("text");
    let numbers: Vec<u32> = release
        .split('.')
        .map(|n| n.parse().expect("a number"))
        .collect();
    assert_eq!(numbers.len(), 3, "{version}");
}

pub(crate) fn is_special(answer: &Answer, truth: &Value) {
    assert_is_file(answer, SPECIAL, truth);
}

pub(crate) fn is_hidden(answer: &Answer, truth: &Value) {
    assert_is_file(answer, HIDDEN, truth);
}

fn assert_is_file(answer: &Answer, path: &str, truth: &Value) {
    answer.assert_bytes(
        200,
        file(path, truth)["text"].as_str().expect("text").as_bytes(),
    );
    assert_eq!(
        answer.header("Content-Type"),
        Some("text/plain; charset=utf-8")
    );
}

pub(crate) fn is_hidden_json(answer: &Answer, truth: &Value) {
    let mut seen = ok(answer);
    let reference = seen["ref"].take();
    assert!(reference == "main" || reference == "HEAD", "{reference}");
    let last = seen["last_commit_id"].take();
    assert!(is_commit_id(&last), "{last}");
    let file = file(HIDDEN, truth);
    let wanted = json!({
        "file_name": ".настройки.txt",
        "file_path": HIDDEN,
        "size": file["size"],
        "encoding": "base64",
        "content_sha256": file["sha256"],
        "ref": null,
        "blob_id": file["blob_id"],
        "commit_id": truth["commit_id"],
        "last_commit_id": null,
        "execute_filemode": false,
        "content": file["base64"],
    });
    assert_eq!(seen, wanted);
}

/// Names as GitLab spells them, to the letter; values in UTF-8.
pub(crate) fn has_metadata(answer: &Answer, truth: &Value) {
    assert_eq!(answer.status, 200, "{answer:?}");
    let file = file(HIDDEN, truth);
    let of = |name: &str| {
        let mut found = answer.headers.iter().filter(|(key, _)| key == name);
        found.next().map(|(_, value)| value.as_str())
    };
    assert_eq!(of("X-Gitlab-File-Name"), Some(".настройки.txt"));
    assert_eq!(of("X-Gitlab-File-Path"), Some(HIDDEN));
    assert_eq!(of("X-Gitlab-Size"), Some(file["size"].to_string().as_str()));
    assert_eq!(of("X-Gitlab-Encoding"), Some("base64"));
    assert_eq!(of("X-Gitlab-Content-Sha256"), file["sha256"].as_str());
    assert_eq!(of("X-Gitlab-Ref"), Some("main"));
    assert_eq!(of("X-Gitlab-Blob-Id"), file["blob_id"].as_str());
    assert_eq!(of("X-Gitlab-Commit-Id"), truth["commit_id"].as_str());
    assert!(of("X-Gitlab-Last-Commit-Id").is_some_and(|id| id.len() == 40));
    assert_eq!(of("X-Gitlab-Execute-Filemode"), Some("false"));
}

pub(crate) fn is_folder(answer: &Answer, truth: &Value) {
    let names: Vec<_> = list(answer)
        .into_iter()
        .map(|entry| entry["name"].clone())
        .collect();
    assert_eq!(names, list_of(&truth["folder"]["names"])[..]);
}

pub(crate) fn is_missing_path(answer: &Answer, _: &Value) {
    answer.assert_error(404, "404 invalid revision or path Not Found");
}

pub(crate) fn is_page_of_100(answer: &Answer, _: &Value) {
    assert_eq!(list(answer).len(), 100);
}

pub(crate) fn is_first_page_of_96(answer: &Answer, truth: &Value) {
    let total = list_of(&truth["tree"]).len();
    let pages = total.div_ceil(96).to_string();
    assert_eq!(list(answer).len(), 96);
    assert_pages(answer, ["1", "", "2", "96", &total.to_string(), &pages]);
}

pub(crate) fn is_last_page_of_96(answer: &Answer, truth: &Value) {
    let total = list_of(&truth["tree"]).len();
    assert_eq!(
        total.div_ceil(96),
        14,
        "the request line names the last page"
    );
    assert_eq!(list(answer).len(), total % 96);
    assert_pages(answer, ["14", "13", "", "96", &total.to_string(), "14"]);
}

/// `X-Page`, `X-Prev-Page`, `X-Next-Page`, `X-Per-Page`, `X-Total`, `X-Total-Pages`.
#[track_caller]
pub(crate) fn assert_pages(answer: &Answer, wanted: [&str; 6]) {
    assert_eq!(answer.status, 200, "{answer:?}");
    let names = [
        "X-Page",
        "X-Prev-Page",
        "X-Next-Page",
        "X-Per-Page",
        "X-Total",
        "X-Total-Pages",
    ];
    assert_eq!(names.map(|name| answer.header(name)), wanted.map(Some));
}

/// One link that leads on, absolute, on the client's own mount, spelt as the clients' expressions
/// want it.
pub(crate) fn has_next_link(answer: &Answer, truth: &Value) {
    assert_eq!(answer.status, 200, "{answer:?}");
    let links = answer.header("Link").expect("more than a page");
    let next: Vec<_> = links
        .split(", ")
        .filter_map(|link| link.strip_suffix(">; rel=\"next\""))
        .collect();
    let [next] = next[..] else { panic!("{links}") };
    assert!(next.starts_with("<http://127.0.0.1:"), "{next}");
    assert!(
        next.contains("/site-builder/api/erp-config/api/v4/projects/"),
        "{next}"
    );
    let token = truth["tokens"]["good"].as_str().expect("text");
    assert!(!links.contains(token), "a token in a link");
}

pub(crate) fn is_main_branch(answer: &Answer, truth: &Value) {
    let branch = ok(answer);
    assert_is_branch(&branch);
    assert_eq!(branch["name"], "main");
    assert_eq!(branch["default"], true);
    assert_eq!(branch["commit"]["id"], truth["commit_id"]);
}

pub(crate) fn is_other_branch(answer: &Answer, _: &Value) {
    let branch = ok(answer);
    assert_is_branch(&branch);
    assert_eq!(branch["name"], OTHER);
}

/// What compiled clients read into types of their own.
pub(crate) fn assert_is_branch(branch: &Value) {
    for flag in [
        "default",
        "protected",
        "merged",
        "can_push",
        "developers_can_push",
        "developers_can_merge",
    ] {
        assert!(branch[flag].is_boolean(), "{flag}: {branch}");
    }
    assert!(branch["web_url"].is_string(), "{branch}");
    let commit = &branch["commit"];
    assert!(is_commit_id(&commit["id"]), "{commit}");
    assert_eq!(
        commit["short_id"],
        commit["id"].as_str().expect("text")[..8]
    );
    for text in [
        "title",
        "message",
        "author_name",
        "author_email",
        "committer_name",
        "committer_email",
        "web_url",
    ] {
        assert!(commit[text].is_string(), "{text}: {commit}");
    }
    for date in ["created_at", "authored_date", "committed_date"] {
        assert_is_date(&commit[date]);
    }
    assert!(
        list_of(&commit["parent_ids"]).iter().all(is_commit_id),
        "{commit}"
    );
    assert_eq!(commit["trailers"], json!({}));
    assert_eq!(commit["extended_trailers"], json!({}));
}

fn is_commit_id(id: &Value) -> bool {
    id.as_str()
        .is_some_and(|id| id.len() == 40 && id.bytes().all(|b| b.is_ascii_hexdigit()))
}

#[track_caller]
fn assert_is_date(date: &Value) {
    let text = date
        .as_str()
        .unwrap_or_else(|| panic!("not a date: {date}"));
    OffsetDateTime::parse(text, &Rfc3339).expect("RFC 3339 with a zone");
}

#[track_caller]
fn ok(answer: &Answer) -> Value {
    answer.clone().expect_status(200).json()
}

#[track_caller]
pub(crate) fn list(answer: &Answer) -> Vec<Value> {
    list_of(&ok(answer)).to_vec()
}

pub(crate) fn list_of(value: &Value) -> &[Value] {
    value.as_array().expect("a list")
}

/// What is true of one of the named files.
fn file<'a>(path: &str, truth: &'a Value) -> &'a Value {
    let mut files = list_of(&truth["files"]).iter();
    files
        .find(|file| file["path"] == path)
        .expect("a named file")
}
