//! What answers must hold, computed here a second time from the rules of the specification.

use serde_json::Value;
use sha2::Digest as _;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// The branch digest of specification section 9, 64 hexadecimal digits.
pub(crate) fn branch_digest(files: &[(&str, &[u8])]) -> String {
    let mut files = files.to_vec();
    files.sort_by_key(|(path, _)| path.as_bytes());
    let mut hasher = sha2::Sha256::new();
    for (path, body) in files {
        hasher.update(format!("{path}|{}|{}\n", body.len(), md5_hex(body)));
    }
    hex::encode(hasher.finalize())
}

/// The MD5 of a body, 32 hexadecimal digits.
pub(crate) fn md5_hex(body: &[u8]) -> String {
    hex::encode(md5::Md5::digest(body))
}

/// The id that git gives a file with these bytes.
pub(crate) fn git_blob_id(body: &[u8]) -> String {
    let mut hasher = sha1::Sha1::new();
    hasher.update(format!("blob {}\0", body.len()));
    hasher.update(body);
    hex::encode(hasher.finalize())
}

/// The `path` of every element of an array, in its order.
#[track_caller]
pub(crate) fn paths(array: &Value) -> Vec<&str> {
    array
        .as_array()
        .expect("an array")
        .iter()
        .map(|element| element["path"].as_str().expect("a path"))
        .collect()
}

/// Puts `<time>` for every point of time that the service chose, after checking its form.
pub(crate) fn masked(mut value: Value) -> Value {
    mask(&mut value);
    value
}

fn mask(value: &mut Value) {
    match value {
        Value::Array(elements) => elements.iter_mut().for_each(mask),
        Value::Object(fields) => {
            for (name, field) in fields {
                match field {
                    Value::String(text) if is_chosen_time(name) => {
                        assert!(text.ends_with('Z'), "{name}: {text} is not in UTC");
                        OffsetDateTime::parse(text, &Rfc3339).expect("RFC 3339");
                        "<time>".clone_into(text);
                    }
                    field => mask(field),
                }
            }
        }
        _ => {}
    }
}

fn is_chosen_time(field: &str) -> bool {
    matches!(
        field,
        "time"
            | "created_at"
            | "updated_at"
            | "last_used_at"
            | "deleted_at"
            | "kept_until"
            | "authored_date"
            | "committed_date"
            | "last_activity_at"
    )
}
